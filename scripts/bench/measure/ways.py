"""The ways of data: how many modules each touches, and how often it comes back to one.

    scripts/bench/run ways [--checkout DIR]

Every way is gone once before it is looked at, so that nothing is counted that is loaded or opened
but once. A place in the code from which another module is entered counts once, however often it is
passed: the first into each module is how the way gets there, every further one is a return. The same
is counted for packages, where a state has them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[3]
FLAGS = {"typing.quiet_seconds": 0.0, "model": "off"}


class Counts(NamedTuple):
    modules: int
    returns: int
    packages: int
    returns_between: int


class Way:
    """Watches the calls of all threads that are started after it, while it is on."""

    def __init__(self, package: Path) -> None:
        self.package = f"{package}/"
        self.is_on = False
        self.modules: set[str] = set()
        self.entries: set[tuple[str, int, str]] = set()
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.is_on or event != "call" or frame.f_code.co_name.startswith("<"):
            return
        module = frame.f_code.co_filename
        if not module.startswith(self.package):
            return
        self.modules.add(module)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self.package):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != module:
            self.entries.add((caller.f_code.co_filename, caller.f_lineno, module))

    def gone(self, walk: Callable[[], object]) -> Counts:
        self.modules, self.entries, self.is_on = set(), set(), True
        walk()
        self.is_on = False
        between = {
            (caller, line, self._unit(module))
            for caller, line, module in self.entries
            if self._unit(caller) != self._unit(module)
        }
        return Counts(
            len(self.modules),
            len(self.entries) - len({entry[2] for entry in self.entries}),
            len({self._unit(module) for module in self.modules}),
            len(between) - len({entry[2] for entry in between}),
        )

    def _unit(self, module: str) -> str:
        return module.removeprefix(self.package).partition("/")[0]


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench/run ways", description=__doc__)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="another state of vaultmem")
    checkout = parser.parse_args().checkout.resolve()
    sys.path.insert(0, str(checkout))
    way = Way(checkout / "vaultmem")
    print("| way | modules | returns | packages | returns between them |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, counts in _ways(way, Path(folder)).items():
            print(f"| {name} | {' | '.join(map(str, counts))} |")


def _ways(way: Way, folder: Path) -> dict[str, Counts]:
    from vaultmem import Vault

    root = folder / "vault"
    (root / ".vaultmem").mkdir(parents=True)
    told: dict[str, Counts] = {}
    with Vault.open(root, FLAGS) as vault:
        for number in range(3):
            vault.remember(f"The heron number {number} stands at the weir.", tags=["bird"])
            vault.recall("heron weir")
        told["an agent stores"] = way.gone(lambda: vault.remember("A kingfisher.", tags=["bird"]))
        told["an agent recalls"] = way.gone(lambda: vault.recall("kingfisher"))
        told["a person edits"] = _edit(way, vault, root)
    with Vault.open(_clones(folder), FLAGS) as vault:
        told["a sync"] = way.gone(vault.sync)
    return told


def _edit(way: Way, vault: Any, root: Path) -> Counts:
    reports: list[Any] = []
    follower = vault.follower(reports.append)
    follower.start()
    note = root / "Memories" / "By hand.md"
    try:
        _until(lambda: follower.watcher and follower.watcher.mode == "native")
        for text in ("Halyards are ropes.\n", "Sheets are ropes.\n"):
            reports.clear()
            told = way.gone(lambda text=text: (note.write_text(text), _until(lambda: reports)))
    finally:
        follower.stop()
    return told


def _clones(folder: Path) -> Path:
    """Two clones of one vault, of which each has changed the same note and one has a new one."""
    git(folder, "init", "-q", "--bare", "--initial-branch=main", "hub.git")
    for name in ("here", "there"):
        git(folder, "clone", "-q", "hub.git", name)
        for key, value in (("name", "Somebody"), ("email", "somebody@localhost")):
            git(folder / name, "config", f"user.{key}", value)
        if name == "here":
            git(folder / name, "switch", "-q", "-c", "main")
            (folder / name / ".gitignore").write_text(".vaultmem/\n")
            (folder / name / "Note.md").write_text("---\ntags: [a]\n---\nOne.\n\nTwo.\n\nThree.\n")
            _commit(folder / name)
    for name, old, new in (("there", "One.", "One there."), ("here", "Three.", "Three here.")):
        note = folder / name / "Note.md"
        note.write_text(note.read_text().replace(old, new))
        (folder / name / f"New {name}.md").write_text(f"Made {name}.\n")
        if name == "there":
            _commit(folder / name)
    (folder / "here" / ".vaultmem").mkdir()
    return folder / "here"


def _commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "by hand")
    git(folder, "push", "-q", "-u", "origin", "main")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def _until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


if __name__ == "__main__":
    main()
