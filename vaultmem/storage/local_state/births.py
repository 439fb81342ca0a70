"""When notes that do not say it were made: this machine's own record of what their files tell.

A save may make a file anew, and its birth with it; a copy of the vault is born today. So what is
known of a note is written down when it is first seen, and never moves but to an earlier commit.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from vaultmem.base.database import Database
from vaultmem.base.file_stamps import FileStamp
from vaultmem.base.own_path import OwnPath
from vaultmem.base.system_calls import file_birth_ns
from vaultmem.errors import VaultmemError
from vaultmem.notes.note import Note
from vaultmem.storage.creation import BY_COMMIT, BY_FILE, Creation, creation_by_file, creation_told

_TROUBLE: Final = (sqlite3.Error, OSError, VaultmemError, UnicodeError)
_PAUSE: Final = 1.0  # seconds between looks at git's files
_SCHEMA: Final = """
PRAGMA synchronous=OFF;
PRAGMA busy_timeout=200;
CREATE TABLE IF NOT EXISTS born (
  path TEXT PRIMARY KEY, seconds INTEGER NOT NULL, source TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS committed (path TEXT PRIMARY KEY, seconds INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS looked (
  one INTEGER PRIMARY KEY CHECK (one = 1), state TEXT NOT NULL, head TEXT NOT NULL);
"""
_EARLIER: Final = """
SELECT born.path, committed.seconds FROM born JOIN committed USING (path)
WHERE committed.seconds < born.seconds
"""


class CommitLook(NamedTuple):
    """What git knows since the commit that was looked at last."""

    state: str  # of the repository: while it is the same, git need not be asked
    head: str
    first: Mapping[str, int]  # seconds, of notes that were not there before
    anew: bool  # all of the history was looked at


class FirstCommits(Protocol):
    def state(self) -> str: ...
    def look(self, head: str, known: Callable[[str], int | None]) -> CommitLook | None: ...


class NoteBirths(Database):
    begins_with = _SCHEMA

    def __init__(self, place: OwnPath, root: Path) -> None:
        super().__init__(place)
        self._root = root
        self.open_commits: Callable[[], FirstCommits | None] = lambda: None  # of the repository
        self._looked: str | None = None
        self._look_again = float("-inf")
        self._new: dict[str, Creation] = {}

    @cached_property
    def _commits(self) -> FirstCommits | None:
        return self.open_commits()

    def creation(self, note: Note, stamp: FileStamp) -> Creation:
        """By the one rule."""
        return creation_told(note) or self._creation_by_file(note.path, stamp)

    def hold(self, note: Note, stamp: FileStamp) -> None:
        """Before the note's file is replaced by another one."""
        if creation_told(note) is None:
            self._creation_by_file(note.path, stamp)
            self.save()

    def _creation_by_file(self, path: str, stamp: FileStamp) -> Creation:
        known = self._new.get(path) or self._kept_birth(path)
        if known is None:
            if time.monotonic() > self._look_again:  # not before each of many notes
                self.look_at_commits()
            commit = self._first_commit(path) if self._looked else None
            born = file_birth_ns(f"{self._root}/{path}")
            known = creation_by_file(commit, born, stamp.mtime_ns)
            self._new[path] = known
        return known

    def _kept_birth(self, path: str) -> Creation | None:
        found = self._births_query("SELECT seconds, source FROM born WHERE path = ?", path)
        return Creation(*found[0]) if found else None

    def _first_commit(self, path: str) -> int | None:
        found = self._births_query("SELECT seconds FROM committed WHERE path = ?", path)
        return int(found[0][0]) if found else None

    def _births_query(self, sql: str, *values: object) -> list[Any]:
        try:
            return self.db.execute(sql, values).fetchall()
        except _TROUBLE:
            self.close()
            return []

    # --- writing it down -------------------------------------------------------------------

    def save(self) -> None:
        """What was found out since is written down, if it can be."""
        if rows := [(path, *found) for path, found in self._new.items()]:
            self._births_write("INSERT OR IGNORE INTO born VALUES (?, ?, ?)", rows)
            self._new.clear()

    def move(self, old: str, new: str) -> Creation | None:
        """The note has another path now; returns what was known of it."""
        known = self._new.pop(old, None) or self._kept_birth(old)
        if known is not None:
            self._new[new] = known
            self._births_write("DELETE FROM born WHERE path = ?", [(old,), (new,)])
        return known

    def drop(self, paths: Iterable[str]) -> None:
        """These notes are gone; another one may come to have their name."""
        rows = [(path,) for path in paths]
        for (path,) in rows:
            self._new.pop(path, None)
        if rows:
            self._births_write("DELETE FROM born WHERE path = ?", rows)

    def _births_write(self, sql: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            db = self.db
            db.execute("BEGIN IMMEDIATE")
            try:
                db.executemany(sql, rows)
            finally:
                db.execute("COMMIT")
        except _TROUBLE:
            self.close()

    # --- git --------------------------------------------------------------------------------

    def corrected(self) -> list[str]:
        """Notes that git has known for longer than their files have been here, as after a clone
        or a pull; from now on they have the date of their first commit."""
        if self._commits is None or not self._births_query(
            "SELECT 1 FROM born WHERE source = ? LIMIT 1", BY_FILE
        ):
            return []
        if not self.look_at_commits():
            return []
        rows = self._births_query(_EARLIER)
        changes = [(seconds, BY_COMMIT, path) for path, seconds in rows]
        self._births_write("UPDATE born SET seconds = ?, source = ? WHERE path = ?", changes)
        return [str(path) for path, _ in rows]

    def look_at_commits(self) -> bool:
        """Ask git once for all notes, where it has new commits; says whether it was asked."""
        if self._commits is None:
            return False
        state = self._commits.state()
        self._look_again = time.monotonic() + _PAUSE
        if state == self._looked:
            return False
        self._looked = state
        last = self._births_query("SELECT state, head FROM looked")
        if not state or (last and last[0][0] == state):
            return False
        look = self._commits.look(str(last[0][1]) if last else "", self._first_commit)
        if look is None:
            return False
        if look.anew:
            self._births_write("DELETE FROM committed WHERE path <> ?", [("",)])
        self._births_write("INSERT OR IGNORE INTO committed VALUES (?, ?)", look.first.items())
        self._births_write("INSERT OR REPLACE INTO looked VALUES (1, ?, ?)", [(state, look.head)])
        return True
