"""The vectors of the index: what may be asked of them, and which texts still lack one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import LISTED, listed
from vaultmem.base.own_path import OwnPath
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.vector_search import VectorSearch
from vaultmem.index.failures import Damaged
from vaultmem.index.filters import Filters, left_out, where

if TYPE_CHECKING:
    import numpy as np

MANY_SELECTIONS: Final = 8
MANY_PASSAGES: Final = 500  # counting so many is worth being written down
MOST_PASSAGES: Final = 4  # the mean of many says of every note on a subject the same
_WITHOUT_VECTOR: Final = """
SELECT path FROM note WHERE note IN (
  SELECT note FROM passage p WHERE passage > ? AND NOT EXISTS
    (SELECT 1 FROM v.vector WHERE model = ? AND hash = p.hash))
ORDER BY id = '', forgotten, mtime_ns DESC LIMIT ?
"""
_MISSING: Final = """
SELECT count(*), min(passage) FROM passage p WHERE passage > ? AND NOT EXISTS
  (SELECT 1 FROM v.vector WHERE model = ? AND hash = p.hash)
"""
_MISSING_OF: Final = """
SELECT count(*) FROM passage p JOIN note USING (note) WHERE NOT EXISTS
  (SELECT 1 FROM v.vector WHERE model = ? AND hash = p.hash) AND """
_PASSAGES: Final = (
    f"SELECT note, count(*) FROM passage WHERE note IN {LISTED} GROUP BY note HAVING count(*) <= ?"
)
_VECTORS: Final = (
    "SELECT note, vector FROM passage JOIN v.vector USING (hash) JOIN v.model USING (model) "
    f"WHERE identity = ? AND note IN {LISTED}"
)


class Vectors:
    def __init__(
        self,
        folder: OwnPath,
        catalog: Catalog,
        guard: contextlib.AbstractContextManager[object],
        look: Callable[[], object],
    ) -> None:
        self.engine = VectorSearch(folder, catalog)
        self._catalog = catalog
        self._guard = guard
        self._look = look
        self._missing: tuple[object, int] = (None, 0)
        self._selections: tuple[object, dict[Filters, tuple[list[int], bool]]] = (None, {})

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        """What is in memory of vectors is read again where it does not fit the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._catalog.noticed(error) from error
        except (ValueError, LookupError) as error:
            self.engine.close()
            raise Damaged(f"The vectors are damaged and are read again: {error}") from error

    # --- searching ---------------------------------------------------------------------

    def search(
        self, vector: np.ndarray, identity: str, filters: Filters, limit: int
    ) -> list[tuple[int, int, float]]:
        """Note, passage, similarity; best first."""
        self._look()
        with self._guard, self._in_use():
            return self.engine.search(vector, identity, self.selection(filters), limit)

    def usual_similarity(self, vector: np.ndarray, identity: str) -> float:
        """How similar the texts here are to this one on average."""
        with self._guard, self._in_use():
            return self.engine.usual(vector, identity)

    def build_graph(self, identity: str) -> bool:
        """Build the graph of a large vault anew where that is worth while. Takes minutes."""
        return self.engine.build_nearest(identity)

    def selection(self, filters: Filters) -> tuple[list[int], bool]:
        """Notes to keep (True) or to leave out (False): whichever list is the shorter. A server
        asks with the same filters again and again, so they are kept until something changes."""
        now = self._catalog.stamp()
        if self._selections[0] != now or len(self._selections[1]) > MANY_SELECTIONS:
            self._selections = now, {}
        known = self._selections[1]
        if filters not in known:
            known[filters] = self._selected(filters)
        return known[filters]

    def _selected(self, filters: Filters) -> tuple[list[int], bool]:
        if (few := left_out(filters)) is not None:
            return [row[0] for row in self._catalog.db.execute(*few)], False
        condition, values = where(filters)
        sql = f"SELECT note.note FROM note WHERE {condition}"
        return [row[0] for row in self._catalog.db.execute(sql, values)], True

    # --- what is there -----------------------------------------------------------------

    def last_model(self) -> str:
        """The model that made the newest vector; empty when there is none."""
        with self._in_use():
            return self.engine.store().newest_identity()

    def of_texts(self, identity: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors that a model has given to passages with these texts."""
        import numpy as np

        self._look()
        try:
            store = self.engine.store()
            found = store.with_hashes(store.model(identity), hashes)
        except sqlite3.DatabaseError:
            return {}  # damaged, and rebuilt by whoever adds vectors
        return {key: np.frombuffer(raw, np.float16).astype(np.float32) for key, raw in found}

    def of_notes(self, identity: str, notes: Collection[int]) -> dict[int, np.ndarray]:
        """The mean of a short note's vectors, of length one; for those that have them all."""
        import numpy as np

        self._look()
        if not identity or not self._catalog.attach_vectors():
            return {}
        db = self._catalog.db
        passages = dict(db.execute(_PASSAGES, (listed(notes), MOST_PASSAGES)).fetchall())
        parts: dict[int, list[np.ndarray]] = {}
        for note, vector in db.execute(_VECTORS, (identity, listed(passages))):
            parts.setdefault(note, []).append(np.frombuffer(vector, np.float16).astype(np.float32))
        means = {note: np.mean(some, axis=0) for note, some in parts.items()}
        return {
            note: mean / max(float(np.linalg.norm(mean)), 1e-9)
            for note, mean in means.items()
            if len(parts[note]) == passages[note]
        }

    def add(self, identity: str, hashes: Sequence[bytes], vectors: np.ndarray) -> None:
        with self._in_use():
            store = self.engine.store()
            store.add(store.model(identity), hashes, vectors)

    def damaged(self) -> int:
        """How many vectors no model can have made."""
        return len(self.engine.store().damaged())

    def drop_damaged(self) -> None:
        store = self.engine.store()
        store.drop(store.damaged())
        self.engine.close()

    # --- what is missing ---------------------------------------------------------------

    def missing(self, identity: str, hashes: Iterable[bytes]) -> set[bytes]:
        """Those of these texts that have no vector."""
        with self._in_use():
            store = self.engine.store()
            return store.missing(store.model(identity), hashes)

    def notes_without(self, identity: str, limit: int) -> list[str]:
        """Paths of notes that have passages without a vector, memories and recent ones first."""
        self._look()
        with self._in_use():
            store = self.engine.store()
            model = store.model(identity)
            self._catalog.attach_vectors()
            _, whole, _ = store.counted(model, self._catalog.meta("uuid"))
            rows = self._catalog.db.execute(_WITHOUT_VECTOR, (whole, model, limit))
            found = [row[0] for row in rows]
            if not found:
                self._count_missing(identity)  # the next look need not begin so early
            return found

    def count_missing(self, identity: str, filters: Filters | None = None) -> int:
        """How many passages have no vector, in all or of the notes that pass."""
        with self._in_use():
            missing = self._count_missing(identity)
            if filters is None or not missing:
                return missing
            self._catalog.attach_vectors()
            condition, values = where(filters)
            model = self.engine.store().model(identity)
            row = self._catalog.db.execute(_MISSING_OF + condition, (model, *values)).fetchone()
            return int(row[0])

    def _count_missing(self, identity: str) -> int:
        """A vector is never taken away, so the passages before the first that lacks one need not
        be looked at again."""
        store = self.engine.store()
        model, (catalog, revision) = store.model(identity), self._catalog.stamp()
        now = int(revision), store.highest()
        counted = store, model, catalog, now
        if self._missing[0] == counted:
            return self._missing[1]
        last = self._catalog.last_passage()
        then, whole, missing = store.counted(model, catalog)
        if now == then:
            self._missing = counted, missing
            return missing
        self._catalog.attach_vectors()
        count, first = self._catalog.db.execute(_MISSING, (whole, model)).fetchone()
        missing = int(count)
        self._missing = counted, missing
        if last - whole >= MANY_PASSAGES:
            done = int(first or 0) - 1 if missing else last
            store.set_counted(model, catalog, *now, done, missing)
        return missing
