"""Searching memories exactly as they were written: in FTS5's language, or by parts of words.

Recall is for questions. This is for programs that were written for a store which finds what has
these words and nothing else. Everything is looked at, however much there is; what the index does
not know yet is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from vaultmem.errors import VaultmemError
from vaultmem.index import (
    CatalogRow,
    ExactText,
    Filters,
    exact_matches,
    exact_parts,
    exact_words_in_memory,
)
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import note_body, printable
from vaultmem.operations.results import row_moment
from vaultmem.operations.view import View

if TYPE_CHECKING:
    from vaultmem.index import ExactWords
    from vaultmem.storage.local_state.given_vectors import GivenVectors, Nearness

_WORDS_SHARE, _MEANING_SHARE = 0.4, 0.6
_FIRST_LOOK: Final = 200  # of what matches, that filters are asked about first
_EVERYTHING: Final = ("", "*")

Scored = tuple[int, float]


class ExactHits(NamedTuple):
    found: list[tuple[CatalogRow, float]]  # best first
    searched: int


class _Memories(Protocol):
    """Memories that can be searched, by numbers of their own."""

    def matching(self, query: str) -> list[Scored]: ...
    def containing(self, words: Sequence[str]) -> Mapping[int, int]: ...
    def texts(self, notes: Iterable[int]) -> Mapping[int, tuple[str, bytes]]: ...
    def notes_of(self, memories: Iterable[str]) -> Mapping[str, int]: ...
    def passing(self, notes: Collection[int]) -> set[int]: ...
    def newest(
        self, limit: int, offset: int = 0, *, oldest_first: bool = False, among: Iterable[int] = ()
    ) -> list[int]: ...
    def count(self) -> int: ...
    def rows(self, notes: Sequence[int]) -> Mapping[int, CatalogRow]: ...


class ExactSearch:
    def __init__(self, view: View) -> None:
        self._view = view

    def by_words(
        self,
        query: str,
        filters: Sequence[Filters],
        *,
        tags: Sequence[str] = (),
        vector: Sequence[float] = (),
        limit: int = 10,
    ) -> ExactHits:
        """By BM25, as a share of the best; where the caller gave vectors for the memory and for
        the query, by 0.4 words and 0.6 meaning."""
        if vector:
            self.require_vector(vector)
        memories = self._memories(filters, tags)
        if query.strip() in _EVERYTHING:
            if not vector:
                found = memories.newest(limit)
                return _exact_hits(memories, [(note, 1.0) for note in found], limit)
            matches = []
        else:
            matches = _shares_of_best(memories.matching(query))
        if not vector:
            return _exact_hits(memories, _first_passing(memories, matches, limit), limit)
        near = self._given_vectors.near(vector)
        scored = _first_passing(memories, _blended(memories, matches, near), limit)
        scored += _nearest_only(memories, near, {note for note, _ in matches}, limit)
        return _exact_hits(memories, sorted(scored, key=lambda each: -each[1]), limit)

    def by_parts(
        self, words: Sequence[str], filters: Sequence[Filters], *, tag: str = "", limit: int = 5
    ) -> ExactHits:
        """By how many of the small-lettered words are part of the text or the tags, the newest
        first among equals; with a tag also those that have no more than the tag."""
        memories = self._memories(filters, [tag] if tag else [])
        counts = memories.containing(words)
        found: list[Scored] = []
        for score in sorted(set(counts.values()), reverse=True):
            if left := limit - len(found):
                alike = [note for note, count in counts.items() if count == score]
                found += [(note, score) for note in memories.newest(left, among=alike)]
        if tag and len(found) < limit:
            more = memories.newest(limit + len(found))
            found += [(note, 0) for note in more if note not in counts]
        return _exact_hits(memories, found, limit)

    def page(
        self, filters: Sequence[Filters], *, limit: int, offset: int, oldest_first: bool
    ) -> list[CatalogRow]:
        memories = self._memories(filters, [])
        notes = memories.newest(limit, offset, oldest_first=oldest_first)
        rows = memories.rows(notes)
        return [rows[note] for note in notes if note in rows]

    def prepare(self) -> bool:
        """Read all memories now, so that no question has to wait for it; False while the index is
        being filled."""
        if self._view.index.is_whole:
            _IndexedMemories(self._view, (), ()).matching("prepared")
            return True
        return False

    # --- vectors that the caller gave ----------------------------------------------------

    def require_vector(self, vector: Sequence[float]) -> None:
        length = int(self._view.settings["dialects.embedding_length"])
        self._given_vectors.require_length(vector, length)

    @property
    def _given_vectors(self) -> GivenVectors:
        self._view.store.local()  # the folder, if it is not there yet
        return self._view.parts.given_vectors

    def keep_vector(self, memory: str, path: str, vector: Sequence[float]) -> None:
        """Of a memory that was just written."""
        text = shown_text(note_body(self._view.store.read(path).raw))
        self._given_vectors.keep_vector(memory, text_digest(text), vector)

    # --- which memories ------------------------------------------------------------------

    def with_id(self, name: str, filters: Sequence[Filters]) -> list[CatalogRow]:
        """The memory with this id, or at this path."""
        if not self._view.gaps.are_none():
            rows = (row for each in filters for row in self._view.gaps.select(each, "created")[0])
            return [row for row in rows if name in (row.id, row.path)]
        index = self._view.index
        paths = [path for path in (index.inventory.owner(name), name) if path]
        memories = _IndexedMemories(self._view, filters, [])
        rows_there = {row.note: row for row in index.lookup.at(paths).values()}
        return [rows_there[note] for note in memories.passing(rows_there.keys())]

    def _memories(self, filters: Sequence[Filters], tags: Sequence[str]) -> _Memories:
        self._view.gaps.warnings()
        if self._view.gaps.are_none():
            return _IndexedMemories(self._view, filters, tags)
        return _ReadMemories(self._view, filters, tags)


class _IndexedMemories:
    def __init__(self, view: View, filters: Sequence[Filters], tags: Sequence[str]) -> None:
        self._view, self._filters, self._tags = view, filters, tags
        self._words = view.index.exact_words

    @property
    def _followed(self) -> ExactWords:
        self._words.follow_catalog(MEMORY_TYPES, self._read)
        return self._words

    def matching(self, query: str) -> list[Scored]:
        return self._followed.matching(query)

    def containing(self, words: Sequence[str]) -> Mapping[int, int]:
        return self._followed.containing(words)

    def _read(self, notes: Sequence[int]) -> Iterator[ExactText]:
        for note, row in self._view.index.lookup.rows(notes).items():
            if text := _exact_text(self._view, note, row):
                yield text

    def texts(self, notes: Iterable[int]) -> Mapping[int, tuple[str, bytes]]:
        return self._words.texts(notes)

    def notes_of(self, memories: Iterable[str]) -> Mapping[str, int]:
        return self._followed.notes_of(memories)

    def passing(self, notes: Collection[int]) -> set[int]:
        return self._words.passing(notes, self._filters, self._tags)

    def newest(
        self, limit: int, offset: int = 0, *, oldest_first: bool = False, among: Iterable[int] = ()
    ) -> list[int]:
        return self._words.newest(
            self._filters,
            self._tags,
            among=among or None,
            limit=limit,
            offset=offset,
            oldest_first=oldest_first,
        )

    def count(self) -> int:
        if self._tags:
            return self._words.count(self._filters, self._tags)
        return sum(map(self._view.index.lookup.count, self._filters))

    def rows(self, notes: Sequence[int]) -> Mapping[int, CatalogRow]:
        return self._view.index.lookup.rows(notes)


class _ReadMemories:
    """Where the index has gaps: all that pass, numbered from the oldest to the newest."""

    def __init__(self, view: View, filters: Sequence[Filters], tags: Sequence[str]) -> None:
        wanted = {tag.casefold() for tag in tags}
        rows = [row for each in filters for row in view.gaps.select(each, "created")[0]]
        rows = [row for row in rows if wanted <= {tag.casefold() for tag in row.tags}]
        rows.sort(key=lambda row: (row_moment(row), row.id, row.path))
        self._rows = dict(enumerate(rows))
        read = (_exact_text(view, note, row) for note, row in self._rows.items())
        self._texts = {text.note: text for text in read if text}

    def matching(self, query: str) -> list[Scored]:
        with exact_words_in_memory(self._texts.values()) as db:
            return exact_matches(db, query)

    def containing(self, words: Sequence[str]) -> Mapping[int, int]:
        with exact_words_in_memory(self._texts.values()) as db:
            return exact_parts(db, words)

    def texts(self, notes: Iterable[int]) -> Mapping[int, tuple[str, bytes]]:
        known = self._texts
        return {n: (known[n].memory, known[n].digest) for n in notes if n in known}

    def notes_of(self, memories: Iterable[str]) -> Mapping[str, int]:
        wanted = set(memories)
        return {text.memory: n for n, text in self._texts.items() if text.memory in wanted}

    def passing(self, notes: Collection[int]) -> set[int]:
        return set(notes) & self._rows.keys()

    def newest(
        self, limit: int, offset: int = 0, *, oldest_first: bool = False, among: Iterable[int] = ()
    ) -> list[int]:
        some = set(among)
        notes = [note for note in self._rows if not some or note in some]
        ordered = notes if oldest_first else notes[::-1]
        return ordered[offset : offset + limit]

    def count(self) -> int:
        return len(self._rows)

    def rows(self, notes: Sequence[int]) -> Mapping[int, CatalogRow]:
        return {note: self._rows[note] for note in notes}


def _exact_text(view: View, note: int, row: CatalogRow) -> ExactText | None:
    """A note's text as it is now; None where it cannot be read, or is not what the index knows."""
    try:
        stored = view.store.read(row.path)
    except VaultmemError:
        return None
    if stored.version != row.version:
        return None
    content = shown_text(note_body(stored.raw))
    return ExactText(
        note,
        row.version,
        row.scope.casefold() == "session",
        row.id or row.path,
        text_digest(content),
        (row.key or row.id or row.path).lower(),
        content.lower(),
        " ".join(row.tags).lower(),
    )


def shown_text(body: str) -> str:
    """A memory as it was given: without its private parts and the line end of every note."""
    return printable(without_private(body.removesuffix("\n").removesuffix("\r")))


def text_digest(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()[:16]


# --- scores ----------------------------------------------------------------------------------


def _shares_of_best(matches: Sequence[Scored]) -> list[Scored]:
    best = matches[0][1] if matches else 0.0
    return [(note, max(0.0, score / best) if best > 0 else 1.0) for note, score in matches]


def _first_passing(memories: _Memories, ranked: Sequence[Scored], limit: int) -> list[Scored]:
    """The best that pass; a few are asked about first, since most questions need no more."""
    found: list[Scored] = []
    start, size = 0, max(_FIRST_LOOK, 2 * limit)
    while start < len(ranked) and len(found) < limit:
        part = ranked[start : start + size]
        passing = memories.passing([note for note, _ in part])
        found += [each for each in part if each[0] in passing]
        start, size = start + size, size * 8
    return found[:limit]


def _blended(memories: _Memories, matches: Sequence[Scored], near: Nearness) -> list[Scored]:
    """What has the words, with the meaning of those whose vector is of the text as it is now."""
    texts = memories.texts([note for note, _ in matches])
    found: list[Scored] = []
    for note, share in matches:
        cosine = near.of(*texts.get(note, ("", b"")))
        blend = share if cosine is None else _WORDS_SHARE * share + _MEANING_SHARE * cosine
        found.append((note, blend))
    return sorted(found, key=lambda each: -each[1])


def _nearest_only(
    memories: _Memories, near: Nearness, matched: Collection[int], limit: int
) -> list[Scored]:
    """What is near without having the words."""
    ranked = near.nearest_first()
    found: list[Scored] = []
    size, start = max(_FIRST_LOOK, 2 * limit), 0
    while start < len(ranked) and len(found) < limit:
        notes = memories.notes_of(ranked[start : start + size])
        scored = [
            (note, _MEANING_SHARE * cosine)
            for note, (memory, digest) in memories.texts(notes.values()).items()
            if note not in matched and (cosine := near.of(memory, digest))
        ]
        scored.sort(key=lambda each: -each[1])
        found += _first_passing(memories, scored, limit)
        start, size = start + size, size * 8
    return found[:limit]


def _exact_hits(memories: _Memories, ranked: Sequence[Scored], limit: int) -> ExactHits:
    best = list(ranked)[:limit]
    rows = memories.rows([note for note, _ in best])
    return ExactHits([(rows[n], score) for n, score in best if n in rows], memories.count())
