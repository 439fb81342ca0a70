"""Options that several commands share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from vaultmem.reader import Reader
    from vaultmem.service import Vault
    from vaultmem.surfaces.cli.waiting import Progress

QUIET: Final = "vaultmem.quiet"  # among what a click context remembers


def _or_before_the_command(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """`vaultmem --vault DIR status` means the same as `vaultmem status --vault DIR`."""
    return value or ctx.find_root().params.get(param.name or "")


def _be_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    if value:
        ctx.meta[QUIET] = True
    return value


vault = click.option(
    "--vault",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=_or_before_the_command,
    help="The vault; else $VAULTMEM_VAULT, else the nearest one above.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Say nothing beside the answer, unless something is wrong.",
)


def open_vault(folder: str | None, *, strict: bool = True) -> Vault:
    from vaultmem.service import Vault

    return Vault.open(folder, strict=strict)


def open_reader(folder: str | None, *, strict: bool = True) -> Reader:
    """For commands that only look: nothing else is loaded, so they answer sooner."""
    from vaultmem.reader import Reader

    return Reader.open(folder, strict=strict)


def progress(what: str) -> AbstractContextManager[Progress]:
    """Show a person that `what` is under way, and how far it is."""
    from vaultmem.surfaces.cli import waiting

    return waiting.shown(what)
