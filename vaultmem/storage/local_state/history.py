"""What notes were before an agent changed them: the old bytes, kept on this machine.

Plain files, one folder for each note, so that nothing more than a file manager is needed
to get a text back. A snapshot is on disk before the note itself is touched.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.base import durable
from vaultmem.base.own_path import OwnPath
from vaultmem.notes.note import Note, note_version, one_line

SNAPSHOTS_KEPT: Final = 50  # snapshots of one note
EMPTIED_TRASH: Final = ".trash/"  # where a note went that is in no trash any more
MOST_WRITTEN: Final = 1_000_000  # bytes about writes that nobody committed
_NAME: Final = re.compile(r"(\d{8}T\d{12}) ([a-z-]+) ([0-9a-f]{20})\.md\Z")
_STAMP: Final = "%Y%m%dT%H%M%S%f"
_TICK: Final = dt.timedelta(microseconds=1)
_PLACE: Final = "place.txt"


class Snapshot(NamedTuple):
    version: str
    taken_at: dt.datetime
    action: str  # what was about to be done
    file: OwnPath
    size: int

    @property
    def raw(self) -> bytes:
        return self.file.read()


class GitVersion(NamedTuple):
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
        return note_version(self.raw)


class LastPlace(NamedTuple):
    """Where a note was when it was last written, and where in the trash it went."""

    path: str
    trashed: str = ""
    dropped: int = 0  # snapshots that were too many to keep


class WriteRecord(NamedTuple):
    """One write by vaultmem: of which note, what for, and for whom. Git commits say so."""

    path: str
    version: str  # what it made; empty when the note went to the trash
    action: str
    id: str = ""
    client: str = ""


class History:
    def __init__(self, folder: Path | OwnPath) -> None:
        self.folder = OwnPath.of(folder)
        self._writes = self.folder.parent / "written.jsonl"

    def take(self, note: Note, action: str) -> None:
        """Keep the note's bytes, unless they are the last ones kept already."""
        kept = self.snapshots(history_key(note))
        if kept and kept[0].version == note_version(note.raw) and kept[0].action == action:
            return
        folder = self.folder / history_key(note)
        with durable.disk_errors_explained(f"Keeping the old text of {note.path}"):
            name = f"{_next_snapshot_stamp(kept)} {action} {note_version(note.raw)}.md"
            (folder / name).create(note.raw)
            dropped = self._snapshots_dropped_from_history(folder.name) + len(
                kept[SNAPSHOTS_KEPT - 1 :]
            )
            self._write_last_place_in_history(folder, LastPlace(note.path, dropped=dropped))
            for old in kept[SNAPSHOTS_KEPT - 1 :]:
                old.file.remove()

    def wrote(self, write: WriteRecord) -> None:
        """Keep in mind who wrote; a note that cannot be kept in mind is a person's for git."""
        line = json.dumps(write._asdict()).encode() + b"\n"
        with contextlib.suppress(OSError):
            if self._writes.append(line) > MOST_WRITTEN:
                self.keep_writes(self.writes()[-1000:])

    def writes(self) -> list[WriteRecord]:
        """The writes since they were last committed, oldest first."""
        found = []
        with contextlib.suppress(OSError):
            for line in self._writes.read().splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    found.append(WriteRecord(**json.loads(line)))
        return found

    def keep_writes(self, writes: list[WriteRecord]) -> None:
        lines = b"".join(json.dumps(write._asdict()).encode() + b"\n" for write in writes)
        with contextlib.suppress(OSError):
            self._writes.write(lines)

    def expect_no_more(self, paths: Collection[str]) -> None:
        """These notes were deleted by a person, who says so: as if their trash had been emptied."""
        if paths:
            self.keep_writes([write for write in self.writes() if write.path not in paths])
        for key in self.notes() if paths else ():
            place = self.last_place_in_history(key)
            if place and place.path in paths:
                self._write_last_place_in_history(
                    self.folder / key, place._replace(trashed=EMPTIED_TRASH)
                )

    def renamed(self, before: Note, after: Note) -> None:
        """The texts of a note without an id, which go by its path, go along with it."""
        old, new = self.folder / history_key(before), self.folder / history_key(after)
        for name, _ in old.files():
            if _NAME.match(name) and (new / name).stat() is None:
                (new / name).create((old / name).read())
        if new.is_folder():
            dropped = self._snapshots_dropped_from_history(old.name)
            self._write_last_place_in_history(new, LastPlace(after.path, dropped=dropped))
            old.remove_tree()

    def trashed(self, note: Note, place: str) -> None:
        dropped = self._snapshots_dropped_from_history(history_key(note))
        self._write_last_place_in_history(
            self.folder / history_key(note), LastPlace(note.path, place, dropped)
        )

    def count_in_history(self, key: str) -> int:
        """How often the note was changed by an agent, counting snapshots no longer kept."""
        return len(self.snapshots(key)) + self._snapshots_dropped_from_history(key)

    def _snapshots_dropped_from_history(self, key: str) -> int:
        place = self.last_place_in_history(key)
        return place.dropped if place else 0

    def _write_last_place_in_history(self, folder: OwnPath, place: LastPlace) -> None:
        names = f"{_quoted_path_in_history(place.path)}\n{_quoted_path_in_history(place.trashed)}\n"
        text = names + (f"{place.dropped}\n" if place.dropped else "")
        raw, file = text.encode("utf-8", "surrogateescape"), folder / _PLACE
        if file.stat() is None or file.read() != raw:
            file.write(raw)

    def snapshots(self, key: str) -> list[Snapshot]:
        """Of one note, newest first."""
        found = []
        folder = self.folder / key
        for name, stat in folder.files():
            match = _NAME.match(name)
            if match and (taken := _snapshot_moment(match[1])):
                found.append(Snapshot(match[3], taken, match[2], folder / name, stat.st_size))
        return found[::-1]

    def last_place_in_history(self, key: str) -> LastPlace | None:
        try:
            raw = (self.folder / key / _PLACE).read()
        except OSError:
            return None
        lines = raw.decode("utf-8", "surrogateescape").splitlines()
        path, trashed, dropped = (*lines, "", "", "")[:3]
        count = int(dropped) if dropped.isdigit() else 0
        return (
            LastPlace(_unquoted_path_in_history(path), _unquoted_path_in_history(trashed), count)
            if lines
            else None
        )

    def notes(self) -> list[str]:
        return [folder.name for folder in self.folder.folders()]


def _quoted_path_in_history(path: str) -> str:
    """On one line, whatever a file is called."""
    return path if one_line(path) == path and not path.startswith('"') else json.dumps(path)


def _unquoted_path_in_history(line: str) -> str:
    if not line.startswith('"'):
        return line
    with contextlib.suppress(ValueError):
        return str(json.loads(line))
    return line


def history_key(note: Note) -> str:
    """The folder of a note's snapshots: its id, or for a note without one its path."""
    if re.fullmatch(r"[0-9A-Za-z]{26}", note.id):
        return note.id.upper()
    return "path-" + hashlib.blake2b(note.path.encode(errors="replace"), digest_size=10).hexdigest()


def _snapshot_moment(stamp: str) -> dt.datetime | None:
    try:
        return dt.datetime.strptime(stamp, _STAMP).replace(tzinfo=dt.UTC)
    except ValueError:
        return None


def _next_snapshot_stamp(kept: Sequence[Snapshot]) -> str:
    """Behind the last one, whatever the clock says: it may have been set back since."""
    now = dt.datetime.now(dt.UTC)
    with contextlib.suppress(OverflowError):
        now = max([now, *(snapshot.taken_at + _TICK for snapshot in kept[:1])])
    return now.strftime(_STAMP)
