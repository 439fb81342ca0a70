"""The catalog: what is indexed, note by note. SQLite in WAL mode, shared by all processes.

A row says what *is* in the full text, never what was only seen, so it is committed last.
Paths about to be written to the full text are noted as pending first; whoever finds some
after a crash does those again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from vaultmem.base.database import COMPANIONS, LISTED, Database, listed
from vaultmem.base.file_stamps import FileStat
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError
from vaultmem.index.embedded.catalog_state import (
    SCHEMA,
    SCHEMA_VERSION,
    CatalogState,
    Stamp,
    current_state,
)
from vaultmem.index.embedded.rows import Skip
from vaultmem.index.failures import explained, is_damage, watched

__all__ = ["Catalog", "CatalogState", "Inventory", "KnownNote", "Stamp"]

_HEIRS: Final = """
SELECT path FROM skipped WHERE id <> '' AND NOT EXISTS
  (SELECT 1 FROM note WHERE note.id = skipped.id AND note.id <> '')
"""
VECTORS: Final = "vectors.db"  # beside the catalog
_SOME: Final = 24  # paths, from everywhere


class KnownNote(NamedTuple):
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    version: str
    id: str


@watched
class Catalog(Database):
    def __init__(self, file: Path | OwnPath) -> None:
        super().__init__(file)
        self.doubt = ""  # what SQLite said that makes us doubt the file

    # --- opening ---------------------------------------------------------------------

    @property
    def _catalog(self) -> Catalog:
        return self

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.create_function("casefold", 1, str.casefold, deterministic=True)
        db.execute("PRAGMA wal_autocheckpoint=0")  # only who holds the lock changes the file
        return db

    def noticed(self, error: sqlite3.Error) -> VaultmemError:
        """What to say of it; a file that seems to be broken is looked at before the next use."""
        if is_damage(error):
            self.doubt = str(error)
        return explained(error)

    def state(self) -> CatalogState:
        return current_state(self.db, SCHEMA_VERSION, self._local)

    def create(self, uuid: str, language: str, text: str) -> None:
        with self.transaction() as db:
            for statement in SCHEMA.split(";"):
                db.execute(statement)
            made = CatalogState(str(SCHEMA_VERSION), uuid, "0", language, text, "", str(self.inode))
            db.executemany("INSERT INTO meta VALUES (?, ?)", made._asdict().items())

    def begin_text(self, uuid: str, language: str, text: str) -> None:
        """Whatever the full text had is to be brought in again."""
        with self.transaction() as db:
            for key, value in (("uuid", uuid), ("language", language), ("text", text)):
                self.set_meta(key, value)
            db.execute("UPDATE note SET size = -1, version = ''")
            self.next_revision()

    def settle_here(self) -> None:
        """This is a copy, of whatever age: all of it is to be compared with the files."""
        with self.transaction():
            self.set_meta("home", str(self.inode))
            self.set_meta("whole", "")

    def empty_log(self) -> bool:
        """Put the log into the file; says whether nothing is left in it. Never waits."""
        self.db.execute("PRAGMA busy_timeout=0")
        try:
            busy, _, _ = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self.db.execute("PRAGMA busy_timeout=10000")
        return not busy

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

    # --- what it knows -----------------------------------------------------------------

    def meta(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def revision(self) -> int:
        return int(self.meta("revision") or 0)

    def stamp(self) -> Stamp:
        return self.state().stamp

    def pending(self) -> list[str]:
        return [row[0] for row in self.db.execute("SELECT path FROM pending")]

    def count(self, table: str) -> int:
        return int(self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def last_passage(self) -> int:
        """The highest number a passage was ever given."""
        row = self.db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passage'").fetchone()
        return int(row[0]) if row else 0

    def next_revision(self) -> None:
        """Nothing is pending, and readers should look anew."""
        self.db.execute("DELETE FROM pending")
        self.db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'revision'")

    def attach_vectors(self) -> bool:
        """Have the vectors, kept in a database of their own, beside the rest as `v`; False when
        there are none."""
        if "v" in {row[1] for row in self.db.execute("PRAGMA database_list")}:
            return True
        file = self.place.parent / VECTORS
        if not file.path.exists():
            return False
        self.db.execute("ATTACH ? AS v", (str(file.checked(*COMPANIONS)),))
        return True

    def contents(self, table: str, without: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Every row of a table with the path of its note; of notes the version comes next."""
        columns = [row[1] for row in self.db.execute(f"PRAGMA table_info({table})")]
        kept = [f"t.{name}" for name in columns if name not in without]
        kept.sort(key=lambda name: name != "t.version")
        sql = f"SELECT n.path, {', '.join(kept)} FROM {table} t JOIN note n USING (note)"
        yield from self.db.execute(sql)


@watched
class Inventory:
    """What is indexed and what was left out, by path: what the road in compares files with."""

    def __init__(self, catalog: Catalog, look: Callable[[], object]) -> None:
        self._catalog = catalog
        self._look = look

    def known(self, paths: Sequence[str] | None = None) -> dict[str, KnownNote]:
        self._look()
        sql = "SELECT path, mtime_ns, size, inode, ctime_ns, version, id FROM note"
        return {row[0]: KnownNote(*row[1:]) for row in self._at(sql, paths)}

    def skips(self, paths: Sequence[str] | None = None) -> dict[str, Skip]:
        """What was left out, by path."""
        sql = "SELECT path, reason, id, mtime_ns, size, inode, ctime_ns FROM skipped"
        return {
            path: Skip(path, reason, id_, FileStat(*stamp))
            for path, reason, id_, *stamp in self._at(sql, paths)
        }

    def _at(self, sql: str, paths: Sequence[str] | None) -> Iterable[Any]:
        if paths is None:
            return self._catalog.db.execute(sql)
        return self._catalog.db.execute(f"{sql} WHERE path IN {LISTED}", (listed(paths),))

    def owner(self, id_: str) -> str:
        """The path of the note that is indexed under this id, or nothing."""
        sql = "SELECT path FROM note WHERE id = ? AND id <> ''"
        row = self._catalog.db.execute(sql, (id_,)).fetchone()
        return row[0] if row else ""

    def twins(self, ids: Sequence[str]) -> list[str]:
        """Notes left out because another has one of these ids."""
        sql = f"SELECT path FROM skipped WHERE id <> '' AND id IN {LISTED}"
        return [row[0] for row in self._catalog.db.execute(sql, (listed(ids),))]

    def heirs(self) -> list[str]:
        """Notes left out because of another's id that nobody has any more."""
        return [row[0] for row in self._catalog.db.execute(_HEIRS)]

    def some_paths(self) -> list[str]:
        """A few of the notes in the vault itself, from everywhere."""
        sql = "SELECT path FROM note WHERE path NOT LIKE '.%' ORDER BY random() LIMIT ?"
        return [row[0] for row in self._catalog.db.execute(sql, (_SOME,))]

    def skipped(self) -> list[tuple[str, str]]:
        """Notes that are not wholly searchable, and why."""
        rows = self._catalog.db.execute(
            "SELECT path, reason FROM skipped UNION ALL "
            "SELECT note.path, problem.message FROM problem JOIN note USING (note) ORDER BY 1"
        )
        return rows.fetchall()
