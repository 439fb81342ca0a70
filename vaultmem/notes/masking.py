"""What stands in a note and is no text: code, math, comments and private passages.

They are blanked out rather than cut, so that every offset stays true.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

INLINE: Final = "\0"  # stands for inline code, which is no blank: a line of it is not empty

# Each alternative starts with a literal: the re module then skips ahead by a charset.
_OPENING: Final = re.compile(r"``*|~~~+|\$\$|%%|<!--|<(?i:private)>")
_TICKS: Final = re.compile(r"``*")
_MARKER: Final = r"(?:[-*+]|\d{1,9}[.)])"
_BEFORE_FENCE: Final = re.compile(rf"(?:[ \t>]|{_MARKER}[ \t])*+")
_FENCE_END: Final = re.compile(r"\n[ \t]*+(`{3,}+|~{3,}+)[ \t]*+(?=\r?\n|\r?\Z)")
_LINE: Final = re.compile(r"\n([ \t]*+)(>?)[ \t>]*+([^\n]*)")
_ITEM_LINE: Final = re.compile(rf"\n([ \t]*+)({_MARKER}[ \t]++)?+(?=\S)")
_STARTS_BLOCK: Final = (
    r"(?:\r?\n|\||\#{1,6}(?:\s|\Z)|" + _MARKER + r"(?:\s|\Z)|~~~|```[^`\n]*+(?:\n|\Z)"
    r"|(?:=+|-+|[-*_][ \t]*+(?:[-*_][ \t]*+){2,}+)[ \t]*+\r?(?:\n|\Z))"
)
_PARAGRAPH_END: Final = re.compile(rf"\n[ \t]*+(?:>|{_STARTS_BLOCK})")
_QUOTE_END: Final = re.compile(rf"\n[ \t>]*+{_STARTS_BLOCK}")
_BLANK_LINE: Final = re.compile(r"\n[ \t>]*+\r?\n")
_INDENTED: Final = re.compile(r"\n[ \t]*+\r?\n(?P<code>(?:(?: {4}|\t)[ \t]*+\S[^\n]*+(?:\n|\Z))++)")
_OWNED: Final = re.compile(rf"[ \t]|{_MARKER}[ \t]")
_PRIVATE_TAG: Final = re.compile(r"</?(?i:private)>")
_PRIVATE_START: Final = re.compile(r"<(?i:private)>")
_PRIVATE_END: Final = re.compile(r"</(?i:private)>")


class _Span(NamedTuple):
    start: int
    end: int
    kind: str  # "fence", "inline", "comment" or "private"


def visible(text: str) -> str:
    """The text with code, math, comments and private passages blanked out."""
    indented = "\n    " in text or ("\t" in text and "\n\t" in text)
    if "`" in text or "~" in text or "$" in text or _has_comments(text):
        text = _blank(text, _Hidden(text))
    return _blank(text, _indented_code(text)) if indented else text


def shown(text: str) -> str:
    """The text as a reader may see it: comments and private passages blanked out, code kept."""
    if not _has_comments(text):
        return text
    return _blanked_private(_blank(text, _of(text, "comment", "private")))


def public(text: str) -> str:
    """The text with private passages alone blanked out."""
    return _blanked_private(_blank(text, _of(text, "private"))) if _has_private(text) else text


def without_private(text: str) -> str:
    """The text without its `<private>` passages; an unclosed one runs to the end.

    Once more as long as something goes: what is left may have become a tag.
    """
    while _has_private(text) and (less := _without_outer(text)) != text:
        text = less
    return text


def _without_outer(text: str) -> str:
    """Passages may be nested; the outermost goes with all that is in it."""
    kept, start, depth = [], 0, 0
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag[0].startswith("</"):
            if depth == 0:
                kept.append(text[start : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            start = tag.end()
    return "".join(kept) + ("" if depth else text[start:])


def escaped(text: str, at: int) -> bool:
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


def _has_private(text: str) -> bool:
    return "<" in text and ("<p" in text or "<P" in text)  # one character is found much faster


def _has_comments(text: str) -> bool:
    return ("%" in text and "%%" in text) or (
        "<" in text and ("<!--" in text or _has_private(text))
    )


def _of(text: str, *kinds: str) -> Iterator[_Span]:
    return (span for span in _Hidden(text) if span.kind in kinds)


def _blank(text: str, spans: Iterable[_Span]) -> str:
    pieces, at = [], 0
    for start, end, kind in spans:
        blank = INLINE if kind == "inline" else " "
        pieces.append(text[at:start])
        pieces.append("\n".join([blank * len(line) for line in text[start:end].split("\n")]))
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _blanked_private(text: str) -> str:
    """Closed private passages in what is left: in code and comments they are secrets too."""
    return _blank(text, _closed_private(text)) if _has_private(text) else text


def _closed_private(text: str) -> Iterator[_Span]:
    at = 0
    while (opening := _PRIVATE_START.search(text, at)) and (
        closing := _PRIVATE_END.search(text, opening.end())
    ):
        at = closing.end()
        yield _Span(opening.start(), at, "private")


def _indented_code(text: str) -> Iterator[_Span]:
    """Blocks indented by four after a blank line, unless a list item owns them."""
    for match in _INDENTED.finditer(text):
        before = text[max(0, match.start() - 2000) : match.start()].rstrip().rpartition("\n")[2]
        if not _OWNED.match(before):
            yield _Span(*match.span("code"), "fence")


class _Hidden:
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

    def __iter__(self) -> Iterator[_Span]:
        at = 0
        while match := _OPENING.search(self.text, at):
            start, mark = match.start(), match[0]
            if mark[0] in "`$" and escaped(self.text, start):
                at = start + 1
            elif span := self._span(start, match.end(), mark):
                yield span
                at = span.end
            else:
                at = match.end()

    def _span(self, start: int, at: int, mark: str) -> _Span | None:
        if len(mark) >= 3 and mark[0] in "`~" and (fence := self._fence(start, at, mark)):
            return fence
        if mark[0] == "`":
            end, kind = self._code_end(at, len(mark)), "inline"
        elif mark[0] == "$":
            end, kind = self._math_end(start, at), "inline"
        elif mark == "%%":
            end, kind = self._find(at, mark, "%%"), "comment"
        elif mark == "<!--":
            end, kind = self._find(at, mark, "-->"), "comment"
        elif mark[0] == "<":
            closing = _PRIVATE_END.search(self.text, at)
            # An unclosed comment is text; an unclosed secret stays one.
            end, kind = closing.end() if closing else len(self.text), "private"
        else:
            return None
        return _Span(start, end, kind) if end is not None else None

    def _find(self, at: int, mark: str, closing: str) -> int | None:
        if mark in self.unpaired:
            return None
        end = self.text.find(closing, at)
        if end < 0:
            self.unpaired.add(mark)
            return None
        return end + len(closing)

    def _math_end(self, start: int, at: int) -> int | None:
        """Math is a block of lines without a blank one, or stands within a line."""
        end = self._find(at, "$$", "$$")
        if end is None:
            return None
        if self.text.find("\n", at, end) < 0:
            return end
        before = self._line_before(start)
        is_block = before is not None and _BEFORE_FENCE.fullmatch(before)
        return end if is_block and not _BLANK_LINE.search(self.text, at, end) else None

    def _code_end(self, at: int, length: int) -> int | None:
        if at > self.paragraph_end:
            self._read_paragraph(at)
        starts = self.ticks.get(length, [])
        i = bisect_left(starts, at)
        return starts[i] + length if i < len(starts) else None

    def _read_paragraph(self, at: int) -> None:
        """A code span ends with its paragraph at the latest."""
        text = self.text
        quoted = text[text.rfind("\n", 0, at) + 1 : at].lstrip(" \t").startswith(">")
        limit = (_QUOTE_END if quoted else _PARAGRAPH_END).search(text, at)
        self.paragraph_end = limit.start() if limit else len(text)
        self.ticks = {}
        for run in _TICKS.finditer(text, at, self.paragraph_end):
            self.ticks.setdefault(run.end() - run.start(), []).append(run.start())

    def _line_before(self, start: int) -> str | None:
        """What stands before this on its line; None when that is too long for a prefix."""
        newline = self.text.rfind("\n", max(0, start - 200), start)
        return None if newline < 0 and start > 200 else self.text[newline + 1 : start]

    def _fence(self, start: int, at: int, mark: str) -> _Span | None:
        """A fenced block, to its closing line or the end of what it stands in."""
        prefix = self._line_before(start)
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
            return _Span(line, self._end_inside(first, mark, quoted, columns), "fence")
        for end in _FENCE_END.finditer(self.text, first):
            if end[1].startswith(mark):
                return _Span(line, end.end(), "fence")
        return _Span(line, len(self.text), "fence")

    def _end_inside(self, first: int, mark: str, quoted: bool, columns: int) -> int:
        """Where a fence ends that a block quote or a list item holds."""
        for line in _LINE.finditer(self.text, first):
            blanks, quote, rest = line[1], line[2], line[3].rstrip()
            if quoted:
                outside = not quote
            else:
                outside = bool(quote or rest) and len(blanks.expandtabs(4)) < columns
            if outside:
                return line.start()
            if rest.startswith(mark) and not rest.strip(mark[0]):
                return line.start(3) + len(rest)
        return len(self.text)
