"""SQLite files of other systems, which may have been made to do harm.

Only real tables are read, with nothing in them but values: a view, a virtual table or a column
that is worked out is a program. No value, no table and no wait is without a bound, and nothing
is written beside the file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput
from vaultmem.transfer.sources.opening import MOST_HELD, too_much_to_read

MOST_VALUE: Final = 8_000_000  # bytes of one value; a memory has a million
_MOST_COLUMNS: Final = 64
_LEAST_ROW: Final = 4  # bytes that a row takes in the file
_SECONDS: Final = 30.0  # to wait for one row
_STEPS: Final = 100_000  # of SQLite, between two looks at the clock
_MAGIC: Final = b"SQLite format 3\0"
_REAL: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?"


def is_sqlite(path: Path) -> bool:
    try:
        with small_files.open_plain_file(path, follow=True) as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class Tables:
    def __init__(self, db: sqlite3.Connection, name: str, size: int) -> None:
        self._db = db
        self._name = name
        self._most = max(1_000, size // _LEAST_ROW)
        self._since: float | None = None
        db.set_progress_handler(self._is_database_too_slow, _STEPS)

    def have_tables(self, *names: str) -> bool:
        return all(map(self._is_real_table, names))

    def _is_real_table(self, name: str) -> bool:
        if not list(self._select_database_rows(_REAL, (name,))):
            return False
        columns = self._select_database_rows(f"PRAGMA table_xinfo({name})")
        return not any(column["hidden"] for column in columns)

    def table_rows(self, table: str, order: str) -> list[dict[str, Any]]:
        """All rows of a table; none when there is no such table."""
        if not self.have_tables(table):
            return []
        found, held = [], 0
        for row in self._select_database_rows(f"SELECT * FROM {table} ORDER BY {order}"):
            found.append(dict(row))
            held += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if held > MOST_HELD:
                raise too_much_to_read(self._name)
        return found

    def select_from(self, sql: str, *given: str, tables: tuple[str, ...]) -> Iterator[sqlite3.Row]:
        """What a question about these tables finds; nothing where one is missing."""
        return self._select_database_rows(sql, given) if self.have_tables(*tables) else iter(())

    def last_row_id(self, table: str) -> int:
        """About how many rows there are: the highest number of one."""
        with contextlib.suppress(sqlite3.OperationalError):  # a table without numbers
            for row in self.select_from(f"SELECT max(rowid) FROM {table}", tables=(table,)):
                return int(row[0] or 0)
        return 0

    def _select_database_rows(self, sql: str, given: tuple[str, ...] = ()) -> Iterator[sqlite3.Row]:
        """No more rows than a file of this size can hold: pages that point to each other, or
        numbers that are there a thousand times, would give rows without end."""
        self._since = time.monotonic()
        cursor = self._db.execute(sql, given)
        for _ in range(self._most):
            self._since = time.monotonic()
            row = cursor.fetchone()
            self._since = None
            if row is None:
                return
            yield row
        raise InvalidInput(f"{self._name} has more rows than fit into it: it is damaged.")

    def _is_database_too_slow(self) -> bool:
        return self._since is not None and time.monotonic() - self._since > _SECONDS


@contextlib.contextmanager
def open_database(path: Path) -> Iterator[Tables]:
    """A database as it is, without leaving a trace beside it.

    Its owner may be running: then the log that SQLite keeps beside it is read too.
    """
    name = path.name
    with contextlib.ExitStack() as stack:
        log = path.with_name(f"{name}-wal")
        mode = "mode=ro&immutable=1"
        if log.is_file() and log.stat().st_size:
            mode = "mode=ro"
            if not path.with_name(f"{name}-shm").exists():
                path = _copied_database(path, stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            db = _connected_database(f"{path.absolute().as_uri()}?{mode}")
            stack.callback(db.close)
            yield Tables(db, name, path.stat().st_size)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # its own messages may be damaged too
            why = _database_reason(error)
            raise InvalidInput(f"{name} cannot be read as a database: {why}.") from None


def _connected_database(uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=10)
    db.row_factory = sqlite3.Row
    db.text_factory = lambda raw: raw.decode(errors="replace")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
    db.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, _MOST_COLUMNS)
    for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
        db.execute(f"PRAGMA {pragma}")
    return db


def _database_reason(error: Exception) -> str:
    said = str(error)
    if "too big" in said:
        return f"a value in it has more than {MOST_VALUE:,} bytes"
    if "interrupted" in said:
        return f"it gave no answer within {_SECONDS:.0f} seconds"
    return said[:200] if isinstance(error, sqlite3.Error) else "it is damaged"


def _copied_database(path: Path, folder: str) -> Path:
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", os.path.join(folder, path.name + suffix))
    return Path(folder, path.name)
