"""How often memories were asked for: this machine's own state, never written into notes.

Losing a count hurts nobody, so these writes are not forced to disk and never fail a recall.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem.base.database import SQL_LIST, Database, sql_list
from vaultmem.errors import VaultmemError

_TROUBLE: Final = (sqlite3.Error, OSError, VaultmemError)
_SCHEMA: Final = """
PRAGMA synchronous=OFF;
PRAGMA busy_timeout=200;
CREATE TABLE IF NOT EXISTS used (memory TEXT PRIMARY KEY, count INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS served (session TEXT, memory TEXT, PRIMARY KEY (session, memory));
CREATE TABLE IF NOT EXISTS asked (session TEXT PRIMARY KEY, count INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    count: int = 0
    last: int | None = None  # seconds since the epoch


class Usage(Database):
    begins_with = _SCHEMA

    def note(self, memories: Iterable[str], session: str = "", *, question: bool = True) -> None:
        """These were shown to someone, in answer to a question or by name."""
        now, shown = int(time.time()), list(memories)
        try:
            db = self.db
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT INTO used VALUES (?, 1, ?) "
                "ON CONFLICT (memory) DO UPDATE SET count = count + 1, last = excluded.last",
                ((memory, now) for memory in shown),
            )
            if session and question:
                db.execute(
                    "INSERT INTO asked VALUES (?, 1) "
                    "ON CONFLICT (session) DO UPDATE SET count = count + 1",
                    (session,),
                )
                db.executemany(
                    "INSERT OR IGNORE INTO served VALUES (?, ?)", ((session, m) for m in shown)
                )
            db.execute("COMMIT")
        except _TROUBLE:
            self.close()

    def of(self, memories: Sequence[str]) -> dict[str, MemoryUse]:
        sql = f"SELECT memory, count, last FROM used WHERE memory IN {SQL_LIST}"
        try:
            rows = self.db.execute(sql, (sql_list(memories),))
            return {memory: MemoryUse(*use) for memory, *use in rows}
        except _TROUBLE:
            self.close()
            return {}

    def in_session(self, session: str) -> tuple[int, int]:
        """How many questions were asked in a session, and how many memories answered them."""
        try:
            asked = self.db.execute("SELECT count FROM asked WHERE session = ?", (session,))
            served = self.db.execute("SELECT count(*) FROM served WHERE session = ?", (session,))
            return (asked.fetchone() or (0,))[0], served.fetchone()[0]
        except _TROUBLE:
            self.close()
            return 0, 0
