"""A text that is stored again under its key: what the store before wrote gives way, what a person
wrote into the note meanwhile stays."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from vaultmem.base.line_ends import usual_line_end, with_line_ends, with_unix_line_ends
from vaultmem.notes import line_merge
from vaultmem.notes.line_merge import LineClash, LineUnit
from vaultmem.notes.masking import public_part
from vaultmem.notes.note import note_bytes, parse

_MOST_LINES: Final = 5_000  # that can be compared in a moment
_ROW: Final = re.compile(r"\s*(?:[-*+] |\d+[.)] |\|)|(?: {2,}|\t)\S")


def restated_over(body: str, text: str) -> str:
    """All of the body, but for the blanks at its end."""
    tail = body[len(body.rstrip()) :]
    return with_line_ends(text, usual_line_end(body)) + (tail or "\n")


def merged_restatement(last: str | None, body: str, text: str, *, both: bool) -> str | None:
    """The body with the new text in the place of the last one; None where a person changed what
    the new text changes too. `both` then keeps the lines of both, the new ones first."""
    if body.count("\r\n") not in (0, body.count("\n")) or body.count("\n") > _MOST_LINES:
        return None  # lines that end in two ways could not be told from each other
    lines = (
        None
        if last is None
        else _carried_into_restatement(*map(_restated_lines, (last, body, text)))
    )
    if lines is None:
        lines = _joined_restatement(last, body, text, both=both)
    if lines is None:
        return None
    newline = usual_line_end(body)
    after = newline.join(lines) + (body[len(body.rstrip()) :] or newline)
    return after if _is_safe_restatement(last or "", body, text, after) else None


def _carried_into_restatement(last: list[str], body: list[str], new: list[str]) -> list[str] | None:
    """The new lines with what a person put in between the last ones, each behind the line that
    it stood behind, or behind what came in that line's place; None where the person also changed
    or took out lines."""
    added = [op for op in _restatement_edits(last, body) if op[0] != "equal"]
    if any(op[0] != "insert" for op in added):
        return None
    places = list(_restatement_gaps(last, new))
    result = list(new)
    for _, at, _, first, end in reversed(added):
        _insert_restated_lines(result, places[at], body[first:end])
    return result


def _restatement_gaps(last: list[str], new: list[str]) -> Iterator[int]:
    """For each gap between the last lines where that is among the new ones."""
    yield 0
    for op, first, end, to, to_end in _restatement_edits(last, new):
        for i in range(first, end):
            yield to + i - first + 1 if op == "equal" else to_end


def _insert_restated_lines(lines: list[str], at: int, some: list[str]) -> None:
    """Paragraphs stay apart."""
    some = list(some)
    if at and lines[at - 1].strip() and some[0].strip() and not _ROW.match(some[0]):
        some.insert(0, "")
    if at < len(lines) and lines[at].strip() and some[-1].strip() and not _ROW.match(lines[at]):
        some.append("")
    lines[at:at] = some


def _restatement_edits(
    one: list[str], other: list[str]
) -> Sequence[tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _joined_restatement(last: str | None, body: str, text: str, *, both: bool) -> list[str] | None:
    sides = [_restated_units(side) for side in (last or "", body, text)]
    found = line_merge.merge_lines(sides[0] if last is not None else None, *sides[1:])
    if found.clashes and not both:
        return None
    return [line for part in found.parts for line in _restated_unit_lines(part)]


def _restated_lines(text: str) -> list[str]:
    return with_unix_line_ends(text).rstrip().split("\n")


def _restated_units(text: str) -> list[LineUnit]:
    """The lines; behind a blank one nothing is taken for properties."""
    plain = with_unix_line_ends(text).rstrip()
    return line_merge.line_units(parse(note_bytes(f"\n{plain}")))[1:]


def _restated_unit_lines(part: LineUnit | LineClash) -> Iterator[str]:
    units = (part,) if isinstance(part, LineUnit) else (*part.second, *part.first)
    for unit in units:
        yield from unit.text.split("\n")


def _is_safe_restatement(last: str, body: str, text: str, after: str) -> bool:
    """Every line that a person put in is there, what was private is private, and what is new can
    be seen."""
    person = _restated_line_counts(body) - _restated_line_counts(last)
    seen = _restated_line_counts(public_part(after))
    return (
        not person - _restated_line_counts(after)
        and not seen - (_restated_line_counts(public_part(body)) + _restated_line_counts(text))
        and not (_restated_line_counts(text) - _restated_line_counts(last)) - seen
    )


def _restated_line_counts(text: str) -> Counter[str]:
    stripped = (line.strip() for line in text.splitlines())
    return Counter(line for line in stripped if line)
