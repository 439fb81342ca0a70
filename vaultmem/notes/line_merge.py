"""Two bodies that grew from one, put together line by line; items with a block id by that id.

Each side's changes are found against the base. What touches different lines goes together,
also where the lines are neighbours. What both put in at one place stays, list items behind
one another, paragraphs apart. Only where both changed the same line is there a clash, and
with no base everything that both have is the base. The first side is the older one by the
caller's choice, so the result does not depend on who merges.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias, TypeVar

from vaultmem.base.differences import line_difference
from vaultmem.notes.fact_lines import fact_in_line, ways_to_write_fact
from vaultmem.notes.markdown import Fact
from vaultmem.notes.masking import private_spans
from vaultmem.notes.note import Note

_ITEM: Final = re.compile(r"[-*+] |\d+[.)] ")
_ROW: Final = re.compile(r"\s*(?:[-*+] |\d+[.)] |\|)|(?: {2,}|\t)\S")
_MORE: Final = re.compile(r"(?: {2}|\t)")


@dataclass(frozen=True, slots=True)
class LineUnit:
    """A line, or a list item with a block id and the lines that belong to it."""

    text: str
    block: str = ""


class LineClash(NamedTuple):
    """Where both sides changed the same lines."""

    first: tuple[LineUnit, ...]
    second: tuple[LineUnit, ...]


Part: TypeAlias = LineUnit | LineClash
Key: TypeAlias = tuple[str, ...]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class MergedBody:
    parts: tuple[Part, ...]
    lost: tuple[str, ...] = ()  # values that gave way to newer ones

    @property
    def clashes(self) -> int:
        return sum(isinstance(part, LineClash) for part in self.parts)


def line_units(note: Note) -> list[LineUnit]:
    lines = note.body.split("\n")
    ids = _list_item_ids_to_merge(note, lines)
    found, at = [], 0
    while at < len(lines):
        end = _end_of_item_to_merge(lines, at) if at in ids else at + 1
        found.append(LineUnit("\n".join(lines[at:end]), ids.get(at, "")))
        at = end
    return found


def _list_item_ids_to_merge(note: Note, lines: list[str]) -> dict[int, str]:
    """The list items that carry an id of their own, by line number."""
    found: dict[int, str] = {}
    at = number = 0
    for block in note.blocks:
        number += note.body.count("\n", at, block.start)
        at = block.start
        if _ITEM.match(lines[number]):
            found[number] = block.id
    times = Counter(found.values())
    return {line: id_ for line, id_ in found.items() if times[id_] == 1}


def _end_of_item_to_merge(lines: list[str], at: int) -> int:
    end = at + 1
    for number in range(at + 1, len(lines)):
        if _MORE.match(lines[number]):
            end = number + 1
        elif lines[number].strip():
            break
    return end


# --- merging --------------------------------------------------------------------------------


def merge_lines(
    base: Sequence[LineUnit] | None, first: Sequence[LineUnit], second: Sequence[LineUnit]
) -> MergedBody:
    """The newer side is the second: its word counts where both changed one value of a fact."""
    lost: list[str] = []
    if base is None:
        base = _common_lines(first, second)
    settled = dict(_settle_merged_items(base, first, second, lost))
    sides = ([_keyed_unit(unit, settled) for unit in side] for side in (base, first, second))
    parts = _merge_line_units(*sides)
    return MergedBody(tuple(_each_unit_id_once(part for _, part in parts)), tuple(lost))


def _common_lines(first: Sequence[LineUnit], second: Sequence[LineUnit]) -> list[LineUnit]:
    """What both have, where it is more than blank lines."""
    blocks = line_difference.equal_lines(
        [unit.text for unit in first], [unit.text for unit in second]
    )
    kept = (first[i : i + size] for i, _, size in blocks)
    return [unit for block in kept if any(u.text.strip() for u in block) for unit in block]


_KeyedUnit: TypeAlias = tuple[Key, Part]


def _keyed_unit(unit: LineUnit, settled: dict[str, Part]) -> _KeyedUnit:
    """A unit with what makes it the same as another; an item's id does, whatever it says now."""
    if not unit.block:
        return (unit.text,), unit
    if unit.block in settled:
        return ("^", unit.block), settled[unit.block]
    return ("^", unit.block, unit.text), unit


def _settle_merged_items(
    base: Sequence[LineUnit], first: Sequence[LineUnit], second: Sequence[LineUnit], lost: list[str]
) -> Iterator[tuple[str, Part]]:
    """The items that both sides have, each as it is to be."""
    olds, ones, others = ({u.block: u for u in side if u.block} for side in (base, first, second))
    for block in sorted(ones.keys() & others.keys()):
        yield block, _merged_item(olds.get(block), ones[block], others[block], lost)


def _merged_item(base: LineUnit | None, first: LineUnit, second: LineUnit, lost: list[str]) -> Part:
    if first.text == second.text or (base and first.text == base.text):
        return second
    if base and second.text == base.text:
        return first
    if fact := _merged_fact(base, first, second, lost):
        return fact
    old = [LineUnit(line) for line in base.text.split("\n")] if base else None
    ones, others = ([LineUnit(line) for line in u.text.split("\n")] for u in (first, second))
    body = merge_lines(old, ones, others)
    if body.clashes or base is None:
        return LineClash((first,), (second,))
    return LineUnit(
        "\n".join(part.text for part in body.parts if isinstance(part, LineUnit)), first.block
    )


def _merge_line_units(
    base: list[_KeyedUnit], first: list[_KeyedUnit], second: list[_KeyedUnit]
) -> list[_KeyedUnit]:
    result: list[_KeyedUnit] = []
    at = 0
    for ones, others in _overlapping_line_changes(
        _line_changes(base, first), _line_changes(base, second)
    ):
        start = min(edit.start for edit in (*ones, *others))
        end = max(edit.end for edit in (*ones, *others))
        result += base[at:start]
        a, b = (_with_line_changes(base, start, end, side) for side in (ones, others))
        if not ones or not others:
            result += a if ones else b
        elif start == end:
            result += _merge_lines_both_added(a, b, base[start - 1 : start], base[end : end + 1])
        else:
            result += _merge_lines_both_changed(base[start:end], a, b)
        at = end
    return result + base[at:]


class _LineChange(NamedTuple):
    start: int
    end: int
    new: list[_KeyedUnit]


def _line_changes(base: list[_KeyedUnit], side: list[_KeyedUnit]) -> list[_LineChange]:
    changes = [
        _LineChange(i, j, side[k:m])
        for op, i, j, k, m in line_difference.line_opcodes(
            _aligned_unit_keys(base), _aligned_unit_keys(side)
        )
        if op != "equal"
    ]
    return [small for change in changes for small in _finer_line_changes(base, change)]


def _finer_line_changes(base: list[_KeyedUnit], change: _LineChange) -> Iterator[_LineChange]:
    """The smallest changes that make up this one: blank lines and like lines hold it apart."""
    old = base[change.start : change.end]
    a, b = [key for key, _ in old], [key for key, _ in change.new]
    for op, i, j, k, m in line_difference.line_opcodes(a, b):
        if op == "equal":
            continue
        if j - i == m - k and all(map(_are_lines_alike, old[i:j], change.new[k:m])):
            for n, unit in enumerate(change.new[k:m], change.start + i):
                yield _LineChange(n, n + 1, [unit])
        else:
            yield _LineChange(change.start + i, change.start + j, change.new[k:m])


def _are_lines_alike(old: _KeyedUnit, new: _KeyedUnit) -> bool:
    """Whether a line was probably made from the other."""
    words, others = (
        part.text.split() if isinstance(part, LineUnit) else [] for _, part in (old, new)
    )
    if not words or not others or len(words) > 500:
        return False
    shared = sum(block.size for block in line_difference.equal_lines(words, others))
    return 4 * shared > len(words) + len(others)


def _aligned_unit_keys(side: list[_KeyedUnit]) -> list[Key]:
    """A blank line is like another only behind the same line: they stand everywhere."""
    keys: list[Key] = []
    before: Key = ("",)
    for key, _ in side:
        blank = len(key) == 1 and not key[0].strip()
        keys.append(("", *before) if blank else key)
        before = before if blank else key
    return keys


def _overlapping_line_changes(
    ones: list[_LineChange], others: list[_LineChange]
) -> Iterator[tuple[list[_LineChange], list[_LineChange]]]:
    """Changes of both sides that overlap go together; neighbours do not overlap."""
    rest = sorted(
        [(c, 0) for c in ones] + [(c, 1) for c in others],
        key=lambda each: (each[0].start, each[0].end, each[1]),
        reverse=True,
    )
    while rest:
        group = [rest.pop()]
        start, end = group[0][0].start, group[0][0].end
        while rest and _does_line_change_overlap(start, end, rest[-1][0]):
            group.append(rest.pop())
            end = max(end, group[-1][0].end)
        yield [c for c, side in group if side == 0], [c for c, side in group if side == 1]


def _does_line_change_overlap(start: int, end: int, change: _LineChange) -> bool:
    if start == end or change.start == change.end:
        return start < change.start < end or start == change.start == end == change.end
    return change.start < end


def _with_line_changes(
    base: list[_KeyedUnit], start: int, end: int, changes: list[_LineChange]
) -> list[_KeyedUnit]:
    result: list[_KeyedUnit] = []
    for change in changes:
        result += base[start : change.start] + change.new
        start = change.end
    return result + base[start:end]


# --- both at one place ----------------------------------------------------------------------


def _merge_lines_both_added(
    first: list[_KeyedUnit],
    second: list[_KeyedUnit],
    before: list[_KeyedUnit],
    after: list[_KeyedUnit],
) -> list[_KeyedUnit]:
    """Both stay. A heading or an item that both made is one."""
    blocks = line_difference.equal_lines(_aligned_unit_keys(first), _aligned_unit_keys(second))
    kept = (first[i : i + size] for i, _, size in blocks)
    common = [unit for block in kept if not all(map(_is_blank_unit, block)) for unit in block]
    if common:
        return _merge_line_units(common, first, second)
    head, ones, others, tail = _units_without_common_ends(first, second)
    one_begins_blank = ones and others and _is_blank_unit(ones[0]) != _is_blank_unit(others[0])
    if one_begins_blank and _is_blank_unit(ones[0]):
        ones, others = others, ones
    if not ones or not others or one_begins_blank or all(map(_is_row_unit, (*ones, *others))):
        return [*head, *ones, *others, *tail]
    alone = (head or not before or _is_blank_unit(before[0])) and (
        tail or not after or _is_blank_unit(after[0])
    )
    if alone:
        return [*head, *ones, (("",), LineUnit("")), *others, *tail]
    return [*head, _line_clash(ones, others), *tail]


def _merge_lines_both_changed(
    base: list[_KeyedUnit], first: list[_KeyedUnit], second: list[_KeyedUnit]
) -> list[_KeyedUnit]:
    head, ones, others, tail = _units_without_common_ends(first, second)
    if not ones and not others:
        return [*head, *tail]
    if _units_without_blanks(base) == _units_without_blanks(first):
        return second
    if _units_without_blanks(base) == _units_without_blanks(second):
        return first
    if (items := _merge_lines_as_set_of_items(base, first, second)) is not None:
        return items
    return [*head, _line_clash(ones, others), *tail]


def _merge_lines_as_set_of_items(
    base: list[_KeyedUnit], first: list[_KeyedUnit], second: list[_KeyedUnit]
) -> list[_KeyedUnit] | None:
    """Items of a list as a set, where each can be told from the others; None elsewhere.

    An item without an id that only one side took away or only one side put in is clear;
    when both sides took one away, what they put in may be what each made of it.
    """
    if not all(map(_is_row_unit, (*base, *first, *second))):
        return None
    was, ones, others = ({key for key, _ in side} for side in (base, first, second))
    if any(len(key) == 1 for key in was - ones - others) and (ones - was) and (others - was):
        return None
    changed = {key[1] for key in (ones | others) - was if len(key) == 3}
    kept = [key for key in was if key in ones and key in others]
    keep = {*kept, *(ones - was), *(others - was)}
    gone = {key for key in was if len(key) == 3 and key[1] in changed}
    units = dict((*first, *second))
    order = merged_order([k for k, _ in base], [k for k, _ in first], [k for k, _ in second])
    return [(key, units[key]) for key in order if key in keep and key not in gone]


def merged_order(base: Sequence[K], first: Sequence[K], second: Sequence[K]) -> list[K]:
    """All keys of both sides in one order: that of the side that reordered, else of the newer.

    What only the other side has stands behind what it stands behind there.
    """
    known = set(base)
    orders = [[key for key in side if key in known] for side in (first, second)]
    both = set(orders[0]) & set(orders[1])
    old, one, other = ([k for k in side if k in both] for side in (base, first, second))
    frame, guest = (first, second) if other == old != one else (second, first)
    result = list(dict.fromkeys(frame))
    place = {key: i for i, key in enumerate(result)}
    following: dict[K | None, list[K]] = {}
    before: K | None = None
    for key in dict.fromkeys(guest):
        if key in place:
            before = key
        else:
            following.setdefault(before, []).append(key)
    ordered = list(following.get(None, ()))
    for key in result:
        ordered += [key, *following.get(key, ())]
    return ordered


def _units_without_common_ends(
    first: list[_KeyedUnit], second: list[_KeyedUnit]
) -> tuple[list[_KeyedUnit], list[_KeyedUnit], list[_KeyedUnit], list[_KeyedUnit]]:
    """What both begin with, what each has alone, what both end with."""
    most = min(len(first), len(second))
    head = next((i for i in range(most) if first[i][0] != second[i][0]), most)
    tail = next(
        (i for i in range(most - head) if first[-1 - i][0] != second[-1 - i][0]), most - head
    )
    ends = len(first) - tail, len(second) - tail
    return first[:head], first[head : ends[0]], second[head : ends[1]], first[ends[0] :]


def _line_clash(first: list[_KeyedUnit], second: list[_KeyedUnit]) -> _KeyedUnit:
    ones, others = (
        tuple(u for _, p in side for u in ((p,) if isinstance(p, LineUnit) else p.first + p.second))
        for side in (first, second)
    )
    return ("!", *(u.text for u in ones), "=", *(u.text for u in others)), LineClash(ones, others)


def _is_blank_unit(unit: _KeyedUnit) -> bool:
    return isinstance(unit[1], LineUnit) and not unit[1].text.strip()


def _is_row_unit(unit: _KeyedUnit) -> bool:
    return isinstance(unit[1], LineUnit) and _ROW.match(unit[1].text) is not None


def _units_without_blanks(side: list[_KeyedUnit]) -> list[str | Part]:
    """The lines without the blanks at their ends, which programs strip."""
    return [part.text.rstrip() if isinstance(part, LineUnit) else part for _, part in side]


def _each_unit_id_once(parts: Iterable[Part]) -> Iterator[Part]:
    """An item that both sides moved to a new place stands at the first of the two."""
    seen: set[str] = set()
    for part in parts:
        block = part.block if isinstance(part, LineUnit) else ""
        if block and block in seen:
            continue
        seen.add(block)
        yield part


# --- facts ----------------------------------------------------------------------------------

_QUALITIES: Final = ("valid_from", "valid_to", "confidence", "provenance")


def _merged_fact(
    base: LineUnit | None, first: LineUnit, second: LineUnit, lost: list[str]
) -> LineUnit | None:
    """A fact with each side's changes of its qualities; None where its words clash."""
    if any(private_spans(unit.text) for unit in (base, first, second) if unit):
        return None  # what is read of it is not all of it
    old = _fact_of_unit(base) if base else None
    one, other = _fact_of_unit(first), _fact_of_unit(second)
    if one is None or other is None or (base and old is None):
        return None
    words = [(f.predicate, f.object) for f in (one, other)]
    if words[0] != words[1] and (old is None or (old.predicate, old.object) not in words):
        return None
    changed = words[0] if old and words[1] == (old.predicate, old.object) else words[1]
    merged = replace(other, predicate=changed[0], object=changed[1])
    gave_way = []
    for name in _QUALITIES:
        was, a, b = (getattr(f, name) if f else None for f in (old, one, other))
        if a != b and a == was:
            continue
        if a != b and (b == was or not b):
            merged = replace(merged, **{name: a})  # type: ignore[arg-type]
        elif a != b and a:
            gave_way.append(f"^{first.block} {name}: kept {b}, not {a}")
    line = next(ways_to_write_fact(merged))
    if fact_in_line(line) != merged:
        return None
    lost += gave_way
    return LineUnit(line, first.block)


def _fact_of_unit(unit: LineUnit) -> Fact | None:
    return None if "\n" in unit.text or "\r" in unit.text else fact_in_line(unit.text)
