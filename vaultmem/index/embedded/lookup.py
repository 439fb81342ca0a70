"""Looking things up in the catalog: notes by filter, by name, by session; what belongs to a hit;
and how many there are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.replacements import Replaced, Replacements
from vaultmem.index.filters import Filters, filters_as_sql
from vaultmem.notes.file_names import name_key

LOOKUP_ORDERS: Final = {
    "recent": "coalesce(updated, created, mtime_ns / 1000000000) DESC, path",
    "created": "coalesce(created, mtime_ns / 1000000000) DESC, path",
    "importance": "coalesce(importance, 0.5) DESC, coalesce(updated, created, 0) DESC, path",
    "title": "casefold(title), path",
}
_NAMED: Final = (
    "SELECT DISTINCT path FROM name JOIN note USING (note) WHERE folded = ? AND name.kind = '{}'"
)
_ROWS: Final = f"""
SELECT note, path, version, id, key, title, type, scope, project, user, room, session, kind, unclear,
  importance, created, updated, mtime_ns, forgotten, more FROM note WHERE note IN {SQL_LIST}
"""
_PLACES: Final = "SELECT passage, note, heading, kind, block, start, end FROM passage"


class CatalogRow(NamedTuple):
    """A note as the catalog knows it."""

    note: int
    path: str
    version: str
    id: str
    key: str
    title: str
    type: str
    scope: str
    project: str
    user: str
    room: str
    session: str
    kind: str
    unclear: str  # whether it cannot be read whose it is
    importance: float | None
    created: int | None
    updated: int | None
    mtime_ns: int
    forgotten: bool
    more: Mapping[str, str]  # source, superseded_by, forgotten_reason, where there are any
    tags: tuple[str, ...]

    @property
    def belonging(self) -> dict[str, str]:
        """Whose note it is."""
        names = ("scope", "project", "user", "session", "unclear")
        return {name: getattr(self, name) for name in names}

    @property
    def place_in_session(self) -> tuple[int, int, str, str]:
        """By age; parts of one conversation may be equally old, and their keys are numbered."""
        return self.created or 0, len(self.key), self.key, self.path


class PassagePlace(NamedTuple):
    """Where a passage stands."""

    passage: int
    note: int
    heading: str
    kind: str
    block: str
    start: int
    end: int


class NoteSignals(NamedTuple):
    """What a memory's place may depend on beside the question."""

    importance: float | None
    changed: int  # seconds since the epoch


class Lookup:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._replacements = Replacements(catalog)

    def select(
        self, filters: Filters, order: str = "recent", limit: int = -1, offset: int = 0
    ) -> tuple[list[CatalogRow], int]:
        """A page of the notes that pass, and how many pass in all."""
        condition, values = filters_as_sql(filters)
        total = self._catalog.column(f"SELECT count(*) FROM note WHERE {condition}", values)[0]
        sql = f"SELECT note FROM note WHERE {condition} ORDER BY {LOOKUP_ORDERS[order]} LIMIT ? OFFSET ?"
        return looked_up_rows(self._catalog, sql, [*values, limit, offset]), int(total)

    def at(self, paths: Sequence[str]) -> dict[str, CatalogRow]:
        """The rows of these paths, as far as they are indexed."""
        sql = f"SELECT note FROM note WHERE path IN {SQL_LIST}"
        return {row.path: row for row in looked_up_rows(self._catalog, sql, (sql_list(paths),))}

    def find(self, ref: str) -> list[str]:
        """Paths of the notes with this id; else key; else title; else alias."""
        folded = name_key(ref)
        for sql, value in (
            ("SELECT path FROM note WHERE id = ? AND id <> ''", ref.upper()),
            ("SELECT path FROM note WHERE key = ? AND key <> ''", ref),
            (_NAMED.format("title"), folded),
            (_NAMED.format("alias"), folded),
        ):
            if found := self._catalog.column(sql, (value,)):
                return sorted(found)
        return []

    def with_key(self, key: str, filters: Filters) -> list[CatalogRow]:
        condition, values = filters_as_sql(filters)
        sql = f"SELECT note FROM note WHERE key = ? AND key <> '' AND {condition} ORDER BY note"
        return looked_up_rows(self._catalog, sql, [key, *values])

    def titles(self, filters: Filters) -> list[str]:
        condition, values = filters_as_sql(filters)
        sql = f"SELECT DISTINCT title FROM note WHERE {condition} ORDER BY note DESC LIMIT 20000"
        return self._catalog.column(sql, values)

    def titles_near_id(self, wanted: str, filters: Filters) -> list[str]:
        """Of notes whose id has one half of this one: what was mistyped is in the other half."""
        condition, values = filters_as_sql(filters)
        sql = (
            "SELECT title FROM note WHERE (substr(id, 1, 12) = ? OR substr(id, -12) = ?) "
            f"AND id <> '' AND {condition} LIMIT 3"
        )
        halves = (wanted[:12].upper(), wanted[-12:].upper())
        return self._catalog.column(sql, [*halves, *values])

    def named_or_linked(self, folded: Sequence[str]) -> set[str]:
        """Which of these folded names some note has, or some link."""
        sql = f"SELECT folded FROM {{}} WHERE folded IN {SQL_LIST}"
        wanted, column = (sql_list(folded),), self._catalog.column
        return {name for t in ("name", "link") for name in column(sql.format(t), wanted)}

    def paths_named(self, folded: str) -> list[str]:
        """Notes that have this folded name as their title or an alias."""
        sql = "SELECT DISTINCT path FROM name JOIN note USING (note) WHERE folded = ?"
        return self._catalog.column(sql, (folded,))

    def tags(self, filters: Filters) -> list[tuple[str, int]]:
        condition, values = filters_as_sql(filters)
        sql = (
            "SELECT min(tag), count(DISTINCT tag.note) FROM tag JOIN note USING (note) "
            f"WHERE {condition} GROUP BY folded ORDER BY 2 DESC, 1"
        )
        return self._catalog.query(sql, values)

    def relationships(self, filters: Filters) -> int:
        """How many links and facts there are in these notes."""
        condition, values = filters_as_sql(filters)
        sql = f"SELECT count(*) FROM {{}} JOIN note USING (note) WHERE {condition}"
        return sum(self._catalog.column(sql.format(t), values)[0] for t in ("link", "fact"))

    def extent(self, filters: Filters) -> tuple[int, int, int]:
        """How many notes these are, their bytes, and their passages."""
        condition, values = filters_as_sql(filters)
        sql = f"SELECT count(*), coalesce(sum(max(size, 0)), 0) FROM note WHERE {condition}"
        notes, size = self._catalog.query(sql, values)[0]
        sql = f"SELECT count(*) FROM passage JOIN note USING (note) WHERE {condition}"
        return int(notes), int(size), int(self._catalog.column(sql, values)[0])

    def problems(self, filters: Filters) -> list[tuple[str, str]]:
        """Which of these notes are not wholly searchable, and why."""
        condition, values = filters_as_sql(filters)
        sql = (
            "SELECT note.path, problem.message FROM problem CROSS JOIN note USING (note) "
            f"WHERE {condition} ORDER BY 1"
        )
        return self._catalog.query(sql, values)

    def counts(self, column: str, filters: Filters) -> dict[str, int]:
        """How many notes there are of each scope, type or project."""
        assert column in ("scope", "type", "project", "kind", "session")
        condition, values = filters_as_sql(filters)
        sql = f"SELECT {column}, count(*) FROM note WHERE {condition} GROUP BY 1 ORDER BY 2 DESC"
        return dict(self._catalog.query(sql, values))

    # --- what belongs to a hit -------------------------------------------------------------

    def rows(self, notes: Iterable[int]) -> dict[int, CatalogRow]:
        return rows_of_notes(self._catalog, notes)

    def places(self, passages: Iterable[int]) -> dict[int, PassagePlace]:
        found = self._catalog.query(f"{_PLACES} WHERE passage IN {SQL_LIST}", (sql_list(passages),))
        return {row[0]: PassagePlace(*row) for row in found}

    def observations(self, passages: Iterable[int]) -> dict[int, int]:
        """Of those that are there: the first one of the observation that stands alone, or 0."""
        first = "CASE WHEN part < 0 THEN 0 ELSE passage - part END"
        sql = f"SELECT passage, {first} FROM passage WHERE passage IN {SQL_LIST}"
        return dict(self._catalog.query(sql, (sql_list(passages),)))

    def signals(self, notes: Iterable[int]) -> dict[int, NoteSignals]:
        changed = "coalesce(updated, created, mtime_ns / 1000000000)"
        sql = f"SELECT note, importance, {changed} FROM note WHERE note IN {SQL_LIST}"
        return {
            row[0]: NoteSignals(*row[1:]) for row in self._catalog.query(sql, (sql_list(notes),))
        }

    def replaced(self) -> Replaced:
        return self._replacements.all_replacements()

    def passing(self, notes: Iterable[int], filters: Filters) -> set[int]:
        """Those of these notes that pass."""
        condition, values = filters_as_sql(filters)
        sql = f"SELECT note FROM note WHERE note IN {SQL_LIST} AND {condition}"
        return set(self._catalog.column(sql, [sql_list(notes), *values]))

    def dated(self, filters: Filters, first: int, last: int, most: int) -> dict[int, int]:
        """Notes about one of these days (ordinals), each with its day, the latest first."""
        condition, values = filters_as_sql(filters)
        sql = f"SELECT note, day FROM note WHERE day BETWEEN ? AND ? AND {condition} ORDER BY day DESC LIMIT ?"
        return dict(self._catalog.query(sql, [first, last, *values, most]))

    def days(self, notes: Iterable[int]) -> dict[int, int]:
        """The days that notes are about, as ordinals."""
        sql = f"SELECT note, day FROM note WHERE day IS NOT NULL AND note IN {SQL_LIST}"
        return dict(self._catalog.query(sql, (sql_list(notes),)))

    def first_passages(self, notes: Iterable[int]) -> dict[int, PassagePlace]:
        first = _PLACES.replace("passage", "min(passage)", 1)
        sql = f"{first} WHERE note IN {SQL_LIST} GROUP BY note"
        return {row[1]: PassagePlace(*row) for row in self._catalog.query(sql, (sql_list(notes),))}


class Journals:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def of_session(self, session: str, filters: Filters) -> list[CatalogRow]:
        """The notes that belong to a session, oldest first; `filters` say of which type."""
        condition, values = filters_as_sql(filters)
        sql = f"SELECT note FROM note WHERE {condition} AND casefold(session) = ?"
        found = looked_up_rows(self._catalog, sql, [*values, session.casefold()])
        return sorted(found, key=lambda row: row.place_in_session)

    def latest(self, filters: Filters, count: int) -> list[CatalogRow]:
        """The journals that hold the latest observations, and the latest journals; oldest first."""
        condition, values = filters_as_sql(filters)
        observed = (
            "SELECT DISTINCT note FROM (SELECT note FROM passage JOIN note USING (note) "
            f"WHERE passage.kind = 'observation' AND length(block) = 26 AND {condition} "
            "ORDER BY lower(block) DESC LIMIT ?)"
        )
        begun = f"SELECT note FROM note WHERE {condition} ORDER BY created DESC, note DESC LIMIT ?"
        found = (looked_up_rows(self._catalog, sql, [*values, count]) for sql in (observed, begun))
        each = {row.note: row for rows in found for row in rows}
        return sorted(each.values(), key=lambda row: row.place_in_session)

    def with_observation(self, block: str, filters: Filters) -> list[CatalogRow]:
        condition, values = filters_as_sql(filters)
        sql = (
            "SELECT DISTINCT note FROM passage JOIN note USING (note) "
            f"WHERE passage.kind = 'observation' AND lower(block) = ? AND {condition}"
        )
        return looked_up_rows(self._catalog, sql, [block.lower(), *values])

    def derived(self, relation: str) -> list[CatalogRow]:
        """Every note that was made from others, forgotten ones too."""
        sql = "SELECT DISTINCT note FROM link WHERE relation = ?"
        return looked_up_rows(self._catalog, sql, [relation])


def looked_up_rows(catalog: Catalog, sql: str, values: Sequence[object]) -> list[CatalogRow]:
    """The rows of the notes whose numbers this asks for, in that order."""
    numbers = catalog.column(sql, values)
    rows = rows_of_notes(catalog, numbers)
    return [rows[number] for number in numbers if number in rows]


def rows_of_notes(catalog: Catalog, notes: Iterable[int]) -> dict[int, CatalogRow]:
    wanted = (sql_list(notes),)
    tags: dict[int, list[str]] = {}
    sql = f"SELECT note, tag FROM tag WHERE note IN {SQL_LIST} ORDER BY rowid"
    for note, tag in catalog.query(sql, wanted):
        tags.setdefault(note, []).append(tag)
    return {
        row[0]: CatalogRow(*(*row[:-1], json.loads(row[-1]), tuple(tags.get(row[0], ()))))
        for row in catalog.query(_ROWS, wanted)
    }
