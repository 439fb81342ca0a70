from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.text_input import TextCommand

if TYPE_CHECKING:
    from vaultmem.operations.context.contexts import ContextBlock


@click.command(cls=TextCommand)
@click.argument("task", metavar="[TASK…]", nargs=-1)
@click.option(
    "--max-tokens",
    type=int,
    default=2000,
    show_default=True,
    metavar="N",
    help="How long the block may be.",
)
@options.note_option("--project", help="What matters for this project.")
@click.option("--file", "files", metavar="PATH", multiple=True, help="A file the task is about.")
@options.on_vault
def context_command(task: tuple[str, ...], call: options.VaultCall, **wanted: Any) -> None:
    """Print what an agent should know before a task: one block of text for any other tool."""
    about = " ".join(task) or None
    call.ask_vault(
        lambda vault: vault.context(about, **wanted),
        lambda block: _print_context(block, about),
        "Looking",
    )


def _print_context(block: ContextBlock, task: str | None) -> None:
    screen.print_warnings(block.warnings)
    if not block.memories_used:
        begin = f"There is nothing to tell an agent yet. The first memory: {command_to_type('add')} TEXT"
        screen.say_line((task and block.message) or begin)
        return
    text = screen.safe_for_screen(block.context_block.rstrip("\n"))
    click.echo(screen.wrapped_paragraphs(text) if screen.is_for_a_person() else text)
    used = screen.number_on_screen(block.memories_used, "memory")
    cut = ", shortened to fit" if block.truncated else ""
    screen.say_line(f"{used}, {block.tokens_used} tokens{cut}.", dim=True)
