"""How far memories have faded that nobody asked for: this machine's own state, never in notes.

What is kept is a part of a memory's importance. Without it, and whenever it is thrown away, every
memory is as important as its note says.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from vaultmem.base.database import SQL_LIST, Database, sql_list
from vaultmem.errors import VaultmemError

_TROUBLE: Final = (sqlite3.Error, OSError, VaultmemError)


class Fading(Database):
    begins_with = (
        "PRAGMA busy_timeout=200; CREATE TABLE IF NOT EXISTS faded "
        "(memory TEXT PRIMARY KEY, part REAL NOT NULL)"
    )

    def of(self, memories: Sequence[str]) -> dict[str, float]:
        """The part that is left of those that have faded."""
        sql = f"SELECT memory, part FROM faded WHERE memory IN {SQL_LIST}"
        try:
            return dict(self.db.execute(sql, (sql_list(memories),)).fetchall())
        except _TROUBLE:
            self.close()
            return {}

    def forget(self) -> None:
        """Every memory is as it was."""
        with contextlib.suppress(*_TROUBLE):
            self.db.execute("DELETE FROM faded")

    def keep(self, parts: Mapping[str, float]) -> None:
        """A part of 1 is a memory that has not faded, or is as it was again."""
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        try:
            for memory, part in parts.items():
                if part >= 1:
                    db.execute("DELETE FROM faded WHERE memory = ?", (memory,))
                else:
                    db.execute("INSERT OR REPLACE INTO faded VALUES (?, ?)", (memory, part))
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
