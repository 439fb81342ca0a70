"""A question as the terms to look for, each with what it weighs.

User text never meets the engine's query parser, which crashes the process on deep nesting and
finds nothing for `it's`: it is analysed as the notes are.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from vaultmem.base.function_words import function_words_of
from vaultmem.base.text_forms import Form, folded, text_forms
from vaultmem.base.words import ASKING_WORDS, CJK_RUN, PLAIN_WORD, pairs_of_signs
from vaultmem.notes.note import printable

CJK_FIELD: Final = "_cjk"  # the ending of a field for scripts without blanks
_MOST_TERMS: Final = 64
_MOST_READ: Final = 4_000  # characters of a question
_OF_PARTS: Final = 0.5  # a part of a name, or of a compound that is nowhere
_OF_COMPOUND: Final = 0.5
_OF_TYPO: Final = 0.4
_OF_SIGN: Final = 0.5
_SHORT: Final = 2  # letters or digits that say nothing beside the whole they are part of

Analyze = Callable[[str], Sequence[str]]


class WantedWord(NamedTuple):
    """A word of a question, the ending of the fields it is looked for in, and its weight."""

    word: str
    suffix: str
    weight: float
    stands_for: str = ""  # a word of the question that this one may have been meant by
    is_part: bool = False  # of the word that it stands for, as `user` of `getUserName`
    is_sign: bool = False  # one of a pair: it helps to rank, and says nothing by itself

    @property
    def asked(self) -> str:
        return self.stands_for or self.word


_NOTHING: Final = WantedWord("", "", 0.0)


def question_terms(
    text: str, analyze: Analyze, known: Vocabulary, language: str
) -> list[WantedWord]:
    text = folded(printable(text))[:_MOST_READ]
    words: dict[str, WantedWord] = {}
    for each in _words_in_question(text, analyze, known, language):
        if each.weight > words.get(each.word, _NOTHING).weight:
            words[each.word] = each
    found = [
        each._replace(weight=each.weight * known.rarity_of_term("body", each.word))
        for each in words.values()
    ]
    if not text.isascii():
        field = f"body{CJK_FIELD}"
        pairs = dict.fromkeys(_pairs_of_signs_in_question(text))
        found += [WantedWord(pair, CJK_FIELD, known.rarity_of_term(field, pair)) for pair in pairs]
        found += _signs_in_question(pairs, known, field)
    return list(_telling_terms(found, known))


def _telling_terms(found: Sequence[WantedWord], known: Vocabulary) -> Iterator[WantedWord]:
    """The rarest of a long question. What stands nowhere is the rarest of all, finds nothing, and
    only says how much is not known: it must not take the place of what does stand somewhere."""
    left = {True: _MOST_TERMS, False: _MOST_TERMS}
    if len(found) <= _MOST_TERMS:
        yield from found
        return
    telling = set()
    for each in sorted(found, key=lambda each: -each.weight):
        stands = known.count_of_term(each.word, EVERYWHERE + each.suffix) > 0
        if left[stands]:
            left[stands] -= 1
            telling.add(each)
    yield from (each for each in found if each in telling)


def _words_in_question(
    text: str, analyze: Analyze, known: Vocabulary, language: str
) -> Iterator[WantedWord]:
    written = PLAIN_WORD.findall(CJK_RUN.sub(" ", text).replace("_", " "))
    empty = function_words_of([word.casefold() for word in written], language)
    forms = list(_known_forms_in_question(text, analyze, known, empty))
    covered = {
        piece
        for form, _ in forms
        if not form.is_parts
        for piece in analyze(form.source)
        if len(piece) <= _SHORT
    }
    telling = [word for word in written if word.casefold() not in empty]
    for word in dict.fromkeys(analyze(" ".join(telling or written))):
        if word not in covered:
            yield WantedWord(word, "", 1.0)
            yield from (
                WantedWord(other, "", w, word)
                for other, w in _words_related_to_question(word, known)
            )
    for form, words in forms:
        if form.is_parts:
            whole = next(iter(analyze(form.source)), "")
            yield from (WantedWord(word, "", _OF_PARTS, whole, True) for word in words)
        else:
            yield from (WantedWord(word, "", 1.0) for word in words)


def _known_forms_in_question(
    text: str, analyze: Analyze, known: Vocabulary, empty: Collection[str]
) -> Iterator[tuple[Form, list[str]]]:
    for form in text_forms(text):
        if form.source.casefold() not in empty:
            words = [word for word in analyze(" ".join(form.words)) if known.count_of_term(word)]
            if words:
                yield form, words


def _words_related_to_question(word: str, known: Vocabulary) -> Iterator[tuple[str, float]]:
    """Words of the vault that somebody may have meant by this one: compounds of it; and where it
    is nowhere, what it is made of, else what it was a slip of."""
    compounds = known.compounds_of_term(word)
    yield from ((each, _OF_COMPOUND) for each in compounds)
    if compounds or known.count_of_term(word):
        return
    if halves := known.halves_of_term(word):
        yield from ((each, _OF_PARTS) for each in halves)
    else:
        yield from ((each, _OF_TYPO) for each in known.near_spellings(word))


def _pairs_of_signs_in_question(text: str) -> list[str]:
    """What to look for, without what Chinese questions are built with, if anything is left."""
    return list(pairs_of_signs(ASKING_WORDS.sub(" ", text))) or list(pairs_of_signs(text))


def _signs_in_question(
    pairs: Collection[str], known: Vocabulary, field: str
) -> Iterator[WantedWord]:
    """The single signs of the pairs: what is said in other words often shares some of them."""
    for sign in dict.fromkeys("".join(pairs)):
        if sign not in pairs:
            weight = _OF_SIGN * known.rarity_of_term(field, sign)
            yield WantedWord(sign, CJK_FIELD, weight, is_sign=True)


# --- the vault's own words ----------------------------------------------------------------------

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

    def count_of_term(self, word: str, field: str = EVERYWHERE) -> int:
        return int(self._searcher.doc_freq(field, word))

    def rarity_of_term(self, field: str, word: str) -> float:
        """What a word counts above what BM25 makes of it."""
        return float(self.information_in_term(field, word) ** _RARITY)

    def information_in_term(self, field: str, word: str) -> float:
        """1 for a word that is nowhere, little for one everywhere."""
        every, having = self._searcher.num_docs, self.count_of_term(word, field)
        others = max(0, every - having)  # what was deleted may still be counted as having it
        idf = math.log(1 + (others + 0.5) / (having + 0.5))
        return float(idf / math.log(2 + 2 * every))

    @cached_property
    def has_compounds(self) -> bool:
        """Whether much of the vault is in a language that writes words together: English has
        `understanding`, which is no kind of standing."""
        every = self._searcher.num_docs
        return any(self.count_of_term(word) * _MUCH > every for word in _OF_COMPOUNDING)

    def compounds_of_term(self, word: str) -> list[str]:
        """Longer words that end with this one: of strudel, Apfelstrudel."""
        if len(word) < _SHORTEST_TAIL or not word.isalpha():
            return []
        if not self.has_compounds and self.count_of_term(word):
            return []
        found = self._searcher.terms_with_prefix(TAIL, word[::-1], limit=4 * _MOST_COMPOUNDS)
        longer = (term[::-1] for term, _ in found)
        return [each for each in longer if _is_compound_of_term(each, word)][:_MOST_COMPOUNDS]

    def halves_of_term(self, word: str) -> list[str]:
        """Two words of this vault that it is made of, where it is made of any."""
        if len(word) < LONG_WORD or not word.isalpha():
            return []
        for at in range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1):
            front, tail = word[:at], word[at:]
            if self.count_of_term(tail) and (known := self._front_of_term_as_word(front)):
                return [known, tail]
        return []

    def _front_of_term_as_word(self, front: str) -> str:
        """The first part of a compound without what joins it to the next."""
        bare = (front.removesuffix(joint) for joint in _JOINTS if front.endswith(joint))
        known = (each for each in bare if len(each) >= _SHORTEST_HALF and self.count_of_term(each))
        return next(known, "")

    def near_spellings(self, word: str) -> list[str]:
        """Words of this vault that are one slip away from one that is nowhere in it."""
        if len(word) < _SHORTEST_TYPO or not word.isalpha():
            return []
        found = self._searcher.terms_with_prefix(EVERYWHERE, word[:_ALIKE_FROM])
        near = (term for term, _ in found if is_one_slip_away(word, term))
        return list(itertools.islice(near, _MOST_TYPOS))


def _is_compound_of_term(longer: str, word: str) -> bool:
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
