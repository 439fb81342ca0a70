"""The last resort: answer by looking through the files, without any index, or where it has gaps."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from vaultmem.base.file_stamps import FileStamp
from vaultmem.errors import VaultmemError
from vaultmem.index import CatalogRow, Filters, passes_filters
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.note import Note, note_version, printable
from vaultmem.notes.passages import passages
from vaultmem.recall.recall import Answer, Hit, Lane, query_words, snippet
from vaultmem.storage.store import Store, StoredNote

_SECONDS: Final = 5.0


def ask(
    store: Store,
    query: str,
    filters: Filters,
    *,
    limit: int,
    offset: int,
    paths: Collection[str] | None = None,
) -> Answer:
    """Notes by how many of the question's words they have; the best passage of each is shown."""
    started = time.perf_counter()
    words = list(dict.fromkeys(query_words(query)))
    answer = Answer(strategy="scan")
    found: list[tuple[float, Hit]] = []
    for stored in _files(store, answer.warnings, paths):
        if not _has_any(stored, words):
            continue
        note = store.parse(stored)
        attributes = attributes_of(note, store.settings)
        made = store.births.creation(note, stored.stat).seconds
        if passes_filters(note, attributes, filters, made) and (
            hit := _hit(note, stored.stat, attributes, words, made)
        ):
            found.append((hit.score, hit))
    found.sort(key=lambda pair: (-pair[0], pair[1].row.path))
    answer.hits = [hit for _, hit in found[offset : offset + limit]]
    answer.total = len(found)
    answer.milliseconds = (time.perf_counter() - started) * 1000
    return answer


def fill_gaps(
    found: Answer,
    store: Store,
    query: str,
    filters: Filters,
    *,
    limit: int,
    paths: Collection[str] | None,
) -> None:
    """Put beside what the index found what is in notes that it does not have yet."""
    more = ask(store, query, filters, limit=limit, offset=0, paths=paths)
    known = {hit.row.path for hit in found.hits}
    fresh = [hit for hit in more.hits if hit.row.path not in known]
    found.hits = sorted([*found.hits, *fresh], key=lambda hit: -hit.score)[:limit]
    found.total += max(0, more.total - (len(more.hits) - len(fresh)))
    found.warnings += more.warnings
    found.milliseconds += more.milliseconds


def rows(
    store: Store, filters: Filters, paths: Collection[str], word: str = ""
) -> list[CatalogRow]:
    """The notes that pass and have the word, as the catalog would have them; in no order."""
    found = []
    for stored in _files(store, [], paths):
        if word and not _has_any(stored, [word.casefold()]):
            continue
        note = store.parse(stored)
        attributes = attributes_of(note, store.settings)
        made = store.births.creation(note, stored.stat).seconds
        if passes_filters(note, attributes, filters, made):
            found.append(_row(note, stored.stat, attributes, made))
    return found


def _files(
    store: Store, warnings: list[str], paths: Collection[str] | None
) -> Iterator[StoredNote]:
    """The newest first, for as long as one can wait."""
    if paths is not None and not paths:
        return
    deadline = time.perf_counter() + _SECONDS
    listed = store.walk().notes
    wanted = listed if paths is None else listed.keys() & set(paths)
    for path in sorted(wanted, key=lambda path: -listed[path].mtime_ns):
        if time.perf_counter() > deadline:
            warnings.append("query_timeout: only the notes changed last were looked at.")
            return
        try:
            yield store.read(path)
        except VaultmemError:
            continue


def _has_any(stored: StoredNote, words: Collection[str]) -> bool:
    """Most notes need not be parsed to know that they are not wanted."""
    text = f"{stored.path} {stored.raw.decode(errors='replace')}".casefold()
    return any(word in text for word in words)


def _hit(
    note: Note, stamp: FileStamp, attributes: Mapping[str, str], words: list[str], made: int
) -> Hit | None:
    whole = f"{note.title} {' '.join(note.aliases)} {' '.join(note.tags)}".casefold()
    best, text, place = 0.0, "", None
    for passage in passages(note):
        folded = f"{whole} {passage.heading} {passage.text}".casefold()
        share = sum(word in folded for word in words) / max(1, len(words))
        if share > best:
            best, text, place = share, printable(passage.text), passage
    if not best or place is None:
        return None
    row = _row(note, stamp, attributes, made)
    lane = (Lane("scan", 1, best),)
    all_of_it = place.text == note.body.strip()
    shown = snippet(text, words)
    return Hit(row, best, text, shown, place.heading, place.block, lane, whole=all_of_it)


def _row(note: Note, stamp: FileStamp, attributes: Mapping[str, str], made: int) -> CatalogRow:
    updated = note.updated_by(dt.datetime.fromtimestamp(stamp.mtime_ns / 1e9, dt.UTC))
    names = ("type", "scope", "project", "user", "room", "session", "kind", "unclear")
    return CatalogRow(
        note=0,
        path=note.path,
        version=note_version(note.raw),
        id=note.id.upper(),
        key=note.string("key"),
        title=printable(note.shown_title),
        **{name: attributes[name] for name in names},
        importance=note.number("importance"),
        created=made,
        updated=int(updated.timestamp()) if updated else None,
        mtime_ns=stamp.mtime_ns,
        forgotten=note.flag("forgotten"),
        more={"source": note.string("source")},
        tags=note.tags,
    )
