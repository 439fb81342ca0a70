"""Which language a text is in, as far as its script and its function words tell.

That is cheap, and right for anything of a sentence or more. A text that tells nothing, like a
list of names or a piece of code, is in no language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vaultmem.base.function_words import FUNCTION_WORDS, count_function_words
from vaultmem.base.words import PLAIN_WORD

ENGLISH: Final = "english"

_READ: Final = 800  # characters of a text
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]+")
_NOT_LATIN: Final = re.compile("[\u0370-\u1cff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0002fa1f]")
# A script, and the language that is meant where its words do not say more. Of the first kind one
# sign is as much as several letters.
_SIGNS: Final = (
    ("korean", re.compile("[\uac00-\ud7af]+")),
    ("japanese", re.compile("[\u3040-\u30ff]+")),
    ("chinese", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]+")),
)
_LETTERS: Final = (
    ("russian", re.compile("[\u0400-\u052f]+")),
    ("greek", re.compile("[\u0370-\u03ff]+")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]+")),
    ("hebrew", re.compile("[\u0590-\u05ff]+")),
    ("hindi", re.compile("[\u0900-\u097f]+")),
    ("bengali", re.compile("[\u0980-\u09ff]+")),
    ("tamil", re.compile("[\u0b80-\u0bff]+")),
    ("thai", re.compile("[\u0e00-\u0e7f]+")),
    (
        "another language",
        re.compile(
            "[\u0530-\u058f\u0a00-\u0b7f\u0c00-\u0dff\u0e80-\u109f\u10a0-\u13ff\u1780-\u17ff]"
        ),
    ),
)
_OTHERS_OF_SCRIPT: Final = {
    "russian": (("ukrainian", re.compile("[іїєґІЇЄҐ]")),),
    "arabic": (("persian", re.compile("[پچژگکی]")),),
}
# Letters of one language alone, as good as a word of it.
_OWN_LETTERS: Final = (
    ("turkish", re.compile("[ğşıİ]")),
    ("hungarian", re.compile("[őű]")),
    ("polish", re.compile("[łąęśżź]")),
    ("czech", re.compile("[řůě]")),
    ("german", re.compile("ß")),
    ("spanish", re.compile("[ñ¿¡]")),
    ("romanian", re.compile("[ățșţ]")),
    ("portuguese", re.compile("[ãõ]")),
)
_DOT_ABOVE: Final = "\u0307"  # of the Turkish capital I, when it is made small
LANGUAGES: Final = tuple(
    dict.fromkeys(
        (
            *FUNCTION_WORDS,
            *(name for name, _ in (*_SIGNS, *_LETTERS)),
            *(name for others in _OTHERS_OF_SCRIPT.values() for name, _ in others),
        )
    )
)
_MUCH_ALIKE: Final = frozenset(("danish", "norwegian", "swedish"))
_LETTERS_OF_SIGN: Final = 2
_KANA: Final = 0.1  # of the signs of a text in Japanese
_OTHER_SCRIPT: Final = 0.25  # of the letters of a text that is hardly English
_FEWEST: Final = 2  # function words
_SHARE: Final = 0.08  # of all words


def text_language(text: str, usual: str = "") -> str:
    """The language's name, or nothing; among equals the `usual` one, then English."""
    sample = text[:_READ]
    if not sample.isascii() and (name := _language_of_script(sample)):
        return name
    if sample.isascii():
        return language_of_words(PLAIN_WORD.findall(sample.lower()), usual)
    own = [name for name, letters in _OWN_LETTERS if letters.search(sample)]
    words = PLAIN_WORD.findall(sample.casefold().replace(_DOT_ABOVE, ""))
    return language_of_words(words, usual, own)


def language_of_words(words: Sequence[str], usual: str = "", more: Sequence[str] = ()) -> str:
    """`more` are names of languages that something else speaks for."""
    counts = count_function_words(words)
    counts.update(more)
    if not counts:
        return ""
    most = max(counts.values())
    if most < max(_FEWEST, _SHARE * len(words)):
        return ""
    best = [name for name, count in counts.items() if count == most]
    return next((name for name in (usual, ENGLISH) if name in best), best[0])


def are_much_alike(one: str, other: str) -> bool:
    """Whether a short text in one of them may be taken for one in the other."""
    return one == other or {one, other} <= _MUCH_ALIKE


def _language_of_script(sample: str) -> str:
    if not _NOT_LATIN.search(sample):
        return ""
    signs = {name: _count_letters(pattern, sample) for name, pattern in _SIGNS}
    letters = {name: _count_letters(pattern, sample) for name, pattern in _LETTERS}
    there = _LETTERS_OF_SIGN * sum(signs.values()) + sum(letters.values())
    if there <= _OTHER_SCRIPT * (there + _count_letters(_LATIN, sample)):
        return ""
    if _LETTERS_OF_SIGN * sum(signs.values()) >= sum(letters.values()):
        return _language_of_signs(signs)
    script = max(letters, key=letters.__getitem__)
    others = _OTHERS_OF_SCRIPT.get(script, ())
    return next((name for name, pattern in others if pattern.search(sample)), script)


def _count_letters(runs: re.Pattern[str], sample: str) -> int:
    return sum(map(len, runs.findall(sample)))


def _language_of_signs(signs: dict[str, int]) -> str:
    if signs["korean"] > signs["japanese"] + signs["chinese"]:
        return "korean"
    is_japanese = signs["japanese"] > _KANA * (signs["japanese"] + signs["chinese"])
    return "japanese" if is_japanese else "chinese"
