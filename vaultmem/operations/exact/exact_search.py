"""Searching memories exactly as they were written: in FTS5's language, or by parts of words.

Recall is for questions. This is for programs that were written for a store which finds what has
these words and nothing else. Everything is looked at, however much there is; what the index does
not know yet is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from vaultmem.index import CatalogRow, Filters, FoundText, note_of_text
from vaultmem.notes.note import note_body
from vaultmem.operations.exact.searched_texts import IndexedTexts, ReadTexts, text_digest
from vaultmem.operations.exact.told_texts import ToldText, plain_text, told_texts
from vaultmem.operations.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vaultmem.storage.local_state.given_vectors import GivenVectors, Nearness

_WORDS_SHARE, _MEANING_SHARE = 0.4, 0.6
_FIRST_LOOK: Final = 200  # of what matches, that filters are asked about first
_EVERYTHING: Final = ("", "*")

Scored = tuple[int, float]


class ExactHit(NamedTuple):
    row: CatalogRow
    told: ToldText
    score: float


class ExactHits(NamedTuple):
    found: list[ExactHit]  # best first
    searched: int


class _Texts(Protocol):
    """Texts that can be searched, by numbers of their own."""

    def matching(self, query: str) -> list[Scored]: ...
    def containing(self, words: Sequence[str]) -> Mapping[int, int]: ...
    def texts(self, numbers: Iterable[int]) -> Mapping[int, FoundText]: ...
    def numbers_of(self, memories: Iterable[str]) -> Mapping[str, int]: ...
    def number_of_note(self, name: str) -> int | None: ...
    def passing(self, numbers: Collection[int]) -> set[int]: ...
    def newest(
        self, limit: int, offset: int = 0, *, oldest_first: bool = False, among: Iterable[int] = ()
    ) -> list[int]: ...
    def count(self) -> int: ...
    def rows(self, notes: Sequence[int]) -> Mapping[int, CatalogRow]: ...


class ExactSearch:
    """`left_out` are versions of notes that are nobody's memories."""

    def __init__(self, view: View, left_out: Collection[str] = ()) -> None:
        self._view = view
        self._left_out = left_out

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
        texts = self._texts(filters, tags)
        if query.strip() in _EVERYTHING:
            if not vector:
                found = texts.newest(limit)
                return self._exact_hits(texts, [(number, 1.0) for number in found], limit)
            matches = []
        else:
            matches = _shares_of_best(texts.matching(query))
        if not vector:
            return self._exact_hits(texts, _first_passing(texts, matches, limit), limit)
        near = self._given_vectors.near(vector)
        scored = _first_passing(texts, _blended(texts, matches, near), limit)
        scored += _nearest_only(texts, near, {number for number, _ in matches}, limit)
        return self._exact_hits(texts, sorted(scored, key=lambda each: -each[1]), limit)

    def by_parts(
        self, words: Sequence[str], filters: Sequence[Filters], *, tag: str = "", limit: int = 5
    ) -> ExactHits:
        """By how many of the small-lettered words are part of the text or the tags, the newest
        first among equals; with a tag also those that have no more than the tag."""
        texts = self._texts(filters, [tag] if tag else [])
        counts = texts.containing(words)
        found: list[Scored] = []
        for score in sorted(set(counts.values()), reverse=True):
            if left := limit - len(found):
                alike = [number for number, count in counts.items() if count == score]
                found += [(number, score) for number in texts.newest(left, among=alike)]
        if tag and len(found) < limit:
            more = texts.newest(limit + len(found))
            found += [(number, 0) for number in more if number not in counts]
        return self._exact_hits(texts, found, limit)

    def page(
        self, filters: Sequence[Filters], *, limit: int, offset: int, oldest_first: bool
    ) -> list[ExactHit]:
        texts = self._texts(filters, [])
        numbers = texts.newest(limit, offset, oldest_first=oldest_first)
        return self._exact_hits(texts, [(number, 0.0) for number in numbers], limit).found

    def named(self, name: str, filters: Sequence[Filters]) -> list[ExactHit]:
        """What goes by this name: the id or path of a note, or what a part of one goes by."""
        texts = self._texts(filters, [])
        number = texts.numbers_of([name]).get(name, texts.number_of_note(name))
        if number is None or number not in texts.passing([number]):
            return []
        return self._exact_hits(texts, [(number, 0.0)], 1).found

    def told(self, row: CatalogRow, part: str) -> ToldText | None:
        """A text as it is now; None where it is gone, or has become someone else's."""
        version, told = told_texts(self._view.store, row)
        if version != row.version:
            if not version or not self._view.is_visible(self._view.store.note(row.path)):
                return None
        return next((each for each in told if each.part == part), None)

    def prepare(self) -> bool:
        """Read all texts now, so that no question has to wait for it; False while the index is
        being filled."""
        if self._view.index.is_whole:
            IndexedTexts(self._view, (), (), self._left_out)
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
        text = plain_text(note_body(self._view.store.read(path).raw))
        self._given_vectors.keep_vector(memory, text_digest(text), vector)

    # --- which texts ---------------------------------------------------------------------

    def _texts(self, filters: Sequence[Filters], tags: Sequence[str]) -> _Texts:
        self._view.gaps.warnings()
        kind = IndexedTexts if self._view.gaps.are_none() else ReadTexts
        return kind(self._view, filters, tags, self._left_out)

    def _exact_hits(self, texts: _Texts, ranked: Sequence[Scored], limit: int) -> ExactHits:
        best = list(ranked)[:limit]
        rows = texts.rows([note_of_text(number) for number, _ in best])
        named = texts.texts([number for number, _ in best])
        found: list[ExactHit] = []
        for number, score in best:
            row, text = rows.get(note_of_text(number)), named.get(number)
            if row is None or text is None:
                continue
            part = "" if text.memory in (row.id, row.path) else text.memory
            if told := self.told(row, part):
                found.append(ExactHit(row, told, score))
        return ExactHits(found, texts.count())


# --- scores ----------------------------------------------------------------------------------


def _shares_of_best(matches: Sequence[Scored]) -> list[Scored]:
    best = matches[0][1] if matches else 0.0
    return [(note, max(0.0, score / best) if best > 0 else 1.0) for note, score in matches]


def _first_passing(texts: _Texts, ranked: Sequence[Scored], limit: int) -> list[Scored]:
    """The best that pass; a few are asked about first, since most questions need no more."""
    found: list[Scored] = []
    start, size = 0, max(_FIRST_LOOK, 2 * limit)
    while start < len(ranked) and len(found) < limit:
        part = ranked[start : start + size]
        passing = texts.passing([number for number, _ in part])
        found += [each for each in part if each[0] in passing]
        start, size = start + size, size * 8
    return found[:limit]


def _blended(texts: _Texts, matches: Sequence[Scored], near: Nearness) -> list[Scored]:
    """What has the words, with the meaning of those whose vector is of the text as it is now."""
    known = texts.texts([number for number, _ in matches])
    found: list[Scored] = []
    for number, share in matches:
        text = known.get(number)
        cosine = near.of(text.memory, text.digest) if text else None
        blend = share if cosine is None else _WORDS_SHARE * share + _MEANING_SHARE * cosine
        found.append((number, blend))
    return sorted(found, key=lambda each: -each[1])


def _nearest_only(
    texts: _Texts, near: Nearness, matched: Collection[int], limit: int
) -> list[Scored]:
    """What is near without having the words."""
    ranked = near.nearest_first()
    found: list[Scored] = []
    size, start = max(_FIRST_LOOK, 2 * limit), 0
    while start < len(ranked) and len(found) < limit:
        numbers = texts.numbers_of(ranked[start : start + size])
        scored = [
            (number, _MEANING_SHARE * cosine)
            for number, text in texts.texts(numbers.values()).items()
            if number not in matched and (cosine := near.of(text.memory, text.digest))
        ]
        scored.sort(key=lambda each: -each[1])
        found += _first_passing(texts, scored, limit)
        start, size = start + size, size * 8
    return found[:limit]
