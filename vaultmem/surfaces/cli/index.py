from __future__ import annotations

import click

from vaultmem.service import Vault
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options
from vaultmem.sync import Report


@click.command()
@click.option("--rebuild", is_flag=True, help="Throw the index away and make it anew.")
@click.option("--vectors", is_flag=True, help="Wait until every passage has its vector too.")
@options.vault
@options.as_json
def command(rebuild: bool, vectors: bool, vault: str | None, as_json: bool) -> int:
    """Bring the index up to date with the notes, now."""
    service = Vault.open(vault)
    with options.progress("Notes") as shown:
        report = service.index_now(rebuild=rebuild, progress=shown)
    if vectors:
        with options.progress("Vectors") as shown:
            service.embed_all(shown)
    if as_json:
        click.echo(render.to_json(render.report(report)))
    else:
        _print(report)
    return 1 if report.withheld else 0


def _print(report: Report) -> None:
    counts = (
        ("+", len(report.added), "added", "green"),
        ("~", len(report.changed), "changed", "yellow"),
        (">", len(report.moved), "moved", "blue"),
        ("-", len(report.removed), "removed", "red"),
        ("!", len(report.problems), "problems", "magenta"),
    )
    parts = [click.style(f"{sign} {n} {word}", fg=color) for sign, n, word, color in counts if n]
    click.echo("  ".join([*(parts or ["Nothing changed."]), f"({report.seconds:.2f} s)"]))
    for path, message in report.problems[:10]:
        click.echo(f"  ! {path}: {message}")
    if len(report.problems) > 10:
        click.echo(f"  … and {len(report.problems) - 10} more; vaultmem doctor lists them")
    if report.withheld:
        click.secho(
            f"The vault looks empty, so the {report.withheld} notes in the index were kept. "
            "If they are really gone: vaultmem index --rebuild",
            fg="red",
            err=True,
        )
