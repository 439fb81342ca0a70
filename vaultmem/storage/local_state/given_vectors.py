"""Vectors that callers computed themselves: this machine's own state, beside the notes.

A vector belongs to one text. When a person changes the note, it no longer counts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
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


class Nearness:
    """How near to a question memories are whose callers gave vectors."""

    def __init__(
        self, places: Mapping[str, int], digests: Sequence[bytes], cosines: Numbers
    ) -> None:
        self._places, self._digests, self._cosines = places, digests, cosines

    def of(self, memory: str, digest: bytes) -> float | None:
        """The cosine, 0 where it is negative; none where the vector was given for another text."""
        place = self._places.get(memory)
        if place is None or self._digests[place] != digest:
            return None
        return float(self._cosines[place])

    def nearest_first(self) -> list[str]:
        """The memories that are near at all."""
        order = (-self._cosines).argsort(kind="stable").tolist()
        near = int((self._cosines > 0).sum())
        memories = {place: memory for memory, place in self._places.items()}
        return [memories[place] for place in order[:near] if place in memories]


class _KeptVectors(NamedTuple):
    size: int  # bytes of one
    last: int  # the newest row
    places: dict[str, int]  # of each memory its newest row
    digests: list[bytes]
    matrix: Numbers  # rows of length one


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

    def near(self, vector: Sequence[float]) -> Nearness:
        """Of every memory with a vector of this length."""
        import numpy as np

        wanted = _number_array(vector)
        length = float(np.linalg.norm(wanted))
        wanted = (wanted / length if length else wanted).astype(np.float32)
        sql, size = "SELECT count(*) FROM given WHERE length(vector) = ?", 4 * len(wanted)
        if self.db.execute(sql, (size,)).fetchone()[0] * size > _MOST_KEPT:
            self._kept = None
            return self._nearness_read(wanted, size)
        with self._keeping:
            kept = self._kept = self._vectors_kept_now(size)
        return Nearness(kept.places, kept.digests, np.clip(kept.matrix @ wanted, 0, 1))

    def _nearness_read(self, wanted: Numbers, size: int) -> Nearness:
        import numpy as np

        places: dict[str, int] = {}
        digests: list[bytes] = []
        cosines = []
        for rows in self._vector_rows(-1, size):
            places |= {row[1]: len(digests) + i for i, row in enumerate(rows)}
            digests += [row[2] for row in rows]
            cosines.append(_unit_rows(rows) @ wanted)
        return Nearness(places, digests, np.clip(np.concatenate(cosines), 0, 1))

    def _vectors_kept_now(self, size: int) -> _KeptVectors:
        import numpy as np

        kept = self._kept
        if kept is None or kept.size != size:
            kept = _KeptVectors(size, -1, {}, [], np.zeros((0, size // 4), np.float32))
        blocks = list(self._vector_rows(kept.last, size))
        if not blocks:
            return kept
        places, digests = {**kept.places}, [*kept.digests]
        for rows in blocks:
            places |= {row[1]: len(digests) + i for i, row in enumerate(rows)}
            digests += [row[2] for row in rows]
        matrix = np.concatenate([kept.matrix, *map(_unit_rows, blocks)])
        return _KeptVectors(size, blocks[-1][-1][0], places, digests, matrix)

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
