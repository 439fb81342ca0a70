"""Long memories in pages: each ends where a paragraph does, and says what comes next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vaultmem.errors import InvalidInput
from vaultmem.notes.masking import visible_text
from vaultmem.notes.note import one_line
from vaultmem.operations.budget import passage_cost, shared_budget
from vaultmem.operations.results import Memory

PAGE: Final = 1_500  # tokens of what is read at once
_MOST: Final = 8_000  # that may be asked for
_EACH, _LEAST = 200, 50  # of each of several
_CHARACTERS: Final = 4  # that a token has at most
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+\S[^\n]*", re.MULTILINE)
_HEADINGS: Final = (20, 400)  # of an outline: how many, and characters
_ENDS: Final = ("\n\n", "\n", ". ", " ")  # the best first


def page_tokens(memories: int) -> int:
    return min(max(PAGE, _EACH * memories), _MOST)


def pages_within(memories: Sequence[Memory], offset: int, tokens: int) -> list[Memory]:
    """Each memory, or the page of it that begins at the offset. Short ones are whole, and leave
    the rest to the long ones."""
    needs = [passage_cost(each.content[offset:]) for each in memories]
    shares = shared_budget(needs, tokens, _LEAST)
    return [
        each if need <= share and not offset else _page_of_memory(each, offset, share)
        for each, need, share in zip(memories, needs, shares, strict=True)
    ]


def _page_of_memory(memory: Memory, offset: int, tokens: int) -> Memory:
    text = memory.content
    if offset >= len(text):
        raise InvalidInput(
            f"{memory.path} has {len(text):,} characters, so nothing begins at offset {offset:,}."
        )
    end = _page_end(text, offset, tokens)
    more = end < len(text)
    return replace(
        memory,
        content=text[offset:end],
        version="",
        offset=offset or None,
        next_offset=end if more else None,
        characters=len(text),
        outline=_page_outline(text[end:]) if more else None,
    )


def _page_end(text: str, start: int, tokens: int) -> int:
    low, high = start + 1, min(len(text), start + _CHARACTERS * tokens)
    if passage_cost(text[start:high]) > tokens:
        while low < high - 1:
            middle = (low + high) // 2
            if passage_cost(text[start:middle]) <= tokens:
                low = middle
            else:
                high = middle
        high = low
    if high == len(text):
        return high
    for mark in _ENDS:
        found = text.rfind(mark, start + (high - start) * 2 // 3, high)
        if found > start:
            return found + len(mark)
    return high


def _page_outline(text: str) -> str | None:
    most, length = _HEADINGS
    found = [match[0].strip() for match in _HEADING.finditer(visible_text(text))]
    said = one_line(" · ".join(found[:most]))
    cut = len(said) > length or len(found) > most
    return (f"{said[:length]} …" if cut else said) or None
