"""Importing from other systems, and exporting to files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Progress = Callable[[int, int], None]  # how much is done of how much

# What can be imported, and what to: each with one line about it.
SOURCES: Final = {
    "basic-memory": "A basic-memory project: its folder.",
    "server-memory": "The MCP reference memory server: its memory.jsonl.",
    "mem0": "mem0: memories as JSON (get_all, an export), or its plugin's Markdown export.",
    "claude-mem": "claude-mem: its export as JSON, or its claude-mem.db.",
    "mempalace": "MemPalace: a palace's folder, if it is kept in Chroma or SQLite.",
    "chatgpt": "ChatGPT's data export: the zip, its folder, or conversations.json.",
    "claude": "Claude's data export: the zip, its folder, or conversations.json.",
    "claude-code": "Claude Code's transcripts of past sessions; without PATH those of this machine.",
    "codex": "Codex's transcripts of past sessions; without PATH those of this machine.",
    "okf": "A bundle in the Open Knowledge Format (OKF): its folder.",
    "folder": "A folder of Markdown notes.",
    "jsonl": "Lines of JSON, as vaultmem writes them (`export jsonl`).",
}
TARGETS: Final = {
    "jsonl": "A line of JSON for each note; - for standard output.",
    "okf": "A zip with a bundle in the Open Knowledge Format (OKF) 0.2.",
    "zip": "The notes themselves, in a zip that is a vault when it is unpacked.",
}
