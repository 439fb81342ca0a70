"""When a note was made, by what is known of it: the one rule for filters, lists and weights.

`created` says it. A note without it goes by the date in its name, its `date`, the first commit
that has it, the birth of its file, and last by when the file was saved. What a note says of
itself is the same on every machine; what only its file tells is written down when it is first
seen (`storage/local_state/births.py`), since every save may make the file anew.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final, NamedTuple

from vaultmem.base.local_time import moment, start_of_day, utc_moment
from vaultmem.notes.attributes import day_in_name
from vaultmem.notes.note import Note

BY_NOTE, BY_COMMIT, BY_FILE = "note", "commit", "file"
_CLOCK: Final = r"(?P<hour>[01]\d|2[0-3])[.:h-]?(?P<minute>[0-5]\d)(?:[.:m-]?(?P<second>[0-5]\d))?"
# 2026-11-18 2130, 2026-11-18T21-30-05; and a stamp in one piece: 202611182130
_DAY_AND_CLOCK: Final = re.compile(
    rf"(?<![\d.])((?:19|20)\d\d-[01]\d-[0-3]\d)[ T_-]{_CLOCK}(?!\d)"
    rf"|(?<!\d)((?:19|20)\d\d[01]\d[0-3]\d){_CLOCK.replace('?P<', '?P<s')}(?!\d)"
)


class Creation(NamedTuple):
    """A moment, in seconds since the epoch, and whose word it is."""

    seconds: int
    source: str


def creation_told(note: Note) -> Creation | None:
    """By what the note says itself."""
    found = note.created or _day_told(note.string("created"))
    found = found or moment_in_name(note.title) or _moment_told(note.string("date"))
    return Creation(int(found.timestamp()), BY_NOTE) if found else None


def creation_by_file(commit: int | None, born_ns: int, saved_ns: int) -> Creation:
    """By its first commit, else by its file: a copy may be born after it was last saved."""
    if commit is not None:
        return Creation(commit, BY_COMMIT)
    return Creation(min(born_ns or saved_ns, saved_ns) // 1_000_000_000, BY_FILE)


def moment_in_name(name: str) -> dt.datetime | None:
    """A day in a name is its beginning here; with a time behind it, that time."""
    if not any(map(str.isdigit, name)):
        return None
    if match := _DAY_AND_CLOCK.search(name):
        day, clock = match[1] or match[5], match.group("hour", "minute", "second")
        clock = clock if match[1] else match.group("shour", "sminute", "ssecond")
        try:
            date = dt.date.fromisoformat(day)
            hour, minute, second = (int(part or 0) for part in clock)
            return utc_moment(dt.datetime.combine(date, dt.time(hour, minute, second)))
        except ValueError:
            pass
    return _day_told(name)


def _moment_told(text: str) -> dt.datetime | None:
    return (moment(text) or _day_told(text)) if text else None


def _day_told(text: str) -> dt.datetime | None:
    day = day_in_name(text) if text else None
    return start_of_day(day) if day else None
