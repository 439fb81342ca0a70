"""A piece of the graph within a budget: names first, then memories, then as many connections as
fit, each said once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from vaultmem.operations.budget import fields_cost, kind_fields, named_fields, told
from vaultmem.surfaces.render import directed_edge, first_warnings, short_text

if TYPE_CHECKING:
    from vaultmem.operations.graphs.graph import Entity, GraphAnswer, GraphStats, Relationship
    from vaultmem.operations.results import Summary

Json = dict[str, Any]

_TOKENS: Final = 1_000
_NAMES, _MEMORIES = 0.4, 0.25  # shares of it
_ENVELOPE: Final = 90
_EXCERPT: Final = 60  # characters
_KINDS: Final = 8  # of relations that an overview counts
_TYPES: Final = ("note", "entity")  # what a note or a mere name is anyway


def lean_graph(found: GraphAnswer, given: Mapping[str, Any]) -> Json:
    stats, budget = _lean_graph_stats(found.graph_stats), given.get("max_tokens") or _TOKENS
    left = budget - _ENVELOPE - fields_cost(stats)
    entities = items_within([_lean_entity(each) for each in found.entities], int(left * _NAMES))
    memories = items_within(
        [_lean_graph_memory(each) for each in found.memories], int(left * _MEMORIES)
    )
    left -= sum(map(fields_cost, [*entities, *memories]))
    _add_lean_relationships(entities, found.entities, left, is_overview=not given.get("entity"))
    all_of_them = found.graph_stats.total_entities or found.graph_stats.entities_traversed
    more = told(
        entities=max(all_of_them, len(found.entities)) - len(entities) or None,
        memories=len(found.memories) - len(memories) or None,
    )
    return {
        "entities": entities,
        "memories": memories,
        "graph_stats": stats,
        **told(more=more, warnings=first_warnings(found.warnings)),
    }


def _lean_entity(entity: Entity) -> Json:
    return {
        "name": entity.name,
        **told(
            type=entity.type if entity.type not in _TYPES else None, path=_lean_entity_path(entity)
        ),
        "relationships": [],
        **told(memory_count=entity.memory_count or None),
    }


def _lean_entity_path(entity: Entity) -> str | None:
    """A name finds its note; the path says more where the two differ."""
    stem = (entity.path or "").rpartition("/")[2].removesuffix(".md")
    return entity.path if stem != entity.name and len(entity.path or "") <= 200 else None


def _lean_graph_memory(memory: Summary) -> Json:
    return {
        **named_fields(memory.id, memory.path, memory.title),
        **kind_fields(memory.type, memory.scope, memory.project, memory.importance),
        **told(excerpt=short_text(memory.excerpt, _EXCERPT)),
    }


def _lean_graph_stats(stats: GraphStats) -> Json:
    kinds = stats.relationship_types
    return {
        "entities_traversed": stats.entities_traversed,
        "relationships_found": stats.relationships_found,
        "depth_reached": stats.depth_reached,
        **told(truncated=stats.truncated, total_entities=stats.total_entities),
        **told(total_relationships=stats.total_relationships),
        **told(relationship_types={k.type: k.count for k in kinds[:_KINDS]} if kinds else None),
    }


def items_within(items: list[Json], tokens: int) -> list[Json]:
    """The first that fit, and one in any case."""
    for place, each in enumerate(items):
        tokens -= fields_cost(each)
        if tokens < 0 and place:
            return items[:place]
    return items


def _add_lean_relationships(
    shown: list[Json], entities: tuple[Entity, ...], left: int, *, is_overview: bool
) -> None:
    """Those of the entity that was asked for first, then of all in turns."""
    told_edges: set[tuple[str, str, str]] = set()
    hidden = [0] * len(shown)
    for place, each in _lean_graph_turns(entities[: len(shown)], is_overview):
        edge = directed_edge(entities[place], each)
        if edge in told_edges:
            continue
        direction = each.direction if each.direction != "outgoing" else None
        made = told(type=each.type, target=each.target, direction=direction, stale=each.stale)
        cost = fields_cost(made)
        if cost > left:
            hidden[place] += 1
            continue
        left -= cost
        told_edges.add(edge)
        shown[place]["relationships"].append(made)
    for place, count in enumerate(hidden):
        if count or entities[place].relationship_count:
            total = entities[place].relationship_count or len(entities[place].relationships)
            shown[place]["relationship_count"] = total


def _lean_graph_turns(
    entities: tuple[Entity, ...], is_overview: bool
) -> Iterator[tuple[int, Relationship]]:
    if entities and not is_overview:
        yield from ((0, each) for each in entities[0].relationships)
    for round_ in zip_longest(*(entity.relationships for entity in entities)):
        yield from ((place, each) for place, each in enumerate(round_) if each is not None)
