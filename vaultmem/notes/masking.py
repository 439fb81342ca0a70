"""What stands in a note and is no text: code, math, comments and private passages.

They are blanked out rather than cut, so that every offset stays true.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

INLINE_MASK: Final = "\0"  # stands for inline code, which is no blank: a line of it is not empty

# Each alternative starts with a literal: the re module then skips ahead by a charset.
_OPENING: Final = re.compile(r"``*|~~~+|\$\$|%%|<!--")
_TICKS: Final = re.compile(r"``*")
_MARKER: Final = r"(?:[-*+]|\d{1,9}[.)])"
_BEFORE_FENCE: Final = re.compile(rf"(?:[ \t>]|{_MARKER}[ \t])*")
_FENCE_END: Final = re.compile(r"\n[ \t]*(`{3,}|~{3,})[ \t]*(?=\r?\n|\r?\Z)")
_LINE: Final = re.compile(r"\n([ \t]*)(>?)[ \t>]*([^\n]*)")
_ITEM_LINE: Final = re.compile(rf"\n([ \t]*)(?=\S)({_MARKER}[ \t]+(?=\S)|(?!{_MARKER}[ \t]))")
_STARTS_BLOCK: Final = (
    r"(?:\r?\n|\||\#{1,6}(?:\s|\Z)|" + _MARKER + r"(?:\s|\Z)|~~~|```[^`\n]*(?:\n|\Z)"
    r"|(?:=+[ \t]*|-+[ \t]*|[-*_][ \t]*[-*_][ \t]*[-*_][-*_ \t]*)\r?(?:\n|\Z))"
)
_PARAGRAPH_END: Final = re.compile(rf"\n[ \t]*(?:>|{_STARTS_BLOCK})")
_QUOTE_END: Final = re.compile(rf"\n[ \t>]*{_STARTS_BLOCK}")
_BLANK_LINE: Final = re.compile(r"\n[ \t>]*\r?\n")
_INDENTED: Final = re.compile(r"\n[ \t]*\r?\n(?P<code>(?:(?: {4}|\t)[ \t]*\S[^\n]*(?:\n|\Z))+)")
_OWNED: Final = re.compile(rf"[ \t]|{_MARKER}[ \t]")


class _MaskedSpan(NamedTuple):
    start: int
    end: int
    kind: str  # "fence", "open fence" (never closed), "inline", "math", "comment" or "private"


def visible_text(text: str) -> str:
    """The text with code, math, comments and private passages blanked out."""
    text = mask_private(text)
    indented = "\n    " in text or ("\t" in text and "\n\t" in text)
    if "`" in text or "~" in text or "$" in text or _has_comments_to_mask(text):
        text = _mask_spans(text, _MaskedSpans(text))
    return _mask_spans(text, _indented_code_to_mask(text)) if indented else text


def text_without_comments(text: str) -> str:
    """The text as a reader may see it: comments and private passages blanked out, code kept."""
    text = mask_private(text)
    if not _has_comments_to_mask(text):
        return text
    return _mask_spans(text, (span for span in _MaskedSpans(text) if span.kind == "comment"))


def open_fence(text: str) -> str:
    """The mark of a code block that neither the text ends nor what would follow it."""
    more = text + "\n\n."
    spans = list(_MaskedSpans(more)) if "```" in text or "~~~" in text else []
    if not spans or spans[-1].kind != "open fence" or spans[-1].end < len(more):
        return ""
    mark = _OPENING.search(text, spans[-1].start)
    return mark[0] if mark else ""


# --- what is private ---------------------------------------------------------------------------

_PRIVATE: Final = re.compile(r"<(/?)(?i:private)(?=[\s/>])(?:([^<>]*)>)?")
_ATTRIBUTES: Final = re.compile(
    r"(?:\s+[\w:.@-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=]+))?)*\s*/?"
)
_ROUNDS: Final = 3  # what is left may have become a tag; that is nobody's by chance


def private_spans(text: str) -> list[_MaskedSpan]:
    """The private passages, each from its tag to the end tag that belongs to it, or to the end
    of the text. This alone decides what is private, for whoever reads or writes.

    In a code span and in a code block that is closed a tag alone is text, also within a passage;
    only a passage of words that begins and ends in the same code is private there too. In a
    comment a tag counts, but an end tag there ends only what began in the same comment. Where
    the rest of a tag is no attribute (`<private key>`), or it has no end, it is a tag if an end
    tag follows.
    """
    if "<" not in text or ("<p" not in text and "<P" not in text):  # the first is found faster
        return []
    tags = [tag for tag in _PRIVATE.finditer(text) if not tag[1] or tag[2] is not None]
    if all(tag[1] for tag in tags):
        return []
    closed = [s for s in _MaskedSpans(text) if s.kind in ("fence", "inline", "comment")]
    places = _MaskedPlaces(closed)
    outside: list[_Tag] = []
    in_code: dict[_MaskedSpan, list[_Tag]] = {}
    for tag in tags:
        span = places.span_at(tag.start())
        if span is None or span.kind == "comment":
            outside.append((tag, span))
        else:
            in_code.setdefault(span, []).append((tag, None))
    found = list(_outermost_private_spans(outside, len(text)))
    whole = _MaskedPlaces(found)
    for inside in in_code.values():
        for span in _outermost_private_spans(inside, -1):
            said = _PRIVATE.sub("", text[span.start : span.end])
            if _SAID.search(said) and whole.span_at(span.start) is None:
                found.append(span)
    return sorted(found)


_Tag = tuple[re.Match[str], _MaskedSpan | None]  # with the comment that it stands in
_SAID: Final = re.compile(r"\w")


def _outermost_private_spans(tags: list[_Tag], length: int) -> Iterator[_MaskedSpan]:
    """The passages that are in no other; one that is never closed ends at `length`, if at all."""
    last = max((tag.start() for tag, _ in tags if tag[1]), default=-1)
    opened: list[tuple[int, _MaskedSpan | None]] = []
    for tag, comment in tags:
        if not tag[1]:
            if _is_opening_private_tag(tag) or tag.start() < last:
                opened.append((tag.start(), comment))
        elif opened and (comment is None or comment == opened[-1][1]):
            start, _ = opened.pop()
            if not opened:
                yield _MaskedSpan(start, tag.end(), "private")
    if opened and length >= 0:
        yield _MaskedSpan(opened[0][0], length, "private")


def _is_opening_private_tag(tag: re.Match[str]) -> bool:
    said: str | None = tag[2]
    if said is None:
        return False
    return not said.strip("/ \t\r\n") or ("=" in said and _ATTRIBUTES.fullmatch(said) is not None)


def mask_private(text: str) -> str:
    """The text with private passages alone blanked out."""
    spans = private_spans(text)
    return _mask_spans(text, spans) if spans else text


def without_private(text: str) -> str:
    """The text without its private passages. Once more as long as something goes: what is left
    may have become a tag."""
    for _ in range(_ROUNDS):
        if not (spans := private_spans(text)):
            return text
        text = _text_without_masked_spans(text, spans)
    left = private_spans(text)
    return text[: left[0].start] if left else text


def public_part(text: str) -> str:
    """What a reader gets of a text: all but its private passages, once."""
    return _text_without_masked_spans(text, private_spans(text))


def public_value(value: Any) -> Any:
    """A property's value without what is private in it; a list is read as one text."""
    leaves = list(_texts_to_mask_in_value(value))
    whole = "\n\n".join(leaves)
    if not (spans := private_spans(whole)):
        return value
    kept, at = [], 0
    for leaf in leaves:
        inside = [_MaskedSpan(max(0, s - at), min(len(leaf), e - at), k) for s, e, k in spans]
        kept.append(
            _text_without_masked_spans(leaf, [span for span in inside if span.start < span.end])
        )
        at += len(leaf) + 2
    return _value_without_masked_texts(value, iter(kept))


def _texts_to_mask_in_value(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from (name, *_texts_to_mask_in_value(item))
    elif isinstance(value, list):
        for item in value:
            yield from _texts_to_mask_in_value(item)


def _value_without_masked_texts(value: Any, kept: Iterator[str]) -> Any:
    if isinstance(value, str):
        return next(kept)
    if isinstance(value, dict):
        return {next(kept): _value_without_masked_texts(item, kept) for item in value.values()}
    if isinstance(value, list):
        return [_value_without_masked_texts(item, kept) for item in value]
    return value


def exposes_private(before: str, after: str) -> bool:
    """Whether an edit would lose a private passage, or lay it open."""
    kept = Counter(after[s:e] for s, e, _ in private_spans(after))
    return any((Counter(before[s:e] for s, e, _ in private_spans(before)) - kept).values())


def _text_without_masked_spans(text: str, spans: list[_MaskedSpan]) -> str:
    pieces, at = [], 0
    for start, end, _ in spans:
        pieces.append(text[at:start])
        at = end
    return "".join([*pieces, text[at:]]) if spans else text


class _MaskedPlaces:
    """Spans in order, to be asked which one a place lies in."""

    def __init__(self, spans: list[_MaskedSpan]) -> None:
        self.spans = spans
        self.starts = [span.start for span in spans]

    def span_at(self, at: int) -> _MaskedSpan | None:
        number = bisect_right(self.starts, at) - 1
        return self.spans[number] if number >= 0 and at < self.spans[number].end else None


# --- parts of reading ------------------------------------------------------------------------


def is_escaped(text: str, at: int) -> bool:
    before = at
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def list_items(text: str) -> dict[int, int]:
    """The start of each line inside a list item, with the columns that keep a line in it.

    Two columns from the item's marker are enough, as people do not count for `1.`.
    """
    found: dict[int, int] = {}
    inside: list[int] = []
    for line in _ITEM_LINE.finditer("\n" + text):
        column = len(line[1].expandtabs(4))
        while inside and inside[-1] > column:
            inside.pop()
        if inside:
            found[line.start()] = inside[-1]
        if line[2]:
            inside.append(column + 2)
    return found


def _has_comments_to_mask(text: str) -> bool:
    return ("%" in text and "%%" in text) or ("<" in text and "<!--" in text)


def _mask_spans(text: str, spans: Iterable[_MaskedSpan]) -> str:
    pieces, at = [], 0
    for start, end, kind in spans:
        blank = INLINE_MASK if kind in ("inline", "math") else " "
        pieces.append(text[at:start])
        pieces.append("\n".join([blank * len(line) for line in text[start:end].split("\n")]))
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _indented_code_to_mask(text: str) -> Iterator[_MaskedSpan]:
    """Blocks indented by four after a blank line, unless a list item owns them."""
    for match in _INDENTED.finditer(text):
        before = text[max(0, match.start() - 2000) : match.start()].rstrip().rpartition("\n")[2]
        if not _OWNED.match(before):
            yield _MaskedSpan(*match.span("code"), "fence")


class _MaskedSpans:
    """Spans of fences, code spans, math, comments and private passages, in one pass.

    The trap is quadratic time on hostile text: a mark without a partner is remembered
    (as CommonMark parsers do), and so are the runs of backticks in a paragraph, and
    neither is searched for again.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.unpaired: set[str] = set()
        self.paragraph_end = -1
        self.ticks: dict[int, list[int]] = {}  # length -> where such runs start in the paragraph

    @cached_property
    def items(self) -> dict[int, int]:
        return list_items(self.text)

    def __iter__(self) -> Iterator[_MaskedSpan]:
        at = 0
        while match := _OPENING.search(self.text, at):
            start, mark = match.start(), match[0]
            if mark[0] in "`$" and is_escaped(self.text, start):
                at = start + 1
            elif span := self._span_to_mask(start, match.end(), mark):
                yield span
                at = span.end
            else:
                at = match.end()

    def _span_to_mask(self, start: int, at: int, mark: str) -> _MaskedSpan | None:
        if len(mark) >= 3 and mark[0] in "`~" and (fence := self._fence_to_mask(start, at, mark)):
            return fence
        if mark[0] == "`":
            end, kind = self._end_of_masked_code(at, len(mark)), "inline"
        elif mark[0] == "$":
            end, kind = self._end_of_masked_math(start, at), "math"
        elif mark == "%%":
            end, kind = self._end_of_masked_mark(at, mark, "%%"), "comment"
        elif mark == "<!--":
            end, kind = self._end_of_masked_mark(at, mark, "-->"), "comment"
        else:
            return None
        return _MaskedSpan(start, end, kind) if end is not None else None

    def _end_of_masked_mark(self, at: int, mark: str, closing: str) -> int | None:
        if mark in self.unpaired:
            return None
        end = self.text.find(closing, at)
        if end < 0:
            self.unpaired.add(mark)
            return None
        return end + len(closing)

    def _end_of_masked_math(self, start: int, at: int) -> int | None:
        """Math is a block of lines without a blank one, or stands within a line."""
        end = self._end_of_masked_mark(at, "$$", "$$")
        if end is None:
            return None
        if self.text.find("\n", at, end) < 0:
            return end
        before = self._line_before_masked_span(start)
        is_block = before is not None and _BEFORE_FENCE.fullmatch(before)
        return end if is_block and not _BLANK_LINE.search(self.text, at, end) else None

    def _end_of_masked_code(self, at: int, length: int) -> int | None:
        if at > self.paragraph_end:
            self._read_paragraph_to_mask(at)
        starts = self.ticks.get(length, [])
        i = bisect_left(starts, at)
        return starts[i] + length if i < len(starts) else None

    def _read_paragraph_to_mask(self, at: int) -> None:
        """A code span ends with its paragraph at the latest."""
        text = self.text
        quoted = text[text.rfind("\n", 0, at) + 1 : at].lstrip(" \t").startswith(">")
        limit = (_QUOTE_END if quoted else _PARAGRAPH_END).search(text, at)
        self.paragraph_end = limit.start() if limit else len(text)
        self.ticks = {}
        for run in _TICKS.finditer(text, at, self.paragraph_end):
            self.ticks.setdefault(run.end() - run.start(), []).append(run.start())

    def _line_before_masked_span(self, start: int) -> str | None:
        """What stands before this on its line; None when that is too long for a prefix."""
        newline = self.text.rfind("\n", max(0, start - 200), start)
        return None if newline < 0 and start > 200 else self.text[newline + 1 : start]

    def _fence_to_mask(self, start: int, at: int, mark: str) -> _MaskedSpan | None:
        """A fenced block, to its closing line or the end of what it stands in."""
        prefix = self._line_before_masked_span(start)
        if prefix is None or not _BEFORE_FENCE.fullmatch(prefix):
            return None
        first = self.text.find("\n", at)
        first = len(self.text) if first < 0 else first
        if mark[0] == "`" and self.text.find("`", at, first) >= 0:
            return None
        line, blanks = start - len(prefix), len(prefix) - len(prefix.lstrip(" \t"))
        quoted = ">" in prefix
        if prefix.strip(" \t"):
            columns = len(prefix[:blanks].expandtabs(4)) + 2
        else:
            columns = self.items.get(line, 0) if prefix else 0
        if quoted or columns:
            return _MaskedSpan(line, *self._end_of_masked_inner_fence(first, mark, quoted, columns))
        for end in _FENCE_END.finditer(self.text, first):
            if end[1].startswith(mark):
                return _MaskedSpan(line, end.end(), "fence")
        return _MaskedSpan(line, len(self.text), "open fence")

    def _end_of_masked_inner_fence(
        self, first: int, mark: str, quoted: bool, columns: int
    ) -> tuple[int, str]:
        """Where a fence ends that a block quote or a list item holds, and its kind."""
        for line in _LINE.finditer(self.text, first):
            blanks, quote, rest = line[1], line[2], line[3].rstrip()
            if quoted:
                outside = not quote
            else:
                outside = bool(quote or rest) and len(blanks.expandtabs(4)) < columns
            if outside:
                return line.start(), "open fence"
            if rest.startswith(mark) and not rest.strip(mark[0]):
                return line.start(3) + len(rest), "fence"
        return len(self.text), "open fence"
