"""What the memory tool says, in the words of the reference implementation: models know them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from vaultmem.errors import InvalidInput

MOST_LINES: Final = 999_999
_WIDE: Final = len(str(MOST_LINES))
_AROUND: Final = 2  # lines that are shown on both sides of a change
_SIZES: Final = "BKMG"


class MemoryFileError(InvalidInput):
    """Why a command of the memory tool was not carried out."""


def size_in_words(size: int) -> str:
    unit, power = size, 0
    while unit >= 1024 and power < len(_SIZES) - 1:
        unit, power = unit // 1024, power + 1
    exact = size / 1024**power
    number = f"{int(exact)}" if exact == int(exact) else f"{exact:.1f}"
    return f"{number}{_SIZES[power]}"


def numbered(lines: Iterable[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDE}}\t{line}" for number, line in enumerate(lines, first))


def shown_file(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines, first = text.split("\n"), 1
    if len(lines) > MOST_LINES:
        raise MemoryFileError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        end = len(lines) if view_range[1] == -1 else view_range[1]
        lines = lines[first - 1 : end]
    return f"Here's the content of {path} with line numbers:\n{numbered(lines, first)}"


def shown_folder(path: str, size: int, items: Iterable[tuple[int, str]]) -> str:
    lines = [f"{size_in_words(size)}\t{path}"]
    lines += [f"{size_in_words(each)}\t{path}/{name}" for each, name in items]
    return (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:\n"
        + "\n".join(lines)
    )


def replacement_place(path: str, text: str, old: str) -> int:
    """Where the only occurrence of what is to be replaced begins."""
    count = text.count(old)
    if count == 0:
        raise MemoryFileError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        raise MemoryFileError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, _lines_with(text, old)))}. Please ensure it is unique"
        )
    return text.find(old)


def _lines_with(text: str, old: str) -> Iterable[int]:
    """The line of each occurrence, those that overlap among them."""
    at, line, counted = text.find(old), 1, 0
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        yield line
        at = text.find(old, at + 1)


def shown_change(text: str, at: int) -> str:
    lines, line = text.split("\n"), text.count("\n", 0, at)
    first = max(0, line - _AROUND)
    shown = numbered(lines[first : line + _AROUND + 1], first + 1)
    return (
        "The memory file has been edited. Here is the snippet showing the change "
        f"(with line numbers):\n{shown}"
    )


def text_with_lines(text: str, after: int, added: str) -> str:
    """The text with more lines behind that number of them, and with an end of its last line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= after <= len(lines):
        raise MemoryFileError(
            f"Invalid `insert_line` parameter: {after}. "
            f"It should be within the range [0, {len(lines)}]."
        )
    lines.insert(after, added.rstrip("\n"))
    made = "\n".join(lines)
    return made if made.endswith("\n") else f"{made}\n"
