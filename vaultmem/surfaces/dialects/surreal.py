"""The SurrealDB memory plugin: its ten tools and four resources.

Its write queue has no work here: a memory is a file before anything else is done with it, so a
write is never waiting for a database. Answers say what was missing instead.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base.local_time import local_time
from vaultmem.errors import InvalidInput, NotFound, StorageFull
from vaultmem.surfaces import answers
from vaultmem.surfaces.dialects import (
    INVALID_PARAMS,
    ClientConnection,
    Dialect,
    DialectError,
    DialectTool,
    Given,
    Resources,
    ServerOptions,
    picked_fields,
)
from vaultmem.surfaces.dialects.reach import require_forgettable
from vaultmem.surfaces.dialects.surreal_schemas import RESOURCES, TOOLS
from vaultmem.surfaces.mcp.schemas import SCOPES, TYPES

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.operations.results import Memory
    from vaultmem.operations.sessions import SessionSummary
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

_OF_EACH: Final = ("tags", "created_at", "access_count")  # memory that is shown
_UNUSABLE: Final = "the index cannot be used"
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


# --- memories --------------------------------------------------------------------------------


def _store_surreal_memory(vault: Vault, given: Given) -> dict[str, Any]:
    has_model = vault.load_model()  # that system embeds before it answers
    stored = vault.remember(
        given["content"],
        type=given["type"],
        scope=given["scope"],
        importance=given.get("importance"),
        tags=_surreal_tags(given.get("tags")),
        source=given.get("source"),
        related_entities=given.get("related_entities", ()),
        session_id=_given_surreal_session(given),
    )
    told = ("embedding_generated", "graph_edges_created", "scope", "type")
    answer = _surreal_done(stored, *told)
    if not stored.embedding_generated and not has_model:
        answer |= {"warning": "embedding_failed", "searchable_by": "keyword_only"}
    return answer | _surreal_caveats(
        [*stored.warnings, *_surreal_unembedded_warning(stored.embedding_generated, has_model)]
    )


def _surreal_unembedded_warning(done: bool, has_model: bool) -> Iterable[str]:
    if not done and has_model:
        yield "embedding_pending: the memory is found by its words, and soon by its meaning."
    elif not done:
        yield "embedding_failed: there is no model; the memory is stored, and found by its words."


def _recall_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    within = given.get("time_range", {})
    found = vault.recall(
        given["query"],
        scope=given.get("scope"),
        type=given.get("type") or TYPES,
        strategy=given.get("strategy", "hybrid"),
        limit=given.get("limit", 10),
        min_importance=given.get("min_importance"),
        tags=_surreal_tags(given.get("tags")),
        after=within.get("after"),
        before=within.get("before"),
        include_forgotten=given.get("include_forgotten", False),
        profile="seed",
        operators=False,
    )
    whole = _whole_surreal_memories(vault, [hit.id for hit in found.memories])
    memories = [
        {
            "id": _plain_surreal_id(hit.id),
            "content": whole[hit.id].content if hit.id in whole else hit.content,
            **picked_fields(hit, "type", "scope", "importance", "relevance_score", *_OF_EACH),
            "source": _surreal_source(vault, hit.source),
        }
        for hit in found.memories
    ]
    answer = {
        "memories": memories,
        **picked_fields(found, "total_matched", "strategy_used"),
        "query_time_ms": round(found.query_time_ms),
    }
    return answer | _surreal_caveats(found.warnings)


def _forget_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    require_forgettable(vault, given["memory_id"])
    done = vault.forget(given["memory_id"], reason=given.get("reason"))
    return _surreal_done(done, "status", "reason")


def _update_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    tags, entities = given.get("tags", {}), given.get("related_entities", {})
    if "content" in given:
        vault.load_model()
    done = vault.update(
        given["memory_id"],
        content=given.get("content"),
        importance=given.get("importance"),
        add_tags=_surreal_tags(tags.get("add")),
        remove_tags=_surreal_tags(tags.get("remove")),
        metadata=dict(_surreal_metadata(given.get("metadata", {}))),
        add_entities=entities.get("add") or (),
        remove_entities=entities.get("remove") or (),
        shown_whole=True,  # so recall has it there
    )
    version = {"version": vault.history(done.memory_id).number}
    answer = _surreal_done(done, "updated_fields", "re_embedded") | version
    return answer | _surreal_caveats(done.warnings)


def _tag_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    add, remove = _surreal_tags(given.get("add")), _surreal_tags(given.get("remove"))
    if add or remove:
        return _surreal_done(vault.tag(given["memory_id"], add=add, remove=remove), "tags")
    found = vault.get([given["memory_id"]]).memories
    if not found:
        raise NotFound(f"There is no memory {given['memory_id']!r}.")
    return {"memory_id": _plain_surreal_id(found[0].id), "tags": found[0].tags}


def _promote_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    done = vault.promote(given["memory_id"], given["target_scope"], reason=given.get("reason"))
    return _surreal_done(done, "previous_scope", "new_scope", "reason")


def _reflect_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    done = vault.consolidate(
        session_id=_given_surreal_session(given),
        strategy=given.get("strategy", "full"),
        dry_run=given.get("dry_run", False),
    )
    made = [
        {
            "id": _plain_surreal_id(memory.id) if memory.id else None,
            **picked_fields(memory, "content", "type"),
            "derived_from": [_plain_surreal_id(source) for source in memory.derived_from],
            "scope": memory.scope,
        }
        for memory in done.consolidated_memories
    ]
    patterns = [
        picked_fields(found, "pattern", "frequency", "suggested_scope")
        for found in done.patterns_detected
    ]
    return {
        "consolidated_memories": made,
        "patterns_detected": patterns,
        "session_stats": done.session_stats,
    }


# --- looking around --------------------------------------------------------------------------


def _search_surreal_graph(vault: Vault, given: Given) -> dict[str, Any]:
    wanted = {name: value for name, value in given.items() if name != "entity"}
    try:
        found = vault.search_graph(given.get("entity"), **wanted)
    except NotFound:  # that system finds nothing where we say so
        nothing = {"entities_traversed": 0, "relationships_found": 0, "depth_reached": 0}
        return {"entities": [], "memories": [], "graph_stats": nothing}
    shown = ("name", "type", "relationships", "memory_count")
    ids = [memory.id for memory in found.memories]
    memories = _whole_surreal_memories(vault, ids, counted=True)
    return {
        "entities": [picked_fields(entity, *shown) for entity in found.entities],
        "memories": [_shown_surreal_memory(vault, memory) for memory in memories.values()],
        "graph_stats": found.graph_stats,
    }


def _shown_surreal_memory(vault: Vault, memory: Memory) -> dict[str, Any]:
    return {
        "id": _plain_surreal_id(memory.id),
        **picked_fields(memory, "content", "type", "scope", "importance", *_OF_EACH),
        "source": _surreal_source(vault, memory.source),
    }


def _surreal_status(vault: Vault, given: Given) -> dict[str, Any]:
    status = answers.plain_answer(vault.status(type=TYPES))
    counts, session = status["counts"], status.get("current_session")
    told = {
        "connection": {name: status["connection"][name] for name in _CONNECTION},
        "counts": counts
        | {"by_scope": {name: counts["by_scope"][name] for name in SCOPES}}
        | {"by_type": {name: counts["by_type"][name] for name in TYPES}},
        "storage": status["storage"],
        "current_session": session
        and session | {"session_id": _plain_surreal_session(session["session_id"])},
    }
    behind = status["connection"]["status"] != "connected"
    return told | (
        _surreal_degraded("The index is being rebuilt; search is partial.") if behind else {}
    )


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
    return answer | _surreal_caveats(found.warnings)


def _surreal_session_text(vault: Vault) -> str:
    told = vault.session_summary()
    current = vault.status().current_session
    started = told.started_at or (current.started_at if current else None)
    since = f" | Started: {local_time(started):%Y-%m-%d %H:%M}" if started else ""
    served = f"{told.queries} queries, {told.memories_served} unique memories served"
    lines = [
        "## Session Memory Summary",
        f"**Session:** {_plain_surreal_session(told.session_id)}{since}",
        f"**Memories stored:** {told.memories_stored}{_surreal_counts_by_type(told)}",
        f"**Memories recalled:** {served}",
        f"**Key topics:** {', '.join(told.topics) or 'none yet'}",
    ]
    return "\n".join(lines) + "\n"


def _surreal_counts_by_type(told: SessionSummary) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in told.stored_by_type.items())
    return f" ({kinds})" if kinds else ""


def _read_surreal_resource(vault: Vault, uri: str) -> tuple[str, str]:
    kind = next((each["mimeType"] for each in RESOURCES if each["uri"] == uri), None)
    if kind is None:
        raise NotFound(f"There is no resource {uri}; resources/list names those there are.")
    if uri == "memory://status":
        return kind, _pretty_surreal_json(_surreal_status(vault, {}))
    if uri == "memory://session/summary":
        return kind, _surreal_session_text(vault)
    from vaultmem.surfaces.mcp import resources

    text: str = resources.read_resource(vault, uri)["contents"][0]["text"]
    return kind, text


# --- shapes ----------------------------------------------------------------------------------


def _plain_surreal_id(id: str) -> str:
    return f"memory:{id}"


def _surreal_done(done: Any, *told: str) -> dict[str, Any]:
    """What was done to a memory."""
    return {"memory_id": _plain_surreal_id(done.memory_id), **picked_fields(done, *told)}


def _plain_surreal_session(id: str) -> str:
    return f"session:{id.removeprefix('session:')}"


def _given_surreal_session(given: Given) -> str | None:
    named = given.get("session_id", "")
    return named.removeprefix("session:") or None


def _surreal_tags(given: Iterable[str] | None) -> Sequence[str]:
    from vaultmem.notes.tags import as_tags

    return as_tags(given or ())


def _whole_surreal_memories(
    vault: Vault, ids: Sequence[str], *, counted: bool = False
) -> dict[str, Memory]:
    return {memory.id: memory for memory in vault.get(ids, counted=counted).memories}


def _surreal_source(vault: Vault, source: Any) -> dict[str, Any]:
    """An object there; a text here is the program that it came from, if that was another."""
    if isinstance(source, dict):
        return source
    return {"tool": source} if source and source != vault.caller.client else {}


def _surreal_metadata(metadata: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Any value under any name there. A property's value is flat, and some names are ours."""
    from vaultmem.config import PROPERTIES

    for name, value in metadata.items():
        taken = name.strip().casefold() in (*PROPERTIES, "tag", "alias")
        items = value if isinstance(value, list) else [value]
        flat = not any(isinstance(item, dict | list) for item in items)
        yield (f"meta_{name}" if taken else name), (value if flat else answers.compact_json(value))


def _surreal_caveats(warnings: Iterable[str]) -> dict[str, Any]:
    """Warnings in that system's shape; nothing where there are none."""
    told = []
    for warning in warnings:
        code, colon, message = warning.partition(": ")
        plain = {"code": "note", "message": warning}
        told.append({"code": code, "message": message} if colon and " " not in code else plain)
    unusable = next((each["message"] for each in told if _UNUSABLE in each["message"]), None)
    return ({"warnings": told} if told else {}) | (_surreal_degraded(unusable) if unusable else {})


def _surreal_degraded(message: str) -> dict[str, Any]:
    return {"degraded": True, "message": message}


def _pretty_surreal_json(value: Any) -> str:
    made, _ = answers.shortened_answer(answers.plain_answer(value))
    return json.dumps(made, ensure_ascii=False, indent=2, allow_nan=False)


# --- the surface -----------------------------------------------------------------------------


class SurrealDialect(Dialect):
    name = "surreal"
    server_info: Mapping[str, Any] = {"name": "surrealdb-memory", "version": "0.1.0"}
    capabilities: Mapping[str, Any] = {"tools": {}, "resources": {"subscribe": True}}
    resources = Resources(
        listing=lambda vault, cursor: {"resources": [dict(each) for each in RESOURCES]},
        read=_read_surreal_resource,
        subscribe=True,
    )
    settings: Mapping[str, Any] = {"sessions.keep": True}  # a database keeps them too

    def __init__(self, started: ServerOptions) -> None:
        super().__init__(started)
        for name in self.variables.without_meaning:
            log.info("$%s changes nothing here: the vault is where memories are stored.", name)
        self._folder = ""
        self.tools = tuple(
            DialectTool(listing, _RUN[listing["name"]], writes=listing["name"] in _WRITING)
            for listing in TOOLS
        )

    def caller_of_connection(self, known: Caller, connected: ClientConnection) -> Caller:
        resumed = "" if self.started.session else self.variables.resume_session
        return replace(known, session=resumed.removeprefix("session:") or known.session)

    def vault_opened(self, vault: Vault) -> None:
        self._folder = str(vault.root)

    def server_ended(self, vault: Vault) -> None:
        """A short summary; what was stored for the session stays, since it may be resumed."""
        if vault.caller.read_only or vault.settings["read_only"]:
            return
        told = vault.session_summary()
        if told.memories_stored or told.observations:
            lines = [
                f"- Memories stored: {told.memories_stored}{_surreal_counts_by_type(told)}",
                f"- Memories recalled: {told.queries} queries, {told.memories_served} memories",
                *([f"- Key topics: {', '.join(told.topics)}"] if told.topics else []),
            ]
            vault.end_session(summary="\n".join(lines), keep=True)

    def success_result(self, tool: DialectTool, value: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": _pretty_surreal_json(value)}]}

    def failure_result(self, tool: str, error: Exception) -> dict[str, Any]:
        told = answers.error_answer(error)
        if isinstance(error, InvalidInput):
            raise DialectError(INVALID_PARAMS, told["message"], told)
        if isinstance(error, StorageFull) and self._folder:
            disk = shutil.disk_usage(self._folder)
            told |= {"current_size": f"{disk.used} bytes", "limit": f"{disk.total} bytes"}
        return {"content": [{"type": "text", "text": _pretty_surreal_json(told)}], "isError": True}


_RUN: Final = {
    "store_memory": _store_surreal_memory,
    "recall_memories": _recall_surreal,
    "search_knowledge_graph": _search_surreal_graph,
    "forget_memory": _forget_surreal,
    "update_memory": _update_surreal,
    "reflect_and_consolidate": _reflect_surreal,
    "get_memory_status": _surreal_status,
    "get_memory_context": _surreal_context,
    "promote_memory": _promote_surreal,
    "tag_memory": _tag_surreal,
}
_WRITING: Final = frozenset(_RUN) - {
    *("recall_memories", "search_knowledge_graph", "get_memory_status", "get_memory_context")
}
