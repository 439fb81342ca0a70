"""What changed between two texts, in words: what went and what came, short enough to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_CHANGES: Final = 8  # that are told
_CHARACTERS: Final = 160  # of each side of one
_ALL: Final = 600  # characters of all of them
_AROUND: Final = 3  # words between two changes that are told as one
_MOST_LINES: Final = 400  # of a stretch that is compared by words
_BEHIND_A_SIGN: Final = 8  # words that tell what a changed sign stands before
_BOX: Final = re.compile(r"(?:[-*+]|\d+[.)])?\s*\[(?:.| \s*)\]")


class WordChange(NamedTuple):
    removed: str
    added: str


def word_changes(before: Sequence[str], after: Sequence[str]) -> list[WordChange]:
    """The first changes from some lines to others; what was cut ends with an ellipsis."""
    found: list[WordChange] = []
    left = _ALL
    for change in _word_changes_of_lines(before, after):
        if len(found) == _CHANGES or left <= 0:
            found[-1] = found[-1]._replace(added=f"{found[-1].added} …".lstrip())
            break
        cut = WordChange(*(_cut_words(text, min(left, _CHARACTERS)) for text in change))
        left -= len(cut.removed) + len(cut.added)
        found.append(cut)
    return found


def _word_changes_of_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[WordChange]:
    from vaultmem.base.differences.line_difference import (
        line_opcodes,  # its library takes a while to load
    )

    for tag, i, j, k, m in line_opcodes(before, after):
        if tag == "equal":
            continue
        gone, come = before[i:j], after[k:m]
        if not gone or not come or max(len(gone), len(come)) > _MOST_LINES:
            yield from _some_words(" ".join(gone), " ".join(come))
        else:
            yield from _word_changes_of_stretch(" ".join(gone).split(), " ".join(come).split())


def _word_changes_of_stretch(gone: list[str], come: list[str]) -> Iterator[WordChange]:
    """Changes that only a word or two keep apart are one: pieces of a sentence say nothing."""
    from vaultmem.base.differences.line_difference import line_opcodes

    joined: list[list[int]] = []
    for tag, i, j, k, m in line_opcodes(gone, come):
        if tag == "equal":
            continue
        if joined and i - joined[-1][1] <= _AROUND:
            joined[-1][1], joined[-1][3] = j, m
        else:
            joined.append([i, j, k, m])
    ends = [(change[0], change[2]) for change in joined[1:]] + [(len(gone), len(come))]
    for (i, j, k, m), (next_gone, next_come) in zip(joined, ends, strict=True):
        if _says_nothing(gone[i:j]) and _says_nothing(come[k:m]):
            more = min(_BEHIND_A_SIGN, next_gone - j, next_come - m)
            while more and gone[j + more - 1] in ("-", "*", "+"):  # the next item begins there
                more -= 1
            j, m = j + more, m + more
        yield from _some_words(" ".join(gone[i:j]), " ".join(come[k:m]))


def _says_nothing(words: Sequence[str]) -> bool:
    """Signs alone, as the box of a task: what they stand before is needed too."""
    said = " ".join(words)
    return _BOX.fullmatch(said) is not None or not any(map(str.isalnum, said))


def _some_words(removed: str, added: str) -> Iterator[WordChange]:
    change = WordChange(" ".join(removed.split()), " ".join(added.split()))
    if change.removed != change.added:
        yield change


def _cut_words(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[:most]} …"
