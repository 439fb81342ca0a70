"""A note as rows of the catalog's tables."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import posixpath
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from vaultmem.base.file_stamps import UNSETTLED_STAMP, FileStamp
from vaultmem.base.words import topic_words, word_stem
from vaultmem.index.embedded.schema import (
    ADD_TO_COMMON_TAG,
    ADD_TO_FOLDER,
    ADD_TO_SHELF,
    ADD_TO_TAG,
)
from vaultmem.notes.attributes import note_day
from vaultmem.notes.file_names import is_pdf, name_key
from vaultmem.notes.links import link_key
from vaultmem.notes.masking import public_part
from vaultmem.notes.note import Note, one_line, printable, words_digest
from vaultmem.notes.passages import Passage, passage_hash, passage_observations, passages_in_context

TABLES_OF_NOTE: Final = (
    *("passage", "tag", "name", "link", "link_text", "fact", "problem", "replacement"),
)
_MOST_LINK_WORDS: Final = 2_000  # of one note
_LONGEST_LINK_TEXT: Final = 120
_COLUMNS: Final = (
    *("path", "mtime_ns", "size", "inode", "ctime_ns", "version", "id", "key", "title"),
    *("type", "scope", "project", "user", "room", "session", "kind", "unclear"),
    *("importance", "created", "updated", "forgotten", "more", "day", "words", "outdated"),
    *("title_key", "session_key", "passages", "relations", "shelf"),
)
# What the notes on one shelf have in common; filters ask for most of it in any case of letters.
_ON_SHELF: Final = (
    *("type", "scope", "project", "user", "room", "kind", "session", "unclear"),
    *("forgotten", "pdf"),
)
_FOLDED_ON_SHELF: Final = _ON_SHELF[:7]
_SHELF_COLUMNS: Final = (*_ON_SHELF, *(f"{name}_key" for name in _FOLDED_ON_SHELF))
FIND_SHELF: Final = (
    f"SELECT shelf FROM shelf WHERE {' AND '.join(f'{name} = ?' for name in _ON_SHELF)}"
)
INSERT_SHELF: Final = (
    f"INSERT INTO shelf ({', '.join(_SHELF_COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_SHELF_COLUMNS))})"
)
_DEEPEST: Final = 64  # levels of a tag or a folder
INSERT_NOTE: Final = (
    f"INSERT INTO note ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
)
UPDATE_NOTE: Final = (
    f"UPDATE note SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE note = ?"
)

# How it is known that a note took the place of another.
REPLACED_BY, REPLACES, SERIES = "replaced by", "replaces", "series"
AFTER_BARE, BEFORE_BARE = "after", "before"  # the note that has the name without the mark


class IndexEntry(NamedTuple):
    """A note read and cut, ready to be indexed."""

    note: Note
    stat: FileStamp
    version: str
    passages: tuple[Passage, ...]
    attributes: Mapping[str, str]  # type, scope, project … with defaults filled in
    created: int | None = None  # seconds, by the one rule of `storage/creation.py`

    @property
    def id(self) -> str:
        return printable(self.note.id).upper()


class SkippedNote(NamedTuple):
    """A note that is left out of the index, and why. It is looked at again when its stamp is
    another one, or when nobody else has the id that it was left out for."""

    path: str
    reason: str
    id: str = ""
    stat: FileStamp = UNSETTLED_STAMP


class NoteShelf(NamedTuple):
    """Where a note stands, by whose it is and of what kind."""

    place: tuple[object, ...]
    keys: tuple[str, ...]  # folded

    @property
    def common(self) -> bool:
        """As the table has it: whoever is not bound to a user or a project sees these notes."""
        return not any(self.place[-3:-1]) and self.keys[1] != "session"


def note_shelf(entry: IndexEntry) -> NoteShelf:
    attributes = _indexed_attributes(entry)
    bound = attributes["scope"] == "session"
    named = [attributes[name] for name in _FOLDED_ON_SHELF[:-1]]
    texts = [printable(text) for text in (*named, attributes["session"] if bound else "")]
    forgotten, pdf = entry.note.flag("forgotten"), is_pdf(entry.note.path)
    place = (*texts, printable(attributes["unclear"]), int(forgotten), int(pdf))
    return NoteShelf(place, tuple(text.casefold() for text in texts))


def _indexed_attributes(entry: IndexEntry) -> dict[str, str]:
    attributes = dict(entry.attributes)
    if attributes["scope"].casefold() == "session":
        attributes["scope"] = "session"  # it binds the note: the index for it knows one spelling
    return attributes


def note_columns(entry: IndexEntry, shelf: int) -> tuple[Any, ...]:
    note, stat = entry.note, entry.stat
    saved = dt.datetime.fromtimestamp(stat.mtime_ns / 1e9, dt.UTC)
    updated, attributes = note.updated_by(saved), _indexed_attributes(entry)
    more = {name: note.string(name) for name in ("source", "superseded_by", "forgotten_reason")}
    return _storable_row_values(
        *(note.path, stat.mtime_ns, stat.size, stat.inode, stat.ctime_ns, entry.version),
        *(entry.id, note.string("key"), note.shown_title),
        *(attributes[name] for name in _COLUMNS[9:17]),
        note.number("importance"),
        entry.created,
        int(updated.timestamp()) if updated else None,
        int(note.flag("forgotten")),
        json.dumps({k: v for k, v in more.items() if v}) if any(more.values()) else "{}",
        day.toordinal() if (day := note_day(note)) else None,
        words_digest(public_part(note.body)),
        int(note.shown_title != note.title),
        *(note.shown_title.casefold(), attributes["session"].casefold()),
        *(len(entry.passages), _number_of_relations(note), shelf),
    )


def _storable_row_values(*values: Any) -> tuple[Any, ...]:
    """A row without bytes that are not UTF-8, which SQLite would not take."""
    return tuple(printable(value) if isinstance(value, str) else value for value in values)


class BatchRows:
    """The rows of a batch that hang on its notes, table by table."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in TABLES_OF_NOTE}
        self.counts = _BatchCounts()
        self.last_passage = -1

    def add(self, note: int, source: Note, shelf: int, *, common: bool) -> None:
        rows, tags = self._rows, list(_tag_rows(source))
        rows["tag"] += ((note, *row) for row in tags)
        self.counts.add_tags(tags, shelf, common=common)
        names = [(source.title, "title"), *((alias, "alias") for alias in source.aliases)]
        rows["name"] += [(note, name_key(printable(name)), kind) for name, kind in names]
        rows["link"] += _link_rows(note, source)
        if source.links:
            rows["link_text"] += itertools.islice(_link_text_rows(note, source), _MOST_LINK_WORDS)
        for f in source.facts:
            qualities = (f.valid_from, f.valid_to, f.confidence, f.provenance, f.block)
            rows["fact"].append((note, f.predicate, f.object, *qualities))
        rows["replacement"] += ((note, *row) for row in _replacement_rows(source))
        rows["problem"] += [(note, p.kind, p.message, p.line) for p in source.problems]

    def add_passages(self, note: int, entry: IndexEntry) -> list[int]:
        """Numbered here, on from the last one in the table or in this batch."""
        texts = passages_in_context(entry.note, entry.passages)
        first = self.last_passage + 1
        numbers = range(first, first + len(texts))
        self.last_passage += len(texts)
        alone = passage_observations(entry.passages, numbers)
        for number, text, p in zip(numbers, texts, entry.passages, strict=True):
            part = number - alone[number] if number in alone else -1
            place = (p.heading, p.kind, p.block, p.start, p.end, part)
            self._rows["passage"].append((number, note, passage_hash(text), *place))
        return list(numbers)

    def write(self, db: sqlite3.Connection) -> None:
        for table, rows in self._rows.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                db.executemany(
                    f"INSERT INTO {table} VALUES ({marks})",
                    (_storable_row_values(*r) for r in rows),
                )
                rows.clear()
        self.counts.write(db)
        self.last_passage = -1


class _BatchCounts:
    """How many notes and tags the batch brings to each shelf."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._sums: tuple[Counter[int], ...] = tuple(Counter() for _ in range(4))
        self._folders: Counter[tuple[str, int]] = Counter()
        self._tags: Counter[tuple[str, str, int]] = Counter()
        self._common: Counter[str] = Counter()

    def add_note(self, columns: tuple[Any, ...]) -> None:
        path, size = columns[0], columns[2]
        passages, relations, shelf = columns[-3:]
        for sums, amount in zip(self._sums, (1, max(size, 0), passages, relations), strict=True):
            sums[shelf] += amount
        folder, slash, _ = path.rpartition("/")
        self._folders[folder + slash, shelf] += 1

    def add_tags(self, tags: Iterable[tuple[str, str]], shelf: int, *, common: bool) -> None:
        for folded, tag in tags:
            folded, tag = printable(folded), printable(tag)
            self._tags[folded, tag, shelf] += 1
            if common and tag:
                self._common[folded] += 1

    def write(self, db: sqlite3.Connection) -> None:
        shelves = ((*(sums[shelf] for sums in self._sums), shelf) for shelf in self._sums[0])
        db.executemany(ADD_TO_SHELF, shelves)
        db.executemany(ADD_TO_FOLDER, ((*key, n) for key, n in self._folders.items()))
        db.executemany(ADD_TO_TAG, ((*key, n) for key, n in self._tags.items()))
        db.executemany(ADD_TO_COMMON_TAG, self._common.items())
        self._begin_anew()


def levels_of_name(name: str) -> Iterator[str]:
    """`a`, `a/b` and `a/b/c` of `a/b/c`."""
    parts = name.split("/")[:_DEEPEST]
    return ("/".join(parts[: i + 1]) for i in range(len(parts)))


def _tag_rows(note: Note) -> Iterator[tuple[str, str]]:
    """Each tag as it stands there, and the levels above it, which stand there only in it."""
    tags = {printable(tag).casefold(): tag for tag in reversed(note.tags)}
    yield from ((printable(tag).casefold(), tag) for tag in note.tags)
    levels = dict.fromkeys(level for folded in tags for level in levels_of_name(folded))
    yield from ((level, "") for level in levels if level not in tags)


def _link_rows(note: int, source: Note) -> Iterator[tuple[int, str, str, str]]:
    for link in source.links:
        if link.target:
            target = one_line(link.target)
            yield note, target, name_key(target).removesuffix(".md"), link.place or "links_to"
    for relation in source.relations:
        target = one_line(relation.target)
        yield note, target, name_key(target).removesuffix(".md"), relation.kind


def _number_of_relations(note: Note) -> int:
    """Links and facts, as many as there are rows of them."""
    return sum(bool(link.target) for link in note.links) + len(note.relations) + len(note.facts)


def _replacement_rows(note: Note) -> Iterator[tuple[str, str, str]]:
    """A sign, the name it is about, and of a series the place and the mark in the title; of the
    bare name the folder and the mark."""
    # Imported here: whoever only asks needs none of it.
    from vaultmem.notes.replacement import name_series, replaced_names, replacement

    if said := replacement(note):
        yield REPLACED_BY, link_key(one_line(said.by)), ""
    for name in replaced_names(note):
        yield REPLACES, link_key(one_line(name)), ""
    if series := name_series(note.title):
        folder = name_key(posixpath.dirname(note.path))
        place = ".".join(f"{part:06}" for part in series.place)
        yield SERIES, f"{folder}/{series.name} {series.kind}", f"{place} {series.mark}"
        if series.follows_bare_name or series.is_year:
            sign = AFTER_BARE if series.follows_bare_name else BEFORE_BARE
            yield sign, name_key(series.name), f"{folder}/{series.mark}"


def _link_text_rows(note: int, source: Note) -> Iterator[tuple[int, str, str, float]]:
    """The words by which this note calls others, each with its part of the link's text."""
    seen: set[tuple[str, str]] = set()
    for link in source.links:
        text = link.display[:_LONGEST_LINK_TEXT]
        folded = name_key(one_line(link.target)).removesuffix(".md") if text else ""
        if not folded or link.embed or name_key(text) == folded or (folded, text) in seen:
            continue
        seen.add((folded, text))
        words = words_of_link_text(text)
        yield from ((note, word, folded, 1 / len(words)) for word in words)


def words_of_link_text(text: str) -> list[str]:
    return list(dict.fromkeys(map(word_stem, topic_words(printable(text)))))
