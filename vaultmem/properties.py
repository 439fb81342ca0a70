"""Frontmatter values: read as YAML 1.2 the way Obsidian does, printed the way Obsidian would.

Reading composes a node tree with libyaml and builds the values here, because the
stock constructors speak YAML 1.1 (`yes` is true, `12:30` is 750, `012` is ten) and
keep the last of two equal keys.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler

from vaultmem.errors import InvalidInput

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Any  # what YAML holds: a Scalar, a list or a dict of them
Writable: TypeAlias = Scalar | dt.date | list[Any]

MAX_BYTES: Final = 128 * 1024
MAX_DEPTH: Final = 32
MAX_VALUES: Final = 20_000
# libyaml composes recursively and crashes the process on very deep input. Every level
# of nesting costs at least one of these characters, so few of them means shallow.
_NESTING: Final = "[{-?:"
_SHALLOW: Final = 2_000


class Malformed(Exception):
    """Frontmatter that cannot be trusted; `line` counts from the top of the file."""

    def __init__(self, kind: str, message: str, line: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line


class _Loader(yaml.CSafeLoader):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return "plain" if implicit[0] else "text"
        return "map" if kind is yaml.MappingNode else "list"


def read(text: str) -> dict[str, Value]:
    """The properties in a frontmatter block; raises Malformed."""
    if len(text) <= MAX_BYTES and (simple := read_simple(text)) is not None:
        return simple
    root = compose(text)
    return {} if root is None else _Builder().mapping(root, 1)


_PLAIN: Final = r"[A-Za-z0-9_./](?:[^\x00-\x1f:#\x7f-\x9f\u2028\u2029\ud800-\uffff]|:(?=[^ \n]))*"
_KEY: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_QUOTED: Final = r'[^\x00-\x1f"\\\x7f-\x9f\u2028\u2029\ud800-\uffff]*'
_SIMPLE_LINE: Final = re.compile(
    rf'(?:({_KEY}):(?: +| *\Z|(?=\Z))|(  - ))(?:({_PLAIN})|"({_QUOTED})" *)?'
)


def read_simple(text: str) -> dict[str, Value] | None:
    """Flat frontmatter of ordinary lines, four times faster than YAML; None for all other.

    Tests hold it to the rule that it answers exactly as the full reader or not at all.
    """
    result: dict[str, Value] = {}
    items: list[Value] | None = None
    name = ""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MAX_VALUES:
        return None
    for line in lines:
        match = _SIMPLE_LINE.fullmatch(line)
        if match is None:
            return None
        key, dash, unquoted, quoted = match.groups()
        value = plain(unquoted.rstrip(" ")) if unquoted is not None else quoted
        if dash:
            if items is None or match.end() == 4:
                return None
            if not items:
                result[name] = items
            items.append(value)
        elif key in result:
            return None
        else:
            name, result[key] = key, value
            items = [] if value is None and unquoted is None else None
    return result


def compose(text: str) -> yaml.MappingNode | None:
    """The guarded node tree of a frontmatter block; None when it holds nothing."""
    _guard(text)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise _malformed(error) from None
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "plain text"
        raise Malformed("malformed-frontmatter", f"the block between the --- lines is {kind}", 2)
    return root


def _guard(text: str) -> None:
    if len(text) > MAX_BYTES:
        raise Malformed("malformed-frontmatter", f"over {MAX_BYTES // 1024} kB of properties", 2)
    if sum(map(text.count, _NESTING)) <= _SHALLOW:
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 2
                raise Malformed("malformed-frontmatter", "nested too deeply", line)
    except (yaml.YAMLError, ValueError) as error:
        raise _malformed(error) from None


def _malformed(error: Exception) -> Malformed:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "characters that YAML does not allow"
    line = (mark.line if mark else 0) + 2
    return Malformed("malformed-frontmatter", str(problem), line)


_TRUE: Final = frozenset(("true", "True", "TRUE"))
_FALSE: Final = frozenset(("false", "False", "FALSE"))
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NUMBER_START: Final = frozenset("+-.0123456789")
_INT: Final = re.compile(r"[-+]?[0-9]+\Z")
_BASED: Final = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")


def plain(text: str) -> Scalar:
    """What YAML 1.2 core reads in an unquoted scalar. Dates stay text."""
    if text in _NULL:
        return None
    if text[0] in _NUMBER_START:
        return _number(text)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return text


def _number(text: str) -> Scalar:
    if len(text) > 400:
        return text
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        value = float(text)
        # 01234E567 is far more likely an identifier than infinity.
        return value if math.isfinite(value) else text
    if _BASED.match(text):
        return int(text, 0)
    if _SPECIAL.match(text):
        return float(text.replace(".", ""))
    return text


_TAGGED: Final[Mapping[str, Callable[[str], Scalar]]] = {
    "tag:yaml.org,2002:str": str,
    **{f"tag:yaml.org,2002:{name}": plain for name in ("int", "float", "bool", "null")},
}


class _Builder:
    """Values from nodes, bounded: an alias counts each time it is used."""

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def value(self, node: yaml.Node, depth: int) -> Value:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            message = "too many values, or values nested too deeply"
            raise Malformed("malformed-frontmatter", message, node.start_mark.line + 2)
        tag = node.tag
        if tag == "plain":
            return plain(node.value)
        if tag == "text":
            return node.value
        if tag == "list":
            return [self.value(item, depth + 1) for item in node.value]
        if tag == "map":
            return self.mapping(node, depth + 1)
        if tag in _TAGGED and isinstance(node, yaml.ScalarNode):
            return _TAGGED[tag](node.value)
        message = f"the YAML tag {tag} has no meaning in a note"
        raise Malformed("malformed-frontmatter", message, node.start_mark.line + 2)

    def mapping(self, node: yaml.Node, depth: int) -> dict[str, Value]:
        result: dict[str, Value] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                message = "a property name must be plain text"
                raise Malformed("malformed-frontmatter", message, key.start_mark.line + 2)
            name = key.value
            if name in result:
                message = f"the property {name!r} stands twice"
                raise Malformed("duplicate-key", message, key.start_mark.line + 2)
            result[name] = self.value(value, depth)
        return result


# --- printing -----------------------------------------------------------------------

_NOT_PLAIN: Final = re.compile(
    r"""[\n\t ,[\]{}#&*!|>'"%@`]|[?-]\Z|[?-][ \t]|.*:\ |.*\ \#|.*\t|.*[ :]\Z""", re.DOTALL
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ESCAPED: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?\Z")


def render(value: Writable, *, indent: str = "  ", inline: bool = False, flow: bool = False) -> str:
    """One scalar as Obsidian would print it, quoted where either YAML dialect needs it.

    `inline` keeps it on one line (something follows it there); `flow` makes it safe
    between the brackets of `[a, b]`.
    """
    if value is None:
        return "null" if flow else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _render_number(value)
    if isinstance(value, dt.datetime):
        return utc_text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if not isinstance(value, str):
        raise InvalidInput(f"A property holds text, numbers, dates or a list, not {value!r}.")
    return _render_text(value, indent, inline=inline or flow, flow=flow)


def utc_text(moment: dt.datetime) -> str:
    """`YYYY-MM-DDTHH:mm:ss` in UTC, the form Obsidian's date and time property has."""
    try:
        moment = moment if moment.tzinfo is None else moment.astimezone(dt.UTC)
    except OverflowError:
        raise InvalidInput(f"{moment} has no place in the calendar of UTC.") from None
    return moment.replace(microsecond=0, tzinfo=None).isoformat()


def is_date(value: object) -> bool:
    if not isinstance(value, str) or not _DATE.match(value):
        return False
    try:
        dt.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _render_number(value: int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{value} is not a number a note can hold.")
    if abs(value) >= 10**400:
        raise InvalidInput("A number in a note has at most 400 digits.")
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")  # 1e-07 is text in YAML 1.1


def _render_text(text: str, indent: str, *, inline: bool, flow: bool) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("The text has half a character (a lone surrogate) in it.") from None
    if _CONTROL.search(text):
        return _double_quoted(text)
    if "\n" in text:
        block = None if inline else _block(text, indent)
        return block or _double_quoted(text)
    if _NOT_PLAIN.match(text) or (flow and re.search(r"[][{},]", text)) or not _plain_is_text(text):
        return _quoted(text)
    return text


def _plain_is_text(text: str) -> bool:
    """Whether both dialects read this unquoted scalar as the same text."""
    if plain(text) != text or any(p.match(text) for p in (_INT, _FLOAT, _BASED, _SPECIAL)):
        return False
    tag = _YAML11.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return bool(tag == "tag:yaml.org,2002:str") and text[:3] not in ("---", "...")


_YAML11: Final = yaml.SafeLoader("")


def _quoted(text: str) -> str:
    if '"' in text and "'" not in text:
        return f"'{text}'"
    return _double_quoted(text)


def _double_quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)  # a JSON string is a YAML string
    return _ESCAPED.sub(lambda m: f"\\u{ord(m.group()):04x}", quoted)


def _block(text: str, indent: str) -> str | None:
    """A literal block, or None where blanks at an edge would not survive it."""
    if re.search(r"[ \t]+(?:\n|\Z)|\A[ \t\n]|\t", text):
        return None
    body = text.rstrip("\n")
    ending = text[len(body) :]
    chomp = {0: "-", 1: ""}.get(len(ending), "+")
    lines = [indent + line if line else "" for line in body.split("\n")]
    return f"|{chomp}\n" + "\n".join(lines) + ending[1:]


def render_property(name: str, value: Writable) -> str:
    """The lines of one property, without the final newline."""
    key = _quoted_key(name)
    if isinstance(value, list):
        if not value:
            return f"{key}: []"
        return "\n".join([f"{key}:", *(render_item(item) for item in value)])
    return f"{key}: {render(value)}".rstrip(" ")


def render_item(value: Writable, prefix: str = "  - ") -> str:
    if isinstance(value, (list, dict)):
        raise InvalidInput("A list property holds single values, not lists of lists.")
    return (prefix + render(value, indent=" " * len(prefix))).rstrip(" ")


def _quoted_key(name: str) -> str:
    if not name.strip() or "\n" in name:
        raise InvalidInput("A property needs a name on one line.")
    if len(name) > 500:
        raise InvalidInput("A property name has at most 500 characters.")
    return render(name, inline=True)


class ObsidianHandler(BaseHandler):
    """python-frontmatter with Obsidian's reading and writing, for notes made from nothing."""

    FM_BOUNDARY = re.compile(r"^---[ \t]*$", re.MULTILINE)
    START_DELIMITER = END_DELIMITER = "---"

    def load(self, fm: str) -> dict[str, Any]:
        return read(fm)

    def export(self, metadata: dict[str, object], **kwargs: object) -> str:
        return "".join(render_property(k, v) + "\n" for k, v in metadata.items())  # type: ignore[arg-type]

    def format(self, post: frontmatter.Post, **kwargs: object) -> str:
        return f"---\n{self.export(post.metadata)}---\n{post.content}"
