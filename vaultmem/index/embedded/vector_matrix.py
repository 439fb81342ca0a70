"""Vectors: kept in SQLite by passage hash and model, compared in memory.

Keyed by what was embedded, not by where it stood: an edit, a move, a pull or a rebuilt
catalog embeds only text never seen before. Rows are only ever added, so other processes
notice new ones by the highest number, and only those are read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem.database import Database

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

SCHEMA_VERSION: Final = 3
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS model (model INTEGER PRIMARY KEY, identity TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS vector (
  number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, hash BLOB NOT NULL,
  vector BLOB NOT NULL, UNIQUE (model, hash));
CREATE TABLE IF NOT EXISTS counted (
  model INTEGER PRIMARY KEY, catalog TEXT NOT NULL, revision INTEGER NOT NULL,
  highest INTEGER NOT NULL, whole INTEGER NOT NULL, missing INTEGER NOT NULL);
"""
# So many more than wanted are scored exactly. On real vectors 50 made every answer that of the
# exact search, down to the three hundredth hit.
SPARE: Final = 64
EXACT: Final = 40  # hits; those behind them keep the similarity of their bytes
_BLOCK: Final = 2048  # rows
_MANY_BLOCKS: Final = 6
_LEFT_OUT: Final = -2.0  # less than any cosine


class VectorStore(Database):
    """The table of all vectors ever made here."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self._models: dict[str, int] = {}
        if self.db.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
            self.db.executescript(_SCHEMA)
            self.db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def model(self, identity: str) -> int:
        """The number of a model here, given on first sight."""
        if identity not in self._models:
            self.db.execute("INSERT OR IGNORE INTO model (identity) VALUES (?)", (identity,))
            sql = "SELECT model FROM model WHERE identity = ?"
            self._models[identity] = int(self.db.execute(sql, (identity,)).fetchone()[0])
        return self._models[identity]

    def add(self, model: int, hashes: Sequence[bytes], vectors: np.ndarray) -> None:
        import numpy as np

        exact = vectors.astype(np.float16)
        rows = ((model, key, row.tobytes()) for key, row in zip(hashes, exact, strict=True))
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany(
            "INSERT OR IGNORE INTO vector (model, hash, vector) VALUES (?, ?, ?)", rows
        )
        self.db.execute("COMMIT")

    def missing(self, model: int, hashes: Iterable[bytes]) -> set[bytes]:
        wanted = set(hashes)
        keys = list(wanted)
        for i in range(0, len(keys), 500):
            part = keys[i : i + 500]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash FROM vector WHERE model = ? AND hash IN ({marks})"
            wanted -= {row[0] for row in self.db.execute(sql, (model, *part))}
        return wanted

    def newer(self, model: int, number: int) -> Iterator[list[tuple[int, bytes]]]:
        """Numbers and vectors behind this number, some at a time: a first look reads them all."""
        sql = (
            "SELECT number, vector FROM vector NOT INDEXED "
            "WHERE model = ? AND number > ? ORDER BY number"
        )
        rows = self.db.execute(sql, (model, number))
        while part := rows.fetchmany(_BLOCK):
            yield part

    def similarities(self, numbers: Sequence[int], vector: np.ndarray) -> dict[int, float]:
        """The exact cosine to the vectors with these numbers."""
        found: list[tuple[int, bytes]] = []
        for start in range(0, len(numbers), 500):
            part = numbers[start : start + 500]
            marks = ",".join("?" * len(part))
            sql = f"SELECT number, vector FROM vector WHERE number IN ({marks})"
            found += self.db.execute(sql, part)
        exact = halves([raw for _, raw in found]) @ vector if found else ()
        return {number: float(score) for (number, _), score in zip(found, exact, strict=True)}

    def with_hashes(self, model: int, hashes: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
        """Hash and vector of these texts, as far as they are embedded."""
        keys, found = list(hashes), []
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash, vector FROM vector WHERE model = ? AND hash IN ({marks})"
            found += self.db.execute(sql, (model, *part)).fetchall()
        return found

    def last(self, model: int) -> int:
        """The highest number, which is about how many there are."""
        # Without NOT INDEXED the whole model is read through its hashes, and sorted.
        sql = "SELECT number FROM vector NOT INDEXED WHERE model = ? ORDER BY number DESC LIMIT 1"
        row = self.db.execute(sql, (model,)).fetchone()
        return int(row[0]) if row else 0

    def newest_identity(self) -> str:
        sql = (
            "SELECT identity FROM model WHERE model = "
            "(SELECT model FROM vector NOT INDEXED ORDER BY number DESC LIMIT 1)"
        )
        row = self.db.execute(sql).fetchone()
        return row[0] if row else ""

    def highest(self) -> int:
        """The last number of all models: it moves whenever anyone adds a vector."""
        return int(self.db.execute("SELECT max(number) FROM vector").fetchone()[0] or 0)

    def counted(self, model: int, catalog: str) -> tuple[tuple[int, int], int, int]:
        """When passages without a vector were last counted (the catalog's revision and the
        highest number), up to which passage there were none, and how many there were."""
        sql = (
            "SELECT revision, highest, whole, missing FROM counted WHERE model = ? AND catalog = ?"
        )
        row = self.db.execute(sql, (model, catalog)).fetchone() or (-1, -1, 0, 0)
        return (row[0], row[1]), row[2], row[3]

    def set_counted(self, model: int, catalog: str, *values: int) -> None:
        with contextlib.suppress(sqlite3.OperationalError):  # it only saves time
            sql = "INSERT OR REPLACE INTO counted VALUES (?, ?, ?, ?, ?, ?)"
            self.db.execute(sql, (model, catalog, *values))


def halves(rows: Sequence[bytes]) -> np.ndarray:
    """Vectors as the table has them, one below the other."""
    import numpy as np

    block = np.frombuffer(b"".join(rows), dtype=np.float16)
    return block.reshape(len(rows), -1).astype(np.float32)


def quantised(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors in whole numbers of one byte, and what one is worth in each."""
    import numpy as np

    steps = np.maximum(np.abs(block).max(axis=1, keepdims=True), 1e-12) / 127
    return np.rint(block / steps).astype(np.int8), steps[:, 0].astype(np.float32)


class Matrix:
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

    def refresh(self) -> None:
        """Read what is new in the table."""
        highest = self.store.highest()
        if highest != self._highest:
            for fresh in self.store.newer(self.model, self.last):
                self._append(fresh)
            self._highest = highest

    def _append(self, fresh: list[tuple[int, bytes]]) -> None:
        import numpy as np

        exact = halves([raw for _, raw in fresh])
        total = exact.sum(axis=0)
        self._sum = total if self._sum is None else self._sum + total
        block, steps = quantised(exact)
        if self._blocks and len(self._blocks[-1]) < _BLOCK:
            self._blocks[-1] = np.vstack((self._blocks[-1], block))
        else:
            self._blocks.append(block)
        self._numbers.extend(number for number, _ in fresh)
        self._steps.frombytes(steps.tobytes())
        self.last = fresh[-1][0]

    def __len__(self) -> int:
        return len(self._numbers)

    def usual(self, vector: np.ndarray) -> float:
        """The mean of the cosines to all rows, which is the cosine to their mean."""
        return 0.0 if self._sum is None else float(self._sum @ vector) / len(self)

    @property
    def numbers(self) -> np.ndarray:
        import numpy as np

        return np.array(self._numbers, dtype=np.int64)

    def similarities(self, vector: np.ndarray) -> np.ndarray:
        """About the cosine to every row: the vectors have length one."""
        import numpy as np

        question, step = quantised(vector[np.newaxis])
        result: np.ndarray = np.concatenate(self._products(question[0]))
        result *= np.array(self._steps, dtype=np.float32) * step
        return result

    def _products(self, question: np.ndarray) -> list[np.ndarray]:
        """Half of them in another thread, if there are many: the model does not need it now."""
        if len(self._blocks) < _MANY_BLOCKS:
            return _products(question, self._blocks)
        middle = len(self._blocks) // 2
        other = self._second_thread.submit(_products, question, self._blocks[:middle])
        second = _products(question, self._blocks[middle:])
        return other.result() + second

    @cached_property
    def _second_thread(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(1, thread_name_prefix="vectors")

    def best(self, vector: np.ndarray, limit: int) -> list[tuple[float, int]]:
        """About the similarity, and the number, of the most similar vectors."""
        if not len(self):
            return []
        scores = self.similarities(vector)
        return [(float(scores[row]), self._numbers[row]) for row in _largest(scores, limit)]


def _products(question: np.ndarray, blocks: Sequence[np.ndarray]) -> list[np.ndarray]:
    import numkong
    import numpy as np

    return [np.asarray(numkong.dot(question, block, out_dtype="float32")) for block in blocks]


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Where the largest are, in no order."""
    import numpy as np

    count = min(count, len(scores))
    return np.argpartition(scores, len(scores) - count)[len(scores) - count :]


class PassageMap:
    """Which passage has which row of the matrix. Passages and vectors only ever get higher
    numbers, so it is read on from the last ones; passages that were deleted since are sorted
    out by whoever looks them up."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.seen = (0, 0)  # last passage, last vector
        self._passages = array("q")
        self._notes = array("q")
        self._numbers = array("q")  # of their vectors
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def extend(self, fresh: Iterable[tuple[int, int, int]]) -> None:
        """New pairs: passage, its note, its vector."""
        for passage, note, number in fresh:
            self._passages.append(passage)
            self._notes.append(note)
            self._numbers.append(number)
            self._arrays = None

    def __len__(self) -> int:
        return len(self._passages)

    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Passages, notes and rows."""
        import numpy as np

        if self._arrays is None:
            rows = np.searchsorted(self.matrix.numbers, np.array(self._numbers))
            self._arrays = np.array(self._passages), np.array(self._notes), rows
        return self._arrays

    def nearest(
        self, vector: np.ndarray, limit: int, selected: Sequence[int] = (), keep: bool = False
    ) -> list[tuple[int, int, float]]:
        """Note, passage and similarity of the nearest passages, best first.

        `selected` notes are the only ones to keep, or else the ones to leave out.
        """
        import numpy as np

        if not len(self):
            return []
        passages, notes, rows = self._columns()
        scores = self.matrix.similarities(vector)[rows]
        if selected or keep:
            chosen = np.isin(notes, np.array(selected, dtype=np.int64))
            scores[chosen != keep] = _LEFT_OUT
        best = _largest(scores, limit + SPARE)
        best = best[scores[best] > _LEFT_OUT]
        top = best[_largest(scores[best], min(limit, EXACT) + SPARE)]
        numbers = [self._numbers[place] for place in top]
        exact = self.matrix.store.similarities(numbers, vector)
        scores[top] = [exact[number] for number in numbers]
        order = best[np.lexsort((passages[best], -scores[best]))][:limit]
        columns = (notes[order].tolist(), passages[order].tolist(), scores[order].tolist())
        return list(zip(*columns, strict=True))
