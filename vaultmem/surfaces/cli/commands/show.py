from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.notes.note import note_bytes, note_title
from vaultmem.surfaces.cli import options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory


@click.command()
@click.argument("ref", metavar="ID", shell_complete=tab_completion.titles)
@click.option("--raw", is_flag=True, help="Print the file's bytes and nothing else.")
@options.on_vault
def show_command(ref: str, raw: bool, call: options.VaultCall) -> None:
    """Show one note, named by its id, its path in the vault, its title or an alias."""
    with call.open_vault() as opened:
        if raw:
            sys.stdout.buffer.write(note_bytes(opened.source(ref).text))
            return
        found = opened.get([ref]).memories
        if not found:
            opened.source(ref)  # says why not
        memory = found[0]
    call.print_result(memory, _print_show)


def _print_show(memory: Memory) -> None:
    click.secho(screen.screen_line(memory.title), bold=True)
    click.secho(screen.screen_line(memory.path), dim=True)
    if screen.is_for_a_person() and memory.title != note_title(memory.path):
        rename = command_to_type(f"rename {memory.id}")
        advice = f"Its file is named by an earlier text: {rename}"
        click.secho(screen.screen_line(advice), fg="yellow")
    why = memory.forgotten_reason or "no reason given"
    words = [*(f"#{tag}" for tag in memory.tags), f"forgotten: {why}" if memory.forgotten else ""]
    small = screen.tag_labels((), memory.type, memory.scope, memory.project, memory.kind, *words)
    if small:
        click.secho(screen.screen_line(small), dim=True)
    if screen.is_for_a_person():
        click.secho(_shown_memory_times(memory), dim=True)
    for problem in memory.problems or ():
        click.secho(screen.one_screen_line(problem.message), fg="yellow")
    click.echo()
    text = memory.content.rstrip("\n")
    shown = screen.wrapped_paragraphs if screen.is_for_a_person() else screen.safe_for_screen
    click.echo(shown(text))


def _shown_memory_times(memory: Memory) -> str:
    made = screen.moment_for_people(memory.created_at)
    changed = screen.moment_for_people(memory.updated_at)
    return screen.tag_labels((), f"made {made}", f"changed {changed}" if changed != made else None)
