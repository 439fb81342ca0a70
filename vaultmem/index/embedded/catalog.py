"""The catalog: what is indexed, note by note. SQLite in WAL mode, shared by all processes.

A row says what *is* in the full text, never what was only seen, so it is committed last.
Paths about to be written to the full text are noted as pending first; whoever finds some
after a crash does those again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from vaultmem.base.database import SQL_LIST, SQLITE_COMPANIONS, Database, sql_list
from vaultmem.base.file_stamps import FileStamp
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import Unavailable, VaultmemError
from vaultmem.index.embedded.rows import SkippedNote
from vaultmem.index.failures import IndexDamaged, index_failure_explained, is_sqlite_damage

SCHEMA_VERSION: Final = 11
CATALOG_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (
  note INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL, version TEXT NOT NULL,
  id TEXT NOT NULL, key TEXT NOT NULL, title TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  project TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL, session TEXT NOT NULL,
  kind TEXT NOT NULL, unclear TEXT NOT NULL, importance REAL, created INTEGER, updated INTEGER,
  forgotten INTEGER NOT NULL, more TEXT NOT NULL, day INTEGER);
CREATE INDEX note_day ON note (day) WHERE day IS NOT NULL;
CREATE INDEX note_id ON note (id) WHERE id <> '';
CREATE INDEX note_forgotten ON note (note) WHERE forgotten = 1;
CREATE INDEX note_volatile ON note (session) WHERE scope = 'session';
CREATE INDEX note_unclear ON note (note) WHERE unclear = 'session';
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
CREATE INDEX link_derived ON link (folded) WHERE relation = 'derived_from';
CREATE TABLE replacement (note INTEGER NOT NULL, sign TEXT NOT NULL, folded TEXT NOT NULL,
  place TEXT NOT NULL);
CREATE INDEX replacement_note ON replacement (note);
CREATE TABLE link_text (note INTEGER NOT NULL, word TEXT NOT NULL, folded TEXT NOT NULL,
  share REAL NOT NULL);
CREATE INDEX link_text_note ON link_text (note);
CREATE INDEX link_text_word ON link_text (word);
CREATE TABLE fact (note INTEGER NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
  valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, confidence REAL, provenance TEXT NOT NULL,
  block TEXT NOT NULL);
CREATE INDEX fact_note ON fact (note);
CREATE TABLE problem (note INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL,
  line INTEGER NOT NULL);
CREATE INDEX problem_note ON problem (note);
CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT NOT NULL, id TEXT NOT NULL,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pending (path TEXT PRIMARY KEY) WITHOUT ROWID;
"""

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
        db.create_function("casefold", 1, str.casefold, deterministic=True)
        db.execute("PRAGMA wal_autocheckpoint=0")  # only who holds the lock changes the file
        return db

    def create(self, uuid: str, language: str, text: str) -> None:
        with self.explained(), self.transaction() as db:
            for statement in CATALOG_SCHEMA.split(";"):
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

    def count_rows_in_catalog(self, table: str) -> int:
        return int(self.column(f"SELECT count(*) FROM {table}")[0])

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
    """What is indexed and what was left out, by path: what the road in compares files with."""

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
        sql = "SELECT path FROM note WHERE path NOT LIKE '.%' ORDER BY random() LIMIT ?"
        return self._catalog.column(sql, (_SOME,))

    def skipped(self) -> list[tuple[str, str]]:
        """Notes that are not wholly searchable, and why."""
        return self._catalog.query(
            "SELECT path, reason FROM skipped UNION ALL "
            "SELECT note.path, problem.message FROM problem JOIN note USING (note) ORDER BY 1"
        )
