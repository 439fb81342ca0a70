from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.limits import DETAILS, STRATEGIES
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.text_input import TextCommand

if TYPE_CHECKING:
    from vaultmem.operations.results import Recalled, RecalledMemory

_MATCH: Final = re.compile(r"\*\*(.+?)\*\*")
_MARKED: Final = re.compile("\u2061(.+?)\u2062")  # takes no room when lines are broken
_NO_VECTORS: Final = "no vector yet"


@click.command(cls=TextCommand)
@click.argument("query", nargs=-1, required=True)
@options.note_option("--type", multiple=True, help="episodic, semantic, procedural, entity …")
@options.note_option("--scope", multiple=True, help="session, project or user.")
@options.note_option("--project", help="Only what belongs to this project.")
@options.note_option("--tag", "tags", help="Only with one of these tags, or one below it.")
@click.option(
    "--after",
    metavar="DATE",
    callback=options.day_in_words,
    help="Made on this day or later; also `today`, or `2d` for two days.",
)
@click.option(
    "--before", metavar="DATE", callback=options.day_in_words, help="Made on this day or earlier."
)
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
@click.option(
    "--detail",
    type=click.Choice(DETAILS),
    default="normal",
    show_default=True,
    help="With --json: how much of each passage is shown, and whether properties at their default are.",
)
@click.option("--max-tokens", type=int, metavar="N", help="With --json: at most so many tokens.")
@options.on_vault
def search_command(
    query: tuple[str, ...],
    call: options.VaultCall,
    detail: str,
    max_tokens: int | None,
    **wanted: Any,
) -> int:
    """Find memories by what they say and what they mean.

    Among keywords "a phrase", -word, begin*, tag:, path: and type: say exactly what is wanted; put
    all of it in single quotes for the shell.
    """
    size: dict[str, Any] = {"detail": detail, "max_tokens": max_tokens} if call.as_json else {}
    with call.open_vault() as opened, options.progress("Searching"):
        found = opened.recall(" ".join(query), **size, **wanted)
    call.print_lean(found, size, lambda it: _print_search(it, bool(wanted["explain"])))
    return 0 if found.memories else 1


def _print_search(found: Recalled, explain: bool) -> None:
    screen.print_warnings(found.warnings)
    if any(_NO_VECTORS in warning for warning in found.warnings):
        screen.say_line(
            f"Search all of it by meaning: {command_to_type('index')} --vectors", dim=True
        )
    if screen.is_for_a_person():
        for number, hit in enumerate(found.memories, 1):
            _print_search_hit(number, hit, explain)
    else:
        screen.print_table([_search_hit_fields(hit, explain) for hit in found.memories])
    if found.trace:
        from vaultmem.surfaces.recall_text import answer_words

        screen.say_line(answer_words(render.plain_json(found.trace)).capitalize(), dim=True)
    if not found.memories:
        screen.say_line(_nothing_found_by_search(found))
        if found.nearest:
            screen.say_line("Nearest, but no answer:", dim=True)
        for near in found.nearest:
            screen.say_line(
                screen.one_screen_line(f"  {near.path}  {near.relevance_score:.2f}"), dim=True
            )
        return
    number = max(found.total_matched, len(found.memories))
    screen.say_line(
        f"{number} found, {found.strategy_used}, {found.query_time_ms:.0f} ms", dim=True
    )


def _nothing_found_by_search(found: Recalled) -> str:
    if not found.index.revision:
        return f"Nothing found: there are no memories yet. The first one: {command_to_type('add')} TEXT"
    if found.strategy_used == "keyword":
        return "Nothing found by these words. By meaning too: --strategy hybrid"
    return "Nothing found."


def _search_hit_fields(hit: RecalledMemory, explain: bool) -> tuple[str, ...]:
    snippet = _MATCH.sub(r"\1", hit.snippet)
    return (hit.path, snippet, *((_search_hit_reasons(hit),) if explain else ()))


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
        click.secho(f"    {_search_hit_reasons(hit)}", fg="cyan")


def _search_hit_reasons(hit: RecalledMemory) -> str:
    from vaultmem.surfaces.recall_text import trace_words

    return f"{hit.relevance_score:.3f} ({trace_words(render.plain_json(hit.trace))})"
