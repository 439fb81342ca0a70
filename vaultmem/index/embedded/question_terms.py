"""A question as the terms to look for, each with what it weighs.

User text never meets the engine's query parser, which crashes the process on deep nesting and
finds nothing for `it's`: it is analysed as the notes are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple

from vaultmem.base.function_words import function_words_of
from vaultmem.base.words import ASKING_WORDS, CJK_RUN, PLAIN_WORD, pairs_of_signs
from vaultmem.index.embedded.text_forms import Form, folded, text_forms
from vaultmem.index.embedded.vocabulary import Vocabulary
from vaultmem.notes.note import printable

CJK_FIELD: Final = "_cjk"  # the ending of a field for scripts without blanks
_MOST_TERMS: Final = 64
_MOST_READ: Final = 4_000  # characters of a question
_OF_PARTS: Final = 0.5  # a part of a name, or of a compound that is nowhere
_OF_COMPOUND: Final = 0.5
_OF_TYPO: Final = 0.4
_SHORT: Final = 2  # letters or digits that say nothing beside the whole they are part of

Analyze = Callable[[str], Sequence[str]]


class WantedWord(NamedTuple):
    """A word of a question, the ending of the fields it is looked for in, and its weight."""

    word: str
    suffix: str
    weight: float
    is_asked: bool = True  # and not only related to one that is
    is_known: bool = True  # to some note


def question_terms(
    text: str, analyze: Analyze, known: Vocabulary, language: str
) -> list[WantedWord]:
    text = folded(printable(text))[:_MOST_READ]
    shares: dict[str, float] = {}
    for word, share in _words(text, analyze, known, language):
        shares[word] = max(share, shares.get(word, 0.0))
    found = [
        WantedWord(
            word, "", share * known.rarity("body", word), share == 1.0, known.count(word) > 0
        )
        for word, share in shares.items()
    ]
    if not text.isascii():
        field = f"body{CJK_FIELD}"
        pairs = dict.fromkeys(_asked_pairs(text))
        found += [WantedWord(pair, CJK_FIELD, known.rarity(field, pair)) for pair in pairs]
    if len(found) <= _MOST_TERMS:
        return found
    telling = set(sorted(found, key=lambda each: -each.weight)[:_MOST_TERMS])
    return [each for each in found if each in telling]


def _words(
    text: str, analyze: Analyze, known: Vocabulary, language: str
) -> Iterator[tuple[str, float]]:
    written = PLAIN_WORD.findall(CJK_RUN.sub(" ", text).replace("_", " "))
    empty = function_words_of([word.casefold() for word in written], language)
    forms = list(_known_forms(text, analyze, known, empty))
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
            yield word, 1.0
            yield from _related(word, known)
    for form, words in forms:
        yield from ((word, _OF_PARTS if form.is_parts else 1.0) for word in words)


def _known_forms(
    text: str, analyze: Analyze, known: Vocabulary, empty: Collection[str]
) -> Iterator[tuple[Form, list[str]]]:
    for form in text_forms(text):
        if form.source.casefold() not in empty:
            words = [word for word in analyze(" ".join(form.words)) if known.count(word)]
            if words:
                yield form, words


def _related(word: str, known: Vocabulary) -> Iterator[tuple[str, float]]:
    """Words of the vault that somebody may have meant by this one: compounds of it; and where it
    is nowhere, what it is made of, else what it was a slip of."""
    compounds = known.compounds(word)
    yield from ((each, _OF_COMPOUND) for each in compounds)
    if compounds or known.count(word):
        return
    if halves := known.halves(word):
        yield from ((each, _OF_PARTS) for each in halves)
    else:
        yield from ((each, _OF_TYPO) for each in known.near_spellings(word))


def _asked_pairs(text: str) -> list[str]:
    """What to look for, without what Chinese questions are built with, if anything is left."""
    return list(pairs_of_signs(ASKING_WORDS.sub(" ", text))) or list(pairs_of_signs(text))
