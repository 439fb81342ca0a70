from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vaultmem.notes.note import note_bytes
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory
    from vaultmem.vault import Vault


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.option("--raw", is_flag=True, help="Print the file's bytes and nothing else.")
@options.vault
@options.as_json
def command(ref: str, raw: bool, vault: str | None, as_json: bool) -> None:
    """Show one note, named by its id, its path in the vault, its title or an alias."""
    with options.open_vault(vault) as opened:
        if raw:
            sys.stdout.buffer.write(note_bytes(opened.source(ref).text))
            return
        memory = _memory(opened, ref)
    if as_json:
        click.echo(render.to_json(memory))
    else:
        _print(memory)


def _memory(opened: Vault, ref: str) -> Memory:
    found = opened.get([ref]).memories
    if not found:
        opened.source(ref)  # says why not
    return found[0]


def _print(memory: Memory) -> None:
    click.secho(screen.line(memory.title), bold=True)
    click.secho(screen.line(memory.path), dim=True)
    why = memory.forgotten_reason or "no reason given"
    words = [*(f"#{tag}" for tag in memory.tags), f"forgotten: {why}" if memory.forgotten else ""]
    small = screen.labels((), memory.type, memory.scope, memory.project, memory.kind, *words)
    if small:
        click.secho(screen.line(small), dim=True)
    if screen.for_a_person():
        click.secho(_times(memory), dim=True)
    for problem in memory.problems or ():
        click.secho(screen.one_line(problem.message), fg="yellow")
    click.echo()
    text = memory.content.rstrip("\n")
    click.echo(screen.paragraphs(text) if screen.for_a_person() else screen.safe(text))


def _times(memory: Memory) -> str:
    made, changed = screen.when(memory.created_at), screen.when(memory.updated_at)
    return screen.labels((), f"made {made}", f"changed {changed}" if changed != made else None)
