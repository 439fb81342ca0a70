"""Bundles in the Open Knowledge Format: Markdown with a `type`, which comes as it is.

What a bundle says of its concepts (`sources`, `generated`, `verified`) stays in their properties.
Its listings and logs are made of the concepts and would be found in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput
from vaultmem.notes.note import parse
from vaultmem.transfer.sources import folder
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import Record

EXPECTED: Final = "a bundle in the Open Knowledge Format: a folder of Markdown, each with a type"
_RESERVED: Final = ("index.md", "log.md")


def read_export(reading: OpenedExport, *, into: str = "", files: bool = False) -> Iterator[Record]:
    found = folder.listed_files(reading, files=files)
    concepts = [path for path in found if PurePosixPath(path).name not in _RESERVED]
    reading.passed["indexes and logs of the bundle"] += len(found) - len(concepts)
    notes = [path for path in concepts if path.lower().endswith(".md")]
    without = [path for path in notes if not _okf_type(reading, path)]
    if not notes or len(without) == len(notes):
        raise InvalidInput(f"No note in {reading.path} has a type.")
    if without:
        reading.remarks.append(
            f"{len(without)} notes have no type, which the format asks for; they came as they are."
        )
    yield from folder.file_copies(reading, {path: path for path in concepts}, into)


def _okf_type(reading: OpenedExport, path: str) -> str:
    try:
        raw = small_files.read_small_file(reading.path / PurePosixPath(path), folder.MOST_BYTES)
    except OSError:
        return ""  # copying it will say so
    return parse(raw, path).string("type")
