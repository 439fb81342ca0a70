"""What that system shows of the whole: its graph, its status, a context, four resources."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base.local_time import local_time
from vaultmem.errors import NotFound
from vaultmem.notes.note import one_line
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import Given, picked_fields
from vaultmem.surfaces.dialects.surreal.schemas import RESOURCES
from vaultmem.surfaces.dialects.surreal.session_starts import session_start
from vaultmem.surfaces.dialects.surreal.shapes import (
    plain_surreal_session,
    pretty_surreal_json,
    shown_surreal_memory,
    surreal_caveats,
    surreal_degraded,
    whole_surreal_memories,
)
from vaultmem.surfaces.mcp.resources import EDGES, ENTITIES
from vaultmem.surfaces.mcp.schemas import SCOPES, TYPES

if TYPE_CHECKING:
    from vaultmem.operations.sessions import SessionSummary
    from vaultmem.vault import Vault

_SECTIONS: Final = (
    *("preferences", "project_context"),
    *("session_history", "relevant_procedures"),
)
_HEADINGS: Final = {
    "## Memory context": "## Memory Context",
    "### User preferences": "### User Preferences",
    "### Project knowledge": "### Project Knowledge",
    "### Recent sessions": "### Recent Session",
    "### Relevant procedures": "### Relevant Procedures",
}


def _search_surreal_graph(vault: Vault, given: Given) -> dict[str, Any]:
    wanted = {name: value for name, value in given.items() if name != "entity"}
    found = vault.entity_graph.search_entities(given.get("entity"), **wanted)
    shown = ("name", "type", "relationships", "memory_count")
    ids = [memory.id for memory in found.memories]
    memories = whole_surreal_memories(vault, ids, counted=True)
    return {
        "entities": [picked_fields(entity, *shown) for entity in found.entities],
        "memories": [shown_surreal_memory(vault, memory) for memory in memories.values()],
        "graph_stats": found.graph_stats,
    } | surreal_caveats(found.warnings or ())


def surreal_status(began: dt.datetime, vault: Vault, given: Given) -> dict[str, Any]:
    status = answers.plain_answer(vault.status(type=TYPES))
    counts = status["counts"]
    told = {
        "connection": {name: status["connection"][name] for name in _CONNECTION},
        "counts": counts
        | {"by_scope": {name: counts["by_scope"][name] for name in SCOPES}}
        | {"by_type": {name: counts["by_type"][name] for name in TYPES}},
        "storage": status["storage"],
        "current_session": answers.plain_answer(_current_surreal_session(began, vault)),
    }
    behind = status["connection"]["status"] != "connected"
    return told | (
        surreal_degraded("The index is being rebuilt; search is partial.") if behind else {}
    )


def _current_surreal_session(began: dt.datetime, vault: Vault) -> dict[str, Any] | None:
    """As the session's summary counts it, so that both say the same."""
    if not vault.caller.session:
        return None
    told = vault.session_summary()
    return {
        "session_id": plain_surreal_session(told.session_id),
        "memories_this_session": told.memories_stored,
        "started_at": _surreal_session_start(began, vault, told),
    }


def _surreal_session_start(began: dt.datetime, vault: Vault, told: SessionSummary) -> dt.datetime:
    """Of one that was resumed, when it began first."""
    known = session_start(vault, told.session_id) or began
    return min(told.started_at, known) if told.started_at else known


_CONNECTION: Final = ("status", "mode", "path", "uptime_seconds", "version")


def _surreal_context(vault: Vault, given: Given) -> dict[str, Any]:
    found = vault.context(
        given.get("task_description"),
        files=given.get("files_in_context", ()),
        max_tokens=given.get("max_tokens", 2000),
        sections=given.get("sections") or _SECTIONS,
    )
    lines = found.context_block.split("\n")  # every memory's line begins with a dash
    answer = {
        "context_block": "\n".join(_HEADINGS.get(line, line) for line in lines),
        **picked_fields(found, "memories_used", "tokens_used", "truncated"),
    }
    return answer | surreal_caveats(found.warnings)


def _surreal_session_text(began: dt.datetime, vault: Vault) -> str:
    told = vault.session_summary()
    since = f" | Started: {local_time(_surreal_session_start(began, vault, told)):%Y-%m-%d %H:%M}"
    served = f"{told.queries} queries, {told.memories_served} unique memories served"
    lines = [
        "## Session Memory Summary",
        f"**Session:** {plain_surreal_session(told.session_id)}{since}",
        f"**Memories stored:** {told.memories_stored}{surreal_counts_by_type(told)}",
        f"**Memories recalled:** {served}",
        f"**Key topics:** {', '.join(told.topics) or 'none yet'}",
    ]
    return "\n".join(lines) + "\n"


def surreal_counts_by_type(told: SessionSummary) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in told.stored_by_type.items())
    return f" ({kinds})" if kinds else ""


def _surreal_graph_text(vault: Vault) -> str:
    """Entities, relationship types and density, as its document describes the resource."""
    found = vault.entity_graph.search_entities(include_memories=False, limit=ENTITIES)
    stats = found.graph_stats
    entities, ways = stats.total_entities or 0, stats.relationships_found
    types = Counter(r.type for each in found.entities for r in each.relationships)
    density = ways / (entities * (entities - 1)) if entities > 1 else 0.0
    lines = [
        "## Knowledge graph",
        "",
        f"{entities} entities, {ways} relationships, density {density:.2f}",
        f"Relationship types: {', '.join(sorted(types)) or 'none yet'}",
        "",
    ]
    for each in found.entities:
        lines.append(f"- **{each.name}** ({each.type}, {each.memory_count} memories)")
        outgoing = [r for r in each.relationships if r.direction == "outgoing"]
        lines += [f"  - {r.type} → {r.target}" for r in outgoing[:EDGES]]
    return "\n".join(map(one_line, lines)) + "\n"


def read_surreal_resource(began: dt.datetime, vault: Vault, uri: str) -> tuple[str, str]:
    kind = next((each["mimeType"] for each in RESOURCES if each["uri"] == uri), None)
    if kind is None:
        raise NotFound(f"There is no resource {uri}; resources/list names those there are.")
    if uri == "memory://status":
        return kind, pretty_surreal_json(surreal_status(began, vault, {}))
    if uri == "memory://session/summary":
        return kind, _surreal_session_text(began, vault)
    if uri == "memory://project/knowledge-graph":
        return kind, _surreal_graph_text(vault)
    from vaultmem.surfaces.mcp import resources

    text: str = resources.read_resource(vault, uri)["contents"][0]["text"]
    return kind, text


RUN: Final = {  # of these the status needs to know when the server began
    "search_knowledge_graph": _search_surreal_graph,
    "get_memory_context": _surreal_context,
}
