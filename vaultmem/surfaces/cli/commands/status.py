from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.upkeep.status import IndexHealth, Status

_SHOWN = 10


@click.command()
@options.vault
@options.as_json
def command(vault: str | None, as_json: bool) -> None:
    """Show how the vault and its index are."""
    with options.open_reader(vault, strict=False) as opened, options.progress("Looking"):
        status = opened.status()
        followed = not status.index.following.startswith("nobody")
        behind = 0 if as_json or followed else opened.behind()
    if as_json:
        click.echo(render.to_json(status))
    else:
        _print(status, behind)


def _print(status: Status, behind: int | None) -> None:
    click.secho(screen.one_line(status.connection.path), bold=True)
    if status.connection.read_only:
        _row("Read-only", "nothing can be written", "yellow")
    _row("Memories", _memories(status, behind))
    _row("Notes", _notes(status.index, behind), "yellow" if behind else None)
    _row("Meaning", _meaning(status.index))
    _row("Following", _following(status.index, behind))
    if status.index.fulltext != "ready":
        _row("Full text", status.index.fulltext, "yellow")
    _print_problems(status)


def _row(name: str, text: str, colour: str | None = None) -> None:
    """A name and what there is to say about it, hanging below itself where it is long."""
    click.secho(f"{name:11}", dim=True, nl=False)
    click.secho(screen.line(text, 11).lstrip(), fg=colour)


def _memories(status: Status, behind: int | None) -> str:
    counts = status.counts
    some = [_kind(name, number) for name, number in counts.by_type.items() if number]
    forgotten = [f"{counts.forgotten:,} forgotten"] if counts.forgotten else []
    none = "not looked at yet" if behind else "none yet; the first one: vaultmem add TEXT"
    return ", ".join([*some, *forgotten]) or none


def _kind(name: str, number: int) -> str:
    named = {"entity": "entity", "session": "session journal"}.get(name)
    return screen.count(number, named) if named else f"{number:,} {name}"


def _notes(index: IndexHealth, behind: int | None) -> str:
    if behind and not index.notes:
        return f"{behind:,}, none of them indexed yet: vaultmem index"
    if behind:
        return f"{index.notes:,} indexed, {behind:,} new or changed since: vaultmem index"
    known = "; whether any changed since, vaultmem index finds out" if behind is None else ""
    return f"{index.notes:,} indexed, in {screen.count(index.passages, 'passage')}{known}"


def _meaning(index: IndexHealth) -> str:
    if index.model_state != "ready":
        why = f" ({index.model_reason})" if index.model_reason else ""
        return f"words alone are searched; the model is {index.model_state}{why}"
    if not index.pending:
        return f"searched too, with {index.model}"
    return (
        f"{index.model}; {index.pending:,} of {index.passages:,} passages have no vector yet. "
        "A running server makes them, or: vaultmem index --vectors"
    )


def _following(index: IndexHealth, behind: int | None) -> str:
    if index.following.startswith("nobody") and behind is not None:
        return f"{index.following}; commands look for changes themselves"
    return index.following


def _print_problems(status: Status) -> None:
    skipped, wrong = status.index.skipped, status.settings_problems
    for each in skipped[:_SHOWN]:
        _print_problem(f"{each.path}: {each.reason}")
    if len(skipped) > _SHOWN:
        click.echo(f"… and {len(skipped) - _SHOWN} more")
    for problem in wrong:
        _print_problem(problem)
    if skipped or wrong:
        click.echo("What to do about it: vaultmem doctor")


def _print_problem(text: str) -> None:
    click.secho("! " + screen.line(text, 2).lstrip(), fg="yellow")
