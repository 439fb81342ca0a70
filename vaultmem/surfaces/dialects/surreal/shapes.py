"""How that system writes ids, warnings, errors and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import Given, picked_fields

if TYPE_CHECKING:
    from vaultmem.operations.results import Memory
    from vaultmem.vault import Vault

OF_EACH: Final = ("tags", "created_at", "access_count")  # memory that is shown
_UNUSABLE: Final = "the index cannot be used"


def plain_surreal_id(id: str) -> str:
    return f"memory:{id}"


def surreal_done(done: Any, *told: str) -> dict[str, Any]:
    """What was done to a memory."""
    return {"memory_id": plain_surreal_id(done.memory_id), **picked_fields(done, *told)}


def plain_surreal_session(id: str) -> str:
    return f"session:{id.removeprefix('session:')}"


def given_surreal_session(given: Given) -> str | None:
    named = given.get("session_id", "")
    return named.removeprefix("session:") or None


def surreal_tags(given: Iterable[str] | None) -> Sequence[str]:
    from vaultmem.notes.tags import as_tags

    return as_tags(given or ())


def whole_surreal_memories(
    vault: Vault, ids: Sequence[str], *, counted: bool = False
) -> dict[str, Memory]:
    return {memory.id: memory for memory in vault.get(ids, counted=counted).memories}


def shown_surreal_memory(vault: Vault, memory: Memory) -> dict[str, Any]:
    return {
        "id": plain_surreal_id(memory.id),
        **picked_fields(memory, "content", "type", "scope", "importance", *OF_EACH),
        "source": surreal_source(vault, memory.source),
    }


def surreal_source(vault: Vault, source: Any) -> dict[str, Any]:
    """An object there; a text here is the program that it came from, if that was another."""
    if isinstance(source, dict):
        return source
    return {"tool": source} if source and source != vault.caller.client else {}


def surreal_metadata(metadata: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Any value under any name there. A property's value is flat, and some names are ours."""
    from vaultmem.config import PROPERTIES

    for name, value in metadata.items():
        taken = name.strip().casefold() in (*PROPERTIES, "tag", "alias")
        items = value if isinstance(value, list) else [value]
        flat = not any(isinstance(item, dict | list) for item in items)
        yield (f"meta_{name}" if taken else name), (value if flat else answers.compact_json(value))


def surreal_caveats(warnings: Iterable[str]) -> dict[str, Any]:
    """Warnings in that system's shape; nothing where there are none."""
    told = []
    for warning in warnings:
        code, colon, message = warning.partition(": ")
        plain = {"code": "note", "message": warning}
        told.append({"code": code, "message": message} if colon and " " not in code else plain)
    unusable = next((each["message"] for each in told if _UNUSABLE in each["message"]), None)
    return ({"warnings": told} if told else {}) | (surreal_degraded(unusable) if unusable else {})


def surreal_degraded(message: str) -> dict[str, Any]:
    return {"degraded": True, "message": message}


def pretty_surreal_json(value: Any) -> str:
    made, _ = answers.shortened_answer(answers.plain_answer(value))
    return json.dumps(made, ensure_ascii=False, indent=2, allow_nan=False)
