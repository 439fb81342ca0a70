"""Splice edits: only the lines that carry the change differ, or nothing is written at all.

A property is found by the marks of the YAML parser, its lines are replaced in the text,
and the result is read back in YAML 1.2 and 1.1. Unless the changed property then holds
exactly the wanted value, and all others what they held before, the edit is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import frontmatter
import yaml

from vaultmem import markdown, printing
from vaultmem.config import PROPERTIES
from vaultmem.errors import Conflict, InvalidInput, NoteMalformed, NotFound
from vaultmem.note import Note, encode, newline_of, parse
from vaultmem.printing import ObsidianHandler
from vaultmem.properties import Value, Writable
from vaultmem.splice import Block, plain_value, same


@dataclass(frozen=True, slots=True)
class SetProperty:
    name: str
    value: Writable


@dataclass(frozen=True, slots=True)
class RemoveProperty:
    name: str


@dataclass(frozen=True, slots=True)
class AddItems:
    """Put these into a list property, behind what is there; what is there already stays once."""

    name: str
    items: tuple[Writable, ...]


@dataclass(frozen=True, slots=True)
class RemoveItems:
    name: str
    items: tuple[Writable, ...]


@dataclass(frozen=True, slots=True)
class ReplaceBody:
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceSection:
    """New text under a heading; the heading itself and what follows the section stay."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class AppendToSection:
    """A line or lines at the end of a section, which is made at the end of the note if missing."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceLine:
    """One line of the body, by where it starts there; refused unless it still says `old`."""

    start: int
    old: str
    new: str


Change: TypeAlias = (
    SetProperty
    | RemoveProperty
    | AddItems
    | RemoveItems
    | ReplaceBody
    | ReplaceSection
    | AppendToSection
    | ReplaceLine
)

# Problems that make a property write a guess, and those that make any write one.
_NO_PROPERTIES = ("malformed-frontmatter", "duplicate-key", "unclosed-frontmatter")
_NO_WRITES = ("conflict-markers", "binary")


def edit(note: Note, *changes: Change) -> bytes:
    """The note's bytes after the changes, in order; raises rather than guess."""
    for change in changes:
        text = _apply(note, change)
        if text != note.text:
            note = parse(encode(text), note.path, note.names)
    return note.raw


def new_note(values: Mapping[str, Writable], body: str) -> bytes:
    """The bytes of a note made from nothing, properties in the order of the format."""
    rank = {name: i for i, name in enumerate(PROPERTIES)}
    post = frontmatter.Post(_usable(body), ObsidianHandler())
    post.metadata = dict(sorted(values.items(), key=lambda pair: rank.get(pair[0], len(rank))))
    raw = frontmatter.dumps(post).encode()
    wanted = {name: plain_value(value) for name, value in values.items()}
    _verify_values(parse(raw), wanted, "the properties")
    return raw


def _apply(note: Note, change: Change) -> str:
    for problem in note.problems:
        if problem.kind in _NO_WRITES:
            raise NoteMalformed(
                f"{note.path} was left alone. {problem.message} Put that right first."
            )
    match change:
        case SetProperty(name, value):
            return _edit_property(note, name, value)
        case RemoveProperty(name):
            return _remove_property(note, name)
        case AddItems(name, items):
            return _add_items(note, name, items)
        case RemoveItems(name, items):
            return _remove_items(note, name, items)
        case ReplaceBody(text):
            return _kept(note, note.text[: note.body_start] + _lines(note, text))
        case ReplaceSection(heading, text):
            return _replace_section(note, heading, text)
        case AppendToSection(heading, text):
            return _append_to_section(note, heading, text)
        case ReplaceLine(start, old, new):
            return _replace_line(note, start, old, new)


# --- the body -----------------------------------------------------------------------------


def _lines(note: Note, text: str) -> str:
    """The text with the note's own line ending."""
    text = _usable(text).replace("\r\n", "\n")
    return text.replace("\n", "\r\n") if _newline(note) == "\r\n" else text


def _newline(note: Note) -> str:
    """The line ending of the part that a new body leaves in place, where there is one."""
    return newline_of(note.text[: note.body_start]) if note.block else note.newline


def _usable(text: str) -> str:
    if "\0" in text:
        raise InvalidInput("The text has a NUL character in it; a note cannot hold one.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("The text has half a character (a lone surrogate) in it.") from None
    return text


def _kept(note: Note, text: str) -> str:
    """Refuse a new body that would change which properties the note has."""
    after = parse(encode(text), note.path, note.names)
    same_properties = same(dict(after.properties), dict(note.properties))
    if after.body_start != note.body_start or not same_properties:
        raise InvalidInput(
            "The text would be read as properties: it starts with a --- block. "
            "Put a line of text before it."
        )
    return text


def _replace_section(note: Note, heading: str, text: str) -> str:
    place = _section(note, heading)
    if place is None:
        raise NotFound(f"{note.path} has no heading {heading!r}.")
    start, end = place
    body, newline = note.body, _newline(note)
    content = _lines(note, text).strip("\r\n")
    if body[start:end].strip("\r\n") == content:
        return note.text
    if end < len(body):
        ending = newline * 2 if content else ""
    else:
        ending = newline if body.endswith("\n") else ""
    gap = newline * 2 if content or end < len(body) else ""
    new = body[:start] + gap + content + ending + body[end:]
    return _section_holds(note, new, heading, content)


def _append_to_section(note: Note, heading: str, text: str) -> str:
    body, newline = note.body, _newline(note)
    lines = _lines(note, text).strip("\r\n")
    place = _section(note, heading)
    if place is None:
        gap = _gap(body, newline) if body.strip() else ""
        new = f"{body}{gap}## {_one_line(heading)}{newline * 2}{lines}{newline}"
        return _section_holds(note, new, heading, lines)
    start, end = place
    content = body[start:end].rstrip()
    last = start + len(content)
    at = _line_end(body, last) if content else last
    # A list goes on without a blank line; under a bare heading one stands between.
    before = newline if content and _is_list(content) and _is_list(lines) else newline * 2
    new = body[:at] + before + lines + (body[at:] or newline)
    return _section_holds(note, new, heading, lines)


def _replace_line(note: Note, start: int, old: str, new: str) -> str:
    body = note.body
    if "\n" in new or "\r" in new:
        raise InvalidInput("The new line has a line break in it.")
    starts_line = start == 0 or body[start - 1 : start] == "\n"
    if not starts_line or body[start : _line_end(body, start)] != old:
        raise Conflict(f"{note.path} was changed meanwhile; look at it again.")
    body = body[:start] + _usable(new) + body[start + len(old) :]
    return _kept(note, note.text[: note.body_start] + body)


def _section_holds(note: Note, body: str, heading: str, content: str) -> str:
    """Refuse a section that would not be readable as one, with this content, and no other moved."""
    text = _kept(note, note.text[: note.body_start] + body)
    after = parse(encode(text), note.path, note.names)
    found = _section(after, heading)
    if (
        found is None
        or content.strip() not in after.body[slice(*found)]
        or _outside(note, heading) != _outside(after, heading)
        or not _is_seen(after.body, found, content)
    ):
        raise NoteMalformed(
            f"The section {heading!r} of {note.path} would not be readable afterwards: a code block "
            "or comment in the note is not closed, or the new text has a heading of its own rank. "
            "Nothing was written."
        )
    return text


def _outside(note: Note, heading: str) -> list[str]:
    """The headings that neither head the section nor stand in it."""
    start, end = _section(note, heading) or (-1, -1)
    return [h.text for h in note.headings if h.end != start and not start <= h.start < end]


def _is_seen(body: str, place: tuple[int, int], content: str) -> bool:
    """Whether the content starts outside of code and comments that stand open before it."""
    at = body.index(content.strip(), place[0]) if content.strip() else place[0]
    return markdown.visible(body[:at] + "x").endswith("x")


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end > at and text[end - 1] == "\r" else end


def _gap(body: str, newline: str) -> str:
    ended = len(body) - len(body.rstrip("\r\n"))
    breaks = body[len(body) - ended :].count("\n")
    return newline * max(0, 2 - breaks)


def _is_list(text: str) -> bool:
    last_item = re.findall(r"(?m)^(?=\S).*", text)
    return bool(last_item) and re.match(r"[-*+] |\d+[.)] ", last_item[-1]) is not None


def _section(note: Note, heading: str) -> tuple[int, int] | None:
    name = re.sub(r"\A#{1,6}[ \t]+", "", heading).strip()
    return markdown.section(note.headings, name, len(note.body))


def _one_line(heading: str) -> str:
    heading = re.sub(r"\A#{1,6}[ \t]+", "", _usable(heading)).strip()
    if not heading or "\n" in heading or "\r" in heading:
        raise InvalidInput("A heading needs some text, on one line.")
    return heading


# --- properties ---------------------------------------------------------------------------


def _edit_property(note: Note, name: str, value: Writable) -> str:
    key = _writable_key(note, name)
    wanted = plain_value(value)
    if key in note.properties and same(note.properties[key], wanted):
        return note.text
    block = Block(note)
    if key not in note.properties:
        text = block.insert(key, value, note.names)
    elif isinstance(value, list):
        text = block.set_list(key, value, note.properties[key])
    else:
        text = block.set_scalar(key, value, note.properties[key])
    return _verified(note, text, {**note.properties, key: wanted}, key)


def _remove_property(note: Note, name: str) -> str:
    key = _writable_key(note, name)
    if key not in note.properties:
        return note.text
    left = {k: v for k, v in note.properties.items() if k != key}
    return _verified(note, Block(note).remove(key), left, key)


def _add_items(note: Note, name: str, items: tuple[Writable, ...]) -> str:
    current = _current_list(note, name)
    new = list(current)
    for item in items:
        if not any(_same_item(name, item, old) for old in new):
            new.append(item)
    return note.text if len(new) == len(current) else _edit_property(note, name, new)


def _remove_items(note: Note, name: str, items: tuple[Writable, ...]) -> str:
    current = _current_list(note, name)
    left = [old for old in current if not any(_same_item(name, old, item) for item in items)]
    return note.text if len(left) == len(current) else _edit_property(note, name, left)


def _current_list(note: Note, name: str) -> list[Value]:
    value = note.get(name)
    if isinstance(value, dict):
        raise NoteMalformed(f"The property {name!r} of {note.path} is not a list.")
    if isinstance(value, str) and name.casefold() in ("tags", "tag"):
        return [word for word in re.split(r"[,\s]+", value) if word]
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _same_item(name: str, a: Value, b: Value) -> bool:
    if name.casefold() in ("tags", "tag") and isinstance(a, str) and isinstance(b, str):
        return a.lstrip("#").casefold() == b.lstrip("#").casefold()
    return same(plain_value(a), plain_value(b))


def _writable_key(note: Note, name: str) -> str:
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


def _verified(note: Note, text: str, wanted: Mapping[str, Value], key: str) -> str:
    after = parse(encode(text), note.path, note.names)
    _verify_values(after, wanted, key)
    if after.body != note.body:
        raise _refused(note.path, key)
    old, new = _yaml11(note), _yaml11(after)
    if any(repr(old.get(k)) != repr(new.get(k)) for k in old.keys() | new.keys() if k != key):
        raise _refused(note.path, key)
    if key in wanted and not _agrees(wanted[key], new.get(key), note.properties.get(key)):
        raise _refused(note.path, key)
    return text


def _verify_values(after: Note, wanted: Mapping[str, Value], key: str) -> None:
    if after.problems and any(p.kind in _NO_PROPERTIES for p in after.problems):
        raise _refused(after.path, key)
    if not same(dict(after.properties), dict(wanted)):
        raise _refused(after.path, key)


def _refused(path: str, key: str) -> NoteMalformed:
    return NoteMalformed(
        f"Changing {key!r} in {path or 'the note'} would have touched more than that property, "
        "so nothing was written. Edit it by hand."
    )


def _yaml11(note: Note) -> dict[str, Any]:
    """The properties as a YAML 1.1 reader (PyYAML, python-frontmatter) sees each of them."""
    if note.block is None:
        return {}
    loader = yaml.CSafeLoader(note.text[slice(*note.block)])
    try:
        root = loader.get_single_node()
        return {k.value: _yaml11_value(loader, v) for k, v in root.value} if root else {}
    finally:
        loader.dispose()


def _yaml11_value(loader: yaml.CSafeLoader, node: yaml.Node) -> Any:
    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, TypeError):
        return f"unreadable: {node.value!r}"  # 2026-13-45, say


def _agrees(ours: Value, theirs: Any, before: Value) -> bool:
    """Whether a YAML 1.1 reader sees what we wrote; what stood there before may differ."""
    if isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            return False
        kept = before if isinstance(before, list) else [before]
        pairs = zip(ours, theirs, strict=True)
        return all(any(same(a, k) for k in kept) or _agrees(a, b, None) for a, b in pairs)
    if isinstance(theirs, dt.date):
        return printing.is_date(ours)
    return same(ours, theirs)
