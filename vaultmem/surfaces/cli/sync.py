from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from vaultmem.errors import Busy, Unavailable
from vaultmem.surfaces import render
from vaultmem.surfaces.cli import look, options

if TYPE_CHECKING:
    from vaultmem.git.flow import Report

_CODES = {"done": 0, "conflicts": 1, "waiting": 1, "offline": 3}


@click.command()
@click.option(
    "--watch", metavar="SECONDS", type=click.FloatRange(min=1), help="Sync again and again."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done; changes no file.")
@options.vault
@options.as_json
def command(watch: float | None, dry_run: bool, vault: str | None, as_json: bool) -> int:
    """Commit the notes, merge what other machines did, and push.

    Both sides' changes to one note are put together. Where both changed the same line, the
    note gets both texts between markers; `vaultmem conflicts` shows them, `vaultmem resolve`
    settles them, and the next sync goes on. With --watch such a merge is left to you.
    """
    from vaultmem.git.syncing import SyncedVault

    with SyncedVault.open(vault) as opened:
        if watch is not None:
            return _watch(opened, watch, dry_run, as_json)
        report = opened.sync(dry_run=dry_run)
    _print(report, as_json)
    return _CODES[report.status]


def _watch(opened, seconds: float, dry_run: bool, as_json: bool) -> int:  # type: ignore[no-untyped-def]
    """Until Ctrl-C. Being offline, or in the way of another git, is no reason to stop."""
    before = ""
    try:
        while True:
            try:
                report = opened.sync(dry_run=dry_run, leave_conflicts=False)
                said = "" if report.status == "done" else " ".join(report.messages)
                if as_json or _has_news(report) or said != before:
                    _print(report, as_json)
                before = said
            except (Busy, Unavailable) as error:
                if error.message != before:
                    look.say(look.safe(error.message), fg="yellow")
                before = error.message
            time.sleep(seconds)
    except KeyboardInterrupt:
        return 0


def _has_news(report: Report) -> bool:
    return bool(report.committed or report.pulled or report.pushed)


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        click.echo(render.to_json(report))
        return
    would = "would be " if report.dry_run else ""
    for commit in report.committed:
        click.echo(click.style("+ ", fg="green") + look.one_line(commit.subject))
    if report.pulled:
        click.echo(
            click.style("~ ", fg="yellow")
            + f"{look.count(len(report.pulled), 'file')} {would}brought up to date"
        )
    for answer in report.answers:
        click.echo(look.one_line(f"= {answer.path}: {answer.what}"))
    for lost in report.lost:
        click.echo(look.one_line(f"= {lost.path}: {lost.what}"))
    for left in report.left:
        click.echo(look.one_line(f"- {left.path} was left out: {left.reason}"))
    for path in report.conflicts:
        click.secho(look.one_line(f"! {path}: you must choose"), fg="red")
    look.warn(report.messages)
    _say_how(report)


def _say_how(report: Report) -> None:
    if report.status == "conflicts":
        look.say(
            "See the two texts with: vaultmem conflicts\n"
            "Settle one with: vaultmem resolve NOTE --ours, --theirs or --both\n"
            "Then sync again."
        )
    elif report.status == "done" and not report.dry_run:
        shared = "and shared" if report.pushed else "and up to date" if report.remote else "here"
        look.say(f"Synced {shared} ({report.branch}).")
