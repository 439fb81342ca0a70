"""Exports of other systems, opened for reading only: files, folders and zips.

They can be larger than memory and come from anywhere, so nothing is unpacked to disk, a zip is
listed once, and everything has a bound.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TextIO

from vaultmem.base import small_files
from vaultmem.base.durable import disk_errors_explained
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.transfer.sources.records import SkippedRecord

MOST_RECORD: Final = 32_000_000  # characters of one item, or of one line
MOST_DOCUMENT: Final = 128_000_000  # characters of a document that is no list
MOST_HELD: Final = 256_000_000  # characters of what must be put in order before it can be written
MOST_FILES: Final = 1_000_000  # in a folder
_MOST_TOLD: Final = 1_000  # of what was left out; the rest is counted
_BOMB_BYTES, _BOMB_RATIO = 100_000_000, 250  # text does not shrink like that
_ZIP_TAIL: Final = 65_536 + 22 + 20 + 56  # bytes in which a zip says what it is
_ZIP_END, _ZIP64 = b"PK\5\6", b"PK\6\7"
_LARGEST_LIST: Final = 16_000_000  # bytes of a zip's list of its files: a hundred thousand or more


class OpenedExport:
    """A source that is being read: how far, and what had to be left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = self.at = 0  # bytes in all, and read so far
        self.total = 0  # records, where a reader knows
        self.left: list[SkippedRecord] = []
        self.left_count = 0
        self.passed: Counter[str] = Counter()  # what nobody would miss, by its kind
        self.remarks: list[str] = []

    def expected(self, done: int) -> int:
        """How many records there are: as many as the reader says, or by how far it has read."""
        guess = done * self.size // self.at if self.at else 0
        return max(done, self.total or guess)

    def leave(self, what: str, why: str) -> None:
        self.left_count += 1
        if len(self.left) < _MOST_TOLD:
            self.left.append(SkippedRecord(" ".join(what[:300].split())[:100], why))


@dataclass(frozen=True)
class Part:
    """One file of an export, from a folder, from a zip, or by itself."""

    name: str
    size: int
    open: Callable[[], TextIO]


def too_much_to_read(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} holds more than {MOST_HELD:,} characters that belong together, which is more "
        "than can be put in order at once. Export less at a time."
    )


def export_parts(path: Path, names: str) -> list[Part]:
    """The files of an export with these names (a pattern), in order; a lone file is taken
    whatever its name is."""
    wanted = re.compile(names)
    if path.is_dir():
        with disk_errors_explained(f"Looking into {path}", "Nothing was imported."):
            found = sorted(
                (name, file) for name, file in files_in_folder(path) if wanted.fullmatch(name)
            )
            return [_opened_file_part(file, name) for name, file in found]
    require_readable_export(path)
    return (
        _opened_zip_parts(path, wanted)
        if is_zip_file(path)
        else [_opened_file_part(path, path.name)]
    )


def require_readable_export(path: Path) -> None:
    """A file or a folder: whatever else has a name may never answer, or never end."""
    if not path.exists():
        raise NotFound(f"There is no file or folder {path}.")
    if not path.is_file() and not path.is_dir():
        raise InvalidInput(f"{path} is neither a file nor a folder, but a pipe or a device.")


def files_in_folder(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every plain file below a folder with its path from there; links lead nowhere."""
    for count, (name, entry) in enumerate(_opened_folder_entries(folder)):
        if count >= MOST_FILES:
            raise InvalidInput(f"{folder} has more than {MOST_FILES:,} files in it.")
        if entry.is_file(follow_symlinks=False):
            yield name, Path(entry.path)


def _opened_folder_entries(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [("", str(folder))]
    while waiting:
        prefix, place = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                yield f"{prefix}{entry.name}", entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((f"{prefix}{entry.name}/", entry.path))


def _opened_file_part(path: Path, name: str) -> Part:
    def open_text() -> TextIO:
        with disk_errors_explained(f"Reading {path}", "Nothing was imported."):
            return _opened_text_stream(small_files.open_plain_file(path, follow=True))

    return Part(name, path.stat().st_size, open_text)


def _opened_text_stream(stream: IO[bytes]) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")


# --- zips -----------------------------------------------------------------------------------


def is_zip_file(path: Path) -> bool:
    return path.is_file() and zipfile.is_zipfile(path)


def _opened_zip_parts(path: Path, wanted: re.Pattern[str]) -> list[Part]:
    """All of them share one open archive: to open it is to read the list of its files."""
    with _zip_opening_errors(path):
        _require_short_zip_list(path)
        archive = zipfile.ZipFile(path)
    found = [member for member in archive.infolist() if _is_zip_member_to_open(member, wanted)]
    _refuse_zip_bombs(path, found)

    def opener(member: zipfile.ZipInfo) -> Callable[[], TextIO]:
        def open_text() -> TextIO:
            with _zip_opening_errors(path):
                return _opened_text_stream(archive.open(member))

        return open_text

    ordered = sorted(found, key=lambda member: member.filename)
    return [Part(m.filename, m.file_size, opener(m)) for m in ordered]


def _is_zip_member_to_open(member: zipfile.ZipInfo, wanted: re.Pattern[str]) -> bool:
    name, mode = member.filename, member.external_attr >> 16
    if member.is_dir() or stat.S_ISLNK(mode):
        return False
    return bool(wanted.fullmatch(name.rpartition("/")[2]) or wanted.fullmatch(name))


def _refuse_zip_bombs(path: Path, members: Iterable[zipfile.ZipInfo]) -> None:
    """One by one, and together: many may stand for the same bytes of the zip."""
    total = 0
    for member in members:
        total += member.file_size
        if member.file_size > max(_BOMB_BYTES, _BOMB_RATIO * member.compress_size):
            raise InvalidInput(
                f"{member.filename} in {path.name} would grow to {member.file_size:,} bytes, "
                "which no export does; it was not opened."
            )
    if total > max(_BOMB_BYTES, _BOMB_RATIO * path.stat().st_size):
        raise InvalidInput(
            f"The files in {path.name} would grow to {total:,} bytes, which no export does; "
            "none was opened."
        )


def _require_short_zip_list(path: Path) -> None:
    """What stands at the end of a zip says how long its list is; the library reads all of it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _ZIP_TAIL))
        tail = file.read()
    plain = tail[-22:].startswith(_ZIP_END) and tail.endswith(b"\0\0")
    at = len(tail) - 22 if plain else tail.rfind(_ZIP_END)
    length = int.from_bytes(tail[at + 12 : at + 16], "little")
    if tail[max(0, at - 20) :].startswith(_ZIP64):  # a larger record before it has the last word
        length = int.from_bytes(tail[max(0, at - 36) : max(0, at - 28)], "little")
    if length > _LARGEST_LIST:
        raise InvalidInput(f"{path.name} lists more files than any export has.")


@contextlib.contextmanager
def _zip_opening_errors(path: Path) -> Iterator[None]:
    try:
        with disk_errors_explained(f"Reading {path}", "Nothing was imported."):
            yield
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InvalidInput(f"{path.name} is a zip that cannot be read: {error}.") from None
