"""A note as rows of the catalog's tables."""

from __future__ import annotations

import itertools
import json
import posixpath
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from vaultmem.base.file_stamps import UNSETTLED_STAMP, FileStamp
from vaultmem.base.words import topic_words, word_stem
from vaultmem.notes.attributes import note_day
from vaultmem.notes.file_names import name_key
from vaultmem.notes.links import link_key
from vaultmem.notes.note import Note, one_line, printable
from vaultmem.notes.passages import Passage, passage_hash, passage_observations, passages_in_context

TABLES_OF_NOTE: Final = (
    *("passage", "tag", "name", "link", "link_text", "fact", "problem", "replacement"),
)
_MOST_LINK_WORDS: Final = 2_000  # of one note
_LONGEST_LINK_TEXT: Final = 120
_COLUMNS: Final = (
    *("path", "mtime_ns", "size", "inode", "ctime_ns", "version", "id", "key", "title"),
    *("type", "scope", "project", "user", "room", "session", "kind", "unclear"),
    *("importance", "created", "updated", "forgotten", "more", "day"),
)
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


def note_columns(entry: IndexEntry) -> tuple[Any, ...]:
    note, stat = entry.note, entry.stat
    created, updated, attributes = note.created, note.updated, dict(entry.attributes)
    if attributes["scope"].casefold() == "session":
        attributes["scope"] = "session"  # it binds the note: the index for it knows one spelling
    more = {name: note.string(name) for name in ("source", "superseded_by", "forgotten_reason")}
    return _storable_row_values(
        *(note.path, stat.mtime_ns, stat.size, stat.inode, stat.ctime_ns, entry.version),
        *(entry.id, note.string("key"), note.title),
        *(attributes[name] for name in _COLUMNS[9:17]),
        note.number("importance"),
        int(created.timestamp()) if created else None,
        int(updated.timestamp()) if updated else None,
        int(note.flag("forgotten")),
        json.dumps({k: v for k, v in more.items() if v}) if any(more.values()) else "{}",
        day.toordinal() if (day := note_day(note)) else None,
    )


def _storable_row_values(*values: Any) -> tuple[Any, ...]:
    """A row without bytes that are not UTF-8, which SQLite would not take."""
    return tuple(printable(value) if isinstance(value, str) else value for value in values)


class BatchRows:
    """The rows of a batch that hang on its notes, table by table."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in TABLES_OF_NOTE}
        self.last_passage = -1

    def add(self, note: int, source: Note) -> None:
        rows = self._rows
        rows["tag"] += [(note, tag.casefold(), tag) for tag in source.tags]
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
        self.last_passage = -1


def _link_rows(note: int, source: Note) -> Iterator[tuple[int, str, str, str]]:
    for link in source.links:
        if link.target:
            target = one_line(link.target)
            yield note, target, name_key(target).removesuffix(".md"), link.place or "links_to"
    for relation in source.relations:
        target = one_line(relation.target)
        yield note, target, name_key(target).removesuffix(".md"), relation.kind


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
