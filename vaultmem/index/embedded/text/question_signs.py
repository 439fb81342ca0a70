"""What a question asks for in scripts without blanks: pairs of signs, and which of them tell.

In Japanese and Korean a run is words and what joins them. What joins them helps to rank, but a
note does not answer for having it, nor is it unknown for lacking it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vaultmem.base.words import ASKING_WORDS, CJK_RUN, pairs_of_signs, signs_of_run

_HIRAGANA: Final = "\u3041-\u3096\u309d-\u309f"
_HANGUL: Final = "\uac00-\ud7af"
_HAS_HIRAGANA: Final = re.compile(f"[{_HIRAGANA}]")
_JAPANESE_WORD: Final = re.compile(f"[\u30a0-\u30ff]+|[^{_HIRAGANA}\u30a0-\u30ff]+")
_JAPANESE_ASKING: Final = re.compile("[誰何]")
_KOREAN_WORD: Final = re.compile(
    f"([{_HANGUL}]{{2,}}?)(?:에서는|에서|에게|에는|으로|부터|까지|이랑|이나|은|는|이|가|을|를|의|에|로|와|과|도|만)\\Z"
)


def question_pairs(text: str) -> tuple[list[str], list[str]]:
    """Pairs that tell (and single signs that are a word), and those that only help to rank."""
    bare = ASKING_WORDS.sub(" ", text)
    for each in (bare, text):
        telling = dict.fromkeys(_telling_pairs(each))
        every = dict.fromkeys(pairs_of_signs(each))
        if telling:
            return list(telling), [pair for pair in every if pair not in telling]
        if every:
            return list(every), []
    return [], []


def _telling_pairs(text: str) -> Iterator[str]:
    for run in CJK_RUN.findall(text):
        if _HAS_HIRAGANA.search(run):
            words = _JAPANESE_WORD.findall(_JAPANESE_ASKING.sub("\u3042", run))
        else:
            found = _KOREAN_WORD.match(run)
            words = [found[1]] if found else [run]
        for word in words:
            yield from pairs_of_signs(word)


def signs_in_pairs(pairs: list[str]) -> list[str]:
    """The single signs of the pairs."""
    return list(dict.fromkeys(sign for pair in pairs for sign in signs_of_run(pair)))
