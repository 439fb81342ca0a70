from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.cli import options, screen, tab_completion
from vaultmem.transfer import SOURCES

if TYPE_CHECKING:
    from vaultmem.transfer.importing import Imported

_SHOWN: Final = 5  # notes and left-out records that are named


_complete = tab_completion.complete_one_of(*SOURCES, "auto")


@click.command(epilog="Without FROM and PATH it lists what can be imported.")
@click.argument("source", metavar="FROM", required=False, shell_complete=_complete)
@click.argument("path", metavar="PATH", required=False, type=click.Path())
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--project", metavar="NAME", help="The project of memories that have none of their own."
)
@click.option("--into", metavar="FOLDER", help="Where copied notes go.  [default: PATH's name]")
@click.option("--files", is_flag=True, help="Copy other files too: pictures, PDFs.")
@click.option("--again", is_flag=True, help="Bring back what was imported and removed here since.")
@options.on_vault
def import_command(
    source: str | None, path: str | None, call: options.VaultCall, **wanted: Any
) -> int:
    """Make notes of what another system keeps. What was read is never changed.

    Run it again whenever you like: what is here already stays as it is, and an import that
    was stopped goes on. FROM may be auto, for what PATH looks like.

    \b
    vaultmem import chatgpt ~/Downloads/chatgpt-export.zip --dry-run
    vaultmem import basic-memory ~/basic-memory
    """
    if source is None:
        call.print_result({"sources": SOURCES}, _list_import_sources)
        return 0
    with (
        call.open_vault() as opened,
        _hint_at_import_sources(),
        options.progress("Importing") as shown,
    ):
        done = opened.import_(source, path, **wanted, progress=shown)
    call.print_result(done, _print_import)
    return 1 if done.kept else 0


@contextlib.contextmanager
def _hint_at_import_sources() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        screen.say_line("What came in stays. Run the same command again, and it goes on.")
        raise


def _list_import_sources(listed: Mapping[str, Mapping[str, str]]) -> None:
    screen.print_table(list(listed["sources"].items()))
    screen.say_line(f"Import one with: {command_to_type('import')} FROM PATH", dim=True)


def _print_import(done: Imported) -> None:
    would = "would be " if done.dry_run else ""
    counts = (
        ("+", done.added, f"{would}added", "green"),
        ("~", done.updated, f"{would}updated", "yellow"),
        ("=", done.here, "here already", "blue"),
        ("-", done.gone, "removed here since", "blue"),
        ("!", done.kept, "different here", "red"),
        ("!", done.left, "left out", "magenta"),
    )
    parts = [click.style(f"{sign} {n:,} {word}", fg=color) for sign, n, word, color in counts if n]
    click.echo("  ".join([*(parts or ["Nothing to import."]), f"({done.seconds:.1f} s)"]))
    _print_imported_notes(done)
    for left in done.left_out[:_SHOWN]:
        click.echo(screen.one_screen_line(f"! {left.what}: {left.why}"))
    _print_more_imported(done.left - _SHOWN)
    screen.print_warnings(done.warnings)
    if done.gone:
        screen.say_line("What you removed stays away; bring it back with --again.", dim=True)
    if done.dry_run:
        screen.say_line("Nothing was written. Leave out --dry-run to import.", dim=True)


def _print_imported_notes(done: Imported) -> None:
    """The first of what is new, and everything that a person should look at."""
    for step in done.notes:
        if step.action == "kept":
            click.echo(
                screen.one_screen_line(f"! {step.path}: yours is different; it was left as it is")
            )
    new = [step for step in done.notes if step.action in ("add", "update")]
    for step in new[:_SHOWN] if done.dry_run else ():
        click.echo(screen.one_screen_line(f"{'+' if step.action == 'add' else '~'} {step.path}"))
    if done.dry_run:
        _print_more_imported(len(new) - _SHOWN)
    for step in [step for step in new if step.why][:_SHOWN]:
        click.echo(screen.one_screen_line(f"> {step.why}"))


def _print_more_imported(count: int) -> None:
    if count > 0:
        click.echo(f"  … and {count:,} more; --json lists them")
