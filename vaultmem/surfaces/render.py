"""Notes and findings as the JSON that the contract promises."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from vaultmem.note import Note, printable, version

if TYPE_CHECKING:
    from vaultmem.doctor import Finding
    from vaultmem.recall import Answer, Hit
    from vaultmem.service import Freshness, Status
    from vaultmem.sync import Report


def to_json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Any result as JSON-ready values; its field names are the contract's names."""
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, (dt.datetime, dt.date)):
        return rfc3339(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=str)
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    if is_dataclass(value):
        return _fields(value)
    return printable(str(value))  # a path


def _fields(value: Any) -> dict[str, Any]:
    """A field that is None by default is left out when it is None."""
    pairs = ((each, plain(getattr(value, each.name))) for each in fields(value))
    return {each.name: item for each, item in pairs if item is not None or each.default is not None}


def _number(value: int | float) -> int | float | str | None:
    """JSON has no word for infinity or "not a number", and Python prints no endless integer."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value.bit_length() < 4096 else hex(value)


def rfc3339(moment: dt.date | None) -> str | None:
    """In UTC, to the second; a moment without a zone is UTC already."""
    if not isinstance(moment, dt.datetime):
        return None if moment is None else moment.isoformat()
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC)
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + "Z"


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


def report(done: Report) -> dict[str, Any]:
    return {
        "added": done.added,
        "changed": done.changed,
        "moved": [{"from": old, "to": new} for old, new in done.moved],
        "removed": done.removed,
        "problems": [{"path": path, "message": message} for path, message in done.problems],
        "withheld": done.withheld,
        "revision": done.revision,
        "seconds": round(done.seconds, 3),
    }


def answer(found: Answer, fresh: Freshness, *, explain: bool = False) -> dict[str, Any]:
    """What `recall_memories` answers."""
    return {
        "memories": [_hit(hit, explain=explain) for hit in found.hits],
        "total_matched": found.total,
        "strategy_used": found.strategy,
        "query_time_ms": round(found.milliseconds, 1),
        "index": asdict(fresh),
        "warnings": found.warnings,
    }


def _hit(hit: Hit, *, explain: bool) -> dict[str, Any]:
    row = hit.row
    return {
        "id": row.id or row.path,
        "title": row.title,
        "path": row.path,
        "content": hit.passage,
        "snippet": hit.snippet,
        "heading": hit.heading,
        **({"block": hit.block} if hit.block else {}),
        "type": row.type,
        "scope": row.scope,
        "project": row.project or None,
        "importance": row.importance,
        "tags": list(row.tags),
        "created_at": _epoch(row.created),
        "relevance_score": round(hit.score, 4),
        "why": hit.why,
        **({"lanes": [asdict(lane) for lane in hit.lanes]} if explain else {}),
    }


def _epoch(seconds: int | None) -> str | None:
    return None if seconds is None else rfc3339(dt.datetime.fromtimestamp(seconds, dt.UTC))


def status(found: Status) -> dict[str, Any]:
    index = found.index
    return {
        "vault": str(found.vault),
        "index": {
            "revision": index.revision,
            "notes": index.notes,
            "passages": index.passages,
            "pending": index.passages - index.embedded,
            "skipped": [{"path": path, "reason": reason} for path, reason in index.skipped],
            "fulltext": index.fulltext,
            "model": found.model.name,
            "model_state": found.model.state,
            "model_reason": found.model.reason,
        },
        "following": found.following,
        "settings": {
            name: {"value": setting.value, "origin": setting.origin}
            for name, setting in found.settings.values.items()
        },
        "settings_problems": [problem.message for problem in found.settings.problems],
    }


def finding(found: Finding) -> dict[str, str]:
    return asdict(found)
