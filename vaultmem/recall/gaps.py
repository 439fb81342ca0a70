"""Notes by the catalog and, where it has gaps, by their files.

The index may have been begun anew a moment ago, may not have taken in what was written last, or
may not be there at all. Whoever looks for notes must find them all the same: a key that is not
found would be given to a second note.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from vaultmem.errors import Busy
from vaultmem.index import INDEX_FAILURES, CatalogRow, Filters, Index
from vaultmem.notes.file_names import name_key
from vaultmem.recall import file_scan
from vaultmem.storage.store import Store

_FEW: Final = 200  # notes that are read before one is written
CHANGED: Final = "partial_results: the index was made anew meanwhile; ask once more."
UNUSABLE: Final = "partial_results: the index cannot be used now ({})."


class IndexedVault(Protocol):
    store: Store

    @property
    def index(self) -> Index: ...
    def catch_up(self) -> str: ...
    def unindexed(self, *, text: bool = True) -> list[str]: ...


class Gaps:
    def __init__(self, source: IndexedVault) -> None:
        self._source = source

    def warnings(self) -> tuple[str, ...] | None:
        """Bring in what can be brought in now; returns what an answer may lack."""
        try:
            lacks = self._source.catch_up()
        except INDEX_FAILURES as error:
            lacks = UNUSABLE.format(error)
        return (lacks,) if lacks else None

    def look(self) -> Callable[[], tuple[str, ...] | None]:
        """The same for an answer that takes a while: ask what it may lack when it is complete. The
        index may have been begun anew meanwhile, and may even be whole again."""
        lacks = self.warnings()
        try:
            begun = self._source.index.identity
        except INDEX_FAILURES:
            return lambda: lacks
        return lambda: lacks or ((CHANGED,) if self.since(begun) else None)

    def since(self, begun: str) -> bool:
        """Whether the index lacked anything since it was that one."""
        try:
            return bool(self._source.unindexed()) or self._source.index.identity != begun
        except INDEX_FAILURES:
            return True

    def select(
        self, filters: Filters, order: str, limit: int = -1, offset: int = 0
    ) -> tuple[list[CatalogRow], int]:
        """A page of the notes that pass, and how many pass in all."""
        missing = self._missing()
        if not missing:
            return self._source.index.lookup.select(filters, order, limit, offset)
        rows = self._both(missing, filters, lambda i: i.lookup.select(filters, order)[0])
        rows.sort(key=ORDERS[order])
        return rows[offset : offset + limit if limit >= 0 else None], len(rows)

    def are_none(self) -> bool:
        """Whether the index can be asked about all notes."""
        return not self._missing()

    def tags(self, filters: Filters, most: int = -1) -> tuple[list[tuple[str, int]], int]:
        """The tags that most notes have, and how many tags there are."""
        missing = self._missing()
        if not missing:
            return self._source.index.lookup.tags(filters, most)
        counts: Counter[str] = Counter()
        spelt: dict[str, str] = {}
        for row in self._both(missing, filters, lambda i: i.lookup.select(filters)[0]):
            folded = {tag.casefold(): tag for tag in row.tags}
            counts.update(folded.keys())
            spelt = folded | spelt
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = ranked if most < 0 else ranked[:most]
        return [(spelt[folded], count) for folded, count in shown], len(ranked)

    def counts(self, column: str, filters: Filters) -> dict[str, int]:
        """How many notes there are of each scope, type or project, the most first."""
        missing = self._missing()
        if not missing:
            return self._source.index.lookup.counts(column, filters)
        rows = self._both(missing, filters, lambda i: i.lookup.select(filters)[0])
        return dict(Counter(str(getattr(row, column)) for row in rows).most_common())

    def with_key(self, key: str, filters: Filters) -> list[CatalogRow]:
        found = self._both(
            self._missing(), filters, lambda i: i.lookup.with_key(key, filters), word=key
        )
        return [row for row in found if row.key == key]

    def with_words(self, words: bytes, first: str, filters: Filters) -> list[CatalogRow]:
        """Notes that may have exactly this text, by its digest; its `first` word finds those that
        the index lacks, unless they are so many that reading them would take long."""
        missing = self._missing()
        few = missing if len(missing) <= _FEW else []
        return self._both(few, filters, lambda i: i.lookup.with_words(words, filters), word=first)

    def of_session(self, session: str, filters: Filters) -> list[CatalogRow]:
        """The notes that belong to a session, oldest first; `filters` say of which type."""
        missing = self._missing()
        found = self._both(missing, filters, lambda i: i.journals.of_session(session, filters))
        mine = [row for row in found if row.session.casefold() == session.casefold()]
        return sorted(mine, key=lambda row: row.place_in_session) if missing else mine

    def require_none(self) -> None:
        """For what would be wrong without the notes that the catalog lacks."""
        self.warnings()
        if self._missing():
            raise Busy("The index is being filled, which this needs; try again in a moment.")

    def with_observation(self, block: str, filters: Filters) -> list[str]:
        """Paths of the journals that may have this observation."""
        found = [
            row.path for row in file_scan.rows(self._source.store, filters, self._missing(), block)
        ]
        with contextlib.suppress(*INDEX_FAILURES):
            rows = self._source.index.journals.with_observation(block, filters)
            found += [row.path for row in rows]
        return found

    def are_left(self) -> bool:
        """Whether there are notes that the catalog does not know."""
        return bool(self._missing())

    def paths_named(self, name: str) -> list[str]:
        """Of the notes with this folded name, as far as one can tell without reading them."""
        paths = [path for path in self._missing() if name_key(_stem(path)) == name]
        with contextlib.suppress(*INDEX_FAILURES):
            paths += self._source.index.lookup.paths_named(name)
        return paths

    def _both(
        self,
        missing: Iterable[str],
        filters: Filters,
        ask: Callable[[Index], list[CatalogRow]],
        word: str = "",
    ) -> list[CatalogRow]:
        """What the catalog says, but for notes that it lacks: those are read."""
        lacked = set(missing)
        read = file_scan.rows(self._source.store, filters, lacked, word) if lacked else []
        try:
            known = ask(self._source.index)
        except INDEX_FAILURES:
            known = []
        return [*(row for row in known if row.path not in lacked), *read]

    def _missing(self) -> list[str]:
        try:
            return self._source.unindexed(text=False)
        except INDEX_FAILURES:
            self._source.store.home.require()
            return list(self._source.store.walk().notes)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _first(*values: float | None) -> float:
    return next((value for value in values if value is not None), 0)


def _last_change(row: CatalogRow) -> float:
    return _first(row.updated, row.created if row.id else None, row.mtime_ns // 1_000_000_000)


# As the catalog has them in SQL.
ORDERS: Final[dict[str, Callable[[CatalogRow], Any]]] = {
    "recent": lambda r: (-_last_change(r), r.path),
    "created": lambda r: (-_first(r.created), r.path),
    "importance": lambda r: (-_first(r.importance, 0.5), -_first(r.updated, r.created), r.path),
    "title": lambda r: (r.title.casefold(), r.path),
}
