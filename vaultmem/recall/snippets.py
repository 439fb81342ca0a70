"""The part of a passage to show, with the question's words marked."""

from __future__ import annotations

import functools
import re
from typing import Final

from vaultmem.base.words import PLAIN_WORD, word_beginning

_LENGTH: Final = 280
_MOST_WORDS: Final = 100
_ENTRY: Final = re.compile(r"\A[-*+][ \t]+(?:\*\*\d\d:\d\d(?::\d\d)?\*\*[ \t]+)?")
_BLOCK: Final = re.compile(r"(?<![ \t])[ \t]+\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)


def query_words(query: str) -> list[str]:
    """Stems good enough for marking: a word's first letters, case folded."""
    words = (word.casefold() for word in PLAIN_WORD.findall(query))
    return [word_beginning(word) for word in words if len(word) > 1 or not word.isascii()]


def matches(text: str, words: list[str]) -> int:
    folded = text.casefold()
    return sum(word in folded for word in words)


def entry_text(line: str) -> str:
    """What a line of a journal says, without its bullet, its time and its id."""
    text = _ENTRY.sub("", line)
    return _BLOCK.sub("", text, count=1) if "^" in text else text


def snippet(text: str, words: list[str]) -> str:
    """The part of the passage around its first match, every match marked."""
    pattern = _marker(tuple(words[:_MOST_WORDS]))
    first = pattern.search(text) if pattern else None
    start = max(0, first.start() - _LENGTH // 3) if first else 0
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = min(len(text), start + _LENGTH)
    part = text[start:end]
    if pattern:
        part = pattern.sub(r"**\g<0>**", part)
    cut = ("…" if start else "", "…" if end < len(text) else "")
    return " ".join(f"{cut[0]}{part}{cut[1]}".split())


@functools.lru_cache(64)
def _marker(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Words that begin like one of the question's; in scripts without blanks, any place."""
    starts = [re.escape(word) for word in words if word.isascii()]
    inside = [re.escape(word) for word in words if not word.isascii()]
    parts = [rf"\b(?:{'|'.join(starts)})\w*"] if starts else []
    parts += inside
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None
