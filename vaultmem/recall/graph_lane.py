"""Entities that a question names, and the memories that are close to them in the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vaultmem.base.words import WRITTEN_WORD
from vaultmem.index import Filters, GraphEnd, Index
from vaultmem.notes.file_names import name_key
from vaultmem.recall.fusion import LaneScore, MemoryKey, Ranked

_MOST_WORDS: Final = 60
_LONGEST_NAME: Final = 5  # words
_CLOSENESS: Final = (1.0, 0.6, 0.3)  # the entity itself, what is linked with it, one step on
_MOST: Final = 50  # entities whose neighbours are looked at


class GraphLane:
    def __init__(self, index: Index, filters: Filters) -> None:
        self._relations = index.relations
        self._lookup = index.lookup
        self._filters = filters

    def near(self, query: str) -> Ranked:
        """The memories around what the question names, by how close they are."""
        entities = self._entities(query)
        found: dict[int, float] = {}
        for closeness, refs in zip(_CLOSENESS, (entities, self._around(entities)), strict=False):
            linked = self._relations.memories(refs, self._filters) if refs else {}
            for ref in refs:
                if isinstance(ref, int):
                    found[ref] = max(found.get(ref, 0.0), closeness)
            step = _CLOSENESS[_CLOSENESS.index(closeness) + 1]
            for note in (note for notes in linked.values() for note in notes):
                found[note] = max(found.get(note, 0.0), step)
        visible = self._relations.nodes(found, self._filters)
        return {
            MemoryKey(note): LaneScore(score, 0, score)
            for note, score in found.items()
            if note in visible and (self._filters.forgotten or not visible[note].forgotten)
        }

    def _entities(self, query: str) -> set[GraphEnd]:
        refs: set[GraphEnd] = set()
        for name in self.known_names(query):
            nodes = self._relations.named(name, self._filters)
            refs |= {node.ref for node in nodes}
            if not nodes and self._relations.mentions(name, self._filters):
                refs.add(name_key(name))
        return refs

    def known_names(self, query: str) -> list[str]:
        """The longest names in the question that a note or a link has, none inside another."""
        spans = list(_spans(query))
        folded = {name_key(text): (start, end, text) for start, end, text in reversed(spans)}
        known = self._lookup.named_or_linked(list(folded))
        chosen: list[tuple[int, int, str]] = []
        for start, end, text in sorted((folded[key] for key in known), key=_longest_first):
            if all(end <= a or start >= b for a, b, _ in chosen):
                chosen.append((start, end, text))
        return [text for _, _, text in chosen]

    def _around(self, entities: set[GraphEnd]) -> set[GraphEnd]:
        if not entities:
            return set()
        edges, _ = self._relations.around(entities, self._filters)
        ends: set[GraphEnd] = {edge.target for edge in edges} | {edge.source for edge in edges}
        return set(sorted(ends - entities, key=str)[:_MOST])


def _spans(query: str) -> Iterator[tuple[int, int, str]]:
    """Every run of up to five words, with its place."""
    words = [(m.start(), m.end()) for m in WRITTEN_WORD.finditer(query)][:_MOST_WORDS]
    for first in range(len(words)):
        for last in range(first, min(len(words), first + _LONGEST_NAME)):
            start, end = words[first][0], words[last][1]
            text = query[start:end].strip(".'’`")
            yield start, end, text.removesuffix("'s").removesuffix("’s")


def _longest_first(span: tuple[int, int, str]) -> tuple[int, int]:
    return span[0] - span[1], span[0]
