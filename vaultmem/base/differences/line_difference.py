"""Which lines two texts have in common, in time that grows with their length.

The standard library's matcher takes the square of the lines, or more, where many are alike: two
bodies of a megabyte would keep it busy for hours. It is asked only about stretches that are small
for it. Longer ones are cut at the lines that both sides have just once, and where there is none,
nothing in between counts as common.
"""

from __future__ import annotations

import difflib
import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

_EFFORT: Final = 2_000  # steps for each line that the matcher may take
_DEEPEST: Final = 12  # cuts within cuts


class EqualLines(NamedTuple):
    """So many lines from `a` of the one and from `b` of the other are the same."""

    a: int
    b: int
    size: int


Opcode = tuple[str, int, int, int, int]


def equal_lines(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[EqualLines]:
    """What both have, in order; neighbours are joined."""
    found: list[EqualLines] = []
    for block in sorted(_equal_line_blocks(a, b)):
        last = found[-1] if found else None
        if last and (last.a + last.size, last.b + last.size) == (block.a, block.b):
            found[-1] = EqualLines(last.a, last.b, last.size + block.size)
        else:
            found.append(block)
    return found


def line_opcodes(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Opcode]:
    """How the one becomes the other, in the words of the standard library."""
    found: list[Opcode] = []
    i = j = 0
    for block in (*equal_lines(a, b), EqualLines(len(a), len(b), 0)):
        if i < block.a or j < block.b:
            tag = "insert" if i == block.a else "delete" if j == block.b else "replace"
            found.append((tag, i, block.a, j, block.b))
        i, j = block.a + block.size, block.b + block.size
        if block.size:
            found.append(("equal", block.a, i, block.b, j))
    return found


def unified_difference(
    a: Sequence[str], b: Sequence[str], names: tuple[str, str], around: int = 3
) -> Iterator[str]:
    """The lines of a unified diff, without line ends; none where both are the same."""
    matcher: Any = difflib.SequenceMatcher(None, "", "")
    matcher.opcodes = line_opcodes(a, b)  # which it would find itself, in the square of the lines
    for number, group in enumerate(matcher.get_grouped_opcodes(around)):
        if not number:
            yield from (f"--- {names[0]}", f"+++ {names[1]}")
        yield f"@@ -{_difference_span(group[0][1], group[-1][2])} +{_difference_span(group[0][3], group[-1][4])} @@"
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (f" {line}" for line in a[i:j])
                continue
            yield from (f"-{line}" for line in a[i:j])
            yield from (f"+{line}" for line in b[k:m])


def _difference_span(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


# --- finding ---------------------------------------------------------------------------------


class _LineRange(NamedTuple):
    a: int
    a_end: int
    b: int
    b_end: int
    depth: int


def _equal_line_blocks(a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[EqualLines]:
    waiting = [_LineRange(0, len(a), 0, len(b), 0)]
    while waiting:
        where = waiting.pop()
        head, tail = _equal_lines_at_edges(a, b, where)
        if head:
            yield EqualLines(where.a, where.b, head)
        if tail:
            yield EqualLines(where.a_end - tail, where.b_end - tail, tail)
        inner = _LineRange(
            where.a + head, where.a_end - tail, where.b + head, where.b_end - tail, where.depth
        )
        if inner.a == inner.a_end or inner.b == inner.b_end:
            continue
        ones, others = a[inner.a : inner.a_end], b[inner.b : inner.b_end]
        counts = Counter(ones), Counter(others)
        if _are_lines_soon_compared(counts):
            matcher = difflib.SequenceMatcher(None, ones, others, autojunk=False)
            for i, j, size in matcher.get_matching_blocks():
                if size:
                    yield EqualLines(inner.a + i, inner.b + j, size)
        elif where.depth < _DEEPEST:
            waiting += _cut_at_unique_lines(ones, others, counts, inner)


def _equal_lines_at_edges(
    a: Sequence[Hashable], b: Sequence[Hashable], where: _LineRange
) -> tuple[int, int]:
    most = min(where.a_end - where.a, where.b_end - where.b)
    head = 0
    while head < most and a[where.a + head] == b[where.b + head]:
        head += 1
    tail = 0
    while tail < most - head and a[where.a_end - 1 - tail] == b[where.b_end - 1 - tail]:
        tail += 1
    return head, tail


_Counts = tuple[Counter[Hashable], Counter[Hashable]]


def _are_lines_soon_compared(counts: _Counts) -> bool:
    """Whether the matcher ends soon: it looks at every pair of like lines, once for each block."""
    ones, others = counts
    pairs = sum(count * others[line] for line, count in ones.items())
    sizes = ones.total(), others.total()
    return (sizes[0] + pairs) * min(*sizes, pairs) <= _EFFORT * sum(sizes)


def _cut_at_unique_lines(
    ones: Sequence[Hashable], others: Sequence[Hashable], counts: _Counts, where: _LineRange
) -> Iterator[_LineRange]:
    """The stretches between the lines that both have once, as many as stand in one order; each
    such line begins a stretch, and is found as its head."""
    places = {line: j for j, line in enumerate(others) if counts[1][line] == 1}
    shared = [
        (i, places[line]) for i, line in enumerate(ones) if line in places and counts[0][line] == 1
    ]
    kept = _longest_rising_run_of_lines(shared)
    if not kept:
        return
    starts = [(0, 0), *kept]
    ends = [*kept, (len(ones), len(others))]
    for (i, j), (i_end, j_end) in zip(starts, ends, strict=True):
        if i < i_end and j < j_end:
            yield _LineRange(
                where.a + i, where.a + i_end, where.b + j, where.b + j_end, where.depth + 1
            )


def _longest_rising_run_of_lines(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, already in the order of the first, that rises in the second."""
    ends: list[int] = []  # the smallest last place of a run of each length
    which: list[int] = []  # the pair at that place
    before = [-1] * len(pairs)
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before[number] = which[at - 1] if at else -1
        ends[at : at + 1] = [j]
        which[at : at + 1] = [number]
    found, number = [], which[-1] if which else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


# --- names -----------------------------------------------------------------------------------

_LONGEST_NAME: Final = 200
_COMPARED: Final = 100  # of the names that share the most letters


def close_names(wanted: str, names: Iterable[str], most: int, least: float) -> list[str]:
    """The names most like one that is not there, best first. The exact comparison is made with
    few of them: with thousands of long names of the same letters it would take seconds."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:_LONGEST_NAME])
    likely = []
    for name in names:
        matcher.set_seq1(name[:_LONGEST_NAME])
        if matcher.real_quick_ratio() >= least and (share := matcher.quick_ratio()) >= least:
            likely.append((share, name))
    found = []
    for _, name in heapq.nlargest(_COMPARED, likely):
        matcher.set_seq1(name[:_LONGEST_NAME])
        if (share := matcher.ratio()) >= least:
            found.append((share, name))
    return [name for _, name in heapq.nlargest(most, found)]
