"""The last resort: answer a question by looking through the files, without any index."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

from vaultmem.attributes import attributes_of
from vaultmem.errors import VaultmemError
from vaultmem.index import Filters, Row
from vaultmem.note import Note, printable, version
from vaultmem.passages import passages
from vaultmem.recall import Answer, Hit, Lane, query_words, snippet
from vaultmem.store import FileStat, Store

_SECONDS: Final = 5.0


def ask(store: Store, query: str, filters: Filters, *, limit: int, offset: int) -> Answer:
    """Notes by how many of the question's words they have; the best passage of each is shown."""
    started = time.perf_counter()
    words = list(dict.fromkeys(query_words(query)))
    answer = Answer(strategy="scan")
    found: list[tuple[float, Hit]] = []
    for note, stamp in _notes(store, answer, started + _SECONDS):
        attributes = attributes_of(note, store.settings)
        if passes(note, attributes, filters) and (hit := _hit(note, stamp, attributes, words)):
            found.append((hit.score, hit))
    found.sort(key=lambda pair: (-pair[0], pair[1].row.path))
    answer.hits = [hit for _, hit in found[offset : offset + limit]]
    answer.total = len(found)
    answer.milliseconds = (time.perf_counter() - started) * 1000
    return answer


def _notes(store: Store, answer: Answer, deadline: float) -> Iterator[tuple[Note, FileStat]]:
    for path, stamp in sorted(store.walk().notes.items(), key=lambda item: -item[1].mtime_ns):
        if time.perf_counter() > deadline:
            answer.warnings.append("query_timeout: only the notes changed last were looked at.")
            return
        try:
            yield store.note(path), stamp
        except VaultmemError:
            continue


def _hit(
    note: Note, stamp: FileStat, attributes: Mapping[str, str], words: list[str]
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
    row = _row(note, stamp, attributes)
    lane = (Lane("scan", 1, best),)
    return Hit(row, best, text, snippet(text, words), place.heading, place.block, lane)


def _row(note: Note, stamp: FileStat, attributes: Mapping[str, str]) -> Row:
    created, updated = note.created, note.updated
    names = ("type", "scope", "project", "user", "room", "session", "kind")
    return Row(
        note=0,
        path=note.path,
        version=version(note.raw),
        id=note.id.upper(),
        key=note.string("key"),
        title=printable(note.title),
        **{name: attributes[name] for name in names},
        importance=note.number("importance"),
        created=int(created.timestamp()) if created else None,
        updated=int(updated.timestamp()) if updated else None,
        mtime_ns=stamp.mtime_ns,
        forgotten=note.flag("forgotten"),
        more={"source": note.string("source")},
        tags=note.tags,
    )


def passes(note: Note, attributes: Mapping[str, str], filters: Filters) -> bool:
    """What the index does with the same filters, said of one note."""
    wanted = (
        ("type", filters.types),
        ("scope", filters.scopes),
        ("project", filters.projects),
        ("room", filters.rooms),
        ("kind", filters.kinds),
    )
    if any(values and not _among(attributes[name], values) for name, values in wanted):
        return False
    pinned = (("user", filters.user), ("project", filters.home))
    if any(
        pin and attributes[name] and not _among(attributes[name], (pin,)) for name, pin in pinned
    ):
        return False
    bound = filters.session and attributes["scope"].casefold() == "session"
    if bound and not _among(attributes["session"], (filters.session,)):
        return False
    return _tagged(note, filters.tags) and _in_bounds(note, filters)


def _among(value: str, wanted: tuple[str, ...]) -> bool:
    return value.casefold() in {item.casefold() for item in wanted}


def _tagged(note: Note, wanted: tuple[str, ...]) -> bool:
    have = [tag.casefold() for tag in note.tags]
    asked = [tag.lstrip("#").casefold() for tag in wanted]
    return not asked or any(tag == a or tag.startswith(f"{a}/") for a in asked for tag in have)


def _in_bounds(note: Note, filters: Filters) -> bool:
    if note.flag("forgotten") and not filters.forgotten:
        return False
    if filters.folder and not note.path.startswith(filters.folder.strip("/") + "/"):
        return False
    importance = note.number("importance")
    if (0.5 if importance is None else importance) < (filters.min_importance or 0):
        return False
    if filters.after is None and filters.before is None:
        return True
    made = note.created.timestamp() if note.created else None
    return (
        made is not None
        and (filters.after is None or int(made) >= filters.after)
        and (filters.before is None or int(made) <= filters.before)
    )
