"""Which note took the place of which: what notes say of themselves, of others, and by their names."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from vaultmem.index.embedded.catalog import Catalog, CatalogStamp
from vaultmem.index.embedded.rows import REPLACED_BY, REPLACES, SERIES

_SIGNS: Final = "SELECT note, sign, folded, place FROM replacement"
_NAMED: Final = """
SELECT replacement.folded, min(name.note) FROM replacement JOIN name USING (folded)
WHERE sign <> 'series' GROUP BY 1 HAVING count(DISTINCT name.note) = 1
"""
_CONSOLIDATED: Final = """
SELECT name.note FROM link JOIN name USING (folded) WHERE relation = 'derived_from'
"""


class Successor(NamedTuple):
    """What came instead of a note."""

    note: int  # 0: nobody says
    mark: str = ""  # the year or version of the old one, where only their names tell


class Replaced(NamedTuple):
    """Notes that others took the place of, and notes that went into others."""

    by: dict[int, Successor]
    consolidated: frozenset[int]

    def without(self, hidden: Set[int]) -> Replaced:
        """As somebody sees it who must not see these."""
        by = {old: Successor(0) if new.note in hidden else new for old, new in self.by.items()}
        return Replaced(by, self.consolidated) if hidden else self


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
            self._known = now, Replaced(dict(self._successors_of_replaced_notes()), consolidated)
        return self._known[1]

    def _successors_of_replaced_notes(self) -> Iterator[tuple[int, Successor]]:
        """The weakest sign first, so that a stronger one takes its place."""
        signs = self._catalog.query(_SIGNS)
        named = dict(self._catalog.query(_NAMED)) if signs else {}
        yield from _replacements_in_series([row for row in signs if row[1] == SERIES])
        for note, sign, folded, _ in signs:
            if sign == REPLACES and named.get(folded, note) != note:
                yield named[folded], Successor(note)
        for note, sign, folded, _ in signs:
            if sign == REPLACED_BY:
                by = named.get(folded, 0)
                yield note, Successor(by if by != note else 0)


def _replacements_in_series(
    rows: list[tuple[int, str, str, str]],
) -> Iterator[tuple[int, Successor]]:
    """Each of a series, but for the last, was followed by the last."""
    series: dict[str, list[tuple[str, int]]] = {}
    for note, _, name, place in rows:
        series.setdefault(name, []).append((place, note))
    for places in series.values():
        last = max(places)
        for place, note in places:
            if place < last[0]:
                mark = ".".join(part.lstrip("0") or "0" for part in place.split("."))
                yield note, Successor(last[1], mark)
