"""Results as the JSON that the contract promises."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from vaultmem.notes.note import printable

if TYPE_CHECKING:
    from vaultmem.indexing.reconcile import ReconcileReport
    from vaultmem.operations.graphs.graph import Entity, Relationship


_WARNINGS: Final = (4, 300)  # how many are said, and characters of each


def to_json(value: Any) -> str:
    return json.dumps(plain_json(value), ensure_ascii=False, indent=2, allow_nan=False)


def plain_json(value: Any) -> Any:
    """Any result as JSON-ready values; its field names are the contract's names."""
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, bool):
        return value
    # JSON has no word for infinity or "not a number", and Python prints no endless integer.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() < 4096 else hex(value)
    if isinstance(value, dt.date):
        return rfc3339(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): plain_json(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain_json, value), key=str)
    if isinstance(value, Iterable):
        return [plain_json(item) for item in value]
    if is_dataclass(value):
        return _rendered_fields(value)
    return printable(str(value))  # a path


def _rendered_fields(value: Any) -> dict[str, Any]:
    """A field that is None by default is left out when it is None."""
    pairs = ((each, plain_json(getattr(value, each.name))) for each in fields(value))
    return {each.name: item for each, item in pairs if item is not None or each.default is not None}


def rfc3339(moment: dt.date) -> str:
    """In UTC, to the second; a moment without a zone is UTC already."""
    if not isinstance(moment, dt.datetime):
        return moment.isoformat()
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC)
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def short_text(text: str, most: int) -> str:
    """So many characters of it at most, cut at a word."""
    if len(text) <= most:
        return text
    cut = text[:most].rpartition(" ")[0] or text[:most]
    return f"{cut.removesuffix(' …')} …"


def first_warnings(warnings: Sequence[str] | None) -> list[str] | None:
    most, length = _WARNINGS
    said = [w if len(w) <= length else f"{w[:length]}…" for w in (warnings or ())[:most]]
    return said or None


def directed_edge(entity: Entity, each: Relationship) -> tuple[str, str, str]:
    """A connection of the graph, whichever end it was seen from."""
    if each.direction == "outgoing":
        return entity.name, each.type, each.target
    return each.target, each.type, entity.name


def reconcile_report_json(done: ReconcileReport) -> dict[str, Any]:
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
