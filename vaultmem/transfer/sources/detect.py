"""What a file or folder looks like, so that a wrong word before it is put right in a sentence."""

from __future__ import annotations

import re
import shlex
import sqlite3
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.moving import SOURCES, claude_mem, mempalace, opening
from vaultmem.moving.opening import Reading, is_sqlite, parts, values
from vaultmem.note import parse

_LOOKED_AT: Final = 20  # items, or notes of a folder
_JSON: Final = r"(?:.*/)?[^/]+\.jsonl?"
_PERMALINK: Final = re.compile(rb"^permalink:", re.MULTILINE)
_MEM0: Final = re.compile(r"---[ \t]*\nid:.*\n(?:[A-Za-z_]+:.*\n)*---[ \t]*\n")
_TELLING: Final = ("conversations.json", "conversations-000.json")


def looks_like(path: Path) -> str:
    """The source whose file this is; empty when none of ours."""
    try:
        return _looks_like(path)
    except (VaultmemError, OSError, sqlite3.Error):
        return ""


def _looks_like(path: Path) -> str:
    if is_sqlite(path):
        return _by_tables(path)
    if path.is_dir():
        return _folder(path)
    if path.suffix.lower() == ".md":
        start = path.read_bytes()[:2000].decode(errors="replace").replace("\r\n", "\n")
        return "mem0" if _MEM0.match(start) else ""
    if zipfile.is_zipfile(path):
        return next((found for part in _telling(path) if (found := _by_items(part))), "")
    return _by_items(parts(path, _JSON)[0])


def _telling(path: Path) -> list[opening.Part]:
    found = parts(path, _JSON)
    return sorted(found, key=lambda part: part.name.rpartition("/")[2] not in _TELLING)


def _by_tables(path: Path) -> str:
    with opening.database(path) as db:
        tables = {row["name"] for row in db.execute("SELECT name FROM sqlite_master")}
    if {"observations", "sdk_sessions"} <= tables:
        return "claude-mem"
    known = {"embedding_metadata"}, {"documents", "collections"}, {"triples", "entities"}
    return "mempalace" if any(some <= tables for some in known) else ""


def _folder(path: Path) -> str:
    if (path / claude_mem.DATABASE).exists():
        return "claude-mem"
    stores = (*mempalace.STORES, mempalace.GRAPH, f"palace/{mempalace.STORES[0]}")
    if any((path / name).exists() for name in stores):
        return "mempalace"
    for name in _TELLING:
        if (path / name).exists():
            return _by_items(parts(path / name, ".*")[0])
    notes = [file for file in path.rglob("*.md") if file.is_file()]
    some = (file.read_bytes()[:4000] for file in notes[:_LOOKED_AT])
    if any(_PERMALINK.search(start) and parse(start).string("permalink") for start in some):
        return "basic-memory"
    return "folder" if notes else ""


def _by_items(part: opening.Part) -> str:
    for number, item in enumerate(values(part, Reading(Path(part.name)))):
        if isinstance(item, dict) and (found := _by_fields(item)):
            return found
        if number >= _LOOKED_AT:
            break
    return ""


def _by_fields(item: Mapping[str, Any]) -> str:
    for source, fields in _FIELDS:
        if all(field in item for field in fields):
            return source
    return ""


_FIELDS: Final = (
    ("chatgpt", ("mapping",)),
    ("claude", ("chat_messages",)),
    ("claude", ("docs", "prompt_template")),
    ("claude-mem", ("observations", "summaries")),
    ("server-memory", ("entities", "relations")),
    ("server-memory", ("type", "name", "entityType")),
    ("server-memory", ("type", "from", "to")),
    ("jsonl", ("content", "frontmatter", "path")),
    ("mem0", ("memory",)),
    ("mem0", ("results",)),
    ("mem0", ("memories",)),
    ("jsonl", ("content",)),
)


def wrong_kind(path: Path, source: str, expected: str, why: str) -> InvalidInput:
    """The sentence for a file that is not what it was said to be."""
    found = looks_like(path)
    name = path.name or str(path)
    if found and found != source:
        return InvalidInput(
            f"{name} does not look like {expected}. It looks like {found}; "
            f"try: vaultmem import {found} {shlex.quote(str(path))}"
        )
    return InvalidInput(f"{name} does not look like {expected}. {why}{_of_notes(path)}".rstrip())


def unknown(path: Path) -> InvalidInput:
    known = f"There are: {', '.join(SOURCES)}."
    return InvalidInput(
        f"{path.name} looks like nothing that can be imported.{_of_notes(path) or f' {known}'}"
    )


def _of_notes(path: Path) -> str:
    """The way for a zip that holds notes, such as our own."""
    try:
        notes = zipfile.is_zipfile(path) and parts(path, r".*\.md")
    except (VaultmemError, OSError):
        return ""
    return " It is a zip of notes: unpack it, and import the folder." if notes else ""
