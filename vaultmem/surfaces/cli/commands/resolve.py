from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen, tab_completion


@click.command()
@click.argument("note", metavar="NOTE", shell_complete=tab_completion.titles)
@click.option("--ours", "side", flag_value="ours", help="This machine's, or a copy's original.")
@click.option("--theirs", "side", flag_value="theirs", help="The other machine's, or the copy.")
@click.option("--both", "side", flag_value="both", help="The changes, and the lines, of both.")
@options.vault
@options.as_json
def resolve_command(note: str, side: str | None, vault: str | None, as_json: bool) -> None:
    """Settle a conflict that `vaultmem conflicts` shows.

    What only one side changed is kept either way; the choice is about the lines that both
    changed. A conflict copy goes to the trash afterwards. `vaultmem history NOTE` has the
    text from before.
    """
    if side is None:
        raise click.UsageError("Say which side to keep: --ours, --theirs or --both.")
    from vaultmem.vault import Vault

    with Vault.open(vault) as opened:
        done = opened.resolve(note, side)
    if as_json:
        click.echo(render.to_json(done))
        return
    screen.say_done("Resolved", done.path, done.version)
    if done.trashed:
        screen.say_line(f"The copy is in {screen.one_screen_line(done.trashed)} now.")
    if done.next:
        screen.say_line(screen.one_screen_line(done.next[0].upper() + done.next[1:]) + ".")
