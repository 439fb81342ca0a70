from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.results import Projects


@click.command()
@options.on_vault
def projects_command(call: options.VaultCall) -> None:
    """List the projects, how many memories each has, and what it is.

    What a project is stands in a note of its own: one in the folder of entities with the kind
    `project`, or one that has the project's name.
    """
    call.ask_vault(lambda vault: vault.projects(), _print_projects, "Looking")


def _print_projects(found: Projects) -> None:
    if not found.projects:
        screen.say_line("No note belongs to a project yet.")
        return
    rows = [(str(each.memories), each.name, each.description) for each in found.projects]
    screen.print_table(rows, (screen.DIM, {}, screen.DIM))
