"""Lanes to one ranking: how words and meaning together place a memory.

A memory is a note, or an observation that stands alone in its journal. Each lane scores
memories by their passages. Scores, not ranks, are added, each in parts of its lane's best:
how clearly a lane prefers a memory is most of what it has to say. See docs/decisions.md for
what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vaultmem.index import Signals, TextHits

_DECAY: Final = (1.0, 0.3, 0.1)  # a memory's best passage, its second, its third
_WHOLE: Final = 0.7  # the memory as one text
_SECOND: Final = 0.15  # the second most similar passage
_WEIGHTS: Final = {"keyword": 1.0, "vector": 0.45, "graph": 0.5}
_REPLACED: Final = 0.9
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


@dataclass(frozen=True)
class Candidate:
    memory: Memory
    score: float
    passage: int = 0
    lanes: tuple[Lane, ...] = ()
    boosts: tuple[tuple[str, float], ...] = ()


Ranked = dict[Memory, Found]


# --- lanes -------------------------------------------------------------------------------------


def by_words(hits: TextHits) -> Ranked:
    """A memory's place: its best passages, the further ones counting less, and its whole text."""
    scores: dict[Memory, float] = {}
    best: dict[Memory, int] = {}
    seen: dict[Memory, int] = {}
    for note, observation, passage, score in hits.passages:
        memory = Memory(note, observation)
        place = seen.get(memory, 0)
        if place < len(_DECAY):
            scores[memory] = scores.get(memory, 0.0) + _DECAY[place] * score
            best.setdefault(memory, passage)
            seen[memory] = place + 1
    for note, observation, score in hits.memories:
        memory = Memory(note, observation)
        if memory not in scores:  # none of its passages by itself
            scores[memory] = _WHOLE / 2 * score
        else:
            scores[memory] += _WHOLE * score
    return {memory: Found(score, best.get(memory, 0), score) for memory, score in scores.items()}


def by_meaning(hits: Sequence[tuple[int, int, float]], observations: Mapping[int, int]) -> Ranked:
    """A memory's place: its most similar passage and a little of the second. Every text is
    somewhat like every other, so only what is above the usual similarity counts."""
    usual = sum(score for _, _, score in hits) / max(1, len(hits))
    found: Ranked = {}
    seen: dict[Memory, int] = {}
    for note, passage, score in hits:
        memory = Memory(note, observations.get(passage, 0))
        above = max(0.0, score - usual)
        seen[memory] = seen.get(memory, 0) + 1
        if seen[memory] == 1:
            found[memory] = Found(above, passage, score)
        elif seen[memory] == 2:
            best = found[memory]
            both = (best.score + _SECOND * above) / (1 + _SECOND)
            found[memory] = best._replace(score=both)
    return found


# --- together ------------------------------------------------------------------------------------


def fused(lanes: Mapping[str, Ranked], weights: Mapping[str, float]) -> list[Candidate]:
    """All memories of all lanes, best first; ties by their numbers, so always the same way."""
    shares = {name: _scaled(found) for name, found in lanes.items()}
    total = sum(weights[name] for name in lanes) or 1.0
    placed: dict[Memory, list[Lane]] = {}
    for name, found in lanes.items():
        order = sorted(found, key=lambda memory: (-found[memory].score, memory))
        for rank, memory in enumerate(order, 1):
            share = weights[name] * shares[name][memory] / total
            placed.setdefault(memory, []).append(Lane(name, rank, found[memory].raw, share))
    candidates = [
        Candidate(memory, sum(lane.share for lane in seen), _passage(lanes, memory), tuple(seen))
        for memory, seen in placed.items()
    ]
    return in_order(candidates)


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (-c.score, min(x.rank for x in c.lanes), c.memory))


def _scaled(found: Ranked) -> dict[Memory, float]:
    """Scores from 0 to 1, the lane's best."""
    best = max((each.score for each in found.values()), default=0.0)
    if best <= 0:
        return dict.fromkeys(found, 1.0)
    return {memory: each.score / best for memory, each in found.items()}


def _passage(lanes: Mapping[str, Ranked], memory: Memory) -> int:
    """The passage to show: the one with the question's words, else the most similar one."""
    for name in ("keyword", "vector", "graph"):
        found = lanes.get(name, {}).get(memory)
        if found and found.passage:
            return found.passage
    return 0


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


def ranked(
    candidates: Sequence[Candidate], signals: Mapping[int, Signals], profile: str, now: float
) -> list[Candidate]:
    """The profile's order. By default only what was replaced, or went into another memory,
    steps back a little behind its equals."""
    weigh = _by_seed if profile == "seed" else _by_relevance
    return in_order(weigh(each, signals.get(each.memory.note), now) for each in candidates)


def _by_relevance(candidate: Candidate, signals: Signals | None, now: float) -> Candidate:
    if signals is None or not (signals.superseded or signals.consolidated):
        return candidate
    name = "superseded" if signals.superseded else "consolidated"
    boosts = (*candidate.boosts, (name, _REPLACED))
    return replace(candidate, score=candidate.score * _REPLACED, boosts=boosts)


def _by_seed(candidate: Candidate, signals: Signals | None, now: float) -> Candidate:
    """relevance × 0.6 + importance × 0.2 + recency × 0.2; recency halves every month."""
    importance = 0.5 if signals is None or signals.importance is None else signals.importance
    age = max(0.0, now - signals.changed) if signals else float(_MONTH)
    recency = 0.5 ** (age / _MONTH)
    score = candidate.score * 0.6 + importance * 0.2 + recency * 0.2
    boosts = (*candidate.boosts, ("importance", importance * 0.2), ("recency", recency * 0.2))
    return replace(candidate, score=score, boosts=boosts)
