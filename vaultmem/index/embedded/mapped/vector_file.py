"""The vectors of a model in one file that all processes map: each of them as bytes, what a byte is
worth, and which passage has which.

What stands in it can all be read from the databases, which takes some hundred milliseconds where
mapping takes one. So a file says what it was made from: the table of vectors by its own name, how
often something was taken out of it, and marks of some of its rows; the catalog by its identity;
and how far it goes in both. What came later is read from the databases. A file that was made from
anything else, or is not as it was left, is as good as none. It is written beside, put in place
whole under a name of its own, and never changed, so readers of an older one are not disturbed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import os
import re
import shutil
import time
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from ulid_transform import ulid_now

from vaultmem.base import lock
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError

log = logging.getLogger("vaultmem")

_MAGIC: Final = b"vaultmem vectors 1\n"
_NAME: Final = re.compile(r"vectors-(\d+)-\w+\.map")
_COLUMNS: Final = ("numbers", "steps", "rows_of_bytes", "total", "passages", "notes", "rows")
_ALIGNED: Final = 64
_LONGEST_HEAD: Final = 100_000
_ROOM: Final = 10  # times its size must be free on the disk
_WHOLE_TIME: Final = 2_000_000_000  # ns; what every file system can keep
_OLD_SECONDS: Final = 86_400.0


@dataclass(frozen=True)
class VectorOrigin:
    """What a file of vectors was made from. Equal ones fit each other, as far as they go."""

    store: str  # the table of vectors, by its own name
    dropped: int  # how many rows were ever taken out of it
    model: int
    catalog: str


@dataclass(frozen=True)
class VectorReach:
    """How far it goes."""

    passage: int  # the last one in it
    number: int  # the last vector's
    marks: Mapping[int, str]  # of some vectors, by their number


class MappedVectors:
    """The columns of such a file, as arrays that lie in it."""

    def __init__(self, place: OwnPath) -> None:
        self.place = place
        self._fd = place.open(os.O_RDONLY)
        weakref.finalize(self, os.close, self._fd)
        self._look = self._looks_now()
        head, start = self._read_head()
        self.origin = VectorOrigin(**head["origin"])
        reach = head["reach"]
        marks = {int(number): str(mark) for number, mark in reach["marks"].items()}
        self.reach = VectorReach(int(reach["passage"]), int(reach["number"]), marks)
        if self._look != (head["size"], head["mtime_ns"]):
            raise ValueError("it is not as it was left")
        self._memory = mmap.mmap(self._fd, head["size"], access=mmap.ACCESS_READ)
        arrays = [self._column(start, *head["columns"][name]) for name in _COLUMNS]
        self.numbers, self.steps, self.rows_of_bytes, self.total = arrays[:4]
        self.passages, self.notes, self.rows = arrays[4:]
        if len(self.rows) and int(self.rows.max()) >= len(self.numbers):
            raise ValueError("a passage has a vector that is not there")

    def _looks_now(self) -> tuple[int, int]:
        found = os.fstat(self._fd)
        return found.st_size, found.st_mtime_ns

    def is_sound(self) -> bool:
        """Whether nobody cut or overwrote what is mapped; touching what was cut is the end."""
        return self._looks_now() == self._look

    def _read_head(self) -> tuple[dict[str, Any], int]:
        raw = os.read(self._fd, _LONGEST_HEAD)
        length = int.from_bytes(raw[len(_MAGIC) : len(_MAGIC) + 8], "little")
        check = int.from_bytes(raw[len(_MAGIC) + 8 : len(_MAGIC) + 16], "little")
        text = raw[len(_MAGIC) + 16 : len(_MAGIC) + 16 + length]
        if not raw.startswith(_MAGIC) or zlib.crc32(text) != check:
            raise ValueError("it is none of ours")
        head: dict[str, Any] = json.loads(text)
        return head, _aligned(len(_MAGIC) + 16 + length)

    def _column(self, start: int, kind: str, shape: Sequence[int], place: int) -> np.ndarray:
        count = int(np.prod(shape))
        return np.frombuffer(self._memory, kind, count, start + place).reshape(shape)


class VectorFile:
    """Where the file of a model is, or would be."""

    def __init__(self, folder: OwnPath, model: int) -> None:
        self._folder = folder
        self._model = model

    def open(self) -> MappedVectors | None:
        """The newest one; what cannot be used is taken away, and so are older ones."""
        found: MappedVectors | None = None
        for place in reversed(self._files()):
            try:
                if found is None:
                    found = MappedVectors(place)
                    continue
            except OSError:  # it is gone, or another's, or the disk has trouble
                continue
            except (ValueError, LookupError, TypeError, VaultmemError) as error:
                log.debug("%s is not used: %s", place, error)
            self._remove(place)
        return found

    def _files(self) -> list[OwnPath]:
        names = sorted(file.name for file in self._folder.files())
        ours = (name for name in names if (m := _NAME.fullmatch(name)) and int(m[1]) == self._model)
        return [self._folder / name for name in ours]

    def write(
        self,
        origin: VectorOrigin,
        reach: VectorReach,
        columns: Mapping[str, Sequence[np.ndarray]],
    ) -> bool:
        """Each column in pieces. False where another process is at it, or the disk refuses."""
        try:
            held = lock.try_to_lock(self._folder / "vectors.lock")
        except (OSError, VaultmemError):
            return False
        if held is None:
            return False
        try:
            return self._write_beside(origin, reach, columns)
        except (OSError, VaultmemError) as error:
            log.debug("the vectors are not kept in a file: %s", error)
            return False
        finally:
            held.release()

    def _write_beside(
        self,
        origin: VectorOrigin,
        reach: VectorReach,
        columns: Mapping[str, Sequence[np.ndarray]],
    ) -> bool:
        mtime_ns = time.time_ns() // _WHOLE_TIME * _WHOLE_TIME
        head, size = _head_of_vector_file(origin, reach, columns, mtime_ns)
        if shutil.disk_usage(self._folder.path).free < _ROOM * size:
            return False
        name = ulid_now()
        beside = self._folder / f"vectors-{self._model}-{name}.building"
        target = self._folder / f"vectors-{self._model}-{name}.map"
        try:
            fd = beside.open(os.O_RDWR | os.O_CREAT | os.O_EXCL)
            with open(fd, "wb") as file:
                file.write(head)
                for name in _COLUMNS:
                    flat = (np.ascontiguousarray(piece).reshape(-1) for piece in columns[name])
                    file.writelines(piece.view(np.uint8).data for piece in flat)
                    file.write(bytes(_aligned(file.tell()) - file.tell()))
                file.flush()
                os.fsync(fd)
                os.utime(fd if os.utime in os.supports_fd else beside.path, ns=(mtime_ns, mtime_ns))
            os.replace(beside.path, target.checked())
        finally:
            beside.remove()
        self.discard(but=target)
        return True

    def discard(self, but: OwnPath | None = None) -> None:
        """Take older files away, what was left half written, and what another model left."""
        for file in self._folder.files():
            place = self._folder / file.name
            is_old = time.time() - file.stat.st_mtime > _OLD_SECONDS
            if file.name.startswith("vectors-") and file.name.endswith((".map", ".building")):
                ours = file.name.startswith(f"vectors-{self._model}-")
                if place != but and (ours or is_old):
                    self._remove(place)

    def _remove(self, place: OwnPath) -> None:
        with contextlib.suppress(OSError, VaultmemError):  # Windows: as long as it is mapped
            place.remove()


def discard_vector_files(folder: OwnPath) -> None:
    """Of every model: something must be known no more."""
    for file in folder.files():
        if _NAME.fullmatch(file.name):
            with contextlib.suppress(OSError):
                (folder / file.name).remove()


def _head_of_vector_file(
    origin: VectorOrigin,
    reach: VectorReach,
    columns: Mapping[str, Sequence[np.ndarray]],
    mtime_ns: int,
) -> tuple[bytes, int]:
    """What stands before the columns, and how long all of it is."""
    told = dict(_columns_told(columns))
    last = told[_COLUMNS[-1]]
    end = last[2] + _aligned(int(np.prod(last[1])) * np.dtype(last[0]).itemsize)
    about = {"origin": asdict(origin), "reach": asdict(reach), "columns": told}
    length = 0
    for _ in range(9):  # the size stands in the head, and its digits count
        size = _aligned(len(_MAGIC) + 16 + length) + end
        text = json.dumps({**about, "size": size, "mtime_ns": mtime_ns}).encode()
        if len(text) == length:
            break
        length = len(text)
    check = zlib.crc32(text)
    head = _MAGIC + len(text).to_bytes(8, "little") + check.to_bytes(8, "little") + text
    return head + bytes(_aligned(len(head)) - len(head)), size


def _columns_told(
    columns: Mapping[str, Sequence[np.ndarray]],
) -> Iterator[tuple[str, tuple[str, list[int], int]]]:
    """Kind, shape and place of each, as they follow each other."""
    place = 0
    for name in _COLUMNS:
        pieces = columns[name]
        shape = [sum(map(len, pieces)), *pieces[0].shape[1:]]
        yield name, (pieces[0].dtype.str, shape, place)
        place += _aligned(int(np.prod(shape)) * pieces[0].itemsize)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNED) * _ALIGNED
