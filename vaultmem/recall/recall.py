"""A question to its hits: lanes, fusion, filters, and the winners read from their files."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from vaultmem import fusion
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.fusion import PROFILES, Candidate, Lane, Ranked, Ranking
from vaultmem.index import Filters, Index, Place, Row
from vaultmem.markdown import shown
from vaultmem.named import Named
from vaultmem.note import body_of, printable
from vaultmem.passages import passages
from vaultmem.snippets import entry_text, matches, query_words, snippet
from vaultmem.store import Store

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from vaultmem.index.embed import Embedder

__all__ = ["PROFILES", "STRATEGIES", "Answer", "Hit", "Lane", "Recall", "query_words", "snippet"]

STRATEGIES: Final = ("hybrid", "keyword", "vector", "graph")
_DEPTH: Final = 240  # how far each lane looks; pages behind that look once more, far deeper
_DEEP: Final = 2000
_LONGEST: Final = 10_000  # characters of a question


@dataclass(frozen=True)
class Hit:
    row: Row
    score: float  # 0 to 1, comparable within one answer
    passage: str
    snippet: str  # a part of the passage, matches between ** **
    heading: str = ""
    block: str = ""
    lanes: tuple[Lane, ...] = ()
    boosts: tuple[tuple[str, float], ...] = ()  # what else moved it, and how far
    is_observation: bool = False

    @property
    def why(self) -> str:
        moved = (f"{name} {by:.2f}" for name, by in self.boosts)
        return ", ".join([*(f"{lane.name} #{lane.rank}" for lane in self.lanes), *moved])


@dataclass
class Answer:
    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    strategy: str = ""
    milliseconds: float = 0.0
    warnings: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # notes whose file is newer than the index
    more: bool = False  # a lane could have gone on


@dataclass(frozen=True)
class _Question:
    text: str
    strategy: str
    filters: Filters
    profile: str


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
        profile: str = "relevance",
    ) -> Answer:
        started = time.perf_counter()
        _check(strategy, limit, offset, profile)
        text = query[:_LONGEST]
        answer = Answer(strategy=strategy)
        if text.strip():
            asked = _Question(text, strategy, filters or Filters(), profile)
            found = self._page(asked, limit, offset, answer)
            self._read_winners(text, found, answer)
            self._name_near_tags(asked.filters, answer)
        else:
            answer.warnings.append("The question is empty; say what to look for.")
        answer.milliseconds = (time.perf_counter() - started) * 1000
        return answer

    def _page(
        self, asked: _Question, limit: int, offset: int, answer: Answer
    ) -> Sequence[Candidate]:
        """A page of the ranking. What comes behind the first look is put behind it as it was,
        so that every page goes on where the one before ended."""
        ranking: Sequence[Candidate] = self._ranking(asked, _DEPTH, answer)
        if offset + limit > len(ranking) and answer.more:
            known = {each.memory for each in ranking}
            further = self._ranking(asked, _DEEP, replace(answer, warnings=[]))
            lowest = ranking[-1].score if ranking else 1.0
            ranking = [
                *ranking,
                *(replace(c, score=min(c.score, lowest)) for c in further if c.memory not in known),
            ]
        if answer.strategy != "keyword" or not answer.more:  # then these are all there are
            answer.total = max(answer.total, len(ranking))
        return ranking[offset : offset + limit]

    def _ranking(self, asked: _Question, depth: int, answer: Answer) -> Ranking:
        lanes, model = self._lanes(asked, depth, answer)
        fuse = fusion.fused_by_rank if asked.profile == "seed" else fusion.fused
        ranking = fuse(lanes, fusion.weights_for(asked.text, model, lanes))
        fusion.step_back(ranking, *self.index.replaced())
        if asked.profile == "seed":
            signals = self.index.signals(list({memory.note for memory, _ in ranking.scores()}))
            fusion.weigh_as_seed(ranking, signals, time.time())
        return ranking

    # --- lanes -------------------------------------------------------------------------

    def _lanes(self, asked: _Question, depth: int, answer: Answer) -> tuple[dict[str, Ranked], str]:
        """What each lane found, and the model that one of them was found with."""
        embedder = self._embedder() if asked.strategy in ("hybrid", "vector") else None
        if embedder is None:
            words = self._by_words(asked, depth, answer)
            if asked.strategy == "graph":
                return self._by_graph(asked, words, answer), ""
            if asked.strategy != "keyword":
                answer.warnings.append("embedding_failed: no model is loaded; searched by words.")
                answer.strategy = "keyword"
            return {"keyword": words}, ""
        if asked.strategy == "vector":
            return {"vector": self._by_meaning(asked, embedder, depth, answer)}, embedder.name
        looking = self._aside.submit(self._by_words, asked, depth, answer)  # the model is slower
        lanes = {"vector": self._by_meaning(asked, embedder, depth, answer)}
        return {**lanes, "keyword": looking.result()}, embedder.name

    @cached_property
    def _aside(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(2, thread_name_prefix="words")

    def close(self) -> None:
        if "_aside" in self.__dict__:
            self._aside.shutdown()

    def _by_words(self, asked: _Question, depth: int, answer: Answer) -> Ranked:
        try:
            text = self.index.search_text(asked.text, asked.filters, depth)
        except VaultmemError as error:
            answer.warnings.append(f"partial_results: {error}")
            return {}
        answer.total = text.total
        if max(len(text.passages), len(text.memories)) >= depth:
            answer.more = True
        return fusion.by_words(text)

    def _by_meaning(
        self, asked: _Question, embedder: Embedder, depth: int, answer: Answer
    ) -> Ranked:
        vector = embedder.embed_query(asked.text)
        hits = self.index.search_vectors(vector, embedder.identity, asked.filters, depth)
        if len(hits) >= depth:
            answer.more = True
        if missing := self.index.count_without_vector(embedder.identity):
            answer.warnings.append(f"partial_results: {missing} passages have no vector yet.")
        alone = self.index.observations([hit[1] for hit in hits])
        usual = self.index.usual_similarity(vector, embedder.identity)
        return fusion.by_meaning(hits, alone, usual)

    def _by_graph(self, asked: _Question, words: Ranked, answer: Answer) -> dict[str, Ranked]:
        found = Named(self.index, asked.filters).near(asked.text)
        if not found:
            answer.strategy = "keyword"
            answer.warnings.append(
                "partial_results: the question names no entity that is known; searched by words."
            )
            return {"keyword": words}
        answer.total = 0
        reached = {memory: each for memory, each in words.items() if memory in found}
        return {"graph": found, "keyword": reached}

    def _name_near_tags(self, filters: Filters, answer: Answer) -> None:
        """A question that finds nothing by a tag may have misspelt it."""
        if answer.hits or not filters.tags:
            return
        known = [tag for tag, _ in self.index.lookup.tags(replace(filters, tags=()))]
        folded = {tag.casefold(): tag for tag in known}
        for tag in filters.tags:
            wanted = tag.lstrip("#").casefold()
            if any(k == wanted or k.startswith(f"{wanted}/") for k in folded):
                continue
            close = [f"#{folded[k]}" for k in difflib.get_close_matches(wanted, folded, 3)]
            near = f" Near it are: {', '.join(close)}." if close else ""
            answer.warnings.append(f"There is no tag #{wanted} here.{near}")

    # --- winners -----------------------------------------------------------------------

    def _read_winners(self, query: str, ranked: Sequence[Candidate], answer: Answer) -> None:
        notes = list({each.memory.note for each in ranked})
        rows = self.index.rows(notes)
        places = self.index.places(map(_passage, ranked))
        words = query_words(query)
        pages = _Pages(self.store)
        unplaced = [c.memory.note for c in ranked if _passage(c) not in places]
        first = self.index.first_passages(unplaced) if unplaced else {}
        for each in ranked:
            row = rows.get(each.memory.note)
            if row is not None:
                place = places.get(_passage(each)) or first.get(row.note)
                hit = _hit(pages, row, place, each, words)
                if pages.is_stale(row):
                    answer.stale.append(row.path)
                if hit is not None:
                    answer.hits.append(hit)


def _passage(candidate: Candidate) -> int:
    return candidate.passage or candidate.memory.observation


class _Pages:
    """The notes of an answer, each read once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._read: dict[str, tuple[str, str] | None] = {}

    def of(self, row: Row) -> tuple[str, str] | None:
        """Version and text; None when the note is gone."""
        if row.path not in self._read:
            try:
                stored = self.store.read(row.path)
                self._read[row.path] = stored.version, shown(body_of(stored.raw))
            except VaultmemError:
                self._read[row.path] = None
        return self._read[row.path]

    def is_stale(self, row: Row) -> bool:
        page = self.of(row)
        return page is None or page[0] != row.version


def _hit(
    pages: _Pages, row: Row, place: Place | None, candidate: Candidate, words: list[str]
) -> Hit | None:
    """The file decides: a note that changed shows its new text, one that is gone is no hit."""
    page = pages.of(row)
    if page is None:
        return None
    body = page[1]
    if not pages.is_stale(row):
        text = body[place.start : place.end].strip() if place else body[:1000].strip()
    else:
        found = passages(pages.store.note(row.path))
        best = max(found, key=lambda p: matches(p.text, words), default=None)
        text, place = (best.text if best else ""), None
    text = printable(text)
    return Hit(
        row=row,
        score=candidate.score,
        passage=text,
        snippet=snippet(entry_text(text), words),
        heading=place.heading if place else "",
        block=place.block if place else "",
        is_observation=place is not None and place.kind == "observation",
        lanes=candidate.lanes,
        boosts=candidate.boosts,
    )


def _check(strategy: str, limit: int, offset: int, profile: str) -> None:
    if strategy not in STRATEGIES:
        raise InvalidInput(f"There is no strategy {strategy!r}; use {', '.join(STRATEGIES)}.")
    if profile not in PROFILES:
        raise InvalidInput(f"There is no profile {profile!r}; use {', '.join(PROFILES)}.")
    if not 1 <= limit <= 1000:
        raise InvalidInput(f"The limit must be between 1 and 1000, not {limit}.")
    if offset < 0:
        raise InvalidInput(f"The offset must not be negative ({offset}).")
