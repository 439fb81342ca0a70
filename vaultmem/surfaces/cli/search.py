from __future__ import annotations

import re
from typing import Any

import click

from vaultmem.recall import STRATEGIES, Answer, Hit
from vaultmem.service import Vault
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--type", "types", multiple=True, help="episodic, semantic, procedural, entity …")
@click.option("--scope", "scopes", multiple=True, help="session, project or user.")
@click.option("--project", "projects", multiple=True)
@click.option("--tag", "tags", multiple=True, help="Any of these; a tag stands for its children.")
@click.option("--after", metavar="DATE", help="Made on this day or later.")
@click.option("--before", metavar="DATE", help="Made on this day or earlier.")
@click.option("--forgotten", is_flag=True, help="Look among forgotten memories too.")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="keyword",
    show_default=True,
    help="hybrid and vector also search by meaning, and take a second to load the model.",
)
@click.option("--limit", type=int, default=10, show_default=True)
@click.option("--explain", is_flag=True, help="Show how each hit got its place.")
@options.vault
@options.as_json
def command(
    query: tuple[str, ...],
    vault: str | None,
    as_json: bool,
    explain: bool,
    strategy: str,
    limit: int,
    **filters: Any,
) -> int:
    """Find memories by what they say and what they mean."""
    service = Vault.open(vault)
    answer = service.recall(" ".join(query), strategy=strategy, limit=limit, **filters)
    if as_json:
        click.echo(render.to_json(render.answer(answer, service.freshness(), explain=explain)))
    else:
        _print(answer, explain)
    return 0 if answer.hits else 1


def _print(answer: Answer, explain: bool) -> None:
    for warning in answer.warnings:
        click.secho(warning, fg="yellow", err=True)
    for number, hit in enumerate(answer.hits, 1):
        _print_hit(number, hit, explain)
    if not answer.hits:
        click.echo("Nothing found.", err=True)
        return
    found = (
        f"{answer.total} found" if answer.total > len(answer.hits) else f"{len(answer.hits)} found"
    )
    click.secho(f"{found}, {answer.strategy}, {answer.milliseconds:.0f} ms", dim=True, err=True)


def _print_hit(number: int, hit: Hit, explain: bool) -> None:
    row = hit.row
    heading = f" › {hit.heading}" if hit.heading else ""
    click.echo(f"{number:2}. " + click.style(row.title, bold=True) + click.style(heading, dim=True))
    words = [row.path, row.type, *(f"#{tag}" for tag in row.tags)]
    click.secho("    " + " · ".join(words), dim=True)
    click.echo(
        "    " + re.sub(r"\*\*(.+?)\*\*", lambda m: click.style(m[1], fg="yellow"), hit.snippet)
    )
    if explain:
        lanes = "; ".join(f"{x.name}: place {x.rank}, score {x.score:.3f}" for x in hit.lanes)
        click.secho(f"    {hit.score:.3f} ({lanes})", fg="cyan")
