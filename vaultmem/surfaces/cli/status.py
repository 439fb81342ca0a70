from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import look, options

if TYPE_CHECKING:
    from vaultmem.status import Status

_SHOWN = 10


@click.command()
@options.vault
@options.as_json
def command(vault: str | None, as_json: bool) -> None:
    """Show how the vault and its index are."""
    with options.open_reader(vault, strict=False) as opened:
        status = opened.status()
    if as_json:
        click.echo(render.to_json(status))
    else:
        _print(status)


def _print(status: Status) -> None:
    index = status.index
    click.secho(look.one_line(status.connection.path), bold=True)
    if status.connection.read_only:
        click.secho("Read-only  nothing can be written", fg="yellow")
    click.echo(f"Memories   {_memories(status)}")
    click.echo(
        f"Notes      {index.notes} indexed, {index.passages} passages (revision {index.revision})"
    )
    reason = f" ({index.model_reason})" if index.model_reason else ""
    click.echo(look.safe(f"Model      {index.model or 'none'}: {index.model_state}{reason}"))
    if index.model_state == "ready":
        left = f", {index.pending} to go" if index.pending else ""
        click.echo(f"Vectors    {index.passages - index.pending} of {index.passages}{left}")
    if index.fulltext != "ready":
        click.secho(f"Full text  {index.fulltext}", fg="yellow")
    click.echo(f"Following  {index.following}")
    for skipped in index.skipped[:_SHOWN]:
        click.secho(look.one_line(f"! {skipped.path}: {skipped.reason}"), fg="yellow")
    if len(index.skipped) > _SHOWN:
        click.echo(f"… and {len(index.skipped) - _SHOWN} more; vaultmem doctor lists them")
    for problem in status.settings_problems:
        click.secho(look.one_line(problem), fg="yellow")


def _memories(status: Status) -> str:
    counts = status.counts
    kinds = [f"{number} {name}" for name, number in counts.by_type.items() if number]
    forgotten = [f"{counts.forgotten} forgotten"] if counts.forgotten else []
    return ", ".join([*kinds, *forgotten]) or "none yet"
