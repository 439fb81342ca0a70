from __future__ import annotations

import click

from vaultmem.surfaces.cli import changes, options, tab_completion
from vaultmem.surfaces.cli.text_input import TextCommand, text_from


@click.command(cls=TextCommand)
@click.argument("note", shell_complete=tab_completion.titles)
@click.argument("words", metavar="TEXT…", nargs=-1)
@options.section
@options.on_vault
def append_command(
    note: str, words: tuple[str, ...], section: str | None, call: options.VaultCall
) -> None:
    """Add TEXT, or standard input, at the end of a note or of one of its sections.

    A section is named by its heading, or by those above it as well: "Work › Log". One that is
    not there is not made: the ones that are there are named.
    """
    text = text_from(words, "append")
    call.ask_vault(lambda vault: vault.append(note, text, section=section), changes.print_added)
