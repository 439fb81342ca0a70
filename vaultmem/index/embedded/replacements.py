"""Which note took the place of which: what notes say of themselves, of others, and by their names."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from vaultmem.index.embedded.catalog import Catalog, CatalogStamp
from vaultmem.index.embedded.rows import (
    AFTER_BARE,
    BEFORE_BARE,
    REPLACED_BY,
    REPLACES,
    SERIES,
)
from vaultmem.notes.file_names import name_key
from vaultmem.notes.replacement import VERSION

_SIGNS: Final = "SELECT note, sign, folded, place FROM replacement"
_NAMED: Final = """
SELECT replacement.folded, min(name.note) FROM replacement JOIN name USING (folded)
WHERE sign IN ('replaced by', 'replaces') GROUP BY 1 HAVING count(DISTINCT name.note) = 1
"""
_BARE: Final = """
SELECT replacement.note, sign, place, bare.note, bare.path
FROM replacement JOIN name USING (folded) JOIN note bare ON bare.note = name.note
WHERE sign IN ('after', 'before') AND name.kind = 'title'
"""
_CONSOLIDATED: Final = """
SELECT name.note FROM link JOIN name USING (folded) WHERE relation = 'derived_from'
"""


class Successor(NamedTuple):
    """What came instead of a note."""

    note: int  # 0: nobody says
    mark: str = ""  # the year or version of the old one, where only their names tell
    by_name: bool = False  # it only looks so
    doubtful: bool = False  # both may hold; the later one comes first where both say it
    in_own_words: bool = False  # the old one says so itself


class Replaced(NamedTuple):
    """Notes that others took the place of, and notes that went into others."""

    by: dict[int, Successor]
    consolidated: frozenset[int]

    def without(self, hidden: Set[int]) -> Replaced:
        """As somebody sees it who must not see these: what only they say, or their names, is not
        known then."""
        if not hidden:
            return self
        by = {
            old: Successor(0, in_own_words=True) if new.note in hidden else new
            for old, new in self.by.items()
            if new.note not in hidden or new.in_own_words
        }
        return Replaced(by, self.consolidated)


NOTHING_REPLACED: Final = Replaced({}, frozenset())


class Replacements:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: tuple[CatalogStamp | None, Replaced] = (None, NOTHING_REPLACED)

    def all_replacements(self) -> Replaced:
        """Read once for each revision: few notes say so."""
        now = self._catalog.stamp()
        if self._known[0] != now:
            consolidated = frozenset(self._catalog.column(_CONSOLIDATED))
            self._known = now, Replaced(self._replaced_notes(), consolidated)
        return self._known[1]

    def _replaced_notes(self) -> dict[int, Successor]:
        by: dict[int, Successor] = {}
        for note, successor in self._successors_of_replaced_notes():
            # That it was replaced is surer than by what, and less than both.
            known = by.get(note, successor).note
            by[note] = successor if successor.note else successor._replace(note=known)
        for note, successor in by.items():  # `Rota from May` was followed itself
            last = by.get(successor.note)
            if successor.by_name and last and last.by_name and last.note != note:
                by[note] = successor._replace(note=last.note)
        return by

    def _successors_of_replaced_notes(self) -> Iterator[tuple[int, Successor]]:
        """The weakest sign first, so that a stronger one takes its place."""
        signs = self._catalog.query(_SIGNS)
        if not signs:
            return
        named = dict(self._catalog.query(_NAMED))
        yield from self._notes_beside_bare_names()
        yield from _replacements_in_series([row for row in signs if row[1] == SERIES])
        for note, sign, folded, _ in signs:
            if sign == REPLACES and named.get(folded, note) != note:
                yield named[folded], Successor(note)
        for note, sign, folded, _ in signs:
            if sign == REPLACED_BY:
                by = named.get(folded, 0)
                yield note, Successor(by if by != note else 0, in_own_words=True)

    def _notes_beside_bare_names(self) -> Iterator[tuple[int, Successor]]:
        """`Rota` was followed by `Rota from September`, and `Rota 2025` by `Rota` once that year
        was over."""
        this_year = str(dt.date.today().year)
        for note, sign, place, bare, path in self._catalog.query(_BARE):
            folder, _, mark = place.rpartition("/")
            if bare == note or name_key(posixpath.dirname(path)) != folder:
                continue
            if sign == AFTER_BARE:
                yield bare, Successor(note, by_name=True, doubtful=True)
            elif sign == BEFORE_BARE and mark < this_year:
                yield note, Successor(bare, mark, by_name=True, doubtful=True)


def _replacements_in_series(
    rows: list[tuple[int, str, str, str]],
) -> Iterator[tuple[int, Successor]]:
    """Each of a series, but for the last, was followed by the last."""
    series: dict[str, list[tuple[str, str, int]]] = {}
    for note, _, name, place in rows:
        number, _, mark = place.partition(" ")
        series.setdefault(name, []).append((number, mark, note))
    for name, places in series.items():
        last, _, newest = max(places)
        for number, mark, note in places:
            if number < last:
                spelt = not name.endswith(VERSION) and mark[:1].isalpha()  # a month, a season
                yield note, Successor(newest, mark, by_name=True, doubtful=spelt)
