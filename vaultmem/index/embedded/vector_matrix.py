"""Vectors compared in memory: all of one model as a matrix, and which passage has which row.

Both begin with what a file maps, where there is one, and go on with what came since.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numkong
import numpy as np

from vaultmem.index.embedded.vector_store import BLOCK, VectorStore, vectors_from_halves

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from vaultmem.index.embedded.mapped.vector_file import MappedVectors

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


class GrowingColumn:
    """Numbers in a row: those of a file, then those that came since, with room for more, so that
    one more does not make all of it anew."""

    def __init__(self, kind: type, first: np.ndarray | None = None) -> None:
        self.first = np.empty(0, kind) if first is None else first
        self._room: np.ndarray = np.empty(64, kind)
        self._count = 0

    @property
    def later(self) -> np.ndarray:
        return self._room[: self._count]

    def extend(self, values: np.ndarray | Sequence[int]) -> None:
        end = self._count + len(values)
        if end > len(self._room):
            room = np.empty(max(end, 2 * len(self._room)), self._room.dtype)
            room[: self._count] = self.later
            self._room = room
        self._room[self._count : end] = values
        self._count = end

    def __len__(self) -> int:
        return len(self.first) + self._count

    def pieces(self) -> list[np.ndarray]:
        return [self.first, self.later]

    def at(self, places: np.ndarray) -> np.ndarray:
        found = np.empty(len(places), self._room.dtype)
        early = places < len(self.first)
        found[early] = self.first[places[early]]
        found[~early] = self.later[places[~early] - len(self.first)]
        return found


class VectorMatrix:
    """All vectors of one model in memory, a byte for each dimension: a quarter of the room and
    of the time. The similarities are off by about a thousandth; the exact ones of the best are
    in the table."""

    def __init__(
        self, store: VectorStore, model: int, after: int = 0, mapped: MappedVectors | None = None
    ) -> None:
        self.store = store
        self.model = model
        self.last = mapped.reach.number if mapped else after  # only vectors with a higher number
        self.numbers = GrowingColumn(np.int64, mapped.numbers if mapped else None)  # ascending
        self.steps = GrowingColumn(np.float32, mapped.steps if mapped else None)
        self.mapped = mapped
        self.later: list[np.ndarray] = []  # blocks of bytes
        self.total: np.ndarray | None = mapped.total if mapped else None
        self._highest = -1

    def is_sound(self) -> bool:
        """Whether what is mapped, if anything is, can still be read."""
        return self.mapped is None or self.mapped.is_sound()

    def some_numbers(self, count: int) -> set[int]:
        """Of about so many of the vectors, from everywhere, and of the last."""
        step = max(1, len(self) // count)
        pieces = self.numbers.pieces()
        return {int(number) for piece in pieces for number in (*piece[::step], *piece[-1:])}

    def refresh_matrix(self, highest: int = -1) -> None:
        """Read what is new in the table, of which this is the last number if that is known."""
        highest = self.store.highest_stored_vector() if highest < 0 else highest
        if highest != self._highest:
            for fresh in self.store.stored_vectors_newer_than(self.model, self.last):
                self._append_to_matrix(fresh)
            self._highest = highest

    def _append_to_matrix(self, fresh: list[tuple[int, bytes]]) -> None:
        fresh, exact = self._matrix_rows_without_damaged(fresh)
        if not fresh:
            return
        # Of sixteen digits: it does not depend on the order, or on how many are read at a time.
        total = exact.sum(axis=0, dtype=np.float64)
        self.total = total if self.total is None else self.total + total
        block, steps = quantised_vectors(exact)
        if self.later and len(self.later[-1]) < BLOCK:
            self.later[-1] = np.vstack((self.later[-1], block))
        else:
            self.later.append(block)
        self.numbers.extend([number for number, _ in fresh])
        self.steps.extend(steps)
        self.last = fresh[-1][0]

    @cached_property
    def _mapped_blocks(self) -> list[np.ndarray]:
        if self.mapped is None:
            return []
        rows = self.mapped.rows_of_bytes
        return [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]

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
        return len(self.numbers)

    def usual(self, vector: np.ndarray) -> float:
        """The mean of the cosines to all rows, which is the cosine to their mean."""
        return (
            0.0 if self.total is None or not len(self) else float(self.total @ vector) / len(self)
        )

    def similarities_to_matrix(self, vector: np.ndarray) -> np.ndarray:
        """About the cosine to every row: the vectors have length one."""
        question, step = quantised_vectors(vector[np.newaxis])
        result: np.ndarray = np.concatenate(self._products_with_matrix(question[0]))
        early = len(self.steps.first)
        result[:early] *= self.steps.first * step
        result[early:] *= self.steps.later * step
        return result

    def _products_with_matrix(self, question: np.ndarray) -> list[np.ndarray]:
        """Half of them in another thread, if there are many: the model does not need it now."""
        blocks = [*self._mapped_blocks, *self.later]
        if len(blocks) < _MANY_BLOCKS:
            return _products_with_matrix_blocks(question, blocks)
        middle = len(blocks) // 2
        other = self._second_thread_for_matrix.submit(
            _products_with_matrix_blocks, question, blocks[:middle]
        )
        second = _products_with_matrix_blocks(question, blocks[middle:])
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
        rows = _places_of_largest_in_matrix(scores, limit)
        return [
            (float(scores[row]), int(number))
            for row, number in zip(rows, self.numbers.at(rows), strict=True)
        ]


def _products_with_matrix_blocks(
    question: np.ndarray, blocks: Sequence[np.ndarray]
) -> list[np.ndarray]:
    return [np.asarray(numkong.dot(question, block, out_dtype="float32")) for block in blocks]


def _places_of_largest_in_matrix(scores: np.ndarray, count: int) -> np.ndarray:
    """Where the largest are, in no order."""
    count = min(count, len(scores))
    return np.argpartition(scores, len(scores) - count)[len(scores) - count :]


# The notes of those of these passages that are there, and their vectors as the table has them.
NotesOfPassages = Callable[[Sequence[int]], Mapping[int, int]]
VectorsOfPassages = Callable[[Sequence[int]], Mapping[int, bytes]]


class PassageLookups:
    """What has to be asked of the databases about passages."""

    def __init__(
        self,
        notes: NotesOfPassages,
        vectors: VectorsOfPassages,
        present: Callable[[], np.ndarray],
    ) -> None:
        self.notes = notes
        self.vectors = vectors
        self.present = present  # every passage that there is


class PassageRows:
    """Which passage has which row of the matrix. Passages and vectors only ever get higher
    numbers, so it is read on from the last ones. What was deleted since is noticed when it would
    be found, and never found again."""

    def __init__(self, matrix: VectorMatrix, lookups: PassageLookups) -> None:
        mapped = matrix.mapped
        self.matrix = matrix
        self.seen = (0, 0)  # last passage, last vector
        self._lookups = lookups
        self._passages = GrowingColumn(np.int64, mapped.passages if mapped else None)
        self._notes = GrowingColumn(np.int64, mapped.notes if mapped else None)
        self._rows = GrowingColumn(np.int32, mapped.rows if mapped else None)
        self._gone = GrowingColumn(np.int64)  # places in these
        if mapped:
            self.seen = mapped.reach.passage, mapped.reach.number

    def extend_passage_rows(self, fresh: Iterable[tuple[int, int, int]]) -> None:
        """New pairs: passage, its note, its vector's number."""
        rows = np.array(list(fresh), dtype=np.int64).reshape(-1, 3)
        if not len(rows):
            return
        # A file ends where the later numbers begin.
        early, later = self.matrix.numbers.first, self.matrix.numbers.later
        in_later = np.searchsorted(later, rows[:, 2]) + len(early)
        in_early = np.searchsorted(early, rows[:, 2])
        is_early = rows[:, 2] <= (early[-1] if len(early) else -1)
        found = np.where(is_early, in_early, in_later)
        known = found < len(self.matrix)
        known[known] = self.matrix.numbers.at(found[known]) == rows[known, 2]
        self._passages.extend(rows[known, 0])
        self._notes.extend(rows[known, 1])
        self._rows.extend(found[known])

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def read_since(self) -> int:
        """How much of it is in no file."""
        return max(len(self._rows.later), len(self.matrix.numbers.later))

    def nearest_passage_rows(
        self, vector: np.ndarray, limit: int, selected: Sequence[int] = (), keep: bool = False
    ) -> list[tuple[int, int, float]]:
        """Note, passage and similarity of the nearest passages, best first.

        `selected` notes are the only ones to keep, or else the ones to leave out.
        """
        if not len(self):
            return []
        scores = self._scores_of_passages(vector, selected, keep)
        while True:
            best = self._best_places(scores, limit + SPARE)
            gone, exact = self._look_up_places(best, min(limit, EXACT) + SPARE)
            if not len(gone):
                break
            if len(gone) > SPARE:  # much was deleted: one look at all of them
                gone = self._places_gone()
            self._gone.extend(gone)
            scores[gone] = _LEFT_OUT
        top = best[: len(exact)]
        if len(exact):
            scores[top] = vectors_from_halves(exact) @ vector
        passages = self._passages.at(best)
        order = np.lexsort((passages, -scores[best]))[:limit]
        best = best[order]
        columns = (self._notes.at(best).tolist(), passages[order].tolist(), scores[best].tolist())
        return list(zip(*columns, strict=True))

    def _scores_of_passages(
        self, vector: np.ndarray, selected: Sequence[int], keep: bool
    ) -> np.ndarray:
        alike = self.matrix.similarities_to_matrix(vector)
        scores = np.concatenate([alike[rows] for rows in self._rows.pieces()])
        if selected or keep:
            wanted = np.array(selected, dtype=np.int64)
            chosen = np.concatenate([np.isin(notes, wanted) for notes in self._notes.pieces()])
            scores[chosen != keep] = _LEFT_OUT
        scores[self._gone.later] = _LEFT_OUT
        return scores

    def _best_places(self, scores: np.ndarray, count: int) -> np.ndarray:
        """The best first; of equals the lower passage, whatever was read when."""
        count = min(count, len(scores))
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        best = np.flatnonzero((scores >= least) & (scores > _LEFT_OUT))
        order = np.lexsort((self._passages.at(best), -scores[best]))
        places: np.ndarray = best[order[:count]]
        return places

    def _look_up_places(self, best: np.ndarray, exact: int) -> tuple[np.ndarray, list[bytes]]:
        """Which of these are gone; if none is, the vectors of the first as the table has them."""
        passages = self._passages.at(best).tolist()
        notes = self._lookups.notes(passages)
        pairs = zip(passages, self._notes.at(best).tolist(), strict=True)
        there = np.array([notes.get(passage) == note for passage, note in pairs], bool)
        if there.all():
            vectors = self._lookups.vectors(passages[:exact])
            missing = [p not in vectors for p in passages[:exact]]
            if not any(missing):
                return best[:0], [vectors[p] for p in passages[:exact]]
            there[:exact] = ~np.array(missing, bool)
        return best[~there], []

    def _places_gone(self) -> np.ndarray:
        there = self._lookups.present()
        kept = [np.isin(passages, there) for passages in self._passages.pieces()]
        kept[-1] = np.concatenate(kept)
        kept[-1][self._gone.later] = True  # these are known
        return np.flatnonzero(~kept[-1])

    def columns_of_passage_rows(self) -> dict[str, list[np.ndarray]]:
        """All of it in pieces, for a file: what was deleted is left out."""
        matrix = self.matrix
        dimensions = matrix.later[0].shape[1] if matrix.later else 0
        early = matrix.mapped.rows_of_bytes if matrix.mapped else np.empty((0, dimensions), np.int8)
        self._gone.extend(self._places_gone())
        kept = np.ones(len(self), bool)
        kept[self._gone.later] = False
        places = np.flatnonzero(kept)
        total = matrix.total if matrix.total is not None else np.empty(0, np.float64)
        return {
            "numbers": matrix.numbers.pieces(),
            "steps": matrix.steps.pieces(),
            "rows_of_bytes": [early, *matrix.later],
            "total": [total],
            "passages": [self._passages.at(places)],
            "notes": [self._notes.at(places)],
            "rows": [self._rows.at(places)],
        }
