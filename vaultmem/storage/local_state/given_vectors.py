"""Vectors that callers computed themselves: this machine's own state, beside the notes.

A vector belongs to one text. When a person changes the note, it no longer counts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from vaultmem.base.database import Database
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float32]

_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS given "
    "(memory TEXT PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL)"
)
_SINCE: Final = (
    "SELECT rowid, memory, text, vector FROM given WHERE rowid > ? AND length(vector) = ? "
    "ORDER BY rowid"
)
_ROWS: Final = 1_000  # read in one go
_MOST_KEPT: Final = 128_000_000  # bytes; more vectors are read from the file for each question


class Nearness(NamedTuple):
    """How near a memory is, if its text is still that of the digest."""

    cosine: float
    digest: bytes


class _KeptVectors(NamedTuple):
    size: int  # bytes of one
    last: int  # the newest row
    memories: list[str]
    digests: list[bytes]
    matrix: Numbers  # rows of length one; a row that was replaced later stays


class GivenVectors(Database):
    begins_with = _SCHEMA

    def __init__(self, place: OwnPath) -> None:
        super().__init__(place)
        self._kept: _KeptVectors | None = None
        self._keeping = threading.Lock()

    def require_length(self, vector: Sequence[float], length: int) -> None:
        """As many finite numbers as the vault's vectors have."""
        if len(vector) != length:
            raise InvalidInput(
                f"An embedding has {length:,} numbers here, not {len(vector):,}: "
                "dialects.embedding_length in the vault's settings says how many."
            )
        _number_array(vector)

    def keep_vector(self, memory: str, text: bytes, vector: Sequence[float]) -> None:
        data = _number_array(vector).astype("<f4").tobytes()
        self.db.execute("INSERT OR REPLACE INTO given VALUES (?, ?, ?)", (memory, text, data))

    def near(self, vector: Sequence[float]) -> dict[str, Nearness]:
        """The cosine, 0 where it is negative, of every memory with a vector of this length."""
        import numpy as np

        wanted = _number_array(vector)
        length = float(np.linalg.norm(wanted))
        wanted = (wanted / length if length else wanted).astype(np.float32)
        found: dict[str, Nearness] = {}
        for memories, digests, matrix in self._vector_blocks(4 * len(wanted)):
            cosines = np.clip(matrix @ wanted, 0, 1).tolist()
            for memory, digest, cosine in zip(memories, digests, cosines, strict=True):
                found[memory] = Nearness(cosine, digest)
        return found

    def _vector_blocks(self, size: int) -> Iterator[tuple[list[str], list[bytes], Numbers]]:
        sql = "SELECT count(*) FROM given WHERE length(vector) = ?"
        if self.db.execute(sql, (size,)).fetchone()[0] * size > _MOST_KEPT:
            self._kept = None
            for rows in self._vector_rows(-1, size):
                yield [row[1] for row in rows], [row[2] for row in rows], _unit_rows(rows)
            return
        with self._keeping:
            kept = self._kept = self._vectors_kept_now(size)
        yield kept.memories, kept.digests, kept.matrix

    def _vectors_kept_now(self, size: int) -> _KeptVectors:
        import numpy as np

        kept = self._kept
        if kept is None or kept.size != size:
            kept = _KeptVectors(size, -1, [], [], np.zeros((0, size // 4), np.float32))
        memories, digests, last, more = [*kept.memories], [*kept.digests], kept.last, []
        for rows in self._vector_rows(kept.last, size):
            memories += [row[1] for row in rows]
            digests += [row[2] for row in rows]
            more.append(_unit_rows(rows))
            last = rows[-1][0]
        if not more:
            return kept
        return _KeptVectors(size, last, memories, digests, np.concatenate([kept.matrix, *more]))

    def _vector_rows(self, since: int, size: int) -> Iterator[list[tuple[int, str, bytes, bytes]]]:
        found = self.db.execute(_SINCE, (since, size))
        while rows := found.fetchmany(_ROWS):
            yield rows


def _unit_rows(rows: Sequence[tuple[int, str, bytes, bytes]]) -> Numbers:
    import numpy as np

    joined = np.frombuffer(b"".join(row[3] for row in rows), "<f4").astype(np.float32)
    matrix = joined.reshape(len(rows), -1)
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    return (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _number_array(vector: Sequence[float]) -> np.ndarray:
    import numpy as np

    array = np.array(vector, np.float64)
    if not (np.abs(array) <= float(np.finfo(np.float32).max)).all():
        raise InvalidInput("An embedding is a list of finite numbers.")
    return array
