"""Where an index says something else than one made from nothing, note by note.

Numbers that depend on the order in which notes came in are left out, and so are stamps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultmem.index.embedded.index import Index
from vaultmem.index.embedded.rows import TABLES_OF_NOTE

_OWN: Final = frozenset(("note", "passage", "shelf", "mtime_ns", "ctime_ns", "inode"))
_TABLES: Final = ("note", *TABLES_OF_NOTE)
Rows = dict[str, list[tuple[Any, ...]]]  # by table


def index_differences(
    mine: Index, anew: Index, texts: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Paths, and what is wrong with what `mine` has of them; `texts` are those of the notes.

    A note that `mine` does not have, or has in another version, is only not looked at yet.
    """
    ours, theirs = _contents_to_compare(mine), _contents_to_compare(anew)
    for path in sorted(ours.keys() & texts.keys()):
        if path not in theirs:
            yield path, "is in the index, but would not be in a new one"
        elif ours[path]["note"][0][0] == theirs[path]["note"][0][0]:
            wrong = [table for table in _TABLES if ours[path][table] != theirs[path][table]]
            if wrong:
                yield path, f"has other rows in the index than in a new one ({', '.join(wrong)})"
            elif len({_counts_to_compare(index, path, texts[path]) for index in (mine, anew)}) > 1:
                yield path, "has other words in the full text than in a new one"


def _contents_to_compare(index: Index) -> dict[str, Rows]:
    found: dict[str, Rows] = defaultdict(lambda: {table: [] for table in _TABLES})
    for table in _TABLES:
        for path, *values in index.catalog.contents_of_catalog(table, _OWN):
            found[path][table].append(tuple(map(repr, values)))
    for rows in found.values():
        for table in _TABLES:
            rows[table].sort()
    return dict(found)


def _counts_to_compare(index: Index, path: str, text: str) -> tuple[int, ...]:
    """How many documents the full text has of a note, and with some of its words."""
    words = index.current_text()
    return tuple(words.counts_in_fulltext(path, text)) if words else ()
