"""Which writes were carried out, by the key that each carries: a second time it is not done again.

This machine's own state, beside the vault. A key is written down before the write it stands for
and its answer after it, so that a server which is killed between the two knows that it may have
been done.
"""

from __future__ import annotations

import json
import time
from typing import Any, Final, NamedTuple

from vaultmem.base.database import Database

_KEPT_DAYS: Final = 90
_SCHEMA: Final = """
PRAGMA busy_timeout=10000;
CREATE TABLE IF NOT EXISTS answered (key TEXT PRIMARY KEY, at INTEGER NOT NULL, answer TEXT);
"""


class EarlierCall(NamedTuple):
    answer: dict[str, Any] | None = None  # None: it was begun, and perhaps done


class AnsweredCalls(Database):
    begins_with = _SCHEMA

    def earlier(self, key: str) -> EarlierCall | None:
        row = self.db.execute("SELECT answer FROM answered WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        return EarlierCall(json.loads(row[0]) if row[0] else None)

    def begin(self, key: str) -> None:
        now = int(time.time())
        self.db.execute("DELETE FROM answered WHERE at < ?", (now - _KEPT_DAYS * 86_400,))
        self.db.execute("INSERT OR IGNORE INTO answered VALUES (?, ?, NULL)", (key, now))

    def end(self, key: str, answer: dict[str, Any]) -> None:
        text = json.dumps(answer, ensure_ascii=False)
        self.db.execute("UPDATE answered SET answer = ? WHERE key = ?", (text, key))

    def withdraw(self, key: str) -> None:
        """It was refused: nothing was done."""
        self.db.execute("DELETE FROM answered WHERE key = ? AND answer IS NULL", (key,))

    def memory_of(self, key: str) -> str:
        """The memory that a write made which was only queued at first, and named by its key."""
        known = self.earlier(key)
        return str(known.answer.get("memory_id", "")) if known and known.answer else ""
