"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from vaultmem.surfaces.cli.progress import Progress
    from vaultmem.vault import Vault

T = TypeVar("T")


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


class VaultCall(NamedTuple):
    """The vault that a command is for, and how it answers."""

    vault: str | None
    as_json: bool

    def open_vault(self, *, strict: bool = True) -> Vault:
        from vaultmem.vault import Vault

        return Vault.open(self.vault, strict=strict)

    def ask_vault(
        self, question: Callable[[Vault], T], show: Callable[[T], None], doing: str = ""
    ) -> T:
        with self.open_vault() as opened, progress(doing) if doing else nullcontext():
            result = question(opened)
        self.print_result(result, show)
        return result

    def print_result(self, result: T, show: Callable[[T], None]) -> None:
        from vaultmem.surfaces import render

        click.echo(render.to_json(result)) if self.as_json else show(result)


def on_vault(command: Callable[..., T]) -> Callable[..., T]:
    """Gives a command --vault and --json, and what follows from both as `call`."""

    @wraps(command)
    def called(*, vault: str | None, as_json: bool, **given: Any) -> T:
        return command(call=VaultCall(vault, as_json), **given)

    return vault(as_json(called))


def progress(what: str) -> AbstractContextManager[Progress]:
    """Show a person that `what` is under way, and how far it is."""
    from vaultmem.surfaces.cli import progress as waiting

    return waiting.progress_line(what)
