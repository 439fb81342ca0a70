from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen, tab_completion


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.option("--reason", help="Why; it is written into the note.")
@options.vault
@options.as_json
def forget_command(ref: str, reason: str | None, vault: str | None, as_json: bool) -> None:
    """Forget a memory. The note stays where it is, marked, and is not found any more."""
    with options.open_vault(vault) as opened:
        done = opened.forget(ref, reason=reason)
    if as_json:
        click.echo(render.to_json(done))
        return
    screen.say_done("Forgotten", done.path, done.memory_id)
    if screen.is_for_a_person():
        screen.say_line(f"It can come back: vaultmem restore {done.memory_id}", dim=True)
