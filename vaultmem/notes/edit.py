"""Splice edits: only the lines that carry the change differ, or nothing is written at all.

A property is found by the marks of the YAML parser, its lines are replaced in the text,
and the result is read back in YAML 1.2 and 1.1. Unless the changed property then holds
exactly the wanted value, and all others what they held before, the edit is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import frontmatter
import yaml

from vaultmem.base.line_ends import end_of_line, usual_line_end, with_line_ends
from vaultmem.config import PROPERTIES
from vaultmem.errors import Conflict, InvalidInput, NoteMalformed, NotFound
from vaultmem.notes import markdown, quotation, yaml_writer
from vaultmem.notes.daily import tasks
from vaultmem.notes.frontmatter import PropertyValue, WritableValue
from vaultmem.notes.frontmatter_edit import (
    FrontmatterBlock,
    list_item_key,
    property_value_key,
    property_value_read_back,
    same_property_value,
)
from vaultmem.notes.note import Note, note_bytes, parse
from vaultmem.notes.yaml_writer import ObsidianHandler


class SetProperty(NamedTuple):
    name: str
    value: WritableValue


class RemoveProperty(NamedTuple):
    name: str


class AddItems(NamedTuple):
    """Put these into a list property, behind what is there; what is there already stays once."""

    name: str
    items: tuple[WritableValue, ...]


class RemoveItems(NamedTuple):
    name: str
    items: tuple[WritableValue, ...]


class ReplaceBody(NamedTuple):
    text: str
    as_it_is: bool = False  # line ends included


class ReplaceSection(NamedTuple):
    """New text under a heading; the heading itself and what follows the section stay."""

    heading: str
    text: str


class AppendToSection(NamedTuple):
    """A line or lines at the end of a section, which is made at the end of the note if missing."""

    heading: str
    text: str


class ReplaceText(NamedTuple):
    """The words of the body that the caller quotes; they must stand there exactly once."""

    old: str
    new: str


class AppendText(NamedTuple):
    """More text: at the end of the body, or of what stands under a heading that is there."""

    text: str
    section: str = ""


class AddTask(NamedTuple):
    """One more open task, in the style of those that are there."""

    text: str
    section: str = ""


class MarkTask(NamedTuple):
    """A task checked, or unchecked; on this day."""

    text: str
    done: bool
    day: dt.date
    section: str = ""


class ReplaceLine(NamedTuple):
    """One line of the body, by where it starts there; refused unless it still says `old`."""

    start: int
    old: str
    new: str


class ReplaceLines(NamedTuple):
    lines: tuple[ReplaceLine, ...]


NoteEdit: TypeAlias = (
    SetProperty
    | RemoveProperty
    | AddItems
    | RemoveItems
    | ReplaceBody
    | ReplaceSection
    | AppendToSection
    | ReplaceText
    | AppendText
    | AddTask
    | MarkTask
    | ReplaceLine
    | ReplaceLines
)

# Problems that make a property write a guess, and those that make any write one.
_NO_PROPERTIES = ("malformed-frontmatter", "duplicate-key", "unclosed-frontmatter")
_NO_WRITES = ("conflict-markers", "binary")


def edit_note(note: Note, *changes: NoteEdit) -> bytes:
    """The note's bytes after the changes."""
    return edited_note(note, *changes).raw


def edited_note(note: Note, *changes: NoteEdit) -> Note:
    """The note after the changes, in order; raises rather than guess."""
    for change in changes:
        note = _apply_edit(note, change)
    return note


def stamped_note(before: Note, after: Note, now: dt.datetime) -> Note:
    """A note of ours says when it was changed."""
    if after.text == before.text or not (before.id or before.get("updated")):
        return after
    return edited_note(after, SetProperty("updated", now))


def new_note_bytes(values: Mapping[str, WritableValue], body: str) -> bytes:
    return note_from_nothing(values, body).raw


def note_from_nothing(
    values: Mapping[str, WritableValue],
    body: str,
    path: str = "",
    names: Mapping[str, str] = MappingProxyType({}),
) -> Note:
    """A note made from nothing, properties in the order of the format and as the vault names
    them."""
    values = {names.get(name, name): value for name, value in values.items()}
    rank = {name: i for i, name in enumerate(PROPERTIES)}
    post = frontmatter.Post(_require_usable_text_for_edit(body), ObsidianHandler())
    post.metadata = dict(sorted(values.items(), key=lambda pair: rank.get(pair[0], len(rank))))
    raw = frontmatter.dumps(post).encode()
    wanted = {name: property_value_read_back(value) for name, value in values.items()}
    made = parse(raw, path, names)
    _verify_edited_values(made, wanted, "the properties")
    return made


def _apply_edit(note: Note, change: NoteEdit) -> Note:
    for problem in note.problems:
        if problem.kind in _NO_WRITES:
            raise NoteMalformed(
                f"{note.path} was left alone. {problem.message} Put that right first."
            )
    match change:
        case SetProperty(name, value):
            return _edit_property(note, name, value)
        case RemoveProperty(name):
            return _edit_removing_property(note, name)
        case AddItems(name, items):
            return _edit_adding_items(note, name, items)
        case RemoveItems(name, items):
            return _edit_removing_items(note, name, items)
        case ReplaceBody(text, as_it_is):
            return _edited_body(note, text if as_it_is else _lines_for_edit(note, text))
        case ReplaceSection(heading, text):
            return _edit_replacing_section(note, heading, text)
        case AppendToSection(heading, text):
            return _edit_appending_to_section(note, heading, text)
        case ReplaceLine():
            return _edit_replacing_lines(note, (change,))
        case ReplaceLines(lines):
            return _edit_replacing_lines(note, lines)
        case ReplaceText(old, new):
            body = quotation.replace_quotation(note.body, old, _lines_for_edit(note, new))
            return _edited_body(note, body)
        case AppendText(text, section):
            body = quotation.append_behind_section(
                note.body, _lines_for_edit(note, text), section, _newline_for_edit(note)
            )
            return _edited_body(note, body)
        case AddTask() | MarkTask():
            return _edited_body(note, task_change(note, change).body)


def task_change(note: Note, change: AddTask | MarkTask) -> tasks.TaskChange:
    """What such a change makes of a note, and of the task's line."""
    text = _require_usable_text_for_edit(change.text)
    if isinstance(change, AddTask):
        return tasks.add_task(note.body, text, change.section, _newline_for_edit(note))
    return tasks.mark_task(note.body, text, change.section, change.day, done=change.done)


# --- the body -----------------------------------------------------------------------------


def _lines_for_edit(note: Note, text: str) -> str:
    """The text with the note's own line ending."""
    return with_line_ends(_require_usable_text_for_edit(text), _newline_for_edit(note))


def _newline_for_edit(note: Note) -> str:
    """The line ending of the part that a new body leaves in place, where there is one."""
    return usual_line_end(note.text[: note.body_start]) if note.block else note.newline


def _require_usable_text_for_edit(text: str) -> str:
    if "\0" in text:
        raise InvalidInput("The text has a NUL character in it; a note cannot hold one.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("The text has half a character (a lone surrogate) in it.") from None
    return text


def _edited_body(note: Note, body: str) -> Note:
    """The note with a new body; refuses one that would change which properties it has."""
    if body == note.body:
        return note
    head = note.text[: note.body_start]
    if note.block and not head.endswith("\n"):  # the note ends with its properties
        head += _newline_for_edit(note)
    after = parse(note_bytes(head + body), note.path, note.names)
    same_properties = same_property_value(dict(after.properties), dict(note.properties))
    if after.body_start != len(head) or not same_properties:
        raise InvalidInput(
            "The text would be read as properties: it starts with a --- block. "
            "Put a line of text before it."
        )
    return after


def _edit_replacing_section(note: Note, heading: str, text: str) -> Note:
    place = _section_to_edit(note, heading)
    if place is None:
        raise NotFound(f"{note.path} has no heading {heading!r}.")
    start, end = place
    body, newline = note.body, _newline_for_edit(note)
    content = _lines_for_edit(note, text).strip("\r\n")
    if body[start:end].strip("\r\n") == content:
        return note
    if end < len(body):
        ending = newline * 2 if content else ""
    else:
        ending = newline if body.endswith("\n") else ""
    gap = newline * 2 if content or end < len(body) else ""
    new = body[:start] + gap + content + ending + body[end:]
    return _edited_section(note, new, heading, content)


def _edit_appending_to_section(note: Note, heading: str, text: str) -> Note:
    body, newline = note.body, _newline_for_edit(note)
    lines = _lines_for_edit(note, text).strip("\r\n")
    place = _section_to_edit(note, heading)
    if place is None:
        breaks = body[len(body.rstrip("\r\n")) :].count("\n")
        gap = newline * max(0, 2 - breaks) if body.strip() else ""
        new = f"{body}{gap}## {_heading_for_edit(heading)}{newline * 2}{lines}{newline}"
        return _edited_section(note, new, heading, lines)
    start, end = place
    content = body[start:end].rstrip()
    last = start + len(content)
    at = end_of_line(body, last) if content else last
    # A list goes on without a blank line; under a bare heading one stands between.
    goes_on = content and quotation.ends_in_list(content) and quotation.ends_in_list(lines)
    new = body[:at] + newline * (1 if goes_on else 2) + lines + (body[at:] or newline)
    return _edited_section(note, new, heading, lines)


def _edit_replacing_lines(note: Note, lines: Sequence[ReplaceLine]) -> Note:
    body, pieces, at = note.body, [""], 0
    for line in sorted(lines, key=lambda line: line.start):
        if "\n" in line.new or "\r" in line.new:
            raise InvalidInput("The new line has a line break in it.")
        starts_line = line.start == 0 or body[line.start - 1 : line.start] == "\n"
        if not starts_line or body[line.start : end_of_line(body, line.start)] != line.old:
            raise Conflict(f"{note.path} was changed meanwhile; look at it again.")
        pieces += [body[at : line.start], _require_usable_text_for_edit(line.new)]
        at = line.start + len(line.old)
    return _edited_body(note, "".join([*pieces, body[at:]]))


def _edited_section(note: Note, body: str, heading: str, content: str) -> Note:
    """Refuse a section that would not be readable as one, with this content, and no other moved."""
    after = _edited_body(note, body)
    found = _section_to_edit(after, heading)
    if (
        found is None
        or content.strip() not in after.body[slice(*found)]
        or _headings_outside_section(note, heading) != _headings_outside_section(after, heading)
        or not _is_edit_seen(after.body, found, content)
    ):
        raise NoteMalformed(
            f"The section {heading!r} of {note.path} would not be readable afterwards: a code block "
            "or comment in the note is not closed, or the new text has a heading of its own rank. "
            "Nothing was written."
        )
    return after


def _headings_outside_section(note: Note, heading: str) -> list[str]:
    """The headings that neither head the section nor stand in it."""
    start, end = _section_to_edit(note, heading) or (-1, -1)
    return [h.text for h in note.headings if h.end != start and not start <= h.start < end]


def _is_edit_seen(body: str, place: tuple[int, int], content: str) -> bool:
    """Whether the content starts outside of code and comments that stand open before it."""
    at = body.index(content.strip(), place[0]) if content.strip() else place[0]
    return markdown.visible_text(body[:at] + "x").endswith("x")


def _section_to_edit(note: Note, heading: str) -> tuple[int, int] | None:
    name = re.sub(r"\A#{1,6}[ \t]+", "", heading).strip()
    return markdown.markdown_section(note.headings, name, len(note.body))


def _heading_for_edit(heading: str) -> str:
    heading = re.sub(r"\A#{1,6}[ \t]+", "", _require_usable_text_for_edit(heading)).strip()
    if not heading or "\n" in heading or "\r" in heading:
        raise InvalidInput("A heading needs some text, on one line.")
    return heading


# --- properties ---------------------------------------------------------------------------


def _edit_property(note: Note, name: str, value: WritableValue) -> Note:
    key = _editable_key(note, name)
    wanted = property_value_read_back(value)
    if key in note.properties and same_property_value(note.properties[key], wanted):
        return note
    block = FrontmatterBlock(note)
    if key not in note.properties:
        text = block.insert(key, value, note.names)
    elif isinstance(value, list):
        text = block.set_list(key, value, note.properties[key])
    else:
        text = block.set_scalar(key, value, note.properties[key])
    return _verified_edit(note, text, {**note.properties, key: wanted}, key)


def _edit_removing_property(note: Note, name: str) -> Note:
    key = _editable_key(note, name)
    if key not in note.properties:
        return note
    left = {k: v for k, v in note.properties.items() if k != key}
    return _verified_edit(note, FrontmatterBlock(note).remove(key), left, key)


def _edit_adding_items(note: Note, name: str, items: tuple[WritableValue, ...]) -> Note:
    current = _list_to_edit(note, name)
    new, known = list(current), {list_item_key(name, item) for item in current}
    for item in items:
        if (key := list_item_key(name, item)) not in known:
            known.add(key)
            new.append(item)
    return note if len(new) == len(current) else _edit_property(note, name, new)


def _edit_removing_items(note: Note, name: str, items: tuple[WritableValue, ...]) -> Note:
    current = _list_to_edit(note, name)
    gone = {list_item_key(name, item) for item in items}
    left = [old for old in current if list_item_key(name, old) not in gone]
    return note if len(left) == len(current) else _edit_property(note, name, left)


def _list_to_edit(note: Note, name: str) -> list[PropertyValue]:
    key = note.key_of(name)
    value = None if key is None else note.properties[key]
    if isinstance(value, dict):
        raise NoteMalformed(f"The property {name!r} of {note.path} is not a list.")
    if isinstance(value, str) and name.casefold() in ("tags", "tag"):
        return [word for word in re.split(r"[,\s]+", value) if word]
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _editable_key(note: Note, name: str) -> str:
    for problem in note.problems:
        if problem.kind in _NO_PROPERTIES:
            raise NoteMalformed(
                f"The properties of {note.path} cannot be changed until they are readable. "
                f"{problem.message}"
            )
    key = note.key_of(name)
    if key is None:
        return note.names.get(name, name)
    if sum(other.casefold() == key.casefold() for other in note.properties) > 1:
        raise NoteMalformed(f"{note.path} has the property {name!r} in two spellings; keep one.")
    return key


def _verified_edit(note: Note, text: str, wanted: Mapping[str, PropertyValue], key: str) -> Note:
    after = parse(note_bytes(text), note.path, note.names)
    _verify_edited_values(after, wanted, key)
    if after.body != note.body:
        raise _refused_edit(note.path, key)
    old, new = _edited_properties_in_yaml11(note), _edited_properties_in_yaml11(after)
    if any(repr(old.get(k)) != repr(new.get(k)) for k in old.keys() | new.keys() if k != key):
        raise _refused_edit(note.path, key)
    if key in wanted and not _does_edit_agree_in_yaml11(
        wanted[key], new.get(key), note.properties.get(key)
    ):
        raise _refused_edit(note.path, key)
    return after


def _verify_edited_values(after: Note, wanted: Mapping[str, PropertyValue], key: str) -> None:
    if after.problems and any(p.kind in _NO_PROPERTIES for p in after.problems):
        raise _refused_edit(after.path, key)
    if not same_property_value(dict(after.properties), dict(wanted)):
        raise _refused_edit(after.path, key)


def _refused_edit(path: str, key: str) -> NoteMalformed:
    return NoteMalformed(
        f"Changing {key!r} in {path or 'the note'} would have touched more than that property, "
        "so nothing was written. Edit it by hand."
    )


def _edited_properties_in_yaml11(note: Note) -> dict[str, Any]:
    """The properties as a YAML 1.1 reader (PyYAML, python-frontmatter) sees each of them."""
    if note.block is None:
        return {}
    loader = yaml.CSafeLoader(note.text[slice(*note.block)])
    try:
        root = loader.get_single_node()
        return {k.value: _edited_value_in_yaml11(loader, v) for k, v in root.value} if root else {}
    finally:
        loader.dispose()


def _edited_value_in_yaml11(loader: yaml.CSafeLoader, node: yaml.Node) -> Any:
    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, TypeError):
        return f"unreadable: {node.value!r}"  # 2026-13-45, say


def _does_edit_agree_in_yaml11(ours: PropertyValue, theirs: Any, before: PropertyValue) -> bool:
    """Whether a YAML 1.1 reader sees what we wrote; what stood there before may differ."""
    if isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            return False
        kept = set(map(property_value_key, before if isinstance(before, list) else [before]))
        pairs = zip(ours, theirs, strict=True)
        return all(
            property_value_key(a) in kept or _does_edit_agree_in_yaml11(a, b, None)
            for a, b in pairs
        )
    if isinstance(theirs, dt.date):
        return yaml_writer.is_yaml_date(ours)
    return same_property_value(ours, theirs)
