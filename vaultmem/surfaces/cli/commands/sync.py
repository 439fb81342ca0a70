from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from vaultmem.base.own_program import command_to_type
from vaultmem.errors import VaultmemError
from vaultmem.git.repo import NoGitIdentity
from vaultmem.surfaces.cli import options, screen
from vaultmem.surfaces.cli.quiet import is_quiet

if TYPE_CHECKING:
    from vaultmem.git.share import SyncReport
    from vaultmem.vault import Vault

_CODES = {"done": 0, "conflicts": 1, "waiting": 1, "offline": 3, "refused": 3}


@click.command()
@click.option(
    "--watch", metavar="SECONDS", type=click.FloatRange(min=1), help="Sync again and again."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done; changes no file.")
@options.on_vault
def sync_command(watch: float | None, dry_run: bool, call: options.VaultCall) -> int:
    """Commit the notes, merge what other machines did, and push.

    Both sides' changes to one note are put together. Where both changed the same line, the
    note gets both texts between markers; `vaultmem conflicts` shows them, `vaultmem resolve`
    settles them, and the next sync goes on. With --watch such a merge is left to you.
    """
    with call.open_vault() as opened:
        if watch is not None:
            return _watch_and_sync(opened, watch, dry_run, call)
        with options.progress("Syncing"):
            report = opened.sync(dry_run=dry_run)
    call.print_result(report, _print_sync)
    return _CODES[report.status]


def _watch_and_sync(opened: Vault, seconds: float, dry_run: bool, call: options.VaultCall) -> int:
    """Until Ctrl-C, which lets a sync under way come to its end. Being offline, or in the way
    of another git, is no reason to stop."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    before: str | None = None
    while not stopped.is_set():
        try:
            report = opened.sync(dry_run=dry_run, leave_conflicts=False)
            said = "" if report.status == "done" else " ".join(report.messages)
            news = report.committed or report.pulled or report.pushed
            if call.as_json or news or said != (before or ""):
                call.print_result(report, _print_sync)
        except VaultmemError as error:
            cure = isinstance(error, NoGitIdentity)  # it goes on by itself once that is set
            if before is None and error.exit_code == 2 and not cure:
                raise  # it never could; later it may be that a person is in the middle of something
            said = error.message
            if said != before and not stopped.is_set():
                screen.say_complaint(screen.safe_for_screen(said), fg="yellow")
        before = said
        stopped.wait(seconds)
    return 0


def _print_sync(report: SyncReport) -> None:
    if not is_quiet():
        _print_what_was_synced(report)
    for path in report.conflicts:
        click.secho(screen.one_screen_line(f"! {path}: you must choose"), fg="red")
    for message in report.messages:
        tell = screen.say_line if report.status == "done" else screen.say_complaint
        tell(screen.safe_for_screen(message), fg="yellow")
    _say_how_sync_ended(report)


def _print_what_was_synced(report: SyncReport) -> None:
    would = "would be " if report.dry_run else ""
    for commit in report.committed:
        click.echo(click.style("+ ", fg="green") + screen.one_screen_line(commit.subject))
    if report.pulled:
        click.echo(
            click.style("~ ", fg="yellow")
            + f"{screen.number_on_screen(len(report.pulled), 'file')} {would}brought up to date"
        )
    for answer in report.answers:
        click.echo(screen.one_screen_line(f"= {answer.path}: {answer.what}"))
    for lost in report.lost:
        click.echo(screen.one_screen_line(f"= {lost.path}: {lost.what}"))
    for left in report.left:
        click.echo(screen.one_screen_line(f"- {left.path} was left out: {left.reason}"))


def _say_how_sync_ended(report: SyncReport) -> None:
    if report.status == "conflicts":
        screen.say_complaint(
            f"See the two texts with: {command_to_type('conflicts')}\n"
            f"Settle one with: {command_to_type('resolve')} NOTE --ours, --theirs or --both\n"
            "Then sync again.",
            fg=None,
        )
    elif report.status == "done" and not report.dry_run:
        screen.say_line(f"{_how_it_was_synced(report)} ({report.branch}).")


def _how_it_was_synced(report: SyncReport) -> str:
    """Up to date is only what the remote was seen to have."""
    if not report.shared:
        return "Committed here, and nowhere else" if report.committed else "Nothing was shared"
    but = ", but for what was left out" if report.left else ""
    return f"Synced and {'shared' if report.pushed else 'up to date'}{but}"
