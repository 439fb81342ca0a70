"""What can be thrown away, behind one door: apply changes, search, say what is known.

Nobody outside knows the engines; another implementation would stand beside `embedded`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vaultmem.index.embedded.batch import Batch
from vaultmem.index.embedded.catalog import KnownNote
from vaultmem.index.embedded.fulltext import TextHits
from vaultmem.index.embedded.index import FILLING, READY, Index, IndexStatus
from vaultmem.index.embedded.lookup import ORDERS, PassagePlace, Row, Signals
from vaultmem.index.embedded.relations import LINKS_TO, Edge, EdgeKey, FactRow, Node, Ref, Relations
from vaultmem.index.embedded.rows import IndexEntry, Skip
from vaultmem.index.failures import TROUBLE, Damaged
from vaultmem.index.filters import Filters, is_theirs, passes

__all__ = [
    "FILLING",
    "LINKS_TO",
    "ORDERS",
    "READY",
    "TROUBLE",
    "Batch",
    "Damaged",
    "Edge",
    "EdgeKey",
    "FactRow",
    "Filters",
    "Index",
    "IndexEntry",
    "IndexStatus",
    "KnownNote",
    "Node",
    "PassagePlace",
    "Ref",
    "Relations",
    "Row",
    "Signals",
    "Skip",
    "TextHits",
    "differences",
    "is_theirs",
    "passes",
]


def differences(mine: Index, anew: Index, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Paths, and what `mine` says otherwise of them than an index made from nothing."""
    from vaultmem.index.embedded.comparison import differences

    return differences(mine, anew, texts)
