from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.git.conflicts import Conflicts


@click.command()
@options.on_vault
def conflicts_command(call: options.VaultCall) -> int:
    """Show notes that two machines changed differently: unfinished merges, and the conflict copies that
    Obsidian Sync, Syncthing or Dropbox made. Looking changes nothing."""
    with call.open_vault(strict=False) as opened, options.progress("Looking"):
        found = opened.conflicts()
        screen.print_warnings(problem.message for problem in opened.settings.problems)
    call.print_result(found, _print_conflicts)
    return 1 if found.conflicts else 0


def _print_conflicts(found: Conflicts) -> None:
    for view in found.conflicts:
        click.secho(screen.screen_line(view.path), bold=True)
        click.echo(screen.screen_line(view.message, 2))
        if view.ancestor:
            origin = "The version both were made from is in git: --both merges them."
            click.echo(screen.screen_line(origin, 2))
        click.secho("  " + screen.one_screen_line(view.fix), dim=True)
        if view.diff:
            screen.print_diff(view.diff)
    if not found.conflicts:
        click.secho("There are no conflicts.", fg="green")
