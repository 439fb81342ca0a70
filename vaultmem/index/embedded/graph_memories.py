"""The memories that have to do with some ends of the graph: counted and ranked where they lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from vaultmem.base.database import SQL_LIST, sql_list
from vaultmem.index.filters import Filters, filters_on_rows

GraphEnd: TypeAlias = int | str  # an end: a note's number, or a name that no note has
_ATTACHED: Final = """FROM (
  SELECT json_extract(named.value, '$[1]') AS end, link.note
  FROM json_each(?) named CROSS JOIN link ON folded = json_extract(named.value, '$[0]')
  UNION ALL SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))
JOIN note USING (note) WHERE end <> note AND lower(type) <> 'entity'"""
_NEWEST: Final = "ORDER BY changed DESC, path"


class GraphMemories:
    """Memories that have to do with some ends, counted and ranked where they lie: there can be
    thousands."""

    def __init__(
        self,
        query: Callable[[str, Sequence[object]], list[Any]],
        names: Mapping[str, GraphEnd],
        pairs: Collection[tuple[GraphEnd, int]],
        filters: Filters,
    ) -> None:
        self._query = query
        self._names = names
        self._pairs = pairs
        self._visible = filters_on_rows(filters)

    def counts(self, refs: Sequence[GraphEnd]) -> dict[GraphEnd, int]:
        codes = {ref if isinstance(ref, int) else -1 - i: ref for i, ref in enumerate(refs)}
        sql = "SELECT end, count(DISTINCT note) {} GROUP BY end"
        return {codes[code]: count for code, count in self._ask_for_graph_memories(sql, refs, ())}

    def newest(self, refs: Sequence[GraphEnd], apart_from: Iterable[int], limit: int) -> list[int]:
        sql = f"SELECT DISTINCT note {{}} AND note NOT IN {SQL_LIST} {_NEWEST} LIMIT ?"
        return [
            row[0]
            for row in self._ask_for_graph_memories(sql, refs, (note_numbers(apart_from), limit))
        ]

    def _ask_for_graph_memories(
        self, sql: str, refs: Sequence[GraphEnd], more: Sequence[object]
    ) -> list[Any]:
        codes = {ref: ref if isinstance(ref, int) else -1 - i for i, ref in enumerate(refs)}
        names = [(name, codes[ref]) for name, ref in self._names.items() if ref in codes]
        pairs = [(codes[ref], note) for ref, note in self._pairs if ref in codes]
        visible, values = self._visible
        statement = sql.format(f"{_ATTACHED} AND {visible}")
        parameters = (json.dumps(names, ensure_ascii=False), json.dumps(pairs), *values, *more)
        return self._query(statement, parameters)


def note_numbers(refs: Iterable[GraphEnd]) -> str:
    return sql_list(sorted(ref for ref in refs if isinstance(ref, int)))
