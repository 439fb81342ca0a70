from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from vaultmem.errors import InvalidInput
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import graph_drawings, options, screen, tab_completion

if TYPE_CHECKING:
    from vaultmem.operations.graphs.graph import Entity, GraphAnswer
    from vaultmem.surfaces.cli.graph_drawings import Edge


@click.command()
@click.argument("entity", required=False, shell_complete=tab_completion.entities)
@click.option(
    "--relation",
    "relationship_type",
    metavar="R",
    help="Only relations of this kind, like depends_on.",
)
@click.option(
    "--direction",
    type=click.Choice(["both", "outgoing", "incoming"]),
    default="both",
    show_default=True,
    help="Only connections from it, or only to it.",
)
@click.option(
    "--depth", type=int, default=1, show_default=True, metavar="N", help="How many steps away."
)
@options.limit(default=20)
@click.option("--max-tokens", type=int, metavar="N", help="With --json: at most so many tokens.")
@click.option("--dot", is_flag=True, help="As a drawing for Graphviz.")
@click.option("--mermaid", is_flag=True, help="As a drawing that Obsidian and GitHub show.")
@click.option("--canvas", is_flag=True, help="As a canvas that Obsidian opens.")
@options.on_vault
def graph_command(
    entity: str | None,
    dot: bool,
    mermaid: bool,
    canvas: bool,
    call: options.VaultCall,
    max_tokens: int | None,
    **wanted: Any,
) -> int:
    """Show ENTITY and what it is connected with; without one, an overview of all."""
    if dot + mermaid + canvas + call.as_json > 1:
        raise InvalidInput("Choose one of --dot, --mermaid, --canvas and --json.")
    with call.open_vault() as opened, options.progress("Looking"):
        found = opened.search_graph(entity, **wanted)
    if dot:
        click.echo(graph_drawings.dot_drawing(_graph_edges(found.entities)))
    elif mermaid:
        click.echo(graph_drawings.mermaid_drawing(_graph_edges(found.entities)))
    elif canvas:
        files = {each.name: each.path for each in found.entities if each.path}
        drawn = graph_drawings.canvas_drawing(_graph_edges(found.entities), files)
        click.echo(render.to_json(drawn))
    else:
        call.print_lean(found, {"entity": entity, "max_tokens": max_tokens}, _print_graph)
    return 0 if found.entities or not entity else 1


def _print_graph(found: GraphAnswer) -> None:
    if not found.entities:
        screen.say_line("No note is linked with another yet.")
    if not screen.is_for_a_person():
        screen.print_table(_graph_edges(found.entities))
        return
    shown: set[Edge] = set()
    for entity in found.entities:
        _print_graph_entity(entity, shown)
    if found.memories:
        click.echo()
        click.secho("Memories", bold=True)
        rows = [(each.title, each.excerpt) for each in found.memories]
        screen.print_table(rows, ({}, screen.DIM), indent=2)


def _print_graph_entity(entity: Entity, shown: set[Edge]) -> None:
    """An entity with those of its connections that were not shown from their other end."""
    click.secho(screen.one_screen_line(entity.name), bold=True, nl=False)
    notes = screen.number_on_screen(entity.memory_count, "note")
    known = f"in {notes}" if entity.memory_count else None
    click.secho("  " + screen.tag_labels((), entity.type, known), dim=True)
    rows = []
    for each in entity.relationships:
        edge = render.directed_edge(entity, each)
        if edge not in shown:
            rows.append((each.type, "→" if each.direction == "outgoing" else "←", each.target))
        shown.add(edge)
    if rows:
        screen.print_table(rows, ({"fg": "cyan"},), indent=2)


def _graph_edges(entities: Sequence[Entity]) -> list[Edge]:
    """Every connection once, from whichever end it was seen."""
    found = (
        render.directed_edge(entity, each) for entity in entities for each in entity.relationships
    )
    return list(dict.fromkeys(found))
