from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.sessions import ObservationView


@click.command()
@click.argument("observation_id", metavar="[ID]", required=False)
@click.option("--session", "session_id", metavar="S", help="Of this session alone.")
@click.option("--before", type=int, metavar="N", help="How many before ID.  [default: 10]")
@click.option("--after", type=int, metavar="N", help="How many after ID.  [default: 10]")
@options.on_vault
def timeline_command(observation_id: str | None, call: options.VaultCall, **wanted: Any) -> int:
    """Show what agents observed, in order of time; with an ID, what happened around it."""
    found = call.ask_vault(
        lambda vault: vault.timeline(observation_id=observation_id, **wanted),
        lambda it: _print_timeline(it.observations, observation_id or ""),
        "Looking",
    )
    if not found.observations:
        screen.say_line("Nothing was observed yet.")
    return 0 if found.observations else 1


def _print_timeline(observations: Sequence[ObservationView], wanted: str) -> None:
    if not screen.is_for_a_person():
        timed = ((screen.moment_for_people(each.time), each) for each in observations)
        screen.print_table([(time, each.id, each.type, each.content) for time, each in timed])
        return
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
