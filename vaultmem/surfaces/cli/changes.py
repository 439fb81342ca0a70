"""What commands that change a part of a note share: asking for it, and saying what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.results import Updated


def change_task(
    call: options.VaultCall, note: str, text: str, *, done: bool | None, section: str | None
) -> None:
    """Add a task, or check or uncheck one."""
    if done is None:
        call.ask_vault(lambda vault: vault.add_task(note, text, section=section), print_added)
        return
    ask = "Checked" if done else "Unchecked"
    call.ask_vault(
        lambda vault: vault.check_task(note, text, done=done, section=section),
        lambda result: _print_change(ask if result.updated_fields else "As it was", result),
    )


def print_added(done: Updated) -> None:
    _print_change("Made" if done.created else "Added to", done)


def print_replaced(done: Updated) -> None:
    _print_change("Changed" if done.updated_fields else "As it was", done)


def _print_change(what: str, done: Updated) -> None:
    screen.say_done(what, done.path, done.memory_id)
    if done.task and screen.is_for_a_person():
        screen.say_line(screen.one_screen_line(done.task), dim=True)
    screen.print_warnings(done.warnings)
