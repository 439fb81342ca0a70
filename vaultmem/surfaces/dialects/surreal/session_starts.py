"""When sessions began: that system has a table of them. This machine's own state, beside the vault;
losing it moves a session's start to its first memory."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import Database
from vaultmem.errors import VaultmemError

if TYPE_CHECKING:
    from vaultmem.vault import Vault

_FILE: Final = "surreal-sessions.db"
_TROUBLE: Final = (sqlite3.Error, OSError, VaultmemError)


class SessionStarts(Database):
    begins_with = (
        "PRAGMA busy_timeout=2000;"
        "CREATE TABLE IF NOT EXISTS began (session TEXT PRIMARY KEY, at INTEGER NOT NULL);"
    )

    def begin(self, session: str, now: dt.datetime) -> None:
        values = (session, int(now.timestamp()))
        self.db.execute("INSERT OR IGNORE INTO began VALUES (?, ?)", values)

    def start(self, session: str) -> dt.datetime | None:
        found = self.db.execute("SELECT at FROM began WHERE session = ?", (session,)).fetchone()
        return dt.datetime.fromtimestamp(found[0], dt.UTC) if found else None


@contextlib.contextmanager
def _session_starts(vault: Vault) -> Iterator[SessionStarts]:
    with closing(SessionStarts(vault.view.store.local() / _FILE)) as starts:
        yield starts


def note_session_start(vault: Vault, now: dt.datetime) -> None:
    if vault.caller.session and not (vault.caller.read_only or vault.settings["read_only"]):
        with contextlib.suppress(*_TROUBLE), _session_starts(vault) as starts:
            starts.begin(vault.caller.session, now)


def session_start(vault: Vault, session: str) -> dt.datetime | None:
    with contextlib.suppress(*_TROUBLE), _session_starts(vault) as starts:
        return starts.start(session)
    return None
