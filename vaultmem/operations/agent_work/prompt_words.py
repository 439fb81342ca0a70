"""The words that carry a prompt: without any there is nothing to look for."""

from __future__ import annotations

import re
from typing import Final

from vaultmem.base.words import (
    CJK_RUN,
    PLAIN_WORD,
    WORDS_ASKING_NOTHING,
    is_telling_word,
    pairs_of_signs,
)

_PROMPT: Final = 4_000  # characters of a prompt that are looked at
_MOST_WORDS: Final = 24
_NAME: Final = re.compile(r"\w*[a-z]\w*[A-Z]|\w*\d|\w+_\w")
_LONGEST: Final = 60  # letters of a name


def content_words(text: str) -> dict[str, bool]:
    """The words that carry a text, in order, and whether each is a name like `AuthService`."""
    found: dict[str, bool] = {}
    text = text[:_PROMPT]
    for written in PLAIN_WORD.findall(CJK_RUN.sub(" ", text)):
        word = written.casefold()
        if is_telling_word(word, WORDS_ASKING_NOTHING):
            found[word] = found.get(word, False) or bool(_NAME.match(written[:_LONGEST]))
    found |= dict.fromkeys(pairs_of_signs(text), False)
    return dict(list(found.items())[:_MOST_WORDS])
