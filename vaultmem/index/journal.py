"""What the catalog knows of sessions: their journals, their memories, what came of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING

from vaultmem.index.catalog import Catalog, Row
from vaultmem.index.fulltext import Filters
from vaultmem.index.lookup import where

if TYPE_CHECKING:
    import numpy as np


class Journals:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def of_session(self, session: str, filters: Filters) -> list[Row]:
        """The notes that belong to a session, oldest first; `filters` say of which type."""
        condition, values = where(filters)
        sql = (
            f"SELECT note FROM note WHERE {condition} AND casefold(session) = ? "
            "ORDER BY coalesce(created, 0), note"
        )
        return self._rows(sql, [*values, session.casefold()])

    def latest(self, filters: Filters, count: int) -> list[Row]:
        """The journals that hold the latest observations, and the latest journals."""
        condition, values = where(filters)
        observed = (
            "SELECT DISTINCT note FROM (SELECT note FROM passage JOIN note USING (note) "
            f"WHERE passage.kind = 'observation' AND length(block) = 26 AND {condition} "
            "ORDER BY lower(block) DESC LIMIT ?)"
        )
        begun = f"SELECT note FROM note WHERE {condition} ORDER BY created DESC, note DESC LIMIT ?"
        found = self._rows(observed, [*values, count]) + self._rows(begun, [*values, count])
        return list({row.note: row for row in found}.values())

    def with_observation(self, block: str, filters: Filters) -> list[Row]:
        condition, values = where(filters)
        sql = (
            "SELECT DISTINCT note FROM passage JOIN note USING (note) "
            f"WHERE passage.kind = 'observation' AND lower(block) = ? AND {condition}"
        )
        return self._rows(sql, [block.lower(), *values])

    def derived(self, relation: str) -> list[Row]:
        """Every note that was made from others, forgotten ones too."""
        return self._rows("SELECT DISTINCT note FROM link WHERE relation = ?", [relation])

    def vectors(self, identity: str, hashes: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors that a model has given to passages with these texts."""
        import numpy as np

        file = self._catalog.file.with_name("vectors.db")
        if not file.exists():
            return {}
        self._catalog.attach_vectors(file)
        sql = (
            "SELECT vector FROM v.vector JOIN v.model USING (model) WHERE identity = ? AND hash = ?"
        )
        found: dict[bytes, np.ndarray] = {}
        for key in hashes:
            try:
                row = self._catalog.db.execute(sql, (identity, key)).fetchone()
            except sqlite3.DatabaseError:
                return {}  # damaged, and rebuilt by whoever adds vectors
            if row:
                found[key] = np.frombuffer(row[0], np.float16).astype(np.float32)
        return found

    def _rows(self, sql: str, values: list[object]) -> list[Row]:
        numbers = [row[0] for row in self._catalog.db.execute(sql, values)]
        rows: dict[int, Row] = {}
        for start in range(0, len(numbers), 500):
            rows |= self._catalog.rows(numbers[start : start + 500])
        return [rows[number] for number in numbers if number in rows]
