"""Where each property stands in a note's frontmatter, and the text after changing one of them."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from vaultmem import properties
from vaultmem.config import PROPERTIES
from vaultmem.errors import NoteMalformed
from vaultmem.note import BOM, Note
from vaultmem.properties import Value, Writable, render, render_item


def same(a: Value, b: Value) -> bool:
    """Equal as property values: true is not 1, and 1 is 1.0."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def plain_value(value: Writable) -> Value:
    """What reading back should give."""
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return render(value) if isinstance(value, dt.date) else value


class Block:
    """The frontmatter's text with the positions of its keys and values."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.newline = note.newline
        self.start, end = note.block or (note.body_start, note.body_start)
        self.text = note.text[self.start : end]
        root = properties.compose(self.text)
        if root is not None and root.flow_style:
            raise NoteMalformed(
                f"The properties of {note.path} are written as one {{…}} block; "
                "vaultmem changes only properties that stand on lines of their own."
            )
        self.pairs: list[tuple[yaml.Node, yaml.Node]] = [] if root is None else root.value
        self.indent = " " * self.pairs[0][0].start_mark.column if self.pairs else ""

    def joined(self, text: str) -> str:
        note = self.note
        if note.block is None:
            fence = f"---{self.newline}"
            bom = BOM if note.text.startswith(BOM) else ""
            return bom + fence + text + fence + note.text[len(bom) :]
        return note.text[: self.start] + text + note.text[note.block[1] :]

    def spliced(self, start: int, end: int, new: str) -> str:
        new = new.replace("\r\n", "\n").replace("\n", self.newline)
        return self.joined(self.text[:start] + new + self.text[end:])

    def pair(self, key: str) -> tuple[yaml.Node, yaml.Node]:
        return next(pair for pair in self.pairs if pair[0].value == key)

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """The end of the line, in front of its line break."""
        end = self.text.find("\n", at)
        if end < 0:
            return len(self.text)
        return end - 1 if end > at and self.text[end - 1] == "\r" else end

    def next_line(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def end_of(self, node: yaml.Node) -> int:
        """Where the value's last character stands; marks reach into what follows it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = node.value[-1]
            return self.end_of(last[1] if isinstance(last, tuple) else last)
        start, end = node.start_mark.index, node.end_mark.index
        return start + len(self.text[start:end].rstrip())

    def colon(self, key: yaml.Node) -> int:
        """The position behind the colon that follows a key."""
        return self.text.index(":", key.end_mark.index) + 1

    def insert(self, key: str, value: Writable, names: Mapping[str, str]) -> str:
        lines = properties.render_property(key, value).split("\n")
        text = "".join(f"{self.indent}{line}\n" if line else "\n" for line in lines)
        at = self._place(key, names)
        if at == len(self.text) and self.text and not self.text.endswith("\n"):
            text = "\n" + text
        return self.spliced(at, at, text)

    def _place(self, key: str, names: Mapping[str, str]) -> int:
        """Behind the last property that comes before it in the format's order, else at the end."""
        order = [names.get(name, name) for name in PROPERTIES]
        if key not in order:
            return len(self.text)
        earlier = order[: order.index(key)]
        found = [pair for pair in self.pairs if pair[0].value in earlier]
        if found:
            return self.next_line(max(self.end_of(value) for _, value in found))
        later = [k for k, _ in self.pairs if k.value in order]
        return self.line_start(later[0].start_mark.index) if later else len(self.text)

    def remove(self, key: str) -> str:
        name, value = self.pair(key)
        start = self.line_start(name.start_mark.index)
        return self.spliced(start, self.next_line(max(self.end_of(value), self.colon(name))), "")

    def set_scalar(self, key: str, value: Writable, old: Value) -> str:
        name, node = self.pair(key)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            colon = self.colon(name)
            lines = self.text[self.next_line(colon) : self.next_line(self.end_of(node))]
            first = self.next_line(colon)
            head = self.text[colon:first]
            new = f" {render(value, indent=self.indent + '  ', inline=True)}"
            return self.spliced(colon, first + len(lines), new + head)
        start, end = node.start_mark.index, self.end_of(node)
        followed = self.text[end : self.line_end(end)].strip() != ""
        if isinstance(value, str) and properties.is_date(value) and properties.is_date(old):
            new = value if getattr(node, "style", "") == "" else render(value)
        else:
            new = render(value, indent=self.indent + "  ", inline=followed)
        if start == end:  # an empty value: the mark stands right behind the colon
            return self.spliced(start, end, f" {new}" if new else "")
        return self.spliced(start, end, new)

    def set_list(self, key: str, items: list[Any], old: Value) -> str:
        name, node = self.pair(key)
        if isinstance(node, yaml.SequenceNode) and node.flow_style and not items:
            return self.spliced(node.start_mark.index, node.end_mark.index, "[]")
        if isinstance(node, yaml.SequenceNode) and isinstance(old, list) and items:
            text = self._flow(node, items, old) if node.flow_style else self._rows(node, items, old)
            if text is not None:
                return text
        colon = self.colon(name)
        value_end = max(self.end_of(node), colon)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            head = self.text[colon : self.line_end(colon)]
        else:
            between = self.text[colon : node.start_mark.index] if value_end > colon else ""
            head = (between + self.text[value_end : self.line_end(value_end)]).rstrip()
        head = head if head.strip() else ""
        if head and not head[0].isspace():
            head = " " + head
        rows = "".join(f"\n{self.indent}{render_item(item)}" for item in items)
        new = f"{head}{rows}" if items else f" []{head}"
        return self.spliced(colon, self.line_end(value_end), new)

    def _rows(self, node: yaml.SequenceNode, items: list[Any], old: list[Value]) -> str | None:
        """A block list, changed row by row; None when its rows are not simple."""
        spans = []
        for item in node.value:
            start = self.line_start(item.start_mark.index)
            dash = self.text[start : item.start_mark.index]
            if isinstance(item, yaml.CollectionNode) or not re.fullmatch(r"[ \t]*-[ \t]+", dash):
                return None
            spans.append((start, self.next_line(self.end_of(item))))
        first = node.value[0].start_mark.index
        prefix = self.text[self.line_start(first) : first]
        text, at = [], spans[0][0]
        for op, i, j, a, b in _opcodes(old, [plain_value(item) for item in items]):
            if op == "equal":
                text.append(self.text[at : spans[j - 1][1]])
                at = spans[j - 1][1]
                continue
            if i < j:
                text.append(self.text[at : spans[i][0]])
                at = spans[j - 1][1]
            if text and text[-1] and not text[-1].endswith("\n"):
                text.append(self.newline)
            rows = (render_item(item, prefix) + "\n" for item in items[a:b])
            text.append("".join(rows).replace("\n", self.newline))
        start, end = spans[0][0], max(at, spans[-1][1])
        return self.joined(self.text[:start] + "".join(text) + self.text[end:])

    def _flow(self, node: yaml.SequenceNode, items: list[Any], old: list[Value]) -> str | None:
        """`[a, b]` with items put behind its last one; None when anything else changes."""
        new = [plain_value(item) for item in items]
        if not same(new[: len(old)], old):
            return None if not self._one_line(node) else self._new_flow(node, items, old)
        added = ", ".join(render(item, flow=True) for item in items[len(old) :])
        if not old:
            return self.spliced(node.start_mark.index, node.end_mark.index, f"[{added}]")
        at = node.value[-1].end_mark.index
        return self.spliced(at, at, f", {added}")

    def _one_line(self, node: yaml.Node) -> bool:
        return bool(node.start_mark.line == node.end_mark.line)

    def _new_flow(self, node: yaml.SequenceNode, items: list[Any], old: list[Value]) -> str:
        """The list on its one line again, each old item spelt as it was."""
        spelling = [self.text[n.start_mark.index : n.end_mark.index] for n in node.value]
        parts = []
        for item in items:
            known = next((i for i, value in enumerate(old) if same(value, plain_value(item))), None)
            parts.append(render(item, flow=True) if known is None else spelling[known])
        new = f"[{', '.join(parts)}]"
        return self.spliced(node.start_mark.index, node.end_mark.index, new)


def _opcodes(old: list[Value], new: list[Value]) -> Sequence[tuple[str, int, int, int, int]]:
    a, b = [repr(item) for item in old], [repr(item) for item in new]
    return difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
