"""A question as the terms to look for, each with what it weighs.

User text never meets the engine's query parser, which crashes the process on deep nesting and
finds nothing for `it's`: it is analysed as the notes are.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from vaultmem.base.function_words import function_words_of
from vaultmem.base.text_forms import Form, folded, text_forms
from vaultmem.base.text_language import LANGUAGES, are_much_alike, text_language
from vaultmem.base.words import CJK_RUN, PLAIN_WORD
from vaultmem.index.embedded.text.question_signs import question_pairs, signs_in_pairs
from vaultmem.index.embedded.text.stems import (
    COMPOUNDING,
    LANGUAGE_FACET,
    OtherStems,
    word_of_stem,
)
from vaultmem.notes.note import printable

CJK_FIELD: Final = "_cjk"  # the ending of a field for scripts without blanks
_MOST_TERMS: Final = 64
_MOST_READ: Final = 4_000  # characters of a question
_OF_PARTS: Final = 0.5  # a part of a name, or of a compound that is nowhere
_OF_COMPOUND: Final = 0.5
_OF_FRONT: Final = 0.35  # of a compound that begins with it: Geburtstag, Geburtstagsgeschenk
_OF_FORM: Final = 0.9  # the same word with another ending
_OF_TYPO: Final = 0.4
_OF_SIGN: Final = 0.5
_OF_ASKING: Final = 0.3  # what asks how something ended, more than for the word
_ASKS_HOW_IT_ENDED: Final = re.compile(
    r"\W*(?:and |so )?how (?:did|has|have)\b.{2,200}\b(end(?:ed)?|go|gone|finish(?:ed)?)\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
_SHORTEST_STEM: Final = 4  # letters
_MOST_JOINED: Final = 6  # words of a question that may be written together
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


class WordForms(NamedTuple):
    """A word of a question as the fields have it, as it is spelt, and its stems in languages that
    the fields are not stemmed by."""

    word: str
    spelt: str
    stems: Sequence[str] = ()

    @property
    def other_forms(self) -> list[str]:
        """A note whose word is its own stem has it without the mark. Short ones are too often
        another language's words."""
        bare = (each for each in map(word_of_stem, self.stems) if len(each) >= _SHORTEST_STEM)
        return [each for each in dict.fromkeys((*self.stems, *bare)) if each != self.word]

    @property
    def roots(self) -> dict[str, None]:
        """What compounds of it may end with."""
        return dict.fromkeys((self.spelt, *map(word_of_stem, self.stems)))


def question_terms(text: str, stems: OtherStems, known: Vocabulary) -> list[WantedWord]:
    asked = printable(text)[:_MOST_READ]
    text = folded(asked)[:_MOST_READ]
    words: dict[tuple[str, str], WantedWord] = {}
    for each in _words_in_question(text, asked, stems, known):
        if each.weight > words.get((each.word, each.stands_for), _NOTHING).weight:
            words[each.word, each.stands_for] = each
    found = [
        each._replace(weight=each.weight * known.rarity_of_term("body", each.word))
        for each in words.values()
    ]
    if not text.isascii():
        found += _signs_in_question(text, known)
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
    text: str, asked: str, stems: OtherStems, known: Vocabulary
) -> Iterator[WantedWord]:
    analyze = stems.words.analyze
    written = PLAIN_WORD.findall(CJK_RUN.sub(" ", text).replace("_", " "))
    plain = [word.casefold() for word in written]
    language = text_language(text, known.main_language)
    empty = function_words_of(plain, known.main_language)
    forms = list(_known_forms_in_question(text, analyze, known, empty))
    covered = {
        piece
        for form, _ in forms
        if not form.is_parts
        for piece in analyze(form.source)
        if len(piece) <= _SHORT
    }
    others = _stems_of_question(asked, language, stems, known)
    telling = " ".join([word for word in written if word.casefold() not in empty] or written)
    spelt = dict(zip(analyze(telling), stems.spelt.analyze(telling), strict=True))
    last = analyze(found[1]) if (found := _ASKS_HOW_IT_ENDED.match(text)) else ()
    for word, as_spelt in spelt.items():
        if word not in covered:
            yield WantedWord(word, "", _OF_ASKING if word in last else 1.0)
            asked_word = WordForms(word, as_spelt, others.get(word, ()))
            yield from (
                WantedWord(other, "", w, word)
                for other, w in _words_related_to_question(asked_word, known)
            )
    if known.has_compounds:
        yield from _compounds_of_question(spelt, known)
    for form, words in forms:
        if form.is_parts:
            whole = next(iter(analyze(form.source)), "")
            yield from (WantedWord(word, "", _OF_PARTS, whole, True) for word in words)
        else:
            yield from (WantedWord(word, "", 1.0) for word in words)


def _stems_of_question(
    asked: str, language: str, stems: OtherStems, known: Vocabulary
) -> dict[str, list[str]]:
    """Of each word the stems to look for: of the question's own language where it is plain which
    one that is, else of all that there are here."""
    here = known.other_languages
    if not here or (language and language == stems.usual):
        return {}
    own = [each for each in here if are_much_alike(each, language)]
    found: dict[str, list[str]] = {}
    for word, stem in stems.stems_of_question(asked, own or here[:_MOST_LANGUAGES]):
        found.setdefault(word, []).append(stem)
    return found


def _known_forms_in_question(
    text: str, analyze: Analyze, known: Vocabulary, empty: Collection[str]
) -> Iterator[tuple[Form, list[str]]]:
    for form in text_forms(text):
        if form.source.casefold() not in empty:
            words = [word for word in analyze(" ".join(form.words)) if known.count_of_term(word)]
            if words:
                yield form, words


def _words_related_to_question(form: WordForms, known: Vocabulary) -> Iterator[tuple[str, float]]:
    """Words of the vault that somebody may have meant by this one: other forms and compounds of
    it; and where it is nowhere, what it is made of, else what it was a slip of."""
    forms = [each for each in form.other_forms if known.count_of_term(each)]
    yield from ((each, _OF_FORM) for each in forms)
    compounds = dict.fromkeys(
        each for root in form.roots for each in known.compounds_of_term(root, form.word)
    )
    yield from ((each, _OF_COMPOUND) for each in compounds if each not in forms)
    if not compounds:
        yield from ((each, _OF_FRONT) for each in known.compounds_beginning_with(form.spelt))
    if forms or compounds or known.count_of_term(form.word):
        return
    if halves := known.halves_of_term(form.word):
        yield from ((each, _OF_PARTS) for each in halves)
    else:
        yield from ((each, _OF_TYPO) for each in known.near_spellings(form.word))


def _compounds_of_question(spelt: Mapping[str, str], known: Vocabulary) -> Iterator[WantedWord]:
    """What two words of it are together: Kosten der Reise, Reisekosten."""
    words = list(spelt.items())[:_MOST_JOINED]
    for (front, front_spelt), (tail, tail_spelt) in itertools.permutations(words, 2):
        for joint in _JOINTS:
            if found := known.term_of_compound(front_spelt + joint + tail_spelt):
                yield WantedWord(found, "", _OF_FORM, front)
                yield WantedWord(found, "", _OF_FORM, tail)


def _signs_in_question(text: str, known: Vocabulary) -> Iterator[WantedWord]:
    """Pairs of signs; and single ones, since what is said in other words often shares some."""
    field = f"body{CJK_FIELD}"
    telling, joining = question_pairs(text)
    for pairs, is_sign in ((telling, False), (joining, True)):
        for pair in pairs:
            weight = known.rarity_of_term(field, pair)
            yield WantedWord(pair, CJK_FIELD, weight, is_sign=is_sign)
    for sign in signs_in_pairs(telling):
        if sign not in telling:
            weight = _OF_SIGN * known.rarity_of_term(field, sign)
            yield WantedWord(sign, CJK_FIELD, weight, is_sign=True)


# --- the vault's own words ----------------------------------------------------------------------

# Where a word's existence is looked up: the text of every memory, titles and folders included.
EVERYWHERE: Final = "whole"
TAIL: Final = "tail"  # long words, spelt backwards: what ends alike begins alike there
_COMPOUND: Final = 9  # letters of a word that may be made of two
_RARITY: Final = 0.3  # the power by which rare words count more than BM25 lets them
_SHORTEST_TAIL: Final = 4  # letters of a word that others may end with
_SHORTEST_FRONT: Final = 3
_LONG_FRONT: Final = 5  # letters of a word that others may begin with, and of what follows it
_MOST_FRONTS: Final = 64  # terms
_SHORTEST_HALF: Final = 4
_LONGEST_ENDING: Final = 5  # letters that a stem may lack
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
_MUCH: Final = 20  # one note in so many
_MOST_LANGUAGES: Final = 6  # whose stems are looked for
_JOINTS: Final = ("", "s", "n", "e", "es", "en", "er")  # between the parts of a German compound


class Vocabulary:
    def __init__(self, searcher: Any, stems: OtherStems) -> None:
        self._searcher = searcher
        self._stems = stems

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
    def languages(self) -> dict[str, int]:
        """About how many notes are in which language, most first; some tell nothing."""
        found = ((each, self.count_of_term(LANGUAGE_FACET + each, "facets")) for each in LANGUAGES)
        return dict(sorted((each for each in found if each[1]), key=lambda each: -each[1]))

    @cached_property
    def main_language(self) -> str:
        return next(iter(self.languages), "")

    @cached_property
    def other_languages(self) -> list[str]:
        """Those that the words are not stemmed by."""
        return [each for each in self.languages if self._stems.are_of(each)]

    @cached_property
    def has_compounds(self) -> bool:
        """Whether much of the vault is in a language that writes words together: English has
        `understanding`, which is no kind of standing."""
        some = sum(count for name, count in self.languages.items() if name in COMPOUNDING)
        return some * _MUCH > sum(self.languages.values())

    def term_of_compound(self, spelt: str) -> str:
        """As the fields have it, if it is there."""
        found = next(iter(self._stems.words.analyze(spelt)), "")
        return found if self.count_of_term(found) else ""

    def compounds_of_term(self, word: str, stem: str) -> list[str]:
        """Longer words that end with this one: of strudel, Apfelstrudel."""
        if len(word) < _SHORTEST_TAIL or not word.isalpha():
            return []
        is_short = len(word) == _SHORTEST_TAIL
        if not self.has_compounds and (is_short or self.count_of_term(stem)):
            return []
        found = self._searcher.terms_with_prefix(TAIL, word[::-1], limit=4 * _MOST_COMPOUNDS)
        front = _SHORTEST_FRONT + is_short
        longer = (term[::-1] for term, _ in found)
        fitting = [each for each in longer if _is_compound_of_term(each, word, front)]
        return self._stems.words.analyze(" ".join(fitting[:_MOST_COMPOUNDS]))

    def compounds_beginning_with(self, word: str) -> list[str]:
        """Where notes are mostly in a language that writes words together."""
        if len(word) < _LONG_FRONT or not word.isalpha() or self.main_language not in COMPOUNDING:
            return []
        found = self._searcher.terms_with_prefix(EVERYWHERE, word, limit=_MOST_FRONTS)
        least = len(word) + _LONG_FRONT
        return [each for each, _ in found if len(each) >= least][:_MOST_COMPOUNDS]

    def terms_beginning(self, beginning: str) -> list[str]:
        """Words of this vault that begin so, as far as their stems tell: of `certificates` no more
        than `certif` is kept."""
        found = self._searcher.terms_with_prefix(
            EVERYWHERE,
            beginning[: max(_SHORTEST_FRONT, len(beginning) - _LONGEST_ENDING)],
            limit=1000,
        )
        stems = [(term, word_of_stem(term)) for term, _ in found]
        longer = [term for term, stem in stems if stem.startswith(beginning)]
        shorter = [term for term, stem in stems if beginning.startswith(stem[:-1] or stem)]
        return list(dict.fromkeys((*longer[:_MOST_FRONTS], *shorter)))[:_MOST_TERMS]

    def halves_of_term(self, word: str) -> list[str]:
        """Two words of this vault that it is made of, where it is made of any."""
        if len(word) < _COMPOUND or not word.isalpha():
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


def _is_compound_of_term(longer: str, word: str, shortest: int) -> bool:
    front = word_of_stem(longer)[: -len(word)]
    return len(front) >= shortest and front not in _PREFIXES


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
