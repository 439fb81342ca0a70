"""Our own export: a line of JSON for each note. Lines with a content alone will do as well, so
this is the way in for whatever has no way of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.notes.note import note_version
from vaultmem.operations.input import source_text
from vaultmem.transfer.sources.json_stream import export_items
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import (
    FileRecord,
    MemoryRecord,
    Record,
    mapping_value,
    memory_type_value,
    moment_value,
    share_value,
    text_value,
    word_values,
)

EXPECTED: Final = 'lines of JSON with a "content" each, as vaultmem writes them (`export jsonl`)'


def read_export(reading: OpenedExport) -> Iterator[Record]:
    for number, item in export_items(reading, r".*\.jsonl"):
        line = mapping_value(item)
        if not isinstance(line.get("content"), str):
            reading.leave(f"line {number}", "it has no content")
        elif isinstance(line.get("frontmatter"), str) and text_value(line.get("path")):
            yield _jsonl_note(line)
        elif line["content"].strip():
            yield _jsonl_memory(line)
        else:
            reading.leave(f"line {number}", "its content is empty")


def _jsonl_note(line: Mapping[str, Any]) -> FileRecord:
    """The note as it was: of what a content can have ended with, its version knows which."""
    head, content = line["frontmatter"], line["content"]
    endings = [f"{head}{content}{end}".encode(errors="replace") for end in ("\n", "", "\r\n")]
    exact = (raw for raw in endings if note_version(raw) == line.get("version"))
    id_ = text_value(line.get("id")) or text_value(line["path"])
    return FileRecord(id_, text_value(line["path"]), next(exact, endings[0]), written=True)


def _jsonl_memory(line: Mapping[str, Any]) -> MemoryRecord:
    source = line.get("source")
    return MemoryRecord(
        id=text_value(line.get("id") or line.get("key")),
        text=line["content"],
        title=text_value(line.get("title")),
        type=memory_type_value(line.get("type")),
        project=text_value(line.get("project")),
        user=text_value(line.get("user")),
        session=text_value(line.get("session")),
        room=text_value(line.get("room")),
        importance=share_value(line.get("importance")),
        confidence=share_value(line.get("confidence")),
        tags=word_values(line.get("tags")),
        source=source_text(source if isinstance(source, (str, dict)) else None),
        created=moment_value(line.get("created_at") or line.get("created")),
        updated=moment_value(line.get("updated_at") or line.get("updated")),
    )
