from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.sessions import ObservationView


@click.command()
@click.argument("observation", metavar="[ID]", required=False)
@click.option("--session", "session_id", metavar="S", help="Of this session alone.")
@click.option("--before", type=int, metavar="N", help="How many before ID.  [default: 10]")
@click.option("--after", type=int, metavar="N", help="How many after ID.  [default: 10]")
@options.vault
@options.as_json
def timeline_command(
    observation: str | None,
    session_id: str | None,
    before: int | None,
    after: int | None,
    vault: str | None,
    as_json: bool,
) -> int:
    """Show what agents observed, in order of time; with an ID, what happened around it."""
    with options.open_vault(vault) as opened, options.progress("Looking"):
        found = opened.timeline(
            observation_id=observation, session_id=session_id, before=before, after=after
        )
    if as_json:
        click.echo(render.to_json(found))
    elif screen.is_for_a_person():
        _print_timeline(found.observations, observation or "")
    else:
        screen.print_table([_observation_fields(each) for each in found.observations])
    if not found.observations:
        screen.say_line("Nothing was observed yet.")
    return 0 if found.observations else 1


def _observation_fields(each: ObservationView) -> tuple[str, ...]:
    return (screen.moment_for_people(each.time), each.id, each.type, each.content)


def _print_timeline(observations: Sequence[ObservationView], wanted: str) -> None:
    for path, group in itertools.groupby(observations, key=lambda each: each.path):
        click.secho(screen.screen_line(path), dim=True)
        for each in group:
            colour = "yellow" if each.id.lower() == wanted.lower() else "cyan"
            time, kind = screen.moment_for_people(each.time), screen.one_screen_line(each.type)
            small = screen.tag_labels(each.tags, each.id)
            fits = screen.screen_columns(f"  {time}  {kind}  {small}") <= screen.screen_width()
            click.echo(
                f"  {click.style(time, fg=colour)}  {click.style(kind, bold=True)}"
                + ("  " if fits else "\n")
                + click.style(small if fits else screen.wrapped_paragraphs(small, 4), dim=True)
            )
            click.echo(screen.wrapped_paragraphs(each.content, 4))
