"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from vaultmem.surfaces.cli import screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.config import Settings
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.cli.progress import Progress
    from vaultmem.vault import Vault

T = TypeVar("T")


def _option_or_before_command(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """`vaultmem --vault DIR status` means the same as `vaultmem status --vault DIR`."""
    name = param.name or ""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        return value
    return ctx.find_root().params.get(name) or value


_ELSE: Final = "else $VAULTMEM_VAULT, else the nearest one above."
_VAULT: Final[dict[str, Any]] = {
    "metavar": "DIR",
    "type": click.Path(file_okay=False),
    "callback": _option_or_before_command,
}
vault = click.option("--vault", help=f"The vault; {_ELSE}", **_VAULT)
vault_by_name = click.option(
    "--vault", envvar="VAULTMEM_VAULT", help=f"The vault; {_ELSE}", **_VAULT
)
vault_to_make = click.option(
    "--vault",
    envvar="VAULTMEM_VAULT",
    help=f"The vault, made if it is not there; {_ELSE}",
    **_VAULT,
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
section = click.option("--section", metavar="HEADING", help="The section of the note.")
done = click.option("--done/--undone", default=None, help="Check or uncheck the task.")
limit = partial(
    click.option, "--limit", type=int, metavar="N", show_default=True, help="At most so many."
)
_OF_NOTES: Final[dict[str, dict[str, Any]]] = {
    "--type": {"metavar": "TYPE", "shell_complete": tab_completion.types},
    "--scope": {"metavar": "SCOPE", "shell_complete": tab_completion.scopes},
    "--project": {"metavar": "NAME", "shell_complete": tab_completion.projects},
    "--tag": {"metavar": "TAG", "shell_complete": tab_completion.tags, "multiple": True},
}


def note_option(
    *names: str, help: str, **more: Any
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """An option for what notes are told apart by, completed from the vault."""
    return click.option(*names, help=help, **_OF_NOTES[names[0]], **more)


class VaultCall(NamedTuple):
    """The vault that a command is for, and how it answers."""

    vault: str | None
    as_json: bool

    def open_vault(self, *, strict: bool = True) -> Vault:
        from vaultmem.vault import Vault

        opened = Vault.open(self.vault, strict=strict)
        if strict:  # the others list what is wrong with the settings themselves
            screen.print_warnings(opened.settings.remarks)
        return opened

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

    def print_lean(
        self, result: Any, given: Mapping[str, Any], show: Callable[[Any], None]
    ) -> None:
        """As an agent gets it, where JSON is wanted."""
        from vaultmem.surfaces.lean_json import lean_answer

        self.print_result(lean_answer(result, given) if self.as_json else result, show)


def day_in_words(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """`today` and `yesterday` as those dates, `2d` as that moment; dates as they are."""
    if not value or (value[:1].isdigit() and "-" in value):
        return value
    from vaultmem.base.local_time import is_day, local_time, moment_since

    found = moment_since(value)
    if found is None:
        return value  # the operation says what it must be
    here = local_time(found)
    return here.date().isoformat() if is_day(value) else here.isoformat(timespec="seconds")


def on_vault(command: Callable[..., T]) -> Callable[..., T]:
    """Gives a command --vault and --json, and what follows from both as `call`."""

    @wraps(command)
    def called(*, vault: str | None, as_json: bool, **given: Any) -> T:
        return command(call=VaultCall(vault, as_json), **given)

    return vault(as_json(called))


def bound_caller(settings: Settings, session: str = "") -> Caller:
    """Who asks, bound to what the settings say."""
    from vaultmem import config
    from vaultmem.operations.caller import Caller

    return Caller(
        user=settings["user"],
        project=settings["project"],
        default_project=config.surroundings().project,
        session=session,
        read_only=settings["read_only"],
    )


def progress(what: str) -> AbstractContextManager[Progress]:
    """Show a person that `what` is under way, and how far it is."""
    from vaultmem.surfaces.cli import progress as waiting

    return waiting.progress_line(what)
