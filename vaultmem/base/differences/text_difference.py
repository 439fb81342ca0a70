"""Two whole texts side by side: what stayed, what went and what came, by words within lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from vaultmem.base.differences.line_difference import Opcode, line_opcodes

Kind = Literal["same", "gone", "come", "left out"]
_WORDS: Final = re.compile(r"\s+|[^\s]+")
_MOST_WORDS: Final = 4_000  # of a stretch that is compared by words
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class TextPiece(NamedTuple):
    kind: Kind
    text: str


def text_difference(before: str, after: str, around: int = 2) -> Iterator[TextPiece]:
    """`around` lines that stayed are kept beside each change; the others are counted."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    codes = line_opcodes(old, new)
    for number, (tag, i, j, k, m) in enumerate(codes):
        if tag == "equal":
            first, last = number == 0, number == len(codes) - 1
            yield from _some_context(old[i:j], 0 if first else around, 0 if last else around)
        else:
            yield from _changed("".join(old[i:j]), "".join(new[k:m]))


def _some_context(lines: Sequence[str], head: int, tail: int) -> Iterator[TextPiece]:
    if len(lines) <= head + tail + 1:
        yield TextPiece("same", "".join(lines))
        return
    if head:
        yield TextPiece("same", "".join(lines[:head]))
    yield TextPiece("left out", str(len(lines) - head - tail))
    if tail:
        yield TextPiece("same", "".join(lines[-tail:]))


def _changed(gone: str, come: str) -> Iterator[TextPiece]:
    old, new = _WORDS.findall(gone), _WORDS.findall(come)
    if not old or not new or max(len(old), len(new)) > _MOST_WORDS:
        yield from (TextPiece("gone", gone),) if gone else ()
        yield from (TextPiece("come", come),) if come else ()
        return
    for tag, i, j, k, m in _joined_over_blanks(line_opcodes(old, new), old):
        if tag == "equal":
            yield TextPiece("same", "".join(old[i:j]))
            continue
        if i < j:
            yield TextPiece("gone", "".join(old[i:j]))
        if k < m:
            yield TextPiece("come", "".join(new[k:m]))


def _joined_over_blanks(codes: Sequence[Opcode], old: Sequence[str]) -> list[Opcode]:
    """Changes that only white space keeps apart are one."""
    found: list[Opcode] = []
    for number, code in enumerate(codes):
        tag, i, j, _, m = code
        between = 0 < number < len(codes) - 1 and not "".join(old[i:j]).strip()
        if found and found[-1][0] != "equal" and (tag != "equal" or between):
            _, first, _, start, _ = found[-1]
            found[-1] = ("replace", first, j, start, m)
        else:
            found.append(code)
    return found


def with_line_ends_of(before: str, edited: str) -> str:
    """A text from an editor that knows one kind of line end, with those that each line had."""
    old = _lines_with_ends(before)
    new = edited.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    usual = next((end for _, end in old if end), "\n")
    ends = [usual] * len(new)
    for tag, i, j, k, m in line_opcodes([line for line, _ in old], new):
        if tag == "equal" or j - i == m - k:
            ends[k:m] = [end or usual for _, end in old[i:j]]
    ends[-1] = ""
    return "".join(line + end for line, end in zip(new, ends, strict=True))


def _lines_with_ends(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    for end in _LINE_END.finditer(text):
        found.append((text[at : end.start()], end[0]))
        at = end.end()
    return [*found, (text[at:], "")]
