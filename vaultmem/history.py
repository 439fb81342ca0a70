"""What notes were before an agent changed them: the old bytes, kept on this machine.

Plain files, one folder for each note, so that nothing more than a file manager is needed
to get a text back. A snapshot is on disk before the note itself is touched.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem import durable
from vaultmem.errors import NotFound
from vaultmem.note import Note, version

KEPT: Final = 50  # snapshots of one note
_NAME: Final = re.compile(r"(\d{8}T\d{12}) ([a-z-]+) ([0-9a-f]{20})\.md\Z")
_STAMP: Final = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True, slots=True)
class Snapshot:
    version: str
    taken_at: dt.datetime
    action: str  # what was about to be done
    file: Path

    @property
    def raw(self) -> bytes:
        return self.file.read_bytes()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a note was when it was last written, and where in the trash it went."""

    path: str
    trashed: str = ""


class History:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, note: Note, action: str) -> None:
        """Keep the note's bytes, unless they are the last ones kept already."""
        kept = self.snapshots(key_of(note))
        if kept and kept[0].version == version(note.raw) and kept[0].action == action:
            return
        folder = self.folder / key_of(note)
        stamp = dt.datetime.now(dt.UTC).strftime(_STAMP)
        with durable.explained(f"Keeping the old text of {note.path}"):
            durable.create(folder / f"{stamp} {action} {version(note.raw)}.md", note.raw)
            self._write_place(folder, Place(note.path))
            for old in kept[KEPT - 1 :]:
                old.file.unlink(missing_ok=True)

    def trashed(self, note: Note, place: str) -> None:
        self._write_place(self.folder / key_of(note), Place(note.path, place))

    def _write_place(self, folder: Path, place: Place) -> None:
        file = folder / "place.txt"
        text = f"{place.path}\n{place.trashed}\n"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")

    def snapshots(self, key: str) -> list[Snapshot]:
        """Of one note, newest first."""
        found = []
        for file in _files(self.folder / key):
            if match := _NAME.match(file.name):
                taken = dt.datetime.strptime(match[1], _STAMP).replace(tzinfo=dt.UTC)
                found.append(Snapshot(match[3], taken, match[2], file))
        return sorted(found, key=lambda snapshot: snapshot.file.name, reverse=True)

    def snapshot(self, key: str, wanted: str) -> Snapshot:
        for found in self.snapshots(key):
            if len(wanted) >= 4 and found.version.startswith(wanted.lower()):
                return found
        raise NotFound(
            f"There is no version {wanted!r} of this memory; its history lists the ones there are."
        )

    def place(self, key: str) -> Place | None:
        try:
            lines = (self.folder / key / "place.txt").read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        return Place(lines[0], lines[1] if len(lines) > 1 else "") if lines else None

    def notes(self) -> list[str]:
        return [folder.name for folder in _files(self.folder)]


def key_of(note: Note) -> str:
    """The folder of a note's snapshots: its id, or for a note without one its path."""
    if re.fullmatch(r"[0-9A-Za-z]{26}", note.id):
        return note.id.upper()
    return "path-" + hashlib.blake2b(note.path.encode(errors="replace"), digest_size=10).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder.iterdir())
    except OSError:
        return
