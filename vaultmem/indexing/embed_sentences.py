"""Vectors of single sentences, made once every passage has its own.

A passage is about several things, and one sentence of it may say what is asked for. They only
help to rank what was found by passages, so they can wait, and a very large vault has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vaultmem.index import Index
from vaultmem.notes.passages import passage_hash, passage_sentences, passages, passages_in_context
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from vaultmem.embedding.embedder import Embedder

MOST_PASSAGES: Final = 30_000  # of a vault
_AT_A_TIME: Final = 24  # passages looked at


class SentenceVectors:
    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._looked: tuple[object, int] = (None, 0)  # where, and the last passage

    def embed_some(self, embedder: Embedder) -> int:
        """Embed the sentences of some notes; returns how many were done."""
        while waiting := self._waiting(embedder.identity):
            if made := sum(self._embed_note(embedder, path) for path in waiting):
                return made
        return 0

    def _waiting(self, identity: str) -> list[str]:
        """Paths of notes that have passages without them, behind the last one looked at."""
        vectors, place = self._index.vectors, (identity, self._index.identity)
        last = self._looked[1] if self._looked[0] == place else 0
        if vectors.count_passages() > MOST_PASSAGES:
            return []
        paths, looked = vectors.notes_without_sentences(identity, last, _AT_A_TIME)
        self._looked = place, max(last, looked)
        return paths

    def _embed_note(self, embedder: Embedder, path: str) -> int:
        try:
            note = self._store.note(path)
            cut = passages(note)
            hashes = map(passage_hash, passages_in_context(note, cut))
        except Exception:  # whatever is wrong with it was said when it was indexed
            return 0
        said = {key: passage_sentences(note, each) for key, each in zip(hashes, cut, strict=True)}
        texts = [text for some in said.values() for text in some]
        vectors = iter(embedder.embed(texts)) if texts else iter(())
        rows = {key: [next(vectors) for _ in some] for key, some in said.items()}
        self._index.vectors.add_sentences(embedder.identity, rows)
        return len(texts)
