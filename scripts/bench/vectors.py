"""Vectors for a vault that is to be measured, in a process of its own.

Up to a thousand notes all are real. Above that the notes which questions are asked about have
real ones, and the others synthetic ones: real ones mixed with their neighbours, so that they
lie together as real ones do. The rate of the model is measured on the real ones.

    vectors.py VAULT '["path of a note", …]'
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from index import REAL, mixed
from vaults import NoteMaker

from vaultmem.service import Vault

ALL_REAL = 1_000


def main(root: str, wanted: list[str], all_real: int) -> dict[str, object]:
    with Vault.open(root) as vault:
        embedder = vault._parts.embedder()
        if embedder is None:
            raise SystemExit("no embedding model is available")
        index, sync = vault._parts.index, vault._parts.sync
        total = index.status(embedder.identity).passages
        started = time.monotonic()
        if index.size <= all_real:
            vault.embed_all()
        else:
            for path in wanted:
                sync.embed_note(embedder, path, 10_000)
        taken = time.monotonic() - started
        real = index.status(embedder.identity).embedded
        fill_up(vault, embedder)
        building = time.monotonic()
        built = index.build_nearest(embedder.identity)
        return {
            "passages": total,
            "real": real,
            "rate": round(real / taken, 2) if real else 0.0,
            "seconds": taken / max(real, 1) * total,  # as if all had been embedded
            "graph_seconds": time.monotonic() - building if built else 0.0,
        }


def fill_up(vault: Vault, embedder: object) -> None:
    index = vault._parts.index
    hashes = [bytes(r[0]) for r in index._catalog.db.execute("SELECT DISTINCT hash FROM passage")]
    missing = list(index.missing_vectors(embedder.identity, hashes))
    if not missing:
        return
    maker = NoteMaker(5)
    real = embedder.embed([maker.sentence() for _ in range(REAL)])
    for start in range(0, len(missing), 5000):
        part = missing[start : start + 5000]
        index.add_vectors(embedder.identity, part, mixed(real, len(part), start))


if __name__ == "__main__":
    most = int(sys.argv[3]) if len(sys.argv) > 3 else ALL_REAL
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]), most)))
