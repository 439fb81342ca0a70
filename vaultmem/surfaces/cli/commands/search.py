from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem.limits import STRATEGIES
from vaultmem.surfaces.cli import options, screen

if TYPE_CHECKING:
    from vaultmem.operations.results import Recalled, RecalledMemory

_MATCH: Final = re.compile(r"\*\*(.+?)\*\*")
_MARKED: Final = re.compile("\u2061(.+?)\u2062")  # takes no room when lines are broken
_NO_VECTORS: Final = "have no vector yet"


@click.command()
@click.argument("query", nargs=-1, required=True)
@options.note_option("--type", multiple=True, help="episodic, semantic, procedural, entity …")
@options.note_option("--scope", multiple=True, help="session, project or user.")
@options.note_option("--project", help="Only what belongs to this project.")
@options.note_option("--tag", "tags", help="Any of these; a tag stands for its children.")
@click.option("--after", metavar="DATE", help="Made on this day or later.")
@click.option("--before", metavar="DATE", help="Made on this day or earlier.")
@click.option("--forgotten", "include_forgotten", is_flag=True, help="Forgotten memories too.")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="keyword",
    show_default=True,
    help="hybrid and vector also search by meaning, and take a second to load the model.",
)
@options.limit(default=10)
@click.option("--explain", is_flag=True, help="Show how each hit got its place.")
@options.on_vault
def search_command(
    query: tuple[str, ...], call: options.VaultCall, explain: bool, **wanted: Any
) -> int:
    """Find memories by what they say and what they mean."""
    found = call.ask_vault(
        lambda vault: vault.recall(" ".join(query), explain=explain, **wanted),
        lambda it: _print_search(it, explain),
        "Searching",
    )
    return 0 if found.memories else 1


def _print_search(found: Recalled, explain: bool) -> None:
    screen.print_warnings(found.warnings)
    if any(_NO_VECTORS in warning for warning in found.warnings):
        screen.say_line("Search all of it by meaning: vaultmem index --vectors", dim=True)
    if screen.is_for_a_person():
        for number, hit in enumerate(found.memories, 1):
            _print_search_hit(number, hit, explain)
    else:
        screen.print_table([_hit_fields(hit, explain) for hit in found.memories])
    if found.filters:
        screen.say_line(f"Asked for: {'; '.join(found.filters)}", dim=True)
    if not found.memories:
        screen.say_line(_nothing_found(found))
        return
    number = max(found.total_matched, len(found.memories))
    screen.say_line(
        f"{number} found, {found.strategy_used}, {found.query_time_ms:.0f} ms", dim=True
    )


def _nothing_found(found: Recalled) -> str:
    if not found.index.revision:
        return "Nothing found: there are no memories yet. The first one: vaultmem add TEXT"
    if found.strategy_used == "keyword":
        return "Nothing found by these words. By meaning too: --strategy hybrid"
    return "Nothing found."


def _hit_fields(hit: RecalledMemory, explain: bool) -> tuple[str, ...]:
    snippet = _MATCH.sub(r"\1", hit.snippet)
    return (hit.path, snippet, *((_hit_reasons(hit),) if explain else ()))


def _print_search_hit(number: int, hit: RecalledMemory, explain: bool) -> None:
    title, heading = screen.wrapped_paragraphs(screen.one_screen_line(hit.title), 4), ""
    if hit.heading:
        heading = f" › {screen.one_screen_line(hit.heading)}"
        if screen.screen_columns(title.split("\n")[-1] + heading) > screen.screen_width():
            heading = "\n" + screen.wrapped_paragraphs(heading.lstrip(), 4)
    click.echo(
        f"{number:2}. {click.style(title.lstrip(), bold=True)}{click.style(heading, dim=True)}"
    )
    small = screen.tag_labels(hit.tags, hit.path, hit.type, "forgotten" if hit.forgotten else None)
    click.secho(screen.wrapped_paragraphs(small, 4), dim=True)
    text = screen.wrapped_paragraphs(_MATCH.sub("\u2061\\1\u2062", hit.snippet), 4)
    click.echo(_MARKED.sub(lambda match: click.style(match[1], fg="yellow"), text))
    if explain:
        click.secho(f"    {_hit_reasons(hit)}", fg="cyan")


def _hit_reasons(hit: RecalledMemory) -> str:
    lanes = (f"{x['name']}: place {x['rank']}, score {x['score']:.3f}" for x in hit.lanes or ())
    boosts = (f"{name}: {by:.2f}" for name, by in (hit.boosts or {}).items())
    return f"{hit.relevance_score:.3f} ({'; '.join((*lanes, *boosts))})"
