from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.quiet import is_quiet

if TYPE_CHECKING:
    from vaultmem.indexing.reconcile import ReconcileReport


@click.command()
@click.option("--rebuild", is_flag=True, help="Throw the index away and make it anew.")
@click.option("--vectors", is_flag=True, help="Wait until every passage has its vector too.")
@options.on_vault
def index_command(rebuild: bool, vectors: bool, call: options.VaultCall) -> int:
    """Bring the index up to date with the notes, now."""
    with call.open_vault() as opened:
        with options.progress("Notes") as shown:
            report = opened.index_now(rebuild=rebuild, progress=shown)
        made = left = 0
        if vectors:
            with options.progress("Vectors") as shown:
                made = opened.embed_all(shown)
        elif not call.as_json and not is_quiet():
            index = opened.status().index
            left = index.pending if index.model_state == "ready" else 0
    if call.as_json:
        click.echo(render.to_json(render.reconcile_report_json(report)))
    else:
        _print_index(report, made, left)
    return 1 if report.withheld else 0


def _print_index(report: ReconcileReport, made: int, left: int) -> None:
    if report.withheld:
        screen.say_complaint(
            f"The vault looks empty, so the {report.withheld} notes in the index were kept. "
            f"If they are really gone: {command_to_type('index')} --rebuild"
        )
    if is_quiet():
        return
    counts = (
        ("+", len(report.added), "added", "green"),
        ("~", len(report.changed), "changed", "yellow"),
        (">", len(report.moved), "moved", "blue"),
        ("-", len(report.removed), "removed", "red"),
        ("!", len(report.problems), "problems", "magenta"),
    )
    parts = [click.style(f"{sign} {n:,} {word}", fg=color) for sign, n, word, color in counts if n]
    click.echo("  ".join([*(parts or ["Nothing changed."]), f"({report.seconds:.2f} s)"]))
    for path, message in report.problems[:10]:
        click.echo("! " + screen.screen_line(f"{path}: {message}", 2).lstrip())
    if len(report.problems) > 10:
        click.echo(
            f"  … and {len(report.problems) - 10} more; {command_to_type('doctor')} lists them"
        )
    if made:
        screen.say_line(
            f"Search by meaning: {screen.number_on_screen(made, 'passage')} made ready."
        )
    if left:
        waiting = screen.number_on_screen(left, "passage")
        screen.say_line(
            f"Search by meaning: {waiting} to go: {command_to_type('index')} --vectors", dim=True
        )
