from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vaultmem.note import encode
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import completing, look, options

if TYPE_CHECKING:
    from vaultmem.service import Vault
    from vaultmem.views import Memory


@click.command()
@click.argument("ref", metavar="ID", shell_complete=completing.titles)
@click.option("--raw", is_flag=True, help="Print the file's bytes and nothing else.")
@options.vault
@options.as_json
def command(ref: str, raw: bool, vault: str | None, as_json: bool) -> None:
    """Show one note, named by its id, its path in the vault, its title or an alias."""
    with options.open_vault(vault) as opened:
        if raw:
            sys.stdout.buffer.write(encode(opened.source(ref).text))
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
    click.secho(look.line(memory.title), bold=True)
    click.secho(look.line(memory.path), dim=True)
    why = memory.forgotten_reason or "no reason given"
    words = [*(f"#{tag}" for tag in memory.tags), f"forgotten: {why}" if memory.forgotten else ""]
    small = look.labels((), memory.type, memory.scope, memory.project, memory.kind, *words)
    if small:
        click.secho(look.line(small), dim=True)
    if look.for_a_person():
        click.secho(_times(memory), dim=True)
    for problem in memory.problems or ():
        click.secho(look.one_line(problem.message), fg="yellow")
    click.echo()
    text = memory.content.rstrip("\n")
    click.echo(look.paragraphs(text) if look.for_a_person() else look.safe(text))


def _times(memory: Memory) -> str:
    made, changed = look.when(memory.created_at), look.when(memory.updated_at)
    return look.labels((), f"made {made}", f"changed {changed}" if changed != made else None)
