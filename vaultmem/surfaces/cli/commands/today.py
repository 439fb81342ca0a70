from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.notes.note import printable
from vaultmem.surfaces.cli import changes, options, screen
from vaultmem.surfaces.cli.text_input import TextCommand, text_from

if TYPE_CHECKING:
    from vaultmem.operations.results import NoteSource

_TODAY = "@today"


@click.command(cls=TextCommand)
@click.argument("words", metavar="[TEXT…]", nargs=-1)
@click.option("--task", "is_task", is_flag=True, help="TEXT is a task to add.")
@options.done
@options.section
@options.on_vault
def today_command(
    words: tuple[str, ...],
    is_task: bool,
    done: bool | None,
    section: str | None,
    call: options.VaultCall,
) -> None:
    """Add TEXT (- for standard input) to the daily note of today; without TEXT, show the note.

    \b
    vaultmem today Called the landlord, he calls back on Friday
    vaultmem today --task Send the contract
    vaultmem today --done contract

    The note is the one that Obsidian opens: its folder, name and template are those of the
    daily notes in its settings, or of the plugin Periodic Notes. It is made if it is not there.
    Other commands know it as @today: vaultmem history @today
    """
    if not words and not is_task and done is None:
        call.ask_vault(lambda vault: vault.source(_TODAY), _print_today)
        return
    text = text_from(words, "write down")
    if is_task or done is not None:
        changes.change_task(call, _TODAY, text, done=done, section=section)
    else:
        call.ask_vault(
            lambda vault: vault.append(_TODAY, text, section=section), changes.print_added
        )


def _print_today(note: NoteSource) -> None:
    if screen.is_for_a_person():
        click.secho(screen.one_screen_line(note.path), dim=True)
    click.echo(screen.safe_for_screen(printable(note.text).rstrip("\r\n")))
