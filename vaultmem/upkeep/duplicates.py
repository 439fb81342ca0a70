"""Which of many texts say nearly the same: by their vectors, or where there are none by words.

Pairs only; nothing is joined. All of it can be stopped at any moment, and lets others work.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_ROWS: Final = 256  # compared with all others in one go
_PAUSE: Final = 0.01  # seconds for others after each
_MOST: Final = 5_000  # pairs; nobody reads more
_TELLING: Final = 12  # the rarest words of a text, by which its like are found
_SHARED: Final = 4  # of these, before two texts are looked at
_COMMON: Final = 50  # texts; a word in more of them tells too little


class Pair(NamedTuple):
    first: int
    second: int
    likeness: float


def duplicates_by_meaning(vectors: Matrix, least: float, stopping: threading.Event) -> list[Pair]:
    """Pairs of rows whose cosine is at least so high; rows are of length one."""
    import numpy as np

    found: list[Pair] = []
    for start in range(0, len(vectors), _ROWS):
        if stopping.wait(_PAUSE):
            return []
        likeness = vectors[start : start + _ROWS] @ vectors[start:].T
        rows, columns = np.triu(likeness >= least, 1).nonzero()
        for row, column in zip(rows[:_MOST].tolist(), columns[:_MOST].tolist(), strict=True):
            found.append(Pair(start + row, start + column, float(likeness[row, column])))
        if len(found) > _MOST:
            break
    return found


def duplicates_by_words(
    texts: Sequence[Set[str]], least: float, stopping: threading.Event
) -> list[Pair]:
    """Pairs of sets of words that have at least such a share of them in common."""
    found: list[Pair] = []
    for number, rare, met in _sharing_rare_words(texts, _COMMON, _TELLING):
        if number % _ROWS == 0 and stopping.wait(_PAUSE):
            return []
        for other, shared in met.items():
            likeness = shared_part(texts[number], texts[other])
            if shared >= min(_SHARED, rare) and likeness >= least:
                found.append(Pair(other, number, likeness))
        if len(found) > _MOST:
            break
    return found


def shared_part(a: Set[str], b: Set[str]) -> float:
    return len(a & b) / max(1, len(a | b))


_TELLING_FEW: Final = 8  # the rarest words of a sentence
_FREQUENT: Final = 150  # sentences; beyond that a word leads to too many


def near_duplicates(texts: Sequence[Set[str]], least: int) -> list[tuple[int, int]]:
    """Pairs of sets that have at least so many of their rarest words in common, or one all."""
    return [
        (other, number)
        for number, _, met in _sharing_rare_words(texts, _FREQUENT, _TELLING_FEW)
        for other, shared in met.items()
        if shared >= least or shared >= min(len(texts[number]), len(texts[other]))
    ]


def _sharing_rare_words(
    texts: Sequence[Set[str]], common: int, telling: int
) -> Iterator[tuple[int, int, Counter[int]]]:
    """Of each text its number, how many rare words it has, and how many of the rarest it shares
    with which of those before it."""
    used = Counter(word for text in texts for word in text)
    texts_with: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        rare = sorted((w for w in text if used[w] <= common), key=lambda w: (used[w], w))
        met: Counter[int] = Counter()
        for word in rare[:telling]:
            met.update(texts_with.setdefault(word, []))
            texts_with[word].append(number)
        yield number, len(rare), met
