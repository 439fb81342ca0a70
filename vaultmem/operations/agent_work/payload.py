"""An event as a program sends it, and the texts in it, whatever it sends."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_NAMES_OF_ANSWER: Final = ("last_assistant_message", "lastAssistantMessage", "message")


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    session: str = ""
    folder: str = ""  # where the agent works
    project: str = ""
    agent: str = ""  # a sub-agent's id
    generic: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    def text(self, *names: str) -> str:
        return text_in(self.details, *names)

    def part(self, *names: str) -> Mapping[str, Any]:
        return part_in(self.details, *names)

    @property
    def answer(self) -> str:
        """What the agent said last, where the program tells it."""
        return self.text(*_NAMES_OF_ANSWER)


def text_in(given: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds text."""
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value.strip()), "")


def part_in(given: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    found = (given.get(name) for name in names)
    return next((value for value in found if isinstance(value, Mapping)), {})


def one_line(text: str, most: int) -> str:
    """On one line, without what a terminal or a note takes for something else."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", text[: 8 * most])
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else plain[: most - 2].rstrip() + " …"


def last_part(path: str) -> str:
    return posixpath.basename(path.replace("\\", "/").rstrip("/"))
