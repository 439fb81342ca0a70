"""The files of transcripts in the order in which their sessions began, and their lines.

A program that forks a session copies what was said into a new file. So older sessions come first,
and what a later file repeats is known by its ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.json_stream import json_lines
from vaultmem.transfer.sources.opening import OpenedExport, Part, export_parts

_NAMES: Final = r"(?:.*/)?[^/]+\.jsonl"
_PACKED: Final = r"(?:.*/)?[^/]+\.jsonl\.(?:zst|gz|xz|bz2)"
_HEAD: Final = 65_536  # characters in which a file says when it began
_BEGAN: Final = re.compile(r'"timestamp"\s*:\s*"(\d{4}-[^"]{6,40})"')
_SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def transcript_files(reading: OpenedExport, is_wanted: Callable[[str], bool]) -> list[Part]:
    """Of several files of one session (a copy, a backup) the largest."""
    largest: dict[str, Part] = {}
    for part in export_parts(reading.path, _NAMES):
        if not is_wanted(part.name):
            reading.passed["files of sub-agents and others that are no session of a person"] += 1
            continue
        name = session_of_file(part.name) or part.name
        other = largest.get(name)
        if other is not None:
            reading.passed["copies of the same session"] += 1
        if other is None or part.size > other.size:
            largest[name] = part
    if reading.path.is_dir() and (packed := len(export_parts(reading.path, _PACKED))):
        reading.remarks.append(f"{packed:,} packed transcripts were not read: unpack them first.")
    reading.size = sum(part.size for part in largest.values())
    reading.total = len(largest)
    return sorted(largest.values(), key=lambda part: (_when_begun(part), part.name))


def session_of_file(name: str) -> str:
    """The session's id, which stands at the end of its file's name."""
    found = _SESSION.findall(name.rpartition("/")[2])
    return found[-1] if found else ""


def _when_begun(part: Part) -> str:
    with part.open() as file:
        found = _BEGAN.search(file.read(_HEAD))
    return found[1] if found else "9"


class TranscriptLines:
    """The lines of all files that say something new."""

    def __init__(self, reading: OpenedExport, wanted: str) -> None:
        self._reading = reading
        self._wanted = re.compile(wanted)
        self._seen: set[int] = set()

    def lines_of(self, part: Part) -> Iterator[Mapping[str, Any]]:
        return json_lines(part, self._reading, self._wanted)

    def is_new(self, *identity: str) -> bool:
        """False for what an earlier file said already; what has no id is new."""
        if not all(identity):
            return True
        known = hash(identity)
        if known in self._seen:
            return False
        self._seen.add(known)
        return True
