"""The knowledge graph: entities, how they are connected, and facts that hold for a time.

Nothing is kept beside the notes. Facts are bullets of the subject's note and are closed,
never deleted; every link is an edge. A memory that points at an entity is counted and
listed as its memory; a person's plain note is an entity like others, unless its name is a
date: a day's note speaks of things, and is none.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vaultmem.errors import Busy, NotFound
from vaultmem.index import LINKS_TO, EdgeKey, Filters, GraphEdge, GraphEnd, GraphNode
from vaultmem.limits import Whole, bounded
from vaultmem.notes.links import link_key, link_target, relation_key
from vaultmem.notes.note import has_ended
from vaultmem.operations.facts import Asserted, Facts, FactView, KnownFacts, ambiguous_entity
from vaultmem.operations.input import now_utc, require_one_of
from vaultmem.operations.references import ULID, plain_reference
from vaultmem.operations.results import Summary, summary_of_row
from vaultmem.operations.view import View

__all__ = ["Asserted", "Entity", "FactView", "Facts", "Graph", "GraphAnswer", "GraphStats"]

DIRECTIONS: Final = ("outgoing", "incoming", "both")
# Ends from which a step goes on, the most connected first, or as many as are to be shown; along
# one relation there are more, as little else is asked for. The rest is only counted.
_FOLLOWED, _FOLLOWED_ALONG_ONE = 25, 100
_MOST_SHOWN: Final = 50  # relationships of one entity
_DATED: Final = re.compile(r"\d{4}-(?:\d\d(?:-\d\d)?|W\d\d|Q\d)(?:\D|\Z)|\d{8}\Z")


@dataclass(frozen=True)
class Relationship:
    type: str
    target: str
    direction: str
    stale: bool | None = None  # it stands in a note that was forgotten


@dataclass(frozen=True)
class Entity:
    name: str
    type: str
    relationships: tuple[Relationship, ...]
    memory_count: int
    path: str | None = None
    relationship_count: int | None = None  # when there are more than are shown


@dataclass(frozen=True)
class RelationCount:
    type: str
    count: int


@dataclass(frozen=True)
class GraphStats:
    entities_traversed: int
    relationships_found: int
    depth_reached: int
    truncated: bool | None = None  # there is more than was looked at
    total_entities: int | None = None
    total_relationships: int | None = None
    relationship_types: tuple[RelationCount, ...] | None = None


@dataclass(frozen=True)
class GraphAnswer:
    entities: tuple[Entity, ...]
    memories: tuple[Summary, ...]
    graph_stats: GraphStats
    warnings: tuple[str, ...] | None = None


@dataclass
class _GraphWalk:
    """What a walk through the graph came upon."""

    nodes: dict[GraphEnd, GraphNode]
    depths: dict[GraphEnd, int]
    edges: dict[EdgeKey, GraphEdge] = field(default_factory=dict)
    truncated: bool = False


class Graph:
    def __init__(self, view: View, facts: KnownFacts) -> None:
        self._view = view
        self._facts = facts

    @bounded(limit=Whole(1, 100))
    def search_graph(
        self,
        entity: str | None = None,
        *,
        relationship_type: str | None = None,
        direction: str = "both",
        depth: int = 1,
        include_memories: bool = True,
        limit: int = 20,
    ) -> GraphAnswer:
        """What an entity is connected with; without one, the most connected of all."""
        require_one_of(direction, DIRECTIONS, "direction")
        lacks = self._view.gaps.look()
        filters, kind = self._view.filters(), relation_key(relationship_type or "")
        if not (entity or "").strip():
            overview = self._graph_overview(filters, kind, include_memories, limit)
            return replace(overview, warnings=lacks())
        try:
            start = self._graph_start_node(entity or "", filters)
        except NotFound as error:
            if lacks():
                raise Busy("The index is being filled; try again in a moment.") from error
            raise
        most = max(_FOLLOWED_ALONG_ONE if kind else _FOLLOWED, limit)
        found = self._walk_graph(start, filters, kind, direction, depth, most)
        others = [n for n in found.nodes.values() if n.ref != start.ref and is_shown_in_graph(n)]
        others = _ranked_graph_nodes(others, found.edges)[: limit - 1]
        listed = [start, *others]
        stats = GraphStats(
            entities_traversed=sum(
                is_shown_in_graph(n) or n == start for n in found.nodes.values()
            ),
            relationships_found=len(found.edges),
            depth_reached=max(found.depths.values()),
            truncated=found.truncated or None,
        )
        answer = self._graph_answer(listed, found, stats, filters, kind, include_memories, limit)
        return replace(answer, warnings=lacks())

    def _graph_start_node(self, entity: str, filters: Filters) -> GraphNode:
        relations, name = self._view.index.relations, plain_reference(entity)
        if ULID.match(name):
            paths = {self._view.visible_note(name).path}
            found = list(relations.nodes(self._facts.entity_note_numbers(paths), filters).values())
        else:
            found = relations.named(name, filters)
        if len(found) > 1:
            raise ambiguous_entity(name, (node.path for node in found))
        if found:
            return found[0]
        if spelling := relations.mentions(name, filters):
            return GraphNode(link_key(name), spelling)
        near = relations.near(name, filters)
        advice = f"Near it are: {', '.join(near)}." if near else "Ask without an entity to see all."
        raise NotFound(f"Nothing in the graph is named {name!r}. {advice}")

    def _walk_graph(
        self, start: GraphNode, filters: Filters, kind: str, direction: str, depth: int, most: int
    ) -> _GraphWalk:
        """Level by level. Journals and forgotten notes lead no further: each would join
        everything that was spoken of on one day."""
        found = _GraphWalk({start.ref: start}, {start.ref: 0})
        frontier: Sequence[GraphEnd] = [start.ref]
        for level in range(1, depth + 1):
            edges, more = self._view.index.relations.edges(
                frontier,
                filters,
                outgoing=direction != "incoming",
                incoming=direction != "outgoing",
                bounded=not kind,
            )
            new = self._add_graph_edges(found, edges, filters, kind)
            found.depths |= dict.fromkeys((node.ref for node in new), level)
            leading = [n for n in new if n.type != "session" and not n.forgotten]
            found.truncated |= more or (level < depth and len(leading) > most)
            frontier = [node.ref for node in _ranked_graph_nodes(leading, edges)[:most]]
            if not frontier or level == depth:
                break
        return found

    def _add_graph_edges(
        self,
        found: _GraphWalk,
        edges: Mapping[EdgeKey, GraphEdge],
        filters: Filters,
        kind: str = "",
    ) -> list[GraphNode]:
        """Take in edges of the wanted kind; returns the ends that are new."""
        if kind:
            edges = {key: edge for key, edge in edges.items() if key[1] == kind}
        found.edges = {**edges, **found.edges}
        written: dict[GraphEnd, str] = {}
        for source, _, target, spelling in edges.values():
            if source not in found.nodes:
                written.setdefault(source, "")
            if target not in found.nodes:
                written.setdefault(target, spelling)
        new = self._view.index.relations.nodes(written, filters)
        new |= {ref: GraphNode(ref, name) for ref, name in written.items() if isinstance(ref, str)}
        found.nodes |= new
        return list(new.values())

    def _graph_overview(
        self, filters: Filters, kind: str, include_memories: bool, limit: int
    ) -> GraphAnswer:
        relations = self._view.index.relations
        census = self._view.index.census(filters)
        nodes = relations.nodes(census.connected, filters)
        every = [nodes.get(ref) or GraphNode(ref, census.names[ref]) for ref in census.connected]
        shown = [
            node for node in every if is_shown_in_graph(node)
        ] or every  # memories of one another
        named = {node.ref: node for node in shown}
        ranked = heapq.nsmallest(
            limit,
            named.values(),
            key=lambda n: (-census.connected[n.ref], n.name.casefold(), n.path),
        )
        found = _GraphWalk({node.ref: node for node in every}, {})
        around, _ = relations.edges([n.ref for n in ranked], filters, bounded=not kind)
        self._add_graph_edges(found, around, filters, kind)
        touched = {ref for edge in found.edges.values() for ref in (edge.source, edge.target)}
        listed = [node for node in ranked if not kind or node.ref in touched]
        counts = sorted(census.relations.items(), key=lambda pair: (-pair[1], pair[0]))
        stats = GraphStats(
            entities_traversed=len(listed),
            relationships_found=len(found.edges),
            depth_reached=0,
            total_entities=len(named),
            total_relationships=sum(census.relations.values()),
            relationship_types=tuple(RelationCount(*pair) for pair in counts),
        )
        return self._graph_answer(listed, found, stats, filters, kind, include_memories, limit)

    def _graph_answer(
        self,
        listed: Sequence[GraphNode],
        found: _GraphWalk,
        stats: GraphStats,
        filters: Filters,
        kind: str,
        include_memories: bool,
        limit: int,
    ) -> GraphAnswer:
        refs = [node.ref for node in listed]
        attached = self._view.index.relations.attached(refs, filters)
        counts = attached.counts(refs)
        edges = _graph_edges_by_node(found, refs)
        said = self.plain_facts_in_graph(listed, filters, kind)
        entities = tuple(
            _graph_entity(
                node,
                edges[node.ref],
                found.nodes,
                counts.get(node.ref, 0),
                bool(kind),
                said.get(node.ref, ()),
            )
            for node in listed
        )
        memories: tuple[Summary, ...] = ()
        if include_memories:
            memories = self.memories_of_nodes(listed, found.depths, filters, limit)
        return GraphAnswer(entities, memories, stats)

    def memories_of_nodes(
        self,
        listed: Sequence[GraphNode],
        depths: Mapping[GraphEnd, int],
        filters: Filters,
        limit: int,
    ) -> tuple[Summary, ...]:
        """Those that speak of the nearest come first."""
        attached = self._view.index.relations.attached([node.ref for node in listed], filters)
        shown: dict[int, None] = {}
        for level in _graph_node_levels(listed, depths):
            if len(shown) < limit:
                newest = attached.newest(level, shown, limit - len(shown))
                shown |= dict.fromkeys(newest)
        return self._graph_memories(list(shown))

    def plain_facts_in_graph(
        self, listed: Sequence[GraphNode], filters: Filters, kind: str
    ) -> dict[GraphEnd, list[Relationship]]:
        """Facts whose object is a text: they are said of an entity, and lead nowhere."""
        numbers = [node.ref for node in listed if isinstance(node.ref, int)]
        said: dict[GraphEnd, list[Relationship]] = {}
        for fact in self._view.index.relations.facts(filters, numbers):
            wanted = not kind or relation_key(fact.predicate) == kind
            if wanted and not link_target(fact.object) and not has_ended(fact.valid_to, now_utc()):
                related = Relationship(fact.predicate, fact.object, "outgoing")
                said.setdefault(fact.note, []).append(related)
        return said

    def _graph_memories(self, notes: Sequence[int]) -> tuple[Summary, ...]:
        rows = self._view.index.lookup.rows(notes)
        found = []
        for note in notes:
            body = self._view.visible_body(rows[note]) if note in rows else None
            if body is not None:
                found.append(summary_of_row(rows[note], body))
        return tuple(found)

    @bounded()
    def entity_names(self, prefix: str = "", limit: int = 20) -> tuple[str, ...]:
        """Entities whose name or alias begins so, in alphabetical order."""
        return tuple(self._view.index.relations.names(prefix.strip(), limit, self._view.filters()))


# --- answers ----------------------------------------------------------------------------------


def is_shown_in_graph(node: GraphNode) -> bool:
    """As an entity: memories, journals and days are what speaks of entities."""
    return (node.is_entity and bool(node.path)) or (node.is_listed and not _DATED.match(node.name))


def _ranked_graph_nodes(nodes: Iterable[GraphNode], edges: Iterable[EdgeKey]) -> list[GraphNode]:
    """Entities first, most connected first."""
    connected: Counter[GraphEnd] = Counter()
    for source, _, target in edges:
        connected[source] += 1
        connected[target] += 1
    return sorted(
        nodes,
        key=lambda n: (not is_shown_in_graph(n), -connected[n.ref], n.name.casefold(), n.path),
    )


def _graph_node_levels(
    listed: Sequence[GraphNode], depths: Mapping[GraphEnd, int]
) -> Iterator[list[GraphEnd]]:
    for level in sorted({depths.get(node.ref, 0) for node in listed}):
        yield [node.ref for node in listed if depths.get(node.ref, 0) == level]


def _graph_edges_by_node(
    found: _GraphWalk, refs: Collection[GraphEnd]
) -> dict[GraphEnd, list[GraphEdge]]:
    edges: dict[GraphEnd, list[GraphEdge]] = {ref: [] for ref in refs}
    for edge in found.edges.values():
        for ref in (edge.source, edge.target):
            if ref in edges:
                edges[ref].append(edge)
    return edges


def _graph_entity(
    node: GraphNode,
    edges: Iterable[GraphEdge],
    nodes: Mapping[GraphEnd, GraphNode],
    memories: int,
    everything: bool,
    said: Iterable[Relationship],
) -> Entity:
    """That a memory merely speaks of it is said by `memory_count`, unless it is asked for."""
    related = list(said)
    for edge in edges:
        outgoing = edge.source == node.ref
        other = nodes[edge.target if outgoing else edge.source]
        says_little = edge.relation in ("about", LINKS_TO) and not is_shown_in_graph(other)
        if everything or not says_little or not is_shown_in_graph(node):
            direction = "outgoing" if outgoing else "incoming"
            stale = True if nodes[edge.source].forgotten else None
            related.append(Relationship(edge.relation, other.name, direction, stale))
    related.sort(key=lambda r: (r.type == LINKS_TO, r.type, r.target.casefold(), r.direction))
    kind = node.kind or ("note" if not node.is_entity and not node.id else node.type)
    count = len(related) if len(related) > _MOST_SHOWN else None
    shown = tuple(related[:_MOST_SHOWN])
    return Entity(node.name, kind, shown, memories, node.path or None, count)
