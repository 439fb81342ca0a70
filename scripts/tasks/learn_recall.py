"""Learn the weights of vaultmem/recall/evidence.py from the sets: scripts/run learn-recall DATA"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import pickle
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from evaluation import life, sets, vaults
from evaluation.asking import Haystack
from evaluation.learning import Case, Model, judged_by_others, learn
from evaluation.prompts import prompts_about_nothing

from vaultmem import Vault
from vaultmem.index import Filters
from vaultmem.recall import fusion
from vaultmem.recall.evidence import Evidence, HitSigns
from vaultmem.recall.lanes import LanesFound, Question

Judged = dict[str, tuple[float, float]]
GATE = ("covered", "above", "margin")
SAYS = ("names", "strangers", "own_words", "personal", "request", "pointing", "general")
KNOWN = ("covered", "above", "usual", "both", "own_vector", *SAYS)
KNOWN_BY_WORDS = ("covered", "words", *SAYS, "advice")
RIGHT = ("known", "covered", "above", "relative", "place", "lead", "both")
RIGHT_BY_WORDS = ("known", "covered", "relative", "place", "lead")
DEPTH, HITS, EACH, FOREIGN, PROMPTS = 240, 10, 320, 12, 300
FOREIGN_COUNTS, NOTHING_COUNTS = 0.4, 2.0
UNLIKE = ("cranfield", "cmrc2018-zh", "anchor-obsidian-help-zh")  # abstracts, and other scripts


# Its questions are the texts of links in its notes, which are found by words: that says nothing of
# questions that were not written down beforehand.
LEAKING = "anchor-"


class Asked(NamedTuple):
    """A question, what the lanes brought for it, and its right answers; none for one that the
    vault knows nothing about."""

    set: str
    found: LanesFound
    text: str
    judged: tuple[float, float] | None  # of a prompt that was learned from, by who has not seen it
    names: dict[fusion.MemoryKey, str]
    gold: frozenset[str]
    lived: bool = False  # of a person's vault
    counts: float = 1.0

    @property
    def evidence(self) -> Evidence:
        evidence = self.found.evidence(self.text)
        if self.judged is None:
            return evidence
        words, vector = (max(-3.0, min(3.0, each)) for each in self.judged)
        return evidence._replace(own_words=words, own_vector=vector if evidence.by_meaning else 0.0)

    @property
    def group(self) -> str:
        return self.set.rpartition("-")[0] or self.set


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/run learn-recall", description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="folders with one folder for each set")
    parser.add_argument(
        "--judged", type=Path, required=True, help="what learn-prompts --judged has written"
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="where vaults and vectors are kept"
    )
    parser.add_argument("--keep", type=Path, help="keep what was asked here, for other trials")
    given = parser.parse_args()
    judged = json.loads(given.judged.read_text())
    asked = [each for data in given.data for each in _everything_asked(data, given.work, judged)]
    if given.keep:
        given.keep.write_bytes(pickle.dumps(asked))
    by_words = [each._replace(found=_without_meaning(each.found)) for each in asked]
    _show("MEANING", _gate_cases(asked), GATE)
    for title, some, known, right in (
        ("", asked, KNOWN, RIGHT),
        ("_BY_WORDS", by_words, KNOWN_BY_WORDS, RIGHT_BY_WORDS),
    ):
        cases = [_known_case(each) for each in some if each.lived]
        _show(f"KNOWN{title}", cases, known)
        model = learn(cases, known)
        _show_floors(cases, model)
        hits = [hit for each in some for hit in _hit_cases(each, model)]
        _show(f"RIGHT{title}", hits, right)


# --- asking -----------------------------------------------------------------------------------


def _everything_asked(data: Path, work: Path, judged: Judged) -> Iterator[Asked]:
    chance = random.Random(7)
    read = {name: sets.read(data / name) for name in sets.names_in(data)}
    prompts = prompts_about_nothing()
    foreign = {name: [q.text for q in one.questions] for name, one in read.items()}
    for name in life.names_in(data):
        lived = life.read(data / name)
        foreign[name] = list(lived.questions)
        vault = life.LifeVault(lived, work / name / "vault", work / "kept.db", vectors=True)
        tasks = [(task.text, task.notes) for task in lived.tasks]
        for question, gold in [*lived.answers, *tasks]:
            yield _ask(vault.vault, name, question, gold, {}, judged)
        some = [(text, 1.0) for text in chance.sample(prompts, PROMPTS)]
        some += [(text, NOTHING_COUNTS) for text in lived.nothing]
        some += [(text, FOREIGN_COUNTS) for text in _foreign(foreign, name, chance)]
        for text, counts in some:
            asked = _ask(vault.vault, name, text, frozenset(), {}, judged)
            yield asked._replace(counts=counts)
        vault.close()
    for name, one in read.items():
        if name not in UNLIKE:
            yield from _of_set(one, work, prompts, foreign, chance, judged)


def _of_set(
    one: sets.Set,
    work: Path,
    prompts: list[str],
    foreign: dict[str, list[str]],
    chance: random.Random,
    judged: Judged,
) -> Iterator[Asked]:
    share = min(1.0, EACH / max(1, len(one.questions)))
    for name, documents in vaults.haystacks(one, False).items():
        root = work / one.name / vaults.safe_name(name)
        root.mkdir(parents=True, exist_ok=True)
        haystack = Haystack(documents, one.is_of_turns, root)
        haystack.index(work / "kept.db", vectors=True)
        for question in one.questions:
            if question.haystack == name and chance.random() < share:
                gold = frozenset(question.gold)
                yield _ask(haystack.vault, one.name, question.text, gold, haystack.keys, judged)
        others = _foreign(foreign, one.name, chance)
        some = chance.sample(others, min(len(others), 20)) + chance.sample(prompts, 20)
        for text in some:
            yield _ask(haystack.vault, one.name, text, frozenset(), haystack.keys, judged)
        haystack.close()


def _foreign(questions: dict[str, list[str]], name: str, chance: random.Random) -> list[str]:
    """Questions that were asked of other vaults."""
    kind = name.partition("-")[0]
    return [
        text
        for other, some in questions.items()
        if other.partition("-")[0] != kind and other not in UNLIKE
        for text in chance.sample(some, min(len(some), FOREIGN))
    ]


def _ask(
    vault: Vault,
    name: str,
    text: str,
    gold: frozenset[str],
    keys: dict[tuple[str, str], str],
    judged: Judged,
) -> Asked:
    recall, index = vault.parts.recall, vault.parts.index
    found = recall._lanes.ask(Question(text, "hybrid", Filters(), "relevance"), DEPTH)
    memories = {memory for lane in found.lanes.values() for memory in lane}
    rows = index.lookup.rows({memory.note for memory in memories})
    places = index.lookup.places({m.observation for m in memories if m.observation})
    names = {}
    for memory in memories:
        with contextlib.suppress(KeyError):
            block = places[memory.observation].block if memory.observation else ""
            path = rows[memory.note].path
            names[memory] = keys.get((path, block)) or keys.get((path, ""), "") if keys else path
    return Asked(name, found, text, judged.get(text), names, gold, not keys)


def _without_meaning(found: LanesFound) -> LanesFound:
    lanes = {"keyword": found.lanes.get("keyword", {})}
    return LanesFound("keyword", lanes, found.words, found.covered)


# --- what can be learned from it ----------------------------------------------------------------


def _gate_cases(asked: Sequence[Asked]) -> list[Case]:
    """Of questions for which one lane is better than the other: whether it is meaning."""
    cases = []
    for each in asked:
        words, meaning = (_reciprocal(each, name) for name in ("keyword", "vector"))
        if each.gold and abs(words - meaning) >= 0.05 and not each.set.startswith(LEAKING):
            signs = each.evidence._asdict()
            cases.append(Case(signs, meaning > words, each.group, abs(words - meaning)))
    return cases


def _reciprocal(each: Asked, lane: str) -> float:
    scores = each.found.lanes.get(lane, {})
    order = sorted(scores, key=lambda memory: (-scores[memory].score, memory))
    named = dict.fromkeys(each.names.get(memory, "") for memory in order[: 3 * HITS])
    ranks = (rank for rank, name in enumerate(named, 1) if name in each.gold)
    return 1 / next(ranks, 1_000_000)


def _known_case(each: Asked) -> Case:
    """Only of persons' vaults: what is usual among the sessions of one chat says nothing of notes.
    A question of another vault may be known here after all, so it counts less."""
    signs, kind = each.evidence._asdict(), "known" if each.gold else "unknown"
    return Case(signs, bool(each.gold), each.set, each.counts, kind)


def _hit_cases(each: Asked, model: Model) -> Iterator[Case]:
    evidence = each.evidence
    weights = fusion.weights_for(evidence.meaning_share)
    ranking = fusion.fused(each.found.lanes, weights, each.found.covered)
    known = _logit(model.probability(evidence._asdict()))
    hits = ranking[: HITS + 1]
    best = hits[0].score if hits and hits[0].score else 1.0
    for rank, hit in enumerate(hits[:HITS], 1):
        behind = hits[rank].score if rank < len(hits) else 0.0
        lead = (hit.score - behind) / best
        own = HitSigns(hit.covered, hit.above, hit.score / best, lead, 1 / rank)
        signs = {**own._asdict(), "both": hit.covered * hit.above, "known": known}
        yield Case(signs, each.names.get(hit.memory, "") in each.gold, each.group)


def _logit(probability: float) -> float:
    probability = min(1 - 1e-9, max(1e-9, probability))
    return math.log(probability / (1 - probability))


def _show_floors(cases: Sequence[Case], model: Model) -> None:
    """For some floors: the share of questions lost, and of prompts about nothing answered."""
    for floor in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4):
        parts = []
        for group in sorted({case.group for case in cases}):
            said = [
                (c.truth, model.probability(c.signs) >= floor) for c in cases if c.group == group
            ]
            lost = [not spoken for known, spoken in said if known]
            noise = [spoken for known, spoken in said if not known]
            parts.append(
                f"{group} {sum(lost) / len(lost):.2f} {sum(noise) / max(1, len(noise)):.2f}"
            )
        print(f"  floor {floor}: lost, spoken: {', '.join(parts)}")


def _show(title: str, cases: Sequence[Case], names: Sequence[str]) -> None:
    """The weights, and how well models do on sets that they were not learned from."""
    print(f"\n_{title} = {learn(cases, names).weights}")
    judged = judged_by_others(cases, names)
    for low in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        high = {0.0: 0.05, 0.05: 0.1}.get(low, low + 0.1)
        inside = [c.truth for c, p in zip(cases, judged, strict=True) if low <= p < high]
        if inside:
            print(
                f"  said {low:.2f} to {high:.2f}: true {sum(inside) / len(inside):.2f} of {len(inside)}"
            )


if __name__ == "__main__":
    main()
