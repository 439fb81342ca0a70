from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen


@click.command()
@options.vault
@options.as_json
def conflicts_command(vault: str | None, as_json: bool) -> int:
    """Show what two sides could not agree on: unfinished merges, and the conflict copies that
    Obsidian Sync, Syncthing or Dropbox made. Looking changes nothing."""
    from vaultmem.vault import Vault

    with Vault.open(vault, strict=False) as opened, options.progress("Looking"):
        found = opened.conflicts()
    if as_json:
        click.echo(render.to_json(found))
        return 1 if found.conflicts else 0
    for view in found.conflicts:
        click.secho(screen.screen_line(view.path), bold=True)
        click.echo(screen.screen_line(view.message, 2))
        if view.ancestor:
            click.echo(
                screen.screen_line(
                    "The version both were made from is in git: --both merges them.", 2
                )
            )
        click.secho("  " + screen.one_screen_line(view.fix), dim=True)
        if view.diff:
            screen.print_diff(view.diff)
    if not found.conflicts:
        click.secho("There are no conflicts.", fg="green")
    return 1 if found.conflicts else 0
