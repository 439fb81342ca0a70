"""A vault of a set, indexed by the product and asked through its own recall."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.measures import Scored, score
from evaluation.sets import Document, Question
from evaluation.vaults import Key, lay_out
from vaultmem import Vault
from vaultmem.embedding.embedder import Embedder
from vaultmem.indexing.reconcile import Reconciler

LIMIT = 10


class Keeping:
    """An embedder that keeps the vectors of passages in a file, for the next vault or run.

    Questions are not kept: their time is part of what is measured.
    """

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self._embedder = embedder
        self.identity = embedder.identity
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.max_tokens = embedder.max_tokens
        self._db = sqlite3.connect(file, isolation_level=None)
        self._db.execute("CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB)")

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        keys = [self._key(text) for text in texts]
        kept = {key: row for key in keys if (row := self._kept(key)) is not None}
        new = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in kept]
        if new:
            vectors = self._embedder.embed([text for _, text in new])
            for (key, _), vector in zip(new, vectors, strict=True):
                kept[key] = vector
                self._db.execute(
                    "INSERT OR IGNORE INTO kept VALUES (?, ?)", (key, vector.tobytes())
                )
        return np.array([kept[key] for key in keys], dtype=np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        return self._embedder.embed_query(text)

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.identity}\n{text}".encode(), digest_size=16).digest()

    def _kept(self, key: bytes) -> np.ndarray | None:
        row = self._db.execute("SELECT vector FROM kept WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)


class Haystack:
    """One vault of a set, open for questions."""

    def __init__(self, documents: Sequence[Document], turns: bool, root: Path) -> None:
        self.keys: dict[Key, str] = lay_out(documents, turns, root)
        (root / ".vaultmem").mkdir(exist_ok=True)
        self.vault = Vault.open(str(root), {"exclude": ""})

    def index(self, kept: Path, *, vectors: bool) -> float:
        """Bring all into the index; answers with the seconds it took."""
        started = time.perf_counter()
        parts = self.vault.parts
        parts.bring_up_to_date()  # type: ignore[attr-defined]
        embedder = parts.embedder() if vectors else None
        if embedder is not None:
            embed_all(parts.reconciler, Keeping(embedder, kept))
        return time.perf_counter() - started

    def ask(self, question: Question, strategy: str) -> Scored:
        started = time.perf_counter()
        found = self.vault.recall(question.text, strategy=strategy, limit=LIMIT)
        spent = (time.perf_counter() - started) * 1000
        ranked = [self._named(hit.path, hit.block or "") for hit in found.memories]
        return score(ranked, question.gold, spent)

    def _named(self, path: str, block: str) -> str:
        return self.keys.get((path, block)) or self.keys.get((path, ""), "")

    def close(self) -> None:
        self.vault.close()


def embed_all(sync: Reconciler, embedder: Keeping) -> None:
    while sync.embed_some(embedder) or sync.sentences.embed_some(embedder):
        pass
