"""Frontmatter to values, read as YAML 1.2 the way Obsidian does.

Most blocks have only ordinary lines and are read by expressions. The rest goes to libyaml, which
takes longer to import than a command may take to answer. Its stock constructors speak YAML 1.1
(`yes` is true, `12:30` is 750, `012` is ten) and keep the last of two equal keys, so the values
are built here from its tree of nodes.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import yaml

Scalar: TypeAlias = str | int | float | bool | None
PropertyValue: TypeAlias = Any  # what YAML holds: a Scalar, a list or a dict of them
WritableValue: TypeAlias = Scalar | dt.date | list[Any]

MAX_BYTES: Final = 128 * 1024
MAX_VALUES: Final = 20_000
MAX_DEPTH: Final = 32
# libyaml composes recursively and crashes the process on very deep input. Every level
# of nesting costs at least one of these characters, so few of them means shallow.
_NESTING: Final = "[{-?:"
_SHALLOW: Final = 2_000
_MALFORMED: Final = "malformed-frontmatter"


class MalformedFrontmatter(Exception):
    """Frontmatter that cannot be trusted; `line` counts from the top of the file."""

    def __init__(self, kind: str, message: str, line: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line


_TRUE: Final = frozenset(("true", "True", "TRUE"))
_FALSE: Final = frozenset(("false", "False", "FALSE"))
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NUMBER_START: Final = frozenset("+-.0123456789")
_INT: Final = re.compile(r"[-+]?[0-9]+\Z")
_BASED: Final = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
NOT_TEXT: Final = (_INT, _FLOAT, _BASED, SPECIAL)


def plain_scalar(text: str) -> Scalar:
    """What YAML 1.2 core reads in an unquoted scalar. Dates stay text."""
    if text in _NULL:
        return None
    if text[0] in _NUMBER_START:
        return _number_in_frontmatter(text)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return text


def _number_in_frontmatter(text: str) -> Scalar:
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
    if SPECIAL.match(text):
        return float(text.replace(".", ""))
    return text


def read_frontmatter(text: str) -> dict[str, PropertyValue]:
    """The properties in a frontmatter block; raises MalformedFrontmatter."""
    if len(text) <= MAX_BYTES and (simple := read_simple_frontmatter(text)) is not None:
        return simple
    return read_yaml_frontmatter(text)


# --- blocks of ordinary lines ---------------------------------------------------------------

_PLAIN: Final = r"[A-Za-z0-9_./](?:[^\x00-\x1f:#\x7f-\x9f\u2028\u2029\ud800-\uffff]|:(?=[^ \n]))*"
_KEY: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_QUOTED: Final = r'[^\x00-\x1f"\\\x7f-\x9f\u2028\u2029\ud800-\uffff]*'
_SIMPLE_LINE: Final = re.compile(
    rf'(?:({_KEY}):(?: +| *\Z|(?=\Z))|(  - ))(?:({_PLAIN})|"({_QUOTED})" *)?'
)


def read_simple_frontmatter(text: str) -> dict[str, PropertyValue] | None:
    """Flat frontmatter of ordinary lines, four times faster than YAML; None for all other.

    Tests hold it to the rule that it answers exactly as the full reader or not at all.
    """
    result: dict[str, PropertyValue] = {}
    items: list[PropertyValue] | None = None
    name = ""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MAX_VALUES:
        return None
    for line in lines:
        match = _SIMPLE_LINE.fullmatch(line)
        if match is None:
            return None
        key, dash, unquoted, quoted = match.groups()
        value = plain_scalar(unquoted.rstrip(" ")) if unquoted is not None else quoted
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


# --- all of YAML ----------------------------------------------------------------------------


def read_yaml_frontmatter(text: str) -> dict[str, PropertyValue]:
    root = compose_frontmatter(text)
    return {} if root is None else _FrontmatterBuilder().mapping_in_frontmatter(root, 1)


@functools.cache
def _frontmatter_loader() -> Any:
    import yaml

    class Loader(yaml.CSafeLoader):
        def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
            if kind is yaml.ScalarNode:
                return "plain" if implicit[0] else "text"
            return "map" if kind is yaml.MappingNode else "list"

    return Loader


def compose_frontmatter(text: str) -> yaml.MappingNode | None:
    """The guarded node tree of a frontmatter block; None when it holds nothing."""
    import yaml

    _guard_frontmatter(text)
    try:
        root = yaml.compose(text, Loader=_frontmatter_loader())
    except (yaml.YAMLError, ValueError) as error:
        raise _malformed_frontmatter(error) from None
    if root is not None and not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "plain text"
        raise MalformedFrontmatter(_MALFORMED, f"the block between the --- lines is {kind}", 2)
    return root


def _guard_frontmatter(text: str) -> None:
    import yaml

    if len(text) > MAX_BYTES:
        raise MalformedFrontmatter(_MALFORMED, f"over {MAX_BYTES // 1024} kB of properties", 2)
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
                raise _malformed_frontmatter_at(event, "nested too deeply")
    except (yaml.YAMLError, ValueError) as error:
        raise _malformed_frontmatter(error) from None


def _malformed_frontmatter(error: Exception) -> MalformedFrontmatter:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "characters that YAML does not allow"
    return MalformedFrontmatter(_MALFORMED, str(problem), (mark.line if mark else 0) + 2)


def _malformed_frontmatter_at(
    node: Any, message: str, kind: str = _MALFORMED
) -> MalformedFrontmatter:
    return MalformedFrontmatter(kind, message, node.start_mark.line + 2)


_TAGGED: Final[Mapping[str, Callable[[str], Scalar]]] = {
    "tag:yaml.org,2002:str": str,
    **{f"tag:yaml.org,2002:{name}": plain_scalar for name in ("int", "float", "bool", "null")},
}


class _FrontmatterBuilder:
    """Values from nodes, bounded: an alias counts each time it is used."""

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def value_in_frontmatter(self, node: Any, depth: int) -> PropertyValue:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise _malformed_frontmatter_at(node, "too many values, or values nested too deeply")
        tag = node.tag
        if tag == "plain":
            return plain_scalar(node.value)
        if tag == "text":
            return node.value
        if tag == "list":
            return [self.value_in_frontmatter(item, depth + 1) for item in node.value]
        if tag == "map":
            return self.mapping_in_frontmatter(node, depth + 1)
        if tag in _TAGGED and node.id == "scalar":
            return _TAGGED[tag](node.value)
        raise _malformed_frontmatter_at(node, f"the YAML tag {tag} has no meaning in a note")

    def mapping_in_frontmatter(self, node: Any, depth: int) -> dict[str, PropertyValue]:
        result: dict[str, PropertyValue] = {}
        for key, value in node.value:
            if key.id != "scalar":
                raise _malformed_frontmatter_at(key, "a property name must be plain text")
            if key.value in result:
                raise _malformed_frontmatter_at(
                    key, f"the property {key.value!r} stands twice", "duplicate-key"
                )
            result[key.value] = self.value_in_frontmatter(value, depth)
        return result
