"""Lanes to one ranking: how words and meaning together place a memory.

A memory is a note, or an observation that stands alone in its journal. Each lane scores
memories by their passages. Scores, not ranks, are added by default, in parts of a lane's best:
how clearly a lane prefers a memory is most of what it has to say. See docs/decisions.md for
what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

from vaultmem.index import Signals, TextHits

_WHOLE: Final = 0.7  # a memory as one text, beside its best passage
_SECOND: Final = 0.15  # the second passage of a note, by words
# By meaning, all passages of a memory on average, beside the most similar one. The parts of an
# observation are one text, the passages of a note may be about many things.
_OF_NOTE: Final = 0.3
_OF_OBSERVATION: Final = 2.0
_WEIGHTS: Final = {"keyword": 1.0, "vector": 0.45, "graph": 0.5}
_REPLACED: Final = 0.9
_RRF: Final = 60  # how little the first ranks stand out, where ranks are added
_MONTH: Final = 30 * 86_400
_LETTERS: Final = re.compile(r"[^\W\d_]")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f]")
_ENGLISH: Final = re.compile(r"english|\ben\b|minilm-l6|-en-", re.IGNORECASE)

PROFILES: Final = ("relevance", "seed")


class Memory(NamedTuple):
    note: int
    observation: int = 0  # the first passage of one that stands alone; 0 for the note itself


@dataclass(frozen=True)
class Lane:
    """How one lane placed a memory."""

    name: str
    rank: int
    score: float  # on the lane's own scale
    share: float = 0.0  # what it gave to the memory's place


class Found(NamedTuple):
    """A memory in one lane: its place's score, its best passage (0: unknown), and what that
    passage scored by itself."""

    score: float
    passage: int
    raw: float


Ranked = dict[Memory, Found]
Boosts = tuple[tuple[str, float], ...]


@dataclass(slots=True)
class Candidate:
    """A memory with its score; how it came about is worked out only for those that are shown."""

    memory: Memory
    score: float
    source: Lanes
    boosts: Boosts = ()

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return self.source.of(self.memory)

    @property
    def passage(self) -> int:
        return self.source.passage(self.memory)


class Lanes:
    """What the lanes of one question found, and how much each of them counts."""

    def __init__(self, found: Mapping[str, Ranked], weights: Mapping[str, float]) -> None:
        self._found = found
        total = sum(weights[name] for name in found) or 1.0
        self._scales = {
            name: weights[name] / total / (max((f.score for f in lane.values()), default=0) or 1.0)
            for name, lane in found.items()
        }
        self._ranks: dict[str, dict[Memory, int]] = {}

    def scores(self) -> dict[Memory, float]:
        scores: dict[Memory, float] = {}
        for name in sorted(self._found):
            scale = self._scales[name]
            for memory, found in self._found[name].items():
                scores[memory] = scores.get(memory, 0.0) + found.score * scale
        return scores

    def of(self, memory: Memory) -> tuple[Lane, ...]:
        """How each lane placed this memory."""
        return tuple(
            Lane(name, self._rank(name, memory), lane[memory].raw, self._share(name, memory))
            for name, lane in self._found.items()
            if memory in lane
        )

    def _share(self, name: str, memory: Memory) -> float:
        return self._found[name][memory].score * self._scales[name]

    def by_rank(self) -> dict[Memory, float]:
        """Of each lane 1 / (60 + rank), in parts of what the first of every lane gets."""
        scores: dict[Memory, float] = {}
        counting = [name for name in sorted(self._found) if self._scales[name]]
        for name in counting:
            for memory in self._found[name]:
                share = (_RRF + 1) / (_RRF + self._rank(name, memory)) / len(counting)
                scores[memory] = scores.get(memory, 0.0) + share
        return scores

    def _rank(self, name: str, memory: Memory) -> int:
        if name not in self._ranks:
            lane = self._found[name]
            order = sorted(lane, key=lambda each: (-lane[each].score, each))
            self._ranks[name] = {each: rank for rank, each in enumerate(order, 1)}
        return self._ranks[name][memory]

    def passage(self, memory: Memory) -> int:
        """The passage to show: the one with the question's words, else the most similar one."""
        for name in ("keyword", "vector", "graph"):
            found = self._found.get(name, {}).get(memory)
            if found and found.passage:
                return found.passage
        return 0


# --- lanes -------------------------------------------------------------------------------------


def by_words(hits: TextHits) -> Ranked:
    """A memory's place: its best passage and its whole text, and of a note a little of its second
    passage. More than that, and long memories win by their length."""
    scores: dict[Memory, float] = {}
    best: dict[Memory, int] = {}
    second: set[Memory] = set()
    for note, observation, passage, score in hits.passages:
        memory = Memory(note, observation)
        if memory not in scores:
            scores[memory], best[memory] = score, passage
        elif not observation and memory not in second:
            scores[memory] += _SECOND * score
            second.add(memory)
    for note, observation, score in hits.memories:
        memory = Memory(note, observation)
        if memory not in scores:  # none of its passages by itself
            scores[memory] = _WHOLE / 2 * score
        else:
            scores[memory] += _WHOLE * score
    return {memory: Found(score, best.get(memory, 0), score) for memory, score in scores.items()}


def by_meaning(
    hits: Sequence[tuple[int, int, float]], observations: Mapping[int, int], usual: float
) -> Ranked:
    """A memory's place: its most similar passage, and all of its that were found on average.
    Every text is somewhat like every other, so only what is above the usual counts."""
    best: dict[Memory, tuple[int, float]] = {}
    above: dict[Memory, list[float]] = {}
    for note, passage, score in hits:
        if passage not in observations:  # it was deleted since
            continue
        memory = Memory(note, observations[passage])
        if memory not in best:
            best[memory], above[memory] = (passage, score), []
        above[memory].append(max(0.0, score - usual))
    return {memory: Found(_place(memory, above[memory]), *best[memory]) for memory in best}


def _place(memory: Memory, above: Sequence[float]) -> float:
    share = _OF_OBSERVATION if memory.observation else _OF_NOTE
    return (above[0] + share * sum(above) / len(above)) / (1 + share)


# --- together ------------------------------------------------------------------------------------


def fused(found: Mapping[str, Ranked], weights: Mapping[str, float]) -> list[Candidate]:
    """All memories of all lanes, best first."""
    lanes = Lanes(found, weights)
    return in_order(Candidate(memory, score, lanes) for memory, score in lanes.scores().items())


def fused_by_rank(found: Mapping[str, Ranked], weights: Mapping[str, float]) -> list[Candidate]:
    """Reciprocal rank fusion, for the profile that another system's clients expect."""
    lanes = Lanes(found, weights)
    return in_order(Candidate(memory, score, lanes) for memory, score in lanes.by_rank().items())


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Ties by their numbers, so always the same way."""
    keyed = [(-each.score, *each.memory, each) for each in candidates]
    keyed.sort(key=itemgetter(0, 1, 2))
    return [each for *_, each in keyed]


def weights_for(query: str, model: str, lanes: Mapping[str, Ranked]) -> dict[str, float]:
    """A model of English says nothing about other scripts: there the words alone decide."""
    weights = dict(_WEIGHTS)
    if lanes.get("keyword") and _ENGLISH.search(model) and not _is_latin(query):
        weights["vector"] = 0.0
    return weights


def _is_latin(query: str) -> bool:
    letters = len(_LETTERS.findall(query))
    return not letters or len(_LATIN.findall(query)) * 2 > letters


# --- what else counts ----------------------------------------------------------------------------


def stepped_back(
    candidates: Sequence[Candidate], superseded: Set[int], consolidated: Set[int]
) -> list[Candidate]:
    """What was replaced, or went into another memory, a little behind its equals."""
    if not superseded and not consolidated:
        return list(candidates)
    for each in candidates:
        if each.memory.note in superseded:
            _boost(each, "superseded", _REPLACED)
        elif each.memory.note in consolidated:
            _boost(each, "consolidated", _REPLACED)
    return in_order(candidates)


def _boost(candidate: Candidate, name: str, factor: float) -> None:
    candidate.score *= factor
    candidate.boosts += ((name, factor),)


def by_seed(
    candidates: Sequence[Candidate], signals: Mapping[int, Signals], now: float
) -> list[Candidate]:
    """relevance × 0.6 + importance × 0.2 + recency × 0.2; recency halves every month."""
    for each in candidates:
        known = signals.get(each.memory.note, Signals(None, int(now) - _MONTH))
        importance = 0.5 if known.importance is None else known.importance
        recency = 0.5 ** (max(0.0, now - known.changed) / _MONTH)
        each.score = each.score * 0.6 + importance * 0.2 + recency * 0.2
        each.boosts += (("importance", importance * 0.2), ("recency", recency * 0.2))
    return in_order(candidates)
