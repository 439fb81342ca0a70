"""An event as a client's settings fill it in: every field is text, an object stands in it as JSON,
and what the event does not have is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vaultmem.base import small_files

_OBJECTS: Final = ("tool_input", "tool_response")
_FLAGS: Final = ("is_interrupt", "stop_hook_active")


def event_as_sent(given: Mapping[str, Any]) -> dict[str, Any]:
    """The event as a hook that is a command gets it."""
    return {name: _field(name, value) for name, value in given.items() if value not in ("", None)}


def _field(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in _FLAGS:
        return value.strip().lower() == "true"
    if name in _OBJECTS and value.lstrip().startswith("{"):
        try:
            return small_files.parse_json(value)
        except ValueError:
            return value
    return value
