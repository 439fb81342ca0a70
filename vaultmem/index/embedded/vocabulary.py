"""The words that a vault has: how rare each is, and which of them a question may have meant."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

# Where a word's existence is looked up: the text of every memory, titles and folders included.
EVERYWHERE: Final = "whole"
TAIL: Final = "tail"  # long words, spelt backwards: what ends alike begins alike there
LONG_WORD: Final = 9  # letters
_RARITY: Final = 0.3  # the power by which rare words count more than BM25 lets them
_SHORTEST_TAIL: Final = 5  # letters of a word that others may end with
_SHORTEST_FRONT: Final = 3
_SHORTEST_HALF: Final = 4
_SHORTEST_TYPO: Final = 5
_ALIKE_FROM: Final = 2  # letters at the beginning that a mistyped word has right
_MOST_COMPOUNDS: Final = 8
_MOST_TYPOS: Final = 3
# What stands before a word without making a compound of it.
_PREFIX_WORDS: Final = """
    after ante anti auto back ballo com con contra counter dis down ent extra fore hyper inter intro
    intra kilo macro mega meta micro mid mis mono multi non off out over para per photo poly post pre
    pro pseudo re retro self semi sub super sur tele trans ultra under unter uber up ver with
"""
_PREFIXES: Final = frozenset(_PREFIX_WORDS.split())
# German, Dutch, Swedish, Danish and Norwegian "and" or "a", as long as nobody else's.
_OF_COMPOUNDING: Final = ("und", "een", "och", "og")
_SIGNS_OF_COMPOUNDING: Final = (
    " und ",
    " der ",
    " das ",
    " ist ",
    " een ",
    " het ",
    " och ",
    " og ",
)
_LETTERS_OF_COMPOUNDING: Final = re.compile("[äöüßåøÄÖÜÅØ]")
_SHORT_TEXT: Final = 400  # characters
_BEGINNING: Final = 2_000
_MUCH: Final = 20  # one document in so many
_JOINTS: Final = ("", "s", "n", "e", "es", "en", "er")  # between the parts of a German compound


class Vocabulary:
    def __init__(self, searcher: Any) -> None:
        self._searcher = searcher

    def count(self, word: str, field: str = EVERYWHERE) -> int:
        return int(self._searcher.doc_freq(field, word))

    def rarity(self, field: str, word: str) -> float:
        """Above what BM25 makes of it: 1 for a word that is nowhere, little for one everywhere."""
        every, having = self._searcher.num_docs, self.count(word, field)
        others = max(0, every - having)  # what was deleted may still be counted as having it
        idf = math.log(1 + (others + 0.5) / (having + 0.5))
        return float((idf / math.log(2 + 2 * every)) ** _RARITY)

    @cached_property
    def has_compounds(self) -> bool:
        """Whether much of the vault is in a language that writes words together: English has
        `understanding`, which is no kind of standing."""
        every = self._searcher.num_docs
        return any(self.count(word) * _MUCH > every for word in _OF_COMPOUNDING)

    def compounds(self, word: str) -> list[str]:
        """Longer words that end with this one: of strudel, Apfelstrudel."""
        if len(word) < _SHORTEST_TAIL or not word.isalpha():
            return []
        if not self.has_compounds and self.count(word):
            return []
        found = self._searcher.terms_with_prefix(TAIL, word[::-1], limit=4 * _MOST_COMPOUNDS)
        longer = (term[::-1] for term, _ in found)
        return [each for each in longer if _is_compound(each, word)][:_MOST_COMPOUNDS]

    def halves(self, word: str) -> list[str]:
        """Two words of this vault that it is made of, where it is made of any."""
        if len(word) < LONG_WORD or not word.isalpha():
            return []
        for at in range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1):
            front, tail = word[:at], word[at:]
            if self.count(tail) and (known := self._as_word(front)):
                return [known, tail]
        return []

    def _as_word(self, front: str) -> str:
        """The first part of a compound without what joins it to the next."""
        bare = (front.removesuffix(joint) for joint in _JOINTS if front.endswith(joint))
        known = (each for each in bare if len(each) >= _SHORTEST_HALF and self.count(each))
        return next(known, "")

    def near_spellings(self, word: str) -> list[str]:
        """Words of this vault that are one slip away from one that is nowhere in it."""
        if len(word) < _SHORTEST_TYPO or not word.isalpha():
            return []
        found = self._searcher.terms_with_prefix(EVERYWHERE, word[:_ALIKE_FROM])
        near = (term for term, _ in found if is_one_slip_away(word, term))
        return list(itertools.islice(near, _MOST_TYPOS))


def _is_compound(longer: str, word: str) -> bool:
    front = longer[: len(longer) - len(word)]
    return len(front) >= _SHORTEST_FRONT and front not in _PREFIXES


def is_one_slip_away(one: str, other: str) -> bool:
    """A letter too many, too few, another one, or two that changed places."""
    short, long = sorted((one, other), key=len)
    if short == long or len(long) - len(short) > 1 or len(short) < _SHORTEST_HALF:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at + 1 : at + 2] + short[at] + short[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or swapped == long[at:]


def may_have_compounds(text: str) -> bool:
    """Whether a text may be in such a language: long English texts have none of these signs."""
    if len(text) <= _SHORT_TEXT:
        return True
    beginning = text[:_BEGINNING]
    if any(sign in beginning for sign in _SIGNS_OF_COMPOUNDING):
        return True
    return not text.isascii() and _LETTERS_OF_COMPOUNDING.search(text) is not None


def backwards(words: Iterable[str]) -> str:
    """Long words as the field of tails has them."""
    return " ".join(word[::-1] for word in words if len(word) >= LONG_WORD - 1)
