"""Entities as other memory systems know them: joined by each memory that names both.

Between two entities that one memory names stand the relationships by which it names them: to each
the one that the memory has with it. Memories are no ends of a way, so a walk of three steps leads
through entities alone. One name may stand for several entities of different kinds: the second
one's note is called `Name (kind)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vaultmem.index import EdgeKey, Filters, GraphEdge, GraphEnd, GraphNode
from vaultmem.limits import Whole, bounded
from vaultmem.notes.links import link_key, relation_key
from vaultmem.operations.graphs.graph import (
    DIRECTIONS,
    Entity,
    Graph,
    GraphAnswer,
    GraphStats,
    Relationship,
    is_shown_in_graph,
)
from vaultmem.operations.input import require_one_of
from vaultmem.operations.view import View

_FOLLOWED: Final = 12  # entities from which a step goes on
_NAMED_BY_ONE: Final = 40  # entities of one memory that are joined with each other
_MEMORIES: Final = 200  # that are looked at for one step
_MOST_SHOWN: Final = 50  # relationships of one entity
_VARIANTS: Final = 20


@dataclass
class _EntityWalk:
    nodes: dict[GraphEnd, GraphNode]
    depths: dict[GraphEnd, int]
    # from one entity to another by a relationship; whether it stands in a forgotten memory alone
    ways: dict[tuple[GraphEnd, str, GraphEnd], bool] = field(default_factory=dict)

    def add_way(self, source: GraphEnd, relation: str, target: GraphEnd, *, stale: bool) -> None:
        key = source, relation, target
        self.ways[key] = self.ways.get(key, True) and stale


class EntityGraph:
    def __init__(self, view: View, graph: Graph) -> None:
        self._view = view
        self._graph = graph

    @bounded()
    def entity_title(self, name: str, kind: str) -> str:
        """What the note of this entity is called, if it is there or is made."""
        variant = f"{name} ({kind})"
        relations, filters = self._view.index.relations, self._view.filters()
        if not kind or any(map(is_shown_in_graph, relations.named(variant, filters))):
            return variant if kind else name
        named = relations.named(name, filters)
        mine = (
            is_shown_in_graph(node) and (node.kind or kind).casefold() == kind.casefold()
            for node in named
        )
        return name if not named or any(mine) else variant

    def entity_titles(self, name: str) -> tuple[str, ...]:
        """Of all entities that go by this name, whatever their kinds."""
        nodes = self._nodes_of_name(name, self._view.filters())
        return tuple(dict.fromkeys([name, *(node.name for node in nodes)]))

    @bounded(limit=Whole(1, 100))
    def search_entities(
        self,
        entity: str | None = None,
        *,
        relationship_type: str | None = None,
        direction: str = "both",
        depth: int = 1,
        include_memories: bool = True,
        limit: int = 20,
    ) -> GraphAnswer:
        """What entities are connected with; without one, the most connected of all."""
        require_one_of(direction, DIRECTIONS, "direction")
        lacks = self._view.gaps.look()
        filters, kind = self._view.filters(), relation_key(relationship_type or "")
        if name := (entity or "").strip():
            starts = self._nodes_of_name(name, filters)[:limit]
            found = self._walk_entities(starts, filters, kind, direction, depth)
            others = [node for ref, node in found.nodes.items() if found.depths[ref]]
            listed = [*starts, *_nearest_entities(others, found)[: limit - len(starts)]]
            totals = None
        else:
            overview = self._graph.search_graph(
                relationship_type=relationship_type, include_memories=False, limit=limit
            )
            listed = self._nodes_listed(overview, filters)
            found = self._walk_entities(listed, filters, kind, direction, 1)
            found.depths = dict.fromkeys(found.nodes, 0)
            totals = overview.graph_stats
        entities = self._entities(listed, found, filters, kind)
        stats = GraphStats(
            entities_traversed=len(found.nodes) if entity else len(listed),
            relationships_found=len(found.ways),
            depth_reached=max(found.depths.values(), default=0),
            total_entities=totals.total_entities if totals else None,
            total_relationships=totals.total_relationships if totals else None,
        )
        refs = [node.ref for node in listed]
        memories = (
            self._graph.memories_of_nodes(listed, found.depths, filters, limit)
            if include_memories and refs
            else ()
        )
        return GraphAnswer(entities, memories, stats, lacks())

    # --- which entities ------------------------------------------------------------------------

    def _nodes_of_name(self, name: str, filters: Filters) -> list[GraphNode]:
        relations = self._view.index.relations
        variants = relations.names(f"{name} (", _VARIANTS, filters)
        nodes = {
            node.ref: node
            for title in (name, *variants)
            for node in relations.named(title, filters)
            if is_shown_in_graph(node)
        }
        wanted = link_key(name)
        found = [n for n in nodes.values() if wanted in (link_key(n.name), link_key(shown_name(n)))]
        found = found or list(nodes.values())[:1]  # by another name that it has
        if not found and (spelling := relations.mentions(name, filters)):
            if not relations.named(name, filters):  # a memory's title is no entity
                return [GraphNode(wanted, spelling)]
        return found

    def _nodes_listed(self, overview: GraphAnswer, filters: Filters) -> list[GraphNode]:
        relations, listed = self._view.index.relations, []
        for entity in overview.entities:
            nodes = [n for n in relations.named(entity.name, filters) if n.path == entity.path]
            node = nodes[0] if nodes else GraphNode(link_key(entity.name), entity.name)
            if is_shown_in_graph(node):
                listed.append(node)
        return listed

    # --- the walk ------------------------------------------------------------------------------

    def _walk_entities(
        self,
        starts: Sequence[GraphNode],
        filters: Filters,
        kind: str,
        direction: str,
        depth: int,
    ) -> _EntityWalk:
        found = _EntityWalk({n.ref: n for n in starts}, {n.ref: 0 for n in starts})
        frontier = list(starts)
        for level in range(1, depth + 1):
            if not frontier:
                break
            new = self._step(found, {node.ref for node in frontier}, filters, kind, direction)
            for node in new:
                found.nodes[node.ref], found.depths[node.ref] = node, level
            frontier = _nearest_entities(new, found)[:_FOLLOWED]
        return found

    def _step(
        self,
        found: _EntityWalk,
        frontier: Collection[GraphEnd],
        filters: Filters,
        kind: str,
        direction: str,
    ) -> list[GraphNode]:
        """Take in the ways from these; returns the entities that are new."""
        relations = self._view.index.relations
        edges, _ = relations.edges(frontier, filters)
        nodes = self._nodes_of_edges(edges, filters)
        naming = [
            ref
            for ref, node in nodes.items()
            if isinstance(ref, int) and not is_shown_in_graph(node) and node.type != "session"
        ]
        named: dict[GraphEnd, dict[GraphEnd, set[str]]] = {}
        if naming := sorted(naming, reverse=True)[:_MEMORIES]:
            inside, _ = relations.edges(naming, filters, incoming=False)
            nodes |= self._nodes_of_edges(inside, filters)
            for source, relation, target in inside:
                named.setdefault(source, {}).setdefault(target, set()).add(relation)
        reached: dict[GraphEnd, GraphNode] = {}
        entities = {ref for ref, node in nodes.items() if is_shown_in_graph(node)}

        def take(one: GraphEnd, relation: str, other: GraphEnd, *, stale: bool) -> None:
            """A way from `one` to `other`, of which one end is in the frontier."""
            if one not in entities or other not in entities:
                return
            if one == other or (kind and relation != kind):
                return
            leaves, arrives = one in frontier, other in frontier
            if not ((leaves and direction != "incoming") or (arrives and direction != "outgoing")):
                return
            found.add_way(one, relation, other, stale=stale)
            for end in (one, other):
                if end not in found.nodes:
                    reached[end] = nodes[end]

        for source, relation, target in edges:
            take(source, relation, target, stale=bool(nodes[source].forgotten))
        for memory, ends in named.items():
            stale = bool(nodes[memory].forgotten)
            near = [end for end in ends if end in frontier]
            for one in near:
                for other in list(ends)[:_NAMED_BY_ONE]:
                    for relation in ends[other]:
                        take(one, relation, other, stale=stale)
                    for relation in ends[one]:
                        take(other, relation, one, stale=stale)
        return list(reached.values())

    def _nodes_of_edges(
        self, edges: Mapping[EdgeKey, GraphEdge], filters: Filters
    ) -> dict[GraphEnd, GraphNode]:
        written: dict[GraphEnd, str] = {}
        for source, _, target, spelling in edges.values():
            written.setdefault(source, "")
            written.setdefault(target, spelling)
        nodes = self._view.index.relations.nodes(written, filters)
        return nodes | {r: GraphNode(r, name) for r, name in written.items() if isinstance(r, str)}

    # --- answers -------------------------------------------------------------------------------

    def _entities(
        self, listed: Sequence[GraphNode], found: _EntityWalk, filters: Filters, kind: str
    ) -> tuple[Entity, ...]:
        refs = [node.ref for node in listed]
        counts = self._view.index.relations.attached(refs, filters).counts(refs)
        related: dict[GraphEnd, list[Relationship]] = {ref: [] for ref in refs}
        for (source, relation, target), stale in found.ways.items():
            mark = True if stale else None
            for ref, other, direction in (
                (source, target, "outgoing"),
                (target, source, "incoming"),
            ):
                if ref in related:
                    name = shown_name(found.nodes[other])
                    related[ref].append(Relationship(relation, name, direction, mark))
        said = self._graph.plain_facts_in_graph(listed, filters, kind)
        return tuple(
            _entity(node, [*said.get(node.ref, ()), *related[node.ref]], counts.get(node.ref, 0))
            for node in listed
        )


def _entity(node: GraphNode, related: list[Relationship], memories: int) -> Entity:
    related.sort(key=lambda r: (r.direction != "outgoing", r.type, r.target.casefold()))
    count = len(related) if len(related) > _MOST_SHOWN else None
    kind = node.kind or ("note" if not node.is_entity and not node.id else node.type)
    shown = tuple(related[:_MOST_SHOWN])
    return Entity(shown_name(node), kind, shown, memories, node.path or None, count)


def shown_name(node: GraphNode) -> str:
    """Without the kind that tells it from others of its name."""
    ending = f" ({node.kind})"
    if node.kind and node.name.casefold().endswith(ending.casefold()):
        return node.name[: -len(ending)]
    return node.name


def _nearest_entities(nodes: Iterable[GraphNode], found: _EntityWalk) -> list[GraphNode]:
    """The nearest first, and of these the most connected."""
    connected: dict[GraphEnd, int] = {}
    for source, _, target in found.ways:
        connected[source] = connected.get(source, 0) + 1
        connected[target] = connected.get(target, 0) + 1
    return sorted(
        nodes,
        key=lambda n: (
            found.depths.get(n.ref, 9),
            -connected.get(n.ref, 0),
            n.name.casefold(),
            n.path,
        ),
    )
