"""Vectors for a vault too large to embed it all, in a process of its own.

The notes which questions are asked about get real ones, and the rate of the model is measured
on them. The others get synthetic ones: real ones of sentences mixed with their neighbours, so
that they lie together as real ones do.

    vectors.py VAULT '["path of a note", …]' FILE_FOR_THE_SENTENCES
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

from measure.generated_vaults import NoteMaker
from measure.index import REAL, mixed
from vaultmem.vault import Vault


def main(root: str, wanted: list[str], kept: Path) -> dict[str, object]:
    with Vault.open(root) as vault:
        embedder = vault.parts.embedder()
        if embedder is None:
            raise SystemExit("no embedding model is available")
        index = vault.parts.index
        before = index.status(embedder.identity).embedded
        started = time.monotonic()
        for path in wanted:
            vault.parts.reconciler.embed_note(embedder, path, 10_000)
        taken = time.monotonic() - started
        status = index.status(embedder.identity)
        fill_up(vault, embedder, kept)
        building = time.monotonic()
        built = index.vectors.build_graph(embedder.identity)
        return {
            "passages": status.passages,
            "real": status.embedded,
            "rate": round((status.embedded - before) / taken, 2),
            "graph_seconds": round(time.monotonic() - building, 1) if built else 0.0,
        }


def fill_up(vault: Vault, embedder: Any, kept: Path) -> None:
    index = vault.parts.index
    hashes = [bytes(r[0]) for r in index.catalog.db.execute("SELECT DISTINCT hash FROM passage")]
    missing = list(index.vectors.hashes_without_vectors(embedder.identity, hashes))
    if not missing:
        return
    real = _sentences(embedder, kept)
    for start in range(0, len(missing), 5000):
        part = missing[start : start + 5000]
        index.vectors.add(embedder.identity, part, mixed(real, len(part), start))


def _sentences(embedder: Any, kept: Path) -> Any:
    import numpy as np

    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        maker = NoteMaker(5)
        np.save(kept, embedder.embed([maker.sentence() for _ in range(REAL)]))
    return np.load(kept)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))))
