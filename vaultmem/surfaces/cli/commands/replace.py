from __future__ import annotations

import click

from vaultmem.errors import InvalidInput
from vaultmem.surfaces.cli import changes, options, tab_completion
from vaultmem.surfaces.cli.text_input import STANDARD_INPUT, TextCommand, text_piped


@click.command(cls=TextCommand)
@click.argument("note", shell_complete=tab_completion.titles)
@click.argument("old")
@click.argument("new")
@options.on_vault
def replace_command(note: str, old: str, new: str, call: options.VaultCall) -> None:
    """Put NEW in place of OLD, which must stand in the note exactly once.

    An empty NEW deletes it. One of both may be - for standard input. Where OLD stands several
    times or not at all, the places, or what comes near, are shown and nothing changes.
    """
    if STANDARD_INPUT == old == new:
        raise InvalidInput("Only one of OLD and NEW can come from standard input.")
    old, new = _text_to_replace(old), _text_to_replace(new)
    call.ask_vault(lambda vault: vault.replace(note, old, new), changes.print_replaced)


def _text_to_replace(given: str) -> str:
    if given != STANDARD_INPUT:
        return given
    return text_piped().removesuffix("\n").removesuffix("\r")
