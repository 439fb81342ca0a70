"""Vectors that callers computed themselves: this machine's own state, beside the notes.

A vector belongs to one text. When a person changes the note, it no longer counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import Database
from vaultmem.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

LARGEST: Final = 65_536  # numbers in a vector
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS given "
    "(memory TEXT PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL)"
)


class GivenVectors(Database):
    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.execute(_SCHEMA)
        return db

    def keep(self, memory: str, text: bytes, vector: Sequence[float]) -> None:
        data = _array(vector).astype("<f4").tobytes()
        self.db.execute("INSERT OR REPLACE INTO given VALUES (?, ?, ?)", (memory, text, data))

    def near(self, vector: Sequence[float], texts: Mapping[str, bytes]) -> dict[str, float]:
        """The cosine, 0 where it is negative, of those whose vector is as long and whose text
        is still the one that the vector was given for."""
        import numpy as np

        wanted = _array(vector)
        found: dict[str, float] = {}
        for memory, text, data in self.db.execute("SELECT memory, text, vector FROM given"):
            if texts.get(memory) != text or len(data) != 4 * len(wanted):
                continue
            known = np.frombuffer(data, "<f4").astype(np.float64)
            size = float(np.linalg.norm(known) * np.linalg.norm(wanted))
            cosine = float(known @ wanted) / size if size else 0.0
            found[memory] = min(1.0, max(0.0, cosine))
        return found


def _array(vector: Sequence[float]) -> np.ndarray:
    import numpy as np

    array = np.array(vector, np.float64)
    most = float(np.finfo(np.float32).max)
    if not 0 < len(array) <= LARGEST or not (np.abs(array) <= most).all():
        raise InvalidInput(f"An embedding is a list of 1 to {LARGEST} finite numbers.")
    return array
