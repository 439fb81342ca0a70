from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_add, command_to_type
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.upkeep.status import IndexHealth, PdfHealth, Status

_SHOWN = 10
_PDF_LIBRARY = "pypdf"


@click.command()
@options.on_vault
def status_command(call: options.VaultCall) -> None:
    """Show how the vault and its index are."""
    with call.open_vault(strict=False) as opened, options.progress("Looking"):
        status = opened.status()
        followed = not status.index.following.startswith("nobody")
        behind = 0 if call.as_json or followed else opened.behind()
        unread = 0 if call.as_json else opened.pdfs_without_reader()
    call.print_result(status, lambda it: _print_status(it, behind, unread))


def _print_status(status: Status, behind: int | None, unread: int) -> None:
    click.secho(screen.one_screen_line(status.connection.path), bold=True)
    if status.connection.read_only:
        _print_status_row("Read-only", "nothing can be written", "yellow")
    if status.connection.reason:
        _print_status_row("Trouble", status.connection.reason, "yellow")
    counts = status.counts
    some = [_status_kind(name, number) for name, number in counts.by_type.items() if number]
    forgotten = [f"{counts.forgotten:,} forgotten"] if counts.forgotten else []
    none = (
        "not looked at yet" if behind else f"none yet; the first one: {command_to_type('add')} TEXT"
    )
    _print_status_row("Memories", ", ".join([*some, *forgotten]) or none)
    _print_status_row("Notes", _status_notes(status.index, behind), "yellow" if behind else None)
    _print_status_row("Meaning", _status_meaning(status.index))
    if status.index.language_gap:
        _print_status_row("Languages", status.index.language_gap, "yellow")
    _print_status_row("Following", _status_following(status.index, behind))
    if status.pdfs is not None or unread:
        _print_status_row("PDFs", _status_pdfs(status.pdfs, unread))
    if status.index.fulltext != "ready":
        _print_status_row("Full text", status.index.fulltext, "yellow")
    _print_status_problems(status)


def _print_status_row(name: str, text: str, colour: str | None = None) -> None:
    """A name and what there is to say about it, hanging below itself where it is long."""
    click.secho(f"{name:11}", dim=True, nl=False)
    click.secho(screen.screen_line(text, 11).lstrip(), fg=colour)


def _status_kind(name: str, number: int) -> str:
    named = {"entity": "entity", "session": "session journal"}.get(name)
    return screen.number_on_screen(number, named) if named else f"{number:,} {name}"


def _status_notes(index: IndexHealth, behind: int | None) -> str:
    if behind and not index.notes:
        return f"{behind:,}, none of them indexed yet: {command_to_type('index')}"
    if behind:
        return (
            f"{index.notes:,} indexed, {behind:,} new or changed since: {command_to_type('index')}"
        )
    known = (
        f"; whether any changed since, {command_to_type('index')} finds out"
        if behind is None
        else ""
    )
    return (
        f"{index.notes:,} indexed, in {screen.number_on_screen(index.passages, 'passage')}{known}"
    )


def _status_meaning(index: IndexHealth) -> str:
    if index.model_state != "ready":
        why = f" ({index.model_reason})" if index.model_reason else ""
        return f"words alone are searched; the model is {index.model_state}{why}"
    if not index.pending:
        return f"searched too, with {index.model}"
    left = screen.number_on_screen(index.passages, "passage")
    return (
        f"{index.model}; {index.pending:,} of {left} without a vector yet. "
        f"A running server makes them, or: {command_to_type('index')} --vectors"
    )


def _status_pdfs(pdfs: PdfHealth | None, unread: int) -> str:
    if pdfs is None:
        return (
            f"{screen.number_on_screen(unread, 'file')} not searched; to search them: "
            f"{command_to_add(_PDF_LIBRARY)}"
        )
    said = [f"{pdfs.read:,} read"]
    if pdfs.waiting:
        index = command_to_type("index")
        said.append(f"{pdfs.waiting:,} waiting: a running server reads them, or {index}")
    reasons = [f"{number:,}: {reason}" for reason, number in list(pdfs.unread.items())[:_SHOWN]]
    if reasons:
        said.append(f"not, or not wholly: {' '.join(reasons)}")
    return "; ".join(said)


def _status_following(index: IndexHealth, behind: int | None) -> str:
    if index.following.startswith("nobody") and behind is not None:
        return f"{index.following}; commands look for changes themselves"
    return index.following


def _print_status_problems(status: Status) -> None:
    skipped, wrong = status.index.skipped, status.settings_problems
    for each in skipped[:_SHOWN]:
        _print_status_problem(f"{each.path}: {each.reason}")
    if len(skipped) > _SHOWN:
        click.echo(f"… and {len(skipped) - _SHOWN} more")
    for problem in wrong:
        _print_status_problem(problem)
    if skipped or wrong:
        click.echo(f"What to do about it:\n  {command_to_type('doctor')}")


def _print_status_problem(text: str) -> None:
    click.secho("! " + screen.screen_line(text, 2).lstrip(), fg="yellow")
