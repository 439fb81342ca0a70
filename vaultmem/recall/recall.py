"""A question to its hits: lanes, fusion, filters, and the winners read from their files.

An answer ends where relevance ends, and is empty where the vault knows nothing: what is merely
nearest stands beside it.
"""

from __future__ import annotations

import datetime as dt
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from vaultmem.errors import InvalidInput
from vaultmem.index import AskedWord, Filters, Index
from vaultmem.limits import STRATEGIES
from vaultmem.notes.tags import tag_key
from vaultmem.recall import fusion
from vaultmem.recall.dates import TimeRange, time_range, weight_of_time
from vaultmem.recall.evidence import NO_EVIDENCE, Evidence, HitSigns
from vaultmem.recall.fusion import PROFILES, Candidate, Lane, Ranking
from vaultmem.recall.lanes import LaneSearch, LanesFound, Question
from vaultmem.recall.recency.later_outcomes import LaterOutcomes
from vaultmem.recall.recency.newer_notes import NewerNotes, asks_about_past
from vaultmem.recall.snippets import query_words, snippet
from vaultmem.recall.winners import Hit, Winners
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from vaultmem.embedding.embedder import Embedder

__all__ = ["PROFILES", "Answer", "Asked", "Hit", "Lane", "Recall", "query_words", "snippet"]

_DEPTH: Final = 240  # how far each lane looks; pages behind that look once more, far deeper
_DEEP: Final = 2000
_WHOLE_JOURNALS: Final = 10  # that may stand between the events that are wanted
_LONGEST: Final = 10_000  # characters of a question
_END: Final = 0.005  # below that a hit is none
_NEAREST: Final = 3
_DATED: Final = 60  # notes about the days that are asked about


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
    nearest: list[Hit] = field(default_factory=list)  # where nothing is known: what is not far
    evidence: Evidence = NO_EVIDENCE
    words: tuple[AskedWord, ...] = ()


class Asked(NamedTuple):
    """A question as recall takes it."""

    query: str
    strategy: str
    filters: Filters
    limit: int
    offset: int
    profile: str
    floor: bool


class Recall:
    def __init__(self, store: Store, index: Index, embedder: Callable[[], Embedder | None]) -> None:
        self.store = store
        self.index = index
        self.now: Callable[[], dt.datetime] = dt.datetime.now
        self._lanes = LaneSearch(index, embedder)

    def ask(
        self,
        query: str,
        *,
        strategy: str = "hybrid",
        filters: Filters | None = None,
        limit: int = 10,
        offset: int = 0,
        profile: str = "relevance",
        floor: bool = True,
    ) -> Answer:
        """Without the floor, whatever is nearest is a hit."""
        started = time.perf_counter()
        _check(strategy, limit, offset, profile)
        text = query[:_LONGEST]
        answer = Answer(strategy=strategy)
        if text.strip():
            wanted = filters or Filters()
            times = time_range(text, self.now()) if profile == "relevance" else None
            question = Question(text, strategy, with_journals(wanted), profile, times)
            events = question.filters != wanted
            more = _WHOLE_JOURNALS if events and not offset and limit <= 900 else 0
            ranked = self._page(question, limit + more, offset, answer)
            self._read(question, ranked, answer)
            if answer.hits and profile == "relevance":
                answer.total = max(answer.total, offset + len(answer.hits))
            if events:
                answer.hits = [hit for hit in answer.hits if not hit.is_journal][:limit]
            if floor and profile == "relevance" and "graph" not in answer.strategy:
                _end_where_relevance_ends(answer, offset)
            self._name_near_tags(question.filters, answer)
        else:
            answer.warnings.append("The question is empty; say what to look for.")
        answer.milliseconds = (time.perf_counter() - started) * 1000
        return answer

    def close(self) -> None:
        self._lanes.close()

    def _page(
        self, question: Question, limit: int, offset: int, answer: Answer
    ) -> Sequence[Candidate]:
        """A page of the ranking. What comes behind the first look is put behind it as it was,
        so that every page goes on where the one before ended."""
        found = self._lanes.ask(question, _DEPTH)
        answer.evidence = found.evidence(question.text)
        answer.words, answer.strategy = found.words, found.strategy
        answer.total, answer.more, answer.unsearched = found.total, found.more, found.unsearched
        answer.warnings += found.warnings
        ranking: Sequence[Candidate] = self._ranking(question, found, answer.evidence)
        if question.times and len(ranking):
            dated = dict(ranking[0].boosts).get("time", 0.0) / ranking[0].score
            answer.evidence = answer.evidence._replace(dated=dated)
        if offset + limit > len(ranking) and answer.more:
            ranking = [*ranking, *self._further(question, ranking, answer.evidence)]
        if question.profile == "seed":
            most = answer.total if answer.more and answer.strategy == "keyword" else 0
            answer.total = max(most, self._returnable(question, ranking))
        elif "vector" in found.lanes:
            by_words = answer.total if "keyword" in found.lanes else 0
            answer.total = by_words + found.near_in_meaning
        elif answer.strategy != "keyword" or not answer.more:  # then these are all there are
            answer.total = max(answer.total, len(ranking))
        page = ranking[offset : offset + limit + 1]
        if question.profile == "relevance" and page:
            page = list(_with_relevance(page, offset, ranking[0].score, answer.evidence))
        return page[:limit]

    def _returnable(self, question: Question, ranking: Sequence[Candidate]) -> int:
        """How many could be shown: of a journal its events are, and not the whole of it."""
        if "session" not in question.filters.types or not isinstance(ranking, Ranking):
            return len(ranking)
        memories = [memory for memory, _ in ranking.scores()]
        whole = {memory.note for memory in memories if not memory.observation}
        journals = Filters(types=("session",), forgotten=True)
        left_out = self.index.lookup.passing(whole, journals)
        return sum(bool(memory.observation) or memory.note not in left_out for memory in memories)

    def _further(
        self, question: Question, ranking: Sequence[Candidate], evidence: Evidence
    ) -> Iterator[Candidate]:
        known = {each.memory for each in ranking}
        lowest = ranking[-1].score if ranking else 1.0
        for each in self._ranking(question, self._lanes.ask(question, _DEEP), evidence):
            if each.memory not in known:
                yield each._replace(score=min(each.score, lowest))

    def _ranking(self, question: Question, found: LanesFound, evidence: Evidence) -> Ranking:
        if question.profile == "seed":
            return self._seed_ranking(question, found, evidence)
        ranking = _ranking_by_relevance(found, evidence)
        self._step_back(question, ranking)
        if question.times:
            weight = weight_of_time(question.text, question.times)
            fusion.prefer_days(ranking, self._fits(question, ranking, question.times), weight)
        elif "vector" in found.lanes and question.profile == "relevance":
            if not asks_about_past(question.text):
                NewerNotes(self.index, found.model).prefer(ranking)
        if question.profile == "relevance":
            across = not question.times
            LaterOutcomes(self.store, self.index).prefer(ranking, across=across)
        return ranking

    def _seed_ranking(self, question: Question, found: LanesFound, evidence: Evidence) -> Ranking:
        """As another system's clients expect it: the cosine, or ranks that are added."""
        if question.strategy == "vector" and "vector" in found.lanes:
            return fusion.by_cosine(found.lanes)
        relevant = fusion.relevant_memories(_ranking_by_relevance(found, evidence))
        ranking = fusion.fused_by_rank(found.lanes, fusion.weights_for(evidence.meaning_share))
        self._step_back(question, ranking)
        notes = {memory.note for memory, _ in ranking.scores()}
        fusion.weigh_as_seed(ranking, self.index.lookup.signals(notes), time.time(), relevant)
        return ranking

    def _step_back(self, question: Question, ranking: Ranking) -> None:
        notes = {memory.note for memory, _ in ranking.scores()}
        replaced = self.index.lookup.replaced(notes)
        if replaced.by or replaced.consolidated:
            new = {replaced.by[note].note for note in notes & replaced.by.keys()} - notes
            hidden = new - self.index.lookup.passing(new, question.filters)
            fusion.step_back(ranking, replaced.without(hidden), question.text)

    def _fits(self, question: Question, ranking: Ranking, times: TimeRange) -> dict[int, float]:
        """How well notes fit the days that are asked about: what was found, and what is about
        these days whatever it says."""
        days = self.index.lookup.days({memory.note for memory, _ in ranking.scores()})
        days |= self.index.lookup.dated(question.filters, *times.around, _DATED)
        return {note: times.fit_of_day(dt.date.fromordinal(day)) for note, day in days.items()}

    def _read(self, question: Question, ranked: Sequence[Candidate], answer: Answer) -> None:
        winners = Winners(self.store, self.index, question.text, question.filters)
        answer.hits = list(winners.read(ranked))
        answer.stale = winners.stale

    def _name_near_tags(self, filters: Filters, answer: Answer) -> None:
        """A question that finds nothing by a tag may have misspelt it."""
        if answer.hits or not filters.tags:
            return
        for tag in filters.tags:
            if self.index.lookup.has_tag(tag, filters):
                continue
            close = [f"#{name}" for name in self.index.lookup.tags_near(tag, filters)]
            near = f" Near it are: {', '.join(close)}." if close else ""
            answer.warnings.append(f"There is no tag #{tag_key(tag)} here.{near}")


def _ranking_by_relevance(found: LanesFound, evidence: Evidence) -> Ranking:
    covered = found.covered if "keyword" in found.lanes else None
    return fusion.fused(found.lanes, fusion.weights_for(evidence.meaning_share), covered)


def _with_relevance(
    page: Sequence[Candidate], offset: int, best: float, evidence: Evidence
) -> Iterator[Candidate]:
    """Scores that mean the same for every question, and do not rise on the way down."""
    lowest, part = 1.0, 1 / (best or 1.0)
    for rank, (each, behind) in enumerate(itertools.zip_longest(page, page[1:]), offset + 1):
        lead = (each.score - (behind.score if behind else 0.0)) * part
        signs = HitSigns(each.covered, each.above, each.score * part, lead, 1 / rank)
        lowest = min(lowest, evidence.right(signs))
        yield each._replace(score=lowest)


def _end_where_relevance_ends(answer: Answer, offset: int) -> None:
    if answer.evidence.known < answer.evidence.floor:
        answer.nearest, answer.hits, answer.total = answer.hits[:_NEAREST], [], 0
        return
    end = _END if answer.evidence.settled else 0.0
    answer.nearest = [hit for hit in answer.hits if hit.score < end][:_NEAREST]
    answer.hits = [hit for hit in answer.hits if hit.score >= end]
    if answer.nearest:
        answer.total = min(answer.total, offset + len(answer.hits))


def with_journals(filters: Filters) -> Filters:
    """Whoever asks for episodic memories asks for the events in journals, too, each a memory of
    its own."""
    if "episodic" not in filters.types or "session" in filters.types:
        return filters
    return filters._replace(types=(*filters.types, "session"))


def _check(strategy: str, limit: int, offset: int, profile: str) -> None:
    if strategy not in STRATEGIES:
        raise InvalidInput(f"There is no strategy {strategy!r}; use {', '.join(STRATEGIES)}.")
    if profile not in PROFILES:
        raise InvalidInput(f"There is no profile {profile!r}; use {', '.join(PROFILES)}.")
    if not 1 <= limit <= 1000:
        raise InvalidInput(f"The limit must be between 1 and 1000, not {limit}.")
    if offset < 0:
        raise InvalidInput(f"The offset must not be negative ({offset}).")
