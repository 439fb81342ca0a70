"""Vectors, kept in SQLite by passage hash and model.

Keyed by what was embedded, not by where it stood: an edit, a move, a pull or a rebuilt
catalog embeds only text never seen before. Rows are only ever added, so other processes
notice new ones by the highest number, and only those are read.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import SQL_LIST, SQL_LIST_OF_BYTES, Database, sql_list
from vaultmem.base.own_path import OwnPath

if TYPE_CHECKING:
    import numpy as np

SCHEMA_VERSION: Final = 5
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS model (model INTEGER PRIMARY KEY, identity TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS vector (
  number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, hash BLOB NOT NULL,
  vector BLOB NOT NULL, UNIQUE (model, hash));
CREATE TABLE IF NOT EXISTS sentences (
  model INTEGER NOT NULL, hash BLOB NOT NULL, vectors BLOB NOT NULL,
  PRIMARY KEY (model, hash)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counted (
  model INTEGER PRIMARY KEY, catalog TEXT NOT NULL, revision INTEGER NOT NULL,
  highest INTEGER NOT NULL, whole INTEGER NOT NULL, missing INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS origin (
  only INTEGER PRIMARY KEY CHECK (only = 1), uuid TEXT NOT NULL, dropped INTEGER NOT NULL);
INSERT OR IGNORE INTO origin VALUES (1, lower(hex(randomblob(16))), 0);
CREATE TRIGGER IF NOT EXISTS vector_dropped AFTER DELETE ON vector BEGIN
  UPDATE origin SET dropped = dropped + 1 WHERE only = 1; END;
"""
BLOCK: Final = 2048  # rows


class VectorStore(Database):
    """The table of all vectors ever made here."""

    def __init__(self, file: Path | OwnPath) -> None:
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
        rows = [(model, key, row.tobytes()) for key, row in zip(hashes, exact, strict=True)]
        sql = "INSERT OR IGNORE INTO vector (model, hash, vector) VALUES (?, ?, ?)"
        with self._writing():
            self.db.executemany(sql, rows)

    def add_sentences(self, model: int, rows: Mapping[bytes, Sequence[np.ndarray]]) -> None:
        """The vectors of a passage's sentences, as bytes: they only help to rank."""
        packed = [(model, key, b"".join(map(_as_bytes, some))) for key, some in rows.items()]
        with self._writing():
            self.db.executemany("INSERT OR IGNORE INTO sentences VALUES (?, ?, ?)", packed)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def hashes_not_in_vector_store(self, model: int, hashes: Iterable[bytes]) -> set[bytes]:
        wanted = set(hashes)
        sql = f"SELECT hash FROM vector WHERE model = ? AND hash IN {SQL_LIST_OF_BYTES}"
        return wanted - {row[0] for row in self.db.execute(sql, (model, sql_list(wanted)))}

    def stored_vectors_newer_than(
        self, model: int, number: int
    ) -> Iterator[list[tuple[int, bytes]]]:
        """Numbers and vectors behind this number, some at a time: a first look reads them all."""
        sql = (
            "SELECT number, vector FROM vector NOT INDEXED "
            "WHERE model = ? AND number > ? ORDER BY number"
        )
        rows = self.db.execute(sql, (model, number))
        while part := rows.fetchmany(BLOCK):
            yield part

    def stored_vectors_with_hashes(
        self, model: int, hashes: Iterable[bytes]
    ) -> list[tuple[bytes, bytes]]:
        """Hash and vector of these texts, as far as they are embedded."""
        sql = f"SELECT hash, vector FROM vector WHERE model = ? AND hash IN {SQL_LIST_OF_BYTES}"
        return self.db.execute(sql, (model, sql_list(hashes))).fetchall()

    def last_stored_vector(self, model: int) -> int:
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

    def highest_stored_vector(self) -> int:
        """The last number of all models: it moves whenever anyone adds a vector."""
        return int(self.db.execute("SELECT max(number) FROM vector").fetchone()[0] or 0)

    def origin_of_vectors(self) -> tuple[str, int, int]:
        """The table's own name, how many rows were ever taken out of it, and the last number of
        all models."""
        sql = "SELECT uuid, dropped, (SELECT max(number) FROM vector) FROM origin WHERE only = 1"
        uuid, dropped, highest = self.db.execute(sql).fetchone()
        return uuid, dropped, int(highest or 0)

    def marks_of_stored_vectors(self, model: int, numbers: Iterable[int]) -> dict[int, str]:
        """What tells these vectors from others that may have their numbers."""
        sql = f"SELECT number, hash, vector FROM vector WHERE model = ? AND number IN {SQL_LIST}"
        found = self.db.execute(sql, (model, sql_list(numbers)))
        return {number: f"{key.hex()} {zlib.crc32(raw):x}" for number, key, raw in found}

    def damaged_stored_vectors(self) -> list[int]:
        """The numbers of vectors that no model can have made."""
        import numpy as np

        found: list[int] = []
        sql = "SELECT max(length(vector)) FROM vector GROUP BY model HAVING model = ?"
        for (model,) in self.db.execute("SELECT model FROM model").fetchall():
            size = (self.db.execute(sql, (model,)).fetchone() or (0,))[0]
            for part in self.stored_vectors_newer_than(model, 0):
                found += [number for number, raw in part if len(raw) != size]
                whole = [(number, raw) for number, raw in part if len(raw) == size]
                lengths = np.linalg.norm(vectors_from_halves([raw for _, raw in whole]), axis=1)
                wrong = ~(np.abs(lengths - 1) < 0.01)  # not a number is wrong, too
                found += [whole[i][0] for i in np.flatnonzero(wrong)]
        return found

    def drop_stored_vectors(self, numbers: Sequence[int]) -> None:
        """Of damaged vectors; their texts are embedded again."""
        with self._writing():
            self.db.executemany("DELETE FROM vector WHERE number = ?", ((n,) for n in numbers))
            self.db.execute("DELETE FROM counted")

    def drop_stored_texts(self, hashes: Sequence[bytes]) -> None:
        """Of texts that are to be known no more."""
        listed = (sql_list(hashes),)
        with self._writing():
            for table in ("vector", "sentences"):
                self.db.execute(f"DELETE FROM {table} WHERE hash IN {SQL_LIST_OF_BYTES}", listed)
            self.db.execute("DELETE FROM counted")

    def counts_kept_in_vector_store(
        self, model: int, catalog: str
    ) -> tuple[tuple[int, int], int, int]:
        """When passages without a vector were last counted (the catalog's revision and the
        highest number), up to which passage there were none, and how many there were."""
        sql = (
            "SELECT revision, highest, whole, missing FROM counted WHERE model = ? AND catalog = ?"
        )
        row = self.db.execute(sql, (model, catalog)).fetchone() or (-1, -1, 0, 0)
        return (row[0], row[1]), row[2], row[3]

    def keep_counts_in_vector_store(self, model: int, catalog: str, *values: int) -> None:
        with contextlib.suppress(sqlite3.OperationalError):  # it only saves time
            sql = "INSERT OR REPLACE INTO counted VALUES (?, ?, ?, ?, ?, ?)"
            self.db.execute(sql, (model, catalog, *values))


def _as_bytes(vector: np.ndarray) -> bytes:
    """Its direction alone: the largest number becomes 127."""
    import numpy as np

    scale = 127 / max(float(np.abs(vector).max()), 1e-9)
    return np.rint(vector * scale).astype(np.int8).tobytes()


def vectors_from_bytes(raw: bytes, dimension: int) -> np.ndarray:
    """Of length one again, one below the other."""
    import numpy as np

    rows: np.ndarray = np.frombuffer(raw, np.int8).reshape(-1, dimension).astype(np.float32)
    rows /= np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1e-9)[:, None]
    return rows


def nearest_in_bytes(packed: Sequence[tuple[int, bytes]], vector: np.ndarray) -> dict[int, float]:
    """How similar the nearest vector of each is."""
    import numpy as np

    packed = [(each, raw) for each, raw in packed if raw and len(raw) % len(vector) == 0]
    if not packed:
        return {}  # or damaged: they only help to rank
    alike = vectors_from_bytes(b"".join(raw for _, raw in packed), len(vector)) @ vector
    many = [len(raw) // len(vector) for _, raw in packed]
    starts = np.cumsum([0, *many[:-1]])
    best = np.maximum.reduceat(alike, starts)
    return {each: float(score) for (each, _), score in zip(packed, best, strict=True)}


def vectors_from_halves(rows: Sequence[bytes]) -> np.ndarray:
    """Vectors as the table has them, one below the other."""
    import numpy as np

    block = np.frombuffer(b"".join(rows), dtype=np.float16)
    return block.reshape(len(rows), -1).astype(np.float32)
