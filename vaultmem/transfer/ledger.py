"""What was imported before, on this machine: which record, what it said, what note it made.

It only helps to tell who changed something since, the other system or a person here. Without
it nothing is imported twice either: notes carry their keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Final

from vaultmem.base.database import Database

_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS imported "
    "(key TEXT PRIMARY KEY, digest TEXT NOT NULL, path TEXT NOT NULL, version TEXT NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class KnownRecord:
    key: str
    digest: str  # of the record
    path: str
    version: str  # of the note as it was written


class Ledger(Database):
    begins_with = _SCHEMA

    def find_record(self, key: str) -> KnownRecord | None:
        sql = "SELECT key, digest, path, version FROM imported WHERE key = ?"
        row = self.db.execute(sql, (key,)).fetchone()
        return KnownRecord(*row) if row else None

    def keep_records(self, known: Iterable[KnownRecord]) -> None:
        """All at once, and on disk: behind the notes, never before them."""
        with self.db:
            self.db.execute("BEGIN")
            rows = (astuple(each) for each in known)
            self.db.executemany("INSERT OR REPLACE INTO imported VALUES (?, ?, ?, ?)", rows)


def ledger_decision(
    known: KnownRecord | None, digest: str, current: str | None, *, same: bool
) -> str:
    """What becomes of a record, by what was imported before, what the note is now (its version,
    None when there is none), and whether that says the same already.

    Only a note that nobody touched since follows what changed over there; and one that a
    person removed does not come back by itself.
    """
    if current is None:
        return "gone" if known else "add"
    if same or (known and known.digest == digest):
        return "here"
    return "update" if known and known.version == current else "kept"
