"""The catalog: what is indexed, note by note. SQLite in WAL mode, shared by all processes.

A row says what *is* in the full text, never what was only seen, so it is committed last.
Paths about to be written to the full text are noted as pending first; whoever finds some
after a crash does those again.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from vaultmem.base.database import SQL_LIST, SQLITE_COMPANIONS, Database, sql_list
from vaultmem.base.file_stamps import FileStamp
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import Unavailable, VaultmemError
from vaultmem.index.embedded.rows import SkippedNote
from vaultmem.index.embedded.schema import SCHEMA_VERSION, catalog_schema
from vaultmem.index.failures import IndexDamaged, index_failure_explained, is_sqlite_damage
from vaultmem.notes.note import UNREAD_PDF

CatalogStamp = tuple[str, str]


class CatalogState(NamedTuple):
    version: str  # of the tables
    uuid: str
    revision: str
    language: str  # of the full text that belongs to it
    text: str  # and the stamp of that
    whole: str  # the uuid, once everything in the vault was brought in
    home: str  # the inode it was made with: a copy has another

    @property
    def stamp(self) -> CatalogStamp:
        """The same in every thread, and another one whenever something was indexed."""
        return self.uuid, self.revision

    @property
    def identity(self) -> str:
        """Another one whenever the index was begun anew, or put back from a copy."""
        return f"{self.uuid} {self.home}"

    @property
    def is_whole(self) -> bool:
        return self.whole == self.uuid


_UNREAD_PDFS: Final = """
SELECT count(*) FROM note JOIN shelf USING (shelf) WHERE size < 0 AND pdf = 1
"""
_SOME_PATHS: Final = """
SELECT DISTINCT (SELECT path FROM note WHERE note >= value AND path NOT LIKE '.%' ORDER BY note LIMIT 1)
FROM json_each(?)
"""
_HEIRS: Final = """
SELECT path FROM skipped WHERE id <> '' AND NOT EXISTS
  (SELECT 1 FROM note WHERE note.id = skipped.id AND note.id <> '')
"""
VECTORS_FILE: Final = "vectors.db"  # beside the catalog
_SOME: Final = 24  # paths, from everywhere
_OLDER: Final = "The index was made by an older vaultmem and will be rebuilt."


class KnownNote(NamedTuple):
    stat: FileStamp
    version: str
    id: str


class Catalog(Database):
    def __init__(self, file: OwnPath) -> None:
        super().__init__(file)
        self.doubt = ""  # what SQLite said that makes us doubt the file

    # --- opening ---------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.execute("PRAGMA wal_autocheckpoint=0")  # only who holds the lock changes the file
        return db

    def create(self, uuid: str, language: str, text: str) -> None:
        with self.explained(), self.transaction() as db:
            for statement in catalog_schema():
                db.execute(statement)
            made = CatalogState(str(SCHEMA_VERSION), uuid, "0", language, text, "", str(self.inode))
            db.executemany("INSERT INTO meta VALUES (?, ?)", made._asdict().items())

    def begin_text(self, uuid: str, language: str, text: str) -> None:
        """Whatever the full text had is to be brought in again."""
        with self.explained(), self.transaction() as db:
            for key, value in (("uuid", uuid), ("language", language), ("text", text)):
                self.set_meta(key, value)
            db.execute("UPDATE note SET size = -1, version = ''")
            self.next_revision()

    def accept_copy(self) -> None:
        """This is a copy, of whatever age: all of it is to be compared with the files."""
        with self.explained(), self.transaction():
            self.set_meta("home", str(self.inode))
            self.set_meta("whole", "")

    def empty_log(self) -> bool:
        """Put the log into the file; says whether nothing is left in it. Never waits."""
        with self.explained():
            self.db.execute("PRAGMA busy_timeout=0")
            try:
                busy, _, _ = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self.db.execute("PRAGMA busy_timeout=10000")
        return not busy

    # --- asking and writing --------------------------------------------------------------

    def catalog_error_noticed(self, error: Exception) -> VaultmemError:
        """What to say of it; a file that seems to be broken is looked at before the next use."""
        if isinstance(error, sqlite3.Error) and is_sqlite_damage(error):
            self.doubt = str(error)
        return index_failure_explained(error)

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """What SQLite raises as what we say of it."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.catalog_error_noticed(error) from error

    def query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self.explained():
            return self.db.execute(sql, values).fetchall()

    def column(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """The first column of an answer."""
        return [row[0] for row in self.query(sql, values)]

    # --- what it says of itself ------------------------------------------------------------

    def state(self) -> CatalogState:
        """Read again only after somebody wrote: one question asks for it several times."""
        with self.explained():
            db, thread = self.db, self._local
            if db.in_transaction:
                return _read_catalog_state(db)
            others = db.execute("PRAGMA main.data_version").fetchone()[0]  # moves when others write
            now = db, others, db.total_changes
            if getattr(thread, "state_at", None) != now:
                thread.state, thread.state_at = _read_catalog_state(db), now
            state: CatalogState = thread.state
            return state

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def stamp(self) -> CatalogStamp:
        return self.state().stamp

    def pending(self) -> list[str]:
        return self.column("SELECT path FROM pending")

    def number_of_notes(self) -> int:
        return int(self.column("SELECT coalesce(sum(notes), 0) FROM shelf")[0])

    def last_passage(self) -> int:
        """The highest number a passage was ever given."""
        return next(iter(self.column("SELECT seq FROM sqlite_sequence WHERE name = 'passage'")), 0)

    def next_revision(self) -> None:
        """Nothing is pending, and readers should look anew."""
        self.db.execute("DELETE FROM pending")
        self.db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'revision'")

    def attach_vectors(self) -> bool:
        """Have the vectors, kept in a database of their own, beside the rest as `v`; False when
        there are none."""
        if "v" in {row[1] for row in self.query("PRAGMA database_list")}:
            return True
        file = self.place.parent / VECTORS_FILE
        if not file.path.exists():
            return False
        self.query("ATTACH ? AS v", (str(file.checked(*SQLITE_COMPANIONS)),))
        return True

    def contents_of_catalog(self, table: str, without: Collection[str]) -> list[tuple[Any, ...]]:
        """Every row of a table with the path of its note; of notes the version comes next."""
        columns = [row[1] for row in self.query(f"PRAGMA table_info({table})")]
        kept = [f"t.{name}" for name in columns if name not in without]
        kept.sort(key=lambda name: name != "t.version")
        return self.query(
            f"SELECT n.path, {', '.join(kept)} FROM {table} t JOIN note n USING (note)"
        )


def _read_catalog_state(db: sqlite3.Connection) -> CatalogState:
    found = dict(db.execute("SELECT key, value FROM meta"))
    try:
        state = CatalogState(*map(found.__getitem__, CatalogState._fields))
        made = int(state.version)
    except (KeyError, ValueError) as error:
        raise IndexDamaged(_OLDER) from error
    if made > SCHEMA_VERSION:
        raise Unavailable(
            "The index was made by a newer vaultmem than this one. End this process and start it "
            "again."
        )
    if made != SCHEMA_VERSION:
        raise IndexDamaged(_OLDER)
    return state


class Inventory:
    """What is indexed and what was left out, by path: what reconciling compares files with."""

    def __init__(self, catalog: Catalog, look: Callable[[], object]) -> None:
        self._catalog = catalog
        self._look = look

    def known(self, paths: Sequence[str] | None = None) -> dict[str, KnownNote]:
        self._look()
        sql = "SELECT path, version, id, mtime_ns, size, inode, ctime_ns FROM note"
        return {
            path: KnownNote(FileStamp(*stamp), version, id_)
            for path, version, id_, *stamp in self._catalog_rows_at(sql, paths)
        }

    def skips(self, paths: Sequence[str] | None = None) -> dict[str, SkippedNote]:
        """What was left out, by path."""
        sql = "SELECT path, reason, id, mtime_ns, size, inode, ctime_ns FROM skipped"
        return {
            path: SkippedNote(path, reason, id_, FileStamp(*stamp))
            for path, reason, id_, *stamp in self._catalog_rows_at(sql, paths)
        }

    def _catalog_rows_at(self, sql: str, paths: Sequence[str] | None) -> Iterable[Any]:
        if paths is None:
            return self._catalog.query(sql)
        return self._catalog.query(f"{sql} WHERE path IN {SQL_LIST}", (sql_list(paths),))

    def pdfs(self) -> tuple[int, int, dict[str, int]]:
        """How many PDFs there are, how many of them nobody has read yet, and why others were not."""
        self._look()
        column = self._catalog.column
        number = int(column("SELECT coalesce(sum(notes), 0) FROM shelf WHERE pdf = 1")[0])
        waiting = int(column(_UNREAD_PDFS)[0]) if number else 0
        sql = "SELECT message, count(*) FROM problem WHERE kind = ? GROUP BY 1 ORDER BY 2 DESC"
        return number, waiting, dict(self._catalog.query(sql, (UNREAD_PDF,)))

    def owner(self, id_: str) -> str:
        """The path of the note that is indexed under this id, or nothing."""
        sql = "SELECT path FROM note WHERE id = ? AND id <> ''"
        return next(iter(self._catalog.column(sql, (id_,))), "")

    def twins(self, ids: Sequence[str]) -> list[str]:
        """Notes left out because another has one of these ids."""
        sql = f"SELECT path FROM skipped WHERE id <> '' AND id IN {SQL_LIST}"
        return self._catalog.column(sql, (sql_list(ids),))

    def heirs(self) -> list[str]:
        """Notes left out because of another's id that nobody has any more."""
        return self._catalog.column(_HEIRS)

    def some_paths(self) -> list[str]:
        """A few of the notes in the vault itself, from everywhere."""
        last = self._catalog.column("SELECT max(note) FROM note")[0] or 0
        numbers = sql_list(random.randint(1, last) for _ in range(_SOME if last else 0))
        return [path for path in self._catalog.column(_SOME_PATHS, (numbers,)) if path]

    def skipped(self) -> list[tuple[str, str]]:
        """Notes that are not wholly searchable, and why."""
        return self._catalog.query(
            "SELECT path, reason FROM skipped UNION ALL "
            "SELECT note.path, problem.message FROM problem CROSS JOIN note USING (note) ORDER BY 1"
        )
