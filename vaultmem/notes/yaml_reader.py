"""The full reader of frontmatter: libyaml's node tree, and values built from it by YAML 1.2.

The stock constructors speak YAML 1.1 (`yes` is true, `12:30` is 750, `012` is ten) and keep
the last of two equal keys, so the values are built here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from vaultmem.notes.scalars import MAX_BYTES, MAX_VALUES, MalformedFrontmatter, Scalar, Value, plain

MAX_DEPTH: Final = 32
# libyaml composes recursively and crashes the process on very deep input. Every level
# of nesting costs at least one of these characters, so few of them means shallow.
_NESTING: Final = "[{-?:"
_SHALLOW: Final = 2_000


def read(text: str) -> dict[str, Value]:
    root = compose(text)
    return {} if root is None else _Builder().mapping(root, 1)


class _Loader(yaml.CSafeLoader):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return "plain" if implicit[0] else "text"
        return "map" if kind is yaml.MappingNode else "list"


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
        raise MalformedFrontmatter(
            "malformed-frontmatter", f"the block between the --- lines is {kind}", 2
        )
    return root


def _guard(text: str) -> None:
    if len(text) > MAX_BYTES:
        raise MalformedFrontmatter(
            "malformed-frontmatter", f"over {MAX_BYTES // 1024} kB of properties", 2
        )
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
                raise MalformedFrontmatter("malformed-frontmatter", "nested too deeply", line)
    except (yaml.YAMLError, ValueError) as error:
        raise _malformed(error) from None


def _malformed(error: Exception) -> MalformedFrontmatter:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "characters that YAML does not allow"
    line = (mark.line if mark else 0) + 2
    return MalformedFrontmatter("malformed-frontmatter", str(problem), line)


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
            raise MalformedFrontmatter("malformed-frontmatter", message, node.start_mark.line + 2)
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
        raise MalformedFrontmatter("malformed-frontmatter", message, node.start_mark.line + 2)

    def mapping(self, node: yaml.Node, depth: int) -> dict[str, Value]:
        result: dict[str, Value] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                message = "a property name must be plain text"
                raise MalformedFrontmatter(
                    "malformed-frontmatter", message, key.start_mark.line + 2
                )
            name = key.value
            if name in result:
                message = f"the property {name!r} stands twice"
                raise MalformedFrontmatter("duplicate-key", message, key.start_mark.line + 2)
            result[name] = self.value(value, depth)
        return result
