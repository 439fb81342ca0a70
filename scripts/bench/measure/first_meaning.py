"""The first question by meaning in a fresh process, beside another state of vaultmem, in turns.

    scripts/bench/run first_meaning --against CHECKOUT [--notes 1000,10000] [--rounds 15]

A process opens the vault, asks by words, and then for the first time by meaning: what that takes
on top is the model, the vectors and which passage has which. CPU time of all threads. Memory of
its own is what no other process could share, after the first and after the second question by
meaning; mapped files are not in it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(Path(__file__).parents[1])]

from measure.turns import Side, in_turns, prepare

_QUESTION = "what does the billing cache keep when the queue is merged"
_AGAIN = "which schema does the login parser index"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--against", type=Path, required=True)
    options.add_argument("--notes", default="1000,10000")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--folder", type=Path, help="keep the vaults here for another run")
    given = options.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for notes in map(int, given.notes.split(",")):
            sides = [
                Side(root.resolve(), (folder / f"{name}-{notes}").resolve())
                for name, root in (("other", given.against), ("here", HERE))
            ]
            for side in sides:
                if not side.vault.exists():
                    prepare(side, notes)
                for _ in range(2):  # what is made once is made before
                    ask(side)
            print(f"\n{notes:,} notes\n")
            print("| | CPU before | CPU now | ratio | fastest | wall before | wall now |")
            print("|---|---|---|---|---|---|---|", flush=True)
            memory.clear()
            for measure in (ask, command):
                for line in in_turns(sides, measure, given.rounds):
                    print(line, flush=True)
            for name, (before, now) in memory.items():
                middle = [f"{statistics.median(each):.0f} MB" for each in (before, now)]
                print(f"| {name} | {' | '.join(middle)} | | | | |", flush=True)


memory: dict[str, tuple[list[float], list[float]]] = {}


def ask(side: Side) -> dict[str, tuple[float, float]]:
    text, _ = side.run(__file__, "--child", str(side.vault))
    found = json.loads(text)
    for name, megabytes in found.pop("memory").items():
        memory.setdefault(name, ([], []))[side.root == HERE].append(megabytes)
    return {name: (cpu, wall) for name, (cpu, wall) in found.items()}


def command(side: Side) -> dict[str, tuple[float, float]]:
    arguments = ("search", _QUESTION, "--strategy", "hybrid", "--vault", str(side.vault))
    name = "`vaultmem search --strategy hybrid`"
    return {name: side.run("-m", "vaultmem", *arguments)[1]}


# --- in a process of its own -------------------------------------------------------------------


def child(root: Path) -> None:
    started = time.process_time(), time.perf_counter()
    from vaultmem.vault import Vault

    found: dict[str, object] = {}
    kept: dict[str, float] = {}
    with Vault.open(str(root)) as vault:

        def asked(name: str, question: str, strategy: str, since: tuple[float, float]) -> None:
            vault.recall(question, strategy=strategy)
            now = time.process_time(), time.perf_counter()
            found[name] = [1000 * (at - then) for at, then in zip(now, since, strict=True)]

        def clock() -> tuple[float, float]:
            return time.process_time(), time.perf_counter()

        asked("start to the first answer by words", "billing cache", "keyword", started)
        asked("the first question by meaning, on top", _QUESTION, "hybrid", clock())
        kept["memory of its own after it"] = own_memory()
        asked("the second", _AGAIN, "hybrid", clock())
        kept["memory of its own after the second"] = own_memory()
    print(json.dumps({**found, "memory": kept}))


def own_memory() -> float:
    """In MB. Pages of files that were just written count as changed, so those are left out."""
    own, mapped = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.partition(" ")[0]:
            mapped = line.endswith((".map", "/weights"))
        elif line.startswith("Private_Dirty") and not mapped:
            own += int(line.split()[1])
    return own / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]))
    else:
        main()
