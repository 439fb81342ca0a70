"""Of two notes that say much the same, the later one comes first: people write anew what changed,
and seldom go back to the old note. Whoever asks about the past wants what was."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from vaultmem.index import CatalogRow, Index
from vaultmem.recall.fusion import Candidate, Ranking

if TYPE_CHECKING:
    import numpy as np

_COMPARED: Final = 6  # hits, each with each
_ALIKE: Final = 0.13  # more alike than the older one is to the vault's texts on average
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
        days = self._index.lookup.days({hit.memory.note for hit in best})
        dated = [hit for hit in best if hit.memory.note in days]
        pairs = [
            (i, j)
            for i, j in itertools.combinations(range(len(dated)), 2)
            if days[dated[j].memory.note] - days[dated[i].memory.note] >= _LATER
            and _says_it_as_well(dated[j], dated[i])
        ]
        if not pairs:
            return
        rows = self._index.lookup.rows({hit.memory.note for hit in dated})
        vectors = self._index.vectors.of_passages(self._model, [hit.passage for hit in dated])
        for i, j in pairs:
            old, new = dated[i], dated[j]
            if _are_of_one_folder(old, new, rows) and self._are_alike(vectors, old, new):
                for hit, score, why in ((new, old.score, "newer"), (old, new.score, "older")):
                    ranking.set_score(hit.memory, score, (why, 1.0))
                dated[i], dated[j] = new._replace(score=old.score), old._replace(score=new.score)

    def _are_alike(self, vectors: dict[int, np.ndarray], old: Candidate, new: Candidate) -> bool:
        one, other = vectors.get(old.passage), vectors.get(new.passage)
        if one is None or other is None:
            return False
        usual = self._index.vectors.usual_similarity(one, self._model)
        return float(one @ other) - usual >= _ALIKE


def _says_it_as_well(new: Candidate, old: Candidate) -> bool:
    """Nearly as good an answer, by words and by meaning."""
    return all(
        later >= _AS_WELL * earlier
        for later, earlier in (
            (new.score, old.score),
            (new.covered, old.covered),
            (new.above, old.above),
        )
    )


def _are_of_one_folder(old: Candidate, new: Candidate, rows: dict[int, CatalogRow]) -> bool:
    found = [rows.get(hit.memory.note) for hit in (old, new)]
    return len({row.path.rpartition("/")[0] if row else None for row in found} - {None}) == 1
