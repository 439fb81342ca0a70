"""mem0: what `get_all` answers, its exports as JSON, and its plugin's export as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.config import PROPERTIES
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.transfer.sources import records
from vaultmem.transfer.sources.entities import Things
from vaultmem.transfer.sources.json_stream import values
from vaultmem.transfer.sources.opening import MOST_RECORD, OpenedExport, Part, parts
from vaultmem.transfer.sources.records import (
    MemoryRecord,
    Record,
    mapping,
    objects,
    text,
    when,
    words,
)

EXPECTED: Final = 'a mem0 export: a JSON list of memories, or an object with them under "results"'
_LISTS: Final = ("results", "memories", "data")
_TEXTS: Final = ("memory", "content", "text", "data")
_TAKEN: Final = frozenset(
    ("type", "memory_type", "project", "tags", "importance", "confidence", "room", "session")
)
_NAME: Final = re.compile(r"[A-Za-z][\w-]{0,40}")
_BLOCK: Final = re.compile(r"^---[ \t]*\n(id:.*\n(?:[A-Za-z_]+:.*\n)*)---[ \t]*\n", re.MULTILINE)


def read(reading: OpenedExport) -> Iterator[Record]:
    """Of one user only, they are whoever's who imports them; else each is its user's."""
    several = _has_several_users(OpenedExport(reading.path))
    for each in _records(reading):
        yield each if several or not isinstance(each, MemoryRecord) else replace(each, user="")


def _has_several_users(reading: OpenedExport) -> bool:
    """Found out by reading it once more: it may be larger than memory."""
    users: set[str] = set()
    for each in _records(reading):
        if isinstance(each, MemoryRecord) and each.user:
            users.add(each.user.casefold())
            if len(users) > 1:
                return True
    return False


def _records(reading: OpenedExport) -> Iterator[Record]:
    things = Things()
    for part in parts(reading.path, r"(?:[^/]*/)*(?:memor|mem0)[^/]*\.(?:jsonl?|md)"):
        reading.size += part.size
        found = _blocks(part) if part.name.endswith(".md") else values(part, reading)
        for number, item in enumerate(found, 1):
            listed = next((item[n] for n in _LISTS if _holds(item, n)), [item])
            for place, each in enumerate(listed, number):
                made = _memory(each) if isinstance(each, dict) else None
                if made is None:
                    reading.leave(f"record {place}", "it has no text")
                else:
                    yield made
            _relations(item, things)
    yield from things


def _holds(item: Any, name: str) -> bool:
    return isinstance(item, dict) and isinstance(item.get(name), list)


def _memory(item: Mapping[str, Any]) -> MemoryRecord | None:
    said = next((found for name in _TEXTS if (found := text(item.get(name))).strip()), "")
    if not said:
        return None
    meta = mapping(item.get("metadata"))
    both = {**meta, **{k: v for k, v in item.items() if v not in (None, "")}}
    source = ["mem0", *(f"{n}={text(both[f'{n}_id'])}" for n in ("agent",) if both.get(f"{n}_id"))]
    tags = (*words(both.get("categories")), *words(both.get("tags")))
    return MemoryRecord(
        id=text(item.get("id")).strip(),
        text=said,
        type=records.memory_type(meta.get("memory_type") or both.get("type")),
        project=text(both.get("project") or both.get("app_id")).strip(),
        user=text(both.get("user_id")).strip(),
        session=text(both.get("run_id") or both.get("session")).strip(),
        room=text(both.get("room")).strip(),
        importance=records.share(both.get("importance")),
        confidence=records.share(both.get("confidence")),
        tags=tuple(dict.fromkeys(tags)),
        source="; ".join(source),
        created=when(item.get("created_at")) or when(item.get("updated_at")),
        updated=when(item.get("updated_at")),
        more=dict(_more(meta, item)),
    )


def _more(meta: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[tuple[str, WritableValue]]:
    """Metadata that a note can carry under its own name."""
    if expires := when(item.get("expiration_date")):
        yield "review", expires.date()
    for name, value in meta.items():
        if name in _TAKEN or name.lower() in PROPERTIES or not _NAME.fullmatch(name):
            continue
        if isinstance(value, list):
            if found := words(value):
                yield name, list(found)
        elif isinstance(value, bool) or (said := " ".join(text(value).split())[:500]):
            yield name, value if isinstance(value, bool) else said


def _relations(item: Any, things: Things) -> None:
    """mem0's graph, where it was on."""
    for each in objects(mapping(item).get("relations")):
        target = text(each.get("target") or each.get("destination"))
        things.relate(text(each.get("source")), text(each.get("relationship")), target)


def _blocks(part: Part) -> Iterator[dict[str, Any]]:
    """Memories under lines `id:`, `created_at:` … between `---`."""
    with part.open() as file:
        said = with_unix_line_ends(file.read(MOST_RECORD))
    marks = list(_BLOCK.finditer(said))
    ends = [mark.start() for mark in marks[1:]] + [len(said)]
    for mark, end in zip(marks, ends, strict=True):
        lines = (line.partition(":") for line in mark[1].splitlines())
        found = {name.strip(): value.strip() for name, _, value in lines}
        top = {name: found.pop(name, "") for name in ("id", "created_at", "categories")}
        yield {**top, "metadata": found, "memory": said[mark.end() : end].strip()}
