"""Lanes to one ranking: how words and meaning together place a memory.

A memory is a note, or an observation that stands alone in its journal. Each lane scores
memories by their passages. Scores, not ranks, are added by default, in parts of a lane's best:
how clearly a lane prefers a memory is most of what it has to say. How much a lane counts depends
on what it has for this question (`evidence`); beside the lanes counts the share of the question
that a memory says. See docs/decisions.md for what was measured.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, overload

from vaultmem.index import NoteSignals, Replaced, Successor, TextHits

_WHOLE: Final = 0.7  # a memory as one text, beside its best passage
_SECOND: Final = 0.15  # the second passage of a note, by words
# By meaning, all passages of a memory on average, beside the most similar one. The parts of an
# observation are one text, the passages of a note may be about many things.
_OF_NOTE: Final = 0.3
_OF_OBSERVATION: Final = 2.0
_SENTENCE: Final = 0.4  # how far its nearest sentence moves a passage
_WEIGHTS: Final = {"keyword": 1.0, "vector": 1.2, "graph": 0.5}
_COVERED: Final = 0.4
_DECIDEDLY: Final = 1.5  # the power by which the lane counts more that has more
_REPLACED: Final = 0.9
_AS_WELL: Final = 0.5  # in parts of what the earlier one has, where both may hold
_RRF: Final = 60  # how little the first ranks stand out, where ranks are added
_MONTH: Final = 30 * 86_400
# Of what the most relevant memory has. Added ranks differ so little that importance and age would
# decide between a memory that answers and one that merely stands in the same vault.
_RELEVANT: Final = 0.75

PROFILES: Final = ("relevance", "seed")


class MemoryKey(NamedTuple):
    note: int
    observation: int = 0  # the first passage of one that stands alone; 0 for the note itself


class Lane(NamedTuple):
    """How one lane placed a memory."""

    name: str
    rank: int
    score: float  # on the lane's own scale
    share: float = 0.0  # what it gave to the memory's place


class LaneScore(NamedTuple):
    """A memory in one lane: its place's score, its best passage (0: unknown), and what that
    passage scored by itself."""

    score: float
    passage: int
    raw: float


Ranked = dict[MemoryKey, LaneScore]
Boosts = tuple[tuple[str, float], ...]


class Candidate(NamedTuple):
    """A memory with its place, and how it came about."""

    memory: MemoryKey
    score: float
    passage: int = 0  # the one to show; 0: unknown
    lanes: tuple[Lane, ...] = ()
    boosts: Boosts = ()
    covered: float = 0.0  # the share of the question that it says
    above: float = 0.0  # its similarity above the usual


class Lanes:
    """What the lanes of one question found, how much each of them counts, and of memories that
    have words of the question the share that they have."""

    def __init__(
        self,
        found: Mapping[str, Ranked],
        weights: Mapping[str, float],
        covered: Mapping[MemoryKey, float] | None = None,
    ) -> None:
        self._found = found
        self._covered = covered or {}
        total = sum(weights[name] for name in found) + _COVERED * bool(covered) or 1.0
        self._cover = _COVERED / total
        self._scales = {
            name: weights[name] / total / (max((f.score for f in lane.values()), default=0) or 1.0)
            for name, lane in found.items()
        }
        self._ranks: dict[str, dict[MemoryKey, int]] = {}

    def scores(self) -> dict[MemoryKey, float]:
        scores: dict[MemoryKey, float] = {}
        for name in sorted(self._found):
            scale = self._scales[name]
            for memory, found in self._found[name].items():
                scores[memory] = scores.get(memory, 0.0) + found.score * scale
        for memory in scores:
            scores[memory] += self._cover * self._covered.get(memory, 0.0)
        return scores

    def of(self, memory: MemoryKey) -> tuple[Lane, ...]:
        """How each lane placed this memory."""
        return tuple(
            Lane(name, self._rank(name, memory), lane[memory].raw, self._share(name, memory))
            for name, lane in self._found.items()
            if memory in lane
        )

    def _share(self, name: str, memory: MemoryKey) -> float:
        return self._found[name][memory].score * self._scales[name]

    def by_rank(self) -> dict[MemoryKey, float]:
        """Of each lane 1 / (60 + rank), in parts of what the first of every lane gets."""
        scores: dict[MemoryKey, float] = {}
        counting = [name for name in sorted(self._found) if self._scales[name]]
        for name in counting:
            for memory in self._found[name]:
                share = (_RRF + 1) / (_RRF + self._rank(name, memory)) / len(counting)
                scores[memory] = scores.get(memory, 0.0) + share
        return scores

    def _rank(self, name: str, memory: MemoryKey) -> int:
        if name not in self._ranks:
            order = _best_first({each: f.score for each, f in self._found[name].items()})
            self._ranks[name] = {each: rank for rank, (_, each) in enumerate(order, 1)}
        return self._ranks[name][memory]

    def passage(self, memory: MemoryKey) -> int:
        """The passage to show: that of the lane which counted most for this memory."""
        known = (
            (self._share(name, memory), lane[memory].passage)
            for name, lane in self._found.items()
            if memory in lane and lane[memory].passage
        )
        return max(known, default=(0.0, 0))[1]

    def covered(self, memory: MemoryKey) -> float:
        return self._covered.get(memory, 0.0)

    def above(self, memory: MemoryKey) -> float:
        """How far a memory is above the usual, by meaning."""
        found = self._found.get("vector", {}).get(memory)
        return found.score if found else 0.0


class Ranking(Sequence[Candidate]):
    """Memories, best first; ties by their numbers, so always the same way, and of what happened
    the latest first. Most are never shown: a candidate is made of one only when it is looked at."""

    def __init__(self, scores: dict[MemoryKey, float], lanes: Lanes) -> None:
        self._scores = scores
        self._lanes = lanes
        self._boosts: dict[MemoryKey, Boosts] = {}

    @cached_property
    def _order(self) -> list[tuple[float, MemoryKey]]:
        return _best_first(self._scores)

    def first(self, many: int) -> list[MemoryKey]:
        """The memories alone."""
        return [memory for _, memory in self._order[:many]]

    def set_score(self, memory: MemoryKey, score: float, *why: tuple[str, float]) -> None:
        self._scores[memory] = score
        self._boosts[memory] = self._boosts.get(memory, ()) + why
        self.__dict__.pop("_order", None)

    def scores(self) -> list[tuple[MemoryKey, float]]:
        """In no order."""
        return list(self._scores.items())

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> list[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | list[Candidate]:
        if isinstance(place, slice):
            return [self.candidate(memory) for _, memory in self._order[place]]
        return self.candidate(self._order[place][1])

    def candidate(self, memory: MemoryKey) -> Candidate:
        lanes = self._lanes
        boosts = self._boosts.get(memory, ())
        return Candidate(
            memory,
            self._scores[memory],
            lanes.passage(memory),
            lanes.of(memory),
            boosts,
            lanes.covered(memory),
            lanes.above(memory),
        )


def _best_first(scores: Mapping[MemoryKey, float]) -> list[tuple[float, MemoryKey]]:
    # Later events have later numbers, as a rule: their journals are named by their days.
    places = [
        (-score, -memory[0], -memory[1], memory) if memory[1] else (-score, *memory, memory)
        for memory, score in scores.items()
    ]
    places.sort()
    return [(place[0], place[3]) for place in places]


# --- lanes -------------------------------------------------------------------------------------


def by_words(hits: TextHits) -> Ranked:
    """A memory's place: its best passage and its whole text, and of a note a little of its second
    passage. More than that, and long memories win by their length."""
    scores: dict[MemoryKey, float] = {}
    best: dict[MemoryKey, int] = {}
    second: set[MemoryKey] = set()
    for note, observation, passage, score in hits.passages:
        memory = MemoryKey(note, observation)
        if memory not in scores:
            scores[memory], best[memory] = score, passage
        elif not observation and memory not in second:
            scores[memory] += _SECOND * score
            second.add(memory)
    for note, observation, score in hits.memories:
        memory = MemoryKey(note, observation)
        if memory not in scores:  # none of its passages by itself
            scores[memory] = _WHOLE / 2 * score
        else:
            scores[memory] += _WHOLE * score
    return {
        memory: LaneScore(score, best.get(memory, 0), score) for memory, score in scores.items()
    }


def with_sentences(
    hits: Sequence[tuple[int, int, float]], best: Mapping[int, float]
) -> list[tuple[int, int, float]]:
    """A passage of which one sentence is nearer to the question than sentences usually are, beside
    their passage, comes nearer itself. `best` are the nearest sentences of some passages."""
    more = {passage: best[passage] - score for _, passage, score in hits if passage in best}
    usual = statistics.median(more.values()) if more else 0.0
    moved = [
        (note, passage, score + _SENTENCE * (more.get(passage, usual) - usual))
        for note, passage, score in hits
    ]
    return sorted(moved, key=lambda hit: -hit[2])


def by_meaning(
    hits: Sequence[tuple[int, int, float]], observations: Mapping[int, int], usual: float
) -> Ranked:
    """A memory's place: its most similar passage, and all of its that were found on average.
    Every text is somewhat like every other, so only what is above the usual counts."""
    best: dict[MemoryKey, tuple[int, float]] = {}
    above: dict[MemoryKey, list[float]] = {}
    for note, passage, score in hits:
        if passage not in observations:  # it was deleted since
            continue
        memory = MemoryKey(note, observations[passage])
        if memory not in best:
            best[memory], above[memory] = (passage, score), []
        above[memory].append(max(0.0, score - usual))
    return {memory: LaneScore(_place(memory, above[memory]), *best[memory]) for memory in best}


def _place(memory: MemoryKey, above: Sequence[float]) -> float:
    share = _OF_OBSERVATION if memory.observation else _OF_NOTE
    return (above[0] + share * sum(above) / len(above)) / (1 + share)


# --- together ------------------------------------------------------------------------------------


def fused(
    found: Mapping[str, Ranked],
    weights: Mapping[str, float],
    covered: Mapping[MemoryKey, float] | None = None,
) -> Ranking:
    """All memories of all lanes."""
    lanes = Lanes(found, weights, covered)
    return Ranking(lanes.scores(), lanes)


def fused_by_rank(found: Mapping[str, Ranked], weights: Mapping[str, float]) -> Ranking:
    """Reciprocal rank fusion, for the profile that another system's clients expect."""
    lanes = Lanes(found, weights)
    return Ranking(lanes.by_rank(), lanes)


def weights_for(meaning: float) -> dict[str, float]:
    """How much each lane counts when so much of the decision is left to meaning."""
    return {
        **_WEIGHTS,
        "keyword": _WEIGHTS["keyword"] * (1 - meaning) ** _DECIDEDLY,
        "vector": _WEIGHTS["vector"] * meaning**_DECIDEDLY,
    }


# --- what else counts ----------------------------------------------------------------------------


def step_back(ranking: Ranking, replaced: Replaced, question: str = "") -> None:
    """What holds now comes before what it replaced: a successor gets the place that the old note
    has, and the old one stands behind it. What went into another memory comes a little behind its
    equals. Whoever names the old one's year or version wants that one."""
    scores = {memory.note: score for memory, score in ranking.scores() if not memory.observation}
    for note in scores.keys() & replaced.by.keys():
        if _is_followed(replaced.by[note], scores[note], scores, question):
            by = replaced.by[note].note
            place = max(scores[note], scores.get(by, 0.0)) if by else scores[note]
            if by and place > scores.get(by, 0.0):
                scores[by] = place
                ranking.set_score(MemoryKey(by), place, ("replaces", 1.0))
            ranking.set_score(MemoryKey(note), place * _REPLACED, ("superseded", _REPLACED))
    for memory, score in ranking.scores():
        if memory.note in replaced.consolidated:
            ranking.set_score(memory, score * _REPLACED, ("consolidated", _REPLACED))


def names_mark(question: str, mark: str) -> bool:
    """Whether a question names the year, the month or the version in a title."""
    if not mark:
        return False
    number = re.search(r"\d[\d.-]*", mark)
    word = re.escape(number[0] if number else mark.split()[-1])
    version = r"(?:v(?:ersion)?[ .]?)?" if number and mark[:1] in "vV" else ""
    return re.search(rf"(?<![\w.]){version}{word}(?!\w)", question, re.IGNORECASE) is not None


def _is_followed(by: Successor, score: float, scores: Mapping[int, float], question: str) -> bool:
    if names_mark(question, by.mark):
        return False
    return not by.doubtful or scores.get(by.note, 0.0) >= _AS_WELL * score


def prefer_days(ranking: Ranking, fits: Mapping[int, float], weight: float) -> None:
    """What is about the days that a question asks about comes before its equals. `fits` are of
    notes: those of observations are their journal's."""
    best = max((score for _, score in ranking.scores()), default=0.0) or 1.0
    known = {memory.note for memory, _ in ranking.scores()}
    for note in fits.keys() - known:
        ranking.set_score(MemoryKey(note), 0.0)
    for memory, score in ranking.scores():
        if fit := fits.get(memory.note, 0.0):
            more = weight * fit * best
            ranking.set_score(memory, score + more, ("time", more))


def by_cosine(found: Mapping[str, Ranked]) -> Ranking:
    """For the other system's search by vectors alone: how similar a memory's best passage is."""
    lanes = Lanes(found, _WEIGHTS)
    return Ranking({memory: max(0.0, each.raw) for memory, each in found["vector"].items()}, lanes)


def relevant_memories(ranking: Ranking) -> set[MemoryKey]:
    """Those that have a good part of what the most relevant one has."""
    scores = ranking.scores()
    least = _RELEVANT * max((score for _, score in scores), default=0.0)
    return {memory for memory, score in scores if score >= least}


def weigh_as_seed(
    ranking: Ranking,
    signals: Mapping[int, NoteSignals],
    now: float,
    relevant: Collection[MemoryKey],
) -> None:
    """relevance × 0.6 + importance × 0.2 + recency × 0.2; recency halves every month. What is not
    relevant comes behind, as it was ranked."""
    least = 1.0
    for memory, score in ranking.scores():
        if memory not in relevant:
            continue
        known = signals.get(memory.note, NoteSignals(None, int(now) - _MONTH))
        importance = 0.2 * (0.5 if known.importance is None else known.importance)
        recency = 0.2 * 0.5 ** (max(0.0, now - known.changed) / _MONTH)
        why = ("importance", importance), ("recency", recency)
        placed = score * 0.6 + importance + recency
        ranking.set_score(memory, placed, *why)
        least = min(least, placed)
    for memory, score in ranking.scores():
        if memory not in relevant:
            ranking.set_score(memory, least * min(score, 1.0) * 0.6)
