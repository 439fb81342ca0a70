"""The vectors' side of the index: passages by meaning, and which of them still lack a vector."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem.index.catalog import Catalog
from vaultmem.index.trouble import is_damage
from vaultmem.index.vectors import Matrix, PassageMap, VectorStore

if TYPE_CHECKING:
    import numpy as np

    from vaultmem.index.nearest import Nearest

FEW_NOTES: Final = 3_000  # a filter that leaves no more than these is searched exactly
MANY_PASSAGES: Final = 500  # counting so many is worth being written down


class Meaning:
    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self.folder = folder
        self._catalog = catalog
        self._store: VectorStore | None = None
        self._map: PassageMap | None = None
        self._nearest: Nearest | None = None
        self._missing: tuple[object, int] = (None, 0)

    def store(self) -> VectorStore:
        if self._store is None:
            file = self.folder / "vectors.db"
            try:
                self._store = VectorStore(file)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                for suffix in ("", "-wal", "-shm"):
                    file.with_name(file.name + suffix).unlink(missing_ok=True)
                self._store = VectorStore(file)
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = self._map = self._nearest = None

    def forget_places(self) -> None:
        """The catalog is another one: its passages have other numbers."""
        self._map = None

    # --- searching ---------------------------------------------------------------------

    def search(
        self, vector: np.ndarray, identity: str, selection: tuple[Sequence[int], bool], limit: int
    ) -> list[tuple[int, int, float]]:
        """Note, passage, similarity; best first, of the notes that are selected."""
        large = self._large(identity)
        if large is None:
            return self._mapped(identity).nearest(vector, limit, *selection)
        notes, keep = selection
        if keep and len(notes) <= FEW_NOTES:  # the graph would hardly propose them
            return large.exact(vector, limit, self._catalog.of_notes(notes))
        self._catalog.attach_vectors(self.store().file)
        return large.search(vector, limit, self._catalog.of_vectors, *selection)

    def usual(self, vector: np.ndarray, identity: str) -> float:
        """How similar any text here is on average: every text is somewhat like every other."""
        return (self._large(identity) or self._mapped(identity).matrix).usual(vector)

    def _large(self, identity: str) -> Nearest | None:
        """The graph of a large vault, once it is built; until then all are compared."""
        from vaultmem.index import nearest

        store = self.store()
        model = store.model(identity)
        if store.last(model) <= nearest.LARGE:
            return None
        if self._nearest is None or self._nearest.model != model:
            self._nearest = nearest.Nearest(self.folder, store, model)
        if not self._nearest.open():
            return None
        self._map = None  # its memory is no longer needed
        return self._nearest

    def build_nearest(self, identity: str) -> bool:
        from vaultmem.index.nearest import Nearest

        store = self.store()
        return Nearest(self.folder, store, store.model(identity)).build()

    def _mapped(self, identity: str) -> PassageMap:
        store = self.store()
        model = store.model(identity)
        if self._map is None or self._map.matrix.model != model:
            self._map = PassageMap(Matrix(store, model))
        self._map.matrix.refresh()
        seen, now = self._map.seen, (self._catalog.last_passage(), self._map.matrix.last)
        if now != seen:
            self._catalog.attach_vectors(store.file)
            self._map.extend(self._catalog.of_new(model, seen, now))
            self._map.seen = now
        return self._map

    # --- what is missing ---------------------------------------------------------------

    def without_vector(self, identity: str, limit: int) -> list[str]:
        """Paths of notes that have passages without a vector, memories and recent ones first."""
        store = self.store()
        model = store.model(identity)
        self._catalog.attach_vectors(store.file)
        _, whole, _ = store.counted(model, self._catalog.meta("uuid"))
        found = self._catalog.without_vector(model, whole, limit)
        if not found:
            self.count_missing(identity)  # the next look need not begin so early
        return found

    def count_missing(self, identity: str) -> int:
        """How many passages have no vector. A vector is never taken away, so the passages
        before the first of these need not be looked at again."""
        store = self.store()
        model, (catalog, revision) = store.model(identity), self._catalog.stamp()
        now = int(revision), store.highest()
        counted = model, catalog, now
        if self._missing[0] == counted:
            return self._missing[1]
        last = self._catalog.last_passage()
        then, whole, missing = store.counted(model, catalog)
        if now == then:
            self._missing = counted, missing
            return missing
        self._catalog.attach_vectors(store.file)
        missing, first = self._catalog.missing(model, whole)
        self._missing = counted, missing
        if last - whole >= MANY_PASSAGES:
            store.set_counted(model, catalog, *now, first - 1 if missing else last, missing)
        return missing
