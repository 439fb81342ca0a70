"""The tables of a catalog, and what it says of itself: which one it is, how far it has come, and
which full text is its."""

from __future__ import annotations

import sqlite3
import threading
from typing import Final, NamedTuple

from vaultmem.errors import Unavailable
from vaultmem.index.failures import Damaged

SCHEMA_VERSION: Final = 8
SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (
  note INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL, version TEXT NOT NULL,
  id TEXT NOT NULL, key TEXT NOT NULL, title TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  project TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL, session TEXT NOT NULL,
  kind TEXT NOT NULL, unclear TEXT NOT NULL, importance REAL, created INTEGER, updated INTEGER,
  forgotten INTEGER NOT NULL, more TEXT NOT NULL);
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
CREATE INDEX link_replaced ON link (relation)
  WHERE relation IN ('superseded_by', 'derived_from');
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

Stamp = tuple[str, str]


class CatalogState(NamedTuple):
    version: str  # of the tables
    uuid: str
    revision: str
    language: str  # of the full text that belongs to it
    text: str  # and the stamp of that
    whole: str  # the uuid, once everything in the vault was brought in
    home: str  # the inode it was made with: a copy has another

    @property
    def stamp(self) -> Stamp:
        """The same in every thread, and another one whenever something was indexed."""
        return self.uuid, self.revision

    @property
    def identity(self) -> str:
        """Another one whenever the index was begun anew, or put back from a copy."""
        return f"{self.uuid} {self.home}"

    @property
    def is_whole(self) -> bool:
        return self.whole == self.uuid


def current_state(db: sqlite3.Connection, version: int, thread: threading.local) -> CatalogState:
    """Read again only after somebody wrote: one question asks for it several times."""
    if db.in_transaction:
        return _read_state(db, version)
    others = db.execute("PRAGMA main.data_version").fetchone()[0]  # goes on when others write
    now = db, others, db.total_changes
    if getattr(thread, "state_at", None) != now:
        thread.state, thread.state_at = _read_state(db, version), now
    state: CatalogState = thread.state
    return state


def _read_state(db: sqlite3.Connection, version: int) -> CatalogState:
    found = dict(db.execute("SELECT key, value FROM meta"))
    try:
        state = CatalogState(*map(found.__getitem__, CatalogState._fields))
        made = int(state.version)
    except (KeyError, ValueError) as error:
        raise Damaged("The index was made by an older vaultmem and will be rebuilt.") from error
    if made > version:
        raise Unavailable(
            "The index was made by a newer vaultmem than this one. End this process and start it "
            "again."
        )
    if made != version:
        raise Damaged("The index was made by an older vaultmem and will be rebuilt.")
    return state
