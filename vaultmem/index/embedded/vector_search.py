"""Passages by meaning: the file of vectors looked after, and searched."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import LISTED, Database, Whereabouts, listed
from vaultmem.base.own_path import OwnPath
from vaultmem.index.embedded.catalog import VECTORS, Catalog
from vaultmem.index.embedded.files import OFTEN
from vaultmem.index.embedded.vector_matrix import Matrix, PassageMap
from vaultmem.index.embedded.vector_store import VectorStore
from vaultmem.index.failures import is_damage

if TYPE_CHECKING:
    import numpy as np

    from vaultmem.index.embedded.vector_graph import Nearest

FEW_NOTES: Final = 3_000  # a filter that leaves no more than these is searched exactly
# A cross join keeps its order: SQLite would begin with whatever table is smaller.
_OF_NEW_PASSAGES: Final = """
SELECT passage, note, number FROM passage CROSS JOIN v.vector USING (hash)
WHERE passage > ? AND passage <= ? AND model = ? AND number <= ?
"""
_OF_NEW_VECTORS: Final = """
SELECT passage, note, number FROM v.vector NOT INDEXED CROSS JOIN passage USING (hash)
WHERE number > ? AND number <= ? AND model = ? AND passage <= ?
"""
_OF_VECTORS: Final = f"""
SELECT passage, note, vector FROM v.vector CROSS JOIN passage USING (hash)
WHERE number IN {LISTED}
"""
_OF_NOTES: Final = f"SELECT passage, note, hash FROM passage WHERE note IN {LISTED}"


class VectorSearch:
    def __init__(self, folder: OwnPath, catalog: Catalog) -> None:
        self.folder = folder
        self._catalog = catalog
        self._store: VectorStore | None = None
        self._map: PassageMap | None = None
        self._nearest: Nearest | None = None
        self._checked = float("-inf")

    def store(self) -> VectorStore:
        if self._store is None:
            self._catalog.require_there()
            file = Database(self.folder / VECTORS)
            try:
                self._store = VectorStore(file.place)
            except sqlite3.DatabaseError as error:
                if file.is_there() and not is_damage(error):
                    raise
                file.discard()
                self._store = VectorStore(file.place)
            self._store.away = self._catalog.away
        return self._store

    def is_sound(self) -> bool:
        now = time.monotonic()
        if self._store is not None and now - self._checked >= OFTEN:
            if self._store.whereabouts() is not Whereabouts.SAME:
                return False
            self._checked = now
        return True

    def mend(self) -> None:
        """The file of vectors is another one, gone, or shorter: go on with what is there. What
        is missing is embedded again."""
        if self._store is not None:
            if self._store.whereabouts() is Whereabouts.TORN:
                self._store.discard()
            self._begin_again()

    def check(self) -> None:
        """Something was wrong with a file, and perhaps with this one."""
        if self._store is not None:
            if not self._store.passes_check():
                self._store.discard()
            self._begin_again()

    def _begin_again(self) -> None:
        assert self._store is not None
        self._store.renew()
        self._catalog.renew()  # it has the old file attached
        self._store = self._map = self._nearest = None

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
            return large.exact(vector, limit, self.of_notes(notes))
        self._catalog.attach_vectors()
        return large.search(vector, limit, self._of_vectors, *selection)

    def usual(self, vector: np.ndarray, identity: str) -> float:
        """How similar any text here is on average: every text is somewhat like every other."""
        return (self._large(identity) or self._mapped(identity).matrix).usual(vector)

    def _large(self, identity: str) -> Nearest | None:
        """The graph of a large vault, once it is built; until then all are compared."""
        from vaultmem.index.embedded import vector_graph

        store = self.store()
        model = store.model(identity)
        if store.last(model) <= vector_graph.LARGE:
            return None
        if self._nearest is None or self._nearest.model != model:
            self._nearest = vector_graph.Nearest(self.folder, store, model)
        if not self._nearest.open():
            return None
        self._map = None  # its memory is no longer needed
        return self._nearest

    def build_nearest(self, identity: str) -> bool:
        from vaultmem.index.embedded.vector_graph import Nearest

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
            self._catalog.attach_vectors()
            self._map.extend(self._of_new(model, seen, now))
            self._map.seen = now
        return self._map

    def _of_new(
        self, model: int, seen: tuple[int, int], now: tuple[int, int]
    ) -> Iterator[tuple[int, int, int]]:
        """Passage, note and vector's number of what has come since. `seen` and `now` are the
        last passage and the last vector, then and at present."""
        db = self._catalog.db
        yield from db.execute(_OF_NEW_PASSAGES, (seen[0], now[0], model, now[1]))
        yield from db.execute(_OF_NEW_VECTORS, (seen[1], now[1], model, seen[0]))

    def _of_vectors(self, numbers: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """Passage, note and vector of every passage with one of these vectors."""
        return self._catalog.db.execute(_OF_VECTORS, (listed(numbers),)).fetchall()

    def of_notes(self, notes: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """Passage, note and hash of every passage of these notes."""
        return self._catalog.db.execute(_OF_NOTES, (listed(notes),)).fetchall()
