"""Two sets of properties that grew from one: each property by itself, lists as sets.

A property is taken with its lines from the side that changed it, so that its spelling and
its comments stay. Only a list that both sides changed is put together anew, row by row.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.local_time import moment
from vaultmem.errors import InvalidInput, NoteMalformed
from vaultmem.notes import yaml_writer
from vaultmem.notes.frontmatter import MalformedFrontmatter, PropertyValue, read_frontmatter
from vaultmem.notes.frontmatter_edit import (
    FrontmatterBlock,
    list_item_key,
    same_property_value,
)
from vaultmem.notes.line_merge import merged_order
from vaultmem.notes.masking import public_value
from vaultmem.notes.note import Note, printable

_MISSING: Final = object()
_WORDS: Final = re.compile(r"[,\s]+")


@dataclass(frozen=True)
class PropertySide:
    """One version's properties: their values, and the lines each of them has."""

    note: Note | None
    values: Mapping[str, PropertyValue] = field(default_factory=dict)  # by folded name
    lines: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)  # folded -> as written
    block: FrontmatterBlock | None = None

    def get(self, key: str) -> PropertyValue:
        return self.values.get(key, _MISSING)


def property_side(note: Note | None) -> PropertySide:
    """Raises NoteMalformed where the properties cannot be told apart line by line."""
    if note is None or note.block is None:
        return PropertySide(note)
    block = FrontmatterBlock(note)
    names = {name.casefold(): name for name in note.properties}
    if len(names) != len(note.properties):
        raise NoteMalformed(f"{note.path} has a property in two spellings; keep one.")
    values = {name.casefold(): value for name, value in note.properties.items()}
    lines = {key.casefold(): text for key, text in _segments_of_property_side(block)}
    return PropertySide(note, values, lines, names, block)


def _segments_of_property_side(block: FrontmatterBlock) -> Iterator[tuple[str, str]]:
    """Each property with its lines; comments belong to what follows them."""
    start = 0
    for number, (key, value) in enumerate(block.pairs):
        last = max(block.end_of(value), block.colon(key))
        end = block.next_line(last)
        if number == len(block.pairs) - 1:
            end = len(block.text)
        text = block.text[start:end]
        yield key.value, text if text.endswith("\n") else text + "\n"
        start = end


@dataclass(frozen=True)
class Properties:
    values: Mapping[str, PropertyValue]  # by the names as they are to be written
    text: str  # what stands between the fences
    lost: tuple[str, ...] = ()


def merge_properties(
    base: PropertySide, first: PropertySide, second: PropertySide, names: Mapping[str, str]
) -> Properties:
    """The newer side is the second. Raises NoteMalformed where the result cannot be written."""
    ours = {names.get(name, name).casefold(): name for name in _SPECIAL}
    values: dict[str, PropertyValue] = {}
    lines: dict[str, str] = {}
    lost: list[str] = []
    for key in merged_order(*map(list, (base.values, first.values, second.values))):
        was, one, other = base.get(key), first.get(key), second.get(key)
        name = _property_name(key, base, first, second)
        value = _merged_property_value(
            ours.get(key, key), was, one, other, _newer_property_side(first, second), lost
        )
        if value is not _MISSING:
            values[name] = value
            lines[name] = _lines_of_merged_property(key, name, value, (base, first, second))
    text = "".join(lines.values())
    return Properties(values, _checked_merged_properties(text, values), tuple(lost))


def _property_name(key: str, base: PropertySide, first: PropertySide, second: PropertySide) -> str:
    old, one, other = (side.names.get(key) for side in (base, first, second))
    return (one if other in (None, old) else other) or other or old or key


def updated_as_written(note: Note | None) -> dt.datetime:
    """What the note's clock showed when a program changed it last. It is compared as it stands:
    machines in two zones must merge to the same bytes."""
    found = moment(note.string("updated"), dt.UTC) if note else None
    return found or dt.datetime.min.replace(tzinfo=dt.UTC)


def _newer_property_side(first: PropertySide, second: PropertySide) -> int | None:
    """Which of two sides an agent changed last: 0, 1 or None."""
    one, other = (updated_as_written(side.note) for side in (first, second))
    return None if one == other else int(other > one)


# --- values ---------------------------------------------------------------------------------

_SPECIAL: Final = ("id", "created", "updated", "forgotten", "tags", "tag")


def _merged_property_value(
    name: str,
    was: PropertyValue,
    one: PropertyValue,
    other: PropertyValue,
    newer: int | None,
    lost: list[str],
) -> PropertyValue:
    if _are_property_values_equal(one, other):
        return other
    if name == "id":
        return other if one is _MISSING else one
    if _are_property_values_equal(one, was):
        return other
    if _are_property_values_equal(other, was):
        return one
    if isinstance(one, list) or isinstance(other, list):
        return _merged_property_list(name, was, one, other)
    if one is _MISSING or other is _MISSING:
        return other if one is _MISSING else one
    if name in ("created", "updated") and (
        found := _property_by_time(one, other, name == "updated")
    ):
        return found
    if name == "forgotten" and True in (one, other):
        return True
    if newer is None:
        newer = 1 if _rank_of_property_to_merge(other) >= _rank_of_property_to_merge(one) else 0
    kept, gone = (other, one) if newer == 1 else (one, other)
    lost.append(f"{name}: kept {shown_value(kept)}, not {shown_value(gone)}")
    return kept


def _are_property_values_equal(a: PropertyValue, b: PropertyValue) -> bool:
    if a is _MISSING or b is _MISSING:
        return a is b
    return same_property_value(a, b)


def _property_by_time(one: PropertyValue, other: PropertyValue, latest: bool) -> PropertyValue:
    a, b = moment(str(one), dt.UTC), moment(str(other), dt.UTC)
    if a is None or b is None:
        return None if a is b else (other if a is None else one)
    return (one if (a > b) == latest else other) if a != b else max(str(one), str(other))


def _rank_of_property_to_merge(value: PropertyValue) -> tuple[str, str]:
    return type(value).__name__, repr(value)


def shown_value(value: PropertyValue) -> str:
    value = public_value(value)
    text = "true" if value is True else "false" if value is False else str(value)
    text = " ".join(printable(text).split())
    return text if len(text) <= 80 else text[:79] + "…"


def _merged_property_list(
    name: str, was: PropertyValue, one: PropertyValue, other: PropertyValue
) -> PropertyValue:
    old, a, b = (_items_of_property_to_merge(name, value) for value in (was, one, other))
    kept = {key for key in old if key in a and key in b}
    keep = {*kept, *(a.keys() - old.keys()), *(b.keys() - old.keys())}
    items = {**a, **b}
    found = [items[key] for key in merged_order(list(old), list(a), list(b)) if key in keep]
    if not found and (one is _MISSING or other is _MISSING):
        return _MISSING
    return found


def _items_of_property_to_merge(name: str, value: PropertyValue) -> dict[Hashable, PropertyValue]:
    """The items of a list by what makes two the same; one value is a list of one."""
    if value is _MISSING or value is None:
        return {}
    if isinstance(value, str) and name in ("tags", "tag"):
        value = [word for word in _WORDS.split(value) if word]
    found: dict[Hashable, PropertyValue] = {}
    for item in value if isinstance(value, list) else [value]:
        found.setdefault(list_item_key(name, item), item)
    return found


# --- lines ----------------------------------------------------------------------------------


def _lines_of_merged_property(
    key: str,
    name: str,
    value: PropertyValue,
    sides: tuple[PropertySide, PropertySide, PropertySide],
) -> str:
    """The property's lines from the side that changed it, or made from both."""
    base, first, second = sides
    changed = [side for side in (second, first) if side.lines.get(key) != base.lines.get(key)]
    for side in (*changed, second, first):
        if _are_property_values_equal(side.get(key), value):
            return side.lines[key]
    if isinstance(value, list) and value:
        return _merged_list_lines(key, name, value, (second, first))
    return yaml_writer.render_yaml_property(name, value) + "\n"


def _merged_list_lines(
    key: str, name: str, items: Sequence[PropertyValue], sides: Sequence[PropertySide]
) -> str:
    rows: dict[Hashable, str] = {}
    comments = ""
    for side in sides:
        found, head = _merged_property_rows(side, key)
        comments = comments or head
        for item, row in found:
            rows.setdefault(list_item_key(key, item), row)
    texts = (
        rows.get(list_item_key(key, item)) or yaml_writer.render_yaml_item(item) + "\n"
        for item in items
    )
    return f"{comments}{yaml_writer.render_yaml(name, inline=True)}:\n{''.join(texts)}"


def _merged_property_rows(
    side: PropertySide, key: str
) -> tuple[list[tuple[PropertyValue, str]], str]:
    """The items of a side's list, each as the lines of a row; and the comments above it."""
    block, name, value = side.block, side.names.get(key), side.get(key)
    if block is None or name is None or not isinstance(value, list):
        return [], ""
    node = block.pair(name)[1]
    head = re.match(r"(?:[ \t]*(?:#.*)?\n)*", with_unix_line_ends(side.lines[key]))
    if not isinstance(node, yaml.SequenceNode):
        return [], ""
    rows = (
        [_flow_row_to_merge(block, n) for n in node.value]
        if node.flow_style
        else _block_rows_to_merge(block, node)
    )
    return list(zip(value, rows, strict=True)), head[0] if head else ""


def _flow_row_to_merge(block: FrontmatterBlock, node: yaml.Node) -> str:
    spelling = block.text[node.start_mark.index : node.end_mark.index].strip()
    if "\n" in spelling:
        raise NoteMalformed("A list in the properties spreads over several lines.")
    return f"  - {spelling}\n"


def _block_rows_to_merge(block: FrontmatterBlock, node: yaml.SequenceNode) -> Iterator[str]:
    """The lines of each item, comments before it included, indented as Obsidian does."""
    spans = block.row_spans(node)
    column, start = node.start_mark.column, spans[0][0]
    for _, end in spans:
        text = with_unix_line_ends(block.text[start:end])
        lines = (text if text.endswith("\n") else text + "\n").splitlines(keepends=True)
        yield "".join(
            "  " + line[column:] if line[:column].isspace() or not column else line
            for line in lines
        )
        start = end


def _checked_merged_properties(text: str, values: Mapping[str, PropertyValue]) -> str:
    """The text, if both YAML dialects read it; or the same properties printed anew."""
    if _do_merged_properties_read_as(text, values):
        return text
    try:
        text = "".join(yaml_writer.render_yaml_property(k, v) + "\n" for k, v in values.items())
    except InvalidInput as error:
        raise NoteMalformed(str(error)) from None
    if not _do_merged_properties_read_as(text, values):
        raise NoteMalformed("The merged properties would not be readable.")
    return text


def _do_merged_properties_read_as(text: str, values: Mapping[str, PropertyValue]) -> bool:
    try:
        found: Any = read_frontmatter(with_unix_line_ends(text))
    except MalformedFrontmatter:
        return False
    closed = re.search(r"(?m)^(?:---|\.\.\.)[ \t\r]*$", text)
    return same_property_value(found, dict(values)) and not closed
