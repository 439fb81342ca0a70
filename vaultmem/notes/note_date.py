"""The day that a note, or a part of one, is about: not when its file was touched."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from vaultmem.notes.note import Note

# A full date where no digit or version goes on: 2026-10-28, 2026_10_28, 20261028, 28.10.2026
_FULL: Final = re.compile(
    r"(?<![\d.])(?:(?P<y>(?:19|20)\d\d)(?P<s>[-_.]?)(?P<m>[01]\d)(?P=s)(?P<d>[0-3]\d)"
    r"|(?P<d2>[0-3]?\d)\.(?P<m2>[01]?\d)\.(?P<y2>(?:19|20)\d\d))(?![\d]|\.\d)"
)
_PROPERTIES: Final = ("date", "day", "datum", "data", "created")
_FIRST_HEADINGS: Final = 1


def note_day(note: Note) -> dt.date | None:
    """By its name (daily notes, meetings), else by a property, else by its first heading."""
    if found := day_in_name(note.title):
        return found
    for name in _PROPERTIES:
        if found := day_in_name(note.string(name)):
            return found
    for heading in note.headings[:_FIRST_HEADINGS]:
        if found := day_in_name(heading.text):
            return found
    return None


def day_in_name(text: str) -> dt.date | None:
    """The first full date in a name, a heading (`## 2026-10-28`) or a property."""
    for match in _FULL.finditer(text[:1000]):
        parts = match["y"] or match["y2"], match["m"] or match["m2"], match["d"] or match["d2"]
        try:
            return dt.date(*map(int, parts))
        except ValueError:
            continue
    return None
