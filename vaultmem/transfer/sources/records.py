"""What other systems keep, in our words: values that readers make and notes are made of.

Nothing of another system is trusted to have a shape: a field may be missing, null, a number
where a text should be. `text`, `when`, `share` and the like take what they can use.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from vaultmem.base import small_files
from vaultmem.base.local_time import moment
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.markdown import Fact

_MILLISECONDS: Final = 100_000_000_000  # numbers above are no seconds: that is the year 5138
_MICROSECONDS: Final = _MILLISECONDS * 1000
_EARLIEST, _LATEST = 1980, 2200  # years


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A text of its own: becomes a note in `Memories/`."""

    id: str  # over there; empty when it has none
    text: str
    title: str = ""
    type: str = "semantic"
    project: str = ""
    user: str = ""
    session: str = ""
    room: str = ""
    importance: float | None = None
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    source: str = ""
    created: dt.datetime | None = None
    updated: dt.datetime | None = None
    more: Mapping[str, WritableValue] = field(default_factory=dict)  # properties that are not ours


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """One message of a conversation, or one thing that was observed."""

    id: str
    kind: str
    text: str
    at: dt.datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TalkRecord:
    """A conversation or session: becomes a journal in `Sessions/`."""

    id: str
    title: str
    said: tuple[TalkTurn, ...]
    summary: str = ""
    project: str = ""
    user: str = ""
    source: str = ""
    created: dt.datetime | None = None
    updated: dt.datetime | None = None
    session: str = ""  # its name for those who keep journals while it goes on
    request: str = ""  # the person's first, which stands above the log


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity of a knowledge graph: becomes, or is added to, a note in `Entities/`."""

    name: str
    kind: str = ""
    observations: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()  # objects that are entities stand as `[[name]]`
    user: str = ""
    project: str = ""
    created: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that comes as it is."""

    id: str  # what tells it from the files of other folders
    path: str  # where it goes in the vault
    raw: bytes
    written: bool = False  # by a program, not by hand: secrets are looked for in it


Record: TypeAlias = MemoryRecord | TalkRecord | EntityRecord | FileRecord


def record_label(record: Record) -> str:
    """What a record is called where it has to be left."""
    match record:
        case MemoryRecord():
            return record.title or record.text
        case TalkRecord():
            return record.title or "a conversation without a title"
    return record.name if isinstance(record, EntityRecord) else record.path


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """Something that did not come along, and why."""

    what: str
    why: str


# --- taking what can be used ----------------------------------------------------------------


def text_value(value: Any) -> str:
    """A text, or a number as one; anything else is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value) if abs(value) < 1e300 else ""
    return ""


def word_values(value: Any) -> tuple[str, ...]:
    """The texts of a list, of a list that was printed as JSON, or of a text with commas."""
    if isinstance(value, str):
        stripped = value.strip()
        if stripped.startswith("["):
            try:
                value = small_files.parse_json(stripped)
            except ValueError:
                value = [stripped]
        else:
            value = stripped.split(",")
    if not isinstance(value, list):
        return ()
    found = (text_value(item).strip() for item in value)
    return tuple(dict.fromkeys(item for item in found if item))


def mapping_value(value: Any) -> Mapping[str, Any]:
    """An object, or one that was printed as JSON; else an empty one."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = small_files.parse_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def object_values(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def share_value(value: Any) -> float | None:
    """A number from 0 to 1, also as text."""
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number <= 1 else None


def moment_value(value: Any) -> dt.datetime | None:
    """A moment: seconds, milliseconds or microseconds since 1970, or a date as text, in UTC, which
    is what programs write without saying so."""
    if isinstance(value, str):
        plain = value.strip()
        if found := moment(plain, dt.UTC):
            return _likely_record_moment(found)
        try:
            value = float(plain)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = value / (1e6 if value > _MICROSECONDS else 1e3 if value > _MILLISECONDS else 1)
        return _likely_record_moment(dt.datetime.fromtimestamp(seconds, dt.UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _likely_record_moment(found: dt.datetime) -> dt.datetime | None:
    """A time in 1970 or 9999 is some program's word for "unknown"."""
    return found if _EARLIEST <= found.year < _LATEST else None


def memory_type_value(value: Any) -> str:
    """`procedural_memory` and `Procedural` are procedural; what is none of ours is semantic."""
    found = text_value(value).strip().lower().removesuffix("_memory")
    return found if found in MEMORY_TYPES else "semantic"


def record_digest(*parts: object) -> str:
    """A short name for exactly this: the same on every machine."""
    joined = "\0".join(str(part) for part in parts).encode(errors="replace")
    return hashlib.blake2b(joined, digest_size=10).hexdigest()
