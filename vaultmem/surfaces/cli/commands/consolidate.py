from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.upkeep.consolidation.consolidate import Consolidated


@click.command()
@click.option("--session", "session_id", metavar="S", help="Only what this session brought.")
@click.option("--dry-run/--apply", default=True, help="Show the plan (default), or carry it out.")
@options.on_vault
def consolidate_command(call: options.VaultCall, **wanted: Any) -> None:
    """Turn what happened in sessions into fewer, lasting memories.

    Shows the plan as a diff; nothing is written before you say --apply.
    """
    doing = "Comparing memories"
    call.ask_vault(lambda vault: vault.consolidate(**wanted), _print_consolidate, doing)


def _print_consolidate(done: Consolidated) -> None:
    if done.dry_run:
        screen.print_diff(done.diff or "")
    else:
        for memory in done.consolidated_memories:
            said = "Joined" if memory.replaces else "Written"
            screen.say_done(said, memory.path, memory.id or "")
    for each in done.contradictions:
        old, new = each.older, each.newer
        screen.say_line(
            f"Contradicting: {new.path} ({new.date}) says “{new.says}”, "
            f"{old.path} ({old.date}) “{old.says}”"
        )
    for found in done.patterns_detected:
        screen.say_line(f"In {found.sessions} sessions: {found.pattern}")
    made, stats = len(done.consolidated_memories), done.session_stats
    if not made:
        screen.say_line(
            f"Nothing to draw together in {screen.number_on_screen(stats.memories_analyzed, 'memory')}."
        )
    elif done.dry_run:
        screen.say_line(
            f"{screen.number_on_screen(made, 'memory')} would be drawn from {stats.memories_analyzed}. "
            f"Carry it out: {command_to_type('consolidate')} --apply"
        )
    if done.review:
        screen.say_line(f"{done.review} lists what is yours to judge: {command_to_type('review')}")
