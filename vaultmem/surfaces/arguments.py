"""A tool's arguments against its input schema and our bounds, with sentences that an agent can
act on.

Covers the part of JSON Schema that our own schemas use, and says what is wrong by the
argument's name instead of by the schema's. The bounds are not in the schemas: a model would
read them with every call.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem import limits
from vaultmem.errors import InvalidInput
from vaultmem.limits import shown_wrong_value

Schema = Mapping[str, Any]

MOST_SENTENCES: Final = 5
_MOST_IN_ALL: Final = 20_000_000  # characters of one call; each argument has a bound of its own
_KINDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_PLAIN: Final = {"string": str, "boolean": bool, "array": list, "object": dict}


def checked_arguments(tool: str, schema: Schema, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments without the empty ones, whole numbers as such; raises InvalidInput with what
    is wrong."""
    require_shallow_arguments(tool, given)
    arguments = {name: value for name, value in (given or {}).items() if value is not None}
    wrong = list(itertools.islice(_wrong_arguments(tool, schema, arguments), MOST_SENTENCES))
    if wrong:
        raise InvalidInput(" ".join(wrong))
    properties = schema["properties"]
    return {name: _argument_numbers(properties[name], value) for name, value in arguments.items()}


def require_shallow_arguments(tool: str, given: Mapping[str, Any] | None) -> None:
    limits.Json(_MOST_IN_ALL).bounded_value(f"What {tool} is given", given)


def require_within_bounds(tool: str, given: Mapping[str, Any]) -> None:
    """The bounds alone, where a surface has ideas of its own about types."""
    require_shallow_arguments(tool, given)
    for name, value in given.items():
        for sentence in _arguments_beyond_bounds(name, value):
            raise InvalidInput(sentence)


def _wrong_arguments(tool: str, schema: Schema, arguments: Mapping[str, Any]) -> Iterator[str]:
    yield from _unknown_arguments(tool, schema, arguments)
    yield from _missing_arguments(tool, schema, arguments)
    for name, value in arguments.items():
        if name in schema["properties"]:
            large = isinstance(value, (str, list, dict)) and list(
                _arguments_beyond_bounds(name, value)
            )
            faults = large or list(_argument_faults(name, schema["properties"][name], value))
            yield from faults or _arguments_beyond_bounds(name, value)


def _arguments_beyond_bounds(path: str, value: Any) -> Iterator[str]:
    """What is too much; where there is no bound for a name, it is that of the longest text."""
    name = path.rpartition(".")[2]
    bound = limits.TABLE.get(path) or limits.TABLE.get(name) or limits.TABLE["content"]
    try:
        if limits.is_bound_for(bound, value):
            bound.bounded_value(path, value)
            return
    except InvalidInput as error:
        yield str(error)
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _arguments_beyond_bounds(f"{path}.{shown_wrong_value(key)[1:-1]}", item)


def _argument_numbers(schema: Schema, value: Any) -> Any:
    """Some programs write every number with a point."""
    if schema.get("type") == "integer" and isinstance(value, float):
        return int(value)
    if isinstance(value, dict) and (properties := schema.get("properties")):
        return {
            key: _argument_numbers(properties.get(key, {}), item) for key, item in value.items()
        }
    return value


def _unknown_arguments(tool: str, schema: Schema, arguments: Mapping[str, Any]) -> Iterator[str]:
    known = list(schema["properties"])
    for name in arguments:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else "."
            takes = f" It takes {', '.join(known)}." if known else " It takes none."
            yield f"{tool} has no argument {shown_wrong_value(name)}{hint}{takes}"


def _missing_arguments(tool: str, schema: Schema, arguments: Mapping[str, Any]) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in arguments:
            yield f"{tool} needs {name}: {_argument_kind(schema['properties'][name])}."


def _argument_faults(name: str, schema: Schema, value: Any) -> Iterator[str]:
    if "oneOf" in schema:
        if all(any(_argument_faults(name, each, value)) for each in schema["oneOf"]):
            yield f"{name} must be {_argument_kind(schema)}, not {shown_wrong_value(value)}."
    elif not _is_argument_of_kind(schema.get("type"), value):
        yield f"{name} must be {_argument_kind(schema)}, not {shown_wrong_value(value)}."
    elif "enum" in schema:
        if value not in schema["enum"]:
            yield f"{name} must be {_argument_kind(schema)}, not {shown_wrong_value(value)}."
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _argument_faults(f"{name}[{place}]", schema.get("items", {}), item)
    elif isinstance(value, dict):
        yield from _object_argument_faults(name, schema, value)
    elif not isinstance(value, (str, bool)):
        yield from _argument_range_faults(name, schema, value)


def _object_argument_faults(name: str, schema: Schema, value: dict[str, Any]) -> Iterator[str]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for key, item in value.items():
        if key in properties:
            if item is not None:
                yield from _argument_faults(f"{name}.{key}", properties[key], item)
        elif properties:
            yield f"{name} has no {shown_wrong_value(key)}; it takes {', '.join(properties)}."
    for key in schema.get("required", ()):
        if value.get(key) is None:
            yield f"{name} needs {key}: {_argument_kind(properties[key])}."


def _argument_range_faults(name: str, schema: Schema, value: float) -> Iterator[str]:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not low <= value <= high:  # "not a number" is in no range
        yield f"{name} must be {_argument_kind(schema)}, not {shown_wrong_value(value)}."


def _is_argument_of_kind(kind: str | None, value: Any) -> bool:
    if kind in ("integer", "number"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (kind == "number" or value == value // 1)
    return isinstance(value, _PLAIN.get(kind or "", object))


def _argument_kind(schema: Schema) -> str:
    if "oneOf" in schema:
        return " or ".join(_argument_kind(each) for each in schema["oneOf"])
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    kind = _KINDS.get(schema.get("type", ""), "a value")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{kind} between {low} and {high}"
    if low is not None:
        return f"{kind}, at least {low}"
    if kind == "a list" and "items" in schema:
        return f"a list, each {_argument_kind(schema['items'])}"
    return kind
