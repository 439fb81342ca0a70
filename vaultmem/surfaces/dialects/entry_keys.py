"""What each memory goes by: a key stands for one, whatever else has the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from vaultmem.operations.references import is_id_of_ours

if TYPE_CHECKING:
    from vaultmem.index import CatalogRow, Filters
    from vaultmem.operations.view import View


class EntryKeys:
    """Of several memories with a key it is that of this user's, and of these of the one that
    belongs to no project; the others go by their ids, and what people wrote by its path."""

    def __init__(self, view: View, lasting: Callable[[], Iterable[Filters]]) -> None:
        self._view = view
        self._lasting = lasting
        self._holders: dict[str, str] = {}  # paths, by keys

    def key_of(self, row: CatalogRow) -> str:
        if not is_id_of_ours(row.id):  # a property of that name in a person's note is no key
            return row.path
        if not row.key or row.scope == "session" or not any(self._distance(row)):
            return row.key or row.id
        if row.key not in self._holders:
            first = self.rows_with_key(row.key, self._lasting())[:1]
            self._holders[row.key] = first[0].path if first else row.path
        return row.key if self._holders[row.key] == row.path else row.id

    def rows_with_key(self, key: str, filters: Iterable[Filters]) -> list[CatalogRow]:
        """The nearest to this caller first."""
        rows = [row for each in filters for row in self._view.gaps.with_key(key, each)]
        rows = [row for row in rows if is_id_of_ours(row.id)]
        return sorted(rows, key=lambda row: (*self._distance(row), row.path))

    def _distance(self, row: CatalogRow) -> tuple[bool, bool]:
        of_another = row.user.casefold() != self._view.caller.user.casefold()
        return of_another, row.scope == "project"
