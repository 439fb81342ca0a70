"""How many there are, and the first of them: lists and counts, by what is counted shelf by shelf."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.schema import LAST_CHARACTER, LOOKUP_ORDERS
from vaultmem.index.filters import (
    Filters,
    filters_as_sql,
    filters_beside_shelves,
    filters_on_rows,
    shelves_as_sql,
    span_of_folder,
)
from vaultmem.notes.tags import tag_key

_NOTES: Final = "SELECT note FROM note WHERE {} ORDER BY {} LIMIT ? OFFSET ?"
_IN_ORDER: Final = (
    "SELECT note FROM (SELECT {} FROM note ORDER BY {} LIMIT ?) note WHERE {} LIMIT ? OFFSET ?"
)
_TAGS: Final = "FROM tagged CROSS JOIN shelf USING (shelf) WHERE tag <> '' AND {}"
_OF_FEW: Final = "FROM shelf CROSS JOIN tagged USING (shelf) WHERE tag <> '' AND {}"
_OF_SHELVES: Final = (
    *("types", "scopes", "projects", "rooms", "kinds"),
    *("user", "home", "session", "forgotten"),
)
_LIKELY: Final = 500  # tags that one may have meant
_LUCK: Final = 4  # times as many as there should be to look through
_SORTED: Final = 4  # looking at a note in order costs this part of taking it out and sorting


class Extent(NamedTuple):
    notes: int
    bytes: int
    passages: int
    relations: int  # links and facts


class Shelves:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    # --- counting ------------------------------------------------------------------------

    def count(self, filters: Filters) -> int:
        """How many notes pass."""
        shelves, values = shelves_as_sql(filters)
        if counting := _counting(filters):
            sql, own = counting
            return int(self._catalog.column(f"{sql} AND {shelves or '1'}", [*own, *values])[0])
        condition, values = filters_as_sql(filters)
        sql = f"SELECT count(*) FROM note WHERE {condition}"
        return int(self._catalog.column(sql, values)[0])

    def extent(self, filters: Filters) -> Extent:
        """Filters of tags, folders and the like are not asked of shelves."""
        shelves, values = shelves_as_sql(filters)
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in Extent._fields)
        sql = f"SELECT {sums} FROM shelf WHERE {shelves or '1'}"
        return Extent(*self._catalog.query(sql, values)[0])

    def counts(self, column: str, filters: Filters) -> dict[str, int]:
        """How many notes there are of each type, scope, project or kind, the most first."""
        assert column in ("scope", "type", "project", "kind")
        shelves, values = shelves_as_sql(filters)
        sql = (
            f"SELECT {column}, sum(notes) FROM shelf WHERE notes > 0 AND {shelves or '1'} "
            "GROUP BY 1 ORDER BY 2 DESC"
        )
        return dict(self._catalog.query(sql, values))

    # --- listing -------------------------------------------------------------------------

    def page(self, filters: Filters, order: str, limit: int, offset: int) -> tuple[list[int], int]:
        """A page of the notes that pass, and how many pass in all.

        Few are taken out and sorted. Of many the page is found by going through all notes in
        their order, since of these every so manieth passes; where that is not so, as in a
        project that ended long ago, whichever is the shorter is gone through to its end.
        """
        total, everything = self.count(filters), self.count(Filters(forgotten=True))
        wanted = total if limit < 0 else min(offset + limit, total)
        if offset >= total or not wanted:
            return [], total
        found = wanted - offset
        if total * total > everything * wanted:
            budget = _LUCK * wanted * everything // total
            notes = self._in_order(filters, order, found, offset, budget)
            if len(notes) == found:
                return notes, total
            if _SORTED * total > everything:
                return self._in_order(filters, order, found, offset, -1), total
        condition, values = filters_as_sql(filters)
        sql = _NOTES.format(condition, f"+{LOOKUP_ORDERS[order]}")
        return self._catalog.column(sql, [*values, found, offset]), total

    def _in_order(
        self, filters: Filters, order: str, found: int, offset: int, budget: int
    ) -> list[int]:
        condition, values = filters_on_rows(filters)
        if budget < 0:
            sql = _NOTES.format(condition, LOOKUP_ORDERS[order])
            return self._catalog.column(sql, [*values, found, offset])
        bounds = (filters.after, filters.before, filters.min_importance)
        columns = "note, path, shelf" + (
            ", created, importance" if any(each is not None for each in bounds) else ""
        )
        sql = _IN_ORDER.format(columns, LOOKUP_ORDERS[order], condition)
        return self._catalog.column(sql, [budget, *values, found, offset])

    # --- tags ----------------------------------------------------------------------------

    def tags(self, filters: Filters, most: int = -1) -> tuple[list[tuple[str, int]], int]:
        """The tags that most notes have, and how many tags there are."""
        beside, _ = filters_beside_shelves(filters)
        if beside:
            return self._tags_of_notes(filters, most)
        if filters == Filters(session=filters.session):
            counts, total = self._common_tags(filters, most)
        else:
            counts = self._tags_on_shelves(filters)
            total = len(counts)
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ranked = ranked if most < 0 else ranked[:most]
        spelt = self._tags_as_written([folded for folded, _ in ranked], filters)
        return [(spelt[folded], count) for folded, count in ranked if folded in spelt], total

    def _tags_of_notes(self, filters: Filters, most: int) -> tuple[list[tuple[str, int]], int]:
        condition, values = filters_as_sql(filters)
        sql = (
            "SELECT min(tag), count(*) FROM note CROSS JOIN tag USING (note) "
            f"WHERE tag <> '' AND {condition} GROUP BY folded ORDER BY 2 DESC, folded"
        )
        found = self._catalog.query(sql, values)
        return (found if most < 0 else found[:most]), len(found)

    def _common_tags(self, filters: Filters, most: int) -> tuple[dict[str, int], int]:
        """Whoever is bound to a session alone sees what everybody sees, which is counted for all
        of it, and what stands on few shelves beside."""
        beside = self._tags_on_shelves(filters, "shelf.common = 0")
        wanted = most if most < 0 else most + len(beside)
        query = self._catalog.query
        sql = "SELECT folded, notes FROM common_tag ORDER BY notes DESC, folded LIMIT ?"
        counts: dict[str, int] = dict(query(sql, (wanted,)))
        sql = f"SELECT folded, notes FROM common_tag WHERE folded IN {SQL_LIST}"
        known: dict[str, int] = dict(query(sql, (sql_list(beside),))) if beside else {}
        counts |= {folded: known.get(folded, 0) + count for folded, count in beside.items()}
        common = int(self._catalog.column("SELECT count(*) FROM common_tag")[0])
        return counts, common + len(beside.keys() - known.keys())

    def _tags_on_shelves(self, filters: Filters, which: str = "1") -> dict[str, int]:
        shelves, values = shelves_as_sql(filters)
        chosen = _OF_FEW.format(f"{which} AND {shelves or '1'}")
        sql = f"SELECT folded, sum(tagged.notes) {chosen} GROUP BY folded"
        return dict(self._catalog.query(sql, values))

    def _tags_as_written(self, folded: Iterable[str], filters: Filters) -> dict[str, str]:
        """Of these the ones that the caller may see, in one spelling."""
        shelves, values = shelves_as_sql(filters)
        first = f"SELECT tag {_TAGS} AND folded = value ORDER BY tag LIMIT 1"
        sql = f"SELECT value, ({first.format(shelves or '1')}) FROM json_each(?)"
        found = self._catalog.query(sql, [*values, sql_list(folded)])
        return {folded: tag for folded, tag in found if tag}

    def has_tag(self, tag: str, filters: Filters) -> bool:
        """Whether a note has this tag, or one below it."""
        shelves, values = shelves_as_sql(filters)
        sql = (
            "SELECT 1 FROM tagged CROSS JOIN shelf USING (shelf) "
            f"WHERE folded = ? AND {shelves or '1'} LIMIT 1"
        )
        return bool(self._catalog.column(sql, [tag_key(tag), *values]))

    def tags_near(self, tag: str, filters: Filters, most: int = 3) -> list[str]:
        """Tags that may have been meant: of those that begin alike, and of the most usual ones."""
        from vaultmem.base.differences.line_difference import close_names

        wanted = tag_key(tag)
        likely = self._folded_tags_beginning(wanted[:2], filters)
        sql = "SELECT folded FROM common_tag ORDER BY notes DESC, folded LIMIT ?"
        likely += self._catalog.column(sql, (_LIKELY,))
        spelt = self._tags_as_written(dict.fromkeys(likely), filters)
        return [spelt[folded] for folded in close_names(wanted, spelt, most, 0.6)]

    def tags_beginning(self, start: str, filters: Filters) -> list[str]:
        found = self._folded_tags_beginning(tag_key(start), filters)
        return list(self._tags_as_written(found, filters).values())

    def _folded_tags_beginning(self, start: str, filters: Filters) -> list[str]:
        shelves, values = shelves_as_sql(filters)
        chosen = _TAGS.format(f"folded >= ? AND folded < ? AND {shelves or '1'}")
        sql = f"SELECT DISTINCT folded {chosen} ORDER BY folded LIMIT ?"
        return self._catalog.column(sql, [start, start + LAST_CHARACTER, *values, _LIKELY])


def _counting(filters: Filters) -> tuple[str, list[object]] | None:
    """What adds up the notes that pass, where that is counted."""
    beside = filters._replace(
        **{name: getattr(Filters(), name) for name in (*_OF_SHELVES, "tags", "folder")}
    )
    if beside != Filters() or (filters.tags and filters.folder) or len(filters.tags) > 1:
        return None
    if filters.tags:
        sql = "SELECT coalesce(sum(tagged.notes), 0) FROM tagged CROSS JOIN shelf USING (shelf)"
        return f"{sql} WHERE folded = ?", [tag_key(filters.tags[0])]
    if filters.folder:
        sql = "SELECT coalesce(sum(folder.notes), 0) FROM folder CROSS JOIN shelf USING (shelf)"
        return f"{sql} WHERE folder >= ? AND folder < ?", [*span_of_folder(filters.folder)]
    return "SELECT coalesce(sum(notes), 0) FROM shelf WHERE 1", []
