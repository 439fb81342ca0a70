"""Words: what is one, which of them say nothing, and which are forms of the same.

Each rule is for another use, and says which. Scripts without blanks have no words to be seen:
their runs are read by pairs of neighbours, everywhere alike. A sign of Chinese, Japanese or Korean
is a character; of Thai, Lao, Burmese or Khmer a consonant with all that is written around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

# With the vowels of Indian scripts, which Python takes for no letters.
PLAIN_WORD: Final = re.compile("[\\w\u0900-\u0963\u0966-\u0dff]+")
# A word as somebody wrote it, signs inside included: part of a name like `AC/DC` or `node.js`.
WRITTEN_WORD: Final = re.compile(r"[^\s,;:!?()\[\]\"“”„«»]+")
# Chinese, Japanese and Korean; then Thai, Lao, Burmese and Khmer.
_RUN: Final = (
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f]+"
    "|[\u0e01-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3]+"
)
CJK_RUN: Final = re.compile(_RUN)
_RUN_OR_WORD: Final = re.compile(rf"{_RUN}|[^\W_]+(?:['’][^\W_]+)?")
_SYLLABLE: Final = re.compile(
    "[\u0e40-\u0e44]?[\u0e01-\u0e2f][\u0e30-\u0e3a\u0e45-\u0e4e]*"
    "|[\u0ec0-\u0ec4]?[\u0e81-\u0eaf\u0edc-\u0edf][\u0eb0-\u0ebd\u0ec6-\u0ecd]*"
    "|[\u1780-\u17b3](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17d3])*"
    "|[\u1000-\u102a\u103f\u1050-\u1055](?:\u1039[\u1000-\u102a]|[\u102b-\u1038\u103a-\u103e\u1056-\u108f])*"
    "|."
)
_FIRST_OF_CJK: Final = "\u2e80"
_READ: Final = 20_000  # characters of a text: what it is about is said by then
_ENDING: Final = re.compile(r"(?:ingly|ings?|edly|ied|ies|ed|es|ly|s)\Z")

# --- words that say nothing ---------------------------------------------------------------

# What Chinese questions are built with; for other languages see `function_words`.
ASKING_WORDS: Final = re.compile(
    "什么时候|为什么|什么|哪些|哪个|哪里|哪儿|哪|多少|如何|怎么|怎样|是谁|谁|几个|请问|是否|[吗呢的是]"
)
_SMALL_WORDS: Final = """
    about above after again all also always and any are away back because been before being
    below between both but call can cannot could did does doing done down each else even ever
    every few first for from get give going got had has have having her here hers him his how
    however into its just keep know last later let like made make makes many may might more most
    much must need never new next not nothing now off once one only other our out over own put
    quite really same say see seem she should show since some something still such take than
    that the their them then there these they thing things this those though through too two
    under until use used using very want was way well were what when where which while who whole
    whose why will with without work works would yes yet you your yours
"""
_SMALL: Final = frozenset(_SMALL_WORDS.split())
_OF_TEXTS: Final = """
    against almost along already although among around became came during either enough found
    further gave gets getting given goes instead itself least less making needs nor onto per
    rather said says seen shall soon thus till together took toward upon uses via wants went
    whether whom within
"""
_OF_PROMPTS: Final = """
    actually ahead alright another anything ask better change check come continue don everything
    explain file files find fine fix good great hello help hey little look looks lot maybe mean
    mine nice nope okay ours perfect please problem proceed question ran right run someone stop
    sure tell thank thanks think try won write wrong yeah yep
"""
# Of three letters and more: what a text is about needs none of the first, and what somebody
# wants of an agent none of the second.
WORDS_SAYING_NOTHING: Final = _SMALL.union(_OF_TEXTS.split())
WORDS_ASKING_NOTHING: Final = _SMALL.union(_OF_PROMPTS.split())


# --- reading ------------------------------------------------------------------------------


def signs_of_run(run: str) -> Sequence[str]:
    return run if run >= _FIRST_OF_CJK else _SYLLABLE.findall(run)


def pairs_of_signs(text: str) -> Iterator[str]:
    """Of each run every two neighbours, and a sign only where it stands alone."""
    for run in CJK_RUN.findall(text):
        signs = signs_of_run(run)
        yield from ("".join(signs[i : i + 2]) for i in range(max(1, len(signs) - 1)))


def topic_words(text: str) -> list[str]:
    """The words that carry meaning, plural or not; scripts without blanks by pairs of signs."""
    found: list[str] = []
    for word in _RUN_OR_WORD.findall(text[:_READ].casefold()):
        if CJK_RUN.match(word):
            found += pairs_of_signs(word)
        elif is_telling_word(word, WORDS_SAYING_NOTHING):
            found.append(singular_word(word))
    return found


def is_telling_word(word: str, empty: frozenset[str]) -> bool:
    return len(word) > 2 and word not in empty and not word.isdigit()


# --- forms of a word ----------------------------------------------------------------------


def singular_word(word: str) -> str:
    """Still a word, to be shown."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def word_stem(word: str) -> str:
    """A word without its ending, so that `rotates` and `rotating` are one."""
    short = _ENDING.sub("", word)
    if len(short) < 3 or not word.isascii():
        return word
    if len(short) > 3 and short[-1] == short[-2]:
        short = short[:-1]
    return short.removesuffix("e") if len(short) > 3 else short


def word_beginning(word: str) -> str:
    """What its forms have in common, good enough to mark them in a text."""
    return word if len(word) <= 4 else word[: max(4, len(word) - 3)]
