"""Claude's data export: conversations, the documents of projects, and what Claude remembered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.json_stream import values
from vaultmem.transfer.sources.opening import OpenedExport, parts
from vaultmem.transfer.sources.records import (
    MemoryRecord,
    Record,
    TalkRecord,
    TalkTurn,
    mapping,
    objects,
    text,
    when,
)

EXPECTED: Final = "Claude's export: the zip itself, its folder, or its conversations.json"
_CHATS: Final = r"(?:[^/]*/)*conversations\.json"
_PROJECTS: Final = r"(?:[^/]*/)*projects\.json|(?:.*/)?projects/[^/]+\.json"
_MEMORIES: Final = r"(?:[^/]*/)*memories\.json"
_SENDERS: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_OTHER: Final = "steps of Claude's work (thoughts, uses of tools)"


def read(reading: OpenedExport) -> Iterator[Record]:
    lone = reading.path.is_file() and reading.path.suffix.lower() != ".zip"
    names = (_CHATS,) if lone else (_PROJECTS, _MEMORIES, _CHATS)
    found = [parts(reading.path, name) for name in names]
    reading.size += sum(part.size for some in found for part in some)
    projects: dict[str, str] = {}  # their ids and names
    for some in found:
        for part in some:
            for number, item in enumerate(values(part, reading), 1):
                yield from _records(mapping(item), number, projects, reading)


def _records(
    item: Mapping[str, Any], number: int, projects: dict[str, str], reading: OpenedExport
) -> Iterator[Record]:
    if isinstance(item.get("chat_messages"), list):
        yield from _conversation(item, projects, reading)
    elif "conversations_memory" in item or "project_memories" in item:
        yield from _remembered(item, projects)
    elif "docs" in item or "prompt_template" in item:
        projects[text(item.get("uuid"))] = text(item.get("name")).strip()
        yield from _project(item)
    else:
        name = text(item.get("name")) or f"record {number}"
        reading.leave(name, "it is no conversation and no project")


# --- conversations ----------------------------------------------------------------------


def _conversation(
    chat: Mapping[str, Any], projects: Mapping[str, str], reading: OpenedExport
) -> Iterator[TalkRecord]:
    messages = objects(chat["chat_messages"])
    said = tuple(entry for message in messages for entry in _said(message, reading))
    if not said:
        reading.passed["conversations without a message"] += 1
        return
    home = mapping(chat.get("project"))
    uuid = text(home.get("uuid") or chat.get("project_uuid"))
    yield TalkRecord(
        id=text(chat.get("uuid")).strip() or said[0].id,
        title=text(chat.get("name")).strip(),
        said=said,
        summary=text(chat.get("summary")).strip(),
        project=text(home.get("name")).strip() or projects.get(uuid, ""),
        source="claude",
        created=when(chat.get("created_at")) or next((s.at for s in said if s.at), None),
        updated=when(chat.get("updated_at")),
    )


def _said(message: Mapping[str, Any], reading: OpenedExport) -> Iterator[TalkTurn]:
    """A message, what was attached to it, and what Claude made in it."""
    id_, at = text(message.get("uuid")), when(message.get("created_at"))
    kind = _SENDERS.get(text(message.get("sender")), "message")
    blocks = objects(message.get("content"))
    written = "\n\n".join(text(b.get("text")) for b in blocks if b.get("type") == "text")
    written = written if written.strip() else text(message.get("text"))
    for number, attached in enumerate(objects(message.get("attachments"))):
        body = text(attached.get("extracted_content"))
        name = text(attached.get("file_name")) or "pasted text"
        if body.strip():
            yield TalkTurn(f"{id_}/attachment/{number}", "attachment", f"{name}\n\n{body}", at)
    if written.strip():
        yield TalkTurn(id_, kind, written, at)
    for number, block in enumerate(blocks):
        made = mapping(block.get("input"))
        if block.get("type") == "tool_use" and block.get("name") == "artifacts":
            title, body = text(made.get("title")), text(made.get("content"))
            if body.strip():
                whole = f"{title}\n\n{body}" if title else body
                yield TalkTurn(f"{id_}/artifact/{number}", "artifact", whole, at)
        elif block.get("type") != "text":
            reading.passed[_OTHER] += 1


# --- projects, memory -------------------------------------------------------------------


def _project(item: Mapping[str, Any]) -> Iterator[MemoryRecord]:
    name, uuid = text(item.get("name")).strip(), text(item.get("uuid"))
    created = when(item.get("created_at"))
    for what, type_ in (("prompt_template", "procedural"), ("description", "semantic")):
        said = text(item.get(what))
        title = f"Instructions for {name}" if what == "prompt_template" else f"About {name}"
        if said.strip():
            yield MemoryRecord(
                id=f"{uuid}/{what}",
                text=said,
                title=title,
                type=type_,
                project=name,
                source="claude",
                created=created,
            )
    for doc in objects(item.get("docs")):
        said = text(doc.get("content"))
        if said.strip():
            file = text(doc.get("filename"))
            yield MemoryRecord(
                id=text(doc.get("uuid")) or f"{uuid}/{file}",
                text=said,
                title=file.removesuffix(".md"),
                project=name,
                source=f"claude; file={file}" if file else "claude",
                created=when(doc.get("created_at")) or created,
            )


def _remembered(item: Mapping[str, Any], projects: Mapping[str, str]) -> Iterator[MemoryRecord]:
    owner = text(item.get("account_uuid"))
    given = {"": item.get("conversations_memory"), **mapping(item.get("project_memories"))}
    for uuid, said in given.items():
        if text(said).strip():
            name = projects.get(uuid, "")
            yield MemoryRecord(
                id=f"memory/{owner}/{uuid}",
                text=text(said),
                title=f"What Claude remembers about {name}" if name else "What Claude remembers",
                project=name,
                source="claude",
            )
