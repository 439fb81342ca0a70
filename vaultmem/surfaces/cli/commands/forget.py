from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.results import Forgotten


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.option("--reason", help="Why; it is written into the note.")
@options.on_vault
def forget_command(ref: str, reason: str | None, call: options.VaultCall) -> None:
    """Forget a memory. The note stays where it is, marked, and is not found any more."""
    call.ask_vault(lambda vault: vault.forget(ref, reason=reason), _print_forget)


def _print_forget(done: Forgotten) -> None:
    screen.say_done("Forgotten", done.path, done.memory_id)
    if screen.is_for_a_person():
        screen.say_line(
            f"It can come back: {command_to_type('restore')} {done.memory_id}", dim=True
        )
