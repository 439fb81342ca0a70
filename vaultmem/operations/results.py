"""What operations answer with. Field names are the contract's JSON names; a field whose
default is None is left out of the JSON when it has no value.

They are not frozen: making frozen classes takes twice as long, and every command makes them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vaultmem.attributes import attributes_of
from vaultmem.config import PROPERTIES, Settings
from vaultmem.hidden import without_private
from vaultmem.index import Row
from vaultmem.markdown import Fact, Observation, shown
from vaultmem.note import Note, Problem, printable, version
from vaultmem.properties import Value

DEFAULT_IMPORTANCE: Final = 0.5
_EXCERPT: Final = 200


@dataclass
class Similar:
    id: str
    title: str
    path: str
    relevance_score: float


@dataclass
class Remembered:
    memory_id: str
    path: str
    title: str
    type: str
    scope: str
    version: str
    embedding_generated: bool
    graph_edges_created: int
    searchable: str  # "now", "text" (by its words) or "soon"
    similar: tuple[Similar, ...] = ()
    created: bool = True  # False: the memory with this key was updated
    project: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass
class Freshness:
    """How far an answer can be relied on to be complete."""

    revision: int
    pending: int  # passages that have no vector yet
    skipped: int


@dataclass
class RecalledMemory:
    id: str
    title: str
    path: str
    content: str  # the best passage
    snippet: str
    type: str
    scope: str
    importance: float
    tags: tuple[str, ...]
    created_at: dt.datetime
    relevance_score: float
    access_count: int
    why: str
    heading: str | None = None
    block: str | None = None
    project: str | None = None
    source: Any = None
    forgotten: bool | None = None
    lanes: Any = None
    boosts: Any = None


@dataclass
class Recalled:
    memories: tuple[RecalledMemory, ...]
    total_matched: int
    strategy_used: str
    query_time_ms: float
    index: Freshness
    warnings: tuple[str, ...] = ()
    filters: tuple[str, ...] | None = None


@dataclass
class Memory:
    id: str
    path: str
    title: str
    content: str
    type: str
    scope: str
    tags: tuple[str, ...]
    version: str
    created_at: dt.datetime | str
    updated_at: dt.datetime | str
    importance: float
    access_count: int
    forgotten: bool
    aliases: tuple[str, ...] | None = None
    project: str | None = None
    user: str | None = None
    session: str | None = None
    room: str | None = None
    key: str | None = None
    kind: str | None = None
    confidence: float | None = None
    about: tuple[str, ...] | None = None
    source: Any = None
    derived_from: tuple[str, ...] | None = None
    superseded_by: str | None = None
    forgotten_reason: str | None = None
    block: str | None = None
    facts: tuple[Fact, ...] | None = None
    observations: tuple[Observation, ...] | None = None
    problems: tuple[Problem, ...] | None = None
    properties: Mapping[str, Value] | None = None  # those that are not ours


@dataclass
class Gotten:
    memories: tuple[Memory, ...]
    missing: tuple[str, ...]


@dataclass
class Summary:
    id: str
    path: str
    title: str
    excerpt: str
    type: str
    scope: str
    tags: tuple[str, ...]
    version: str
    created_at: dt.datetime
    updated_at: dt.datetime
    importance: float
    forgotten: bool
    project: str | None = None


@dataclass
class Listed:
    memories: tuple[Summary, ...]
    total: int
    next_offset: int | None


@dataclass
class Updated:
    memory_id: str
    path: str
    updated_fields: tuple[str, ...]
    re_embedded: bool
    version: str
    warnings: tuple[str, ...] = ()


@dataclass
class Tagged:
    memory_id: str
    path: str
    tags: tuple[str, ...]
    version: str


@dataclass
class Promoted:
    memory_id: str
    path: str
    previous_scope: str
    new_scope: str
    version: str
    reason: str | None = None


@dataclass
class Forgotten:
    memory_id: str
    path: str
    status: str
    version: str
    reason: str | None = None


@dataclass
class Restored:
    memory_id: str
    path: str
    version: str
    action: str  # what was undone


@dataclass
class Removed:
    memory_id: str
    path: str
    restore: str  # how to get it back


@dataclass
class PrunedNote:
    id: str
    path: str
    title: str
    restore: str | None = None  # how to get it back


@dataclass
class Pruned:
    pruned_count: int
    pruned: tuple[PrunedNote, ...]
    dry_run: bool


@dataclass
class Version:
    version: str
    taken_at: dt.datetime
    action: str  # what was done to it next; "current" for the text as it is
    size: int
    current: bool
    commit: str | None = None  # of git, which then also knows
    author: str | None = None
    subject: str | None = None


@dataclass
class Versions:
    memory_id: str
    path: str
    versions: tuple[Version, ...]
    number: int = 1  # of the present text, counting from 1


@dataclass
class Source:
    """A note's whole text, properties included."""

    memory_id: str
    path: str
    text: str
    version: str


@dataclass
class Project:
    name: str
    memories: int
    folder: str  # where its memories are put
    description: str = ""
    id: str | None = None  # of the note that describes it
    path: str | None = None


@dataclass
class Projects:
    projects: tuple[Project, ...]


@dataclass
class TagCount:
    tag: str
    count: int


@dataclass
class Tags:
    tags: tuple[TagCount, ...]


# --- from notes and rows ----------------------------------------------------------------------


def identity(note: Note) -> str:
    """What a caller names the note by: its id, or where a person's note has none its path."""
    return note.id.upper() if note.id else note.path


def content_of(note: Note) -> str:
    """The text as it was given: a note ends with a line end that is not part of it."""
    end = note.newline if note.body.endswith("\r\n") else "\n"
    return printable(without_private(note.body.removesuffix(end)))


def memory(note: Note, settings: Settings, mtime_ns: int, count: int) -> Memory:
    attributes = attributes_of(note, settings)
    stamp = dt.datetime.fromtimestamp(mtime_ns / 1e9, dt.UTC).replace(microsecond=0)
    ours = {note.key_of(name) for name in (*PROPERTIES, "tag", "alias")}
    importance = note.number("importance")
    return Memory(
        id=identity(note),
        path=note.path,
        title=note.title,
        content=content_of(note),
        type=attributes["type"],
        scope=attributes["scope"],
        tags=note.tags,
        version=version(note.raw),
        created_at=note.created or stamp,
        updated_at=note.updated or (note.created if note.id and note.created else stamp),
        importance=DEFAULT_IMPORTANCE if importance is None else importance,
        access_count=count,
        forgotten=note.flag("forgotten"),
        aliases=note.aliases or None,
        **{name: attributes[name] or None for name in ("project", "user", "session", "room")},
        key=note.string("key") or None,
        kind=attributes["kind"] or None,
        confidence=note.number("confidence"),
        about=_names(note.strings("about")),
        source=source_value(note.string("source")),
        derived_from=_names(note.strings("derived_from")),
        superseded_by=(_names(note.strings("superseded_by")) or (None,))[0],
        forgotten_reason=note.string("forgotten_reason") or None,
        facts=note.facts or None,
        observations=note.observations or None,
        problems=note.problems or None,
        properties={k: v for k, v in note.properties.items() if k not in ours} or None,
    )


def summary(row: Row, body: str) -> Summary:
    text = " ".join(printable(shown(body[: _EXCERPT * 4])).split())
    excerpt = text if len(text) <= _EXCERPT else text[:_EXCERPT].rpartition(" ")[0] + " …"
    created = row_moment(row)
    updated = row.updated or row.created if row.id else None
    return Summary(
        id=row.id or row.path,
        path=row.path,
        title=row.title,
        excerpt=excerpt,
        type=row.type,
        scope=row.scope,
        tags=row.tags,
        version=row.version,
        created_at=created,
        updated_at=_moment(updated if updated is not None else row.mtime_ns // 1_000_000_000),
        importance=DEFAULT_IMPORTANCE if row.importance is None else row.importance,
        forgotten=bool(row.forgotten),
        project=row.project or None,
    )


def row_moment(row: Row) -> dt.datetime:
    """When the memory was made; of a person's note without a date, when it was last saved."""
    return _moment(row.created if row.created is not None else row.mtime_ns // 1_000_000_000)


def _moment(seconds: int) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, OSError, ValueError):
        return dt.datetime.fromtimestamp(0, dt.UTC)


def _names(links: tuple[str, ...]) -> tuple[str, ...] | None:
    return tuple(re.sub(r"^\[\[(.*?)(?:\|.*)?\]\]$", r"\1", link) for link in links) or None


# --- where a memory came from -----------------------------------------------------------------

_SOURCE: Final = re.compile(r"(?:tool|file|turn)=")


def source_text(source: str | Mapping[str, Any] | None) -> str:
    """`{"tool": "Edit", "file": "a.py", "conversation_turn": 3}` as `tool=Edit; file=a.py; turn=3`."""
    if source is None or isinstance(source, str):
        return source or ""
    named = {"turn" if key == "conversation_turn" else key: value for key, value in source.items()}
    return "; ".join(f"{key}={value}" for key, value in named.items() if value not in (None, ""))


def source_value(text: str) -> Any:
    """The reverse: an object where the text is one, else the text."""
    if not text:
        return None
    if not _SOURCE.match(text):
        return text
    pairs = dict(part.partition("=")[::2] for part in text.split("; ") if "=" in part)
    found: dict[str, Any] = {k: v for k, v in pairs.items() if k != "turn"}
    if "turn" in pairs:
        turn = pairs["turn"]
        found["conversation_turn"] = int(turn) if turn.isdigit() else turn
    return found
