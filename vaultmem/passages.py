"""A note cut into passages: what is searched, embedded and shown.

Paragraphs are gathered under their heading until a passage is of a good size; an
observation or a fact is a passage of its own. Sizes are in bytes of UTF-8, a measure
that treats scripts alike: a thousand bytes are some 250 tokens of English and at most
400 of Chinese, below the 512 that the models read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem import markdown
from vaultmem.note import MAX_SCANNED, Note, printable

GOOD: Final = 700
MOST: Final = 1100
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\r?\n")
_BREAKS: Final = re.compile(r"(?<=[.!?。！？])\s+|\n|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    heading: str  # the path of headings above it: "Auth › Tokens"
    start: int  # offsets in the note's body
    end: int
    kind: str = "text"  # or "observation", "fact"
    block: str = ""


def in_context(note: Note, found: Sequence[Passage]) -> list[str]:
    """The texts as a model should read them: each with what stands around it."""
    title, date = printable(note.title), printable(note.string("created")[:10])
    heads = {p.heading: " › ".join(x for x in (title, p.heading, date) if x) for p in found}
    return [f"{heads[p.heading]}\n{p.text}" for p in found]


def passage_hash(text_in_context: str) -> bytes:
    return hashlib.blake2b(text_in_context.encode(), digest_size=16).digest()


def passages(note: Note) -> list[Passage]:
    text = printable(markdown.shown(note.body[:MAX_SCANNED]))
    own = sorted(_own(note, text), key=lambda p: p.start)
    found = list(own)
    taken = [(p.start, p.end) for p in own]
    for heading, start, end in _sections(note, len(text)):
        for a, b in _without(taken, start, end):
            found += _gathered(text, heading, a, b)
    found.sort(key=lambda p: p.start)
    return found


def _own(note: Note, text: str) -> Iterator[Passage]:
    for fact in note.facts:
        line = text[fact.start : fact.end].strip().lstrip("-*+ ")
        yield Passage(line, "Facts", fact.start, fact.end, "fact", fact.block)
    for seen in note.observations:
        if seen.content.strip():
            words = (seen.category, printable(seen.content), *(f"#{tag}" for tag in seen.tags))
            said = " ".join(word for word in words if word)
            yield Passage(said, "", seen.start, seen.end, "observation", seen.block)


def _sections(note: Note, end: int) -> Iterator[tuple[str, int, int]]:
    """Each stretch of text with the path of its headings."""
    trail: list[tuple[int, str]] = []
    at = 0
    for heading in note.headings:
        yield " › ".join(name for _, name in trail), at, heading.start
        trail = [(level, name) for level, name in trail if level < heading.level]
        trail.append((heading.level, printable(heading.text)))
        at = heading.end
    yield " › ".join(name for _, name in trail), at, end


def _without(taken: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """What is left of a stretch when observations and facts are taken out of it."""
    for a, b in taken:
        if a >= end:
            break
        if b > start:
            if a > start:
                yield start, a
            start = max(start, b)
    if start < end:
        yield start, end


def _gathered(text: str, heading: str, start: int, end: int) -> Iterator[Passage]:
    first = last = -1
    size = 0
    for a, b in _pieces(text, start, end):
        length = _size(text[a:b])
        if first >= 0 and size + length > GOOD:
            yield _passage(text, heading, first, last)
            first, size = -1, 0
        first = a if first < 0 else first
        last, size = b, size + length
    if first >= 0:
        yield _passage(text, heading, first, last)


def _passage(text: str, heading: str, start: int, end: int) -> Passage:
    return Passage(text[start:end].strip(), heading, start, end)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Paragraphs, and the sentences of those that are too long."""
    at = start
    for stop in [*(m.start() for m in _PARAGRAPH.finditer(text, start, end)), end]:
        if text[at:stop].strip():
            if stop - at <= MOST and _size(text[at:stop]) <= MOST:
                yield at, stop
            else:
                yield from _sentences(text, at, stop)
        at = stop


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for stop in [*(m.end() for m in _BREAKS.finditer(text, start, end)), end]:
        while _size(text[at:stop]) > MOST:  # a sentence without an end
            cut = _cut(text, at, stop)
            yield at, cut
            at = cut
        if text[at:stop].strip():
            yield at, stop
        at = stop


def _cut(text: str, start: int, end: int) -> int:
    """A place to cut an endless sentence: a blank if there is one, near the good size."""
    limit = start + len(text[start : start + MOST].encode()[:GOOD].decode(errors="ignore"))
    blank = text.rfind(" ", start + (limit - start) // 2, limit)
    return min(end, blank + 1 if blank > start else max(limit, start + 1))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
