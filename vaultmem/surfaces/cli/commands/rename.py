from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.errors import InvalidInput
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.upkeep.renaming import Renamed


@click.command()
@click.argument("ref", metavar="NOTE", required=False, shell_complete=tab_completion.titles)
@click.argument("title", required=False)
@click.option("--alias", is_flag=True, help="Keep the old name as an alias.")
@click.option("--dry-run", is_flag=True, help="Show what would change.")
@click.option("--undo", is_flag=True, help="Take the last renaming back.")
@options.on_vault
def rename_command(
    ref: str | None,
    title: str | None,
    alias: bool,
    dry_run: bool,
    undo: bool,
    call: options.VaultCall,
) -> None:
    """Rename a note, and change every link to it as Obsidian does.

    Without a TITLE it is named by its text's own first words: for a note whose text was corrected
    since it was named. Links in notes, properties and canvases are changed where they name it,
    and nowhere else; what is ambiguous is refused before anything is touched.
    """
    if undo:
        if ref:
            raise InvalidInput("--undo takes back the last renaming; name no note with it.")
        call.ask_vault(lambda vault: vault.undo_rename(), _print_rename, "Renaming")
        return
    if not ref:
        raise InvalidInput(f"Name the note: {command_to_type('rename')} NOTE [TITLE]")
    call.ask_vault(
        lambda vault: vault.rename(ref, title, alias=alias, dry_run=dry_run),
        _print_rename,
        "Looking for links",
    )


def _print_rename(done: Renamed) -> None:
    screen.say_done("Renamed" if done.done else "Would rename", done.path, done.memory_id)
    for path in done.linking:
        screen.say_line(f"  {screen.one_screen_line(path)}", dim=True)
    files = screen.number_on_screen(len(done.linking), "other file")
    if done.linking:
        screen.say_line(f"{'Links changed' if done.done else 'Links would change'} in {files}.")
    if done.done and screen.is_for_a_person():
        undo = command_to_type("rename --undo")
        screen.say_line(f"It can be taken back: {undo}", dim=True)
