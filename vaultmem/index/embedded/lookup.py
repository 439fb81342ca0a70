"""Looking things up in the catalog: notes by filter, by name, and how many there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from vaultmem.index.catalog import Catalog, Row
from vaultmem.index.fulltext import Filters
from vaultmem.names import name_key

ORDERS: Final = {
    "recent": "coalesce(updated, created, mtime_ns / 1000000000) DESC, path",
    "created": "coalesce(created, mtime_ns / 1000000000) DESC, path",
    "importance": "coalesce(importance, 0.5) DESC, coalesce(updated, created, 0) DESC, path",
    "title": "casefold(title), path",
}
_NAMED: Final = (
    "SELECT DISTINCT path FROM name JOIN note USING (note) WHERE folded = ? AND name.kind = '{}'"
)


class Lookup:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def select(
        self, filters: Filters, order: str = "recent", limit: int = -1, offset: int = 0
    ) -> tuple[list[Row], int]:
        """A page of the notes that pass, and how many pass in all."""
        condition, values = where(filters)
        db = self._catalog.db
        total = db.execute(f"SELECT count(*) FROM note WHERE {condition}", values).fetchone()[0]
        sql = f"SELECT note FROM note WHERE {condition} ORDER BY {ORDERS[order]} LIMIT ? OFFSET ?"
        numbers = [row[0] for row in db.execute(sql, [*values, limit, offset])]
        rows = self._catalog.rows(numbers)
        return [rows[number] for number in numbers if number in rows], int(total)

    def at(self, paths: Sequence[str]) -> dict[str, Row]:
        """The rows of these paths, as far as they are indexed."""
        marks = ",".join("?" * len(paths))
        sql = f"SELECT note FROM note WHERE path IN ({marks})"
        numbers = [row[0] for row in self._catalog.db.execute(sql, list(paths))]
        return {row.path: row for row in self._catalog.rows(numbers).values()}

    def find(self, ref: str) -> list[str]:
        """Paths of the notes with this id; else key; else title; else alias."""
        folded = name_key(ref)
        for sql, value in (
            ("SELECT path FROM note WHERE id = ? AND id <> ''", ref.upper()),
            ("SELECT path FROM note WHERE key = ? AND key <> ''", ref),
            (_NAMED.format("title"), folded),
            (_NAMED.format("alias"), folded),
        ):
            if found := [row[0] for row in self._catalog.db.execute(sql, (value,))]:
                return sorted(found)
        return []

    def with_key(self, key: str, filters: Filters) -> list[Row]:
        condition, values = where(filters)
        sql = f"SELECT note FROM note WHERE key = ? AND key <> '' AND {condition} ORDER BY note"
        numbers = [row[0] for row in self._catalog.db.execute(sql, [key, *values])]
        return list(self._catalog.rows(numbers).values())

    def titles(self, filters: Filters) -> list[str]:
        condition, values = where(filters)
        sql = f"SELECT DISTINCT title FROM note WHERE {condition} ORDER BY note DESC LIMIT 20000"
        return [row[0] for row in self._catalog.db.execute(sql, values)]

    def titles_near_id(self, wanted: str, filters: Filters) -> list[str]:
        """Of notes whose id has one half of this one: what was mistyped is in the other half."""
        condition, values = where(filters)
        sql = (
            "SELECT title FROM note WHERE (substr(id, 1, 12) = ? OR substr(id, -12) = ?) "
            f"AND id <> '' AND {condition} LIMIT 3"
        )
        halves = (wanted[:12].upper(), wanted[-12:].upper())
        return [row[0] for row in self._catalog.db.execute(sql, [*halves, *values])]

    def named_or_linked(self, folded: Sequence[str]) -> set[str]:
        """Which of these folded names some note has, or some link."""
        sql = "SELECT folded FROM {} WHERE folded IN (SELECT value FROM json_each(?))"
        wanted = json.dumps(list(folded))
        db = self._catalog.db
        return {row[0] for t in ("name", "link") for row in db.execute(sql.format(t), (wanted,))}

    def paths_named(self, folded: str) -> list[str]:
        """Notes that have this folded name as their title or an alias."""
        sql = "SELECT DISTINCT path FROM name JOIN note USING (note) WHERE folded = ?"
        return [row[0] for row in self._catalog.db.execute(sql, (folded,))]

    def tags(self, filters: Filters) -> list[tuple[str, int]]:
        condition, values = where(filters)
        sql = (
            "SELECT min(tag), count(DISTINCT tag.note) FROM tag JOIN note USING (note) "
            f"WHERE {condition} GROUP BY folded ORDER BY 2 DESC, 1"
        )
        return self._catalog.db.execute(sql, values).fetchall()

    def relationships(self, filters: Filters) -> int:
        """How many links and facts there are in these notes."""
        condition, values = where(filters)
        sql = f"SELECT count(*) FROM {{}} JOIN note USING (note) WHERE {condition}"
        return sum(
            self._catalog.db.execute(sql.format(t), values).fetchone()[0] for t in ("link", "fact")
        )

    def counts(self, column: str, filters: Filters) -> dict[str, int]:
        """How many notes there are of each scope, type or project."""
        assert column in ("scope", "type", "project", "kind", "session")
        condition, values = where(filters)
        sql = f"SELECT {column}, count(*) FROM note WHERE {condition} GROUP BY 1 ORDER BY 2 DESC"
        return dict(self._catalog.db.execute(sql, values).fetchall())


def where(filters: Filters) -> tuple[str, list[object]]:
    """The same filters for SQL that the full text has as facets."""
    terms: list[str] = []
    values: list[object] = []
    for column, wanted in (
        ("type", filters.types),
        ("scope", filters.scopes),
        ("project", filters.projects),
        ("room", filters.rooms),
        ("kind", filters.kinds),
    ):
        if wanted:
            marks = ",".join("?" * len(wanted))
            terms.append(f"casefold(note.{column}) IN ({marks})")
            values += [value.casefold() for value in wanted]
    for condition, pinned in (
        ("(note.user = '' OR casefold(note.user) = ?)", filters.user),
        ("(note.project = '' OR casefold(note.project) = ?)", filters.home),
        ("(casefold(note.scope) <> 'session' OR casefold(note.session) = ?)", filters.session),
    ):
        if pinned:
            terms.append(condition)
            values.append(pinned.casefold())
    if filters.tags:
        folded = [tag.lstrip("#").casefold() for tag in filters.tags]
        either = " OR ".join("folded = ? OR folded >= ? AND folded < ?" for _ in folded)
        terms.append(f"note.note IN (SELECT note FROM tag WHERE {either})")
        for tag in folded:
            values += [tag, *_below(tag)]
    if filters.folder:
        terms.append("note.path >= ? AND note.path < ?")
        values += _below(filters.folder.strip("/"))
    if not filters.forgotten:
        terms.append("note.forgotten = 0")
    for column, sign, bound in (
        ("created", ">=", filters.after),
        ("created", "<=", filters.before),
        ("coalesce(importance, 0.5)", ">=", filters.min_importance),
    ):
        if bound is not None:
            terms.append(f"{column} {sign} ?")
            values.append(bound)
    return " AND ".join(terms) or "1", values


def _below(name: str) -> tuple[str, str]:
    """From where to where everything below a name stands in order: `0` comes next after `/`."""
    return f"{name}/", f"{name}0"
