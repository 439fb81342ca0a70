"""claude-mem: what it observed of coding sessions, from its export or its database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from vaultmem.transfer.sources.databases import is_sqlite, open_database
from vaultmem.transfer.sources.json_stream import export_items
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import (
    Record,
    TalkRecord,
    TalkTurn,
    mapping_value,
    moment_value,
    object_values,
    text_value,
    word_values,
)

EXPECTED: Final = "claude-mem's export (JSON with observations, sessions, summaries and prompts), or its claude-mem.db"
DATABASE: Final = "claude-mem.db"
_KINDS: Final = {
    "sessions": "sdk_sessions",
    "observations": "observations",
    "summaries": "session_summaries",
    "prompts": "user_prompts",
}
_SUMMARY: Final = (
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
)
_WORD: Final = re.compile(r"[^\w-]+")

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def read_export(reading: OpenedExport) -> Iterator[Record]:
    path = reading.path / DATABASE if reading.path.is_dir() else reading.path
    if is_sqlite(path):
        with open_database(path) as tables:
            rows = {kind: tables.table_rows(table, "id") for kind, table in _KINDS.items()}
        yield from _claude_mem_talks(rows, reading)
        return
    for number, item in export_items(reading, r".*\.json"):
        found = {kind: object_values(mapping_value(item).get(kind)) for kind in _KINDS}
        if any(found.values()):
            yield from _claude_mem_talks(found, reading)
        else:
            reading.leave(f"record {number}", "it has no observations, summaries or prompts")


def _claude_mem_talks(found: Rows, reading: OpenedExport) -> Iterator[TalkRecord]:
    """One journal for each session, in the order in which they began."""
    known = {_claude_mem_session(row): row for row in found["sessions"] if _claude_mem_session(row)}
    # Prompts carry the editor's own name of a session, and in the database its number.
    names = {text_value(row.get("content_session_id")): name for name, row in known.items()}
    names |= {text_value(row.get("claude_session_id")): name for name, row in known.items()}
    numbers = {row.get("id"): name for name, row in known.items()}
    said: dict[str, list[TalkTurn]] = {name: [] for name in known}
    rows_of: dict[str, Mapping[str, Any]] = dict(known)
    for row in found["observations"]:
        if (made := _claude_mem_observation(row)) is None:
            reading.leave(f"observation {text_value(row.get('id'))}", "it has no text")
            continue
        said.setdefault(_claude_mem_session(row), []).append(made)
        rows_of.setdefault(_claude_mem_session(row), row)
    for row in found["prompts"]:
        own = text_value(row.get("content_session_id")) or text_value(row.get("claude_session_id"))
        name = names.get(own) or numbers.get(row.get("session_db_id"))
        name = name or _claude_mem_session(row) or own
        if prompt := text_value(row.get("prompt_text")).strip():
            id_ = _claude_mem_id("prompt", row, prompt)
            entry = TalkTurn(id_, "prompt", prompt, _claude_mem_time(row))
            said.setdefault(name, []).append(entry)
            rows_of.setdefault(name, row)
    summaries: dict[str, list[Mapping[str, Any]]] = {}
    for row in found["summaries"]:
        summaries.setdefault(_claude_mem_session(row), []).append(row)
        said.setdefault(_claude_mem_session(row), [])
        rows_of.setdefault(_claude_mem_session(row), row)
    reading.total += len(said)
    for name, entries in said.items():
        if talk := _claude_mem_talk(name, rows_of[name], entries, summaries.get(name, [])):
            yield talk
        else:
            reading.passed["sessions in which nothing was observed"] += 1


def _claude_mem_talk(
    name: str,
    row: Mapping[str, Any],
    entries: list[TalkTurn],
    summaries: Sequence[Mapping[str, Any]],
) -> TalkRecord | None:
    summary = "\n\n".join(filter(None, map(_claude_mem_summary, summaries)))
    if not entries and not summary:
        return None
    timed = sorted(entries, key=lambda each: each.at.timestamp() if each.at else 0.0)
    asked = next((found for s in summaries if (found := text_value(s.get("request")).strip())), "")
    title = asked or text_value(row.get("user_prompt")) or next((s.text for s in timed), "")
    began = moment_value(row.get("started_at_epoch")) or moment_value(row.get("started_at"))
    first = next((each.at for each in timed if each.at), None)
    return TalkRecord(
        id=name or "without-session",
        title=title,
        said=tuple(timed),
        summary=summary,
        project=text_value(row.get("project")).strip(),
        source="claude-mem",
        created=began or first or _claude_mem_time(row),
    )


def _claude_mem_session(row: Mapping[str, Any]) -> str:
    return text_value(row.get("memory_session_id") or row.get("sdk_session_id")).strip()


def _claude_mem_time(row: Mapping[str, Any]) -> Any:
    return moment_value(row.get("created_at_epoch")) or moment_value(row.get("created_at"))


def _claude_mem_id(kind: str, row: Mapping[str, Any], said: str) -> str:
    """Numbers differ from one database to the next; what was said, and when, does not."""
    return f"{kind}:{text_value(row.get('created_at_epoch')) or text_value(row.get('created_at'))}:{said[:200]}"


def _claude_mem_observation(row: Mapping[str, Any]) -> TalkTurn | None:
    """Its parts as Markdown: title, subtitle, narrative, facts, files."""
    names = ("title", "subtitle", "narrative", "text")
    lines = [text_value(row.get(name)).strip() for name in names]
    facts = "\n".join(f"- {' '.join(fact.split())}" for fact in word_values(row.get("facts")))
    files = ", ".join(word_values(row.get("files_modified")))
    said = list(dict.fromkeys(filter(None, [*lines, facts, files and f"Files: {files}"])))
    if not said:
        return None
    kind = _WORD.sub("-", text_value(row.get("type")).strip()).strip("-")[:50] or "note"
    whole = "\n\n".join(said)
    id_, tags = _claude_mem_id("seen", row, whole), word_values(row.get("concepts"))
    return TalkTurn(id_, kind, whole, _claude_mem_time(row), tags)


def _claude_mem_summary(row: Mapping[str, Any]) -> str:
    said = ((title, text_value(row.get(name)).strip()) for name, title in _SUMMARY)
    return "\n\n".join(f"**{title}:** {each}" for title, each in said if each)
