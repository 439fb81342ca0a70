"""What lies around a note: its links both ways, what says something similar, who was shown it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem.errors import NotFound
from vaultmem.index import INDEX_FAILURES, EdgeKey, GraphEdge, GraphEnd, GraphNode
from vaultmem.limits import Whole, bounded
from vaultmem.notes.links import link_key
from vaultmem.notes.note import Note, printable
from vaultmem.operations.references import plain_reference
from vaultmem.operations.results import Similar, note_identity
from vaultmem.operations.view import View

MOST_NODES: Final = 60
_FIRST_RING: Final = 25  # neighbours from which a second step is taken
_ALIKE: Final = 8
_LEAST_ALIKE: Final = 0.6  # in meaning: about the same things
_USES: Final = 100


@dataclass(frozen=True, slots=True)
class PlacedName:
    """A note, or a name that no note has; `distance` in steps from the middle."""

    name: str
    path: str
    type: str
    distance: int
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class NameConnection:
    source: int  # places in the list of names
    relation: str
    target: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    names: tuple[PlacedName, ...]  # the middle first
    connections: tuple[NameConnection, ...]
    total: int  # names that were come upon, shown or not


@dataclass(frozen=True, slots=True)
class TimeShown:
    at: dt.datetime
    way: str
    client: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryUses:
    memory_id: str
    times: int
    last: dt.datetime | None
    uses: tuple[TimeShown, ...]  # newest first


class Neighbours:
    def __init__(self, view: View) -> None:
        self._view = view

    @bounded(depth=Whole(1, 2), limit=Whole(1, 500))
    def neighbourhood(
        self, entity: str, *, depth: int = 1, limit: int = MOST_NODES
    ) -> Neighbourhood:
        """The names around one, nearest and most connected first, with what connects them."""
        self._view.parts.catch_up()
        middle = self._middle(entity)
        nodes: dict[GraphEnd, GraphNode] = {middle.ref: middle}
        steps: dict[GraphEnd, int] = {middle.ref: 0}
        edges: dict[EdgeKey, GraphEdge] = {}
        ring: Sequence[GraphEnd] = [middle.ref]
        for step in range(1, depth + 1):
            found, _ = self._view.index.relations.edges(ring, self._view.filters())
            edges |= found
            fresh = self._nodes_of(found, nodes)
            nodes |= fresh
            steps |= dict.fromkeys(fresh, step)
            ring = _most_connected(fresh, edges)[:_FIRST_RING]
            if not ring:
                break
        return _drawn(nodes, steps, edges, limit)

    def _middle(self, entity: str) -> GraphNode:
        relations, filters = self._view.index.relations, self._view.filters(include_forgotten=True)
        try:
            note = self._view.visible_note(entity)
            rows = self._view.index.lookup.at([note.path])
            found = relations.nodes([row.note for row in rows.values()], filters)
            for node in found.values():
                return node
        except NotFound:
            name = plain_reference(entity)
            if spelling := relations.mentions(name, filters):
                return GraphNode(link_key(name), spelling)
            raise
        raise NotFound(f"{note.path} is not in the index yet; try again in a moment.")

    def _nodes_of(
        self, edges: Mapping[EdgeKey, GraphEdge], known: Mapping[GraphEnd, GraphNode]
    ) -> dict[GraphEnd, GraphNode]:
        written: dict[GraphEnd, str] = {}
        for edge in edges.values():
            written.setdefault(edge.source, "")
            written.setdefault(edge.target, edge.written)
        new = {ref: name for ref, name in written.items() if ref not in known}
        found = self._view.index.relations.nodes(new, self._view.filters())
        found |= {ref: GraphNode(ref, name) for ref, name in new.items() if isinstance(ref, str)}
        return found

    @bounded()
    def similar(self, memory_id: str) -> tuple[Similar, ...]:
        """Memories about the same things, by meaning; none while their vectors are not there."""
        note = self._view.visible_note(memory_id)
        vectors, filters = self._view.index.vectors, self._view.filters()
        try:
            rows = self._view.index.lookup.at([note.path])
            identity = vectors.last_model()
            own = [row.note for row in rows.values()]
            middle = vectors.of_notes(identity, own)
            if not middle:
                return ()
            hits = vectors.search(middle[own[0]], identity, filters, 4 * _ALIKE)
        except INDEX_FAILURES:
            return ()
        best: dict[int, float] = {}
        for number, _, nearness in hits:
            if number not in own and nearness >= _LEAST_ALIKE:
                best.setdefault(number, nearness)
        others = self._view.index.lookup.rows(best)
        return tuple(
            Similar(row.id or row.path, row.title, row.path, round(best[number], 3))
            for number in list(best)[:_ALIKE]
            if (row := others.get(number)) is not None
        )

    @bounded()
    def uses(self, memory_id: str) -> MemoryUses:
        """When it was recalled, read or put before an agent on this machine, and whose session."""
        note: Note = self._view.visible_note(memory_id)
        own, usage = note_identity(note), self._view.parts.usage
        known = usage.of([own]).get(own)
        shown = () if self._view.is_bound() else usage.shown(own, _USES)
        return MemoryUses(
            own,
            known.count if known else 0,
            dt.datetime.fromtimestamp(known.last, dt.UTC) if known and known.last else None,
            tuple(
                TimeShown(
                    dt.datetime.fromtimestamp(each.at, dt.UTC),
                    each.way,
                    printable(each.client) or None,
                    printable(each.session) or None,
                )
                for each in shown
            ),
        )


def _most_connected(refs: Iterable[GraphEnd], edges: Mapping[EdgeKey, GraphEdge]) -> list[GraphEnd]:
    """Always in the same order, so that a picture of it is always the same."""
    count: dict[GraphEnd, int] = {}
    for edge in edges.values():
        for end in (edge.source, edge.target):
            count[end] = count.get(end, 0) + 1
    return sorted(refs, key=lambda ref: (-count.get(ref, 0), str(ref)))


def _drawn(
    nodes: Mapping[GraphEnd, GraphNode],
    steps: Mapping[GraphEnd, int],
    edges: Mapping[EdgeKey, GraphEdge],
    limit: int,
) -> Neighbourhood:
    ranked = sorted(_most_connected(nodes, edges), key=lambda ref: steps[ref])[:limit]
    place = {ref: number for number, ref in enumerate(ranked)}
    names = (
        PlacedName(
            printable(nodes[ref].name),
            nodes[ref].path,
            nodes[ref].type,
            steps[ref],
            bool(nodes[ref].forgotten),
        )
        for ref in ranked
    )
    joined = sorted(
        (place[edge.source], edge.relation, place[edge.target])
        for edge in edges.values()
        if edge.source in place and edge.target in place
    )
    return Neighbourhood(tuple(names), tuple(NameConnection(*each) for each in joined), len(nodes))
