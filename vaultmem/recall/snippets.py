"""The part of a passage to show: around what the question asks for, its words marked or not."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from vaultmem.base.function_words import FUNCTION_WORDS, function_words_of
from vaultmem.base.words import CJK_RUN, PLAIN_WORD, word_beginning
from vaultmem.notes.masking import visible_text

_LENGTH: Final = 280
_BEFORE: Final = 90  # characters before the first match of a snippet
_MOST_WORDS: Final = 100
_ENTRY: Final = re.compile(r"\A[-*+][ \t]+(?:\*\*\d\d:\d\d(?::\d\d)?\*\*[ \t]+)?")
_BLOCK: Final = re.compile(r"(?<![ \t])[ \t]+\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_SHORT: Final = 4  # letters; what begins with a short word is seldom a form of it
_TAILS: Final = (4, 6)  # letters that a form may have more, of a short beginning and of a long one

Span = tuple[int, int]
Cost = Callable[[str], int]


def query_words(query: str) -> list[str]:
    """Stems good enough for marking: a word's first letters, case folded. Words that say nothing
    are among them only where there are no others."""
    words = [word.casefold() for word in PLAIN_WORD.findall(query)]
    words = [word for word in words if len(word) > 1 or not word.isascii()]
    empty = function_words_of(words, "english")
    return [word_beginning(w) for w in [w for w in words if w not in empty] or words]


def matches(text: str, words: list[str]) -> int:
    folded = text.casefold()
    return sum(word in folded for word in words)


def entry_text(line: str) -> str:
    """What a line of a journal says, without its bullet, its time and its id."""
    text = _ENTRY.sub("", line)
    return _BLOCK.sub("", text, count=1) if "^" in text else text


# --- marked ---------------------------------------------------------------------------------


def snippet(text: str, words: list[str]) -> str:
    """The part of the passage with most of the matches, every match marked."""
    found = _matched_spans(text, words)
    start = max(0, _densest(text, found) - _BEFORE) if found else 0
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = min(len(text), start + _LENGTH)
    if end < len(text):
        end = max(text.rfind(" ", start, end), start + _LENGTH // 2)
    parts, at = ["…" if start else ""], start
    for first, last in found:
        if start <= first and last <= end:
            parts += [text[at:first], f"**{text[first:last]}**"]
            at = last
    return " ".join("".join([*parts, text[at:end], "…" if end < len(text) else ""]).split())


def _matched_spans(text: str, words: Sequence[str]) -> list[Span]:
    """Whole words that are forms of the question's; none in code, none that says nothing."""
    pattern = _marker(tuple(words[:_MOST_WORDS]))
    if pattern is None:
        return []
    seen = visible_text(text)
    empty = FUNCTION_WORDS["english"]
    return [m.span() for m in pattern.finditer(seen) if m[0].casefold() not in empty]


@functools.lru_cache(64)
def _marker(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Words that begin like one of the question's; in scripts without blanks, any place."""
    parts = []
    for tail, is_long in zip(_TAILS, (False, True), strict=True):
        starts = [w for w in words if not CJK_RUN.match(w) and (len(w) > _SHORT) == is_long]
        if starts:
            parts.append(rf"(?<!\w)(?:{'|'.join(map(re.escape, starts))})\w{{0,{tail}}}(?!\w)")
    parts += [re.escape(word) for word in words if CJK_RUN.match(word)]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _densest(text: str, found: Sequence[Span]) -> int:
    """Where the stretch begins that has the most different matches in it."""
    ends, best, place, first = [end for _, end in found], 0, found[0][0], 0
    names = [text[start:end].casefold() for start, end in found]
    held: dict[str, int] = {}
    last = 0
    for first, (start, _) in enumerate(found):
        reach = bisect_right(ends, start + _LENGTH - _BEFORE)
        for name in names[last:reach]:
            held[name] = held.get(name, 0) + 1
        last = max(last, reach)
        if len(held) > best:
            best, place = len(held), start
        if first < last:
            held[names[first]] -= 1
            if not held[names[first]]:
                del held[names[first]]
    return place


# --- cut ------------------------------------------------------------------------------------


def cut_passage(text: str, words: Sequence[str], most: int, cost: Cost) -> str:
    """Of a passage that costs too much, the sentences around the best of them.

    What is left out is shown by `…`; every word that stays stands as it does in the note.
    """
    if cost(text) <= most:
        return text
    spans = _sentence_spans(text)
    first = last = _best_sentence(spans, _matched_spans(text, words))

    @functools.cache
    def cost_of(place: int) -> int:
        start, end = spans[place]
        return cost(text[start:end]) + 1

    left = most - 2 - cost_of(first)
    if left < 0:
        return _cut_sentence(text, spans[first], words, most - 2, cost)
    while True:
        if last + 1 < len(spans) and cost_of(last + 1) <= left:
            last += 1
            left -= cost_of(last)
        elif first and cost_of(first - 1) <= left:
            first -= 1
            left -= cost_of(first)
        else:
            return _with_ellipses(text, spans[first][0], spans[last][1])


def _sentence_spans(text: str) -> list[Span]:
    spans, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if text[start : end.start()].strip():
            spans.append((start, end.start()))
            start = end.end()
    if text[start:].strip() or not spans:
        spans.append((start, len(text)))
    return spans


def _best_sentence(spans: Sequence[Span], found: Sequence[Span]) -> int:
    """The first with the most matches; without any, the first of all."""
    counts = [0] * len(spans)
    starts = [start for start, _ in spans]
    for start, _ in found:
        counts[max(0, bisect_right(starts, start) - 1)] += 1
    return counts.index(max(counts))


def _cut_sentence(text: str, span: Span, words: Sequence[str], most: int, cost: Cost) -> str:
    """Of a sentence that is too long by itself, whole words around its first match."""
    begin, stop = span
    found = [s for s, _ in _matched_spans(text, words) if begin <= s < stop]
    start, length = begin, max(8, min(stop - begin, 4 * most))
    while length > 8:
        if found and found[0] + length // 2 > begin + length:
            start = text.rfind(" ", begin, max(begin + 1, found[0] - length // 3)) + 1
            start = max(begin, start or found[0])
        end = min(stop, start + length)
        space = text.rfind(" ", start + length // 2, end) if end < stop else end
        end = space if space > start else end
        if cost(text[start:end]) <= most:
            break
        length = length * 3 // 4
    else:
        end = min(stop, start + 8)
    return _with_ellipses(text, start, end)


def _with_ellipses(text: str, start: int, end: int) -> str:
    before = "… " if text[:start].strip() else ""
    return f"{before}{text[start:end].strip()}{' …' if text[end:].strip() else ''}"
