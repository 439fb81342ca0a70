from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen


@click.command()
@options.vault
@options.as_json
def tags_command(vault: str | None, as_json: bool) -> None:
    """List the tags, and how many notes carry each."""
    with options.open_vault(vault) as opened, options.progress("Looking"):
        found = opened.tags()
    if as_json:
        click.echo(render.to_json(found))
    elif not found.tags:
        screen.say_line("No note has a tag yet.")
    else:
        rows = [(str(each.count), f"#{each.tag}") for each in found.tags]
        screen.print_table(rows, (screen.DIM, {}))
