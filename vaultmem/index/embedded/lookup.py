"""Looking things up in the catalog: notes by filter, by name, by session; what belongs to a hit;
and how many there are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.embedded.catalog import Catalog
from vaultmem.index.embedded.replacements import Replaced, Replacements
from vaultmem.index.embedded.schema import LAST_CHARACTER
from vaultmem.index.embedded.shelves import Extent, Shelves
from vaultmem.index.filters import Filters, filters_on_rows
from vaultmem.notes.file_names import name_key

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
        self._shelves = Shelves(catalog)

    def select(
        self, filters: Filters, order: str = "recent", limit: int = -1, offset: int = 0
    ) -> tuple[list[CatalogRow], int]:
        """A page of the notes that pass, and how many pass in all."""
        notes, total = self._shelves.page(filters, order, limit, offset)
        rows = self.rows(notes)
        return [rows[note] for note in notes if note in rows], total

    def at(self, paths: Sequence[str]) -> dict[str, CatalogRow]:
        """The rows of these paths, as far as they are indexed."""
        sql = f"SELECT note FROM note WHERE path IN {SQL_LIST}"
        return {row.path: row for row in looked_up_rows(self._catalog, sql, (sql_list(paths),))}

    def made_since(self, first_id: str, most: int = 500) -> list[CatalogRow]:
        """Notes whose id was given from then on: ids of ours begin with their moment."""
        sql = (
            "SELECT note FROM note WHERE id <> '' AND id >= ? AND id < '8' AND length(id) = 26 "
            "ORDER BY id DESC LIMIT ?"
        )
        return looked_up_rows(self._catalog, sql, (first_id, most))

    def find(self, ref: str) -> list[str]:
        """Paths of the notes with this id; else key; else title; else alias; else with these
        words shown as their title."""
        folded = name_key(ref)
        for sql, value in (
            ("SELECT path FROM note WHERE id = ? AND id <> ''", ref.upper()),
            ("SELECT path FROM note WHERE key = ? AND key <> ''", ref),
            (_NAMED.format("title"), folded),
            (_NAMED.format("alias"), folded),
            ("SELECT path FROM note WHERE title = ? AND outdated = 1", ref),
        ):
            if found := self._catalog.column(sql, (value,)):
                return sorted(found)
        return []

    def with_key(self, key: str, filters: Filters) -> list[CatalogRow]:
        condition, values = filters_on_rows(filters)
        sql = f"SELECT note FROM note WHERE key = ? AND key <> '' AND {condition} ORDER BY note"
        return looked_up_rows(self._catalog, sql, [key, *values])

    def with_words(self, words: bytes, filters: Filters) -> list[CatalogRow]:
        """The notes whose text is this one, by its digest."""
        condition, values = filters_on_rows(filters)
        sql = f"SELECT note FROM note WHERE words = ? AND {condition} ORDER BY note"
        return looked_up_rows(self._catalog, sql, [words, *values])

    def outdated(self, filters: Filters) -> list[CatalogRow]:
        """The notes whose title is from a text that was corrected since."""
        condition, values = filters_on_rows(filters)
        sql = f"SELECT note FROM note WHERE outdated = 1 AND {condition} ORDER BY path"
        return looked_up_rows(self._catalog, sql, values)

    def titles(self, filters: Filters, most: int) -> list[str]:
        """The titles of so many notes, if there are no more."""
        if self._shelves.count(filters) > most:
            return []
        return list(dict.fromkeys(row.title for row in self.select(filters, "created")[0]))

    def titles_beginning(self, start: str, filters: Filters, most: int) -> list[str]:
        condition, values = filters_on_rows(filters)
        sql = (
            "SELECT title FROM note WHERE title_key >= ? AND title_key < ? "
            f"AND {condition} ORDER BY title_key, path LIMIT ?"
        )
        first = start.casefold()
        found = self._catalog.column(sql, [first, first + LAST_CHARACTER, *values, most])
        return list(dict.fromkeys(found))

    def titles_near_id(self, wanted: str, filters: Filters) -> list[str]:
        """Of notes whose id has one half of this one: what was mistyped is in the other half."""
        condition, values = filters_on_rows(filters)
        begins, ends = wanted[:12].upper(), wanted[-12:].upper()
        sql = "SELECT title FROM note WHERE id <> '' AND ({}) AND " + condition + " LIMIT 3"
        column = self._catalog.column
        found = column(sql.format("id >= ? AND id < ?"), [begins, begins + LAST_CHARACTER, *values])
        found += column(sql.format("substr(id, -12) = ?"), [ends, *values])
        return list(dict.fromkeys(found))[:3]

    def named_or_linked(self, folded: Sequence[str]) -> set[str]:
        """Which of these folded names some note has, or some link."""
        sql = f"SELECT folded FROM {{}} WHERE folded IN {SQL_LIST}"
        wanted, column = (sql_list(folded),), self._catalog.column
        return {name for t in ("name", "link") for name in column(sql.format(t), wanted)}

    def paths_named(self, folded: str) -> list[str]:
        """Notes that have this folded name as their title or an alias."""
        sql = "SELECT DISTINCT path FROM name JOIN note USING (note) WHERE folded = ?"
        return self._catalog.column(sql, (folded,))

    def tags(self, filters: Filters, most: int = -1) -> tuple[list[tuple[str, int]], int]:
        """The tags that most notes have, and how many tags there are."""
        return self._shelves.tags(filters, most)

    def tags_beginning(self, start: str, filters: Filters) -> list[str]:
        return self._shelves.tags_beginning(start, filters)

    def has_tag(self, tag: str, filters: Filters) -> bool:
        """Whether a note has this tag, or one below it."""
        return self._shelves.has_tag(tag, filters)

    def tags_near(self, tag: str, filters: Filters) -> list[str]:
        return self._shelves.tags_near(tag, filters)

    def folders(self) -> list[str]:
        """Every folder with a note in it, with a slash at its end."""
        return self._catalog.column("SELECT DISTINCT folder FROM folder WHERE folder <> ''")

    def count(self, filters: Filters) -> int:
        return self._shelves.count(filters)

    def extent(self, filters: Filters) -> Extent:
        """How many notes these are, their bytes, their passages, and their links and facts."""
        return self._shelves.extent(filters)

    def problems(self, filters: Filters) -> list[tuple[str, str]]:
        """Which of these notes are not wholly searchable, and why."""
        condition, values = filters_on_rows(filters)
        sql = (
            "SELECT note.path, problem.message FROM problem CROSS JOIN note USING (note) "
            f"WHERE {condition} ORDER BY 1"
        )
        return self._catalog.query(sql, values)

    def counts(self, column: str, filters: Filters) -> dict[str, int]:
        """How many notes there are of each scope, type, project or kind."""
        return self._shelves.counts(column, filters)

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
        sql = f"SELECT note, importance, coalesce(updated, created) FROM note WHERE note IN {SQL_LIST}"
        return {
            row[0]: NoteSignals(*row[1:]) for row in self._catalog.query(sql, (sql_list(notes),))
        }

    def replaced(self, notes: Iterable[int]) -> Replaced:
        return self._replacements.replacements_of(notes)

    def passing(self, notes: Iterable[int], filters: Filters) -> set[int]:
        """Those of these notes that pass."""
        condition, values = filters_on_rows(filters)
        sql = f"SELECT note FROM note WHERE note IN {SQL_LIST} AND {condition}"
        return set(self._catalog.column(sql, [sql_list(notes), *values]))

    def dated(self, filters: Filters, first: int, last: int, most: int) -> dict[int, int]:
        """Notes about one of these days (ordinals), each with its day, the latest first."""
        condition, values = filters_on_rows(filters)
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
        self._shelves = Shelves(catalog)

    def of_session(self, session: str, filters: Filters) -> list[CatalogRow]:
        """The notes that belong to a session, oldest first; `filters` say of which type."""
        condition, values = filters_on_rows(filters)
        sql = f"SELECT note FROM note WHERE session_key = ? AND session_key <> '' AND {condition}"
        found = looked_up_rows(self._catalog, sql, [session.casefold(), *values])
        return sorted(found, key=lambda row: row.place_in_session)

    def count_of_session(self, session: str, filters: Filters) -> int:
        condition, values = filters_on_rows(filters)
        sql = (
            f"SELECT count(*) FROM note WHERE session_key = ? AND session_key <> '' AND {condition}"
        )
        return int(self._catalog.column(sql, [session.casefold(), *values])[0])

    def latest(self, filters: Filters, count: int) -> list[CatalogRow]:
        """The journals that hold the latest observations, and the latest journals; oldest first."""
        condition, values = filters_on_rows(filters)
        sql = (
            "SELECT note FROM passage CROSS JOIN note USING (note) WHERE passage.kind = 'observation' "
            f"AND block <> '' AND length(block) = 26 AND {condition} ORDER BY lower(block) DESC LIMIT ?"
        )
        observed = set(self._catalog.column(sql, [*values, count]))
        begun, _ = self._shelves.page(filters, "created", count, 0)
        rows = rows_of_notes(self._catalog, observed.union(begun))
        return sorted(rows.values(), key=lambda row: row.place_in_session)

    def with_observation(self, block: str, filters: Filters) -> list[CatalogRow]:
        condition, values = filters_on_rows(filters)
        sql = (
            "SELECT DISTINCT note FROM passage CROSS JOIN note USING (note) "
            f"WHERE passage.kind = 'observation' AND block <> '' AND lower(block) = ? AND {condition}"
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
    sql = f"SELECT note, tag FROM tag WHERE note IN {SQL_LIST} AND tag <> '' ORDER BY rowid"
    for note, tag in catalog.query(sql, wanted):
        tags.setdefault(note, []).append(tag)
    return {
        row[0]: CatalogRow(*(*row[:-1], json.loads(row[-1]), tuple(tags.get(row[0], ()))))
        for row in catalog.query(_ROWS, wanted)
    }
