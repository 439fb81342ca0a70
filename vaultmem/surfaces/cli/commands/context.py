from __future__ import annotations

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen


@click.command()
@click.argument("task", metavar="[TASK…]", nargs=-1)
@click.option(
    "--max-tokens",
    type=int,
    default=2000,
    show_default=True,
    metavar="N",
    help="How long the block may be.",
)
@click.option("--file", "files", metavar="PATH", multiple=True, help="A file the task is about.")
@options.vault
@options.as_json
def context_command(
    task: tuple[str, ...], max_tokens: int, files: tuple[str, ...], vault: str | None, as_json: bool
) -> None:
    """Print what an agent should know before a task: one block of text for any other tool."""
    with options.open_vault(vault) as opened, options.progress("Looking"):
        block = opened.context(" ".join(task) or None, files=files, max_tokens=max_tokens)
    if as_json:
        click.echo(render.to_json(block))
        return
    screen.print_warnings(block.warnings)
    if not block.memories_used:
        begin = "There is nothing to tell an agent yet. The first memory: vaultmem add TEXT"
        screen.say_line((task and block.message) or begin)
        return
    text = screen.safe_for_screen(block.context_block.rstrip("\n"))
    click.echo(screen.wrapped_paragraphs(text) if screen.is_for_a_person() else text)
    used = screen.counted_words(block.memories_used, "memory")
    cut = ", shortened to fit" if block.truncated else ""
    screen.say_line(f"{used}, {block.tokens_used} tokens{cut}.", dim=True)
