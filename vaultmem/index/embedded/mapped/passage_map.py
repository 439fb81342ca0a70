"""Which passage has which vector, from the file that all map and from what came since.

The file is written anew when much came since; where it cannot be, everything is kept in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.base.own_path import OwnPath
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.mapped.vector_file import (
    MappedVectors,
    VectorFile,
    VectorOrigin,
    VectorReach,
)
from vaultmem.index.embedded.vector_matrix import PassageLookups, PassageRows, VectorMatrix
from vaultmem.index.embedded.vector_store import VectorStore

FEW_UNKEPT: Final = 512  # passages or vectors that each process reads for itself
_UNKEPT_PART: Final = 32  # more of them than this part of all are put into the file
_KEEP_AGAIN_SECONDS: Final = 60.0  # after it was not possible
_MARKS: Final = 16
# A cross join keeps its order: SQLite would begin with whatever table is smaller.
_OF_NEW_PASSAGES: Final = """
SELECT passage, note, number FROM passage CROSS JOIN v.vector USING (hash)
WHERE passage > ? AND passage <= ? AND model = ? AND number <= ?
"""
_OF_NEW_VECTORS: Final = """
SELECT passage, note, number FROM v.vector NOT INDEXED CROSS JOIN passage USING (hash)
WHERE number > ? AND number <= ? AND model = ? AND passage <= ?
"""
_NOTES: Final = f"SELECT passage, note FROM passage WHERE passage IN {SQL_LIST}"
_VECTORS: Final = f"""
SELECT passage, vector FROM passage CROSS JOIN v.vector USING (hash)
WHERE passage IN {SQL_LIST} AND model = ?
"""


class PassageMap:
    def __init__(self, folder: OwnPath, catalog: Catalog, store: VectorStore, model: int) -> None:
        self.store = store
        self.model = model
        self._catalog = catalog
        self._file = VectorFile(folder, model)
        self._rows: PassageRows | None = None
        self._origin: VectorOrigin | None = None  # of these
        self._keep_after = float("-inf")

    def up_to_date(self) -> PassageRows:
        origin, highest = self._present_origin()
        rows = self._rows
        if rows is None or origin != self._origin or not rows.matrix.is_sound():
            rows = self._begun_with(self._mapped_vectors(origin, highest))
            self._rows, self._origin = rows, origin
        self._read_on(rows, highest)
        if rows.read_since >= max(FEW_UNKEPT, len(rows) // _UNKEPT_PART):
            return self._kept_in_file(rows, origin)
        return rows

    def _present_origin(self) -> tuple[VectorOrigin, int]:
        """What the vectors are now, and the last number of all models."""
        uuid, dropped, highest = self.store.origin_of_vectors()
        return VectorOrigin(uuid, dropped, self.model, self._catalog.state().identity), highest

    def _begun_with(self, mapped: MappedVectors | None) -> PassageRows:
        matrix = VectorMatrix(self.store, self.model, mapped=mapped)
        lookups = PassageLookups(self._notes_of, self._vectors_of, self._all_passages)
        return PassageRows(matrix, lookups)

    def _read_on(self, rows: PassageRows, highest: int) -> None:
        rows.matrix.refresh_matrix(highest)
        seen, now = rows.seen, (self._catalog.last_passage(), rows.matrix.last)
        if now != seen:
            self._catalog.attach_vectors()
            rows.extend_passage_rows(self._passages_with_new_vectors(seen, now))
            rows.seen = now

    def _passages_with_new_vectors(
        self, seen: tuple[int, int], now: tuple[int, int]
    ) -> Iterator[tuple[int, int, int]]:
        """Passage, note and vector's number of what has come since. `seen` and `now` are the
        last passage and the last vector, then and at present."""
        db = self._catalog.db
        yield from db.execute(_OF_NEW_PASSAGES, (seen[0], now[0], self.model, now[1]))
        yield from db.execute(_OF_NEW_VECTORS, (seen[1], now[1], self.model, seen[0]))

    # --- the file --------------------------------------------------------------------------

    def _mapped_vectors(self, origin: VectorOrigin, highest: int) -> MappedVectors | None:
        """The file, if it was made from what there is now."""
        mapped = self._file.open()
        if mapped is None or self._is_made_from(mapped, origin, highest):
            return mapped
        self._file.discard()
        return None

    def _is_made_from(self, mapped: MappedVectors, origin: VectorOrigin, highest: int) -> bool:
        reach = mapped.reach
        if mapped.origin != origin or reach.number > highest:
            return False  # or the databases were put back from a copy
        if reach.passage > self._catalog.last_passage():
            return False
        return reach.marks == self.store.marks_of_stored_vectors(self.model, reach.marks)

    def _kept_in_file(self, rows: PassageRows, origin: VectorOrigin) -> PassageRows:
        """Put all of it into the file, and go on with that."""
        if time.monotonic() < self._keep_after or self._catalog.away():
            return rows
        marked = rows.matrix.some_numbers(_MARKS)
        marks = self.store.marks_of_stored_vectors(self.model, marked)
        reach = VectorReach(*rows.seen, marks)
        written = self._file.write(origin, reach, rows.columns_of_passage_rows())
        present, highest = self._present_origin()
        mapped = self._mapped_vectors(present, highest) if written else None  # else it is dropped
        if mapped is None or mapped.reach != reach or present != origin:
            self._keep_after = time.monotonic() + _KEEP_AGAIN_SECONDS
            return rows
        self._rows = self._begun_with(mapped)
        self._read_on(self._rows, highest)
        return self._rows

    # --- what the databases say ------------------------------------------------------------

    def _notes_of(self, passages: Sequence[int]) -> dict[int, int]:
        return dict(self._catalog.query(_NOTES, (sql_list(passages),)))

    def _vectors_of(self, passages: Sequence[int]) -> dict[int, bytes]:
        self._catalog.attach_vectors()
        return dict(self._catalog.query(_VECTORS, (sql_list(passages), self.model)))

    def _all_passages(self) -> np.ndarray:
        return np.array(self._catalog.column("SELECT passage FROM passage"), dtype=np.int64)
