"""What happened to notes, and by whom: this machine's own log, kept out of every synchronisation.

Agents' writes are put down by whoever makes them; what a person or another machine changed, by
whoever brings it into the index. So that it can be said what changed, the text of each note as it
was last seen is kept beside: without its private parts, and gone with the note. Losing a line
hurts no note, so nothing here ever fails a write.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, TypeVar

from vaultmem.base.database import SQL_LIST, Database, sql_list
from vaultmem.base.differences.word_difference import WordChange
from vaultmem.errors import VaultmemError

ACTIVITY_DAYS: Final = 90
MOST_EVENTS: Final = 20_000
_MOST_TOLD: Final = 3_000  # at once
_TRIMMED_EVERY: Final = 500  # events
_SAME: Final = 120.0  # seconds in which one write is seen twice
_TROUBLE: Final = (sqlite3.Error, OSError, VaultmemError)
_SCHEMA: Final = """
PRAGMA busy_timeout=2000;
CREATE TABLE IF NOT EXISTS event (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, what TEXT NOT NULL,
  path TEXT NOT NULL, client TEXT, version TEXT NOT NULL, more TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS event_at ON event (at);
CREATE INDEX IF NOT EXISTS event_path ON event (path);
CREATE TABLE IF NOT EXISTS last_seen (
  path TEXT PRIMARY KEY, version TEXT NOT NULL, text BLOB NOT NULL, owner TEXT NOT NULL);
"""

T = TypeVar("T")
Owner = Mapping[str, str]  # whose a note is, as `attributes_of` has it


@dataclass(frozen=True, slots=True)
class NoteEvent:
    at: float  # seconds since the epoch
    what: str
    path: str
    title: str
    client: str | None  # an agent's; empty for a person, None for what was only seen in the files
    id: str = ""
    session: str = ""
    version: str = ""  # that it made
    blob: str = ""  # the name that git has for it
    owners: tuple[Owner, ...] = ()  # before and after
    changes: tuple[WordChange, ...] | None = None  # None where it is not known what was there
    moved_from: str = ""
    source: str = ""  # who made the note, as it says itself
    stamped: bool = False  # an agent's mark of a change stands in it


@dataclass(frozen=True, slots=True)
class SeenText:
    """A note as it is, for a later comparison."""

    path: str
    version: str
    lines: Sequence[str]
    owner: Owner = field(default_factory=dict)
    body_at: int = 0  # lines before it say properties


@dataclass(frozen=True, slots=True)
class DistantChange:
    """One note in one commit that was not made in this clone."""

    at: float
    path: str
    author: str
    committer: str
    client: str  # of an agent; empty for a person
    before: str  # what git calls the note's text; empty where there was none
    after: str
    moved_from: str = ""
    deeds: tuple[tuple[str, str], ...] = ()  # the ids of notes, and what agents did to them


@dataclass(slots=True)
class DistantChanges:
    """What came from other machines; `read` gives the texts behind git's names for them."""

    read: Callable[[Sequence[str]], list[bytes | None]] = lambda names: [None] * len(names)
    changes: list[DistantChange] = field(default_factory=list)  # newest first
    brought: set[tuple[str, str]] = field(default_factory=set)  # paths, and texts that came so


class ActivityLog(Database):
    begins_with = _SCHEMA

    # --- putting down ----------------------------------------------------------------------

    def record(self, event: NoteEvent, now: SeenText | None = None) -> None:
        """A write of our own; it may have been seen in the files a moment ago."""

        def put_down(db: sqlite3.Connection) -> None:
            db.execute(
                "DELETE FROM event WHERE path = ? AND version = ? AND client IS NULL AND at > ?",
                (event.path, event.version, event.at - _SAME),
            )
            _insert_event(db, event)
            if now is not None:
                _keep_text(db, now)
            elif not event.version:
                db.execute("DELETE FROM last_seen WHERE path = ?", (event.path,))

        self._attempt(put_down, None)

    def saw(self, events: Iterable[NoteEvent], texts: Iterable[SeenText]) -> None:
        """What was found in the files, all of it in one go. Of a note that was deleted there, the
        words go from the log too."""

        def put_down(db: sqlite3.Connection) -> None:
            for event in events:
                if _is_put_down(db, event):
                    continue
                if event.what == "moved":
                    _move_text(db, event.moved_from, event.path)
                elif event.what == "deleted":
                    _forget_words(db, event.path)
                _insert_event(db, event)
            for text in texts:
                _keep_text(db, text)

        self._attempt(put_down, None)

    def drop(self, is_kept_away: Callable[[str], bool]) -> None:
        """Nothing of these notes is kept: they are no memories any more."""

        def drop(db: sqlite3.Connection) -> None:
            rows = db.execute("SELECT path FROM last_seen UNION SELECT path FROM event").fetchall()
            if away := [path for (path,) in rows if is_kept_away(path)]:
                for table in ("last_seen", "event"):
                    db.execute(f"DELETE FROM {table} WHERE path IN {SQL_LIST}", (sql_list(away),))

        self._attempt(drop, None)

    # --- looking ---------------------------------------------------------------------------

    def since(self, moment: float) -> list[NoteEvent]:
        """Newest first, as many as anybody will look through."""
        asked = (
            "SELECT at, what, path, client, version, more FROM event WHERE at >= ? "
            "ORDER BY at DESC, number DESC LIMIT ?"
        )
        none: list[NoteEvent] = []
        return self._attempt(
            lambda db: [_event_of_row(*row) for row in db.execute(asked, (moment, _MOST_TOLD))],
            none,
        )

    def last_seen(self, paths: Sequence[str]) -> dict[str, SeenText]:
        asked = f"SELECT path, version, text, owner FROM last_seen WHERE path IN {SQL_LIST}"
        none: dict[str, SeenText] = {}
        return self._attempt(
            lambda db: {
                path: SeenText(path, version, _unpacked_lines(text), json.loads(owner))
                for path, version, text, owner in db.execute(asked, (sql_list(paths),))
            },
            none,
        )

    def _attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """One go at the database: all of it or nothing, and never an error."""
        try:
            db = self.db
            db.execute("BEGIN IMMEDIATE" if otherwise is None else "BEGIN")
            try:
                done = work(db)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        except _TROUBLE:
            self.close()
            return otherwise
        return done


def _insert_event(db: sqlite3.Connection, event: NoteEvent) -> None:
    more = asdict(event)
    known = [more.pop(name) for name in ("at", "what", "path", "client", "version")]
    kept = {n: v for n, v in more.items() if v or (n == "changes" and v is not None)}
    done = db.execute(
        "INSERT INTO event (at, what, path, client, version, more) VALUES (?, ?, ?, ?, ?, ?)",
        (*known, json.dumps(kept)),
    )
    number = done.lastrowid or 0
    if number % _TRIMMED_EVERY == 0:
        db.execute("DELETE FROM event WHERE at < ?", (time.time() - ACTIVITY_DAYS * 86_400,))
        db.execute("DELETE FROM event WHERE number <= ?", (number - MOST_EVENTS,))


def _move_text(db: sqlite3.Connection, old: str, new: str) -> None:
    db.execute("DELETE FROM last_seen WHERE path = ?", (new,))
    db.execute("UPDATE last_seen SET path = ? WHERE path = ?", (new, old))


def _forget_words(db: sqlite3.Connection, path: str) -> None:
    db.execute("DELETE FROM last_seen WHERE path = ?", (path,))
    db.execute("UPDATE event SET more = json_remove(more, '$.changes') WHERE path = ?", (path,))


def _is_put_down(db: sqlite3.Connection, event: NoteEvent) -> bool:
    """Whether the one who wrote this has put it down already."""
    found = db.execute(
        "SELECT version FROM event WHERE path = ? AND client IS NOT NULL AND at > ? "
        "ORDER BY number DESC LIMIT 1",
        (event.path, event.at - _SAME),
    ).fetchone()
    return found is not None and found[0] == event.version


def _keep_text(db: sqlite3.Connection, text: SeenText) -> None:
    packed = zlib.compress("\n".join(text.lines).encode("utf-8", "replace"), 1)
    db.execute(
        "INSERT INTO last_seen VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET "
        "version = excluded.version, text = excluded.text, owner = excluded.owner",
        (text.path, text.version, packed, json.dumps(dict(text.owner))),
    )


def _unpacked_lines(packed: bytes) -> list[str]:
    try:
        return zlib.decompress(packed).decode().split("\n")
    except (zlib.error, ValueError):
        return []


def _event_of_row(
    at: float, what: str, path: str, client: str | None, version: str, more: str
) -> NoteEvent:
    known = json.loads(more)
    changes = known.pop("changes", None)
    words = None if changes is None else tuple(WordChange(*pair) for pair in changes)
    owners = tuple(known.pop("owners", ()))
    return NoteEvent(
        at, what, path, client=client, version=version, changes=words, owners=owners, **known
    )
