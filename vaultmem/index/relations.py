"""The knowledge graph as the catalog has it: links, relations and facts between notes and names.

An end of an edge is a note's number or, for a name that no note has, the folded name. What
stands in notes that the caller may not see is not there: neither as an end nor as an edge.
All questions are asked for a whole set of ends at once.
"""

from __future__ import annotations

import datetime as dt
import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from vaultmem.edges import has_ended, link_key, link_target, relation_key
from vaultmem.index.catalog import Catalog
from vaultmem.index.fulltext import Filters
from vaultmem.index.lookup import where
from vaultmem.links import LinkMap
from vaultmem.names import name_key

LINKS_TO: Final = "links_to"
# Properties that say where a memory came from or went: their links make nothing an entity.
_ORIGINS: Final = "('links_to', 'derived_from', 'superseded_by')"
_THESE: Final = "(SELECT value FROM json_each(?))"
_BASENAME: Final = "replace(folded, rtrim(folded, replace(folded, '/', '')), '')"
# Embedded pictures, sounds and drawings are no things that one knows something about.
_NO_FILE: Final = """NOT (instr(folded, '.') > 0 AND (
  substr(folded, -4) IN ('.png', '.jpg', '.gif', '.svg', '.bmp', '.pdf', '.mp3', '.mp4', '.wav',
                         '.ogg', '.ogv', '.m4a', '.mov', '.mkv', '.3gp')
  OR substr(folded, -5) IN ('.jpeg', '.webp', '.webm', '.avif', '.flac', '.base')
  OR substr(folded, -7) = '.canvas'))"""
# Of what reaches one end only so much is followed: memories can be thousands, and are counted
# elsewhere. Those with a label come first, then the newest.
_MEMORIES_EACH: Final = 25
_OTHERS_EACH: Final = 500
_REACHING: Final = """
SELECT note, target, folded, relation, place > most FROM (
  SELECT link.note, target, folded, relation, iif({memory}, {few}, {many}) AS most,
    row_number() OVER (PARTITION BY folded, {memory}
                       ORDER BY relation IN ('about', 'links_to'), link.note DESC) AS place
  FROM link JOIN note USING (note) WHERE {{}} AND {{visible}})
WHERE place <= most + 1
""".format(
    memory="(lower(note.type) <> 'entity' AND note.id <> '')",
    few=_MEMORIES_EACH,
    many=_OTHERS_EACH,
)
_NEWEST: Final = "ORDER BY coalesce(updated, created, mtime_ns / 1000000000) DESC, path"

Ref: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Node:
    ref: Ref
    name: str
    path: str = ""
    type: str = "entity"
    kind: str = ""
    id: str = ""
    forgotten: bool = False

    @property
    def is_entity(self) -> bool:
        return self.type == "entity"


class Edge(NamedTuple):
    source: int
    relation: str
    target: Ref
    written: str  # the target as the source spells it


@dataclass(frozen=True, slots=True)
class FactRow:
    note: int
    title: str
    path: str
    predicate: str
    object: str
    valid_from: str
    valid_to: str
    confidence: float | None
    provenance: str
    block: str


class _Link(NamedTuple):
    note: int
    target: str
    folded: str
    relation: str


@dataclass(frozen=True, slots=True)
class Census:
    """All entities with the number of their neighbours, and how often each relation occurs."""

    connected: Mapping[Ref, int]
    names: Mapping[Ref, str]
    relations: Mapping[str, int]


class Relations:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    # --- names -------------------------------------------------------------------------

    def named(self, name: str, filters: Filters) -> list[Node]:
        """The notes that a link with this name could mean: by path or title, else by alias."""
        folded = link_key(name.replace("\\", "/")).lstrip("/")
        titled, aliased = self._candidates([folded], filters).get(folded, ({}, {}))
        if titled:
            paths = LinkMap(titled).resolve(folded).paths
            found = {titled[path] for path in paths}
        else:
            found = set(aliased.values())
        return sorted(self.nodes(found, filters).values(), key=lambda node: node.path)

    def mentions(self, name: str, filters: Filters) -> str:
        """How some note spells this name in a link; empty if none does."""
        visible, values = where(filters)
        sql = (
            f"SELECT min(target) FROM link JOIN note USING (note) WHERE folded = ? AND {visible} "
            f"AND {_NO_FILE}"
        )
        row = self._catalog.db.execute(sql, (link_key(name), *values)).fetchone()
        return row[0] or ""

    def nodes(self, refs: Iterable[Ref], filters: Filters) -> dict[Ref, Node]:
        """The notes among these."""
        visible, values = where(replace(filters, forgotten=True))
        sql = (
            "SELECT note, title, path, lower(type), kind, id, forgotten FROM note "
            f"WHERE note IN {_THESE} AND {visible}"
        )
        rows = self._catalog.db.execute(sql, (_numbers(refs), *values))
        return {row[0]: Node(*(*row[:-1], bool(row[-1]))) for row in rows}

    def names(self, prefix: str, limit: int, filters: Filters) -> list[str]:
        """Entities whose name or alias begins so."""
        first = name_key(prefix)
        visible, values = where(filters)
        span = f"folded >= ? AND folded < ? AND {visible}"
        sql = (
            "SELECT DISTINCT title FROM name JOIN note USING (note) "
            f"WHERE {span} AND lower(note.type) = 'entity' UNION SELECT min(target) "
            f"FROM link JOIN note USING (note) WHERE {span} AND {_NO_FILE} "
            f"AND relation NOT IN {_ORIGINS} GROUP BY folded UNION SELECT DISTINCT object "
            f"FROM fact JOIN note USING (note) WHERE substr(lower(object), 1, ?) = ? AND {visible}"
        )
        bounds = [first, first + "\U0010ffff", *values]
        opening = f"[[{first}"
        rows = self._catalog.db.execute(sql, [*bounds, *bounds, len(opening), opening, *values])
        found = {name_key(name): name for row in rows if (name := link_target(row[0]) or row[0])}
        return [found[key] for key in sorted(found)][:limit]

    def near(self, name: str, filters: Filters, most: int = 3) -> list[str]:
        """Names that may have been meant."""
        import difflib

        wanted = name_key(name)
        visible, values = where(filters)
        alike = "(substr({0}, 1, 2) = substr(?, 1, 2) OR instr({0}, ?) OR instr(?, {0}))"
        sql = (
            f"SELECT title FROM note WHERE {visible} AND {alike.format('lower(title)')} "
            f"UNION SELECT min(target) FROM link JOIN note USING (note) WHERE {visible} "
            f"AND {_NO_FILE} AND {alike.format('folded')} GROUP BY folded LIMIT 2000"
        )
        rows = self._catalog.db.execute(sql, [*values, *[wanted] * 3] * 2)
        found = {name_key(row[0]): row[0] for row in rows if row[0]}
        close = difflib.get_close_matches(wanted, found, most, 0.6)
        within = sorted(key for key in found if len(key) > 2 and (key in wanted or wanted in key))
        return [found[key] for key in dict.fromkeys([*close, *within])][:most]

    # --- edges -------------------------------------------------------------------------

    def around(
        self,
        refs: Collection[Ref],
        filters: Filters,
        *,
        outgoing: bool = True,
        incoming: bool = True,
        bounded: bool = True,
    ) -> tuple[list[Edge], bool]:
        """The edges that leave or reach one of these, each once, and whether there are more.

        A bare link is an edge only where no label joins the two ends already: the links of
        facts and relations stand among the note's links as well.
        """
        wanted = set(refs)
        rows: set[_Link] = set()
        more = False
        if outgoing:
            rows.update(self._links_from(wanted))
        if incoming:
            for *link, beyond in self._links_to(wanted, filters, bounded):
                if beyond:
                    more = True
                else:
                    rows.add(_Link(*link))
        joined = self._with_facts(rows)
        ends = self._resolved({(row.folded, row.note) for row in joined}, filters)
        edges: dict[tuple[int, str, Ref], Edge] = {}
        for note, written, folded, relation in joined:
            target = ends[folded, note]
            asked = (outgoing and note in wanted) or (incoming and target in wanted)
            if asked and target != note:
                key = note, relation_key(relation), target
                edge = Edge(note, relation, target, written)
                edges[key] = min(edge, edges.get(key, edge))  # of two spellings always the same
        return list(edges.values()), more

    def memories(self, refs: Collection[Ref], filters: Filters) -> dict[Ref, set[int]]:
        """For each of these the notes that link to it or that it links to, entities left out."""
        found: dict[Ref, set[int]] = {ref: set() for ref in refs}
        visible, values = where(filters)
        sql = (
            "SELECT DISTINCT folded, link.note FROM link JOIN note USING (note) "
            f"WHERE {{}} AND {visible} AND lower(note.type) <> 'entity'"
        )
        pairs = set(self._reaching(sql, refs, values))
        for (_, note), end in self._resolved(pairs, filters).items():
            if end in found and end != note:
                found[end].add(note)
        sql = f"SELECT DISTINCT folded, note FROM link WHERE note IN {_THESE}"
        pairs = set(self._catalog.db.execute(sql, (_numbers(refs),)))
        ends = self._resolved(pairs, filters)
        nodes = self.nodes(ends.values(), filters)
        for (_, note), end in ends.items():
            node = nodes.get(end)
            if isinstance(end, int) and end != note and node and not node.is_entity:
                if not node.forgotten:
                    found[note].add(end)
        return found

    def _links_from(self, refs: Iterable[Ref]) -> Iterator[_Link]:
        sql = (
            f"SELECT note, target, folded, relation FROM link WHERE note IN {_THESE} AND {_NO_FILE}"
        )
        return map(_Link._make, self._catalog.db.execute(sql, (_numbers(refs),)))

    def keys(self, refs: Collection[Ref]) -> set[str]:
        """All folded names by which a link can mean one of these, but for relative paths."""
        keys = {ref for ref in refs if isinstance(ref, str)}
        for path, name in self._own_names(refs):
            steps = path.split("/")
            keys |= {name, f"/{path}", *("/".join(steps[i:]) for i in range(len(steps)))}
        return keys

    def _links_to(
        self, refs: Collection[Ref], filters: Filters, bounded: bool
    ) -> Iterator[tuple[Any, ...]]:
        visible, values = where(replace(filters, forgotten=True))
        sql = (
            "SELECT link.note, target, folded, relation, 0 FROM link JOIN note USING (note) "
            f"WHERE {{}} AND {visible}"
        )
        if bounded:
            sql = _REACHING.replace("{visible}", visible)
        return self._reaching(sql, refs, values)

    def _reaching(
        self, sql: str, refs: Collection[Ref], values: Sequence[object]
    ) -> Iterator[tuple[Any, ...]]:
        """Ask for the links that may reach one of these: by a name, or by a relative path
        as Markdown links have it."""
        titles = {posixpath.basename(path) for path, _ in self._own_names(refs)}
        exact = sql.format(f"folded IN {_THESE}")
        yield from self._catalog.db.execute(exact, (_json(self.keys(refs)), *values))
        relative = sql.format(f"folded >= '.' AND folded < '/' AND {_BASENAME} IN {_THESE}")
        yield from self._catalog.db.execute(relative, (_json(titles), *values))

    def _own_names(self, refs: Iterable[Ref]) -> Iterator[tuple[str, str]]:
        """The folded path of each note among these, with each of its folded names."""
        sql = f"SELECT path, folded FROM note JOIN name USING (note) WHERE note IN {_THESE}"
        for path, name in self._catalog.db.execute(sql, (_numbers(refs),)):
            yield link_key(path), name

    def _with_facts(self, rows: set[_Link]) -> set[_Link]:
        """The links with what facts say in place of their bare links."""
        now = dt.datetime.now(dt.UTC)
        pairs = {(row.note, row.folded) for row in rows}
        labelled = {(row.note, row.folded) for row in rows if row.relation != LINKS_TO}
        found = {row for row in rows if row.relation != LINKS_TO}
        sql = (
            "SELECT note, predicate, object, valid_to FROM fact "
            f"WHERE note IN {_THESE} AND substr(object, 1, 2) = '[['"
        )
        sources = _json({row.note for row in rows})
        for note, predicate, text, valid_to in self._catalog.db.execute(sql, (sources,)):
            target = link_target(text)
            key = link_key(target)
            if (note, key) in pairs:
                labelled.add((note, key))
                if not has_ended(valid_to, now):
                    found.add(_Link(note, target, key, predicate))
        return found | {row for row in rows if (row.note, row.folded) not in labelled}

    # --- which note a link means ---------------------------------------------------------

    def _resolved(
        self, pairs: Collection[tuple[str, int]], filters: Filters
    ) -> dict[tuple[str, int], Ref]:
        """Each target of each source: a note's number, else the name."""
        candidates = self._candidates({folded for folded, _ in pairs}, filters)
        unclear = {n for f, n in pairs if "/" in f or len(candidates.get(f, ((), ()))[0]) > 1}
        sources = {ref: node.path for ref, node in self.nodes(unclear, filters).items()}
        found: dict[tuple[str, int], Ref] = {}
        for folded, note in pairs:
            titled, aliased = candidates.get(folded, ({}, {}))
            if len(titled) == 1 and note not in sources:
                (number,) = titled.values()
            elif titled:
                path = LinkMap(titled).resolve(folded, sources.get(note, "")).path
                number = titled[path] if path else 0
            else:
                number = next(iter(aliased.values())) if len(aliased) == 1 else 0
            found[folded, note] = number or re.sub(r"\A(?:\.{0,2}/)+", "", folded)
        return found

    def _candidates(
        self, targets: Iterable[str], filters: Filters
    ) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
        """For each folded target the notes with its name as title, and those with it as alias."""
        wanted = set(targets)
        visible, values = where(replace(filters, forgotten=True))
        sql = (
            "SELECT folded, name.kind, path, note FROM name JOIN note USING (note) "
            f"WHERE folded IN {_THESE} AND {visible}"
        )
        names = _json(wanted | {posixpath.basename(target) for target in wanted})
        by_title: dict[str, dict[str, int]] = {}
        by_alias: dict[str, dict[str, int]] = {}
        for folded, kind, path, note in self._catalog.db.execute(sql, (names, *values)):
            (by_title if kind == "title" else by_alias).setdefault(folded, {})[path] = note
        return {
            target: (by_title.get(posixpath.basename(target), {}), by_alias.get(target, {}))
            for target in wanted
        }

    def newest(self, notes: Iterable[int], limit: int, filters: Filters) -> list[int]:
        """The most recent of these notes."""
        visible, values = where(filters)
        sql = f"SELECT note FROM note WHERE note IN {_THESE} AND {visible} {_NEWEST} LIMIT ?"
        rows = self._catalog.db.execute(sql, (_numbers(notes), *values, limit))
        return [row[0] for row in rows]

    # --- facts -------------------------------------------------------------------------

    def facts(self, filters: Filters, notes: Iterable[int] | None = None) -> list[FactRow]:
        """All facts, or those of these notes, in the order in which they stand."""
        visible, values = where(filters)
        sql = (
            "SELECT note, title, path, predicate, object, valid_from, valid_to, confidence, "
            f"provenance, block FROM fact JOIN note USING (note) WHERE {visible}"
        )
        if notes is not None:
            sql += f" AND note IN {_THESE}"
            values.append(_numbers(notes))
        return [
            FactRow(*row) for row in self._catalog.db.execute(f"{sql} ORDER BY fact.rowid", values)
        ]

    # --- all of it ---------------------------------------------------------------------

    def census(self, filters: Filters) -> Census:
        """What is an entity: a note of that type, or what a label or a fact points at.

        In a vault without any, every note that is linked will do.
        """
        now = dt.datetime.now(dt.UTC)
        facts = [f for f in self.facts(filters) if link_target(f.object)]
        objects = {link_key(link_target(fact.object)) for fact in facts}
        entities = self._entities(filters)
        linked, own = self._linked(filters), self.keys(entities)
        chosen = [row for row in linked if row[3] or row[0] in objects or row[0] in own]
        if not chosen and not entities:
            chosen = linked
        ends = self._resolved({(row[0], 0) for row in chosen}, filters)
        kept: set[Ref] = {*ends.values(), *entities}
        kept -= self._journals(kept)
        connected: dict[Ref, int] = {ref: entities.get(ref, 0) for ref in kept}
        names: dict[Ref, str] = {}
        for folded, target, notes, _ in chosen:
            ref = ends[folded, 0]
            if ref in kept:
                connected[ref] += notes
                names.setdefault(ref, target)
        open_facts = [fact for fact in facts if not has_ended(fact.valid_to, now)]
        return Census(connected, names, self._kinds(filters, facts, open_facts))

    def _linked(self, filters: Filters) -> list[tuple[str, str, int, int]]:
        """Each link target, its spelling, how many notes point at it, whether with a label."""
        hidden, values = _hidden(filters)
        sql = (
            f"SELECT folded, min(target), count(DISTINCT note), max(relation NOT IN {_ORIGINS}) "
            f"FROM link WHERE note NOT IN {hidden} AND {_NO_FILE} GROUP BY folded ORDER BY folded"
        )
        return self._catalog.db.execute(sql, values).fetchall()

    def _entities(self, filters: Filters) -> dict[Ref, int]:
        """The entity notes, and how many others each of them links to."""
        visible, values = where(filters)
        sql = (
            "SELECT note.note, count(DISTINCT folded) FROM note LEFT JOIN link USING (note) "
            f"WHERE lower(note.type) = 'entity' AND {visible} GROUP BY note.note"
        )
        return dict(self._catalog.db.execute(sql, values).fetchall())

    def _journals(self, refs: Iterable[Ref]) -> set[int]:
        sql = f"SELECT note FROM note WHERE note IN {_THESE} AND lower(type) = 'session'"
        return {row[0] for row in self._catalog.db.execute(sql, (_numbers(refs),))}

    def _kinds(
        self, filters: Filters, facts: list[FactRow], open_facts: list[FactRow]
    ) -> dict[str, int]:
        """How many edges there are of each relation."""
        hidden, values = _hidden(filters)
        seen = f"note NOT IN {hidden} AND {_NO_FILE}"
        labelled = (
            f"SELECT DISTINCT note, folded, relation FROM link WHERE {seen} AND relation <> ?"
        )
        sql = f"SELECT relation, count(*) FROM ({labelled}) GROUP BY relation"
        rows = self._catalog.db.execute(sql, [*values, LINKS_TO])
        counts: dict[str, int] = dict(rows.fetchall())
        bare = (
            f"SELECT note, folded FROM link WHERE {seen} AND relation = ? EXCEPT "
            "SELECT note, folded FROM link WHERE relation <> ?"
        )
        sql = f"SELECT count(*) FROM ({bare})"
        row = self._catalog.db.execute(sql, [*values, LINKS_TO, LINKS_TO]).fetchone()
        counts[LINKS_TO] = row[0]
        counts[LINKS_TO] -= len({(f.note, link_key(link_target(f.object))) for f in facts})
        for fact in open_facts:
            counts[fact.predicate] = counts.get(fact.predicate, 0) + 1
        return {name: count for name, count in counts.items() if count > 0}


def _hidden(filters: Filters) -> tuple[str, list[object]]:
    """The notes left out: for a look at all links they are fewer to go through."""
    visible, values = where(filters)
    return f"(SELECT note FROM note WHERE NOT ({visible}))", values


def _json(values: Iterable[Ref]) -> str:
    return json.dumps(sorted(values, key=str), ensure_ascii=False)


def _numbers(refs: Iterable[Ref]) -> str:
    return json.dumps(sorted(ref for ref in refs if isinstance(ref, int)))
