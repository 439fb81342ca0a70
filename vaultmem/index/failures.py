"""What can go wrong with an index, and what to say of it."""

from __future__ import annotations

import errno
import functools
import sqlite3
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from vaultmem.errors import Busy, StorageFull, Unavailable, VaultmemError

INDEX_FAILURES: Final = (VaultmemError, sqlite3.Error, OSError)  # what using an index can raise
P = ParamSpec("P")
R = TypeVar("R")

# Of SQLite's codes, the low byte.
_BROKEN: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_UNREADABLE: Final = (
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_READONLY_DBMOVED,
)
_NOT_OF_THE_FILES: Final = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_OF_THE_MACHINE: Final = ("os error 24", "os error 23", "os error 12")  # files, memory
_BUSY: Final = ("LockBusy", "Lockfile")


class IndexDamaged(Unavailable):
    """A file of the index is not what its last writer left; it will be made anew."""

    retry_possible = True


def is_sqlite_damage(error: sqlite3.Error) -> bool:
    """A broken file, as opposed to a busy or full one."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, sqlite3.DatabaseError) and "malformed" in str(error)
    missing = code == sqlite3.SQLITE_ERROR and str(error).startswith("no such ")
    return missing or code in _UNREADABLE or code & 0xFF in _BROKEN


def is_sqlite_file_unopened(error: BaseException | None) -> bool:
    """The file is not there, or is none, or none can be opened now."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF == sqlite3.SQLITE_CANTOPEN


def index_failure_explained(error: Exception) -> VaultmemError:
    text = str(error)
    if "full" in text or "No space" in text:
        return StorageFull(
            "The index cannot grow: the disk is full. The notes themselves are safe."
        )
    if "locked" in text:
        return Busy("The index is being written by another process; try again in a moment.")
    if isinstance(error, sqlite3.Error) and (
        is_sqlite_damage(error) or is_sqlite_file_unopened(error)
    ):
        return IndexDamaged(
            "The index is damaged and will be rebuilt; the notes themselves are safe."
        )
    return Unavailable(f"The index could not be updated: {text}. The notes themselves are safe.")


def engine_call(method: Callable[P, R]) -> Callable[P, R]:
    """What the engine raises, its panics included, as what we say of it."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except BaseException as error:
            if not _is_engine_failure(error):
                raise
            # In no variable: it would keep the writer alive.
            raise _engine_failure_explained(error) from error

    return call


def _is_engine_failure(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno not in _NOT_OF_THE_FILES
    if isinstance(error, ValueError):
        return not isinstance(error, UnicodeError)  # half a character in a question or a note
    # The engine's own crash is no Exception: nothing that catches those would see it.
    kind = type(error)
    return kind.__name__ == "PanicException" and kind.__module__ == "pyo3_runtime"


def _engine_failure_explained(error: BaseException) -> VaultmemError:
    text = (str(error).splitlines() or [""])[0][:200]
    if any(word in text for word in _BUSY):
        return Busy("Another process writes the full text; try again in a moment.")
    if any(word in text for word in _OF_THE_MACHINE):
        return Unavailable(f"The full text cannot be read now: {text}")
    return IndexDamaged(f"The full text is damaged and will be rebuilt: {text}")
