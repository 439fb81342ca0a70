"""A batch of changes, and the order in which it goes into the catalog and the full text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.base.file_stamps import FileStamp
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.rows import (
    FIND_SHELF,
    INSERT_NOTE,
    INSERT_SHELF,
    TABLES_OF_NOTE,
    UPDATE_NOTE,
    BatchRows,
    IndexEntry,
    NoteShelf,
    SkippedNote,
    note_columns,
    note_shelf,
)
from vaultmem.index.embedded.text.fulltext import FullText


@dataclass
class Batch:
    """Changes that become visible together.

    `put` is read once, and whoever makes it may fill the other lists while it is read:
    reconciling reads a note, and says only then whether it is put, was moved, or is left out. So
    nothing but `paths` is looked at before `put` has come to its end.
    """

    paths: Sequence[str]  # every path that the batch may touch
    put: Iterable[IndexEntry] = ()
    moved: dict[str, str] = field(default_factory=dict)  # new path -> old path, of some in `put`
    removed: list[str] = field(default_factory=list)
    touched: list[tuple[str, FileStamp, str]] = field(default_factory=list)  # and the version
    skipped: list[SkippedNote] = field(default_factory=list)
    unskipped: Sequence[str] = ()  # what was skipped and is no longer there


def apply_batch(batch: Batch, catalog: Catalog, store: FullText) -> None:
    """Put a batch into both stores. The caller holds the lock. What the order is for:

    1. What a killed writer left is undone first: its paths may be among these.
    2. The paths are pending, for everybody to see, before the full text is touched: from here on
       a crash leaves a note that says what is to be done again.
    3. What is put comes before what is removed: a note that turned up elsewhere takes its row
       along, with its number and all that hangs on it, and there is nothing left to remove.
    4. What is no longer skipped comes before what is skipped: a path may have a new reason.
    5. The catalog is committed last, when the full text has all of it: a row says what *is* there.
    """
    recover_pending(catalog, store)
    rows = CatalogWriter(catalog)
    rows.mark_batch_pending(batch.paths)
    with catalog.transaction(), store.writing(len(batch.paths)) as text:
        for entry in batch.put:
            old = batch.moved.get(entry.note.path, "")
            numbers = rows.put_note_of_batch(entry, old)
            if numbers is not None:
                text.put(*numbers, entry, old)
        for path in batch.removed:
            rows.remove_note_of_batch(path)
            text.remove(path)
        for touched in batch.touched:
            rows.touch_note_of_batch(*touched)
        rows.unskip_notes_of_batch(batch.unskipped)
        for skip in batch.skipped:
            rows.skip_note_of_batch(skip)
        with text.committing():  # the two take about as long
            rows.finish_batch()


def recover_pending(catalog: Catalog, store: FullText) -> None:
    """Notes that a killed writer left pending are taken out of the full text, to be indexed
    again. The caller holds the lock."""
    pending = catalog.pending()
    if pending:
        store.sweep()
        with store.writing(len(pending)) as text:
            for path in pending:
                text.remove(path)
            text.commit()
        with catalog.transaction():
            rows = CatalogWriter(catalog)
            for path in pending:
                rows.unsettle_note_of_batch(path)
            rows.finish_batch()


class CatalogWriter:
    """The rows of one batch, written inside a transaction of the caller."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._db = catalog.db
        self._parts = BatchRows()
        self._there: frozenset[str] = frozenset()  # paths of the batch that were indexed before
        self._left_out: frozenset[str] = frozenset()  # and those that were skipped
        self._shelves: dict[NoteShelf, int] = {}

    def mark_batch_pending(self, paths: Sequence[str]) -> None:
        """Note the paths of a batch, and which of them are there already."""
        with self._catalog.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO pending VALUES (?)", ((p,) for p in paths))
        asked, wanted = f"SELECT path FROM {{}} WHERE path IN {SQL_LIST}", (sql_list(paths),)
        self._there = frozenset(row[0] for row in db.execute(asked.format("note"), wanted))
        self._left_out = frozenset(row[0] for row in db.execute(asked.format("skipped"), wanted))

    def put_note_of_batch(
        self, entry: IndexEntry, old_path: str = ""
    ) -> tuple[int, list[int]] | None:
        """Insert or replace a note; returns its number and its passages'.

        None if exactly this is there already: another process came first. The parts are
        written with those of the whole batch, by `finish`: one statement for all rows of a
        table is several times faster than one for each note.
        """
        row = self._row_before_batch(entry.note.path, old_path)
        self.unskip_note_of_batch(entry.note.path)
        if row and row[1:] == (entry.version, *entry.stat) and not old_path:
            return None
        shelf = note_shelf(entry)
        number = self._shelf_in_batch(shelf)
        values = note_columns(entry, number)
        if row:
            note = int(row[0])
            if old_path:
                self.remove_note_of_batch(entry.note.path)
            self._clear_rows_in_batch(note)
            self._db.execute(UPDATE_NOTE, (*values, note))
        else:
            note = int(self._db.execute(INSERT_NOTE, values).lastrowid or 0)
            self._parts.counts.add_note(values)
        self._parts.add(note, entry.note, number, common=shelf.common)
        if self._parts.last_passage < 0:
            self._parts.last_passage = self._catalog.last_passage()
        return note, self._parts.add_passages(note, entry)

    def _shelf_in_batch(self, shelf: NoteShelf) -> int:
        number = self._shelves.get(shelf)
        if number is None:
            row = self._db.execute(FIND_SHELF, shelf.place).fetchone()
            if row is None:
                made = self._db.execute(INSERT_SHELF, shelf.place + shelf.keys)
                row = (made.lastrowid,)
            number = self._shelves[shelf] = int(row[0])
        return number

    def _row_before_batch(self, path: str, old_path: str) -> tuple[Any, ...] | None:
        if not old_path and path not in self._there:
            return None
        sql = "SELECT note, version, mtime_ns, size, inode, ctime_ns FROM note WHERE path = ?"
        row: tuple[Any, ...] | None = self._db.execute(sql, (old_path or path,)).fetchone()
        return row

    def _clear_rows_in_batch(self, note: int) -> None:
        for table in TABLES_OF_NOTE:
            self._db.execute(f"DELETE FROM {table} WHERE note = ?", (note,))

    def remove_note_of_batch(self, path: str) -> None:
        row = self._db.execute("SELECT note FROM note WHERE path = ?", (path,)).fetchone()
        if row:
            self._parts.counts.write(self._db)  # it may have come in this batch
            self._clear_rows_in_batch(row[0])
            self._db.execute("DELETE FROM note WHERE note = ?", row)
        self.unskip_note_of_batch(path)

    def touch_note_of_batch(self, path: str, stat: FileStamp, version: str) -> None:
        """A note that is still what it was has another stamp."""
        self._db.execute(
            "UPDATE note SET mtime_ns = ?, size = ?, inode = ?, ctime_ns = ? "
            "WHERE path = ? AND version = ?",
            (*stat, path, version),
        )
        self.unskip_note_of_batch(path)

    def unsettle_note_of_batch(self, path: str) -> None:
        """What the full text has of a note is not what the row says: it is to be done again."""
        self._db.execute("UPDATE note SET size = -1, version = '' WHERE path = ?", (path,))

    def skip_note_of_batch(self, note: SkippedNote) -> None:
        sql = "INSERT OR REPLACE INTO skipped VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (note.path, note.reason, note.id, *note.stat))

    def unskip_notes_of_batch(self, paths: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM skipped WHERE path = ?", ((path,) for path in paths))

    def unskip_note_of_batch(self, path: str) -> None:
        if path in self._left_out:
            self.unskip_notes_of_batch([path])

    def finish_batch(self) -> None:
        """The batch is in the full text."""
        self._parts.write(self._db)
        self._db.execute("DELETE FROM shelf WHERE notes = 0")
        self._catalog.next_revision()
