"""Searches of the dialects memory-mcp and evolution, over all entries of a large vault.

    scripts/bench/run exact_search --notes 100000

The vault has entries by key, of which every 280th names a class and every 500th a certificate.
Called are what the tools call; each row says how often the right entries were found.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(Path(__file__).parents[1]), str(ROOT)]

from ulid_transform import ulid_at_time

from vaultmem.operations.exact.exact_search import ExactSearch
from vaultmem.surfaces.dialects.keyed_entries import KeyedEntries
from vaultmem.vault import Vault

RUNS = 40
CLASS, CERTIFICATE = 280, 500
LENGTH = 1_536  # of vectors
WORDS = 3_000


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--notes", type=int, default=10_000)
    options.add_argument("--vectors", type=int, default=10_000, help="entries that have one")
    options.add_argument("--folder", type=Path, help="keep the vault here for another run")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = given.folder or Path(folder) / "vault"
        if not root.exists():
            make(root, given.notes)
        with Vault.open(str(root), {"model": "off"}) as vault:
            began = time.perf_counter()
            vault.index_now()
            print(
                f"{given.notes:,} entries; indexed in {time.perf_counter() - began:.0f} s; ", end=""
            )
            print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
            measure(vault, given.notes, min(given.vectors, given.notes))


def make(root: Path, many: int) -> None:
    rng = random.Random(7)
    words = [
        "".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(3, 9))) for _ in range(WORDS)
    ]
    weights = [1 / (place + 1) for place in range(WORDS)]
    for number in range(many):
        folder = root / "Memories" / f"{number // 1000:03}"
        folder.mkdir(parents=True, exist_ok=True)
        said = rng.choices(words, weights, k=30)
        said += ["SearchService"] * (number % CLASS == 0) + ["certificate"] * (
            number % CERTIFICATE == 0
        )
        tags = f"[t{number % 7}, u{number % 100}]"
        head = (
            f"id: {ulid_at_time(1_700_000_000 + number)}\nkey: k{number}\nscope: user\ntags: {tags}"
        )
        (folder / f"n{number}.md").write_text(f"---\n{head}\n---\n{' '.join(said)}\n")
    (root / ".vaultmem").mkdir()


def measure(vault: Vault, many: int, vectors: int) -> None:
    entries, rng = KeyedEntries(vault), random.Random(1)
    usual = entries.keyed_entry("k1").content.split()[0]
    began = time.perf_counter()
    entries.entries_matching("first")
    print(f"the first question, which reads all of them: {time.perf_counter() - began:.1f} s\n")
    print("| question | p50 | slowest | p50 of processor time | found |\n|---|---|---|---|---|")

    def row(title: str, ask: Callable[[], int], wanted: int) -> None:
        taken: list[float] = []
        worked: list[float] = []
        for _ in range(RUNS):
            found = timed(ask, taken, worked)
        told(title, taken, worked, f"{found:,} of {wanted:,}")

    def words(query: str, **more: object) -> Callable[[], int]:
        return lambda: len(entries.entries_matching(query, limit=1_000, **more).found)  # type: ignore[arg-type]

    classes, certificates = -(-many // CLASS), -(-many // CERTIFICATE)
    row("`SearchSer*`", words("SearchSer*"), classes)
    row("`certificat*`", words("certificat*"), certificates)
    row(
        "`search_memory`: a part of a word",
        lambda: len(entries.entries_containing("earchservi", limit=1_000).found),
        classes,
    )
    ten = min(10, many)
    row("a usual word, 10 wanted", lambda: len(entries.entries_matching(usual).found), ten)
    row(
        "`search_memory`: three usual words, 5 wanted",
        lambda: len(entries.entries_containing(f"{usual} th an", limit=5).found),
        5,
    )
    row(
        "two tags and a word",
        words(usual, tags=["t1", "u1"]),
        len(entries.entries_matching(usual, tags=["t1", "u1"], limit=1000).found),
    )
    row("the 10 newest", lambda: len(entries.keyed_entries(limit=10)), ten)
    row("nothing", words("nothingofthis"), 0)

    taken: list[float] = []
    worked: list[float] = []
    for number in range(RUNS):
        entries.put_entry("changing", f"freshly{number} written")
        assert timed(words(f"freshly{number}"), taken, worked) == 1
    told("right after a write", taken, worked, "1 of 1")

    vector = [rng.gauss(0, 1) for _ in range(LENGTH)]
    rows = entries.keyed_entries(limit=vectors)
    for entry in rows:
        ExactSearch(vault.view).keep_vector(
            entry.id, entry.path, [rng.gauss(0, 1) for _ in range(LENGTH)]
        )
    row(f"a usual word and a vector, {vectors:,} have one", words_with(entries, usual, vector), 10)


def timed(ask: Callable[[], int], taken: list[float], worked: list[float]) -> int:
    start, before = time.perf_counter(), time.process_time()
    found = ask()
    taken.append((time.perf_counter() - start) * 1000)
    worked.append((time.process_time() - before) * 1000)
    return found


def told(title: str, taken: list[float], worked: list[float], found: str) -> None:
    p50, most, work = statistics.median(taken), max(taken), statistics.median(worked)
    print(f"| {title} | {p50:.1f} ms | {most:.1f} ms | {work:.1f} ms | {found} |")


def words_with(entries: KeyedEntries, query: str, vector: list[float]) -> Callable[[], int]:
    return lambda: len(entries.entries_matching(query, vector=vector, limit=10).found)


if __name__ == "__main__":
    main()
