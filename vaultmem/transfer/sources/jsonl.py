"""Our own export: a line of JSON for each note. Lines with a content alone will do as well, so
this is the way in for whatever has no way of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.notes.note import note_version
from vaultmem.operations.input import source_text
from vaultmem.transfer.sources.json_stream import values
from vaultmem.transfer.sources.opening import OpenedExport, parts
from vaultmem.transfer.sources.records import (
    FileRecord,
    MemoryRecord,
    Record,
    mapping,
    memory_type,
    share,
    text,
    when,
    words,
)

EXPECTED: Final = 'lines of JSON with a "content" each, as `vaultmem export jsonl` writes them'


def read(reading: OpenedExport) -> Iterator[Record]:
    for part in parts(reading.path, r".*\.jsonl"):
        reading.size += part.size
        for number, item in enumerate(values(part, reading), 1):
            line = mapping(item)
            if not isinstance(line.get("content"), str):
                reading.leave(f"line {number}", "it has no content")
            elif isinstance(line.get("frontmatter"), str) and text(line.get("path")):
                yield _note(line)
            elif line["content"].strip():
                yield _memory(line)
            else:
                reading.leave(f"line {number}", "its content is empty")


def _note(line: Mapping[str, Any]) -> FileRecord:
    """The note as it was: of what a content can have ended with, its version knows which."""
    head, content = line["frontmatter"], line["content"]
    endings = [f"{head}{content}{end}".encode(errors="replace") for end in ("\n", "", "\r\n")]
    exact = (raw for raw in endings if note_version(raw) == line.get("version"))
    id_ = text(line.get("id")) or text(line["path"])
    return FileRecord(id_, text(line["path"]), next(exact, endings[0]), written=True)


def _memory(line: Mapping[str, Any]) -> MemoryRecord:
    source = line.get("source")
    return MemoryRecord(
        id=text(line.get("id") or line.get("key")),
        text=line["content"],
        title=text(line.get("title")),
        type=memory_type(line.get("type")),
        project=text(line.get("project")),
        user=text(line.get("user")),
        session=text(line.get("session")),
        room=text(line.get("room")),
        importance=share(line.get("importance")),
        confidence=share(line.get("confidence")),
        tags=words(line.get("tags")),
        source=source_text(source if isinstance(source, (str, dict)) else None),
        created=when(line.get("created_at") or line.get("created")),
        updated=when(line.get("updated_at") or line.get("updated")),
    )
