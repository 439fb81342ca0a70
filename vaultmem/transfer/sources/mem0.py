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
from vaultmem.transfer.sources.entities import GatheredEntities
from vaultmem.transfer.sources.json_stream import json_values
from vaultmem.transfer.sources.opening import MOST_RECORD, OpenedExport, Part, export_parts
from vaultmem.transfer.sources.records import (
    MemoryRecord,
    Record,
    mapping_value,
    moment_value,
    object_values,
    text_value,
    word_values,
)

EXPECTED: Final = 'a mem0 export: a JSON list of memories, or an object with them under "results"'
_LISTS: Final = ("results", "memories", "data")
_TEXTS: Final = ("memory", "content", "text", "data")
_TAKEN: Final = frozenset(
    ("type", "memory_type", "project", "tags", "importance", "confidence", "room", "session")
)
_NAME: Final = re.compile(r"[A-Za-z][\w-]{0,40}")
_BLOCK: Final = re.compile(r"^---[ \t]*\n(id:.*\n(?:[A-Za-z_]+:.*\n)*)---[ \t]*\n", re.MULTILINE)


def read_export(reading: OpenedExport) -> Iterator[Record]:
    """Of one user only, they are whoever's who imports them; else each is its user's."""
    several = _has_several_mem0_users(OpenedExport(reading.path))
    for each in _mem0_records(reading):
        yield each if several or not isinstance(each, MemoryRecord) else replace(each, user="")


def _has_several_mem0_users(reading: OpenedExport) -> bool:
    """Found out by reading it once more: it may be larger than memory."""
    users: set[str] = set()
    for each in _mem0_records(reading):
        if isinstance(each, MemoryRecord) and each.user:
            users.add(each.user.casefold())
            if len(users) > 1:
                return True
    return False


def _mem0_records(reading: OpenedExport) -> Iterator[Record]:
    things = GatheredEntities()
    for part in export_parts(reading.path, r"(?:[^/]*/)*(?:memor|mem0)[^/]*\.(?:jsonl?|md)"):
        reading.size += part.size
        found = _mem0_blocks(part) if part.name.endswith(".md") else json_values(part, reading)
        for number, item in enumerate(found, 1):
            listed = next((item[n] for n in _LISTS if _holds_mem0_list(item, n)), [item])
            for place, each in enumerate(listed, number):
                made = _mem0_memory(each) if isinstance(each, dict) else None
                if made is None:
                    reading.leave(f"record {place}", "it has no text")
                else:
                    yield made
            _mem0_relations(item, things)
    yield from things


def _holds_mem0_list(item: Any, name: str) -> bool:
    return isinstance(item, dict) and isinstance(item.get(name), list)


def _mem0_memory(item: Mapping[str, Any]) -> MemoryRecord | None:
    said = next((found for name in _TEXTS if (found := text_value(item.get(name))).strip()), "")
    if not said:
        return None
    meta = mapping_value(item.get("metadata"))
    both = {**meta, **{k: v for k, v in item.items() if v not in (None, "")}}
    agent = f"; agent={text_value(both['agent_id'])}" if both.get("agent_id") else ""
    tags = (*word_values(both.get("categories")), *word_values(both.get("tags")))
    return MemoryRecord(
        id=text_value(item.get("id")).strip(),
        text=said,
        type=records.memory_type_value(meta.get("memory_type") or both.get("type")),
        project=text_value(both.get("project") or both.get("app_id")).strip(),
        user=text_value(both.get("user_id")).strip(),
        session=text_value(both.get("run_id") or both.get("session")).strip(),
        room=text_value(both.get("room")).strip(),
        importance=records.share_value(both.get("importance")),
        confidence=records.share_value(both.get("confidence")),
        tags=tuple(dict.fromkeys(tags)),
        source=f"mem0{agent}",
        created=moment_value(item.get("created_at")) or moment_value(item.get("updated_at")),
        updated=moment_value(item.get("updated_at")),
        more=dict(_mem0_metadata(meta, item)),
    )


def _mem0_metadata(
    meta: Mapping[str, Any], item: Mapping[str, Any]
) -> Iterator[tuple[str, WritableValue]]:
    """Metadata that a note can carry under its own name."""
    if expires := moment_value(item.get("expiration_date")):
        yield "review", expires.date()
    for name, value in meta.items():
        if name in _TAKEN or name.lower() in PROPERTIES or not _NAME.fullmatch(name):
            continue
        if isinstance(value, list):
            if found := word_values(value):
                yield name, list(found)
        elif isinstance(value, bool) or (said := " ".join(text_value(value).split())[:500]):
            yield name, value if isinstance(value, bool) else said


def _mem0_relations(item: Any, things: GatheredEntities) -> None:
    """mem0's graph, where it was on."""
    for each in object_values(mapping_value(item).get("relations")):
        target = text_value(each.get("target") or each.get("destination"))
        things.add_relation(
            text_value(each.get("source")), text_value(each.get("relationship")), target
        )


def _mem0_blocks(part: Part) -> Iterator[dict[str, Any]]:
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
