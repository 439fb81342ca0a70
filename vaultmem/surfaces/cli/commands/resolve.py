from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.git.conflicts import Resolved


@click.command()
@click.argument("note", metavar="NOTE", shell_complete=tab_completion.titles)
@click.option("--ours", "side", flag_value="ours", help="This machine's, or a copy's original.")
@click.option("--theirs", "side", flag_value="theirs", help="The other machine's, or the copy.")
@click.option("--both", "side", flag_value="both", help="The changes, and the lines, of both.")
@options.on_vault
def resolve_command(note: str, side: str | None, call: options.VaultCall) -> None:
    """Settle a conflict that `vaultmem conflicts` shows.

    What only one side changed is kept either way; the choice is about the lines that both
    changed. A conflict copy goes to the trash afterwards. `vaultmem history NOTE` has the
    text from before.
    """
    if side is None:
        raise click.UsageError("Say which side to keep: --ours, --theirs or --both.")
    call.ask_vault(lambda vault: vault.resolve(note, side), _print_resolve)


def _print_resolve(done: Resolved) -> None:
    screen.say_done("Resolved", done.path, done.version)
    if done.trashed:
        screen.say_line(f"The copy is in {screen.one_screen_line(done.trashed)} now.")
    if done.next:
        screen.say_line(screen.one_screen_line(done.next[0].upper() + done.next[1:]) + ".")
