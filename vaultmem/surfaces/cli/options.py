"""Options that several commands share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from vaultmem.surfaces.cli.progress import Progress
    from vaultmem.vault import Vault


def or_before_the_command(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """`vaultmem --vault DIR status` means the same as `vaultmem status --vault DIR`."""
    name = param.name or ""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        return value
    return ctx.find_root().params.get(name) or value


vault = click.option(
    "--vault",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=or_before_the_command,
    help="The vault; else $VAULTMEM_VAULT, else the nearest one above.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def open_vault(folder: str | None, *, strict: bool = True) -> Vault:
    from vaultmem.vault import Vault

    return Vault.open(folder, strict=strict)


def progress(what: str) -> AbstractContextManager[Progress]:
    """Show a person that `what` is under way, and how far it is."""
    from vaultmem.surfaces.cli import progress as waiting

    return waiting.progress_line(what)
