"""A guided tour in a vault of its own.

The tour runs in a process apart, with a home of its own and no settings of the person: what
it does to git, to notes and to caches it does in a folder that is gone afterwards.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from vaultmem import config
from vaultmem.base import own_program
from vaultmem.errors import InvalidInput


@click.command()
@click.option("--fast", is_flag=True, help="Without pauses to read.")
@click.option(
    "--keep", metavar="DIR", type=click.Path(file_okay=False), help="Leave the vaults in DIR."
)
@click.option("--inside", hidden=True, help="The folder of a tour under way.")
def demo_command(fast: bool, keep: str | None, inside: str | None) -> int:
    """See in half a minute what vaultmem does: an agent stores, you edit, it recalls, a fact
    changes, two machines sync, a mistake is undone.

    Every step is real, in a vault of its own. Your notes, your settings and your git are not
    touched, and nothing is left behind.
    """
    if inside:
        from vaultmem.surfaces.cli import tour

        return tour.guide_tour(Path(inside), kept=keep is not None, pauses=not fast)
    with _demo_place(keep) as place, tempfile.TemporaryDirectory(prefix="vaultmem-home-") as home:
        given = [*(["--fast"] if fast else []), *(["--keep", str(place)] if keep else [])]
        tourist = own_program.own_command("demo", "--inside", str(place), *given)
        return _run_demo(tourist, place, Path(home))


@contextlib.contextmanager
def _demo_place(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(
            prefix="vaultmem-demo-", ignore_cleanup_errors=True
        ) as made:
            yield Path(made).resolve()
        return
    place = Path(keep).expanduser().absolute()
    if place.exists() and any(place.iterdir()):
        raise InvalidInput(f"{place} is not empty; name a folder that is, or a new one.")
    place.mkdir(parents=True, exist_ok=True)
    yield place


def _run_demo(tourist: list[str], place: Path, home: Path) -> int:
    """Ctrl-C is for the tour itself, which says so; here the folders are cleared afterwards."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(
            tourist, cwd=place, env=config.environment_of_stranger(home)
        ).returncode
    finally:
        signal.signal(signal.SIGINT, before)
