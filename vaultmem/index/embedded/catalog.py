"""The catalog: what is indexed, note by note. SQLite in WAL mode, shared by all processes.

A row says what *is* in the full text, never what was only seen, so it is committed last.
Paths about to be written to the full text are noted as pending first; whoever finds some
after a crash does those again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vaultmem.database import Database
from vaultmem.index.rows import INSERT, OF_NOTE, UPDATE, Entry, Parts, columns
from vaultmem.store import FileStat

__all__ = ["Catalog", "Entry", "Known", "Place", "Row"]

SCHEMA_VERSION: Final = 4
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (
  note INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, version TEXT NOT NULL,
  id TEXT NOT NULL, key TEXT NOT NULL, title TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  project TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL, session TEXT NOT NULL,
  kind TEXT NOT NULL, importance REAL, created INTEGER, updated INTEGER,
  forgotten INTEGER NOT NULL, more TEXT NOT NULL);
CREATE INDEX note_id ON note (id) WHERE id <> '';
CREATE INDEX note_forgotten ON note (note) WHERE forgotten = 1;
CREATE INDEX note_volatile ON note (session) WHERE scope = 'session';
CREATE INDEX note_key ON note (key) WHERE key <> '';
CREATE TABLE passage (
  passage INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL, hash BLOB NOT NULL,
  heading TEXT NOT NULL, kind TEXT NOT NULL, block TEXT NOT NULL,
  start INTEGER NOT NULL, end INTEGER NOT NULL, part INTEGER NOT NULL);
CREATE INDEX passage_note ON passage (note);
CREATE INDEX passage_hash ON passage (hash);
CREATE INDEX passage_block ON passage (block) WHERE block <> '';
CREATE TABLE tag (note INTEGER NOT NULL, folded TEXT NOT NULL, tag TEXT NOT NULL);
CREATE INDEX tag_note ON tag (note);
CREATE INDEX tag_folded ON tag (folded);
CREATE TABLE name (note INTEGER NOT NULL, folded TEXT NOT NULL, kind TEXT NOT NULL);
CREATE INDEX name_note ON name (note);
CREATE INDEX name_folded ON name (folded);
CREATE TABLE link (note INTEGER NOT NULL, target TEXT NOT NULL, folded TEXT NOT NULL,
  relation TEXT NOT NULL);
CREATE INDEX link_note ON link (note);
CREATE INDEX link_folded ON link (folded);
CREATE INDEX link_replaced ON link (relation)
  WHERE relation IN ('superseded_by', 'derived_from');
CREATE TABLE fact (note INTEGER NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
  valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, confidence REAL, provenance TEXT NOT NULL,
  block TEXT NOT NULL);
CREATE INDEX fact_note ON fact (note);
CREATE TABLE problem (note INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL,
  line INTEGER NOT NULL);
CREATE INDEX problem_note ON problem (note);
CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pending (path TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_WITHOUT_VECTOR: Final = """
SELECT path FROM note WHERE note IN (
  SELECT note FROM passage p WHERE passage > ? AND NOT EXISTS
    (SELECT 1 FROM v.vector WHERE model = ? AND hash = p.hash))
ORDER BY id = '', forgotten, mtime_ns DESC LIMIT ?
"""
_MISSING: Final = """
SELECT count(*), min(passage) FROM passage p WHERE passage > ? AND NOT EXISTS
  (SELECT 1 FROM v.vector WHERE model = ? AND hash = p.hash)
"""
# A cross join keeps its order: SQLite would begin with whatever table is smaller.
_OF_NEW_PASSAGES: Final = """
SELECT passage, note, number FROM passage CROSS JOIN v.vector USING (hash)
WHERE passage > ? AND passage <= ? AND model = ? AND number <= ?
"""
_OF_NEW_VECTORS: Final = """
SELECT passage, note, number FROM v.vector NOT INDEXED CROSS JOIN passage USING (hash)
WHERE number > ? AND number <= ? AND model = ? AND passage <= ?
"""
_OF_VECTORS: Final = """
SELECT passage, note, vector FROM v.vector CROSS JOIN passage USING (hash)
WHERE number IN ({})
"""


@dataclass(frozen=True, slots=True)
class Known:
    mtime_ns: int
    size: int
    inode: int
    version: str
    id: str


@dataclass(frozen=True, slots=True)
class Row:
    """A note as the catalog knows it."""

    note: int
    path: str
    version: str
    id: str
    key: str
    title: str
    type: str
    scope: str
    project: str
    user: str
    room: str
    session: str
    kind: str
    importance: float | None
    created: int | None
    updated: int | None
    mtime_ns: int
    forgotten: bool
    more: Mapping[str, str]  # source, superseded_by, forgotten_reason, where there are any
    tags: tuple[str, ...]

    @property
    def belonging(self) -> dict[str, str]:
        """Whose note it is."""
        names = ("scope", "project", "user", "session")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands."""

    passage: int
    note: int
    heading: str
    kind: str
    block: str
    start: int
    end: int


class Catalog(Database):
    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self._inode = 0
        self._parts = Parts()
        self._there: frozenset[str] = frozenset()  # paths of the batch that were indexed before

    # --- opening ---------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.create_function("casefold", 1, str.casefold, deterministic=True)
        self._inode = self.file.stat().st_ino
        return db

    def is_current(self) -> bool:
        """Whether the file is a catalog of this version; raises DatabaseError if damaged."""
        version = self.db.execute("PRAGMA user_version").fetchone()[0]
        return bool(version == SCHEMA_VERSION)

    def is_on_disk(self) -> bool:
        """Whether the open database is still the file of that name."""
        try:
            return self.file.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def create(self, uuid: str) -> None:
        with self.transaction() as db:
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            values = (("uuid", uuid), ("revision", "0"), ("fulltext", ""))
            db.executemany("INSERT INTO meta VALUES (?, ?)", values)
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def shrink(self) -> None:
        """Give back the room that an abandoned transaction took."""
        with contextlib.suppress(sqlite3.Error):
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            self._parts = Parts()
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    # --- what it knows -----------------------------------------------------------------

    def meta(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def revision(self) -> int:
        return int(self.meta("revision") or 0)

    def stamp(self) -> tuple[str, str]:
        """Which catalog this is and its revision: the same in every thread, and another one
        whenever something was indexed."""
        sql = "SELECT value FROM meta WHERE key IN ('revision', 'uuid') ORDER BY key"
        revision, uuid = (row[0] for row in self.db.execute(sql))
        return uuid, revision

    def known(self, paths: Sequence[str] | None = None) -> dict[str, Known]:
        sql = "SELECT path, mtime_ns, size, inode, version, id FROM note"
        if paths is None:
            rows = self.db.execute(sql)
        else:
            marks = ",".join("?" * len(paths))
            rows = self.db.execute(f"{sql} WHERE path IN ({marks})", paths)
        return {row[0]: Known(*row[1:]) for row in rows}

    def pending(self) -> list[str]:
        return [row[0] for row in self.db.execute("SELECT path FROM pending")]

    def count(self, table: str) -> int:
        return int(self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def skipped(self) -> list[tuple[str, str]]:
        """Notes that are not wholly searchable, and why."""
        rows = self.db.execute(
            "SELECT path, reason FROM skipped UNION ALL "
            "SELECT note.path, problem.message FROM problem JOIN note USING (note) ORDER BY 1"
        )
        return rows.fetchall()

    def rows(self, notes: Iterable[int]) -> dict[int, Row]:
        wanted = list(notes)
        marks = ",".join("?" * len(wanted))
        tags: dict[int, list[str]] = {}
        for note, tag in self.db.execute(
            f"SELECT note, tag FROM tag WHERE note IN ({marks}) ORDER BY rowid", wanted
        ):
            tags.setdefault(note, []).append(tag)
        found = self.db.execute(
            "SELECT note, path, version, id, key, title, type, scope, project, user, room, session, "
            "kind, importance, created, updated, mtime_ns, forgotten, more FROM note "
            f"WHERE note IN ({marks})",
            wanted,
        )
        return {
            row[0]: Row(*(*row[:-1], json.loads(row[-1]), tuple(tags.get(row[0], ()))))
            for row in found
        }

    def places(self, passages: Iterable[int]) -> dict[int, Place]:
        wanted = list(passages)
        marks = ",".join("?" * len(wanted))
        sql = (
            "SELECT passage, note, heading, kind, block, start, end FROM passage "
            f"WHERE passage IN ({marks})"
        )
        return {row[0]: Place(*row) for row in self.db.execute(sql, wanted)}

    def observations(self, passages: Sequence[int]) -> dict[int, int]:
        """Of those that are there: the first one of the observation that stands alone, or 0."""
        first = "CASE WHEN part < 0 THEN 0 ELSE passage - part END"
        sql = f"SELECT passage, {first} FROM passage WHERE passage IN ({{}})"
        return dict(self._parted(sql, passages))

    def signals(self, notes: Sequence[int]) -> Iterator[tuple[int, float | None, int]]:
        """Note, importance, and when it was last changed."""
        changed = "coalesce(updated, created, mtime_ns / 1000000000)"
        return self._parted(
            f"SELECT note, importance, {changed} FROM note WHERE note IN ({{}})", notes
        )

    def replaced(self) -> tuple[frozenset[int], frozenset[int]]:
        """Notes that others replace, and notes that others were made from."""
        old = self.db.execute("SELECT note FROM link WHERE relation = 'superseded_by'")
        used = self.db.execute(
            "SELECT name.note FROM link JOIN name USING (folded) WHERE relation = 'derived_from'"
        )
        return frozenset(row[0] for row in old), frozenset(row[0] for row in used)

    def first_passages(self, notes: Sequence[int]) -> dict[int, Place]:
        marks = ",".join("?" * len(notes))
        sql = (
            "SELECT min(passage), note, heading, kind, block, start, end FROM passage "
            f"WHERE note IN ({marks}) GROUP BY note"
        )
        return {row[1]: Place(*row) for row in self.db.execute(sql, list(notes))}

    # --- vectors, kept in a database of their own ----------------------------------------

    def attach_vectors(self, file: Path) -> None:
        attached = {row[1] for row in self.db.execute("PRAGMA database_list")}
        if "v" not in attached:
            self.db.execute("ATTACH ? AS v", (str(file),))

    def of_new(
        self, model: int, seen: tuple[int, int], now: tuple[int, int]
    ) -> Iterator[tuple[int, int, int]]:
        """Passage, note and vector's number of what has come since. `seen` and `now` are the
        last passage and the last vector, then and at present."""
        yield from self.db.execute(_OF_NEW_PASSAGES, (seen[0], now[0], model, now[1]))
        yield from self.db.execute(_OF_NEW_VECTORS, (seen[1], now[1], model, seen[0]))

    def of_vectors(self, numbers: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
        """Passage, note and vector of every passage with one of these vectors."""
        return self._parted(_OF_VECTORS, numbers)

    def of_notes(self, notes: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
        """Passage, note and hash of every passage of these notes."""
        return self._parted("SELECT passage, note, hash FROM passage WHERE note IN ({})", notes)

    def _parted(self, sql: str, values: Sequence[int] | Sequence[str]) -> Iterator[Any]:
        for start in range(0, len(values), 500):
            part = values[start : start + 500]
            yield from self.db.execute(sql.format(",".join("?" * len(part))), part).fetchall()

    def without_vector(self, model: int, after: int, limit: int) -> list[str]:
        return [row[0] for row in self.db.execute(_WITHOUT_VECTOR, (after, model, limit))]

    def missing(self, model: int, after: int) -> tuple[int, int]:
        """How many passages behind this one have no vector, and the first of them."""
        count, first = self.db.execute(_MISSING, (after, model)).fetchone()
        return int(count), int(first or 0)

    # --- writing, inside a transaction of the caller ------------------------------------

    def mark_pending(self, paths: Sequence[str]) -> None:
        """Note the paths of a batch, and which of them are there already."""
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO pending VALUES (?)", ((p,) for p in paths))
        there = self._parted("SELECT path FROM note WHERE path IN ({})", paths)
        self._there = frozenset(row[0] for row in there)

    def put(self, entry: Entry, old_path: str = "") -> tuple[int, list[int]] | None:
        """Insert or replace a note; answers with its number and its passages'.

        None if exactly this is there already: another process came first. The parts are
        written with those of the whole batch, by `finish`: one statement for all rows of a
        table is several times faster than one for each note.
        """
        row = self._as_it_was(entry.note.path, old_path)
        stat = entry.stat
        if (
            row
            and row[1:] == (entry.version, stat.mtime_ns, stat.size, stat.inode)
            and not old_path
        ):
            return None
        values = columns(entry)
        if row:
            note = int(row[0])
            if old_path:
                self.remove(entry.note.path)
            self._clear(note)
            self.db.execute(UPDATE, (*values, note))
        else:
            note = int(self.db.execute(INSERT, values).lastrowid or 0)
        self._parts.add(note, entry.note)
        if self._parts.last_passage < 0:
            self._parts.last_passage = self.last_passage()
        return note, self._parts.add_passages(note, entry)

    def _as_it_was(self, path: str, old_path: str) -> tuple[Any, ...] | None:
        if not old_path and path not in self._there:
            return None
        sql = "SELECT note, version, mtime_ns, size, inode FROM note WHERE path = ?"
        row: tuple[Any, ...] | None = self.db.execute(sql, (old_path or path,)).fetchone()
        return row

    def last_passage(self) -> int:
        """The highest number a passage was ever given."""
        row = self.db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passage'").fetchone()
        return int(row[0]) if row else 0

    def _clear(self, note: int) -> None:
        for table in OF_NOTE:
            self.db.execute(f"DELETE FROM {table} WHERE note = ?", (note,))

    def remove(self, path: str) -> None:
        row = self.db.execute("SELECT note FROM note WHERE path = ?", (path,)).fetchone()
        if row:
            self._clear(row[0])
            self.db.execute("DELETE FROM note WHERE note = ?", row)
        self.db.execute("DELETE FROM skipped WHERE path = ?", (path,))

    def touch(self, path: str, stat: FileStat) -> None:
        self.db.execute(
            "UPDATE note SET mtime_ns = ?, size = ?, inode = ? WHERE path = ?",
            (stat.mtime_ns, stat.size, stat.inode, path),
        )

    def skip(self, path: str, reason: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO skipped VALUES (?, ?)", (path, reason))

    def finish(self) -> None:
        """The batch is in the full text: nothing is pending, and readers should look anew."""
        self._parts.write(self.db)
        self.db.execute("DELETE FROM skipped WHERE path IN (SELECT path FROM note)")
        self.db.execute("DELETE FROM pending")
        self.db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'revision'")
