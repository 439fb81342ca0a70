"""Editing one table of a TOML file in place; every other byte stays.

The file is taken apart into statements, that is table headers and assignments with the
lines they take. What a table lacks goes behind it, what differs is replaced, and a table
that is not there is put at the end of the file with an empty line before it.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vaultmem.base.line_ends import usual_line_end

_TOKEN: Final = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""|' + r"'''[\s\S]*?'''|"
    r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|"
    r"(?P<comment>#[^\n]*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<line>\n)|[^\"'#\[\]{}\n]+|[\s\S]"
)
_IDLE: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*")  # blank lines and comments
_NAME: Final = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_KEY: Final = re.compile(rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*[ \t]*=")
_LIST: Final = "[[]]"  # stands in a path for "one element of an array of tables"


@dataclass(frozen=True, slots=True)
class Statement:
    start: int  # of its line
    end: int  # behind its last line
    path: tuple[str, ...]  # from the root of the file
    value: tuple[int, int] | None = None  # where an assignment's value lies


def toml_statements(text: str) -> list[Statement]:
    """Of a text that can be parsed."""
    found: list[Statement] = []
    table: tuple[str, ...] = ()
    at = 0
    while (begin := _toml_position_behind(_IDLE, text, at)) < len(text):
        at, value_end = _toml_statement_end(text, begin)
        start = text.rfind("\n", 0, begin) + 1
        key = _KEY.match(text, begin)
        if key is None:
            header = text[begin:value_end]
            table = _toml_table_names(tomllib.loads(header))
            table = (*table, _LIST) if header.startswith("[[") else table
            found.append(Statement(start, at, table))
        else:
            path = (*table, *_toml_table_names(tomllib.loads(key[0] + "0")))
            value_start = _toml_position_behind(re.compile(r"[ \t]*"), text, key.end())
            found.append(Statement(start, at, path, (value_start, value_end)))
    return found


def _toml_position_behind(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _toml_statement_end(text: str, at: int) -> tuple[int, int]:
    """Where its last line ends, and where it ends itself: before blanks and a comment."""
    depth = 0
    end = at
    while token := _TOKEN.match(text, at):
        at = token.end()
        depth += (token["open"] is not None) - (token["close"] is not None)
        if token["line"] is not None and depth <= 0:
            return at, end
        if token["comment"] is None and token[0].strip():
            end = token.start() + len(token[0].rstrip())
        if at == len(text):
            break
    return at, end


def _toml_table_names(tables: Any) -> tuple[str, ...]:
    path: list[str] = []
    while isinstance(tables, dict) and tables:
        (name, tables) = next(iter(tables.items()))
        path.append(name)
    return tuple(path)


# --- editing -------------------------------------------------------------------------------


def set_toml_table(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    found = toml_statements(text)
    header = next((each for each in found if each.value is None and each.path == path), None)
    if header is None:
        return _append_toml_table(text, path, values)
    body = _toml_table_body(found, header)
    last = body[-1] if body else header
    assigned = {each.path[: len(path) + 1] for each in body}
    missing = {key: value for key, value in values.items() if (*path, key) not in assigned}
    newline = usual_line_end(text)
    if missing:
        lines = "".join(f"{_toml_key(k)} = {_printed_toml(v)}{newline}" for k, v in missing.items())
        whole = text[last.start : last.end].endswith("\n")
        lines = lines if whole else newline + lines.removesuffix(newline)
        text = text[: last.end] + lines + text[last.end :]
    for each in reversed(body):
        if each.path[:-1] == path and each.path[-1] in values:
            text = _replace_toml_value(text, each, values[each.path[-1]])
    return text


def _replace_toml_value(text: str, statement: Statement, value: Any) -> str:
    assert statement.value is not None
    start, end = statement.value
    if tomllib.loads("x = " + text[start:end])["x"] == value:
        return text
    return text[:start] + _printed_toml(value) + text[end:]


def _toml_table_body(found: Sequence[Statement], header: Statement) -> list[Statement]:
    """What stands under a header, up to the next one."""
    below = found[found.index(header) + 1 :]
    return list(itertools.takewhile(lambda each: each.value is not None, below))


def _append_toml_table(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    newline = usual_line_end(text)
    header = f"[{'.'.join(map(_toml_key, path))}]"
    lines = (f"{_toml_key(key)} = {_printed_toml(value)}" for key, value in values.items())
    block = newline.join([header, *lines])
    if not text or text.endswith("\n"):
        return text + (newline if text else "") + block + newline
    return text + newline + newline + block


def remove_toml_table(text: str, path: tuple[str, ...]) -> str:
    """Without the table and those below it, and the empty line before each."""
    found = toml_statements(text)
    for header in reversed(found):
        if header.value is None and header.path[: len(path)] == path:
            last = (_toml_table_body(found, header) or [header])[-1]
            before, behind = text[: header.start], text[last.end :]
            if empty_line := re.search(r"(?:^|(?<=\n))\r?\n\Z", before):
                before = before[: empty_line.start()]
            if not behind and not text.endswith("\n"):
                before = re.sub(r"\r?\n\Z", "", before)
            text = before + behind
    return text


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _printed_toml(name)


def _printed_toml(value: Any) -> str:
    """Texts, numbers, truth and lists: as JSON has them, TOML has them too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
