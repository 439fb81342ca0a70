"""What notes were before an agent changed them: the old bytes, kept on this machine.

Plain files, one folder for each note, so that nothing more than a file manager is needed
to get a text back. A snapshot is on disk before the note itself is touched.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from vaultmem import durable
from vaultmem.errors import NotFound
from vaultmem.note import Note, version

KEPT: Final = 50  # snapshots of one note
MOST_WRITTEN: Final = 1_000_000  # bytes about writes that nobody committed
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
class Commit:
    """One version of a note in the history of git."""

    commit: str
    when: dt.datetime
    author: str
    subject: str
    path: str
    raw: bytes
    action: str = "commit"

    @property
    def version(self) -> str:
        return version(self.raw)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a note was when it was last written, and where in the trash it went."""

    path: str
    trashed: str = ""
    dropped: int = 0  # snapshots that were too many to keep


@dataclass(frozen=True, slots=True)
class Write:
    """One write by vaultmem: of which note, what for, and for whom. Git commits say so."""

    path: str
    version: str  # what it made; empty when the note went to the trash
    action: str
    id: str = ""
    client: str = ""


class History:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writes = folder.parent / "written.jsonl"

    def take(self, note: Note, action: str) -> None:
        """Keep the note's bytes, unless they are the last ones kept already."""
        kept = self.snapshots(key_of(note))
        if kept and kept[0].version == version(note.raw) and kept[0].action == action:
            return
        folder = self.folder / key_of(note)
        stamp = dt.datetime.now(dt.UTC).strftime(_STAMP)
        with durable.explained(f"Keeping the old text of {note.path}"):
            durable.create(folder / f"{stamp} {action} {version(note.raw)}.md", note.raw)
            dropped = self._dropped(folder.name) + len(kept[KEPT - 1 :])
            self._write_place(folder, Place(note.path, dropped=dropped))
            for old in kept[KEPT - 1 :]:
                old.file.unlink(missing_ok=True)

    def wrote(self, write: Write) -> None:
        """Keep in mind who wrote; a note that cannot be kept in mind is a person's for git."""
        line = json.dumps(asdict(write)).encode() + b"\n"
        with contextlib.suppress(OSError), open(self._writes, "ab", buffering=0) as file:
            file.write(line)
            if file.tell() > MOST_WRITTEN:
                self.keep_writes(self.writes()[-1000:])

    def writes(self) -> list[Write]:
        """The writes since they were last committed, oldest first."""
        found = []
        with contextlib.suppress(OSError):
            for line in self._writes.read_bytes().splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    found.append(Write(**json.loads(line)))
        return found

    def keep_writes(self, writes: list[Write]) -> None:
        lines = b"".join(json.dumps(asdict(write)).encode() + b"\n" for write in writes)
        beside = self._writes.with_suffix(".tmp")
        with contextlib.suppress(OSError):
            beside.write_bytes(lines)
            os.replace(beside, self._writes)

    def trashed(self, note: Note, place: str) -> None:
        dropped = self._dropped(key_of(note))
        self._write_place(self.folder / key_of(note), Place(note.path, place, dropped))

    def count(self, key: str) -> int:
        """How often the note was changed by an agent, counting snapshots no longer kept."""
        return len(self.snapshots(key)) + self._dropped(key)

    def _dropped(self, key: str) -> int:
        place = self.place(key)
        return place.dropped if place else 0

    def _write_place(self, folder: Path, place: Place) -> None:
        file = folder / "place.txt"
        text = f"{place.path}\n{place.trashed}\n" + (f"{place.dropped}\n" if place.dropped else "")
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
        path, trashed, dropped = (*lines, "", "", "")[:3]
        return Place(path, trashed, int(dropped) if dropped.isdigit() else 0) if lines else None

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
