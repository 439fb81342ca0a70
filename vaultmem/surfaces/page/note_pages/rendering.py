"""A note's Markdown as HTML of ours: its own HTML stays text, and nothing is fetched.

Line by line, with a bound for every kind of thing, so that no note takes long to show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vaultmem.surfaces.page.markup import Markup, joined, tag
from vaultmem.surfaces.page.note_pages.inline import LONGEST_LINE, inline_markup

MOST_SHOWN: Final = 200_000  # characters
_DEEPEST: Final = 6  # quotes and lists in one another
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]{0,30})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_RULE: Final = re.compile(r" {0,3}(?:-[ \t]*){3,}$| {0,3}(?:\*[ \t]*){3,}$| {0,3}(?:_[ \t]*){3,}$")
_ITEM: Final = re.compile(r"([ \t]{0,40})(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)")
_TASK: Final = re.compile(r"\[(.)\][ \t]+")
_ROW: Final = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?[ \t]*)?$")
_CALLOUT: Final = re.compile(r"\[!([\w-]{1,30})\][+-]?[ \t]*(.*)")


def rendered_note(text: str) -> Markup:
    shown = text[:MOST_SHOWN]
    lines = shown.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return NoteBlocks(lines, 0).read()


class NoteBlocks:
    def __init__(self, lines: Sequence[str], depth: int) -> None:
        self._lines = lines
        self._depth = depth
        self._at = 0
        self._said: list[Markup] = []
        self._words: list[str] = []  # of the paragraph that is open

    def read(self) -> Markup:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._end_paragraph()
                self._at += 1
            elif len(line) > LONGEST_LINE or not self._block(line):
                self._words.append(line)
                self._at += 1
        self._end_paragraph()
        return joined(self._said)

    def _block(self, line: str) -> bool:
        """Whether something other than a paragraph begins here, which is then read."""
        if fence := _FENCE.match(line):
            self._code(fence[1], fence[2])
        elif heading := _HEADING.match(line):
            self._add(self._heading(len(heading[1]), heading[2] or ""))
        elif _RULE.match(line) and not self._words:
            self._add(tag("hr"))
        elif line.lstrip().startswith(">") and self._depth < _DEEPEST:
            self._quote()
        elif (item := _ITEM.match(line)) and self._depth < _DEEPEST:
            self._list(item)
        elif "|" in line and not self._words and self._is_table():
            self._table()
        else:
            return self._underlined(line)
        return True

    def _add(self, made: Markup) -> None:
        self._end_paragraph()
        self._said.append(made)
        self._at += 1

    def _end_paragraph(self) -> None:
        if self._words:
            lines = [_without_block_id(line.strip()) for line in self._words]
            self._words = []
            broken = [tag("br")] * (2 * len(lines) - 1)
            broken[::2] = map(inline_markup, lines)
            self._said.append(tag("p", *broken, dir="auto"))

    def _heading(self, level: int, text: str) -> Markup:
        bare = text.rstrip()
        bare = bare.rstrip("#").rstrip() if bare.endswith((" #", "##")) else bare
        name = "h2" if level == 1 else f"h{min(6, level + 1)}"  # the note's title is the first
        return tag(name, inline_markup(_without_block_id(bare)), id=f"h-{bare[:200]}", dir="auto")

    def _underlined(self, line: str) -> bool:
        stripped = line.strip()
        if len(self._words) == 1 and set(stripped) in ({"="}, {"-"}):
            text, self._words = self._words[0], []
            self._add(self._heading(1 if stripped[0] == "=" else 2, text.strip()))
            return True
        return False

    def _code(self, fence: str, language: str) -> None:
        self._end_paragraph()
        start = self._at + 1
        end = start
        while end < len(self._lines) and not self._closes(self._lines[end], fence):
            end += 1
        text = "\n".join(self._lines[start:end])
        self._said.append(
            tag("pre", tag("code", text), tabindex="0", data_language=language or None)
        )
        self._at = end + 1

    @staticmethod
    def _closes(line: str, fence: str) -> bool:
        stripped = line.strip()
        return len(stripped) >= len(fence) and set(stripped) == {fence[0]}

    def _quote(self) -> None:
        self._end_paragraph()
        inner: list[str] = []
        while self._at < len(self._lines) and self._lines[self._at].lstrip().startswith(">"):
            bare = self._lines[self._at].lstrip()[1:]
            inner.append(bare.removeprefix(" "))
            self._at += 1
        callout = _CALLOUT.match(inner[0])
        if callout:
            inner[0] = f"**{callout[2] or callout[1].capitalize()}**"
            inner.insert(1, "")
        self._said.append(tag("blockquote", NoteBlocks(inner, self._depth + 1).read()))

    def _list(self, first: re.Match[str]) -> None:
        """Its items, each with the lines that are indented below it."""
        self._end_paragraph()
        indent, ordered = len(first[1]), first[2] is not None
        items: list[Markup] = []
        while self._at < len(self._lines):
            found = _ITEM.match(self._lines[self._at])
            if not found or abs(len(found[1]) - indent) > 1 or (found[2] is not None) != ordered:
                break
            items.append(self._item(found))
        start = first[2] if ordered and first[2] != "1" else None
        self._said.append(tag("ol" if ordered else "ul", *items, start=start))

    def _item(self, found: re.Match[str]) -> Markup:
        inner = [self._lines[self._at][found.end() :]]
        width = min(found.end(), len(found[1]) + 6)
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            blank = not line.strip()
            deeper = len(line) - len(line.lstrip()) > len(found[1]) + 1
            if not deeper and (not blank or not self._goes_on(len(found[1]))):
                break
            inner.append(line[min(width, len(line) - len(line.lstrip())) :])
            self._at += 1
        return _list_item(inner, self._depth + 1)

    def _goes_on(self, indent: int) -> bool:
        """Whether behind an empty line something still belongs to the item."""
        following = self._lines[self._at + 1 : self._at + 2]
        if not following or not following[0].strip():
            return False
        return len(following[0]) - len(following[0].lstrip()) > indent + 1

    def _is_table(self) -> bool:
        below = self._lines[self._at + 1 : self._at + 2]
        return bool(below) and len(below[0]) < 2_000 and _ROW.match(below[0]) is not None

    def _table(self) -> None:
        head = tag("tr", *(tag("th", inline_markup(c), scope="col") for c in self._cells()))
        self._at += 2
        rows: list[Markup] = []
        while self._at < len(self._lines) and "|" in self._lines[self._at]:
            rows.append(tag("tr", *(tag("td", inline_markup(c)) for c in self._cells())))
            self._at += 1
        table = tag("table", tag("thead", head), tag("tbody", *rows))
        self._said.append(
            tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Table")
        )

    def _cells(self) -> list[str]:
        line = self._lines[self._at].strip().removeprefix("|").removesuffix("|")
        return [cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").split("|")][
            :50
        ]


def _list_item(lines: list[str], depth: int) -> Markup:
    if task := _TASK.match(lines[0]):
        lines[0] = lines[0][task.end() :]
        done = task[1] != " "
        box = tag(
            "input",
            type="checkbox",
            disabled=True,
            checked=done,
            aria_label="done" if done else "open",
        )
        return tag("li", box, " ", _item_markup(lines, depth), class_="task")
    return tag("li", _item_markup(lines, depth))


def _item_markup(lines: list[str], depth: int) -> Markup:
    if len(lines) == 1:
        return tag("span", inline_markup(_without_block_id(lines[0])), dir="auto")
    return NoteBlocks(lines, depth).read()


def _without_block_id(line: str) -> str:
    """Its mark is for links, not for readers."""
    said, _, mark = line.rstrip().rpartition("^")
    is_mark = said[-1:].isspace() and mark.replace("-", "").isalnum() and mark.isascii()
    return said.rstrip() if is_mark else line
