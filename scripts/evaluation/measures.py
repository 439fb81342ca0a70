"""How good a ranking is: the usual measures, and their means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scored:
    """One question's measures."""

    r5: float
    r10: float
    hit5: float
    ndcg10: float
    mrr: float
    milliseconds: float


def score(ranked: Sequence[str], gold: Mapping[str, int], milliseconds: float = 0.0) -> Scored:
    first = next((rank for rank, id_ in enumerate(ranked, 1) if id_ in gold), 0)
    return Scored(
        r5=_share(ranked[:5], gold),
        r10=_share(ranked[:10], gold),
        hit5=float(any(id_ in gold for id_ in ranked[:5])),
        ndcg10=_gain([gold.get(id_, 0) for id_ in ranked[:10]])
        / _gain(sorted(gold.values(), reverse=True)[:10]),
        mrr=1 / first if first else 0.0,
        milliseconds=milliseconds,
    )


def mean(several: Iterable[Scored]) -> Scored:
    """The mean of each measure; of the times, the median."""
    rows = list(several)
    names = ("r5", "r10", "hit5", "ndcg10", "mrr")
    means = {name: statistics.fmean(getattr(row, name) for row in rows) for name in names}
    return Scored(**means, milliseconds=statistics.median(row.milliseconds for row in rows))


def _share(found: Sequence[str], gold: Mapping[str, int]) -> float:
    return len(set(found) & gold.keys()) / len(gold)


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
