"""Editing JSON in place: comments, commas, spacing and order of everything else stay.

Reads JSON with comments and trailing commas. The reader notes where every value lies; an
edit puts text in or takes text out at those places and touches no other byte. What an
insertion added, removing the same thing takes away again to the byte, save that an object
which held nothing but blanks comes back as `{}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vaultmem.base.line_ends import usual_line_end

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*[\s\S]*?\*/)*")
_SPACES: Final = " \t\r\n"
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_WORD: Final = re.compile(r"[A-Za-z0-9_$.+-]+")
_STRINGS: Final = json.JSONDecoder()
_DEEPEST: Final = 100
_LONGEST_NUMBER: Final = 300

Step = str | int


class MalformedJson(ValueError):
    """Not JSON; `where` says on which line and column."""

    def __init__(self, what: str, text: str, position: int) -> None:
        super().__init__(what)
        self.what = what
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        self.where = f"line {line}, column {column}"


@dataclass(frozen=True, slots=True)
class Value:
    start: int
    end: int
    plain: Any  # as Python has it
    items: tuple[Item, ...] = ()

    @property
    def inside(self) -> int:
        """Where the text between the brackets ends."""
        return self.end - 1

    def items_named(self, key: Step) -> list[int]:
        """The places of the items of that name; JSON does not forbid several."""
        if isinstance(key, int):
            return [key] if -1 < key < len(self.items) else []
        return [i for i, item in enumerate(self.items) if item.key == key]


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object, or an element of an array, which has no key."""

    key: str | None
    start: int
    value: Value
    comma: int  # behind the comma that follows, or -1

    @property
    def end(self) -> int:
        return self.value.end if self.comma < 0 else self.comma


# --- reading -------------------------------------------------------------------------------


def parse_jsonc(text: str) -> Value:
    reader = _JsoncReader(text)
    start = reader.skip_json_blank(0)
    value = reader.jsonc_value(start, 0)
    end = reader.skip_json_blank(value.end)
    if end < len(text):
        raise MalformedJson("there is something behind the end", text, end)
    return value


class _JsoncReader:
    def __init__(self, text: str) -> None:
        self.text = text

    def skip_json_blank(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        at = found.end() if found else at
        if self.text.startswith("/*", at):
            raise MalformedJson("a comment is not closed", self.text, at)
        return at

    def jsonc_value(self, at: int, depth: int) -> Value:
        first = self.text[at : at + 1]
        if first in ("{", "["):
            if depth >= _DEEPEST:
                raise MalformedJson("it is nested too deeply", self.text, at)
            return self._json_container(at, depth + 1, "}" if first == "{" else "]")
        if first == '"':
            plain, end = self._json_string(at)
            return Value(at, end, plain)
        return self._json_scalar(at)

    def _json_container(self, start: int, depth: int, closing: str) -> Value:
        items: list[Item] = []
        at = self.skip_json_blank(start + 1)
        while not self.text.startswith(closing, at):
            if items and items[-1].comma < 0:
                raise MalformedJson(f"a comma or {closing} is missing", self.text, at)
            item = self._json_item(at, depth, keyed=closing == "}")
            items.append(item)
            at = self.skip_json_blank(item.end)
        plain: Any = [item.value.plain for item in items]
        if closing == "}":
            plain = {item.key: item.value.plain for item in items}
        return Value(start, at + 1, plain, tuple(items))

    def _json_item(self, start: int, depth: int, *, keyed: bool) -> Item:
        key, at = self._json_key(start) if keyed else (None, start)
        value = self.jsonc_value(at, depth)
        behind = self.skip_json_blank(value.end)
        comma = behind + 1 if self.text.startswith(",", behind) else -1
        return Item(key, start, value, comma)

    def _json_key(self, at: int) -> tuple[str, int]:
        if not self.text.startswith('"', at):
            raise MalformedJson("a name in double quotes is missing", self.text, at)
        key, end = self._json_string(at)
        at = self.skip_json_blank(end)
        if not self.text.startswith(":", at):
            raise MalformedJson("a colon is missing", self.text, at)
        return key, self.skip_json_blank(at + 1)

    def _json_string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _STRINGS.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise MalformedJson(
                "a text is not closed or not well written", self.text, error.pos
            ) from None
        return text, end

    def _json_scalar(self, at: int) -> Value:
        word = _WORD.match(self.text, at)
        if word and word[0] in _WORDS:
            return Value(at, word.end(), _WORDS[word[0]])
        number = _NUMBER.fullmatch(word[0]) if word else None
        if word is None or number is None:
            raise MalformedJson("a value is missing or not well written", self.text, at)
        whole = number[1] is None and number[2] is None and len(word[0]) < _LONGEST_NUMBER
        return Value(at, word.end(), int(word[0]) if whole else float(word[0]))


def find_value(root: Value, path: Sequence[Step]) -> Value | None:
    """The value at a path; of several equal names the last, as every reader takes it."""
    for step in path:
        places = root.items_named(step)
        if not places:
            return None
        root = root.items[places[-1]].value
    return root


def is_key_repeated(root: Value, path: Sequence[Step]) -> bool:
    """Whether a name on the path stands twice: then nobody can say which one is meant."""
    for end in range(len(path)):
        owner = find_value(root, path[:end])
        if owner is not None and len(owner.items_named(path[end])) > 1:
            return True
    return False


# --- editing -------------------------------------------------------------------------------


def set_json_value(text: str, path: Sequence[Step], value: Any) -> str:
    """The value at a path becomes this one; what is missing on the way there is made."""
    root = parse_jsonc(text)
    there = find_value(root, path)
    if there is not None:
        return text if there.plain == value else _replace_json(text, there, value)
    known = max(n for n in range(len(path)) if find_value(root, path[:n]) is not None)
    for step in reversed(path[known + 1 :]):
        value = {step: value}
    owner = find_value(root, path[:known])
    assert owner is not None
    return _insert_json(text, owner, str(path[known]), value)


def append_json_item(text: str, path: Sequence[Step], value: Any) -> str:
    """A further element at the end of the array at a path, which is made if need be."""
    there = find_value(parse_jsonc(text), path)
    if there is None:
        return set_json_value(text, path, [value])
    return _insert_json(text, there, None, value)


def remove_json_value(text: str, path: Sequence[Step]) -> str:
    owner = find_value(parse_jsonc(text), path[:-1])
    places = owner.items_named(path[-1]) if owner is not None else []
    return _remove_json(text, owner, places[-1]) if owner is not None and places else text


def _replace_json(text: str, there: Value, value: Any) -> str:
    indent = _json_indent(text, there.start)
    spread = "\n" in text[: there.start]
    printed = _printed_json(value, _JsonStyle.of(text), indent) if spread else _flat_json(value)
    return text[: there.start] + printed + text[there.end :]


def _insert_json(text: str, owner: Value, key: str | None, value: Any) -> str:
    style = _JsonStyle.of(text)
    last = owner.items[-1] if owner.items else None
    behind = last.end if last else owner.start + 1
    kept = text[behind : owner.inside].rstrip(_SPACES)  # comments
    place = behind + len(kept)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if last is None:
        spread = bool(kept) or style.spread
    else:
        spread = bool(kept) or _starts_json_line(text, last.start)
    if spread:
        indent = _json_indent(text, last.start if last else owner.start)
        indent += "" if last and _starts_json_line(text, last.start) else style.unit
        piece = style.newline + indent + name + _printed_json(value, style, indent)
    else:
        piece = (" " if last else "") + name + _flat_json(value)
    if last and last.comma >= 0:
        piece += ","
    if last is None and spread and "\n" not in text[place : owner.inside]:
        piece += style.newline + _json_indent(text, owner.start)
    text = text[:place] + piece + text[place:]
    if last and last.comma < 0:
        text = text[: last.value.end] + "," + text[last.value.end :]
    return text


def _remove_json(text: str, owner: Value, place: int) -> str:
    """Comments stay: who wrote them may not have meant what goes."""
    item = owner.items[place]
    before = owner.items[place - 1] if place else None
    behind = before.end if before else owner.start + 1
    kept = text[behind : item.start].rstrip(_SPACES)
    rest = text[item.end :]
    if len(owner.items) == 1 and not (kept + text[item.end : owner.inside]).strip(_SPACES):
        return text[: owner.start + 1] + text[owner.inside :]
    if place == 0 and not kept and not _starts_json_line(text, item.start):
        rest = rest.lstrip(" \t")
    if _ends_in_json_comment(kept) and not rest.lstrip(" \t").startswith(("\r", "\n")):
        rest = _JsonStyle.of(text).newline + rest.lstrip(" \t")
    start = text[:behind]
    if before and before.comma >= 0 and place + 1 == len(owner.items) and item.comma < 0:
        start = start[:-1]  # the comma: it is the last one now
    return start + kept + rest


def _ends_in_json_comment(kept: str) -> bool:
    at, line_comment = 0, False
    while at < len(kept):
        line_comment = kept.startswith("//", at)
        if line_comment:
            at = next((i for i in range(at, len(kept)) if kept[i] in "\r\n"), len(kept))
        elif kept.startswith("/*", at):
            at = kept.index("*/", at) + 2
        else:
            at += 1
    return line_comment


# --- looks ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _JsonStyle:
    newline: str
    unit: str  # of indentation
    spread: bool  # over several lines

    @classmethod
    def of(cls, text: str) -> _JsonStyle:
        indented = re.search(r'\n([ \t]+)["{\[]', text)
        bare = not re.search(r"[^\s{}\[\]]", text)
        return cls(
            usual_line_end(text), indented[1] if indented else "  ", "\n" in text.strip() or bare
        )


def _starts_json_line(text: str, position: int) -> bool:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return "\n" in text[:position] and not line.strip(" \t")


def _json_indent(text: str, position: int) -> str:
    """The blanks with which the line of a position begins."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _flat_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _printed_json(value: Any, style: _JsonStyle, indent: str) -> str:
    """Objects over several lines; lists of plain values, such as arguments, on one."""
    inner = indent + style.unit
    if isinstance(value, dict) and value:
        pairs = (
            f"{_flat_json(key)}: {_printed_json(each, style, inner)}" for key, each in value.items()
        )
        return _json_block("{}", pairs, style, indent)
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return _json_block(
            "[]", (_printed_json(each, style, inner) for each in value), style, indent
        )
    return _flat_json(value)


def _json_block(brackets: str, parts: Iterator[str], style: _JsonStyle, indent: str) -> str:
    newline = style.newline + indent
    body = f",{newline}{style.unit}".join(parts)
    return f"{brackets[0]}{newline}{style.unit}{body}{newline}{brackets[1]}"


def fresh_json(value: Any) -> str:
    """A new file with this in it."""
    return _printed_json(value, _JsonStyle("\n", "  ", True), "") + "\n"
