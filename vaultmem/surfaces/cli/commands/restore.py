from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.results import Restored


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.argument("version", required=False)
@options.on_vault
def restore_command(ref: str, version: str | None, call: options.VaultCall) -> None:
    """Undo the last change to a note (forgetting it, deleting it, changing its text), or
    bring back an earlier VERSION.

    `vaultmem history ID` lists the versions; their first letters are enough. What is
    replaced becomes a version too, so this can be undone as well.
    """
    call.ask_vault(lambda vault: vault.restore(ref, version), _print_restore)


def _print_restore(done: Restored) -> None:
    screen.say_done("Restored", done.path, done.memory_id)
    screen.print_warnings(done.warnings)
