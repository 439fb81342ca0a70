"""How good a ranking is: the usual measures, their means, and how far a figure can be trusted."""

from __future__ import annotations

import math
import random
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


# --- figures with their intervals --------------------------------------------------------------

_Z = 1.96  # of a normal distribution, 95 % lie so near
_DRAWS = 2000


@dataclass(frozen=True)
class Figure:
    """A measure of a whole set, and the interval in which it lies with 95 % confidence."""

    name: str
    n: int
    value: float
    low: float
    high: float


def share_figure(name: str, held: Iterable[bool]) -> Figure:
    """How often something held; the interval is Wilson's."""
    each = list(held)
    n = len(each)
    if not n:
        return Figure(name, 0, 0.0, 0.0, 1.0)
    share = sum(each) / n
    middle = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    return Figure(name, n, share, max(0.0, middle - half), min(1.0, middle + half))


def mean_figure(name: str, values: Sequence[float]) -> Figure:
    """A mean; the interval is that of means of the same values drawn again."""
    if not values:
        return Figure(name, 0, 0.0, 0.0, 0.0)
    drawn = random.Random(0)
    means = sorted(statistics.fmean(drawn.choices(values, k=len(values))) for _ in range(_DRAWS))
    low, high = means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS) - 1]
    return Figure(name, len(values), statistics.fmean(values), low, high)
