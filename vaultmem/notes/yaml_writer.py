"""Frontmatter values printed the way Obsidian would, so that both YAML dialects read them back."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from decimal import Decimal
from typing import Any, Final

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler

from vaultmem.errors import InvalidInput
from vaultmem.notes.frontmatter import NOT_TEXT, WritableValue, plain_scalar, read_frontmatter

_NOT_PLAIN: Final = re.compile(
    r"""[\n\t ,[\]{}#&*!|>'"%@`]|[?-]\Z|[?-][ \t]|.*:\ |.*\ \#|.*\t|.*[ :]\Z""", re.DOTALL
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ESCAPED: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?\Z")


def render_yaml(
    value: WritableValue, *, indent: str = "  ", inline: bool = False, flow: bool = False
) -> str:
    """One scalar as Obsidian would print it, quoted where either YAML dialect needs it.

    `inline` keeps it on one line (something follows it there); `flow` makes it safe
    between the brackets of `[a, b]`.
    """
    if value is None:
        return "null" if flow else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _render_yaml_number(value)
    if isinstance(value, dt.datetime):
        return yaml_moment(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if not isinstance(value, str):
        raise InvalidInput(f"A property holds text, numbers, dates or a list, not {value!r}.")
    return _render_yaml_text(value, indent, inline=inline or flow, flow=flow)


def yaml_moment(moment: dt.datetime) -> str:
    """`YYYY-MM-DDTHH:mm:ss` in local time, the form Obsidian's date and time property has."""
    try:
        shown = moment if moment.tzinfo is None else moment.astimezone()
    except (OverflowError, OSError, ValueError):
        raise InvalidInput(f"{moment} has no place in the calendar.") from None
    return shown.replace(microsecond=0, tzinfo=None).isoformat()


def is_yaml_date(value: object) -> bool:
    if not isinstance(value, str) or not _DATE.match(value):
        return False
    try:
        dt.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _render_yaml_number(value: int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{value} is not a number a note can hold.")
    if abs(value) >= 10**400:
        raise InvalidInput("A number in a note has at most 400 digits.")
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")  # 1e-07 is text in YAML 1.1


def _render_yaml_text(text: str, indent: str, *, inline: bool, flow: bool) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("The text has half a character (a lone surrogate) in it.") from None
    if _CONTROL.search(text):
        return _double_quoted_yaml(text)
    if "\n" in text:
        block = None if inline else _yaml_block(text, indent)
        return block or _double_quoted_yaml(text)
    in_the_way = _NOT_PLAIN.match(text) or (flow and re.search(r"[][{},]", text))
    if not in_the_way and _is_plain_yaml_text(text):
        return text
    return f"'{text}'" if '"' in text and "'" not in text else _double_quoted_yaml(text)


def _is_plain_yaml_text(text: str) -> bool:
    """Whether both dialects read this unquoted scalar as the same text."""
    if plain_scalar(text) != text or any(pattern.match(text) for pattern in NOT_TEXT):
        return False
    tag = _YAML11.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return bool(tag == "tag:yaml.org,2002:str") and text[:3] not in ("---", "...")


_YAML11: Final = yaml.SafeLoader("")


def _double_quoted_yaml(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)  # a JSON string is a YAML string
    return _ESCAPED.sub(lambda m: f"\\u{ord(m.group()):04x}", quoted)


def _yaml_block(text: str, indent: str) -> str | None:
    """A literal block, or None where blanks at an edge would not survive it."""
    if re.search(r"[ \t](?:\n|\Z)|\A[ \t\n]|\t", text):
        return None
    body = text.rstrip("\n")
    ending = text[len(body) :]
    chomp = {0: "-", 1: ""}.get(len(ending), "+")
    lines = [indent + line if line else "" for line in body.split("\n")]
    return f"|{chomp}\n" + "\n".join(lines) + ending[1:]


def render_yaml_property(name: str, value: WritableValue) -> str:
    """The lines of one property, without the final newline."""
    if not name.strip() or "\n" in name:
        raise InvalidInput("A property needs a name on one line.")
    if len(name) > 500:
        raise InvalidInput("A property name has at most 500 characters.")
    key = render_yaml(name, inline=True)
    if isinstance(value, list):
        if not value:
            return f"{key}: []"
        return "\n".join([f"{key}:", *(render_yaml_item(item) for item in value)])
    return f"{key}: {render_yaml(value)}".rstrip(" ")


def render_yaml_item(value: WritableValue, prefix: str = "  - ") -> str:
    if isinstance(value, (list, dict)):
        raise InvalidInput("A list property holds single values, not lists of lists.")
    return (prefix + render_yaml(value, indent=" " * len(prefix))).rstrip(" ")


class ObsidianHandler(BaseHandler):
    """python-frontmatter with Obsidian's reading and writing, for notes made from nothing."""

    FM_BOUNDARY = re.compile(r"^---[ \t]*$", re.MULTILINE)
    START_DELIMITER = END_DELIMITER = "---"

    def load(self, fm: str) -> dict[str, Any]:
        return read_frontmatter(fm)

    def export(self, metadata: dict[str, object], **kwargs: object) -> str:
        return "".join(render_yaml_property(k, v) + "\n" for k, v in metadata.items())  # type: ignore[arg-type]

    def format(self, post: frontmatter.Post, **kwargs: object) -> str:
        return f"---\n{self.export(post.metadata)}---\n{post.content}"
