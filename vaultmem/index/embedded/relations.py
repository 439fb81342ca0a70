"""The knowledge graph as the catalog has it: links, relations and facts between notes and names.

An end of an edge is a note's number or, for a name that no note has, the folded name. What
stands in notes that the caller may not see is not there: neither as an end nor as an edge.
All questions are asked for a whole set of ends at once.
"""

from __future__ import annotations

import datetime as dt
import posixpath
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.graph_memories import GraphEnd as GraphEnd
from vaultmem.index.embedded.graph_memories import GraphMemories, note_numbers
from vaultmem.index.embedded.schema import BASENAME, LAST_CHARACTER
from vaultmem.index.filters import Filters, filters_on_rows
from vaultmem.notes.file_names import name_key
from vaultmem.notes.links import LinkMap, link_key, link_target, object_link, relation_key
from vaultmem.notes.note import has_ended

LINKS_TO: Final = "links_to"
# Properties that say where a memory came from or went: their links make nothing an entity.
ORIGINS: Final = "('links_to', 'derived_from', 'superseded_by')"
# Embedded pictures and sounds are no things that one knows something about; a canvas is, where
# it is read.
NO_FILE: Final = """NOT (instr(folded, '.') > 0 AND (
  substr(folded, -4) IN ('.png', '.jpg', '.gif', '.svg', '.bmp', '.pdf', '.mp3', '.mp4', '.wav',
                         '.ogg', '.ogv', '.m4a', '.mov', '.mkv', '.3gp')
  OR substr(folded, -5) IN ('.jpeg', '.webp', '.webm', '.avif', '.flac', '.base')
  OR (substr(folded, -7) = '.canvas' AND NOT EXISTS (SELECT 1 FROM name WHERE name.folded =
      replace(link.folded, rtrim(link.folded, replace(link.folded, '/', '')), '')))))"""
# That a memory speaks of something is one of thousands of such links, and is counted elsewhere:
# of these only the latest are followed, fewer where many ends are asked for.
_PLAIN: Final = (
    "(relation IN ('about', 'links_to') AND lower(note.type) <> 'entity' AND note.id <> '')"
)
_LATEST_PLAIN: Final = f"""
SELECT link.note, target, folded, relation FROM json_each(?) wanted CROSS JOIN link ON link.rowid IN (
  SELECT link.rowid FROM link JOIN note USING (note)
  WHERE folded = wanted.value AND {_PLAIN} AND {{}} ORDER BY link.rowid DESC LIMIT ?)
"""
_PLAIN_EACH, _PLAIN_AT_LEAST = 25, 3
_OTHERS_EACH: Final = 500
_FEW_NOTES, _NEIGHBOURS = 3_000, 500  # where a name is looked for that may have been meant
# A walk leaps through all of the file. Mapping it would do as well, but a file that is cut while
# it is mapped ends the process.
_CACHE: Final = 16_384  # KiB


class GraphNode(NamedTuple):
    ref: GraphEnd
    name: str
    path: str = ""
    type: str = "entity"
    kind: str = ""
    id: str = ""
    forgotten: int = 0

    @property
    def is_entity(self) -> bool:
        return self.type == "entity"

    @property
    def is_listed(self) -> bool:
        """Whether it is shown as an entity: memories and journals are shown as memories."""
        return self.type == "entity" or (not self.id and self.type != "session")


EdgeKey: TypeAlias = tuple[int, str, GraphEnd]  # source, folded relation, target
_NOTHING: Final[dict[str, str]] = {}


class GraphEdge(NamedTuple):
    source: int
    relation: str
    target: GraphEnd
    written: str  # the target as the source spells it


class FactRow(NamedTuple):
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


class _LinkRow(NamedTuple):
    note: int
    target: str
    folded: str
    relation: str


class Relations:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._roomy = threading.local()
        self.kept: Any = None  # what was found out about all of it

    def query(self, sql: str, values: Sequence[object]) -> list[Any]:
        """With room for a walk: the usual cache would read most pages again and again."""
        db = self._catalog.db
        if getattr(self._roomy, "db", None) is not db:
            db.execute(f"PRAGMA cache_size=-{_CACHE}")
            self._roomy.db = db
        return self._catalog.query(sql, values)

    @property
    def state(self) -> object:
        """Moves with every change."""
        return self._catalog.stamp()

    # --- names -------------------------------------------------------------------------

    def named(self, name: str, filters: Filters, *, aliases: bool = False) -> list[GraphNode]:
        """The notes that a link with this name could mean: by path or title, else by alias; with
        `aliases` by both."""
        folded = link_key(name.replace("\\", "/")).lstrip("/")
        titled, aliased = self._notes_meant_by_relations([folded], filters).get(folded, ({}, {}))
        if titled:
            paths = LinkMap(titled).resolve(folded).paths
            found = {titled[path] for path in paths}
        else:
            found = set()
        if aliases or not titled:
            found |= set(aliased.values())
        return sorted(self.nodes(found, filters).values(), key=lambda node: node.path)

    def mentions(self, name: str, filters: Filters) -> str:
        """How some note spells this name in a link; empty if none does."""
        visible, values = filters_on_rows(filters)
        sql = (
            f"SELECT min(target) FROM link JOIN note USING (note) WHERE folded = ? AND {visible} "
            f"AND {NO_FILE}"
        )
        return self.query(sql, (link_key(name), *values))[0][0] or ""

    def nodes(self, refs: Iterable[GraphEnd], filters: Filters) -> dict[GraphEnd, GraphNode]:
        """The notes among these."""
        visible, values = filters_on_rows(filters._replace(forgotten=True))
        sql = (
            "SELECT note, title, path, lower(type), kind, id, forgotten FROM note "
            f"WHERE note IN {SQL_LIST} AND {visible}"
        )
        rows = self.query(sql, (note_numbers(refs), *values))
        return {row[0]: GraphNode._make(row) for row in rows}

    def names(self, prefix: str, limit: int, filters: Filters) -> list[str]:
        """Entities whose name or alias begins so."""
        first = name_key(prefix)
        visible, values = filters_on_rows(filters)
        span = f"folded >= ? AND folded < ? AND {visible}"
        sql = (
            "SELECT DISTINCT title FROM name JOIN note USING (note) "
            f"WHERE {span} AND lower(note.type) = 'entity' UNION SELECT min(target) "
            f"FROM link JOIN note USING (note) WHERE {span} AND {NO_FILE} "
            f"AND relation NOT IN {ORIGINS} GROUP BY folded UNION SELECT DISTINCT object "
            f"FROM fact CROSS JOIN note USING (note) WHERE substr(object, 1, 2) = '[[' "
            f"AND lower(object) >= ? AND lower(object) < ? AND {visible}"
        )
        bounds = [first, first + LAST_CHARACTER, *values]
        opening = f"[[{first}"
        of_facts = [opening, opening + LAST_CHARACTER, *values]
        rows = self.query(sql, [*bounds, *bounds, *of_facts])
        found = {name_key(name): name for row in rows if (name := link_target(row[0]) or row[0])}
        return [found[key] for key in sorted(found)][:limit]

    def near(self, name: str, filters: Filters, most: int = 3) -> list[str]:
        """Names that may have been meant."""
        from vaultmem.base.differences.line_difference import close_names

        wanted = name_key(name)
        rows = self._spelt_names_near(wanted, filters)
        found = {name_key(row): row for row in rows if row}
        close = close_names(wanted, found, most, 0.6)
        within = sorted(key for key in found if len(key) > 2 and (key in wanted or wanted in key))
        return [found[key] for key in dict.fromkeys([*close, *within])][:most]

    def _spelt_names_near(self, wanted: str, filters: Filters) -> list[str]:
        """Where there are few, all names that begin alike or are a part of the other; else those
        that stand nearest to it in the alphabet."""
        visible, values = filters_on_rows(filters)
        if self._catalog.number_of_notes() <= _FEW_NOTES:
            alike = "(substr({0}, 1, 2) = substr(?, 1, 2) OR instr({0}, ?) OR instr(?, {0}))"
            sql = (
                f"SELECT title FROM note WHERE {visible} AND {alike.format('lower(title)')} "
                f"UNION SELECT min(target) FROM link JOIN note USING (note) WHERE {visible} "
                f"AND {NO_FILE} AND {alike.format('folded')} GROUP BY folded LIMIT 2000"
            )
            return [row[0] for row in self.query(sql, [*values, *[wanted] * 3] * 2)]
        first, found = wanted[:2], list[str]()
        for table, spelt, plain in (("name", "title", "1"), ("link", "target", NO_FILE)):
            for span, order in (
                ((wanted, first + LAST_CHARACTER), "folded"),
                ((first, wanted), "folded DESC"),
            ):
                sql = (
                    f"SELECT {spelt} FROM {table} CROSS JOIN note USING (note) "
                    f"WHERE folded >= ? AND folded < ? AND {plain} AND {visible} "
                    f"ORDER BY {order} LIMIT ?"
                )
                found += self._catalog.column(sql, [*span, *values, _NEIGHBOURS])
        return found

    # --- edges -------------------------------------------------------------------------

    def around(
        self, refs: Collection[GraphEnd], filters: Filters, **which: bool
    ) -> tuple[list[GraphEdge], bool]:
        """The edges that leave or reach one of these, and whether there are more."""
        edges, more = self.edges(refs, filters, **which)
        return list(edges.values()), more

    def edges(
        self,
        refs: Collection[GraphEnd],
        filters: Filters,
        *,
        outgoing: bool = True,
        incoming: bool = True,
        bounded: bool = True,
    ) -> tuple[dict[EdgeKey, GraphEdge], bool]:
        """The edges that leave or reach one of these, each once, and whether there are more.

        A bare link is an edge only where no label joins the two ends already: the links of
        facts and relations stand among the note's links as well.
        """
        wanted, more = set(refs), False
        rows = list(self._relation_links_from(wanted)) if outgoing else []
        if incoming:
            reaching, more = self._relation_links_to(wanted, filters, bounded)
            rows += reaching
        labels = self._relation_links_with_facts(rows)
        ends = self.resolved(labels, filters)
        edges: dict[EdgeKey, GraphEdge] = {}
        for pair, relations in labels.items():
            note, target = pair[1], ends[pair]
            asked = (outgoing and note in wanted) or (incoming and target in wanted)
            if not asked or target == note:
                continue
            for relation, written in relations.items():
                key = note, relation_key(relation), target
                edge, known = GraphEdge(note, relation, target, written), edges.get(key)
                if known is None or edge < known:  # of two spellings always the same
                    edges[key] = edge
        return edges, more

    def memories(self, refs: Collection[GraphEnd], filters: Filters) -> dict[GraphEnd, set[int]]:
        """For each of these the notes that link to it or that it links to, entities left out."""
        found: dict[GraphEnd, set[int]] = {ref: set() for ref in refs}
        visible, values = filters_on_rows(filters)
        sql = (
            "SELECT DISTINCT folded, link.note FROM link JOIN note USING (note) "
            f"WHERE {{}} AND {visible} AND lower(note.type) <> 'entity'"
        )
        pairs = set(self._relation_links_reaching(sql, refs, values))
        for (_, note), end in self.resolved(pairs, filters).items():
            if end in found and end != note:
                found[end].add(note)
        sql = f"SELECT DISTINCT folded, note FROM link WHERE note IN {SQL_LIST}"
        pairs = set(self.query(sql, (note_numbers(refs),)))
        ends = self.resolved(pairs, filters)
        nodes = self.nodes(ends.values(), filters)
        for (_, note), end in ends.items():
            node = nodes.get(end)
            if isinstance(end, int) and end != note and node and not node.is_entity:
                if not node.forgotten:
                    found[note].add(end)
        return found

    def _relation_links_from(self, refs: Iterable[GraphEnd]) -> Iterator[_LinkRow]:
        sql = f"SELECT note, target, folded, relation FROM link WHERE note IN {SQL_LIST} AND {NO_FILE}"
        return map(_LinkRow._make, self.query(sql, (note_numbers(refs),)))

    def keys(self, refs: Collection[GraphEnd]) -> set[str]:
        """All folded names by which a link can mean one of these, but for relative paths."""
        keys = {ref for ref in refs if isinstance(ref, str)}
        for path, name in self._names_of_relation_ends(refs):
            steps = path.split("/")
            keys |= {name, f"/{path}", *("/".join(steps[i:]) for i in range(len(steps)))}
        return keys

    def _relation_links_to(
        self, refs: Collection[GraphEnd], filters: Filters, bounded: bool
    ) -> tuple[list[_LinkRow], bool]:
        visible, values = filters_on_rows(filters._replace(forgotten=True))
        sql = (
            "SELECT link.note, target, folded, relation FROM link JOIN note USING (note) "
            f"WHERE {{}} AND {visible}"
        )
        if bounded:
            sql += f" AND NOT {_PLAIN}"
        rows = [_LinkRow(*row) for row in self._relation_links_reaching(sql, refs, values)]
        if not bounded:
            return rows, False
        most = max(_PLAIN_AT_LEAST, _PLAIN_EACH // max(1, len(refs)))
        found = self.query(
            _LATEST_PLAIN.format(visible),
            (_relation_ends_as_sql(self.keys(refs)), *values, most + 1),
        )
        rows, left_out = _bounded_relation_links(rows, _OTHERS_EACH)
        plain, more = _bounded_relation_links([_LinkRow(*row) for row in found], most)
        return rows + plain, left_out or more

    def _relation_links_reaching(
        self, sql: str, refs: Collection[GraphEnd], values: Sequence[object]
    ) -> Iterator[tuple[Any, ...]]:
        """Ask for the links that may reach one of these: by a name, or by a relative path
        as Markdown links have it."""
        titles = {posixpath.basename(path) for path, _ in self._names_of_relation_ends(refs)}
        exact = sql.format(f"folded IN {SQL_LIST}")
        yield from self.query(exact, (_relation_ends_as_sql(self.keys(refs)), *values))
        relative = sql.format(f"folded >= '.' AND folded < '/' AND {BASENAME} IN {SQL_LIST}")
        yield from self.query(relative, (_relation_ends_as_sql(titles), *values))

    def _names_of_relation_ends(self, refs: Iterable[GraphEnd]) -> Iterator[tuple[str, str]]:
        """The folded path of each note among these, with each of its folded names."""
        sql = f"SELECT path, folded FROM note JOIN name USING (note) WHERE note IN {SQL_LIST}"
        for path, name in self.query(sql, (note_numbers(refs),)):
            yield link_key(path), name

    def _relation_links_with_facts(
        self, rows: Iterable[_LinkRow]
    ) -> dict[tuple[str, int], dict[str, str]]:
        """For each target of each note the relations with it, as the note spells it there; what
        facts say stands in place of their bare links."""
        labels: dict[tuple[str, int], dict[str, str]] = {}
        for note, target, folded, relation in rows:
            relations = labels.setdefault((folded, note), {})
            if relation not in relations or target < relations[relation]:
                relations[relation] = target
        now = dt.datetime.now(dt.UTC)
        sql = (
            "SELECT note, predicate, object, valid_to FROM fact "
            f"WHERE note IN {SQL_LIST} AND substr(object, 1, 2) = '[['"
        )
        sources = note_numbers({note for _, note in labels})
        for note, predicate, text, valid_to in self.query(sql, (sources,)):
            target, folded = object_link(text)
            relations = labels.get((folded, note), _NOTHING)
            if relations is not _NOTHING:
                relations.pop(LINKS_TO, None)
                if not has_ended(valid_to, now):
                    relations.setdefault(predicate, target)
        for relations in labels.values():
            if len(relations) > 1:
                relations.pop(LINKS_TO, None)
        return labels

    # --- which note a link means ---------------------------------------------------------

    def resolved(
        self, pairs: Collection[tuple[str, int]], filters: Filters
    ) -> dict[tuple[str, int], GraphEnd]:
        """Each target of each source: a note's number, else the name."""
        targets = {folded for folded, _ in pairs}
        candidates = self._notes_meant_by_relations(targets, filters)
        clear = {
            target: _only_note_related(*candidates[target])
            for target in targets
            if "/" not in target
        }
        unclear = {note for target, note in pairs if clear.get(target) is None}
        sources = {ref: node.path for ref, node in self.nodes(unclear, filters).items()}
        found: dict[tuple[str, int], GraphEnd] = {}
        for pair in pairs:
            target, note = pair
            end = clear.get(target)
            if end is None:
                end = _note_related_by_link(target, sources.get(note, ""), *candidates[target])
            found[pair] = end or re.sub(r"\A(?:\.{0,2}/)+", "", target)
        return found

    def _notes_meant_by_relations(
        self, targets: Iterable[str], filters: Filters
    ) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
        """For each folded target the notes with its name as title, and those with it as alias."""
        wanted = set(targets)
        visible, values = filters_on_rows(filters._replace(forgotten=True))
        sql = (
            "SELECT folded, name.kind, path, note FROM name JOIN note USING (note) "
            f"WHERE folded IN {SQL_LIST} AND {visible}"
        )
        names = _relation_ends_as_sql(wanted | {posixpath.basename(target) for target in wanted})
        by_title: dict[str, dict[str, int]] = {}
        by_alias: dict[str, dict[str, int]] = {}
        for folded, kind, path, note in self.query(sql, (names, *values)):
            (by_title if kind == "title" else by_alias).setdefault(folded, {})[path] = note
        return {
            target: (by_title.get(posixpath.basename(target), {}), by_alias.get(target, {}))
            for target in wanted
        }

    def attached(self, refs: Collection[GraphEnd], filters: Filters) -> GraphMemories:
        """The memories that speak of these, or of which these speak."""
        candidates = self._notes_meant_by_relations(self.keys(refs), filters)
        wanted = set(refs)
        names: dict[str, GraphEnd] = {}
        unclear: set[str] = set()
        for target, found in candidates.items():
            number = _only_note_related(*found) if "/" not in target else None
            end: GraphEnd = target if number == 0 else number or 0
            if number is None:
                unclear.add(target)
            elif end in wanted:
                names[target] = end
        return GraphMemories(
            self.query, names, self._other_pairs_in_relation(wanted, unclear, filters), filters
        )

    def _other_pairs_in_relation(
        self, refs: set[GraphEnd], unclear: set[str], filters: Filters
    ) -> set[tuple[GraphEnd, int]]:
        """An end and a note, by links that must be looked at one by one: those whose name does
        not say which note is meant, and those that these ends have themselves."""
        titles = {posixpath.basename(path) for path, _ in self._names_of_relation_ends(refs)}
        sql = (
            f"SELECT folded, note FROM link WHERE folded IN {SQL_LIST} UNION "
            "SELECT folded, note FROM link WHERE folded >= '.' AND folded < '/' "
            f"AND {BASENAME} IN {SQL_LIST}"
        )
        pairs = set(
            self.query(sql, (_relation_ends_as_sql(unclear), _relation_ends_as_sql(titles)))
        )
        reaching = self.resolved(pairs, filters).items()
        sql = f"SELECT DISTINCT folded, note FROM link WHERE note IN {SQL_LIST}"
        pairs = set(self.query(sql, (note_numbers(refs),)))
        leaving = self.resolved(pairs, filters).items()
        found = {(end, note) for (_, note), end in reaching if end in refs}
        return found | {(note, end) for (_, note), end in leaving if isinstance(end, int)}

    # --- facts -------------------------------------------------------------------------

    def facts(self, filters: Filters, notes: Iterable[int] | None = None) -> list[FactRow]:
        """All facts, or those of these notes, in the order in which they stand."""
        visible, values = filters_on_rows(filters)
        sql = (
            "SELECT note, title, path, predicate, object, valid_from, valid_to, confidence, "
            f"provenance, block FROM fact JOIN note USING (note) WHERE {visible}"
        )
        if notes is not None:
            sql += f" AND note IN {SQL_LIST}"
            values.append(note_numbers(notes))
        return [FactRow(*row) for row in self.query(f"{sql} ORDER BY fact.rowid", values)]


def _only_note_related(titled: Mapping[str, int], aliased: Mapping[str, int]) -> int | None:
    """The note that a bare name means wherever it stands, 0 for none; None where that depends."""
    if len(titled) > 1:
        return None
    named = titled or (aliased if len(aliased) == 1 else {})
    return next(iter(named.values()), 0)


def _note_related_by_link(
    target: str, source: str, titled: Mapping[str, int], aliased: Mapping[str, int]
) -> int:
    if titled:
        path = LinkMap(titled).resolve(target, source).path
        return titled[path] if path else 0
    return next(iter(aliased.values())) if len(aliased) == 1 else 0


def _bounded_relation_links(rows: list[_LinkRow], most: int) -> tuple[list[_LinkRow], bool]:
    """So many for each name, and whether there are more: those with a label first, then newest."""
    counts = Counter(row.folded for row in rows)
    if all(count <= most for count in counts.values()):
        return rows, False
    taken: Counter[str] = Counter()
    kept = []
    for row in sorted(rows, key=lambda r: (r.relation in ("about", LINKS_TO), -r.note)):
        taken[row.folded] += 1
        if taken[row.folded] <= most:
            kept.append(row)
    return kept, True


def _relation_ends_as_sql(values: Iterable[GraphEnd]) -> str:
    return sql_list(sorted(values, key=str))
