from __future__ import annotations

import sys

import click

from vaultmem.note import Note, printable
from vaultmem.service import Vault
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options


@click.command()
@click.argument("ref", metavar="ID")
@click.option("--raw", is_flag=True, help="Print the file's bytes and nothing else.")
@options.vault
@options.as_json
def command(ref: str, raw: bool, vault: str | None, as_json: bool) -> None:
    """Show one note, named by its id, its path in the vault, its title or an alias."""
    note = Vault.open(vault).show(ref)
    if raw:
        sys.stdout.buffer.write(note.raw)
    elif as_json:
        click.echo(render.to_json(render.memory(note)))
    else:
        _print(note)


def _print(note: Note) -> None:
    click.secho(printable(note.title), bold=True)
    click.secho(printable(note.path), dim=True)
    words = [note.string(name) for name in ("type", "scope", "project", "kind")]
    words += [f"#{tag}" for tag in note.tags]
    if note.flag("forgotten"):
        words.append(f"forgotten: {note.string('forgotten_reason') or 'no reason given'}")
    if line := " · ".join(word for word in words if word):
        click.secho(printable(line), dim=True)
    for problem in note.problems:
        click.secho(problem.message, fg="yellow")
    click.echo()
    click.echo(printable(note.body.rstrip("\n")))
