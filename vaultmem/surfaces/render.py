"""Notes and findings as the JSON that the contract promises."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import asdict
from typing import Any

from vaultmem.doctor import Finding
from vaultmem.note import Note, printable, version


def to_json(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def rfc3339(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def memory(note: Note) -> dict[str, Any]:
    """One memory in full, as `get_memories` lists it."""
    return {
        "id": note.id or note.path,
        "path": note.path,
        "title": note.title,
        "content": note.body.removesuffix("\n").removesuffix("\r"),
        "type": note.string("type") or None,
        "scope": note.string("scope") or None,
        "project": note.string("project") or None,
        "tags": list(note.tags),
        "aliases": list(note.aliases),
        "importance": note.number("importance"),
        "version": version(note.raw),
        "created_at": rfc3339(note.created),
        "updated_at": rfc3339(note.updated),
        "forgotten": note.flag("forgotten"),
        "properties": dict(note.properties),
        "facts": [asdict(fact) for fact in note.facts],
        "observations": [asdict(observation) for observation in note.observations],
        "problems": [asdict(problem) for problem in note.problems],
    }


def finding(found: Finding) -> dict[str, str]:
    return asdict(found)
