"""Two states of vaultmem in turns: what the one costs more than the other.

    scripts/bench/run turns --against CHECKOUT [--rounds 15] [--notes 2000] [--only store,search]

The other checkout needs an environment of its own in `.venv`. Each state has its own copy of the
same generated vault. They take turns and change who begins, and every figure is one of a fresh
process: CPU time of all its threads, which other programs on the machine disturb less than they
do the clock. `CHECKOUT` may be this one: what differs then is noise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(Path(__file__).parents[1]))

from measure.client import Command, Server
from measure.generated_vaults import NoteMaker, make_vault

_HOOKS = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "How long does the billing cache keep what the queue sent?"},
    "PostToolUse": {"tool_name": "Edit", "tool_input": {"file_path": "src/cache_{round}.py"}},
    "PostToolUse, a look": {"tool_name": "Bash", "tool_input": {"command": "git status"}},
    "PostToolUseFailure": {
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "error": "Exit code 1\nFAILED tests/test_{round}.py::test_it - AssertionError",
    },
    "Stop": {"last_assistant_message": "The cache keeps it for {round} minutes now."},
}
_SESSION = "6f1c2e34-9a01-4b5e-8c77-1d2e3f405162"
_EMBEDDED = 5  # notes that are embedded for good; the others have made-up vectors
Times = tuple[float, float]  # CPU and wall, in milliseconds


@dataclass(frozen=True)
class Side:
    """One state of the program, with a vault of its own."""

    root: Path
    folder: Path

    @property
    def vault(self) -> Path:
        return self.folder / "vault"

    def command(self, *arguments: str) -> Command:
        env = {name: value for name, value in os.environ.items() if "VAULTMEM" not in name}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # it would compile every module each time
        env |= {"PYTHONPATH": str(self.root), "PYTHONPYCACHEPREFIX": str(self.folder / "compiled")}
        return Command([str(self.root / ".venv/bin/python"), "-P", *arguments], env, self.folder)

    def run(self, *arguments: str, given: str = "") -> tuple[str, Times]:
        """What a process says, and its times from start to end."""
        command = self.command(*arguments)
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
            told.write(given.encode())
            told.seek(0)
            started = time.perf_counter()
            child = subprocess.Popen(
                command.arguments,
                env=command.env,
                cwd=command.cwd,
                stdin=told,
                stdout=said,
                stderr=subprocess.DEVNULL,
            )
            _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - started
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                raise SystemExit(f"{' '.join(command.arguments)} ended with {child.returncode}")
            said.seek(0)
            return said.read().decode(), ((used.ru_utime + used.ru_stime) * 1000, wall * 1000)

    def inside(self, what: str) -> dict[str, Times]:
        text, _ = self.run(__file__, "--child", what, str(self.vault))
        return {name: (cpu, wall) for name, (cpu, wall) in json.loads(text).items()}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--against", type=Path, required=True)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--notes", type=int, default=2_000)
    options.add_argument("--only", default=",".join(MEASURES), help=", ".join(MEASURES))
    options.add_argument("--folder", type=Path, help="keep the vaults here for another run")
    given = options.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides = [
            Side(root.resolve(), (folder / name).resolve())
            for name, root in (("other", given.against), ("here", HERE))
        ]
        for side in sides:
            if not side.vault.exists():
                prepare(side, given.notes)
        print("| | CPU before | CPU now | ratio | fastest | wall before | wall now |")
        print("|---|---|---|---|---|---|---|", flush=True)
        for name in given.only.split(","):
            for line in in_turns(sides, MEASURES[name], given.rounds):
                print(line, flush=True)


def prepare(side: Side, notes: int) -> None:
    side.vault.mkdir(parents=True)
    make_vault(side.vault, notes)
    side.run(__file__, "--child", "prepare", str(side.vault))


def in_turns(
    sides: list[Side], measure: Callable[[Side], dict[str, Times]], rounds: int
) -> Iterator[str]:
    taken: tuple[list[dict[str, Times]], list[dict[str, Times]]] = ([], [])
    for turn in range(rounds + 1):
        for which in (0, 1) if turn % 2 else (1, 0):
            found = measure(sides[which])
            if turn:  # the first one reads files that the later ones find in memory
                taken[which].append(found)
    for name in taken[0][0]:
        yield row(name, *([each[name] for each in side] for side in taken))


def row(name: str, before: list[Times], now: list[Times]) -> str:
    def cells(which: int) -> tuple[str, str]:
        return tuple(f"{statistics.median(t[which] for t in side):.2f}" for side in (before, now))

    ratio = statistics.median(new[0] / old[0] for old, new in zip(before, now, strict=True))
    fastest = min(t[0] for t in now) / min(t[0] for t in before)
    cpu, wall = cells(0), cells(1)
    return f"| {name} | {' | '.join(cpu)} | {ratio:.3f} | {fastest:.3f} | {' | '.join(wall)} |"


# --- whole processes -----------------------------------------------------------------------


def process(name: str, *arguments: str) -> Callable[[Side], dict[str, Times]]:
    def measure(side: Side) -> dict[str, Times]:
        return {name: side.run("-m", "vaultmem", *_with_vault(side, arguments))[1]}

    return measure


def _with_vault(side: Side, arguments: tuple[str, ...]) -> tuple[str, ...]:
    return arguments if arguments == ("--version",) else (*arguments, "--vault", str(side.vault))


def hooks(side: Side) -> dict[str, Times]:
    found = {}
    turn = str(time.monotonic_ns())  # what a session was told once is not written again
    for event, more in _HOOKS.items():
        named = {"hook_event_name": event.partition(",")[0], "session_id": _SESSION}
        told = json.dumps({**named, "cwd": str(side.folder), **more}).replace("{round}", turn)
        times = side.run("-m", "vaultmem", *_with_vault(side, ("hook",)), given=told)[1]
        found[f"`vaultmem hook`, {event}"] = times
    return found


def server(side: Side) -> dict[str, Times]:
    command = side.command("-m", "vaultmem", "serve", "--vault", str(side.vault))
    with Server(command, side.folder / "errors") as started:
        wall = started.handshake() * 1000
        return {"server, start to first reply": (_cpu_of(started.child.pid), wall)}


def _cpu_of(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


# --- in a process of their own -------------------------------------------------------------


def run_child(what: str, root: Path) -> None:
    print(json.dumps(CHILDREN[what](root)))


def each(work: Callable[[Any], object], given: list[Any], warm: int = 5) -> Times:
    """The middle one of many calls."""
    for one in given[:warm]:
        work(one)
    taken = [_times(lambda one=one: work(one)) for one in given[warm:]]
    return statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken)


def _times(work: Callable[[], object]) -> Times:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def child_prepare(root: Path) -> None:
    from measure import index
    from vaultmem.vault import Vault

    with Vault.open(str(root)) as vault, contextlib.redirect_stdout(None):
        vault.index_now()
        index.fill_vectors(vault, "synthetic")


def child_store(root: Path) -> dict[str, Times]:
    from vaultmem.vault import Vault

    with Vault.open(str(root)) as vault:
        vault.load_model()
        maker = NoteMaker(time.time_ns())
        texts = [f"{maker.sentence()} {maker.sentence()} {number}" for number in range(25)]
        store = each(lambda text: vault.remember(text, tags=["bench"]), texts)
        return {"store, with the model": store}


def child_recall(root: Path) -> dict[str, Times]:
    from vaultmem.vault import Vault

    maker, chance = NoteMaker(7), random.Random(3)
    questions = [" ".join(chance.choices(maker.words, maker.weights, k=4)) for _ in range(65)]
    with Vault.open(str(root)) as vault:
        vault.load_model()
        return {
            f"recall, {how}": each(
                lambda question, how=how: vault.recall(question, strategy=how), questions
            )
            for how in ("keyword", "hybrid")
        }


def child_parse(root: Path) -> dict[str, Times]:
    from vaultmem.config import load
    from vaultmem.notes.note import parse
    from vaultmem.storage.store import Store

    store = Store(root, load(root))
    paths = [path for path in store.walk().notes if path.startswith("Memories/P")][:1000]
    raws = [(path, (root / path).read_bytes()) for path in paths]

    def derived(path: str) -> None:
        stored = store.read(path)
        note = store.parse(stored)
        _ = note.tags, note.links, stored.version

    return {
        "parse 1,000 notes": _times(lambda: [parse(raw, path) for path, raw in raws]),
        "read, parse and hash them": _times(lambda: [derived(path) for path in paths]),
        "walk": _times(store.walk),
    }


def child_fill(root: Path) -> dict[str, Times]:
    from vaultmem.vault import Vault

    with tempfile.TemporaryDirectory() as folder:
        notes = sorted((root / "Memories").glob("P*/*.md"))[:1000]
        for note in notes:
            place = Path(folder) / note.parent.name
            place.mkdir(exist_ok=True)
            shutil.copy(note, place)
        with Vault.open(folder) as vault:
            text = _times(vault.index_now)
            again = _times(vault.index_now)
        for note in sorted(Path(folder).glob("*/*.md"))[_EMBEDDED:]:
            note.unlink()
        shutil.rmtree(Path(folder) / ".vaultmem")
        with Vault.open(folder) as vault:
            vault.index_now()
            vault.load_model()
            vectors = _times(vault.embed_all)
    return {
        f"fill the text index, {len(notes):,} notes": text,
        "look at them again, unchanged": again,
        f"embed {_EMBEDDED} notes": vectors,
    }


MEASURES: dict[str, Callable[[Side], dict[str, Times]]] = {
    "version": process("`vaultmem --version`", "--version"),
    "status": process("`vaultmem status`", "status"),
    "search": process("`vaultmem search`", "search", "billing cache"),
    "hook": hooks,
    "serve": server,
    "recall": lambda side: side.inside("recall"),
    "parse": lambda side: side.inside("parse"),
    "fill": lambda side: side.inside("fill"),
    "store": lambda side: side.inside("store"),  # the last: the vault grows by it
}
CHILDREN: dict[str, Callable[[Path], Any]] = {
    "prepare": child_prepare,
    "store": child_store,
    "recall": child_recall,
    "parse": child_parse,
    "fill": child_fill,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
