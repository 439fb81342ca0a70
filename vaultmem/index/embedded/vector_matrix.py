"""Vectors compared in memory: all of one model as a matrix, and which passage has which row."""

from __future__ import annotations

import contextlib
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numkong
import numpy as np

from vaultmem.index.embedded.vector_store import BLOCK, VectorStore, vectors_from_halves

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# So many more than wanted are scored exactly. On real vectors 50 made every answer that of the
# exact search, down to the three hundredth hit.
SPARE: Final = 64
EXACT: Final = 40  # hits; those behind them keep the similarity of their bytes
_MANY_BLOCKS: Final = 6
_LONGEST: Final = 1.1  # a vector's length is one, but for rounding
_LEFT_OUT: Final = -2.0  # less than any cosine


def quantised_vectors(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors in whole numbers of one byte, and what one is worth in each."""
    steps = np.maximum(np.abs(block).max(axis=1, keepdims=True), 1e-12) / 127
    return np.rint(block / steps).astype(np.int8), steps[:, 0].astype(np.float32)


class VectorMatrix:
    """All vectors of one model in memory, a byte for each dimension: a quarter of the room and
    of the time. The similarities are off by about a thousandth; the exact ones of the best are
    in the table."""

    def __init__(self, store: VectorStore, model: int, after: int = 0) -> None:
        self.store = store
        self.model = model
        self.last = after  # only vectors with a higher number
        self._numbers = array("q")  # ascending
        self._steps = array("f")
        self._blocks: list[np.ndarray] = []
        self._sum: np.ndarray | None = None
        self._highest = -1

    def refresh_matrix(self) -> None:
        """Read what is new in the table."""
        highest = self.store.highest_stored_vector()
        if highest != self._highest:
            for fresh in self.store.stored_vectors_newer_than(self.model, self.last):
                self._append_to_matrix(fresh)
            self._highest = highest

    def _append_to_matrix(self, fresh: list[tuple[int, bytes]]) -> None:
        fresh, exact = self._matrix_rows_without_damaged(fresh)
        if not fresh:
            return
        total = exact.sum(axis=0)
        self._sum = total if self._sum is None else self._sum + total
        block, steps = quantised_vectors(exact)
        if self._blocks and len(self._blocks[-1]) < BLOCK:
            self._blocks[-1] = np.vstack((self._blocks[-1], block))
        else:
            self._blocks.append(block)
        self._numbers.extend(number for number, _ in fresh)
        self._steps.frombytes(steps.tobytes())
        self.last = fresh[-1][0]

    def _matrix_rows_without_damaged(
        self, rows: list[tuple[int, bytes]]
    ) -> tuple[list[tuple[int, bytes]], np.ndarray]:
        """Vectors have one length, in both senses; what has another was written by nobody."""
        usual, _ = Counter(len(raw) for _, raw in rows).most_common(1)[0]
        kept = [row for row in rows if len(row[1]) == usual]
        exact = vectors_from_halves([raw for _, raw in kept])
        with np.errstate(all="ignore"):
            good = np.linalg.norm(exact, axis=1) < _LONGEST
        if not good.all() or len(kept) < len(rows):
            fine = {row[0] for row, is_good in zip(kept, good, strict=True) if is_good}
            with contextlib.suppress(sqlite3.OperationalError):  # another time
                self.store.drop_stored_vectors([number for number, _ in rows if number not in fine])
            kept, exact = [row for row in kept if row[0] in fine], exact[good]
        return kept, exact

    def __len__(self) -> int:
        return len(self._numbers)

    def usual(self, vector: np.ndarray) -> float:
        """The mean of the cosines to all rows, which is the cosine to their mean."""
        return 0.0 if self._sum is None else float(self._sum @ vector) / len(self)

    @property
    def numbers(self) -> np.ndarray:
        return np.array(self._numbers, dtype=np.int64)

    def similarities_to_matrix(self, vector: np.ndarray) -> np.ndarray:
        """About the cosine to every row: the vectors have length one."""
        question, step = quantised_vectors(vector[np.newaxis])
        result: np.ndarray = np.concatenate(self._products_with_matrix(question[0]))
        result *= np.array(self._steps, dtype=np.float32) * step
        return result

    def _products_with_matrix(self, question: np.ndarray) -> list[np.ndarray]:
        """Half of them in another thread, if there are many: the model does not need it now."""
        if len(self._blocks) < _MANY_BLOCKS:
            return _products_with_matrix_blocks(question, self._blocks)
        middle = len(self._blocks) // 2
        other = self._second_thread_for_matrix.submit(
            _products_with_matrix_blocks, question, self._blocks[:middle]
        )
        second = _products_with_matrix_blocks(question, self._blocks[middle:])
        return other.result() + second

    @cached_property
    def _second_thread_for_matrix(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(1, thread_name_prefix="vectors")

    def best_in_matrix(self, vector: np.ndarray, limit: int) -> list[tuple[float, int]]:
        """About the similarity, and the number, of the most similar vectors."""
        if not len(self):
            return []
        scores = self.similarities_to_matrix(vector)
        return [
            (float(scores[row]), self._numbers[row])
            for row in _places_of_largest_in_matrix(scores, limit)
        ]


def _products_with_matrix_blocks(
    question: np.ndarray, blocks: Sequence[np.ndarray]
) -> list[np.ndarray]:
    return [np.asarray(numkong.dot(question, block, out_dtype="float32")) for block in blocks]


def _places_of_largest_in_matrix(scores: np.ndarray, count: int) -> np.ndarray:
    """Where the largest are, in no order."""
    count = min(count, len(scores))
    return np.argpartition(scores, len(scores) - count)[len(scores) - count :]


class PassageRows:
    """Which passage has which row of the matrix. Passages and vectors only ever get higher
    numbers, so it is read on from the last ones; passages that were deleted since are sorted
    out by whoever looks them up."""

    def __init__(self, matrix: VectorMatrix) -> None:
        self.matrix = matrix
        self.seen = (0, 0)  # last passage, last vector
        self._passages = array("q")
        self._notes = array("q")
        self._numbers = array("q")  # of their vectors
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def extend_passage_rows(self, fresh: Iterable[tuple[int, int, int]]) -> None:
        """New pairs: passage, its note, its vector."""
        for passage, note, number in fresh:
            self._passages.append(passage)
            self._notes.append(note)
            self._numbers.append(number)
            self._arrays = None

    def __len__(self) -> int:
        return len(self._passages)

    def _columns_of_matrix_passages(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Passages, notes and rows."""
        if self._arrays is None:
            rows = np.searchsorted(self.matrix.numbers, np.array(self._numbers))
            self._arrays = np.array(self._passages), np.array(self._notes), rows
        return self._arrays

    def nearest_passage_rows(
        self, vector: np.ndarray, limit: int, selected: Sequence[int] = (), keep: bool = False
    ) -> list[tuple[int, int, float]]:
        """Note, passage and similarity of the nearest passages, best first.

        `selected` notes are the only ones to keep, or else the ones to leave out.
        """
        if not len(self):
            return []
        passages, notes, rows = self._columns_of_matrix_passages()
        scores = self.matrix.similarities_to_matrix(vector)[rows]
        if selected or keep:
            chosen = np.isin(notes, np.array(selected, dtype=np.int64))
            scores[chosen != keep] = _LEFT_OUT
        best = _places_of_largest_in_matrix(scores, limit + SPARE)
        best = best[scores[best] > _LEFT_OUT]
        top = best[_places_of_largest_in_matrix(scores[best], min(limit, EXACT) + SPARE)]
        numbers = [self._numbers[place] for place in top]
        exact = self.matrix.store.similarities_of_stored_vectors(numbers, vector)
        scores[top] = [exact[number] for number in numbers]
        order = best[np.lexsort((passages[best], -scores[best]))][:limit]
        columns = (notes[order].tolist(), passages[order].tolist(), scores[order].tolist())
        return list(zip(*columns, strict=True))
