"""What a file or folder looks like, so that a wrong word before it is put right in a sentence."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path
from typing import Final

from vaultmem.base import small_files
from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.notes.note import parse
from vaultmem.transfer import SOURCES
from vaultmem.transfer.sources import claude_mem, mempalace, opening
from vaultmem.transfer.sources.databases import is_sqlite, open_database
from vaultmem.transfer.sources.json_stream import json_values
from vaultmem.transfer.sources.opening import OpenedExport, export_parts, is_zip_file
from vaultmem.transfer.transcripts import TRANSCRIPTS

_LOOKED_AT: Final = 20  # items, or notes of a folder
_MOST_LISTED: Final = 5_000  # files of a folder
_JSON: Final = r"(?:.*/)?[^/]+\.jsonl?"
_PERMALINK: Final = re.compile(rb"^permalink:", re.MULTILINE)
_MEM0: Final = re.compile(r"---[ \t]*\nid:.*\n(?:[A-Za-z_]+:.*\n)*---[ \t]*\n")
_TELLING: Final = ("conversations.json", "conversations-000.json")


def source_it_looks_like(path: Path) -> str:
    """The source whose file this is; empty when none of ours."""
    try:
        return _detect_by_content(path)
    except (VaultmemError, OSError):
        return ""


def _detect_by_content(path: Path) -> str:
    if is_sqlite(path):
        return _detect_by_tables(path)
    if path.is_dir():
        return _detect_in_folder(path)
    if path.suffix.lower() == ".md":
        start = with_unix_line_ends(_start_to_detect_by(path, 2000).decode(errors="replace"))
        return "mem0" if _MEM0.match(start) else ""
    if is_zip_file(path):
        found = export_parts(path, _JSON)
        found.sort(key=lambda part: part.name.rpartition("/")[2] not in _TELLING)
        return next(filter(None, map(_detect_by_items, found)), "")
    return _detect_by_items(export_parts(path, _JSON)[0])


def _detect_by_tables(path: Path) -> str:
    with open_database(path) as tables:
        if tables.have_tables("observations", "sdk_sessions"):
            return "claude-mem"
        known = ("embedding_metadata",), ("documents", "collections"), ("triples", "entities")
        return "mempalace" if any(tables.have_tables(*some) for some in known) else ""


def _detect_in_folder(path: Path) -> str:
    if (path / claude_mem.DATABASE).exists():
        return "claude-mem"
    stores = (*mempalace.STORES, mempalace.GRAPH, f"palace/{mempalace.STORES[0]}")
    if any((path / name).exists() for name in stores):
        return "mempalace"
    for name in _TELLING:
        if (path / name).exists():
            return _detect_by_items(export_parts(path / name, ".*")[0])
    if found := _detect_transcripts(path):
        return found
    if (path / "index.md").is_file() and b"okf_version:" in _start_to_detect_by(
        path / "index.md", 2000
    ):
        return "okf"
    named = (file for name, file in opening.files_in_folder(path) if name.lower().endswith(".md"))
    notes = list(itertools.islice(named, _LOOKED_AT))
    some = (_start_to_detect_by(file, 4000) for file in notes)
    if any(_PERMALINK.search(start) and parse(start).string("permalink") for start in some):
        return "basic-memory"
    return "folder" if notes else ""


def _detect_transcripts(path: Path) -> str:
    """By the first lines of the first files of lines: a program's folder may hold notes too."""
    files = itertools.islice(opening.files_in_folder(path), _MOST_LISTED)
    lines = (file for name, file in files if name.endswith(".jsonl"))
    looked = (export_parts(file, ".*")[0] for file in itertools.islice(lines, _LOOKED_AT))
    found = next(filter(None, map(_detect_by_items, looked)), "")
    return found if found in TRANSCRIPTS else ""


def _start_to_detect_by(file: Path, most: int) -> bytes:
    with small_files.open_plain_file(file, follow=True) as opened:
        return opened.read(most)


def _detect_by_items(part: opening.Part) -> str:
    for number, item in enumerate(json_values(part, OpenedExport(Path(part.name)))):
        for source, fields in _FIELDS if isinstance(item, dict) else ():
            if all(field in item for field in fields):
                return source
        if number >= _LOOKED_AT:
            break
    return ""


_FIELDS: Final = (
    ("claude-code", ("type", "sessionId")),
    ("codex", ("type", "timestamp", "payload")),
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


def wrong_source(path: Path, source: str, expected: str, why: str) -> InvalidInput:
    """The sentence for a file that is not what it was said to be."""
    found = source_it_looks_like(path)
    name = path.name or str(path)
    if found and found != source:
        return InvalidInput(
            f"{name} does not look like {expected}. It looks like {found}; "
            f"try: {command_to_type('import')} {found} {shlex.quote(str(path))}"
        )
    return InvalidInput(
        f"{name} does not look like {expected}. {why}{_detect_by_notes(path)}".rstrip()
    )


def unknown_source(path: Path) -> InvalidInput:
    known = f"There are: {', '.join(SOURCES)}."
    return InvalidInput(
        f"{path.name} looks like nothing that can be imported.{_detect_by_notes(path) or f' {known}'}"
    )


def _detect_by_notes(path: Path) -> str:
    """The way for a zip that holds notes, such as our own."""
    try:
        notes = is_zip_file(path) and export_parts(path, r".*\.md")
    except (VaultmemError, OSError):
        return ""
    return " It is a zip of notes: unpack it, and import the folder." if notes else ""
