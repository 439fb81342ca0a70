"""What grows with the vault: each operation at 1,000 and at 100,000 notes, in turns.

    scripts/bench/run growth [--notes 1000,100000] [--rounds 15] [--folder DIR]

Without a model. Both vaults are open in one process, as a server has them, and each operation is
asked of the one and of the other; the figures are the middle CPU times of all threads, which other
programs on the machine disturb less than they do the clock. Filling 100,000 notes takes some
minutes; with a folder the vaults are kept for another run.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(Path(__file__).parents[1]), str(ROOT)]

from measure.generated_vaults import NoteMaker, make_vault
from vaultmem.base import lock
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault

Work = Callable[[Vault, NoteMaker], object]
ALLOWED = 2.0  # times the cost in the smallest vault


STORED: dict[Path, str] = {}  # the id of what was stored last


def store(vault: Vault, maker: NoteMaker) -> None:
    made = vault.remember(
        maker.sentence(), tags=["growth", "deploy"], scope="project", project="P3", type="semantic"
    )
    STORED[vault.root] = made.memory_id


def question(vault: Vault, maker: NoteMaker) -> None:
    words = " ".join(maker.random.choices(maker.words, cum_weights=maker.cumulative, k=4))
    vault.recall(words, strategy="keyword")


def by_id(vault: Vault, maker: NoteMaker) -> None:
    vault.get([STORED[vault.root]])


def unknown_tag(vault: Vault, maker: NoteMaker) -> None:
    vault.recall(maker.sentence(), strategy="keyword", tags=["depluy"])


OPERATIONS: dict[str, Work] = {
    "store": store,
    "… and the question after it": question,
    "a question": question,
    "a question by a tag that nothing has": unknown_tag,
    "log": lambda vault, maker: vault.log(maker.sentence(), session_id="growth", type="insight"),
    "get by id": by_id,
    "get an id that nothing has": lambda vault, _: vault.get(["01ARZ3NDEKTSV4RRFFQ69G5FAV"]),
    "get a title that nothing has": lambda vault, maker: vault.get([maker.sentence()[:40]]),
    "list": lambda vault, _: vault.list(),
    "list, the hundredth page": lambda vault, _: vault.list(offset=800),
    "list by importance": lambda vault, _: vault.list(order="importance"),
    "list by title": lambda vault, _: vault.list(order="title"),
    "list of a project": lambda vault, _: vault.list(project="P7"),
    "list by a type": lambda vault, _: vault.list(type="procedural", order="created"),
    "list by a tag": lambda vault, _: vault.list(tag="billing"),
    "list by a tag of few": lambda vault, _: vault.list(tag="growth"),
    "list of a folder": lambda vault, _: vault.list(folder="Memories/P11"),
    "tags": lambda vault, _: vault.tags(limit=250),
    "projects": lambda vault, _: vault.projects(),
    "context for a task": lambda vault, maker: vault.context(f"fix {maker.sentence()}"),
    "context at the start": lambda vault, _: vault.context(),
    "context at the start, of a project": lambda vault, _: vault.context(project="P5"),
    "timeline": lambda vault, _: vault.timeline(),
    "what a session was": lambda vault, _: vault.session_summary("growth"),
    "status": lambda vault, _: vault.status(),
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--notes", default="1000,100000")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--folder", type=Path, help="keep the vaults here for another run")
    given = options.parse_args()
    sizes = [int(size) for size in given.notes.split(",")]
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        vaults = [stack.enter_context(opened(folder / f"v{size}", size)) for size in sizes]
        for vault in vaults:  # as if a server followed the files
            leader = vault.parts.store.local() / lock.LEADER_LOCK
            stack.enter_context(lock.locked(leader, timeout=1, what="measuring"))
        print("| CPU ms | " + " | ".join(f"{size:,} notes" for size in sizes) + " | ratio |")
        print("|---" * (len(sizes) + 2) + "|", flush=True)
        for name, times in in_turns(vaults, given.rounds).items():
            cells = " | ".join(f"{each:.1f}" for each in times)
            ratio = times[-1] / times[0]
            mark = "" if ratio <= ALLOWED else " **more than twice**"
            print(f"| {name} | {cells} | {ratio:.2f}{mark} |", flush=True)


def opened(root: Path, notes: int) -> Vault:
    if not root.exists():
        root.mkdir(parents=True)
        make_vault(root, notes)
        (root / ".vaultmem").mkdir()
    vault = Vault.open(str(root), {"model": "off"}).for_caller(Caller(session="growth"))
    vault.index_now()
    return vault


def in_turns(vaults: Sequence[Vault], rounds: int) -> dict[str, list[float]]:
    """The middle of all rounds but the first, for each operation and vault."""
    taken: dict[str, list[list[float]]] = {name: [[] for _ in vaults] for name in OPERATIONS}
    makers = [NoteMaker(time.time_ns()) for _ in vaults]  # texts that nobody stored yet
    for turn in range(rounds + 1):
        for place in range(len(vaults)):
            which = (place + turn) % len(vaults)
            for name, work in OPERATIONS.items():
                started = time.process_time()
                work(vaults[which], makers[which])
                if turn:
                    taken[name][which].append((time.process_time() - started) * 1000)
    return {name: [statistics.median(each) for each in all_] for name, all_ in taken.items()}


if __name__ == "__main__":
    main()
