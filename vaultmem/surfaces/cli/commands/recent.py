from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.happened.activity import Activity, ChangedWords, Happening
    from vaultmem.operations.results import Listed

_INDENT: Final = 4


@click.command()
@click.option(
    "--by", metavar="WHO", help="What agents did (agent), a client like claude-code, or a person."
)
@click.option("--since", metavar="WHEN", help="today, yesterday, an age like 2d or 3h, or a date.")
@options.note_option("--project", help="What happened in this project.")
@options.limit(default=20)
@options.on_vault
def recent_command(
    by: str | None,
    since: str | None,
    project: str | None,
    limit: int,
    call: options.VaultCall,
) -> None:
    """Show what was written or changed last; with --by, --since or --project also by whom, and
    which words."""
    asked: dict[str, Any] = {"by": by, "since": since, "project": project}
    wanted = {name: value for name, value in asked.items() if value is not None}
    if wanted:
        call.ask_vault(
            lambda vault: vault.activity(**wanted, limit=limit), _print_activity, "Looking"
        )
        return
    call.ask_vault(lambda vault: vault.recent(limit), _print_recent, "Looking")


def _print_recent(found: Listed) -> None:
    if not found.memories:
        screen.say_line(f"There are no memories yet. The first one: {command_to_type('add')} TEXT")
        return
    rows = [
        (
            screen.moment_for_people(memory.updated_at or memory.created_at),
            memory.title if screen.is_for_a_person() else memory.path,
            screen.tag_labels(memory.tags, memory.type, memory.project),
        )
        for memory in found.memories
    ]
    screen.print_table(rows, ({"fg": "cyan"}, screen.BOLD, screen.DIM), give=(2, 1))
    if found.total > len(rows):
        screen.say_line(f"{found.total - len(rows):,} more; --limit shows them.", dim=True)


# --- who did what ---------------------------------------------------------------------------


def _print_activity(found: Activity) -> None:
    if found.message:
        screen.say_line(found.message)
    for each in found.activity:
        if screen.is_for_a_person():
            _print_happening(each)
        else:
            row = (each.at, each.client or each.by, each.what, each.path, _changes_in_line(each))
            click.echo("\t".join(map(screen.one_screen_line, row)))
    if found.total > len(found.activity):
        more = found.total - len(found.activity)
        screen.say_line(f"{more:,} more; --limit shows them.", dim=True)


def _print_happening(each: Happening) -> None:
    when = screen.friendly_moment(dt.datetime.fromisoformat(each.at))
    times = f" {each.times} times" if each.times else ""
    where = screen.tag_labels((), each.project or "", _doer_details(each))
    row = [
        (when, f"{each.client or each.person or each.by}", f"{each.what}{times}", each.title, where)
    ]
    looks: Any = ({"fg": "cyan"}, {}, {"fg": "yellow"}, screen.BOLD, screen.DIM)
    screen.print_table(row, looks, give=(4, 3))
    for change in each.changes or ():
        _print_change(change)


def _doer_details(each: Happening) -> str:
    machine = {None: "", "another": "another machine"}.get(each.machine, f"from {each.machine}")
    if each.person and each.person == each.machine:
        machine = "by git"
    session = f"session {each.session[:12]}" if each.session else ""
    moved = f"from {each.moved_from}" if each.moved_from else ""
    return " · ".join(filter(None, (machine, session, moved)))


def _print_change(change: ChangedWords) -> None:
    for sign, words, colour in (("-", change.removed, "red"), ("+", change.added, "green")):
        if words:
            text = screen.wrapped_paragraphs(f"{sign} {screen.one_screen_line(words)}", _INDENT)
            click.secho(text, fg=colour)


def _changes_in_line(each: Happening) -> str:
    return " ".join(
        f"{sign}{words}"
        for change in each.changes or ()
        for sign, words in (("-", change.removed), ("+", change.added))
        if words
    )
