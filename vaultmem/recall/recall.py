"""A question to its hits: lanes, fusion, filters, and the winners read from their files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from vaultmem.errors import Away, InvalidInput, VaultmemError
from vaultmem.index import (
    INDEX_FAILURES,
    CatalogRow,
    Filters,
    Index,
    PassagePlace,
    passes_binding_filters,
)
from vaultmem.limits import STRATEGIES
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.markdown import text_without_comments
from vaultmem.notes.note import Note, note_body, printable
from vaultmem.notes.own_properties import own_property_lines
from vaultmem.notes.passages import passages
from vaultmem.notes.tags import tag_key
from vaultmem.recall import fusion
from vaultmem.recall.fusion import PROFILES, Candidate, Lane, Ranked, Ranking
from vaultmem.recall.graph_lane import GraphLane
from vaultmem.recall.snippets import entry_text, matches, query_words, snippet
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from vaultmem.embedding.embedder import Embedder

__all__ = ["PROFILES", "Answer", "Hit", "Lane", "Recall", "query_words", "snippet"]

_DEPTH: Final = 240  # how far each lane looks; pages behind that look once more, far deeper
_DEEP: Final = 2000
_WHOLE_JOURNALS: Final = 10  # that may stand between the events that are wanted
_LONGEST: Final = 10_000  # characters of a question
_ITEM: Final = re.compile(r"\s*[-*+] ")
_CONTINUED: Final = re.compile(r"[^\S\n]*\S|\s*\n[ \t]+\S")


class Hit(NamedTuple):
    row: CatalogRow
    score: float  # 0 to 1, comparable within one answer
    passage: str
    snippet: str  # a part of the passage, matches between ** **
    heading: str = ""
    block: str = ""
    lanes: tuple[Lane, ...] = ()
    boosts: tuple[tuple[str, float], ...] = ()  # what else moved it, and how far
    is_observation: bool = False
    whole: bool = False  # the passage is all of the memory's text

    @property
    def is_journal(self) -> bool:
        """All of it, not one of the events in it."""
        return self.row.type == "session" and not (self.is_observation and self.block)

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
    unsearched: bool = False  # the words could not be looked for


class _Question(NamedTuple):
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
            wanted = filters or Filters()
            question = _Question(text, strategy, with_journals(wanted), profile)
            events = question.filters != wanted
            more = _WHOLE_JOURNALS if events and not offset and limit <= 900 else 0
            found = self._page(question, limit + more, offset, answer)
            self._read_winners(question, found, answer)
            self._name_near_tags(question.filters, answer)
            if events:
                answer.hits = [hit for hit in answer.hits if not hit.is_journal][:limit]
        else:
            answer.warnings.append("The question is empty; say what to look for.")
        answer.milliseconds = (time.perf_counter() - started) * 1000
        return answer

    def _page(
        self, question: _Question, limit: int, offset: int, answer: Answer
    ) -> Sequence[Candidate]:
        """A page of the ranking. What comes behind the first look is put behind it as it was,
        so that every page goes on where the one before ended."""
        ranking: Sequence[Candidate] = self._ranking(question, _DEPTH, answer)
        if offset + limit > len(ranking) and answer.more:
            known = {each.memory for each in ranking}
            further = self._ranking(question, _DEEP, replace(answer, warnings=[]))
            lowest = ranking[-1].score if ranking else 1.0
            ranking = [
                *ranking,
                *(c._replace(score=min(c.score, lowest)) for c in further if c.memory not in known),
            ]
        if answer.strategy != "keyword" or not answer.more:  # then these are all there are
            answer.total = max(answer.total, len(ranking))
        return ranking[offset : offset + limit]

    def _ranking(self, question: _Question, depth: int, answer: Answer) -> Ranking:
        lanes, model = self._lanes(question, depth, answer)
        fuse = fusion.fused_by_rank if question.profile == "seed" else fusion.fused
        ranking = fuse(lanes, fusion.weights_for(question.text, model, lanes))
        fusion.step_back(ranking, *self.index.lookup.replaced())
        if question.profile == "seed":
            signals = self.index.lookup.signals(
                list({memory.note for memory, _ in ranking.scores()})
            )
            fusion.weigh_as_seed(ranking, signals, time.time())
        return ranking

    # --- lanes -------------------------------------------------------------------------

    def _lanes(
        self, question: _Question, depth: int, answer: Answer
    ) -> tuple[dict[str, Ranked], str]:
        """What each lane found, and the model that one of them was found with."""
        embedder = self._embedder() if question.strategy in ("hybrid", "vector") else None
        if embedder is None:
            words = self._by_words(question, depth, answer)
            if question.strategy == "graph":
                return self._by_graph(question, words, answer), ""
            if question.strategy != "keyword":
                answer.warnings.append("embedding_failed: no model is loaded; searched by words.")
                answer.strategy = "keyword"
            return {"keyword": words}, ""
        if question.strategy == "vector":
            lanes = self._by_meaning(question, embedder, depth, answer)
            return lanes or {"keyword": self._by_words(question, depth, answer)}, embedder.name
        by_words = self._aside.submit(
            self._by_words, question, depth, answer
        )  # the model is slower
        lanes = self._by_meaning(question, embedder, depth, answer)
        return {**lanes, "keyword": by_words.result()}, embedder.name

    @cached_property
    def _aside(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(2, thread_name_prefix="words")

    def close(self) -> None:
        if "_aside" in self.__dict__:
            self._aside.shutdown()

    def _by_words(self, question: _Question, depth: int, answer: Answer) -> Ranked:
        try:
            text = self.index.search_text(question.text, question.filters, depth)
        except INDEX_FAILURES as error:
            answer.warnings.append(f"partial_results: {error}")
            answer.unsearched = True
            return {}
        answer.total = text.total
        if max(len(text.passages), len(text.memories)) >= depth:
            answer.more = True
        return fusion.by_words(text)

    def _by_meaning(
        self, question: _Question, embedder: Embedder, depth: int, answer: Answer
    ) -> dict[str, Ranked]:
        """The lane of meaning, or none where the vectors cannot be used now."""
        try:
            return {"vector": self._near(question, embedder, depth, answer)}
        except INDEX_FAILURES as error:
            answer.warnings.append(f"partial_results: searched by words alone. {error}")
            return {}

    def _near(self, question: _Question, embedder: Embedder, depth: int, answer: Answer) -> Ranked:
        vector = embedder.embed_query(question.text)
        hits = self.index.vectors.search(vector, embedder.identity, question.filters, depth)
        if len(hits) >= depth:
            answer.more = True
        if missing := self.index.vectors.count_missing(embedder.identity):
            bound = (
                question.filters.user or question.filters.home
            )  # how many there are is not theirs
            many = "some" if bound else missing
            answer.warnings.append(f"partial_results: {many} passages have no vector yet.")
        alone = self.index.lookup.observations([hit[1] for hit in hits])
        usual = self.index.vectors.usual_similarity(vector, embedder.identity)
        return fusion.by_meaning(hits, alone, usual)

    def _by_graph(self, question: _Question, words: Ranked, answer: Answer) -> dict[str, Ranked]:
        found = GraphLane(self.index, question.filters).near(question.text)
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
        from vaultmem.base.line_difference import close_names

        known = [tag for tag, _ in self.index.lookup.tags(filters._replace(tags=()))]
        folded = {tag.casefold(): tag for tag in known}
        for tag in filters.tags:
            wanted = tag_key(tag)
            if any(k == wanted or k.startswith(f"{wanted}/") for k in folded):
                continue
            close = [f"#{folded[k]}" for k in close_names(wanted, folded, 3, 0.6)]
            near = f" Near it are: {', '.join(close)}." if close else ""
            answer.warnings.append(f"There is no tag #{wanted} here.{near}")

    # --- winners -----------------------------------------------------------------------

    def _read_winners(
        self, question: _Question, ranked: Sequence[Candidate], answer: Answer
    ) -> None:
        notes = list({each.memory.note for each in ranked})
        rows = self.index.lookup.rows(notes)
        places = self.index.lookup.places(map(_passage, ranked))
        words = query_words(question.text)
        pages = _Pages(self.store, question.filters)
        unplaced = [c.memory.note for c in ranked if _passage(c) not in places]
        first = self.index.lookup.first_passages(unplaced) if unplaced else {}
        for each in ranked:
            row = rows.get(each.memory.note)
            if row is not None:
                place = places.get(_passage(each)) or first.get(row.note)
                hit = _hit(pages, row, place, each, words) or _unread(pages, row, place, each)
                if pages.is_stale(row):
                    answer.stale.append(row.path)
                if hit is not None:
                    answer.hits.append(hit)


def with_journals(filters: Filters) -> Filters:
    """Whoever asks for episodic memories asks for the events in journals, too, each a memory of
    its own."""
    if "episodic" not in filters.types or "session" in filters.types:
        return filters
    return filters._replace(types=(*filters.types, "session"))


def _passage(candidate: Candidate) -> int:
    return candidate.passage or candidate.memory.observation


class _Pages:
    """The notes of an answer, each read once."""

    def __init__(self, store: Store, filters: Filters) -> None:
        self.store = store
        self._filters = filters
        self._read: dict[str, tuple[str, str, str] | None] = {}
        self.away = False  # the whole vault, not a note

    def of(self, row: CatalogRow) -> tuple[str, str, str] | None:
        """Version, what may be shown, and all that stands there; None when the note is gone."""
        if row.path not in self._read:
            try:
                stored = self.store.read(row.path)
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


def _check(strategy: str, limit: int, offset: int, profile: str) -> None:
    if strategy not in STRATEGIES:
        raise InvalidInput(f"There is no strategy {strategy!r}; use {', '.join(STRATEGIES)}.")
    if profile not in PROFILES:
        raise InvalidInput(f"There is no profile {profile!r}; use {', '.join(PROFILES)}.")
    if not 1 <= limit <= 1000:
        raise InvalidInput(f"The limit must be between 1 and 1000, not {limit}.")
    if offset < 0:
        raise InvalidInput(f"The offset must not be negative ({offset}).")
