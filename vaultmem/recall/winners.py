"""The winners of a question, read from their files: the file decides what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from vaultmem.errors import Away, VaultmemError
from vaultmem.index import (
    NOTHING_REPLACED,
    CatalogRow,
    Filters,
    Index,
    PassagePlace,
    passes_binding_filters,
)
from vaultmem.notes.attributes import attributes_of, own_property_lines
from vaultmem.notes.markdown import text_without_comments
from vaultmem.notes.note import Note, note_body, one_line, printable
from vaultmem.notes.passages import passages
from vaultmem.recall.fusion import Candidate, Lane
from vaultmem.recall.snippets import entry_text, matches, query_words, snippet
from vaultmem.storage.store import Store

UNNAMED: Final = "?"  # what replaced a note, where nobody says
_HEAD: Final = 10_000  # bytes in which other names are looked for
_ITEM: Final = re.compile(r"\s*[-*+] ")
_CONTINUED: Final = re.compile(r"[^\S\n]*\S|\s*\n[ \t]+\S")


class Hit(NamedTuple):
    row: CatalogRow
    score: float  # how probably it is a right one, whatever the question; 0 to 1
    passage: str
    snippet: str  # a part of the passage, matches between ** **
    heading: str = ""
    block: str = ""
    lanes: tuple[Lane, ...] = ()
    boosts: tuple[tuple[str, float], ...] = ()  # what else moved it, and how far
    is_observation: bool = False
    whole: bool = False  # the passage is all of the memory's text
    superseded_by: str = ""  # the title of what replaced it; a question mark where nobody says
    later: str = ""  # of what came after it, by its name

    @property
    def is_journal(self) -> bool:
        """All of it, not one of the events in it."""
        return self.row.type == "session" and not (self.is_observation and self.block)

    @property
    def why(self) -> str:
        moved = (f"{name} {by:.2f}" for name, by in self.boosts)
        return ", ".join([*(f"{lane.name} #{lane.rank}" for lane in self.lanes), *moved])


class Winners:
    """Reads hits for one question."""

    def __init__(self, store: Store, index: Index, question: str, filters: Filters) -> None:
        self._lookup = index.lookup
        self._words = query_words(question)
        self._filters = filters
        self._pages = _Pages(store, filters)
        self.stale: list[str] = []  # notes whose file is newer than the index
        self._replaced = NOTHING_REPLACED

    def read(self, ranked: Sequence[Candidate]) -> Iterator[Hit]:
        rows = self._lookup.rows({each.memory.note for each in ranked})
        places = self._lookup.places(map(_passage, ranked))
        unplaced = [each.memory.note for each in ranked if _passage(each) not in places]
        first = self._lookup.first_passages(unplaced) if unplaced else {}
        self._replaced = self._lookup.replaced(rows)
        told: set[tuple[int, str]] = set()
        for each in ranked:
            if (row := rows.get(each.memory.note)) is None:
                continue
            place = places.get(_passage(each)) or first.get(row.note)
            hit = _hit(self._pages, row, place, each, self._words)
            if self._pages.is_stale(row):
                self.stale.append(row.path)
            if hit := hit or _unread(self._pages, row, place, each):
                if hit.is_observation and hit.block:  # a journal found by its name shows its first
                    if (row.note, hit.block) in told:
                        continue
                    told.add((row.note, hit.block))
                yield self._with_successor(hit)

    def _with_successor(self, hit: Hit) -> Hit:
        by = self._replaced.by.get(hit.row.note)
        if by is None or (hit.is_observation and hit.block):
            return hit
        visible = self._lookup.passing([by.note], self._filters)
        title = self._lookup.rows(visible)[by.note].title if visible else ""
        if by.by_name:
            return hit._replace(later=title)
        return hit._replace(superseded_by=title or UNNAMED)


def _passage(candidate: Candidate) -> int:
    return candidate.passage or candidate.memory.observation


class _Pages:
    """The notes of an answer, each read once."""

    def __init__(self, store: Store, filters: Filters) -> None:
        self.store = store
        self._filters = filters
        self._read: dict[str, tuple[str, str, str] | None] = {}
        self._aliased: set[str] = set()  # paths of notes that may have other names
        self.away = False  # the whole vault, not a note

    def of(self, row: CatalogRow) -> tuple[str, str, str] | None:
        """Version, what may be shown, and all that stands there; None when the note is gone."""
        if row.path not in self._read:
            try:
                stored = self.store.read(row.path)
                if b"alias" in stored.raw[:_HEAD].lower():
                    self._aliased.add(row.path)
                body = note_body(stored.raw)
                self._read[row.path] = stored.version, text_without_comments(body), body
            except VaultmemError as error:
                self._read[row.path] = None
                self.away |= isinstance(error, Away)
        return self._read[row.path]

    def is_stale(self, row: CatalogRow) -> bool:
        page = self.of(row)
        return page is None or page[0] != row.version

    def properties(self, row: CatalogRow) -> str:
        return own_property_lines(self.store.note(row.path))

    def matched_alias(self, row: CatalogRow, words: list[str], shown: str) -> str:
        """The other name by which a note was found, where nothing that is shown has it."""
        if row.path not in self._aliased:
            return ""
        folded = f"{row.title} {shown}".casefold()
        if not (missing := [word for word in words if word not in folded]):
            return ""
        aliases = self.store.note(row.path).aliases
        best = max(aliases, key=lambda alias: matches(alias, missing), default="")
        return best if matches(best, missing) else ""

    def anew(self, row: CatalogRow) -> Note | None:
        """A note that was changed since it was indexed; None where it became someone else's."""
        note = self.store.note(row.path)
        attributes = attributes_of(note, self.store.settings)
        return note if passes_binding_filters(attributes, self._filters) else None


def _hit(
    pages: _Pages,
    row: CatalogRow,
    place: PassagePlace | None,
    candidate: Candidate,
    words: list[str],
) -> Hit | None:
    """The file decides: a note that changed shows its new text, one that is gone is no hit."""
    page = pages.of(row)
    if page is None:
        return None
    _, body, everything = page
    alone = place is not None and place.kind == "observation" and bool(place.block)
    if not pages.is_stale(row):
        said = pages.properties(row) if place and place.kind == "properties" else body
        text = said[place.start : place.end].strip() if place else body[:1000].strip()
    else:
        note = pages.anew(row)
        if note is None:
            return None
        best = max(passages(note), key=lambda p: matches(p.text, words), default=None)
        text, place, everything = (best.text if best else ""), None, note.body
    whole = text == everything.strip()
    if alone and place:
        whole = _is_all_of_item(body, place)
    text = printable(text)
    if alias := pages.matched_alias(row, words, text):
        text = f"aliases: {one_line(alias)}\n\n{text}"
    return Hit(
        row=row,
        score=candidate.score,
        passage=text,
        snippet=snippet(entry_text(text), words),
        heading=place.heading if place else "",
        block=place.block if place else "",
        is_observation=place is not None and place.kind == "observation",
        whole=whole,
        lanes=candidate.lanes,
        boosts=candidate.boosts,
    )


def _unread(
    pages: _Pages, row: CatalogRow, place: PassagePlace | None, candidate: Candidate
) -> Hit | None:
    """What the index alone knows of a hit, while the vault is away."""
    if not pages.away or pages.of(row) is not None:
        return None
    heading, block = (place.heading, place.block) if place else ("", "")
    return Hit(row, candidate.score, "", "", heading, block, candidate.lanes, candidate.boosts)


def _is_all_of_item(body: str, place: PassagePlace) -> bool:
    """Whether an observation is shown from its mark to its end: a long one has several parts."""
    begins = _ITEM.match(body, place.start) is not None
    return begins and _CONTINUED.match(body, place.end) is None
