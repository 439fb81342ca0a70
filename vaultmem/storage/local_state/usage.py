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
CREATE TABLE IF NOT EXISTS shown (number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
  memory TEXT NOT NULL, client TEXT NOT NULL, session TEXT NOT NULL, way TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS shown_memory ON shown (memory);
"""
_MOST_SHOWN: Final = 50_000  # times that something was shown, of which it is known to whom
_TRIMMED_EVERY: Final = 1_000
RECALLED, READ, GIVEN, INJECTED = "recalled", "read", "given as context", "put before a prompt"


@dataclass(frozen=True, slots=True)
class MemoryUse:
    count: int = 0
    last: int | None = None  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class MemoryShown:
    at: int
    client: str  # empty for a person
    session: str
    way: str


class Usage(Database):
    begins_with = _SCHEMA

    def note(
        self,
        memories: Iterable[str],
        session: str = "",
        *,
        question: bool = True,
        client: str = "",
        way: str = RECALLED,
    ) -> None:
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
            _keep_shown(db, now, shown, client, session, way)
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

    def tell(self, memories: Iterable[str], client: str, session: str, way: str) -> None:
        """Shown to who did not ask, which does not count as used."""
        try:
            db = self.db
            db.execute("BEGIN IMMEDIATE")
            _keep_shown(db, int(time.time()), list(memories), client, session, way)
            db.execute("COMMIT")
        except _TROUBLE:
            self.close()

    def shown(self, memory: str, most: int) -> list[MemoryShown]:
        """When, to whom and in which way it was shown, newest first."""
        sql = "SELECT at, client, session, way FROM shown WHERE memory = ? ORDER BY number DESC LIMIT ?"
        try:
            return [MemoryShown(*row) for row in self.db.execute(sql, (memory, most))]
        except _TROUBLE:
            self.close()
            return []

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


def _keep_shown(
    db: sqlite3.Connection, at: int, memories: Sequence[str], client: str, session: str, way: str
) -> None:
    rows = ((at, memory, client, session, way) for memory in memories)
    db.executemany(
        "INSERT INTO shown (at, memory, client, session, way) VALUES (?, ?, ?, ?, ?)", rows
    )
    last = db.execute("SELECT max(number) FROM shown").fetchone()[0] or 0
    if last % _TRIMMED_EVERY < len(memories):
        db.execute("DELETE FROM shown WHERE number <= ?", (last - _MOST_SHOWN,))
