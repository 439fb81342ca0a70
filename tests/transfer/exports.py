"""Exports as other systems write them, ordinary records and hostile ones."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HOUR = 3600.0
START = 1_714_557_600.0  # 2024-05-01T10:00:00Z


def write(file: Path, data: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return file


def lines(file: Path, items: Sequence[Any]) -> Path:
    text = "\n".join(i if isinstance(i, str) else json.dumps(i, ensure_ascii=False) for i in items)
    file.write_text(text, encoding="utf-8")
    return file


# --- server-memory ----------------------------------------------------------------------------


def server_memory(file: Path) -> Path:
    return lines(
        file,
        [
            entity("AuthService", "service", ["Signs tokens with RS256", "Owned by Me 🚀"]),
            entity("Keychain", "component", []),
            relation("AuthService", "depends on", "Keychain"),
            relation("AuthService", "stores keys in", "Vault of secrets"),
        ],
    )


def entity(name: Any, kind: Any, observations: Any) -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": observations}


def relation(source: Any, kind: Any, target: Any) -> dict[str, Any]:
    return {"type": "relation", "from": source, "to": target, "relationType": kind}


# --- mem0 -------------------------------------------------------------------------------------


def mem0_record(number: int, text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "id": f"0b1c2d3e-0000-4000-8000-{number:012d}",
        "memory": text or f"Prefers plan number {number} for the release",
        "hash": "5f3c",
        "user_id": "default_user",
        "created_at": "2024-07-01T12:00:00.123456-07:00",
        "updated_at": None,
        **more,
    }


def mem0(file: Path, records: Sequence[Any] = ()) -> Path:
    return write(file, {"results": list(records) or [mem0_record(n) for n in range(3)]})


# --- claude-mem -------------------------------------------------------------------------------

SESSIONS = [
    {
        "id": 1,
        "content_session_id": "editor-1",
        "memory_session_id": "session-1",
        "project": "Atlas",
        "user_prompt": "Fix the login",
        "started_at": "2025-12-10T10:00:00.000Z",
        "started_at_epoch": 1765360800000,
        "status": "completed",
    },
    {
        "id": 2,
        "content_session_id": "editor-2",
        "memory_session_id": "session-2",
        "project": "Atlas",
        "user_prompt": None,
        "started_at": "2025-12-11T10:00:00.000Z",
        "started_at_epoch": 1765447200000,
        "status": "active",
    },
]
OBSERVATIONS = [
    {
        "id": 11,
        "memory_session_id": "session-1",
        "project": "Atlas",
        "text": None,
        "type": "bugfix",
        "title": "Login loops on expired tokens",
        "subtitle": "The refresh ran twice",
        "facts": '["Grace period is 5 minutes", "Only on Safari"]',
        "narrative": "Two tabs refreshed at once.",
        "concepts": '["problem-solution", "auth tokens"]',
        "files_read": "[]",
        "files_modified": '["src/auth.py"]',
        "prompt_number": 1,
        "created_at": "2025-12-10T10:05:00.000Z",
        "created_at_epoch": 1765361100000,
    },
    {
        "id": 12,
        "memory_session_id": "session-1",
        "project": "Atlas",
        "text": "Sign with RS256 ``` %% <!-- #not-a-tag",
        "type": "decision",
        "title": None,
        "facts": None,
        "concepts": None,
        "created_at": "2025-12-10T10:06:00.000Z",
        "created_at_epoch": 1765361160000,
    },
]
SUMMARIES = [
    {
        "id": 21,
        "memory_session_id": "session-1",
        "project": "Atlas",
        "request": "Fix the login",
        "investigated": "The refresh",
        "learned": "Two tabs race",
        "completed": "A lock",
        "next_steps": None,
        "notes": "",
        "created_at": "2025-12-10T11:00:00.000Z",
        "created_at_epoch": 1765364400000,
    }
]
PROMPTS = [
    {
        "id": 31,
        "session_db_id": 1,
        "content_session_id": "editor-1",
        "prompt_number": 1,
        "prompt_text": "The login loops. Why?",
        "created_at": "2025-12-10T10:00:01.000Z",
        "created_at_epoch": 1765360801000,
    }
]


def claude_mem(file: Path) -> Path:
    return write(
        file,
        {
            "exportedAt": "2025-12-12T00:00:00.000Z",
            "query": "login",
            "totalObservations": 2,
            "observations": OBSERVATIONS,
            "sessions": SESSIONS,
            "summaries": SUMMARIES,
            "prompts": PROMPTS,
        },
    )


def claude_mem_database(file: Path) -> Path:
    tables = {
        "sdk_sessions": SESSIONS,
        "observations": OBSERVATIONS,
        "session_summaries": SUMMARIES,
        "user_prompts": PROMPTS,
    }
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA journal_mode=WAL")
        for table, rows in tables.items():
            _fill(db, table, rows)
    db.close()
    return file


def _fill(db: sqlite3.Connection, table: str, rows: Sequence[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    db.execute(f"CREATE TABLE {table} ({', '.join(names)})")
    marks = ", ".join("?" * len(names))
    for row in rows:
        db.execute(f"INSERT INTO {table} VALUES ({marks})", [row.get(name) for name in names])


# --- MemPalace --------------------------------------------------------------------------------

DRAWERS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "drawer_atlas_auth_1",
        "We chose RS256 because the gateway has no private key.",
        {"wing": "atlas", "room": "auth", "filed_at": "2026-01-05T09:00:00", "chunk_index": 0},
    ),
    (
        "drawer_atlas_chats_2",
        "Me: shall we ship on Friday?\n\nNo, on Monday.",
        {
            "wing": "atlas",
            "room": "planning",
            "source_file": "chats/one.jsonl",
            "ingest_mode": "convos",
            "authored_at": "2026-01-06T10:00:00",
            "filed_at": "2026-02-01T09:00:00",
        },
    ),
    ("registry_1", "seen", {"ingest_mode": "registry", "wing": "atlas"}),
]


def mempalace(folder: Path) -> Path:
    """A palace in Chroma, its graph beside it."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "chroma.sqlite3") as db:
        db.executescript(
            """
            CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);
            CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT);
            CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT,
                int_value INTEGER, float_value REAL, bool_value INTEGER);
            INSERT INTO collections VALUES ('c1', 'mempalace_drawers'), ('c2', 'mempalace_closets');
            INSERT INTO segments VALUES ('s1', 'sqlite', 'METADATA', 'c1'),
                ('s2', 'sqlite', 'METADATA', 'c2');
            INSERT INTO embeddings VALUES (99, 's2', 'closet_1');
            INSERT INTO embedding_metadata VALUES (99, 'chroma:document', 'a summary', 0, 0, 0);
            """
        )
        for number, (name, document, meta) in enumerate(DRAWERS, 1):
            db.execute("INSERT INTO embeddings VALUES (?, 's1', ?)", (number, name))
            for key, value in {"chroma:document": document, **meta}.items():
                column = "int_value" if isinstance(value, int) else "string_value"
                sql = f"INSERT INTO embedding_metadata (id, key, {column}) VALUES (?, ?, ?)"
                db.execute(sql, (number, key, value))
    db.close()
    mempalace_graph(folder / "knowledge_graph.sqlite3")
    return folder


def mempalace_exact(folder: Path) -> Path:
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "sqlite_exact.sqlite3") as db:
        db.executescript(
            """
            CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE documents (collection_id INTEGER, id TEXT, document TEXT,
                metadata_json TEXT, PRIMARY KEY (collection_id, id));
            INSERT INTO collections VALUES (1, 'mempalace_drawers');
            """
        )
        for name, document, meta in DRAWERS:
            db.execute(
                "INSERT INTO documents VALUES (1, ?, ?, ?)", (name, document, json.dumps(meta))
            )
    db.close()
    return folder


def mempalace_graph(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.executescript(
            """
            CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT, type TEXT, properties TEXT,
                created_at TEXT);
            CREATE TABLE triples (id TEXT PRIMARY KEY, subject TEXT, predicate TEXT, object TEXT,
                valid_from TEXT, valid_to TEXT, confidence REAL, source_closet TEXT,
                source_file TEXT);
            INSERT INTO entities VALUES ('authservice', 'AuthService', 'component', '{}', NULL),
                ('keychain', 'Keychain', 'unknown', '{}', NULL);
            INSERT INTO triples VALUES
                ('t1', 'authservice', 'depends_on', 'keychain', '2026-01-28', NULL, 0.9, NULL,
                 'notes.md'),
                ('t2', 'authservice', 'deployed_version', '2.4.1', '2026-05-10', '2026-06-01',
                 1.0, NULL, NULL);
            """
        )
    db.close()


# --- chats ------------------------------------------------------------------------------------


def node(name: str, parent: str | None, role: str = "", text: Any = "", **more: Any) -> Any:
    """One node of a ChatGPT conversation's tree."""
    message = None
    if role:
        content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
        message = {
            "id": f"message-{name}",
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": more.pop("at", START),
            "content": content,
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {},
            **more,
        }
    return {"id": name, "message": message, "parent": parent, "children": []}


def chatgpt_chat(number: int, *nodes: Any, current: str = "", **more: Any) -> dict[str, Any]:
    mapping = {each["id"]: each for each in nodes}
    for each in nodes:
        if each["parent"] in mapping:
            mapping[each["parent"]]["children"].append(each["id"])
    return {
        "title": f"Choosing a database {number}",
        "create_time": START + number * HOUR,
        "update_time": START + number * HOUR + 60,
        "mapping": mapping,
        "current_node": current or (nodes[-1]["id"] if nodes else None),
        "conversation_id": f"8f3a2b1c-{number}",
        "id": f"8f3a2b1c-{number}",
        **more,
    }


def chatgpt_ordinary(number: int = 1) -> dict[str, Any]:
    return chatgpt_chat(
        number,
        node("root", None),
        node("system", "root", "system", "", at=None),
        node("ask", "system", "user", "Which database for metrics? 📈\n\n- fast\n- small"),
        node("first", "ask", "assistant", "An answer that was thrown away", at=START + 1),
        node("think", "ask", "assistant", {"content_type": "thoughts", "thoughts": []}, at=START),
        node("answer", "think", "assistant", "Use **Postgres**.\r\nIt is enough.", at=START + 5),
        node(
            "picture",
            "answer",
            "user",
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer"}, "What is this?"],
            },
            at=START + 9,
        ),
        current="picture",
    )


def chatgpt(file: Path, chats: Sequence[Any] = ()) -> Path:
    return write(file, list(chats) or [chatgpt_ordinary(n) for n in range(1, 4)])


def claude_chat(number: int, *messages: Any, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"c1a0de00-{number}",
        "name": f"Naming things {number}",
        "summary": "",
        "created_at": f"2026-02-1{number}T10:04:22.123456Z",
        "updated_at": f"2026-02-1{number}T10:22:41.000000Z",
        "account": {"uuid": "a"},
        "chat_messages": list(messages),
        **more,
    }


def claude_message(name: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": name,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "sender": sender,
        "created_at": "2026-02-11T10:05:00.000000Z",
        "attachments": [],
        "files": [],
        **more,
    }


def claude(file: Path) -> Path:
    """The zip as it is sent: conversations, projects, memory."""
    made = {"type": "tool_use", "name": "artifacts", "input": {"title": "A poem", "content": "Oh."}}
    chats = [
        claude_chat(
            1,
            claude_message("m1", "human", "What shall I call it?"),
            claude_message(
                "m2",
                "assistant",
                "Call it `vaultmem`.\n\n```sh\nls\n```",
                content=[
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Call it `vaultmem`.\n\n```sh\nls\n```"},
                    made,
                ],
            ),
            claude_message(
                "m3",
                "human",
                "",
                attachments=[{"file_name": "spec.txt", "extracted_content": "It must be small."}],
            ),
            project={"uuid": "p1", "name": "Atlas"},
            summary="A name was found.",
        ),
        claude_chat(2),
    ]
    project = {
        "uuid": "p1",
        "name": "Atlas",
        "description": "A map of everything",
        "prompt_template": "Answer briefly.",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
        "docs": [{"uuid": "d1", "filename": "Roadmap.md", "content": "# Roadmap\n\n1. Ship."}],
    }
    memories = [{"conversations_memory": "Likes short answers.", "project_memories": {"p1": "Go."}}]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/conversations.json", json.dumps(chats))
        archive.writestr("data/projects/p1.json", json.dumps(project))
        archive.writestr("data/memories.json", json.dumps(memories))
        archive.writestr("data/users.json", "[]")
    return file


# --- folders ----------------------------------------------------------------------------------

NOTES = {
    "Plan.md": b"---\nzip: 00123 # keep\n---\r\nWe meet [[Deep note|there]] on Monday.\r\n",
    "deep/Deep note.md": "\ufeffNo properties, an emoji 🗺️, no newline at the end".encode(),
    "deep/er/latin1.md": b"caf\xe9\n",
    "picture.png": b"\x89PNG",
    ".obsidian/app.json": b"{}",
    ".hidden.md": b"not yours\n",
}


def folder(root: Path, notes: dict[str, bytes] | None = None) -> Path:
    for path, raw in (NOTES if notes is None else notes).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    return root


BASIC_MEMORY = {
    "specs/Auth flow.md": b"""---
title: Auth flow
type: note
permalink: main/specs/auth-flow
tags:
- auth
---

# Auth flow

## Observations
- [decision] Sign with RS256 #security (for the gateway)

## Relations
- depends_on [[Token store]]
- relates_to [[Auth flow]]
""",
    "specs/token-store.md": b"""---
title: Token store
type: note
permalink: main/specs/token-store
---
- [fact] Redis holds the tokens
""",
}
