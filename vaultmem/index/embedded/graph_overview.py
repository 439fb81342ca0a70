"""All of the knowledge graph at once: which entities there are, and how they are connected."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vaultmem.base.database import SQL_LIST
from vaultmem.index.embedded.graph_memories import GraphEnd, note_numbers
from vaultmem.index.embedded.relations import LINKS_TO, NO_FILE, ORIGINS, Relations
from vaultmem.index.filters import Filters, filters_as_sql
from vaultmem.notes.links import object_link
from vaultmem.notes.note import has_ended


@dataclass(frozen=True, slots=True)
class GraphOverview:
    """All entities with the number of their neighbours, and how often each relation occurs."""

    connected: Mapping[GraphEnd, int]
    names: Mapping[GraphEnd, str]
    relations: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _LinkingFact:
    """A fact whose object is a link."""

    note: int
    predicate: str
    folded: str
    is_open: bool


def graph_overview(relations: Relations, filters: Filters) -> GraphOverview:
    """The last one is kept, for as long as nothing changes and no fact may have come to its end."""
    state = relations.state, filters, int(time.time() / 60)
    kept: tuple[object, GraphOverview] | None = relations.kept
    if kept is None or kept[0] != state:
        kept = state, _new_graph_overview(relations, filters)
        relations.kept = kept
    return kept[1]


def _new_graph_overview(relations: Relations, filters: Filters) -> GraphOverview:
    """What is an entity: a note of that type, or what a label or a fact points at.

    In a vault without any, every note that is linked will do.
    """
    facts = _linking_facts_of_graph(relations, filters)
    objects = {fact.folded for fact in facts}
    entities = _entities_of_graph(relations, filters)
    linked, own = _linked_names_of_graph(relations, filters), relations.keys(entities)
    chosen = [row for row in linked if row[3] or row[0] in objects or row[0] in own]
    if not chosen and not entities:
        chosen = linked
    ends = relations.resolved({(row[0], 0) for row in chosen}, filters)
    kept: set[GraphEnd] = {*ends.values(), *entities}
    kept -= _journals_in_graph(relations, kept)
    connected: dict[GraphEnd, int] = {ref: entities.get(ref, 0) for ref in kept}
    names: dict[GraphEnd, str] = {}
    for folded, target, notes, _ in chosen:
        ref = ends[folded, 0]
        if ref in kept:
            connected[ref] += notes
            names.setdefault(ref, target)
    return GraphOverview(connected, names, _edges_of_each_relation(relations, filters, facts))


def _linking_facts_of_graph(relations: Relations, filters: Filters) -> list[_LinkingFact]:
    now, (visible, values) = dt.datetime.now(dt.UTC), filters_as_sql(filters)
    sql = (
        "SELECT note, predicate, object, valid_to FROM fact JOIN note USING (note) "
        f"WHERE substr(object, 1, 2) = '[[' AND {visible}"
    )
    return [
        _LinkingFact(note, predicate, link[1], not has_ended(valid_to, now))
        for note, predicate, text, valid_to in relations.query(sql, values)
        if (link := object_link(text))[0]
    ]


def _linked_names_of_graph(
    relations: Relations, filters: Filters
) -> list[tuple[str, str, int, int]]:
    """Each link target, its spelling, how many notes point at it, whether with a label."""
    hidden, values = _notes_hidden_from_graph(filters)
    sql = (
        f"SELECT folded, min(target), count(DISTINCT note), max(relation NOT IN {ORIGINS}) "
        f"FROM link WHERE note NOT IN {hidden} AND {NO_FILE} GROUP BY folded ORDER BY folded"
    )
    return relations.query(sql, values)


def _entities_of_graph(relations: Relations, filters: Filters) -> dict[GraphEnd, int]:
    """The entity notes, and how many others each of them links to."""
    visible, values = filters_as_sql(filters)
    sql = (
        "SELECT note.note, count(DISTINCT folded) FROM note LEFT JOIN link USING (note) "
        f"WHERE lower(note.type) = 'entity' AND {visible} GROUP BY note.note"
    )
    return dict(relations.query(sql, values))


def _journals_in_graph(relations: Relations, refs: Iterable[GraphEnd]) -> set[int]:
    sql = f"SELECT note FROM note WHERE note IN {SQL_LIST} AND lower(type) = 'session'"
    return {row[0] for row in relations.query(sql, (note_numbers(refs),))}


def _edges_of_each_relation(
    relations: Relations, filters: Filters, facts: list[_LinkingFact]
) -> dict[str, int]:
    """How many edges there are of each relation."""
    hidden, values = _notes_hidden_from_graph(filters)
    seen = f"note NOT IN {hidden} AND {NO_FILE}"
    labelled = f"SELECT DISTINCT note, folded, relation FROM link WHERE {seen} AND relation <> ?"
    sql = f"SELECT relation, count(*) FROM ({labelled}) GROUP BY relation"
    counts: dict[str, int] = dict(relations.query(sql, [*values, LINKS_TO]))
    bare = (
        f"SELECT note, folded FROM link WHERE {seen} AND relation = ? EXCEPT "
        "SELECT note, folded FROM link WHERE relation <> ?"
    )
    sql = f"SELECT count(*) FROM ({bare})"
    counts[LINKS_TO] = relations.query(sql, [*values, LINKS_TO, LINKS_TO])[0][0]
    counts[LINKS_TO] -= len({(fact.note, fact.folded) for fact in facts})
    for fact in facts:
        if fact.is_open:
            counts[fact.predicate] = counts.get(fact.predicate, 0) + 1
    return {name: count for name, count in counts.items() if count > 0}


def _notes_hidden_from_graph(filters: Filters) -> tuple[str, list[object]]:
    """The notes left out: for a look at all links they are fewer to go through."""
    visible, values = filters_as_sql(filters)
    return f"(SELECT note FROM note WHERE NOT ({visible}))", values
