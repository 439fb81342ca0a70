"""The last answer in a client's transcript: a file of JSON lines, of which only the end is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.base import small_files

_TAIL: Final = 400_000  # bytes
_LINE: Final = 200_000  # a longer line is passed over
_LINES: Final = 400


def last_answer(path: str) -> str:
    """What the agent said last to the person; empty where that cannot be told."""
    if not path.endswith(".jsonl") or not os.path.isabs(path):
        return ""
    try:
        lines = _last_lines(Path(path))
    except (OSError, ValueError):
        return ""
    for line in reversed(lines):
        try:
            said = small_files.parse_json(line)
        except ValueError:
            continue
        if isinstance(said, Mapping):
            if _is_of_person(said):
                return ""
            if text := "\n\n".join(_texts_of_answer(said)):
                return text
    return ""


def _last_lines(path: Path) -> list[bytes]:
    with small_files.open_plain_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        data = file.read(_TAIL)
    lines = data.split(b"\n")
    whole = lines if size <= _TAIL else lines[1:]
    return [line for line in whole[-_LINES:] if line.strip() and len(line) <= _LINE]


def _is_of_person(said: Mapping[str, Any]) -> bool:
    """A prompt: whatever was answered before it was not the answer to it. What tools return is
    given in the person's name as well."""
    message = said.get("message")
    if said.get("type") != "user" or said.get("isMeta") or not isinstance(message, Mapping):
        return False
    content = message.get("content")
    if isinstance(content, list):
        return any(isinstance(c, Mapping) and c.get("type") == "text" for c in content)
    return isinstance(content, str)


def _texts_of_answer(said: Mapping[str, Any]) -> Iterator[str]:
    message = said.get("message")
    if (
        said.get("type") != "assistant"
        or said.get("isSidechain")
        or not isinstance(message, Mapping)
    ):
        return
    content = message.get("content")
    for part in (
        [content] if isinstance(content, str) else content if isinstance(content, list) else ()
    ):
        if isinstance(part, Mapping) and part.get("type") == "text":
            part = part.get("text")
        if isinstance(part, str) and part.strip():
            yield part
