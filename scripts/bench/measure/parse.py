"""How fast notes are read and parsed: 10,000 generated ones, one core.

scripts/bench/run parse [--notes N] [--corpus DIR]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import frontmatter
import yaml

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

from measure.generated_vaults import make_vault
from vaultmem import config
from vaultmem.notes.note import parse
from vaultmem.storage.store import Store


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--notes", type=int, default=10_000)
    options.add_argument("--corpus", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = given.corpus or Path(folder)
        if given.corpus is None:
            make_vault(root, given.notes)
        measure(Store(root, config.load(root)))


def measure(store: Store) -> None:
    paths = list(store.walk().notes)
    raws = [(store.root / path).read_bytes() for path in paths]
    sizes = sorted(map(len, raws))
    print(f"{len(paths)} notes, median {statistics.median(sizes):.0f} bytes, one core, CPU time")
    print()
    print("| | notes/s |")
    print("|---|---|")
    for name, work in {
        "read the files, nothing else": lambda: [(store.root / p).read_bytes() for p in paths],
        "read and parse (the store's own way)": lambda: [_note(store, p) for p in paths],
        "the same, hashed, with all tags and links": lambda: [_all(store, p) for p in paths],
        "parse alone": lambda: [_parse(raw, p) for raw, p in zip(raws, paths, strict=True)],
        "python-frontmatter `loads` (no tags, links, headings)": lambda: [_loads(r) for r in raws],
        "PyYAML C loader on the frontmatter alone": lambda: [_yaml(raw) for raw in raws],
    }.items():
        print(f"| {name} | {len(paths) / _seconds(work):,.0f} |")


def _seconds(work: object, rounds: int = 5) -> float:
    def once() -> float:
        started = time.process_time()
        work()  # type: ignore[operator]
        return time.process_time() - started

    return min(once() for _ in range(rounds))


def _all(store: Store, path: str) -> None:
    stored = store.read(path)
    note = store.parse(stored)
    _ = note.tags, note.links, stored.version


def _note(store: Store, path: str) -> None:
    store.note(path)


def _parse(raw: bytes, path: str) -> None:
    parse(raw, path)


def _loads(raw: bytes) -> None:
    frontmatter.loads(raw.decode())


def _yaml(raw: bytes) -> None:
    yaml.load(raw.decode().split("---\n", 2)[1], Loader=yaml.CSafeLoader)


if __name__ == "__main__":
    main()
