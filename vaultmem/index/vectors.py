"""Vectors: kept in SQLite by passage hash and model, searched exactly in memory.

Keyed by what was embedded, not by where it stood: an edit, a move, a pull or a rebuilt
catalog embeds only text never seen before. Other processes notice new rows through
SQLite's data version, and only those are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem.index.database import Database

if TYPE_CHECKING:
    import numpy as np

SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS model (model INTEGER PRIMARY KEY, identity TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS vector (
  number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, hash BLOB NOT NULL,
  vector BLOB NOT NULL, UNIQUE (model, hash));
"""


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

        halves = vectors.astype(np.float16)
        rows = ((model, key, row.tobytes()) for key, row in zip(hashes, halves, strict=True))
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

    def newer(self, model: int, number: int) -> Iterator[list[tuple[int, bytes, bytes]]]:
        """Rows behind this number, some at a time: a first look reads them all."""
        sql = (
            "SELECT number, hash, vector FROM vector NOT INDEXED "
            "WHERE model = ? AND number > ? ORDER BY number"
        )
        rows = self.db.execute(sql, (model, number))
        while part := rows.fetchmany(2048):
            yield part

    def rows(self, numbers: Sequence[int]) -> list[tuple[bytes, bytes]]:
        """Hash and vector of these rows."""
        found: list[tuple[bytes, bytes]] = []
        for start in range(0, len(numbers), 500):
            part = numbers[start : start + 500]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash, vector FROM vector WHERE number IN ({marks})"
            found += self.db.execute(sql, part)
        return found

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

    def count(self, model: int) -> int:
        sql = "SELECT count(*) FROM vector WHERE model = ?"
        return int(self.db.execute(sql, (model,)).fetchone()[0])


@dataclass
class Matrix:
    """All vectors of one model in memory, one row for each distinct text."""

    store: VectorStore
    model: int
    after: int = 0  # only vectors with a higher number

    def __post_init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._last = self.after
        self._data: np.ndarray | None = None
        self._room = 0
        self._seen = -1

    def refresh(self) -> bool:
        """Read what is new in the table; says whether anything was."""
        version = int(self.store.db.execute("PRAGMA data_version").fetchone()[0])
        if version == self._seen:
            return False
        self._seen = version
        before = len(self._rows)
        if self._data is None and not self.after:
            self._room = self.store.count(self.model)
        for fresh in self.store.newer(self.model, self._last):
            self._append(fresh)
        return len(self._rows) > before

    def look_again(self) -> None:
        """This process wrote vectors itself, which the data version does not show."""
        self._seen = -1

    def _append(self, fresh: list[tuple[int, bytes, bytes]]) -> None:
        import numpy as np

        block = np.frombuffer(b"".join(v for _, _, v in fresh), dtype=np.float16)
        block = block.reshape(len(fresh), -1).astype(np.float32)
        start = len(self._rows)
        self._data = _grown(self._data, start, block, self._room)
        for offset, (number, key, _) in enumerate(fresh):
            self._rows[key] = start + offset
            self._last = number

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, key: bytes) -> int | None:
        return self._rows.get(key)

    def similarities(self, vector: np.ndarray) -> np.ndarray:
        """Cosine to every row: the vectors have length one."""
        assert self._data is not None
        result: np.ndarray = self._data[: len(self._rows)] @ vector
        return result

    def best(self, vector: np.ndarray, limit: int) -> dict[bytes, float]:
        """The most similar texts, by hash."""
        if not self._rows:
            return {}
        scores = self.similarities(vector)
        keys = list(self._rows)
        order = (-scores).argsort(kind="stable")[:limit]
        return {keys[i]: float(scores[i]) for i in order}


def _grown(data: np.ndarray | None, used: int, block: np.ndarray, room: int) -> np.ndarray:
    """Room for the new rows; it grows by half, so that adding stays cheap."""
    import numpy as np

    needed = used + len(block)
    if data is None:
        data = np.empty((max(needed, room), block.shape[1]), dtype=np.float32)
    elif needed > len(data):
        larger = np.empty((max(needed, len(data) * 3 // 2), data.shape[1]), dtype=np.float32)
        larger[:used] = data[:used]
        data = larger
    data[used:needed] = block
    return data


class PassageMap:
    """Which passage has which row. Passages only ever get higher numbers, so it is read on
    from the last one; those that were deleted since are sorted out by whoever looks them up."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.last = 0
        self._waiting: dict[bytes, list[tuple[int, int]]] = {}
        self._passages: list[int] = []
        self._notes: list[int] = []
        self._rows: list[int] = []
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def extend(self, fresh: Iterable[tuple[int, int, bytes]]) -> None:
        """New passages: number, note, hash."""
        for passage, note, key in fresh:
            self.last = max(self.last, passage)
            self._waiting.setdefault(bytes(key), []).append((passage, note))

    def settle(self) -> None:
        """Give a row to every passage whose vector has arrived."""
        for key in [key for key in self._waiting if self.matrix.row(key) is not None]:
            for passage, note in self._waiting.pop(key):
                self._passages.append(passage)
                self._notes.append(note)
                self._rows.append(self.matrix.row(key) or 0)
                self._arrays = None

    def __len__(self) -> int:
        return len(self._passages)

    def nearest(
        self, vector: np.ndarray, limit: int, selected: Sequence[int] = (), keep: bool = False
    ) -> list[tuple[int, int, float]]:
        """Note, passage and similarity of the nearest passages, best first.

        `selected` notes are the only ones to keep, or else the ones to leave out.
        """
        import numpy as np

        if not self._passages:
            return []
        if self._arrays is None:
            columns = (self._passages, self._notes, self._rows)
            self._arrays = tuple(np.array(c, dtype=np.int64) for c in columns)  # type: ignore[assignment]
        passages, notes, rows = self._arrays  # type: ignore[misc]
        scores = self.matrix.similarities(vector)[rows]
        if selected or keep:
            chosen = np.isin(notes, np.array(selected, dtype=np.int64))
            scores = np.where(chosen == keep, scores, -2.0)
        limit = min(limit, len(scores))
        best = np.argpartition(-scores, limit - 1)[:limit]
        best = best[np.argsort(-scores[best], kind="stable")]
        found = ((int(notes[i]), int(passages[i]), float(scores[i])) for i in best)
        return [hit for hit in found if hit[2] > -2.0]
