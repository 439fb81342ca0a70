"""The index, which may be deleted at any time: taking changes in, searching, saying what is known.

Nobody outside knows the engines; another implementation would stand beside `embedded`.
"""

from __future__ import annotations

from vaultmem.index.embedded.batch import Batch
from vaultmem.index.embedded.catalog import KnownNote
from vaultmem.index.embedded.comparison import index_differences
from vaultmem.index.embedded.index import INDEX_FILLING, INDEX_READY, Index, IndexStatus
from vaultmem.index.embedded.lookup import CatalogRow, NoteSignals, PassagePlace
from vaultmem.index.embedded.relations import (
    LINKS_TO,
    EdgeKey,
    FactRow,
    GraphEdge,
    GraphEnd,
    GraphNode,
    Relations,
)
from vaultmem.index.embedded.replacements import NOTHING_REPLACED, Replaced, Successor
from vaultmem.index.embedded.rows import IndexEntry, SkippedNote
from vaultmem.index.embedded.schema import LOOKUP_ORDERS
from vaultmem.index.embedded.text.coverage import AskedWord
from vaultmem.index.embedded.text.exact_words import (
    ExactText,
    ExactWords,
    FoundText,
    TextsOfNote,
    exact_matches,
    exact_parts,
    exact_words_in_memory,
    note_of_text,
    text_number,
)
from vaultmem.index.embedded.text.fulltext import TextHits
from vaultmem.index.failures import INDEX_FAILURES, IndexDamaged
from vaultmem.index.filters import (
    Filters,
    lies_in_roots,
    passes_binding_filters,
    passes_filters,
)

__all__ = [
    "INDEX_FAILURES",
    "INDEX_FILLING",
    "INDEX_READY",
    "LINKS_TO",
    "LOOKUP_ORDERS",
    "NOTHING_REPLACED",
    "AskedWord",
    "Batch",
    "CatalogRow",
    "EdgeKey",
    "ExactText",
    "ExactWords",
    "FactRow",
    "Filters",
    "FoundText",
    "GraphEdge",
    "GraphEnd",
    "GraphNode",
    "Index",
    "IndexDamaged",
    "IndexEntry",
    "IndexStatus",
    "KnownNote",
    "NoteSignals",
    "PassagePlace",
    "Relations",
    "Replaced",
    "SkippedNote",
    "Successor",
    "TextHits",
    "TextsOfNote",
    "exact_matches",
    "exact_parts",
    "exact_words_in_memory",
    "index_differences",
    "lies_in_roots",
    "note_of_text",
    "passes_binding_filters",
    "passes_filters",
    "text_number",
]
