from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.results import Listed


@click.command()
@options.limit(default=20)
@options.on_vault
def recent_command(limit: int, call: options.VaultCall) -> None:
    """Show what was written or changed last."""
    call.ask_vault(lambda vault: vault.recent(limit), _print_recent, "Looking")


def _print_recent(found: Listed) -> None:
    if not found.memories:
        screen.say_line("There are no memories yet. The first one: vaultmem add TEXT")
        return
    rows = [
        (
            screen.moment_for_people(memory.updated_at or memory.created_at),
            memory.title if screen.is_for_a_person() else memory.path,
            screen.tag_labels(memory.tags, memory.type, memory.project),
        )
        for memory in found.memories
    ]
    screen.print_table(rows, ({"fg": "cyan"}, screen.BOLD, screen.DIM), give=(2, 1))
    if found.total > len(rows):
        screen.say_line(f"{found.total - len(rows):,} more; --limit shows them.", dim=True)
