"""The texts that an exact search looks through: as the index knows them or, where it has gaps, as
they are read now."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from vaultmem.index import (
    CatalogRow,
    ExactText,
    Filters,
    FoundText,
    TextsOfNote,
    exact_matches,
    exact_parts,
    exact_words_in_memory,
    text_number,
)
from vaultmem.operations.exact.told_texts import TEXT_TYPES, ToldText, told_texts
from vaultmem.operations.references import is_id_of_ours
from vaultmem.operations.view import View


class IndexedTexts:
    def __init__(
        self,
        view: View,
        filters: Sequence[Filters],
        tags: Sequence[str],
        left_out: Collection[str],
    ) -> None:
        self._view, self._filters, self._tags = view, filters, tags
        self._left_out = left_out
        self._words = view.index.exact_words
        self._words.follow_catalog(TEXT_TYPES, self._read)

    def matching(self, query: str) -> list[tuple[int, float]]:
        return self._words.matching(query)

    def containing(self, words: Sequence[str]) -> Mapping[int, int]:
        return self._words.containing(words)

    def _read(self, notes: Sequence[int]) -> Iterator[TextsOfNote]:
        for note, row in self._view.index.lookup.rows(notes).items():
            yield _texts_of_note(self._view, note, row, self._left_out)

    def texts(self, numbers: Iterable[int]) -> Mapping[int, FoundText]:
        return self._words.texts(numbers)

    def numbers_of(self, memories: Iterable[str]) -> Mapping[str, int]:
        return self._words.numbers_of(memories)

    def number_of_note(self, name: str) -> int | None:
        path = self._view.index.inventory.owner(name) or name
        rows = self._view.index.lookup.at([path]).values()
        return next((text_number(row.note, 0) for row in rows), None)

    def passing(self, numbers: Collection[int]) -> set[int]:
        return self._words.passing(numbers, self._filters, self._tags)

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
        return self._words.count(self._filters, self._tags)

    def rows(self, notes: Sequence[int]) -> Mapping[int, CatalogRow]:
        return self._view.index.lookup.rows(notes)


class ReadTexts:
    def __init__(
        self,
        view: View,
        filters: Sequence[Filters],
        tags: Sequence[str],
        left_out: Collection[str],
    ) -> None:
        wanted = {tag.casefold() for tag in tags}
        rows = [row for each in filters for row in view.gaps.select(each, "created")[0]]
        self._rows = dict(enumerate(rows))
        read = (_texts_of_note(view, note, row, left_out) for note, row in self._rows.items())
        texts = [text for each in read for text in each.texts]
        texts = [text for text in texts if wanted <= set(text.tags.casefold().split())]
        texts.sort(key=lambda text: (text.made, text.memory))
        self._texts = {text.number: text for text in texts}

    def matching(self, query: str) -> list[tuple[int, float]]:
        with exact_words_in_memory(self._texts.values()) as db:
            return exact_matches(db, query)

    def containing(self, words: Sequence[str]) -> Mapping[int, int]:
        with exact_words_in_memory(self._texts.values()) as db:
            return exact_parts(db, words)

    def texts(self, numbers: Iterable[int]) -> Mapping[int, FoundText]:
        known = ((number, self._texts[number]) for number in numbers if number in self._texts)
        return {n: FoundText(text.memory, text.digest, text.tags) for n, text in known}

    def numbers_of(self, memories: Iterable[str]) -> Mapping[str, int]:
        wanted = set(memories)
        return {text.memory: n for n, text in self._texts.items() if text.memory in wanted}

    def number_of_note(self, name: str) -> int | None:
        notes = (note for note, row in self._rows.items() if name in (row.id, row.path))
        return next((text_number(note, 0) for note in notes), None)

    def passing(self, numbers: Collection[int]) -> set[int]:
        return set(numbers) & self._texts.keys()

    def newest(
        self, limit: int, offset: int = 0, *, oldest_first: bool = False, among: Iterable[int] = ()
    ) -> list[int]:
        some = set(among)
        numbers = [number for number in self._texts if not some or number in some]
        ordered = numbers if oldest_first else numbers[::-1]
        return ordered[offset : offset + limit]

    def count(self) -> int:
        return len(self._texts)

    def rows(self, notes: Sequence[int]) -> Mapping[int, CatalogRow]:
        return {note: self._rows[note] for note in notes}


def _texts_of_note(
    view: View, note: int, row: CatalogRow, left_out: Collection[str]
) -> TextsOfNote:
    version, told = told_texts(view.store, row)
    if version in left_out:
        return TextsOfNote(note, version, ())
    texts = (_exact_text(row, text_number(note, i), each) for i, each in _placed(told))
    return TextsOfNote(note, version, tuple(texts))


def _placed(told: Sequence[ToldText]) -> Iterator[tuple[int, ToldText]]:
    """The note as such has the place 0."""
    parts = 0
    for each in told:
        parts += bool(each.part)
        yield parts if each.part else 0, each


def _exact_text(row: CatalogRow, number: int, told: ToldText) -> ExactText:
    return ExactText(
        number,
        row.scope.casefold() == "session",
        told.part or (row.id if is_id_of_ours(row.id) else row.path),
        int(told.made.timestamp()),
        text_digest(told.content),
        told.title.lower(),
        (told.part or row.key or row.id or row.path).lower(),
        told.content.lower(),
        " ".join(told.tags).lower(),
    )


def text_digest(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()[:16]
