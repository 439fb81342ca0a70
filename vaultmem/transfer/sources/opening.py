"""Files of other systems, opened for reading only: JSON, lines of JSON, zips, SQLite.

Exports can be larger than memory and come from anywhere, so a list is read item by item,
a zip is never unpacked to disk, and everything has a bound.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from vaultmem.durable import explained
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.moving.incoming import Left

MOST_RECORD: Final = 256_000_000  # characters of one item, or of one document
_MOST_TOLD: Final = 1_000  # of what was left out; the rest is counted
_BOMB_BYTES, _BOMB_RATIO = 100_000_000, 250  # text does not shrink like that
_STEP: Final = 1 << 20
_SQLITE: Final = b"SQLite format 3\0"
_BETWEEN: Final = " \t\r\n,"


class Reading:
    """A source that is being read: how far, and what had to be left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = self.at = 0  # bytes in all, and read so far
        self.total = 0  # records, where a reader knows
        self.left: list[Left] = []
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
            self.left.append(Left(" ".join(what[:300].split())[:100], why))


@dataclass(frozen=True)
class Part:
    """One file of an export, from a folder, from a zip, or by itself."""

    name: str
    size: int
    open: Callable[[], TextIO]


def parts(path: Path, names: str) -> list[Part]:
    """The files of an export with these names (a pattern), in order; a lone file is taken
    whatever its name is."""
    wanted = re.compile(names)
    if path.is_dir():
        with explained(f"Looking into {path}", "Nothing was imported."):
            found = sorted(f for f in path.rglob("*") if f.is_file())
        inner = ((file.relative_to(path).as_posix(), file) for file in found)
        return [_file(file, name) for name, file in inner if wanted.fullmatch(name)]
    if not path.exists():
        raise NotFound(f"There is no file or folder {path}.")
    return _zipped(path, wanted) if zipfile.is_zipfile(path) else [_file(path, path.name)]


def _file(path: Path, name: str) -> Part:
    def open_text() -> TextIO:
        with explained(f"Reading {path}", "Nothing was imported."):
            return open(path, encoding="utf-8-sig", errors="replace")

    return Part(name, path.stat().st_size, open_text)


def _zipped(path: Path, wanted: re.Pattern[str]) -> list[Part]:
    with _zip(path) as archive:
        found = [m for m in archive.infolist() if wanted.fullmatch(m.filename.rpartition("/")[2])]
        found += [m for m in archive.infolist() if m not in found and wanted.fullmatch(m.filename)]
    for member in found:
        if member.file_size > max(_BOMB_BYTES, _BOMB_RATIO * member.compress_size):
            raise InvalidInput(
                f"{member.filename} in {path.name} would grow to {member.file_size:,} bytes, "
                "which no export does; it was not opened."
            )

    def opener(name: str) -> Callable[[], TextIO]:
        def open_text() -> TextIO:
            with _zip(path) as archive:
                stream = archive.open(name)
            return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")

        return open_text

    ordered = sorted(found, key=lambda member: member.filename)
    return [Part(m.filename, m.file_size, opener(m.filename)) for m in ordered]


@contextlib.contextmanager
def _zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with explained(f"Reading {path}", "Nothing was imported."), zipfile.ZipFile(path) as it:
            yield it
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InvalidInput(f"{path.name} is a zip that cannot be read: {error}.") from None


# --- JSON -----------------------------------------------------------------------------------


def values(part: Part, reading: Reading) -> Iterator[Any]:
    """The items of a top-level list; else the document itself, or one of each line.

    What cannot be read is left aloud: a line alone, or in a list all from there on.
    """
    with part.open() as file, _readable(part):
        stream = _Stream(file, reading)
        start = stream.next_sign()
        if start == "[":
            stream.at += 1
            yield from _items(stream, part, reading)
        elif start == "{":
            yield from _documents(stream, part, reading)
        elif start:
            raise InvalidInput(f"{part.name} is not JSON: it starts with {start!r}.")


@contextlib.contextmanager
def _readable(part: Part) -> Iterator[None]:
    try:
        with explained(f"Reading {part.name}", "What came before stays."):
            yield
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InvalidInput(f"{part.name} is damaged in its zip: {error}.") from None


def _items(stream: _Stream, part: Part, reading: Reading) -> Iterator[Any]:
    number = 0
    while (sign := stream.next_sign()) != "]":
        number += 1
        try:
            if not sign:
                raise ValueError("no end")
            item = stream.value()
        except (ValueError, RecursionError):
            where = f"{part.name} from item {number} on"
            reading.leave(where, "the file breaks off or is damaged there")
            return
        yield item


def _documents(stream: _Stream, part: Part, reading: Reading) -> Iterator[Any]:
    first = stream.line()
    try:
        yield _DECODER.decode(first)
    except (ValueError, RecursionError):
        rest = stream.rest()
        try:
            yield _DECODER.decode(first + rest)
            return
        except (ValueError, RecursionError):
            reading.leave(f"{part.name} line 1", "it is not JSON, or breaks off")
            lines: Iterator[str] = iter(rest.splitlines())
    else:
        lines = stream.lines()
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        try:
            yield _DECODER.decode(line)
        except (ValueError, RecursionError):
            reading.leave(f"{part.name} line {number}", "it is not JSON")


_DECODER: Final = json.JSONDecoder(strict=False)  # line breaks in texts are forgiven


class _Stream:
    """JSON text of which only the part in hand is in memory."""

    def __init__(self, file: TextIO, reading: Reading) -> None:
        self.file = file
        self.reading = reading
        self.text = ""
        self.at = 0
        self.ended = False

    def more(self, step: int = _STEP) -> None:
        new = self.file.read(step)
        self.reading.at += len(new)
        self.ended = not new
        self.text = self.text[self.at :] + new
        self.at = 0

    def next_sign(self) -> str:
        """The next character that says something; empty at the end."""
        while True:
            while self.at < len(self.text):
                if (sign := self.text[self.at]) not in _BETWEEN:
                    return sign
                self.at += 1
            if self.ended:
                return ""
            self.more()

    def value(self) -> Any:
        """The value that starts here. Where it fails, more of the text may be what is missing."""
        step = _STEP
        while True:
            try:
                found, end = _DECODER.raw_decode(self.text, self.at)
                if end < len(self.text) or self.ended:
                    self.at = end
                    return found
            except (ValueError, RecursionError):
                if self.ended or len(self.text) - self.at > MOST_RECORD:
                    raise
            self.more(step)
            step = min(step * 2, MOST_RECORD)

    def line(self) -> str:
        while (end := self.text.find("\n", self.at)) < 0 and not self.ended:
            if len(self.text) - self.at > MOST_RECORD:
                raise InvalidInput(f"A line of more than {MOST_RECORD:,} characters is too long.")
            self.more()
        end = len(self.text) if end < 0 else end + 1
        line, self.at = self.text[self.at : end], end
        return line

    def lines(self) -> Iterator[str]:
        while line := self.line():
            yield line

    def rest(self) -> str:
        while not self.ended and len(self.text) - self.at <= MOST_RECORD:
            self.more(_STEP * 16)
        if not self.ended:
            raise InvalidInput(f"A document of more than {MOST_RECORD:,} characters is too long.")
        rest, self.at = self.text[self.at :], len(self.text)
        return rest


# --- SQLite ---------------------------------------------------------------------------------


def is_sqlite(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


@contextlib.contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """A database as it is, without leaving a trace beside it.

    Its owner may be running: then the log that SQLite keeps beside it is read too.
    """
    with contextlib.ExitStack() as stack:
        log = path.with_name(path.name + "-wal")
        mode = "mode=ro&immutable=1"
        if log.exists() and log.stat().st_size:
            mode = "mode=ro"
            if not path.with_name(path.name + "-shm").exists():
                path = _copied(path, stack.enter_context(tempfile.TemporaryDirectory()))
        db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=10)
        stack.callback(db.close)
        db.row_factory = sqlite3.Row
        db.text_factory = lambda raw: raw.decode(errors="replace")
        try:
            yield db
        except sqlite3.Error as error:
            raise InvalidInput(f"{path.name} cannot be read as a database: {error}.") from None


def _copied(path: Path, folder: str) -> Path:
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", os.path.join(folder, path.name + suffix))
    return Path(folder, path.name)


def rows(db: sqlite3.Connection, table: str, order: str) -> list[dict[str, Any]]:
    """All rows of a table; none when there is no such table."""
    known = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if known is None:
        return []
    return [dict(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}")]
