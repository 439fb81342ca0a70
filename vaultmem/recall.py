"""A question to its hits: lanes, fusion, filters, and the winners read from their files."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.index import Filters, Index, Place, Row, TextHits
from vaultmem.markdown import shown
from vaultmem.note import body_of, printable
from vaultmem.passages import passages
from vaultmem.store import Store

if TYPE_CHECKING:
    from vaultmem.index.embed import Embedder

STRATEGIES: Final = ("hybrid", "keyword", "vector")
_DEPTH: Final = 100  # how far each lane looks
_RRF: Final = 60
_SNIPPET: Final = 280


@dataclass(frozen=True)
class Lane:
    """How one lane placed a note."""

    name: str
    rank: int
    score: float


@dataclass(frozen=True)
class Hit:
    row: Row
    score: float  # 0 to 1, comparable within one answer
    passage: str
    snippet: str  # a part of the passage, matches between ** **
    heading: str = ""
    block: str = ""
    lanes: tuple[Lane, ...] = ()

    @property
    def why(self) -> str:
        return ", ".join(f"{lane.name} #{lane.rank}" for lane in self.lanes)


@dataclass
class Answer:
    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    strategy: str = ""
    milliseconds: float = 0.0
    warnings: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # notes whose file is newer than the index


@dataclass
class _Candidate:
    score: float = 0.0
    lanes: list[Lane] = field(default_factory=list)
    passage: int = 0


class Recall:
    def __init__(self, store: Store, index: Index, embedder: Callable[[], Embedder | None]) -> None:
        self.store = store
        self.index = index
        self._embedder = embedder

    def ask(
        self,
        query: str,
        *,
        strategy: str = "hybrid",
        filters: Filters | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> Answer:
        started = time.perf_counter()
        _check(strategy, limit, offset)
        filters = filters or Filters()
        answer = Answer(strategy=strategy)
        lanes, total = self._lanes(query, strategy, filters, max(_DEPTH, limit + offset), answer)
        ranked = _fused(lanes)
        answer.total = max(total, len(ranked)) if strategy != "keyword" else total
        self._read_winners(query, ranked[offset : offset + limit], answer)
        answer.milliseconds = (time.perf_counter() - started) * 1000
        return answer

    # --- lanes -------------------------------------------------------------------------

    def _lanes(
        self, query: str, strategy: str, filters: Filters, depth: int, answer: Answer
    ) -> tuple[dict[str, list[tuple[int, int, float]]], int]:
        """Each lane's notes, best first: note, best passage, score."""
        lanes: dict[str, list[tuple[int, int, float]]] = {}
        if strategy != "keyword":
            found = self._vector_lane(query, filters, depth, answer)
            if found is None:
                answer.strategy = strategy = "keyword"
            else:
                lanes["vector"] = found
        if strategy == "vector":
            return lanes, 0
        try:
            text = self.index.search_text(query, filters, depth)
        except VaultmemError as error:
            answer.warnings.append(f"partial_results: {error}")
            return lanes, 0
        lanes["keyword"] = _by_note(text)
        return lanes, text.total

    def _vector_lane(
        self, query: str, filters: Filters, depth: int, answer: Answer
    ) -> list[tuple[int, int, float]] | None:
        embedder = self._embedder()
        if embedder is None or not query.strip():
            if embedder is None:
                answer.warnings.append("embedding_failed: no model is loaded; searched by words.")
            return None
        vector = embedder.embed_query(query)
        hits = self.index.search_vectors(vector, embedder.identity, filters, depth * 3)
        best: dict[int, tuple[int, int, float]] = {}
        for note, passage, score in hits:
            best.setdefault(note, (note, passage, score))
        return list(best.values())[:depth]

    # --- winners -----------------------------------------------------------------------

    def _read_winners(
        self, query: str, ranked: Sequence[tuple[int, _Candidate]], answer: Answer
    ) -> None:
        rows = self.index.rows(note for note, _ in ranked)
        places = self.index.places(c.passage for _, c in ranked if c.passage)
        first = self.index.first_passages([note for note, c in ranked if c.passage not in places])
        words = query_words(query)
        for note, candidate in ranked:
            row = rows.get(note)
            place = places.get(candidate.passage) or first.get(note)
            if row is None:
                continue
            hit = self._hit(row, place, candidate, words, answer)
            if hit is not None:
                answer.hits.append(hit)

    def _hit(
        self, row: Row, place: Place | None, candidate: _Candidate, words: list[str], answer: Answer
    ) -> Hit | None:
        """The file decides: a note that changed shows its new text, one that is gone is no hit."""
        try:
            stored = self.store.read(row.path)
        except VaultmemError:
            answer.stale.append(row.path)
            return None
        if stored.version == row.version:
            body = shown(body_of(stored.raw))
            text = body[place.start : place.end].strip() if place else body[:1000].strip()
        else:
            answer.stale.append(row.path)
            found = passages(self.store.parse(stored))
            best = max(found, key=lambda p: _matches(p.text, words), default=None)
            text, place = (best.text if best else ""), None
        text = printable(text)
        return Hit(
            row=row,
            score=candidate.score,
            passage=text,
            snippet=snippet(text, words),
            heading=place.heading if place else "",
            block=place.block if place else "",
            lanes=tuple(candidate.lanes),
        )


def _check(strategy: str, limit: int, offset: int) -> None:
    if strategy not in STRATEGIES:
        raise InvalidInput(f"There is no strategy {strategy!r}; use {', '.join(STRATEGIES)}.")
    if not 1 <= limit <= 1000:
        raise InvalidInput(f"The limit must be between 1 and 1000, not {limit}.")
    if offset < 0:
        raise InvalidInput(f"The offset must not be negative ({offset}).")


def _by_note(text: TextHits) -> list[tuple[int, int, float]]:
    """A note's place: its best passages, the further ones counting less, and its own score."""
    scores: dict[int, float] = {}
    best: dict[int, int] = {}
    seen: dict[int, int] = {}
    for note, passage, score in text.passages:
        weight = (1.0, 0.3, 0.1)[seen[note]] if (seen.setdefault(note, 0)) < 3 else 0.0
        seen[note] += 1
        scores[note] = scores.get(note, 0.0) + weight * score
        best.setdefault(note, passage)
    for note, score in text.notes:
        scores[note] = scores.get(note, 0.0) + 0.5 * score
    order = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [(note, best.get(note, 0), score) for note, score in order]


def _fused(lanes: dict[str, list[tuple[int, int, float]]]) -> list[tuple[int, _Candidate]]:
    """Equal-weight reciprocal rank fusion; one lane alone keeps its own order."""
    found: dict[int, _Candidate] = {}
    for name in sorted(lanes):
        for rank, (note, passage, score) in enumerate(lanes[name], 1):
            candidate = found.setdefault(note, _Candidate())
            candidate.score += (_RRF + 1) / (_RRF + rank) / max(1, len(lanes))
            candidate.lanes.append(Lane(name, rank, score))
            candidate.passage = candidate.passage or passage
    return sorted(found.items(), key=lambda item: (-item[1].score, item[0]))


# --- what is shown ---------------------------------------------------------------------------

_WORD: Final = re.compile(r"\w+")


def query_words(query: str) -> list[str]:
    """Stems good enough for marking: a word's first letters, case folded."""
    words = (word.casefold() for word in _WORD.findall(query))
    return [
        word if len(word) <= 4 else word[: max(4, len(word) - 3)]
        for word in words
        if len(word) > 1 or not word.isascii()
    ]


def _matches(text: str, words: list[str]) -> int:
    folded = text.casefold()
    return sum(word in folded for word in words)


def snippet(text: str, words: list[str]) -> str:
    """The part of the passage around its first match, every match marked."""
    pattern = _marker(tuple(words))
    first = pattern.search(text) if pattern else None
    start = max(0, first.start() - _SNIPPET // 3) if first else 0
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = min(len(text), start + _SNIPPET)
    part = text[start:end]
    if pattern:
        part = pattern.sub(r"**\g<0>**", part)
    cut = ("…" if start else "", "…" if end < len(text) else "")
    return re.sub(r"\s+", " ", f"{cut[0]}{part}{cut[1]}").strip()


@functools.lru_cache(64)
def _marker(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Words that begin like one of the question's; in scripts without blanks, any place."""
    starts = [re.escape(word) for word in words if word.isascii()]
    inside = [re.escape(word) for word in words if not word.isascii()]
    parts = [rf"\b(?:{'|'.join(starts)})\w*"] if starts else []
    parts += inside
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None
