"""Vectors of single sentences, made once every passage has its own.

A passage is about several things, and one sentence of it may say what is asked for. They only
help to rank what was found by passages, so they can wait, and a very large vault has none.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from vaultmem.index import Index
from vaultmem.notes.passages import passage_hash, passage_sentences, passages, passages_in_context
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultmem.embedding.embedder import Embedder

MOST_PASSAGES: Final = 30_000  # of a vault
_AT_A_TIME: Final = 24  # passages looked at
MOST_TEXTS: Final = 48  # embedded in one go, unless a single passage has more


class SentenceVectors:
    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._done: tuple[object, int] = (None, 0)  # of which model and index, up to which passage

    def embed_some(self, embedder: Embedder) -> int:
        """Embed the sentences of some passages of a note; returns how many were done."""
        vectors, place = self._index.vectors, (embedder.identity, self._index.identity)
        if self._done[0] != place:
            self._done = place, 0
        count, last = vectors.passages_so_far()
        if self._done[1] >= last or count > MOST_PASSAGES:
            return 0
        while waiting := vectors.passages_without_sentences(*place[:1], self._done[1], _AT_A_TIME):
            for path, some in itertools.groupby(waiting, lambda row: row[1]):
                if made := self._embed_passages(embedder, path, list(some)):
                    return made
        self._done = place, last
        return 0

    def _embed_passages(
        self, embedder: Embedder, path: str, waiting: Sequence[tuple[int, str, bytes]]
    ) -> int:
        """As many as fit. What the note does not say any more comes with its new passages."""
        said = self._sentences(path)
        texts: list[str] = []
        many: dict[bytes, int] = {}
        for number, _, key in waiting:
            more = said.get(key, [])
            if texts and len(texts) + len(more) > MOST_TEXTS:
                break
            texts += more
            many[key], done = len(more), number
        vectors = iter(embedder.embed(texts)) if texts else iter(())
        rows = {key: list(itertools.islice(vectors, count)) for key, count in many.items()}
        self._index.vectors.add_sentences(embedder.identity, rows)
        self._done = self._done[0], done
        return len(texts)

    def _sentences(self, path: str) -> dict[bytes, list[str]]:
        try:
            note = self._store.note(path)
            cut = passages(note)
            hashes = map(passage_hash, passages_in_context(note, cut))
            return {key: passage_sentences(note, p) for key, p in zip(hashes, cut, strict=True)}
        except Exception:  # whatever is wrong with it was said when it was indexed
            return {}
