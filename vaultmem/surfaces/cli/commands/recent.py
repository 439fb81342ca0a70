from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import look, options

if TYPE_CHECKING:
    from vaultmem.views import Listed


@click.command()
@click.option(
    "--limit", type=int, default=20, show_default=True, metavar="N", help="At most so many."
)
@options.vault
@options.as_json
def command(limit: int, vault: str | None, as_json: bool) -> None:
    """Show what was written or changed last."""
    with options.open_reader(vault) as opened, options.progress("Looking"):
        found = opened.recent(limit)
    if as_json:
        click.echo(render.to_json(found))
    else:
        _print(found)


def _print(found: Listed) -> None:
    if not found.memories:
        look.say("There are no memories yet. The first one: vaultmem add TEXT")
        return
    rows = [
        (
            look.when(memory.updated_at or memory.created_at),
            memory.title if look.for_a_person() else memory.path,
            look.labels(memory.tags, memory.type, memory.project),
        )
        for memory in found.memories
    ]
    look.table(rows, ({"fg": "cyan"}, look.BOLD, look.DIM), give=(2, 1))
    if found.total > len(rows):
        look.say(f"{found.total - len(rows):,} more; --limit shows them.", dim=True)
