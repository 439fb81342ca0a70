"""Nearest vectors in a vault too large to compare them all: a graph mapped from disk.

The graph (HNSW, by usearch) covers the vectors up to a number; what was embedded since is
compared one by one. The best of what the graph proposes are scored anew from the exact
vectors, so the scores are those of the exact search. The file is built beside and put in place whole, under
a name that says what it covers; readers of an older one are not disturbed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from vaultmem.base.own_path import OwnPath
from vaultmem.embedding import onnx_session
from vaultmem.index.embedded.seal import SealedFile, look_at_sealed_file
from vaultmem.index.embedded.vector_matrix import SPARE, VectorMatrix, quantised_vectors
from vaultmem.index.embedded.vector_store import VectorStore, vectors_from_halves

# Up to here comparing all takes some 7 ms and 80 MB.
LARGE_VAULT: Final = 200_000
_STALE: Final = 0.15  # share of vectors behind the graph's end that makes a new one worth while
_PROPOSED: Final = 4  # times as many proposals as hits are wanted

# Passage, note and vector of the passages with the vectors of these numbers.
PassageLookup = Callable[[Sequence[int]], Iterable[tuple[int, int, bytes]]]


class VectorGraph:
    def __init__(self, folder: Path | OwnPath, store: VectorStore, model: int) -> None:
        self.place = OwnPath.of(folder)
        self.store = store
        self.model = model
        self._file: OwnPath | None = None
        self._graph: Any = None
        self._tail: VectorMatrix | None = None
        self._some: np.ndarray | None = None

    def open_vector_graph(self) -> bool:
        """Whether there is a graph to search; takes up a newer one."""
        newest = max(self._files_of_vector_graph(), key=_vectors_covered_by_graph, default=None)
        if newest is None:
            return False
        if look_at_sealed_file(newest.path) != _graph_file_as_built(
            newest
        ):  # reading a cut file would end the process
            self._graph = self._file = None
            _remove_graph_file(newest)
            return False
        if newest != self._file:
            self._graph = vector_graph_class().restore(str(newest.checked()), view=True)
            self._file = newest
            self._tail = VectorMatrix(self.store, self.model, _vectors_covered_by_graph(newest))
        return self._graph is not None

    def _files_of_vector_graph(self) -> list[OwnPath]:
        ours = re.compile(rf"graph-{self.model}-\d+\.usearch")
        return [self.place / file.name for file in self.place.files() if ours.fullmatch(file.name)]

    def search_vector_graph(
        self,
        vector: np.ndarray,
        limit: int,
        lookup: PassageLookup,
        selected: Sequence[int] = (),
        keep: bool = False,
    ) -> list[tuple[int, int, float]]:
        """Note, passage and similarity, as the exact search gives them.

        Proposals are looked up some at a time, the best first, until there are enough:
        reading them all takes longer than finding them.
        """
        wanted = limit * _PROPOSED * (4 if keep else 1)
        assert self._tail is not None
        self._tail.refresh_matrix()
        numbers = _best_proposals_of_graph(
            self._proposed_by_vector_graph(vector, wanted),
            self._tail.best_in_matrix(vector, wanted),
        )
        chosen, step = set(selected), limit + SPARE
        found: list[tuple[int, int, bytes]] = []
        for start in range(0, len(numbers), step):
            passages = lookup(numbers[start : start + step])
            found += [place for place in passages if (place[1] in chosen) == keep]
            if len(found) >= limit:
                break
        return _exact_scores_of_graph_proposals(found, [raw for _, _, raw in found], vector)[:limit]

    def search_beside_vector_graph(
        self, vector: np.ndarray, limit: int, passages: Iterable[tuple[int, int, bytes]]
    ) -> list[tuple[int, int, float]]:
        """All of these few passages compared, without the graph."""
        places = list(passages)
        vectors = dict(
            self.store.stored_vectors_with_hashes(self.model, {key for _, _, key in places})
        )
        places = [place for place in places if place[2] in vectors]
        return _exact_scores_of_graph_proposals(
            places, [vectors[key] for _, _, key in places], vector
        )[:limit]

    def usual(self, vector: np.ndarray) -> float:
        """About the mean of the cosines to all vectors, by the first few thousand of them."""
        if self._some is None:
            rows = next(self.store.stored_vectors_newer_than(self.model, 0))
            self._some = vectors_from_halves([raw for _, raw in rows]).mean(axis=0)
        return float(self._some @ vector)

    def _proposed_by_vector_graph(self, vector: np.ndarray, wanted: int) -> list[tuple[float, int]]:
        question, _ = quantised_vectors(vector[np.newaxis])
        found = self._graph.search(question[0], wanted)
        distances, numbers = found.distances.tolist(), found.keys.tolist()
        return [(1 - far, number) for far, number in zip(distances, numbers, strict=True)]

    def build_vector_graph(self) -> bool:
        """Build a new graph if the present one leaves out too much; says whether it did."""
        last = self.store.last_stored_vector(self.model)
        covered = max(map(_vectors_covered_by_graph, self._files_of_vector_graph()), default=0)
        if last <= LARGE_VAULT or last - covered < last * _STALE:
            return False
        target = self.place / f"graph-{self.model}-{last}.usearch"
        temporary = self.place / f"graph-{self.model}-{last}.{os.getpid()}.building"
        try:
            graph = self._fill_vector_graph(last)
            graph.save(str(temporary.checked()))
            os.replace(temporary.path, target.checked())
            _seal_of_graph_file(target).write(json.dumps(look_at_sealed_file(target.path)).encode())
        finally:
            temporary.remove()
        for file in self._files_of_vector_graph():
            if file != target:
                _remove_graph_file(file)
        return True

    def _fill_vector_graph(self, last: int) -> Any:
        graph: Any = None
        for rows in self.store.stored_vectors_newer_than(self.model, 0):
            rows = [row for row in rows if row[0] <= last]
            if not rows:
                break
            block, _ = quantised_vectors(vectors_from_halves([raw for _, raw in rows]))
            graph = graph or _new_vector_graph(block.shape[1])
            graph.add(np.array([row[0] for row in rows], dtype=np.uint64), block, threads=1)
        return graph


def _new_vector_graph(dimensions: int) -> Any:
    # With half the connections one in a hundred of the nearest was never reached.
    return vector_graph_class()(ndim=dimensions, metric="cos", dtype="i8", connectivity=32)


def vector_graph_class() -> Any:
    """usearch's index. If usearch is loaded before onnxruntime, loading that one later, for
    a question, crashes the process."""
    with contextlib.suppress(ImportError):
        onnx_session.load_onnx_runtime()
    from usearch.index import Index

    return Index


def _best_proposals_of_graph(*proposals: list[tuple[float, int]]) -> list[int]:
    """The numbers proposed, those with the highest similarity first."""
    return [number for _, number in sorted(itertools.chain(*proposals), reverse=True)]


def _exact_scores_of_graph_proposals(
    places: list[tuple[int, int, bytes]], vectors: list[bytes], vector: np.ndarray
) -> list[tuple[int, int, float]]:
    """Note, passage and exact similarity, best first."""
    exact = (vectors_from_halves(vectors) @ vector).tolist() if vectors else []
    found = [(place[1], place[0], score) for place, score in zip(places, exact, strict=True)]
    return sorted(found, key=lambda hit: (-hit[2], hit[1]))


def _seal_of_graph_file(file: OwnPath) -> OwnPath:
    """Beside a graph: what it looked like when it was built."""
    return file.parent / file.name.replace(".usearch", ".json")


def _graph_file_as_built(file: OwnPath) -> SealedFile | None:
    try:
        size, mtime_ns = json.loads(_seal_of_graph_file(file).read())
        return SealedFile(int(size), int(mtime_ns))
    except (OSError, ValueError, TypeError):
        return None


def _remove_graph_file(file: OwnPath) -> None:
    for each in (file, _seal_of_graph_file(file)):
        with contextlib.suppress(OSError):
            each.remove()


def _vectors_covered_by_graph(file: OwnPath) -> int:
    """The last vector a graph holds, from its name."""
    return int(file.name.removesuffix(".usearch").rpartition("-")[2])
