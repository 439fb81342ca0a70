"""Plain folders of Markdown: the notes come as they are, in the folders in which they lie."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.notes.note import printable
from vaultmem.transfer.sources.opening import MOST_FILES, OpenedExport
from vaultmem.transfer.sources.records import FileRecord, Record, record_digest

EXPECTED: Final = "a folder with Markdown notes (.md) in it"
MOST_BYTES: Final = 50_000_000  # of one file


def read_export(reading: OpenedExport, *, into: str = "", files: bool = False) -> Iterator[Record]:
    found = listed_files(reading, files=files)
    if not any(path.lower().endswith(".md") for path in found):
        raise InvalidInput(f"There are no Markdown notes (.md) in {reading.path}.")
    yield from file_copies(reading, {path: path for path in found}, into)


def listed_files(reading: OpenedExport, *, files: bool = False) -> list[str]:
    """What is to be copied, in order. What stays behind is said: other files, links to
    elsewhere; folders whose name starts with a dot belong to programs."""
    root = reading.path
    if not root.is_dir():
        kind = "not a folder" if root.exists() else "not there"
        raise (InvalidInput if root.exists() else NotFound)(f"{root} is {kind}.")
    found, others, seen = [], Counter[str](), 0

    def leave(error: OSError) -> None:
        reading.leave(str(error.filename), error.strerror or "it cannot be read")

    for folder, inner, names in os.walk(root, onerror=leave):
        inner[:] = sorted(name for name in inner if _is_readable_in_folder(name, reading))
        seen += len(names)
        if seen > MOST_FILES:
            raise InvalidInput(f"{root} has more than {MOST_FILES:,} files in it.")
        for name in sorted(names):
            path = Path(folder, name)
            if not _is_readable_in_folder(name, reading):
                continue
            if path.is_symlink() or not path.is_file():
                reading.leave(path.relative_to(root).as_posix(), "it is a link to another place")
            elif files or name.lower().endswith(".md"):
                found.append(path.relative_to(root).as_posix())
            else:
                others[path.suffix.lower() or "no ending"] += 1
    if others:
        kinds = ", ".join(f"{count} {kind}" for kind, count in others.most_common(5))
        reading.remarks.append(
            f"Only Markdown was taken; {others.total()} other files stayed behind "
            f"({kinds}). They come along with --files."
        )
    reading.total = len(found)
    return found


def _is_readable_in_folder(name: str, reading: OpenedExport) -> bool:
    if printable(name) != name:
        reading.leave(name, "its name is not written in UTF-8")
        return False
    return not name.startswith(".")


def file_copies(reading: OpenedExport, places: dict[str, str], into: str) -> Iterator[FileRecord]:
    """The files, each with its place below `into`."""
    origin = record_digest(reading.path.resolve())
    for path, place in places.items():
        file = reading.path / PurePosixPath(path)
        try:
            raw = small_files.read_small_file(file, MOST_BYTES)
        except OSError as error:
            reading.leave(path, error.strerror or "it cannot be read")
            continue
        yield FileRecord(f"{origin}/{path}", f"{into}/{place}" if into else place, raw)
