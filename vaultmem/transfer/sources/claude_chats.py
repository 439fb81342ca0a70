"""Claude's data export: conversations, the documents of projects, and what Claude remembered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.transfer.sources.json_stream import json_values
from vaultmem.transfer.sources.opening import OpenedExport, export_parts
from vaultmem.transfer.sources.records import (
    MemoryRecord,
    Record,
    TalkRecord,
    TalkTurn,
    mapping_value,
    moment_value,
    object_values,
    text_value,
)

EXPECTED: Final = "Claude's export: the zip itself, its folder, or its conversations.json"
_CHATS: Final = r"(?:[^/]*/)*conversations\.json"
_PROJECTS: Final = r"(?:[^/]*/)*projects\.json|(?:.*/)?projects/[^/]+\.json"
_MEMORIES: Final = r"(?:[^/]*/)*memories\.json"
_SENDERS: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_OTHER: Final = "steps of Claude's work (thoughts, uses of tools)"


def read_export(reading: OpenedExport) -> Iterator[Record]:
    lone = reading.path.is_file() and reading.path.suffix.lower() != ".zip"
    names = (_CHATS,) if lone else (_PROJECTS, _MEMORIES, _CHATS)
    found = [export_parts(reading.path, name) for name in names]
    reading.size += sum(part.size for some in found for part in some)
    projects: dict[str, str] = {}  # their ids and names
    for some in found:
        for part in some:
            for number, item in enumerate(json_values(part, reading), 1):
                yield from _claude_records(mapping_value(item), number, projects, reading)


def _claude_records(
    item: Mapping[str, Any], number: int, projects: dict[str, str], reading: OpenedExport
) -> Iterator[Record]:
    if isinstance(item.get("chat_messages"), list):
        yield from _claude_conversation(item, projects, reading)
    elif "conversations_memory" in item or "project_memories" in item:
        yield from _claude_memories(item, projects)
    elif "docs" in item or "prompt_template" in item:
        projects[text_value(item.get("uuid"))] = text_value(item.get("name")).strip()
        yield from _claude_project(item)
    else:
        name = text_value(item.get("name")) or f"record {number}"
        reading.leave(name, "it is no conversation and no project")


# --- conversations ----------------------------------------------------------------------


def _claude_conversation(
    chat: Mapping[str, Any], projects: Mapping[str, str], reading: OpenedExport
) -> Iterator[TalkRecord]:
    messages = object_values(chat["chat_messages"])
    said = tuple(entry for message in messages for entry in _claude_turns(message, reading))
    if not said:
        reading.passed["conversations without a message"] += 1
        return
    home = mapping_value(chat.get("project"))
    uuid = text_value(home.get("uuid") or chat.get("project_uuid"))
    yield TalkRecord(
        id=text_value(chat.get("uuid")).strip() or said[0].id,
        title=text_value(chat.get("name")).strip(),
        said=said,
        summary=text_value(chat.get("summary")).strip(),
        project=text_value(home.get("name")).strip() or projects.get(uuid, ""),
        source="claude",
        created=moment_value(chat.get("created_at")) or next((s.at for s in said if s.at), None),
        updated=moment_value(chat.get("updated_at")),
    )


def _claude_turns(message: Mapping[str, Any], reading: OpenedExport) -> Iterator[TalkTurn]:
    """A message, what was attached to it, and what Claude made in it."""
    id_, at = text_value(message.get("uuid")), moment_value(message.get("created_at"))
    kind = _SENDERS.get(text_value(message.get("sender")), "message")
    blocks = object_values(message.get("content"))
    written = "\n\n".join(text_value(b.get("text")) for b in blocks if b.get("type") == "text")
    written = written if written.strip() else text_value(message.get("text"))
    for number, attached in enumerate(object_values(message.get("attachments"))):
        body = text_value(attached.get("extracted_content"))
        name = text_value(attached.get("file_name")) or "pasted text"
        if body.strip():
            yield TalkTurn(f"{id_}/attachment/{number}", "attachment", f"{name}\n\n{body}", at)
    if written.strip():
        yield TalkTurn(id_, kind, written, at)
    for number, block in enumerate(blocks):
        made = mapping_value(block.get("input"))
        if block.get("type") == "tool_use" and block.get("name") == "artifacts":
            title, body = text_value(made.get("title")), text_value(made.get("content"))
            if body.strip():
                whole = f"{title}\n\n{body}" if title else body
                yield TalkTurn(f"{id_}/artifact/{number}", "artifact", whole, at)
        elif block.get("type") != "text":
            reading.passed[_OTHER] += 1


# --- projects, memory -------------------------------------------------------------------


def _claude_project(item: Mapping[str, Any]) -> Iterator[MemoryRecord]:
    name, uuid = text_value(item.get("name")).strip(), text_value(item.get("uuid"))
    created = moment_value(item.get("created_at"))
    for what, type_ in (("prompt_template", "procedural"), ("description", "semantic")):
        said = text_value(item.get(what))
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
    for doc in object_values(item.get("docs")):
        said = text_value(doc.get("content"))
        if said.strip():
            file = text_value(doc.get("filename"))
            yield MemoryRecord(
                id=text_value(doc.get("uuid")) or f"{uuid}/{file}",
                text=said,
                title=file.removesuffix(".md"),
                project=name,
                source=f"claude; file={file}" if file else "claude",
                created=moment_value(doc.get("created_at")) or created,
            )


def _claude_memories(
    item: Mapping[str, Any], projects: Mapping[str, str]
) -> Iterator[MemoryRecord]:
    owner = text_value(item.get("account_uuid"))
    given = {"": item.get("conversations_memory"), **mapping_value(item.get("project_memories"))}
    for uuid, said in given.items():
        if text_value(said).strip():
            name = projects.get(uuid, "")
            yield MemoryRecord(
                id=f"memory/{owner}/{uuid}",
                text=text_value(said),
                title=f"What Claude remembers about {name}" if name else "What Claude remembers",
                project=name,
                source="claude",
            )
