"""JSON of other systems, of which only the part in hand is in memory: lists, lines, documents."""

from __future__ import annotations

import contextlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, TextIO

from vaultmem.base.durable import disk_errors_explained
from vaultmem.errors import InvalidInput
from vaultmem.transfer.sources.opening import (
    MOST_DOCUMENT,
    MOST_RECORD,
    OpenedExport,
    Part,
    export_parts,
)

_STEP, _LARGEST_STEP = 1 << 20, 1 << 23
_SIGN: Final = re.compile(r"[^ \t\r\n,]")
_DECODER: Final = json.JSONDecoder(strict=False)  # line breaks in texts are forgiven


def export_items(reading: OpenedExport, names: str) -> Iterator[tuple[int, Any]]:
    """What the files of an export with these names hold, each with its number in its file."""
    found = export_parts(reading.path, names)
    reading.size += sum(part.size for part in found)
    for part in found:
        yield from enumerate(json_values(part, reading), 1)


def json_values(part: Part, reading: OpenedExport) -> Iterator[Any]:
    """The items of a top-level list; else the document itself, or one of each line.

    What cannot be read is left aloud: a line alone, or in a list all from there on.
    """
    with part.open() as file, _readable_json(part):
        stream = _JsonStream(file, reading)
        start = stream.next_json_sign()
        if start == "[":
            stream.at += 1
            yield from _json_array_items(stream, part, reading)
        elif start == "{":
            yield from _json_documents(stream, part, reading)
        elif start:
            raise InvalidInput(f"{part.name} is not JSON: it starts with {start!r}.")


def json_lines(
    part: Part, reading: OpenedExport, wanted: re.Pattern[str]
) -> Iterator[Mapping[str, Any]]:
    """The objects of lines that have what is wanted in them; of others only the ends are looked
    at. A line that is none is left aloud."""
    with part.open() as file, _readable_json(part):
        stream = _JsonStream(file, reading)
        for number, line in enumerate(iter(stream.next_json_line, ""), 1):
            if line is not None and not line.strip():
                continue
            found, why = (None, _TOO_LONG) if line is None else _json_object(line, wanted)
            if why:
                reading.leave(f"{part.name} line {number}", why)
            elif found is not None:
                yield found


def _json_object(line: str, wanted: re.Pattern[str]) -> tuple[Mapping[str, Any] | None, str]:
    """What it holds, None where nobody asks for it; and why it cannot be read."""
    if not wanted.search(line):
        whole = line.lstrip().startswith("{") and line.rstrip().endswith("}")
        return None, "" if whole else "it is not JSON, or breaks off"
    try:
        found = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        return None, _json_reason(error, "it is not JSON, or breaks off")
    return (found, "") if isinstance(found, dict) else (None, "it is no object")


@contextlib.contextmanager
def _readable_json(part: Part) -> Iterator[None]:
    try:
        with disk_errors_explained(f"Reading {part.name}", "What came before stays."):
            yield
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InvalidInput(f"{part.name} is damaged in its zip: {error}.") from None


def _json_array_items(stream: _JsonStream, part: Part, reading: OpenedExport) -> Iterator[Any]:
    number = 0
    while (sign := stream.next_json_sign()) != "]":
        number += 1
        try:
            if not sign:
                raise ValueError("no end")
            item = stream.next_json_value()
        except (ValueError, RecursionError) as error:
            where = f"{part.name} from item {number} on"
            reading.leave(where, _json_reason(error, "the file breaks off or is damaged there"))
            return
        yield item


def _json_documents(stream: _JsonStream, part: Part, reading: OpenedExport) -> Iterator[Any]:
    """A document may be printed on many lines; where it is none, each line is one."""
    first = stream.next_json_line()
    try:
        yield _DECODER.decode(first or "")
    except (ValueError, RecursionError) as broken:
        rest = stream.rest_of_stream() if first is not None else None
        if rest is not None:
            with contextlib.suppress(ValueError, RecursionError):
                yield _DECODER.decode(f"{first}{rest}")
                return
            stream.text, stream.at = rest + stream.text[stream.at :], 0
        why = _json_reason(broken, "it is not JSON, or breaks off")
        reading.leave(f"{part.name} line 1", _TOO_LONG if first is None else why)
    for number, line in enumerate(iter(stream.next_json_line, ""), 2):
        if line is None:
            reading.leave(f"{part.name} line {number}", _TOO_LONG)
        elif line.strip():
            try:
                yield _DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                reading.leave(f"{part.name} line {number}", _json_reason(error, "it is not JSON"))


_TOO_LONG: Final = f"it has more than {MOST_RECORD:,} characters"


def _json_reason(error: Exception, usual: str) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else usual


class _JsonStream:
    def __init__(self, file: TextIO, reading: OpenedExport) -> None:
        self.file = file
        self.reading = reading
        self.text = ""
        self.at = 0
        self.ended = False

    def read_more_json(self, step: int = _STEP) -> None:
        new = self.file.read(step)
        self.reading.at += len(new)
        self.ended = not new
        self.text = self.text[self.at :] + new
        self.at = 0

    def next_json_sign(self) -> str:
        """The next character that says something; empty at the end."""
        while (found := _SIGN.search(self.text, self.at)) is None:
            self.at = len(self.text)
            if self.ended:
                return ""
            self.read_more_json()
        self.at = found.start()
        return found[0]

    def next_json_value(self) -> Any:
        """The value that starts here. Where it fails, more of the text may be what is missing."""
        step = _STEP
        while True:
            try:
                found, end = _DECODER.raw_decode(self.text, self.at)
                if end < len(self.text) or self.ended:
                    self.at = end
                    return found
            except ValueError:
                if self.ended or self.characters_left > MOST_RECORD:
                    raise
            self.read_more_json(step)
            step = min(step * 2, _LARGEST_STEP)

    @property
    def characters_left(self) -> int:
        return len(self.text) - self.at

    def next_json_line(self) -> str | None:
        """The next line with its end, empty behind the last; None for one that is too long."""
        step, seen, whole = _STEP, self.at, True
        while (end := self.text.find("\n", seen)) < 0 and not self.ended:
            if self.characters_left > MOST_RECORD:
                whole, self.at = False, len(self.text)
            seen = self.characters_left
            self.read_more_json(step)
            step = min(step * 2, _LARGEST_STEP)
        end = len(self.text) if end < 0 else end + 1
        line, self.at = self.text[self.at : end], end
        return line if whole else None

    def rest_of_stream(self) -> str | None:
        """All that is left; None, and nothing is taken, where that is too much."""
        while not self.ended and self.characters_left <= MOST_DOCUMENT:
            self.read_more_json(_LARGEST_STEP)
        if self.characters_left > MOST_DOCUMENT:
            return None
        rest, self.at = self.text[self.at :], len(self.text)
        return rest
