"""Memories of that system as memories of a vault: stored, recalled, changed, forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import NotFound
from vaultmem.surfaces.dialects import Given, picked_fields
from vaultmem.surfaces.dialects.reach import require_forgettable
from vaultmem.surfaces.dialects.surreal.shapes import (
    OF_EACH,
    given_surreal_session,
    plain_surreal_id,
    surreal_caveats,
    surreal_done,
    surreal_metadata,
    surreal_source,
    surreal_tags,
    whole_surreal_memories,
)
from vaultmem.surfaces.mcp.schemas import TYPES

if TYPE_CHECKING:
    from vaultmem.vault import Vault


def _store_surreal_memory(vault: Vault, given: Given) -> dict[str, Any]:
    has_model = vault.load_model()  # that system embeds before it answers
    stored = vault.remember(
        given["content"],
        type=given["type"],
        scope=given["scope"],
        importance=given.get("importance"),
        tags=surreal_tags(given.get("tags")),
        source=given.get("source"),
        related_entities=_typed_surreal_entities(vault, given.get("related_entities")),
        session_id=given_surreal_session(given),
        names_similar=False,
    )
    told = ("embedding_generated", "graph_edges_created", "scope", "type")
    answer = surreal_done(stored, *told)
    if not stored.embedding_generated and not has_model:
        answer |= {"warning": "embedding_failed", "searchable_by": "keyword_only"}
    return answer | surreal_caveats(
        [*stored.warnings, *_surreal_unembedded_warning(stored.embedding_generated, has_model)]
    )


def _typed_surreal_entities(
    vault: Vault, given: Iterable[Mapping[str, str]] | None
) -> list[dict[str, str]]:
    """There an entity is known by its name and its type."""
    return [
        {**each, "name": vault.entity_graph.entity_title(each["name"].strip(), each["type"])}
        for each in given or ()
    ]


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
        tags=surreal_tags(given.get("tags")),
        after=within.get("after"),
        before=within.get("before"),
        include_forgotten=given.get("include_forgotten", False),
        profile="seed",
        operators=False,
    )
    whole = whole_surreal_memories(vault, [hit.id for hit in found.memories])
    memories = [
        {
            "id": plain_surreal_id(hit.id),
            "content": whole[hit.id].content if hit.id in whole else hit.content,
            **picked_fields(hit, "type", "scope", "importance", "relevance_score", *OF_EACH),
            "source": surreal_source(vault, hit.source),
        }
        for hit in found.memories
    ]
    answer = {
        "memories": memories,
        **picked_fields(found, "total_matched", "strategy_used"),
        "query_time_ms": round(found.query_time_ms),
    }
    return answer | surreal_caveats(found.warnings)


def _forget_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    require_forgettable(vault, given["memory_id"])
    done = vault.forget(given["memory_id"], reason=given.get("reason"))
    return surreal_done(done, "status", "reason")


def _update_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    tags, entities = given.get("tags", {}), given.get("related_entities", {})
    if "content" in given:
        vault.load_model()
    done = vault.update(
        given["memory_id"],
        content=given.get("content"),
        importance=given.get("importance"),
        add_tags=surreal_tags(tags.get("add")),
        remove_tags=surreal_tags(tags.get("remove")),
        metadata=dict(surreal_metadata(given.get("metadata", {}))),
        add_entities=_typed_surreal_entities(vault, entities.get("add")),
        remove_entities=[
            title
            for name in entities.get("remove") or ()
            for title in vault.entity_graph.entity_titles(name)
        ],
        shown_whole=True,  # so recall has it there
    )
    version = {"version": vault.history(done.memory_id).number}
    answer = surreal_done(done, "updated_fields", "re_embedded") | version
    return answer | surreal_caveats(done.warnings)


def _tag_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    add, remove = surreal_tags(given.get("add")), surreal_tags(given.get("remove"))
    if add or remove:
        return surreal_done(vault.tag(given["memory_id"], add=add, remove=remove), "tags")
    found = vault.get([given["memory_id"]]).memories
    if not found:
        raise NotFound(f"There is no memory {given['memory_id']!r}.")
    return {"memory_id": plain_surreal_id(found[0].id), "tags": found[0].tags}


def _promote_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    done = vault.promote(given["memory_id"], given["target_scope"], reason=given.get("reason"))
    return surreal_done(done, "previous_scope", "new_scope", "reason")


def _reflect_surreal(vault: Vault, given: Given) -> dict[str, Any]:
    done = vault.consolidate(
        session_id=given_surreal_session(given),
        strategy=given.get("strategy", "full"),
        dry_run=given.get("dry_run", False),
    )
    made = [
        {
            "id": plain_surreal_id(memory.id) if memory.id else None,
            **picked_fields(memory, "content", "type"),
            "derived_from": [plain_surreal_id(source) for source in memory.derived_from],
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


RUN: Final = {
    "store_memory": _store_surreal_memory,
    "recall_memories": _recall_surreal,
    "forget_memory": _forget_surreal,
    "update_memory": _update_surreal,
    "reflect_and_consolidate": _reflect_surreal,
    "promote_memory": _promote_surreal,
    "tag_memory": _tag_surreal,
}
