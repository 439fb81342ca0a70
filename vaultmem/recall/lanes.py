"""What each lane finds for a question: words, meaning, and the graph around what it names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from vaultmem.index import INDEX_FAILURES, AskedWord, Filters, Index
from vaultmem.recall import fusion
from vaultmem.recall.dates import TimeRange
from vaultmem.recall.evidence import Evidence, evidence_of
from vaultmem.recall.fusion import MemoryKey, Ranked
from vaultmem.recall.graph_lane import GraphLane
from vaultmem.recall.languages import reads
from vaultmem.recall.prompt_kind import own_by_vector

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from vaultmem.embedding.embedder import Embedder


_SMALL: Final = 20  # notes
_NEARLY: Final = 0.6
_LOOKED_INTO: Final = 24  # passages, sentence by sentence


class Question(NamedTuple):
    text: str
    strategy: str
    filters: Filters
    profile: str
    times: TimeRange | None = None  # that it asks about


@dataclass
class LanesFound:
    """What the lanes brought for a question, and what has to be said about it."""

    strategy: str
    lanes: dict[str, Ranked] = field(default_factory=dict)
    words: tuple[AskedWord, ...] = ()
    covered: dict[MemoryKey, float] = field(default_factory=dict)
    usual: float = 0.0
    own: float = 0.0  # whether the question's vector is one about somebody's own things
    model: str = ""  # that meaning was asked of
    near: int = 0  # passages that meaning looked at
    settled: bool = True  # there are enough texts with vectors to know what is usual
    total: int = 0
    more: bool = False  # a lane could have gone on
    unsearched: bool = False  # the words could not be looked for
    warnings: list[str] = field(default_factory=list)

    @property
    def near_in_meaning(self) -> int:
        """How many memories are nearly as near as the nearest, and were not found by words."""
        lane, words = self.lanes.get("vector", {}), self.lanes.get("keyword", {})
        least = _NEARLY * max((each.score for each in lane.values()), default=0.0)
        return sum(each.score >= least for memory, each in lane.items() if memory not in words)

    def evidence(self, question: str) -> Evidence:
        near = self.lanes.get("vector")
        # Where there are few, the best is a good part of what is usual.
        few = self.near / (self.near - 1) if not self.settled and self.near > 1 else 1.0
        above = {memory: few * each.score for memory, each in near.items()} if near else {}
        return evidence_of(
            question, self.words, self.covered, above or None, self.usual, self.settled, self.own
        )


class LaneSearch:
    def __init__(self, index: Index, embedder: Callable[[], Embedder | None]) -> None:
        self._index = index
        self._embedder = embedder

    def ask(self, question: Question, depth: int) -> LanesFound:
        found = LanesFound(question.strategy, settled=self._is_large())
        by_meaning = question.strategy in ("hybrid", "vector")
        embedder = self._embedder() if by_meaning else None
        if embedder is None:
            found.lanes["keyword"] = self._by_words(question, depth, found)
            if question.strategy == "graph":
                self._by_graph(question, found)
            elif by_meaning:
                found.warnings.append("embedding_failed: no model is loaded; searched by words.")
                found.strategy = "keyword"
            return found
        aside = self._aside.submit(self._by_words, question, depth, found)  # the model is slower
        self._by_meaning(question, embedder, depth, found)
        words = aside.result()
        if question.strategy == "hybrid" or not found.lanes:
            found.lanes["keyword"] = words
        if words and not reads(embedder.name, question.text, self._index.languages()):
            found.lanes.pop("vector", None)
            found.lanes["keyword"] = words
        return found

    def _is_large(self) -> bool:
        try:
            return self._index.size >= _SMALL
        except INDEX_FAILURES:
            return True

    @cached_property
    def _aside(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(2, thread_name_prefix="words")

    def close(self) -> None:
        if "_aside" in self.__dict__:
            self._aside.shutdown()

    def _by_words(self, question: Question, depth: int, found: LanesFound) -> Ranked:
        try:
            text = self._index.search_text(question.text, question.filters, depth)
        except INDEX_FAILURES as error:
            found.warnings.append(f"partial_results: {error}")
            found.unsearched = True
            return {}
        found.total = text.total
        found.words = text.words
        found.covered = {MemoryKey(note, part): share for note, part, share in text.covered}
        if max(len(text.passages), len(text.memories)) >= depth:
            found.more = True
        return fusion.by_words(text)

    def _by_meaning(
        self, question: Question, embedder: Embedder, depth: int, found: LanesFound
    ) -> None:
        """No lane where the vectors cannot be used now."""
        try:
            found.lanes["vector"] = self._near(question, embedder, depth, found)
        except INDEX_FAILURES as error:
            found.warnings.append(f"partial_results: searched by words alone. {error}")

    def _near(
        self, question: Question, embedder: Embedder, depth: int, found: LanesFound
    ) -> Ranked:
        vector = embedder.embed_query(question.text)
        hits = self._index.vectors.search(vector, embedder.identity, question.filters, depth)
        found.near, found.model = len(hits), embedder.identity
        own = own_by_vector(vector, embedder.identity)
        # What is usual was learned with one model: of others too little is known to be silent.
        found.own, found.settled = own or 0.0, found.settled and own is not None
        if len(hits) >= depth:
            found.more = True
        if missing := self._index.vectors.count_missing(embedder.identity):
            bound = question.filters.user or question.filters.home
            many = "some" if bound else missing  # how many there are is not theirs
            found.settled = False
            those = "1 passage has" if many == 1 else f"{many} passages have"
            found.warnings.append(f"partial_results: {those} no vector yet.")
        alone = self._index.lookup.observations([hit[1] for hit in hits])
        found.usual = self._index.vectors.usual_similarity(vector, embedder.identity)
        best: dict[int, float] = {}
        with contextlib.suppress(*INDEX_FAILURES):  # they only help to rank
            first = [passage for _, passage, _ in hits[:_LOOKED_INTO]]
            if question.profile == "relevance":  # else it is the cosine that is asked for
                best = self._index.vectors.best_sentences(vector, embedder.identity, first)
        return fusion.by_meaning(fusion.with_sentences(hits, best), alone, found.usual)

    def _by_graph(self, question: Question, found: LanesFound) -> None:
        near = GraphLane(self._index, question.filters).near(question.text)
        if not near:
            found.strategy = "keyword"
            found.warnings.append(
                "partial_results: the question names no entity that is known; searched by words."
            )
            return
        words = found.lanes["keyword"]
        found.total = 0
        reached = {memory: each for memory, each in words.items() if memory in near}
        found.lanes = {"graph": near, "keyword": reached}
