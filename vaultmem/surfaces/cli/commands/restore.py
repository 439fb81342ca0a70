from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen, tab_completion


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.argument("version", required=False)
@options.vault
@options.as_json
def restore_command(ref: str, version: str | None, vault: str | None, as_json: bool) -> None:
    """Undo the last change to a note (forgetting it, deleting it, changing its text), or
    bring back an earlier VERSION.

    `vaultmem history ID` lists the versions; their first letters are enough. What is
    replaced becomes a version too, so this can be undone as well.
    """
    with options.open_vault(vault) as opened:
        done = opened.restore(ref, version)
    if as_json:
        click.echo(render.to_json(done))
    else:
        screen.say_done("Restored", done.path, done.memory_id)
        screen.print_warnings(done.warnings)
