from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.results import Tags


@click.command()
@options.on_vault
def tags_command(call: options.VaultCall) -> None:
    """List the tags, and how many notes carry each."""
    call.ask_vault(lambda vault: vault.tags(), _print_tags, "Looking")


def _print_tags(found: Tags) -> None:
    if not found.tags:
        screen.say_line("No note has a tag yet.")
        return
    rows = [(str(each.count), f"#{each.tag}") for each in found.tags]
    screen.print_table(rows, (screen.DIM, {}))
