from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import look, options


@click.command()
@options.vault
@options.as_json
def command(vault: str | None, as_json: bool) -> int:
    """Show what two sides could not agree on: unfinished merges, and the conflict copies that
    Obsidian Sync, Syncthing or Dropbox made. Looking changes nothing."""
    from vaultmem.git.syncing import SyncedVault

    with SyncedVault.open(vault, strict=False) as opened, options.progress("Looking"):
        found = opened.conflicts()
    if as_json:
        click.echo(render.to_json(found))
        return 1 if found.conflicts else 0
    for view in found.conflicts:
        click.secho(look.line(view.path), bold=True)
        click.echo(look.line(view.message, 2))
        if view.ancestor:
            click.echo(
                look.line("The version both were made from is in git: --both merges them.", 2)
            )
        click.secho("  " + look.one_line(view.fix), dim=True)
        if view.diff:
            look.diff(view.diff)
    if not found.conflicts:
        click.secho("There are no conflicts.", fg="green")
    return 1 if found.conflicts else 0
