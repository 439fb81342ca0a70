"""Which note took the place of which: what notes say of themselves, of others, and by their names."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

from vaultmem.base.database import SQL_LIST, sql_list
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
_OWN_SIGNS: Final = f"{_SIGNS} WHERE note IN {SQL_LIST}"
_SIGNS_ABOUT: Final = f"{_SIGNS} WHERE folded IN {SQL_LIST}"
_NAMES: Final = f"SELECT DISTINCT folded FROM name WHERE note IN {SQL_LIST}"
_NAMED: Final = f"""
SELECT folded, min(note) FROM name WHERE folded IN {SQL_LIST}
GROUP BY 1 HAVING count(DISTINCT note) = 1
"""
_BARE: Final = f"""
SELECT folded, note, path FROM name JOIN note USING (note)
WHERE folded IN {SQL_LIST} AND name.kind = 'title'
"""
_CONSOLIDATED: Final = f"""
SELECT DISTINCT name.note FROM name CROSS JOIN link ON link.folded = name.folded
WHERE name.note IN {SQL_LIST} AND relation = 'derived_from'
"""
_ANY: Final = """
SELECT EXISTS (SELECT 1 FROM replacement),
  EXISTS (SELECT 1 FROM link INDEXED BY link_derived WHERE relation = 'derived_from')
"""
_STEPS: Final = 2  # from a note to what replaced it, and on to what replaced that


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
    later: frozenset[int] = frozenset()  # those that took the place

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
        return self._replace(by=by)


NOTHING_REPLACED: Final = Replaced({}, frozenset())


class _Sign(NamedTuple):
    note: int
    sign: str
    folded: str
    place: str


class Replacements:
    """Asked of a few notes: of them, of what they name and what names them, all signs are read."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._any: tuple[CatalogStamp | None, bool, bool] = (None, False, False)

    def replacements_of(self, notes: Iterable[int]) -> Replaced:
        """Which of these notes others took the place of, and which took another's place."""
        asked = set(notes)
        replaced, consolidated = self._are_there_any()
        by = self._replaced_notes(asked) if asked and replaced else {}
        went: list[int] = []
        if asked and consolidated:
            went = self._catalog.column(_CONSOLIDATED, (sql_list(asked),))
        later = asked & {successor.note for successor in by.values()}
        kept = {note: successor for note, successor in by.items() if note in asked}
        return Replaced(kept, frozenset(went), frozenset(later))

    def _are_there_any(self) -> tuple[bool, bool]:
        now = self._catalog.stamp()
        if self._any[0] != now:
            ((signs, derived),) = self._catalog.query(_ANY)
            self._any = now, bool(signs), bool(derived)
        return self._any[1:]

    def _replaced_notes(self, asked: set[int]) -> dict[int, Successor]:
        """Of these, and of the notes that have to do with them."""
        signs, beside = self._signs_around(asked)
        by: dict[int, Successor] = {}
        for note, successor in self._successors_of_replaced_notes(signs, beside):
            # That it was replaced is surer than by what, and less than both.
            known = by.get(note, successor).note
            by[note] = successor if successor.note else successor._replace(note=known)
        for note, successor in by.items():  # `Rota from May` was followed itself
            last = by.get(successor.note)
            if successor.by_name and last and last.by_name and last.note != note:
                by[note] = successor._replace(note=last.note)
        return by

    def _signs_around(self, asked: set[int]) -> tuple[list[_Sign], list[tuple[str, int, str]]]:
        """The signs of these notes and about them, with those of the notes that they join; and
        the notes that have a bare name among them."""
        notes, signs = set(asked), dict[_Sign, None]()
        bare: dict[tuple[str, int, str], None] = {}
        new = asked
        for _ in range(_STEPS + 1):
            found = self._signs_of(new)
            signs |= dict.fromkeys(found)
            about = sql_list({sign.folded for sign in found})
            named = self._catalog.column(
                f"SELECT note FROM name WHERE folded IN {SQL_LIST}", (about,)
            )
            bare |= dict.fromkeys(self._catalog.query(_BARE, (about,)))
            new = ({sign.note for sign in found} | set(named)) - notes
            notes |= new
            if not new:
                break
        return list(signs), list(bare)

    def _signs_of(self, notes: Iterable[int]) -> list[_Sign]:
        query, column, listed = self._catalog.query, self._catalog.column, sql_list(notes)
        own = [_Sign(*row) for row in query(_OWN_SIGNS, (listed,))]
        names = {*column(_NAMES, (listed,)), *(s.folded for s in own if s.sign == SERIES)}
        about = [_Sign(*row) for row in query(_SIGNS_ABOUT, (sql_list(sorted(names)),))]
        return [*own, *about]

    def _successors_of_replaced_notes(
        self, signs: list[_Sign], bare: list[tuple[str, int, str]]
    ) -> Iterator[tuple[int, Successor]]:
        """The weakest sign first, so that a stronger one takes its place."""
        if not signs:
            return
        signs.sort()
        told = {sign.folded for sign in signs if sign.sign in (REPLACES, REPLACED_BY)}
        named = dict(self._catalog.query(_NAMED, (sql_list(sorted(told)),)))
        yield from _notes_beside_bare_names(signs, bare)
        yield from _replacements_in_series([sign for sign in signs if sign.sign == SERIES])
        for note, sign, folded, _ in signs:
            if sign == REPLACES and named.get(folded, note) != note:
                yield named[folded], Successor(note)
        for note, sign, folded, _ in signs:
            if sign == REPLACED_BY:
                by = named.get(folded, 0)
                yield note, Successor(by if by != note else 0, in_own_words=True)


def _notes_beside_bare_names(
    signs: list[_Sign], bare: list[tuple[str, int, str]]
) -> Iterator[tuple[int, Successor]]:
    """`Rota` was followed by `Rota from September`, and `Rota 2025` by `Rota` once that year
    was over."""
    this_year = str(dt.date.today().year)
    named: dict[str, list[tuple[int, str]]] = {}
    for folded, number, path in bare:
        named.setdefault(folded, []).append((number, name_key(posixpath.dirname(path))))
    for note, sign, folded, place in signs:
        folder, _, mark = place.rpartition("/")
        for other, its_folder in named.get(folded, ()) if sign in (AFTER_BARE, BEFORE_BARE) else ():
            if other == note or its_folder != folder:
                continue
            if sign == AFTER_BARE:
                yield other, Successor(note, by_name=True, doubtful=True)
            elif mark < this_year:
                yield note, Successor(other, mark, by_name=True, doubtful=True)


def _replacements_in_series(
    rows: list[_Sign],
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
