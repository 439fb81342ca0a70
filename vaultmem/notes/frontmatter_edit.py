"""Where each property stands in a note's frontmatter, and the text after changing one of them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable, Mapping
from typing import Any, Final

import yaml

from vaultmem.base.differences import line_difference
from vaultmem.base.line_ends import end_of_line, with_line_ends
from vaultmem.config import PROPERTIES
from vaultmem.errors import NoteMalformed
from vaultmem.notes import yaml_writer
from vaultmem.notes.frontmatter import PropertyValue, WritableValue, compose_frontmatter
from vaultmem.notes.note import BOM, Note
from vaultmem.notes.tags import tag_key
from vaultmem.notes.yaml_writer import render_yaml, render_yaml_item


def same_property_value(a: PropertyValue, b: PropertyValue) -> bool:
    """Equal as property values: true is not 1, and 1 is 1.0."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_property_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_property_value(a[key], b[key]) for key in a)
    if a != a and b != b:  # both are "not a number"
        return True
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def property_value_key(value: PropertyValue) -> Hashable:
    """Two values have one key exactly when they are the same."""
    if isinstance(value, list):
        return "list", *map(property_value_key, value)
    if isinstance(value, dict):
        return "map", frozenset((name, property_value_key(item)) for name, item in value.items())
    if isinstance(value, bool) or value != value:
        return "special", str(value)
    key: Hashable = value
    return key


def property_value_read_back(value: WritableValue) -> PropertyValue:
    """What reading back should give."""
    if isinstance(value, list):
        return [property_value_read_back(item) for item in value]
    return render_yaml(value) if isinstance(value, dt.date) else value


def list_item_key(name: str, item: WritableValue) -> Hashable:
    """Two items of a list property with one key are one item; of tags case and `#` do not count."""
    if name.casefold() in ("tags", "tag") and isinstance(item, str):
        return "#", tag_key(item)
    return property_value_key(property_value_read_back(item))


# YAML 1.1 and libyaml break lines at these, YAML 1.2 and Obsidian do not.
_ODD_BREAK: Final = re.compile("[\x85\u2028\u2029]|\r(?!\n)")


class FrontmatterBlock:
    """The frontmatter's text with the positions of its keys and values."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.newline = note.newline
        self.start, end = note.block or (note.body_start, note.body_start)
        self.text = note.text[self.start : end]
        if _ODD_BREAK.search(self.text):
            raise NoteMalformed(
                f"The properties of {note.path} contain a line break that only some programs "
                "take for one; remove it first."
            )
        root = compose_frontmatter(self.text)
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
        new = with_line_ends(new, self.newline)
        return self.joined(self.text[:start] + new + self.text[end:])

    def pair(self, key: str) -> tuple[yaml.Node, yaml.Node]:
        return next(pair for pair in self.pairs if pair[0].value == key)

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def next_line(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def end_of(self, node: yaml.Node) -> int:
        """Where the value's last character stands; marks reach into what follows it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = node.value[-1]
            return self.end_of(last[1] if isinstance(last, tuple) else last)
        start, end = node.start_mark.index, node.end_mark.index
        return int(start + len(self.text[start:end].rstrip(" \t\r\n")))

    def colon(self, key: yaml.Node) -> int:
        """The position behind the colon that follows a key."""
        at = self.text.find(":", key.end_mark.index)
        if at < 0:
            raise NoteMalformed(f"The property {key.value!r} of {self.note.path} has no colon.")
        return at + 1

    def insert(self, key: str, value: WritableValue, names: Mapping[str, str]) -> str:
        lines = yaml_writer.render_yaml_property(key, value).split("\n")
        text = "".join(f"{self.indent}{line}\n" if line else "\n" for line in lines)
        at = self._place_for_new_frontmatter(key, names)
        if at == len(self.text) and self.text and not self.text.endswith("\n"):
            text = "\n" + text
        return self.spliced(at, at, text)

    def _place_for_new_frontmatter(self, key: str, names: Mapping[str, str]) -> int:
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

    def set_scalar(self, key: str, value: WritableValue, old: PropertyValue) -> str:
        name, node = self.pair(key)
        colon = self.colon(name)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            first = self.next_line(colon)
            new = f" {render_yaml(value, inline=True)}" + self.text[colon:first]
            return self.spliced(colon, self.next_line(self.end_of(node)), new)
        start, end = node.start_mark.index, self.end_of(node)
        followed = self.text[end : end_of_line(self.text, end)].strip() != ""
        dated = yaml_writer.is_yaml_date(value) and yaml_writer.is_yaml_date(old)
        if dated and isinstance(value, str):
            new = value if getattr(node, "style", "") == "" else render_yaml(value)
        else:
            new = render_yaml(value, indent=self.indent + "  ", inline=followed)
        if not new:
            return self.spliced(colon, end, "")
        if "\n" in new:
            end = end_of_line(self.text, end)  # blanks at the end of the line would join the text
        # The mark of an empty value stands right behind the colon.
        return self.spliced(start, end, f" {new}" if start == colon else new)

    def set_list(self, key: str, items: list[Any], old: PropertyValue) -> str:
        name, node = self.pair(key)
        if isinstance(node, yaml.SequenceNode) and isinstance(old, list):
            if node.flow_style:
                return self._frontmatter_with_flow_list(node, items, old)
            if items:
                return self._frontmatter_with_block_list(node, items, old)
        colon = self.colon(name)
        value_end = max(self.end_of(node), colon)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            head = self.text[colon : end_of_line(self.text, colon)]
        else:
            between = self.text[colon : node.start_mark.index] if value_end > colon else ""
            head = (between + self.text[value_end : end_of_line(self.text, value_end)]).rstrip()
        head = head if head.strip() else ""
        if head and not head[0].isspace():
            head = " " + head
        rows = "".join("\n" + self._new_row_in_frontmatter(item, node, old) for item in items)
        return self.spliced(
            colon, end_of_line(self.text, value_end), f"{head}{rows}" if items else f" []{head}"
        )

    def _new_row_in_frontmatter(
        self, item: WritableValue, node: yaml.Node, old: PropertyValue
    ) -> str:
        """A row of a new list; the value that was there alone keeps its spelling."""
        spelling = self.text[node.start_mark.index : self.end_of(node)]
        kept = isinstance(node, yaml.ScalarNode) and spelling and "\n" not in spelling
        if kept and same_property_value(property_value_read_back(item), old):
            return f"{self.indent}  - {spelling}"
        return render_yaml_item(item, f"{self.indent}  - ")

    def _frontmatter_with_block_list(
        self, node: yaml.SequenceNode, items: list[Any], old: list[PropertyValue]
    ) -> str:
        """A block list, changed row by row: rows that stay keep every byte."""
        spans = self.row_spans(node)
        prefix = " " * node.start_mark.column + "- "
        text, at = [], spans[0][0]
        new = [repr(property_value_read_back(item)) for item in items]
        for op, i, j, a, b in line_difference.line_opcodes([repr(item) for item in old], new):
            if op == "equal":
                text.append(self.text[at : spans[j - 1][1]])
                at = spans[j - 1][1]
                continue
            if i < j:
                text.append(self.text[at : spans[i][0]])
                at = spans[j - 1][1]
            if text and text[-1] and not text[-1].endswith("\n"):
                text.append(self.newline)
            rows = (render_yaml_item(item, prefix) + "\n" for item in items[a:b])
            text.append("".join(rows).replace("\n", self.newline))
        start, end = spans[0][0], max(at, spans[-1][1])
        return self.joined(self.text[:start] + "".join(text) + self.text[end:])

    def row_spans(self, node: yaml.SequenceNode) -> list[tuple[int, int]]:
        """The lines of each item: from the one with its dash to its own end."""
        column, end = node.start_mark.column, self.end_of(node)
        at, dashes = self.line_start(node.start_mark.index), []
        while at <= end and at < len(self.text):
            dash = at + column
            if self.text[at:dash].strip(" ") == "" and self.text[dash : dash + 1] == "-":
                if self.text[dash + 1 : dash + 2] in ("", " ", "\t", "\r", "\n"):
                    dashes.append(at)
            at = self.next_line(at)
        if len(dashes) != len(node.value):
            raise NoteMalformed(
                f"A list in {self.note.path} is laid out so that its items cannot be told apart "
                "line by line; nothing was written. Edit it by hand."
            )
        ends = (
            self.next_line(max(self.end_of(item), at))
            for item, at in zip(node.value, dashes, strict=True)
        )
        return list(zip(dashes, ends, strict=True))

    def _frontmatter_with_flow_list(
        self, node: yaml.SequenceNode, items: list[Any], old: list[PropertyValue]
    ) -> str:
        """`[a, b]`, on one line or several: items that stay keep their spelling and their place."""
        spans = [(n.start_mark.index, n.end_mark.index) for n in node.value]
        start, end = node.start_mark.index, node.end_mark.index
        if not items or not spans:
            added = ", ".join(render_yaml(item, flow=True) for item in items)
            return self.spliced(start, end, f"[{added}]")
        parts = [self.text[start : spans[0][0]]]
        unused: dict[Hashable, list[int]] = {}
        for place in range(len(old) - 1, -1, -1):
            unused.setdefault(property_value_key(old[place]), []).append(place)
        for number, item in enumerate(items):
            left = unused.get(property_value_key(property_value_read_back(item)))
            known = left.pop() if left else None
            if number:  # in front of it stays what stood there
                parts.append(self.text[spans[known - 1][1] : spans[known][0]] if known else ", ")
            if known is None:
                parts.append(render_yaml(item, flow=True))
            else:
                parts.append(self.text[slice(*spans[known])])
        parts.append(self.text[spans[-1][1] : end])
        return self.joined(self.text[:start] + "".join(parts) + self.text[end:])
