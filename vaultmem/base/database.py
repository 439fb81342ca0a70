"""A SQLite file that several threads and processes use: a connection for each thread.

The files may be deleted, cut or replaced under us. What SQLite would do then is go on with
files that nobody else sees, or die of memory that is mapped from a file grown shorter; so
whoever relies on a database asks now and then whether it is still `whereabouts` it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.base.own_path import OwnPath, is_link_or_junction
from vaultmem.errors import Away

_BEGINNING, _PAUSE = 2.0, 0.005  # seconds until others have made the file, and between looks
_PAGE_OF_SHM: Final = 32_768  # SQLite maps the file beside it in pieces of this size
_MAIN, _LOG, _SHARED = "", "-wal", "-shm"
_FILES: Final = (_MAIN, _LOG, _SHARED)
SQLITE_COMPANIONS: Final = (_LOG, _SHARED, "-journal")  # files that SQLite keeps beside its own

# `IN` any number of values: a variable for each would meet SQLite's limit in a large vault.
SQL_LIST: Final = "(SELECT value FROM json_each(?))"
SQL_LIST_OF_BYTES: Final = "(SELECT from_hex(value) FROM json_each(?))"


def sql_list(values: Iterable[int | str] | Iterable[bytes]) -> str:
    """The values for `SQL_LIST`, or for `SQL_LIST_OF_BYTES`."""
    plain = [value.hex() if isinstance(value, bytes) else value for value in values]
    return json.dumps(plain, ensure_ascii=False)


class _DatabaseFile(NamedTuple):
    identity: tuple[int, int]  # with the device: another drive may have the same number
    size: int


class DatabaseWhereabouts(Enum):
    SAME = "the files that were opened"
    ELSEWHERE = "another file has the name, or none"
    TORN = "a file beside it is gone, another one, or shorter"


class Database:
    begins_with = ""  # SQL for each new connection: settings, and tables that may not be there yet

    def __init__(self, place: Path | OwnPath) -> None:
        self.place = OwnPath.of(place)
        self.file = self.place.path
        self.away: Callable[[], object] = bool  # while it is, what has its name is another file
        self._local = threading.local()
        self._generation = 0
        self._connections: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._opening = threading.Lock()
        self._opened: dict[str, _DatabaseFile] = {}  # by ending
        # Once nobody has the database any more, nobody is using what is left of its connections.
        weakref.finalize(self, _close_connections, self._connections).atexit = False

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        local = self._local
        if getattr(local, "generation", None) != self._generation:
            self._close_former_connection(getattr(local, "db", None))
            local.generation, local.db = self._generation, None
        connection: sqlite3.Connection | None = local.db
        if connection is None:
            connection = local.db = self._connection_left_open() if self.away() else self._connect()
            with self._opening:  # all connections of a process share the files of the first
                if not self._opened:
                    self._opened = {
                        end: look for end in _FILES if (look := self._look_at_database_file(end))
                    }
        return connection

    @property
    def is_open(self) -> bool:
        return bool(self._connections)

    def require_there(self) -> None:
        if reason := self.away():
            raise Away(str(reason))

    def _connection_left_open(self) -> sqlite3.Connection:
        """The connection of a thread that has ended: a file that was opened stays readable."""
        with self._opening:
            for place, (thread, db) in enumerate(self._connections):
                if not thread.is_alive():
                    self._connections[place] = threading.current_thread(), db
                    return db
        self.require_there()
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        with contextlib.suppress(FileNotFoundError):  # SQLite has its own word for that
            self.place.checked(*SQLITE_COMPANIONS)
        db = sqlite3.connect(self.file, timeout=10, isolation_level=None, check_same_thread=False)
        with self._opening:
            self._connections.append((threading.current_thread(), db))
        db.create_function("from_hex", 1, bytes.fromhex, deterministic=True)
        self._begin(db)
        self._close_left_connections()
        return db

    def _begin(self, db: sqlite3.Connection) -> None:
        """Several that make the file at once are told that it is locked, without SQLite's waiting
        for one another: making it write ahead takes the whole file."""
        until = time.monotonic() + _BEGINNING
        while True:
            try:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                if self.begins_with:
                    db.executescript(self.begins_with)
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)

    def _close_left_connections(self) -> None:
        """Those of threads that have ended, of which a long life has many; never while another
        file may have their name."""
        if self.away() or self.whereabouts() is not DatabaseWhereabouts.SAME:
            return
        with self._opening:
            left = [pair for pair in self._connections if not pair[0].is_alive()]
            self._connections[:] = [pair for pair in self._connections if pair not in left]
        _close_connections(left)

    def _look_at_database_file(self, ending: str) -> _DatabaseFile | None:
        try:
            found = os.stat(f"{self.file}{ending}")
        except OSError:
            return None
        return _DatabaseFile((found.st_dev, found.st_ino), found.st_size)

    # --- what others do to the files -----------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    def whereabouts(self) -> DatabaseWhereabouts:
        """Whether the names still mean the files that are open here. Takes microseconds."""
        opened = self._opened
        if not opened:
            return DatabaseWhereabouts.SAME  # none is open
        for ending in _FILES:
            known, now = opened.get(ending), self._look_at_database_file(ending)
            if known is None:
                opened |= {ending: now} if now else {}  # SQLite makes them when it needs them
            elif now is None or now.identity != known.identity:
                return DatabaseWhereabouts.TORN if ending else DatabaseWhereabouts.ELSEWHERE
            elif ending != _LOG and now.size != known.size:  # the log is emptied now and then
                if now.size < known.size:
                    return DatabaseWhereabouts.TORN
                opened[ending] = now
        return DatabaseWhereabouts.SAME

    def is_there(self) -> bool:
        """Whether there is a file, and no folder where SQLite would put one beside it."""
        kinds = [self._kind_of_database_file(ending) for ending in ("", *SQLITE_COMPANIONS)]
        return kinds[0] == "file" and "folder" not in kinds

    def _kind_of_database_file(self, ending: str) -> str:
        try:
            found = os.lstat(f"{self.file}{ending}")
        except OSError:
            return ""
        is_folder = stat.S_ISDIR(found.st_mode) and not is_link_or_junction(found)
        return "folder" if is_folder else "file"  # what links are for is refused elsewhere

    @property
    def inode(self) -> int:
        return self._opened[_MAIN].identity[1] if _MAIN in self._opened else 0

    def write_ahead_log_size(self) -> int:
        """Bytes that are not in the file itself yet."""
        found = self._look_at_database_file(_LOG)
        return found.size if found else 0

    def passes_check(self) -> bool:
        """Whether SQLite finds nothing wrong with the file. Takes a while."""
        try:
            return bool(self.db.execute("PRAGMA main.quick_check(1)").fetchone()[0] == "ok")
        except sqlite3.OperationalError as error:
            return error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        except sqlite3.DatabaseError:
            return False

    def renew(self) -> None:
        """Let every thread open the file anew, whatever it is now."""
        self._mend_shared_memory_of_database()
        with self._opening:
            self._generation += 1
            self._opened = {}
        self.close()

    def discard(self) -> None:
        """Close the database and take its files away."""
        self.renew()
        for ending in (_MAIN, *SQLITE_COMPANIONS):
            place = self.place.parent / (self.place.name + ending)
            place.remove()
            place.remove_folder()  # an empty one; anything else is not ours

    def _mend_shared_memory_of_database(self) -> None:
        """Closing a connection reads the shared memory. Where that file was cut, touching it would
        end the process; with zeros in it SQLite begins it anew."""
        known, now = self._opened.get(_SHARED), self._look_at_database_file(_SHARED)
        if known and now and now.identity == known.identity:
            whole = max(known.size, _PAGE_OF_SHM)
            if now.size < whole:
                with contextlib.suppress(OSError):
                    os.truncate(f"{self.file}{_SHARED}", whole)

    # --- closing -------------------------------------------------------------------------

    def close(self) -> None:
        """Close this thread's connection and those of threads that have ended.

        One that another thread is using must not be closed under it: that crashes the process.
        It is closed by its own thread, which then opens another, or when the thread ends.
        """
        me = threading.current_thread()
        with self._opening:
            in_use = [p for p in self._connections if p[0] is not me and p[0].is_alive()]
            _close_connections([pair for pair in self._connections if pair not in in_use])
            self._connections[:] = in_use
            if not self._connections:
                self._opened = {}
        self._local.__dict__.clear()

    def _close_former_connection(self, connection: sqlite3.Connection | None) -> None:
        """This thread's connection to what the file was before."""
        with self._opening:
            former = [pair for pair in self._connections if pair[1] is connection]
            self._connections[:] = [pair for pair in self._connections if pair not in former]
        _close_connections(former)


def _close_connections(connections: list[tuple[threading.Thread, sqlite3.Connection]]) -> None:
    for _, db in connections:
        with contextlib.suppress(sqlite3.Error):
            db.close()
