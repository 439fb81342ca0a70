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
def command(
    task: tuple[str, ...], max_tokens: int, files: tuple[str, ...], vault: str | None, as_json: bool
) -> None:
    """Print what an agent should know before a task: one block of text for any other tool."""
    with options.open_vault(vault) as opened, options.progress("Looking"):
        block = opened.context(" ".join(task) or None, files=files, max_tokens=max_tokens)
    if as_json:
        click.echo(render.to_json(block))
        return
    screen.warn(block.warnings)
    if not block.memories_used:
        screen.say("There is nothing to tell an agent yet. The first memory: vaultmem add TEXT")
        return
    text = screen.safe(block.context_block.rstrip("\n"))
    click.echo(screen.paragraphs(text) if screen.for_a_person() else text)
    used = screen.count(block.memories_used, "memory")
    cut = ", shortened to fit" if block.truncated else ""
    screen.say(f"{used}, {block.tokens_used} tokens{cut}.", dim=True)
