"""What operations return. Field names are the contract's JSON names; a field whose
default is None is left out of the JSON when it has no value.

Every command makes these classes, and Python makes code for what each of them can do. So they
are not frozen, and how they are shown and compared stands in one place.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vaultmem.config import PROPERTIES, Settings
from vaultmem.index import CatalogRow
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.frontmatter import PropertyValue
from vaultmem.notes.markdown import Fact, Observation, text_without_comments
from vaultmem.notes.masking import public_part
from vaultmem.notes.note import Note, Problem, note_version, printable

if TYPE_CHECKING:
    from vaultmem.parts import Freshness

DEFAULT_IMPORTANCE: Final = 0.5
_EXCERPT: Final = 200


class Result:
    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__qualname__}({inner})"

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@dataclass(eq=False, repr=False)
class Similar(Result):
    id: str
    title: str
    path: str
    relevance_score: float


@dataclass(eq=False, repr=False)
class Remembered(Result):
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
    created: bool = True  # False: it is a memory that was there
    status: str = (
        "created"  # "updated" (by its key), "known" (the same text), "revived" (forgotten)
    )
    project: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class RecalledMemory(Result):
    id: str
    title: str
    path: str
    content: str  # the best passage
    whole: bool  # whether that is all of the memory's text
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
    superseded_by: str | None = None  # the title of what replaced it
    later: str | None = None  # of what its name says came after it
    trace: HitTrace | None = None  # where it was asked for


@dataclass(eq=False, repr=False)
class NearMiss(Result):
    """What is nearest to a question and no answer to it."""

    path: str
    title: str
    relevance_score: float


@dataclass(eq=False, repr=False)
class Recalled(Result):
    memories: tuple[RecalledMemory, ...]
    total_matched: int
    strategy_used: str
    query_time_ms: float
    index: Freshness
    warnings: tuple[str, ...] = ()
    message: str | None = None  # where there is no memory to show
    more: int | None = None  # that matched, and are not shown
    nearest: tuple[NearMiss, ...] = ()
    trace: Trace | None = None  # where it was asked for


# --- how an answer came about -----------------------------------------------------------------


@dataclass(eq=False, repr=False)
class HitTrace(Result):
    """How a hit got its place."""

    lanes: tuple[Mapping[str, Any], ...]  # name, rank, score, and its share of the place
    tokens: int  # that the hit costs in an answer
    words: Mapping[str, float] | None = None  # the question's that it has, with their weights
    similarity: float | None = None  # in meaning
    usual_similarity: float | None = None  # that any passage has to this question
    moved: Mapping[str, float] | None = None  # what else moved it, and how far


@dataclass(eq=False, repr=False)
class Trace(Result):
    """How an answer came about. What came near is in its `nearest`."""

    filters: tuple[str, ...]  # what every hit meets
    tokens: int  # that the hits cost
    words: Mapping[str, float] | None = None  # of the question: parts of what all of them say
    unknown: tuple[str, ...] = ()  # those of them that stand nowhere
    meaning_share: float = 0.0  # how much of the decision was left to meaning
    known: float = 0.0  # how probably the vault knows something about it


# --- memories ---------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Memory(Result):
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
    properties: Mapping[str, PropertyValue] | None = None  # those that are not ours
    # Of a page, which is a part of the text and has no version until all of it was read:
    offset: int | None = None  # characters before it
    next_offset: int | None = None
    characters: int | None = None  # of the whole text
    outline: str | None = None  # headings of what comes next


@dataclass(eq=False, repr=False)
class FetchedMemories(Result):
    memories: tuple[Memory, ...]
    missing: tuple[str, ...]


@dataclass(eq=False, repr=False)
class Summary(Result):
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


@dataclass(eq=False, repr=False)
class Listed(Result):
    memories: tuple[Summary, ...]
    total: int
    next_offset: int | None
    warnings: tuple[str, ...] | None = None


@dataclass(eq=False, repr=False)
class Updated(Result):
    memory_id: str
    path: str
    updated_fields: tuple[str, ...]
    re_embedded: bool
    version: str
    warnings: tuple[str, ...] = ()
    task: str | None = None  # the line of the task that was added or checked
    created: bool | None = None  # a daily note that was not there


@dataclass(eq=False, repr=False)
class Tagged(Result):
    memory_id: str
    path: str
    tags: tuple[str, ...]
    version: str


@dataclass(eq=False, repr=False)
class Promoted(Result):
    memory_id: str
    path: str
    previous_scope: str
    new_scope: str
    version: str
    reason: str | None = None


@dataclass(eq=False, repr=False)
class Forgotten(Result):
    memory_id: str
    path: str
    status: str
    version: str
    reason: str | None = None


@dataclass(eq=False, repr=False)
class Restored(Result):
    memory_id: str
    path: str
    version: str
    action: str  # what was undone
    replaced: str | None = None  # the version that stood there, which is kept as well
    warnings: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Removed(Result):
    memory_id: str
    path: str
    restore: str  # how to get it back


@dataclass(eq=False, repr=False)
class PrunedNote(Result):
    id: str
    path: str
    title: str
    restore: str | None = None  # how to get it back


@dataclass(eq=False, repr=False)
class Pruned(Result):
    pruned_count: int
    pruned: tuple[PrunedNote, ...]
    dry_run: bool


@dataclass(eq=False, repr=False)
class Version(Result):
    version: str
    taken_at: dt.datetime
    action: str  # what was done to it next; "current" for the text as it is
    size: int
    current: bool
    commit: str | None = None  # of git, which then also knows
    author: str | None = None
    subject: str | None = None


@dataclass(eq=False, repr=False)
class PastVersion(Result):
    id: str
    path: str
    version: str
    content: str
    tags: tuple[str, ...]


@dataclass(eq=False, repr=False)
class Versions(Result):
    memory_id: str
    path: str
    versions: tuple[Version, ...]
    number: int = 1  # of the present text, counting from 1


@dataclass(eq=False, repr=False)
class NoteSource(Result):
    """A note's whole text, properties included."""

    memory_id: str
    path: str
    text: str
    version: str


@dataclass(eq=False, repr=False)
class Project(Result):
    name: str
    memories: int
    folder: str  # where its memories are put
    description: str = ""
    id: str | None = None  # of the note that describes it
    path: str | None = None


@dataclass(eq=False, repr=False)
class Projects(Result):
    projects: tuple[Project, ...]


@dataclass(eq=False, repr=False)
class TagCount(Result):
    tag: str
    count: int


@dataclass(eq=False, repr=False)
class Tags(Result):
    tags: tuple[TagCount, ...]
    total: int | None = None  # where there are more than these
    warnings: tuple[str, ...] | None = None


# --- from notes and rows ----------------------------------------------------------------------


def note_identity(note: Note) -> str:
    """What a caller names the note by: its id, or where a person's note has none its path."""
    return note.id.upper() if note.id else note.path


def content_of(note: Note) -> str:
    """The text as it was given: a note ends with a line end that is not part of it."""
    end = note.newline if note.body.endswith("\r\n") else "\n"
    return printable(public_part(note.body.removesuffix(end)))


def memory_of_note(
    note: Note, settings: Settings, saved_ns: int, count: int, created: int
) -> Memory:
    """`created` are the seconds that `storage/creation.py` gives."""
    attributes = attributes_of(note, settings)
    saved = _result_moment(saved_ns // 1_000_000_000)
    made = _result_moment(created)
    ours = {note.key_of(name) for name in (*PROPERTIES, "tag", "alias")}
    importance = note.number("importance")
    return Memory(
        id=note_identity(note),
        path=note.path,
        title=note.shown_title,
        content=content_of(note),
        type=attributes["type"],
        scope=attributes["scope"],
        tags=note.tags,
        version=note_version(note.raw),
        created_at=made,
        updated_at=note.updated_by(saved) or (made if note.id else saved),
        importance=DEFAULT_IMPORTANCE if importance is None else importance,
        access_count=count,
        forgotten=note.flag("forgotten"),
        aliases=note.aliases or None,
        project=attributes["project"] or None,
        user=attributes["user"] or None,
        session=attributes["session"] or None,
        room=attributes["room"] or None,
        key=note.string("key") or None,
        kind=attributes["kind"] or None,
        confidence=note.number("confidence"),
        about=_result_link_names(note.strings("about")),
        source=source_value(note.string("source")),
        derived_from=_result_link_names(note.strings("derived_from")),
        superseded_by=(_result_link_names(note.strings("superseded_by")) or (None,))[0],
        forgotten_reason=note.string("forgotten_reason") or None,
        facts=note.facts or None,
        observations=note.observations or None,
        problems=note.problems or None,
        properties={k: v for k, v in note.shown.items() if k not in ours} or None,
    )


def summary_of_row(row: CatalogRow, body: str) -> Summary:
    text = " ".join(printable(text_without_comments(body[: _EXCERPT * 4])).split())
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
        updated_at=_result_moment(
            updated if updated is not None else row.mtime_ns // 1_000_000_000
        ),
        importance=DEFAULT_IMPORTANCE if row.importance is None else row.importance,
        forgotten=bool(row.forgotten),
        project=row.project or None,
    )


def row_moment(row: CatalogRow) -> dt.datetime:
    """When the memory was made; of a person's note without a date, when it was last saved."""
    return _result_moment(row.created if row.created is not None else row.mtime_ns // 1_000_000_000)


def _result_moment(seconds: int) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, OSError, ValueError):
        return dt.datetime.fromtimestamp(0, dt.UTC)


def _result_link_names(links: tuple[str, ...]) -> tuple[str, ...] | None:
    return tuple(map(_result_link_name, links)) or None


def _result_link_name(link: str) -> str:
    is_link = link.startswith("[[") and link.endswith("]]") and "\n" not in link
    return link[2:-2].partition("|")[0] if is_link else link


# --- where a memory came from -----------------------------------------------------------------

_SOURCE: Final = re.compile(r"(?:tool|file|turn)=")


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
