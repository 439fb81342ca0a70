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

from vaultmem import markdown, properties
from vaultmem.config import PROPERTIES
from vaultmem.errors import InvalidInput, NoteMalformed, NotFound
from vaultmem.note import Note, encode, parse
from vaultmem.properties import ObsidianHandler, Value, Writable
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


Change: TypeAlias = (
    SetProperty
    | RemoveProperty
    | AddItems
    | RemoveItems
    | ReplaceBody
    | ReplaceSection
    | AppendToSection
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
    _verify_values(parse(raw), {name: plain_value(value) for name, value in values.items()})
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


# --- the body -----------------------------------------------------------------------------


def _lines(note: Note, text: str) -> str:
    """The text with the note's own line ending."""
    text = _usable(text).replace("\r\n", "\n")
    return text.replace("\n", "\r\n") if note.newline == "\r\n" else text


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
    if after.body_start != note.body_start or after.properties != note.properties:
        raise InvalidInput(
            "The text would be read as properties: it starts with a --- block. "
            "Put a line of text before it."
        )
    return text


def _replace_section(note: Note, heading: str, text: str) -> str:
    span = _section(note, heading)
    if span is None:
        raise NotFound(f"{note.path} has no heading {heading!r}.")
    start, end = span
    body, newline = note.body, note.newline
    content = _lines(note, text).strip("\r\n")
    if end < len(body):
        ending = newline * 2 if content else ""
    else:
        ending = newline if body.endswith("\n") else ""
    gap = newline * 2 if content or end < len(body) else ""
    new = note.text[: note.body_start] + body[:start] + gap + content + ending + body[end:]
    return _found_again(note, new, heading)


def _append_to_section(note: Note, heading: str, text: str) -> str:
    body, newline = note.body, note.newline
    lines = _lines(note, text).strip("\r\n")
    span = _section(note, heading)
    if span is None:
        gap = "" if not body.strip() else _gap(body, newline)
        added = f"{gap}## {heading}{newline * 2}{lines}{newline}"
        return _found_again(note, note.text + added, heading)
    start, end = span
    content = body[start:end].rstrip()
    at = start + len(content)
    # A list goes on without a blank line; under a bare heading one stands between.
    before = newline if content and _is_list(content) and _is_list(lines) else newline * 2
    rest = body[at:] or newline
    new = note.text[: note.body_start] + body[:at] + before + lines + rest
    return _found_again(note, new, heading)


def _found_again(note: Note, text: str, heading: str) -> str:
    """Refuse a section that an unclosed code block or comment above it would swallow."""
    after = parse(encode(text), note.path, note.names)
    before = [h.text for h in note.headings]
    if (
        _section(after, heading) is None
        or [h.text for h in after.headings][: len(before)] != before
    ):
        raise NoteMalformed(
            f"The section {heading!r} of {note.path} would not be readable as one; a code block "
            "or comment may not be closed. Nothing was written."
        )
    return text


def _gap(body: str, newline: str) -> str:
    ended = len(body) - len(body.rstrip("\r\n"))
    breaks = body[len(body) - ended :].count("\n")
    return newline * max(0, 2 - breaks)


def _is_list(text: str) -> bool:
    last_item = re.findall(r"(?m)^(?=\S).*", text)
    return bool(last_item) and re.match(r"[-*+] |\d+[.)] ", last_item[-1]) is not None


def _section(note: Note, heading: str) -> tuple[int, int] | None:
    return markdown.section(note.headings, heading.lstrip("# ").strip(), len(note.body))


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
    if isinstance(value, str) and name in ("tags", "tag"):
        return re.split(r"[,\s]+", value.strip(", "))
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _same_item(name: str, a: Value, b: Value) -> bool:
    if name in ("tags", "tag") and isinstance(a, str) and isinstance(b, str):
        return a.lstrip("#").casefold() == b.lstrip("#").casefold()
    return same(a, plain_value(b))


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
    _verify_values(after, wanted)
    if after.body != note.body:
        raise _refused(note.path, key)
    old, new = _yaml11(note), _yaml11(after)
    if old is None and note.properties:
        return text
    old, new = old or {}, new if new is not None else {key: NotImplemented}
    if any(old.get(k) != new.get(k) for k in old.keys() | new.keys() if str(k) != key):
        raise _refused(note.path, key)
    if key in wanted and not _agrees(wanted[key], new.get(key), note.properties.get(key)):
        raise _refused(note.path, key)
    return text


def _verify_values(after: Note, wanted: Mapping[str, Value]) -> None:
    if after.problems and any(p.kind in _NO_PROPERTIES for p in after.problems):
        raise _refused(after.path, "frontmatter")
    if not same(dict(after.properties), dict(wanted)):
        raise _refused(after.path, "frontmatter")


def _refused(path: str, key: str) -> NoteMalformed:
    return NoteMalformed(
        f"Changing {key!r} in {path or 'the note'} would have touched more than that property, "
        "so nothing was written. Edit it by hand."
    )


def _yaml11(note: Note) -> dict[Any, Any] | None:
    """The properties as a YAML 1.1 reader (PyYAML, python-frontmatter) sees them."""
    if note.block is None:
        return {}
    try:
        loaded = yaml.load(note.text[slice(*note.block)], Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else {}


def _agrees(ours: Value, theirs: Any, before: Value) -> bool:
    """Whether a YAML 1.1 reader sees what we wrote; what stood there before may differ."""
    if isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            return False
        kept = before if isinstance(before, list) else [before]
        pairs = zip(ours, theirs, strict=True)
        return all(any(same(a, k) for k in kept) or _agrees(a, b, None) for a, b in pairs)
    if isinstance(theirs, dt.date):
        return properties.is_date(ours)
    return same(ours, theirs)
