"""The files of the full text, as far as they concern us: which there are, and whether they are whole.

The engine writes segments that never change, and lists those that count in one small file.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError

TEXT_META: Final = "meta.json"  # the list
_ITS_LOCKS: Final = ".tantivy-"
_KINDS: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_NEARLY_NOTHING: Final = 1_000_000  # bytes free on a disk that is full
_MALFORMED: Final = (ValueError, KeyError, TypeError, AttributeError, IndexError)
_Live = dict[str, dict[str, int] | None]


def fulltext_file_names(folder: Path) -> list[str]:
    """All that the engine keeps, but for its locks; named from the folder above."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    return [f"{folder.name}/{name}" for name in names if not name.startswith(_ITS_LOCKS)]


def is_segment_file(name: str) -> bool:
    """Whether a file never changes once it is written."""
    return len(name.rpartition("/")[2].partition(".")[0]) == 32


def is_whole_fulltext(folder: OwnPath) -> bool:
    """Whether every file that counts is there, with the content that it was written with: each
    ends with a checksum, which the engine itself does not look at."""
    try:
        meta = json.loads((folder / TEXT_META).read())
        return all(
            _is_segment_file_as_written(folder / name)
            for s in meta["segments"]
            for name in _fulltext_files_of_segment(s)
        )
    except (OSError, VaultmemError, *_MALFORMED, struct.error):
        return False


def _fulltext_files_of_segment(segment: Mapping[str, Any]) -> Iterator[str]:
    name, deletes = segment["segment_id"].replace("-", ""), segment.get("deletes")
    yield from (f"{name}.{kind}" for kind in _KINDS)
    if deletes:
        yield f"{name}.{deletes['opstamp']}.del"


def _is_segment_file_as_written(file: OwnPath) -> bool:
    """The content, a line of JSON with its checksum, the length of that line, and a mark."""
    raw = memoryview(file.read())
    length, _ = struct.unpack("<II", raw[-8:])
    footer = json.loads(bytes(raw[-8 - length : -8]))
    return bool(zlib.crc32(raw[: -8 - length]) == footer["crc"])


def sweep_fulltext_files(folder: OwnPath) -> None:
    """Remove what a failed or killed writer left: a full disk needs the room."""
    with contextlib.suppress(OSError, VaultmemError, *_MALFORMED):
        meta = json.loads((folder / TEXT_META).read())
        live = {s["segment_id"].replace("-", ""): s.get("deletes") for s in meta["segments"]}
        for file in folder.files():
            if _is_left_over_segment_file(file.name, live):
                (folder / file.name).remove()


def _is_left_over_segment_file(name: str, live: _Live) -> bool:
    """Whether a file belongs to no segment, or holds deletions that were never committed."""
    segment, *rest = name.split(".")
    if len(segment) != 32:
        return name.startswith(".tmp")
    if segment not in live:
        return True
    deletes = live[segment]
    return rest[-1] == "del" and (deletes is None or rest[0] != str(deletes["opstamp"]))


def disk_is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _NEARLY_NOTHING
    except OSError:  # the folder is gone
        return False
