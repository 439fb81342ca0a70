"""The vectors of the index: searched, looked after, and which texts still lack one."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import SQL_LIST, Database, DatabaseWhereabouts, sql_list
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError
from vaultmem.index.embedded.catalog import VECTORS_FILE, Catalog
from vaultmem.index.embedded.files import LOOK_OFTEN
from vaultmem.index.embedded.vector_store import VectorStore, nearest_in_bytes
from vaultmem.index.failures import IndexDamaged, is_sqlite_damage
from vaultmem.index.filters import Filters, filters_as_sql, left_out_by_filters

if TYPE_CHECKING:
    import numpy as np

    from vaultmem.index.embedded.mapped.passage_map import PassageMap
    from vaultmem.index.embedded.vector_graph import VectorGraph
    from vaultmem.index.embedded.vector_matrix import PassageRows

FEW_NOTES: Final = 3_000  # a filter that leaves no more than these is searched exactly
# Passage, note and vector of every passage with one of these vectors.
_OF_VECTORS: Final = f"""
SELECT passage, note, vector FROM v.vector CROSS JOIN passage USING (hash)
WHERE number IN {SQL_LIST}
"""
_OF_NOTES: Final = f"SELECT passage, note, hash FROM passage WHERE note IN {SQL_LIST}"

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
_PASSAGES: Final = f"SELECT note, count(*) FROM passage WHERE note IN {SQL_LIST} GROUP BY note HAVING count(*) <= ?"
_VECTORS: Final = (
    "SELECT note, vector FROM passage JOIN v.vector USING (hash) JOIN v.model USING (model) "
    f"WHERE identity = ? AND note IN {SQL_LIST}"
)
_SENTENCES: Final = f"""
SELECT passage, vectors FROM passage CROSS JOIN v.sentences USING (hash)
WHERE passage IN {SQL_LIST} AND model = ? AND length(vectors) > 0
"""
_WITHOUT_SENTENCES: Final = """
SELECT passage, path, hash FROM passage p JOIN note USING (note) WHERE passage > ? AND NOT EXISTS
  (SELECT 1 FROM v.sentences WHERE model = ? AND hash = p.hash) ORDER BY passage LIMIT ?
"""
_OF_PASSAGES: Final = f"""
SELECT passage, vector FROM passage CROSS JOIN v.vector USING (hash)
WHERE passage IN {SQL_LIST} AND model = ?
"""


class Vectors:
    def __init__(
        self,
        folder: OwnPath,
        catalog: Catalog,
        guard: contextlib.AbstractContextManager[object],
        look: Callable[[], object],
    ) -> None:
        self.folder = folder
        self._catalog = catalog
        self._guard = guard
        self._look = look
        self._store: VectorStore | None = None
        self._map: PassageMap | None = None
        self._nearest: VectorGraph | None = None
        self._checked = float("-inf")
        self._missing: tuple[object, int] = (None, 0)
        self._selections: tuple[object, dict[Filters, tuple[list[int], bool]]] = (None, {})

    @contextlib.contextmanager
    def _vectors_in_use(self) -> Iterator[None]:
        """What is in memory of vectors is read again where it does not fit the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._catalog.catalog_error_noticed(error) from error
        except (ValueError, LookupError) as error:
            self.close()
            raise IndexDamaged(f"The vectors are damaged and are read again: {error}") from error

    # --- the file ------------------------------------------------------------------------

    def open_store(self) -> VectorStore:
        if self._store is None:
            self._catalog.require_there()
            file = Database(self.folder / VECTORS_FILE)
            try:
                self._store = VectorStore(file.place)
            except sqlite3.DatabaseError as error:
                if file.is_there() and not is_sqlite_damage(error):
                    raise
                file.discard()
                self._store = VectorStore(file.place)
            self._store.away = self._catalog.away
        return self._store

    def are_vectors_sound(self) -> bool:
        now = time.monotonic()
        if self._store is not None and now - self._checked >= LOOK_OFTEN:
            if self._store.whereabouts() is not DatabaseWhereabouts.SAME:
                return False
            self._checked = now
        return True

    def mend_vectors(self) -> None:
        """The file of vectors is another one, gone, or shorter: go on with what is there. What
        is missing is embedded again."""
        if self._store is not None:
            if self._store.whereabouts() is DatabaseWhereabouts.TORN:
                self._store.discard()
            self._begin_vectors_again()

    def check_vectors(self) -> None:
        """Something was wrong with a file, and perhaps with this one."""
        if self._store is not None:
            if not self._store.passes_check():
                self._store.discard()
            self._begin_vectors_again()

    def _begin_vectors_again(self) -> None:
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
        self, vector: np.ndarray, identity: str, filters: Filters, limit: int
    ) -> list[tuple[int, int, float]]:
        """Note, passage, similarity; best first."""
        self._look()
        with self._guard, self._vectors_in_use():
            large = self._graph_of_many_vectors(identity)
            notes, keep = self.selection(filters)
            if large is None:
                return self._passages_mapped_to_vectors(identity).nearest_passage_rows(
                    vector, limit, notes, keep
                )
            if keep and len(notes) <= FEW_NOTES:  # the graph would hardly propose them
                return large.search_beside_vector_graph(vector, limit, self.passage_hashes(notes))
            self._catalog.attach_vectors()
            query = self._catalog.query
            return large.search_vector_graph(
                vector, limit, lambda some: query(_OF_VECTORS, (sql_list(some),)), notes, keep
            )

    def usual_similarity(self, vector: np.ndarray, identity: str) -> float:
        """How similar the texts here are to this one on average."""
        with self._guard, self._vectors_in_use():
            return (
                self._graph_of_many_vectors(identity)
                or self._passages_mapped_to_vectors(identity).matrix
            ).usual(vector)

    def prepare_search(self, identity: str) -> None:
        """Somebody has time: put what came into the file that every process maps."""
        saving_time = contextlib.suppress(VaultmemError)
        with saving_time, self._guard, self._vectors_in_use():
            if self._graph_of_many_vectors(identity) is None:
                before = self._map
                self._passages_mapped_to_vectors(identity)
                self._map = self._map if before else None  # nobody has asked here yet

    def build_graph(self, identity: str) -> bool:
        """Build the graph of a large vault anew where that is worth while. Takes minutes."""
        from vaultmem.index.embedded.mapped.vector_file import VectorFile
        from vaultmem.index.embedded.vector_graph import VectorGraph

        store = self.open_store()
        model = store.model(identity)
        if not VectorGraph(self.folder, store, model).build_vector_graph():
            return False
        VectorFile(self.folder, model).discard()  # nobody compares all of them any more
        return True

    def _graph_of_many_vectors(self, identity: str) -> VectorGraph | None:
        """The graph of a large vault, once it is built; until then all are compared."""
        from vaultmem.index.embedded import vector_graph

        store = self.open_store()
        model = store.model(identity)
        if store.last_stored_vector(model) <= vector_graph.LARGE_VAULT:
            return None
        if self._nearest is None or self._nearest.model != model:
            self._nearest = vector_graph.VectorGraph(self.folder, store, model)
        if not self._nearest.open_vector_graph():
            return None
        self._map = None  # its memory is no longer needed
        return self._nearest

    def _passages_mapped_to_vectors(self, identity: str) -> PassageRows:
        from vaultmem.index.embedded.mapped.passage_map import PassageMap

        store = self.open_store()
        model = store.model(identity)
        if self._map is None or self._map.store is not store or self._map.model != model:
            self._map = PassageMap(self.folder, self._catalog, store, model)
        return self._map.up_to_date()

    def passage_hashes(self, notes: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """Passage, note and hash of every passage of these notes."""
        return self._catalog.query(_OF_NOTES, (sql_list(notes),))

    def selection(self, filters: Filters) -> tuple[list[int], bool]:
        """Notes to keep (True) or to leave out (False): whichever list is the shorter. A server
        asks with the same filters again and again, so they are kept until something changes."""
        now = self._catalog.stamp()
        if self._selections[0] != now or len(self._selections[1]) > MANY_SELECTIONS:
            self._selections = now, {}
        known = self._selections[1]
        if filters not in known:
            few, (condition, values) = left_out_by_filters(filters), filters_as_sql(filters)
            sql, values = few or (f"SELECT note.note FROM note WHERE {condition}", values)
            known[filters] = self._catalog.column(sql, values), few is None
        return known[filters]

    # --- what is there -----------------------------------------------------------------

    def last_model(self) -> str:
        """The model that made the newest vector; empty when there is none."""
        with self._vectors_in_use():
            return self.open_store().newest_identity()

    def of_texts(self, identity: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors that a model has given to passages with these texts."""
        import numpy as np

        self._look()
        try:
            store = self.open_store()
            found = store.stored_vectors_with_hashes(store.model(identity), hashes)
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
        passages = dict(db.execute(_PASSAGES, (sql_list(notes), MOST_PASSAGES)).fetchall())
        parts: dict[int, list[np.ndarray]] = {}
        for note, vector in db.execute(_VECTORS, (identity, sql_list(passages))):
            parts.setdefault(note, []).append(np.frombuffer(vector, np.float16).astype(np.float32))
        means = {note: np.mean(some, axis=0) for note, some in parts.items()}
        return {
            note: mean / max(float(np.linalg.norm(mean)), 1e-9)
            for note, mean in means.items()
            if len(parts[note]) == passages[note]
        }

    def of_passages(self, identity: str, passages: Collection[int]) -> dict[int, np.ndarray]:
        """The vectors of those of these passages that have one."""
        import numpy as np

        with self._guard, self._vectors_in_use():
            if not self._catalog.attach_vectors():
                return {}
            model = self.open_store().model(identity)
            found = self._catalog.query(_OF_PASSAGES, (sql_list(passages), model))
        return {each: np.frombuffer(raw, np.float16).astype(np.float32) for each, raw in found}

    def best_sentences(
        self, vector: np.ndarray, identity: str, passages: Collection[int]
    ) -> dict[int, float]:
        """How similar the nearest sentence is, for those of these passages that have several."""
        with self._guard, self._vectors_in_use():
            if not self._catalog.attach_vectors():
                return {}
            model = self.open_store().model(identity)
            found = self._catalog.query(_SENTENCES, (sql_list(passages), model))
        return nearest_in_bytes(found, vector)

    def add_sentences(self, identity: str, rows: Mapping[bytes, Sequence[np.ndarray]]) -> None:
        """By the hash of their passage; none for one that says a single thing."""
        with self._vectors_in_use():
            store = self.open_store()
            store.add_sentences(store.model(identity), rows)

    def add(self, identity: str, hashes: Sequence[bytes], vectors: np.ndarray) -> None:
        with self._vectors_in_use():
            store = self.open_store()
            store.add(store.model(identity), hashes, vectors)

    def drop_texts(self, hashes: Sequence[bytes]) -> None:
        """Of texts that are to be known no more: nor is what they mean, in any file."""
        from vaultmem.index.embedded.mapped.vector_file import discard_vector_files

        with self._guard, self._vectors_in_use():
            self.open_store().drop_stored_texts(hashes)
            self._map = None
            discard_vector_files(self.folder)

    def damaged(self) -> int:
        """How many vectors no model can have made."""
        return len(self.open_store().damaged_stored_vectors())

    def drop_damaged(self) -> None:
        store = self.open_store()
        store.drop_stored_vectors(store.damaged_stored_vectors())
        self.close()

    # --- what is missing ---------------------------------------------------------------

    def hashes_without_vectors(self, identity: str, hashes: Iterable[bytes]) -> set[bytes]:
        """Those of these texts that have no vector."""
        with self._vectors_in_use():
            store = self.open_store()
            return store.hashes_not_in_vector_store(store.model(identity), hashes)

    def notes_without_vectors(self, identity: str, limit: int) -> list[str]:
        """Paths of notes that have passages without a vector, memories and recent ones first."""
        self._look()
        with self._vectors_in_use():
            store = self.open_store()
            model = store.model(identity)
            self._catalog.attach_vectors()
            _, whole, _ = store.counts_kept_in_vector_store(model, self._catalog.state().uuid)
            found = self._catalog.column(_WITHOUT_VECTOR, (whole, model, limit))
            if not found:
                self._count_missing_vectors(identity)  # the next look need not begin so early
            return found

    def passages_without_sentences(
        self, identity: str, last: int, limit: int
    ) -> list[tuple[int, str, bytes]]:
        """Passages behind this one whose sentences have no vectors: number, path and hash."""
        self._look()
        with self._vectors_in_use():
            model = self.open_store().model(identity)
            self._catalog.attach_vectors()
            return self._catalog.query(_WITHOUT_SENTENCES, (last, model, limit))

    def passages_so_far(self) -> tuple[int, int]:
        """How many there are, and the last one's number."""
        count = self._catalog.column("SELECT count(*) FROM passage")[0]
        return int(count), self._catalog.last_passage()

    def count_missing(self, identity: str, filters: Filters | None = None) -> int:
        """How many passages have no vector, in all or of the notes that pass."""
        with self._vectors_in_use():
            missing = self._count_missing_vectors(identity)
            if filters is None or not missing:
                return missing
            self._catalog.attach_vectors()
            condition, values = filters_as_sql(filters)
            model = self.open_store().model(identity)
            return int(self._catalog.column(_MISSING_OF + condition, (model, *values))[0])

    def _count_missing_vectors(self, identity: str) -> int:
        """A vector is never taken away, so the passages before the first that lacks one need not
        be looked at again."""
        store = self.open_store()
        model, (catalog, revision) = store.model(identity), self._catalog.stamp()
        now = int(revision), store.highest_stored_vector()
        counted = store, model, catalog, now
        if self._missing[0] == counted:
            return self._missing[1]
        last = self._catalog.last_passage()
        then, whole, missing = store.counts_kept_in_vector_store(model, catalog)
        if now == then:
            self._missing = counted, missing
            return missing
        self._catalog.attach_vectors()
        count, first = self._catalog.query(_MISSING, (whole, model))[0]
        missing = int(count)
        self._missing = counted, missing
        if last - whole >= MANY_PASSAGES:
            done = int(first or 0) - 1 if missing else last
            store.keep_counts_in_vector_store(model, catalog, *now, done, missing)
        return missing
