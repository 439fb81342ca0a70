"""Of two notes that say much the same, the later one comes first: people write anew what changed,
and seldom go back to the old note. Whoever asks about the past wants what was."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.index import INDEX_FAILURES, Index
from vaultmem.recall.fusion import Candidate, Ranking

if TYPE_CHECKING:
    import numpy as np

_COMPARED: Final = 6  # hits, each with each
_ALIKE: Final = 0.13  # more alike than the older one is to the vault's texts on average
_APART: Final = 0.05  # and than it is to the other hits: sessions of one chat are all alike
_AS_WELL: Final = 0.6  # the later one's score in parts of the earlier one's
_LATER: Final = 14  # days; what was written in one go does not replace each other
_PAST_WORDS: Final = """
    did didn't was were had used_to before back_then originally formerly previous previously former
    history happened
    war waren hatte hatten hat haben wurde wurden damals früher
    foi foram era eram tinha fue fueron había était avait avons
"""
_PAST: Final = re.compile(
    rf"\b(?:{'|'.join(_PAST_WORDS.split()).replace('_', ' ')})\b", re.IGNORECASE
)


def asks_about_past(question: str) -> bool:
    return _PAST.search(question) is not None


class NewerNotes:
    def __init__(self, index: Index, model: str) -> None:
        self._index = index
        self._model = model

    def prefer(self, ranking: Ranking) -> None:
        """An earlier one and a later one change places."""
        best = [hit for hit in ranking[:_COMPARED] if hit.passage and not hit.memory.observation]
        with contextlib.suppress(*INDEX_FAILURES):  # then they stay as they are
            notes = {hit.memory.note for hit in best}
            replaced = self._index.lookup.replaced(notes)
            settled = replaced.by.keys() | replaced.later  # of these it is known if they hold
            days = self._index.lookup.days(notes - settled)
            dated = [hit for hit in best if hit.memory.note in days]
            if any(_may_replace(*pair, days) for pair in itertools.combinations(dated, 2)):
                self._put_later_first(ranking, dated, days)

    def _put_later_first(
        self, ranking: Ranking, dated: Sequence[Candidate], days: Mapping[int, int]
    ) -> None:
        rows = self._index.lookup.rows({hit.memory.note for hit in dated})
        folders = {note: row.path.rpartition("/")[0] for note, row in rows.items()}
        vectors = self._index.vectors.of_passages(self._model, [hit.passage for hit in dated])
        order = [hit for hit in dated if hit.passage in vectors and hit.memory.note in folders]
        places = [hit.score for hit in order]
        for i, j in itertools.combinations(range(len(order)), 2):
            old, new = order[i], order[j]
            same = folders[old.memory.note] == folders[new.memory.note]
            if same and _may_replace(old, new, days) and self._are_alike(vectors, old, new):
                order[i], order[j] = new, old
        for hit, score in zip(order, places, strict=True):
            if hit.score != score:
                ranking.set_score(hit.memory, score, ("newer" if score > hit.score else "older", 1))

    def _are_alike(self, vectors: dict[int, np.ndarray], old: Candidate, new: Candidate) -> bool:
        one = vectors[old.passage]
        alike = float(one @ vectors[new.passage])
        others = [
            float(one @ vector)
            for passage, vector in vectors.items()
            if passage not in (old.passage, new.passage)
        ]
        usual = self._index.vectors.usual_similarity(one, self._model)
        beside = sum(others) / len(others) + _APART if others else 0.0
        return alike >= max(usual + _ALIKE, beside)


def _may_replace(old: Candidate, new: Candidate, days: Mapping[int, int]) -> bool:
    """Later, and nearly as good an answer, by words and by meaning."""
    if days[new.memory.note] - days[old.memory.note] < _LATER:
        return False
    return all(
        later >= _AS_WELL * earlier
        for later, earlier in (
            (new.score, old.score),
            (new.covered, old.covered),
            (new.above, old.above),
        )
    )
