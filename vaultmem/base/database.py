"""A SQLite file that several threads and processes use: a connection for each thread."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import weakref
from pathlib import Path


class Database:
    def __init__(self, file: Path) -> None:
        self.file = file
        self._local = threading.local()
        self._connections: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._opening = threading.Lock()
        # Once nobody has the database any more, nobody is using what is left of its connections.
        weakref.finalize(self, _close_all, self._connections).atexit = False

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "db", None)
        if connection is None:
            connection = self._connect()
            self._local.db = connection
        return connection

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.file, timeout=10, isolation_level=None, check_same_thread=False)
        with self._opening:
            self._connections.append((threading.current_thread(), db))
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def close(self) -> None:
        """Close this thread's connection and those of threads that have ended.

        One that another thread is using must not be closed under it: that crashes the process.
        """
        me = threading.current_thread()
        with self._opening:
            for thread, db in self._connections:
                if thread is me or not thread.is_alive():
                    with contextlib.suppress(sqlite3.Error):
                        db.close()
            self._connections[:] = [
                pair for pair in self._connections if pair[0] is not me and pair[0].is_alive()
            ]
        self._local = threading.local()


def _close_all(connections: list[tuple[threading.Thread, sqlite3.Connection]]) -> None:
    for _, db in connections:
        with contextlib.suppress(sqlite3.Error):
            db.close()
