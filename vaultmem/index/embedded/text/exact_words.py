"""The words of memories exactly as they were written, for who searches as SQLite's FTS5 does, and
their letters, for who looks for parts of words.

Recall needs none of this, so it is made when it is first asked for, in a file of its own beside the
catalog. It follows the catalog by the version of each note, and may be thrown away at any time.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, Database, DatabaseWhereabouts, sql_list
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import InvalidInput
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.failures import index_failure_explained, is_sqlite_damage
from vaultmem.index.filters import Filters, filters_on_rows
from vaultmem.notes.tags import tag_key

_COLUMNS: Final = "key, content, tags"
_LASTING, _VOLATILE = "lasting", "volatile"  # memories of sessions are counted for themselves
# The words are in tables without contents, so what is taken out of them must be said again.
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS followed (note INTEGER PRIMARY KEY, version TEXT NOT NULL,
  texts INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS followed_texts ON followed (texts);
CREATE TABLE IF NOT EXISTS entry (number INTEGER PRIMARY KEY, kind TEXT NOT NULL,
  memory TEXT NOT NULL, made INTEGER NOT NULL, digest BLOB NOT NULL, title TEXT NOT NULL,
  {_COLUMNS});
CREATE INDEX IF NOT EXISTS entry_memory ON entry (memory);
CREATE INDEX IF NOT EXISTS entry_made ON entry (made, memory);
CREATE VIRTUAL TABLE IF NOT EXISTS lasting USING fts5({_COLUMNS}, content='');
CREATE VIRTUAL TABLE IF NOT EXISTS volatile USING fts5({_COLUMNS}, content='');
CREATE VIRTUAL TABLE IF NOT EXISTS letters USING fts5(said, content='',
  tokenize='trigram case_sensitive 1');
"""
_TAGGED: Final = " AND note.note IN (SELECT note FROM tag WHERE folded = ? AND tag <> '')"
_INSERT: Final = "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SHORTEST: Final = 3  # letters that a trigram has; for fewer all texts are looked through
_MANY: Final = 500  # notes that are read before what was read is written
_PAGE: Final = 1_000  # texts that are looked at together, in the order of their age
PART_BITS: Final = 20  # a text's number is its note's, and its place among the note's texts
_CURRENT: Final = f"""
SELECT note.note, version FROM note JOIN shelf USING (shelf)
WHERE shelf.type_key IN {SQL_LIST} AND shelf.forgotten = 0 AND version <> ''
"""


class ExactText(NamedTuple):
    """A memory as it is searched, in small letters; and the digest of its text as it stands. A
    journal's lines and the facts of an entity are texts of their own: `memory` is what each goes
    by."""

    number: int
    volatile: bool
    memory: str
    made: int  # seconds
    digest: bytes
    title: str
    key: str
    content: str
    tags: str  # one after the other

    @property
    def kind(self) -> str:
        return _VOLATILE if self.volatile else _LASTING

    @property
    def said(self) -> str:
        return f"{self.title} {self.content} {self.tags}"

    @property
    def words(self) -> tuple[str, str, str]:
        return f"{self.key} {self.title}".rstrip(), self.content, self.tags

    @property
    def row(self) -> tuple[object, ...]:
        about = (self.number, self.kind, self.memory, self.made, self.digest, self.title)
        return *about, self.key, self.content, self.tags


class TextsOfNote(NamedTuple):
    note: int
    version: str
    texts: Sequence[ExactText]


class FoundText(NamedTuple):
    memory: str
    digest: bytes
    tags: str


Read = Callable[[Sequence[int]], Iterable[TextsOfNote]]


def text_number(note: int, place: int) -> int:
    return (note << PART_BITS) | place


def note_of_text(number: int) -> int:
    return number >> PART_BITS


class ExactWords:
    """The exact words of all memories that the catalog knows."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._file = _ExactWordsFile(catalog.place.parent / "exact-words.db")
        self._file.away = catalog.away
        self._following = threading.Lock()

    def follow_catalog(self, types: Sequence[str], read: Read) -> None:
        """Take in what changed since; `read` gives the texts of notes, as far as they can be
        read. What is damaged is made anew."""
        state = self._catalog.state()
        with self._following, self._exact_words_mended():
            if self._file.followed() == (state.identity, state.revision):
                return
            if self._file.followed()[0] != state.identity:
                self._file.empty(state.identity)
            wanted = dict(self._catalog.query(_CURRENT, (sql_list(types),)))
            known = self._file.versions()
            gone = [note for note in known if note not in wanted]
            new = [note for note, version in wanted.items() if known.get(note) != version]
            self._file.take_out(gone)
            complete = True
            for start in range(0, len(new), _MANY):
                part = new[start : start + _MANY]
                found = [each for each in read(part) if each.version == wanted[each.note]]
                complete &= len(found) == len(part)
                self._file.put_in(part, found)
            if complete:  # else a file changed meanwhile, and the catalog is about to say so
                self._file.note_followed(state.identity, state.revision)

    def matching(self, query: str) -> list[tuple[int, float]]:
        """Texts that a query of FTS5 finds, each with its BM25, best first."""
        with self._exact_words_mended():
            return exact_matches(self._file.db, query)

    def containing(self, words: Sequence[str]) -> Counter[int]:
        """Texts that have any of these small-lettered words as a part, with how many of them."""
        with self._exact_words_mended():
            return exact_parts(self._file.db, words)

    def texts(self, numbers: Iterable[int]) -> dict[int, FoundText]:
        sql = f"SELECT number, memory, digest, tags FROM entry WHERE number IN {SQL_LIST}"
        with self._exact_words_mended():
            found = self._file.db.execute(sql, (sql_list(numbers),)).fetchall()
        return {number: FoundText(*about) for number, *about in found}

    def numbers_of(self, memories: Iterable[str]) -> dict[str, int]:
        sql = f"SELECT memory, number FROM entry WHERE memory IN {SQL_LIST}"
        with self._exact_words_mended():
            return dict(self._file.db.execute(sql, (sql_list(memories),)).fetchall())

    # --- which of them, and in which order ------------------------------------------------

    def passing(
        self, numbers: Iterable[int], filters: Sequence[Filters], tags: Sequence[str]
    ) -> set[int]:
        """Those of the texts whose notes pass one of the filters, and that have all tags."""
        asked = list(numbers)
        condition, values = _any_filter_as_sql(filters, tags)
        sql = f"SELECT note FROM note WHERE note IN {SQL_LIST} AND {condition}"
        notes = sql_list({note_of_text(number) for number in asked})
        there = set(self._catalog.column(sql, [notes, *values]))
        found = {number for number in asked if note_of_text(number) in there}
        return self._tagged(found, tags) if tags else found

    def _tagged(self, numbers: Iterable[int], tags: Sequence[str]) -> set[int]:
        """A text of a note with several has tags of its own."""
        wanted = set(map(tag_key, tags))
        said = self.texts(numbers).items()
        return {number for number, each in said if wanted <= set(map(tag_key, each.tags.split()))}

    def newest(
        self,
        filters: Sequence[Filters],
        tags: Sequence[str] = (),
        *,
        among: Iterable[int] | None = None,
        limit: int,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> list[int]:
        """Those that pass, by age to the millisecond where their ids tell it."""
        found: list[int] = []
        for page in self._pages_by_age(among, oldest_first):
            passing = self.passing(page, filters, tags)
            found += [number for number in page if number in passing]
            if len(found) >= offset + limit:
                break
        return found[offset : offset + limit]

    def _pages_by_age(self, among: Iterable[int] | None, oldest_first: bool) -> Iterator[list[int]]:
        down = "" if oldest_first else " DESC"
        some = "" if among is None else f" WHERE number IN {SQL_LIST}"
        values = () if among is None else (sql_list(among),)
        sql = f"SELECT number FROM entry{some} ORDER BY made{down}, memory{down}"
        with self._exact_words_mended():
            rows = self._file.db.execute(sql, values)
            while page := rows.fetchmany(_PAGE):
                yield [number for (number,) in page]

    def count(self, filters: Sequence[Filters], tags: Sequence[str] = ()) -> int:
        """Most notes are one text each; the others are counted by themselves."""
        condition, values = _any_filter_as_sql(filters, tags)
        notes = f"SELECT count(*) FROM note WHERE {condition}"
        with self._exact_words_mended():
            odd = dict(self._file.db.execute("SELECT note, texts FROM followed WHERE texts <> 1"))
        sql = f"SELECT note FROM note WHERE note IN {SQL_LIST} AND {condition}"
        there = self._catalog.column(sql, [sql_list(odd), *values])
        several = sum(odd[note] for note in there)
        texts = self._count_texts(there, tags) if tags and several else several
        return int(self._catalog.column(notes, values)[0]) - len(there) + texts

    def _count_texts(self, notes: Iterable[int], tags: Sequence[str]) -> int:
        sql = f"SELECT number FROM entry WHERE number >> {PART_BITS} IN {SQL_LIST}"
        with self._exact_words_mended():
            found = self._file.db.execute(sql, (sql_list(notes),)).fetchall()
        return len(self._tagged((number for (number,) in found), tags))

    def close(self) -> None:
        self._file.close()

    @contextlib.contextmanager
    def _exact_words_mended(self) -> Iterator[None]:
        """Another file has its name, or it is broken: it is begun anew with the next question."""
        if (where := self._file.whereabouts()) is DatabaseWhereabouts.TORN:
            self._file.discard()
        elif where is not DatabaseWhereabouts.SAME:
            self._file.renew()
        try:
            yield
        except sqlite3.Error as error:
            if is_sqlite_damage(error):
                self._file.discard()
            raise index_failure_explained(error) from error


def _any_filter_as_sql(filters: Sequence[Filters], tags: Sequence[str]) -> tuple[str, list[object]]:
    terms = [filters_on_rows(each) for each in filters]
    condition = " OR ".join(f"({term})" for term, _ in terms) or "0"
    values = [value for _, some in terms for value in some]
    return f"({condition})" + _TAGGED * len(tags), [*values, *map(tag_key, tags)]


class _ExactWordsFile(Database):
    begins_with = _SCHEMA

    def __init__(self, place: OwnPath) -> None:
        super().__init__(place)

    def followed(self) -> tuple[str, str]:
        about = dict(self.db.execute("SELECT key, value FROM about"))
        return about.get("identity", ""), about.get("revision", "")

    def note_followed(self, identity: str, revision: str) -> None:
        rows = (("identity", identity), ("revision", revision))
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)

    def versions(self) -> dict[int, str]:
        return dict(self.db.execute("SELECT note, version FROM followed"))

    def empty(self, identity: str) -> None:
        """The numbers of notes are those of one catalog."""
        with self.transaction() as db:
            for table in (_LASTING, _VOLATILE, "letters"):
                db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            db.execute("DELETE FROM entry")
            db.execute("DELETE FROM followed")
            db.execute("DELETE FROM about")
            db.execute("INSERT INTO about VALUES ('identity', ?)", (identity,))

    def take_out(self, notes: Sequence[int]) -> None:
        if notes:
            with self.transaction() as db:
                _take_out_exact_words(db, notes)

    def put_in(self, notes: Sequence[int], found: Sequence[TextsOfNote]) -> None:
        with self.transaction() as db:
            _take_out_exact_words(db, notes)
            rows = ((each.note, each.version, len(each.texts)) for each in found)
            db.executemany("INSERT INTO followed VALUES (?, ?, ?)", rows)
            put_exact_words(db, [text for each in found for text in each.texts])


@contextlib.contextmanager
def exact_words_in_memory(texts: Iterable[ExactText]) -> Iterator[sqlite3.Connection]:
    """The same of texts that the catalog does not know yet."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        put_exact_words(db, list(texts))
        yield db


def put_exact_words(db: sqlite3.Connection, texts: Sequence[ExactText]) -> None:
    db.executemany(_INSERT, (text.row for text in texts))
    for table in (_LASTING, _VOLATILE):
        rows = [(text.number, *text.words) for text in texts if text.kind == table]
        db.executemany(f"INSERT INTO {table} (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?)", rows)
    letters = ((text.number, text.said) for text in texts)
    db.executemany("INSERT INTO letters (rowid, said) VALUES (?, ?)", letters)


def _take_out_exact_words(db: sqlite3.Connection, notes: Sequence[int]) -> None:
    for note in notes:
        of_note = (text_number(note, 0), text_number(note + 1, 0) - 1)
        sql = "SELECT * FROM entry WHERE number BETWEEN ? AND ?"
        for number, kind, memory, made, digest, *text in db.execute(sql, of_note).fetchall():
            old = ExactText(number, kind == _VOLATILE, memory, made, digest, *text)
            delete = f"INSERT INTO {kind} ({kind}, rowid, {_COLUMNS}) VALUES ('delete', ?, ?, ?, ?)"
            db.execute(delete, (number, *old.words))
            gone = "INSERT INTO letters (letters, rowid, said) VALUES ('delete', ?, ?)"
            db.execute(gone, (number, old.said))
        db.execute("DELETE FROM entry WHERE number BETWEEN ? AND ?", of_note)
        db.execute("DELETE FROM followed WHERE note = ?", (note,))


def exact_matches(db: sqlite3.Connection, query: str) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    for table in (_LASTING, _VOLATILE):
        sql = f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ?"
        try:
            found += db.execute(sql, (query.replace("\0", " "),)).fetchall()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR:
                raise
            raise InvalidInput(_syntax_error_of_query(query, str(error))) from None
    return sorted(found, key=lambda each: (-each[1], -each[0]))


def _syntax_error_of_query(query: str, told: str) -> str:
    quoted = " ".join(f'"{word}"' for word in query.replace('"', " ").split())
    way = f"write {quoted}" if len(quoted) <= 200 else "put them into double quotes"
    return (
        f"The query cannot be read as FTS5's language: {told.removeprefix('fts5: ')}. "
        f"To find its words as they stand, {way}."
    )


def exact_parts(db: sqlite3.Connection, words: Sequence[str]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for word, times in Counter(word.replace("\0", "") for word in words).items():
        if len(word) >= _SHORTEST:
            sql, values = "SELECT rowid FROM letters WHERE letters MATCH ?", [_quoted_part(word)]
        else:
            sql = "SELECT number FROM entry WHERE instr(title || ' ' || content || ' ' || tags, ?)"
            values = [word]
        for (number,) in db.execute(sql, values):
            counts[number] += times
    return counts


def _quoted_part(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"'
