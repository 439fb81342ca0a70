"""What every file of the index looked like when its last writer was done.

Only writers change these files, one at a time. Each breaks the seal when it begins and sets it
when it is done. A file that looks otherwise although nobody writes was changed by somebody else:
deleted, cut, overwritten, put back from a backup. Such a file is not opened: an engine that maps
it may die of it, or find less than there is without noticing. Where there is no seal, a writer is
at work or was killed, and the files are what it leaves; but a segment never changes, so whoever
knew it goes on knowing how it must look.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError
from vaultmem.index.embedded.text.fulltext_files import is_segment_file

log = logging.getLogger("vaultmem")

SEAL_FILE: Final = "seal.json"
UNSEALED: Final = -1
_ALARMS, _ALARM_SECONDS = 20, 600.0
_TIMES_ARE_PROMPT: Final = sys.platform != "win32"  # there a time follows when a file is closed


class SealedFile(NamedTuple):
    size: int
    mtime_ns: int


def look_at_sealed_file(path: str | Path) -> SealedFile:
    """A file that is not there looks like an empty one: SQLite makes and removes its log."""
    try:
        found = os.stat(path)
    except OSError:
        return SealedFile(0, 0)
    return SealedFile(found.st_size, found.st_mtime_ns if found.st_size else 0)


class Seal:
    def __init__(self, folder: OwnPath) -> None:
        self.folder = folder.path
        self.place = folder / SEAL_FILE
        self.exact = _TIMES_ARE_PROMPT  # False: sizes alone are compared
        self.revision = UNSEALED
        self._looks: dict[str, SealedFile] = {}
        self._alarms: list[float] = []

    def load_seal(self) -> None:
        """Take up what the last writer left; where it was killed, of what was known before only
        what never changes. Other threads look meanwhile, so nothing is forgotten in between."""
        looks, revision = self._read_seal() or (_lasting_sealed_files(self._looks), UNSEALED)
        self._looks, self.revision = looks, revision

    def _read_seal(self) -> tuple[dict[str, SealedFile], int] | None:
        wrong = (ValueError, TypeError, KeyError, AttributeError)
        with contextlib.suppress(OSError, VaultmemError, *wrong):
            content = json.loads(self.place.read())
            looks = {
                str(name): SealedFile(int(s), int(t)) for name, (s, t) in content["files"].items()
            }
            return looks, int(content["revision"])
        return None

    @property
    def is_known(self) -> bool:
        return self.revision != UNSEALED

    def changed_since_seal(self, *, sizes: bool = False) -> list[str]:
        """The files that do not look as they were left, or do not have the size."""
        times, stat, top = self.exact and not sizes, os.stat, f"{self.folder}{os.sep}"
        sealed, found = self.is_known, []
        for name, (size, mtime_ns) in self._looks.items():  # before every question: no detours
            try:
                now = stat(top + name)
            except OSError:
                if size and sealed:  # else a writer may have joined it to others
                    found.append(name)
                continue
            if now.st_size != size or (times and size and now.st_mtime_ns != mtime_ns):
                found.append(name)
        return found

    def is_under_seal(self, name: str) -> bool:
        return look_at_sealed_file(self.folder / name).size > 0

    def was_seal_broken(self, before: Mapping[str, SealedFile], lasting: str) -> bool:
        """Whether one of these files, which no batch changes, is another one than before. All but
        the lasting one may be gone: a batch joins them to others."""
        for name, left in before.items():
            now = look_at_sealed_file(self.folder / name)
            gone = now.size == 0 and name != lasting
            if not gone and (now != left if self.exact else now.size != left.size):
                return True
        return False

    def is_broken_seal_alarming(self) -> bool:
        """A seal that does not hold means damage; but where it does not hold again and again, it
        is the file system that has another idea of time, and sizes must do."""
        from vaultmem.storage.drives import network_drive

        if self.changed_since_seal(sizes=True):
            return True
        now = time.monotonic()
        self._alarms = [*(then for then in self._alarms if now - then < _ALARM_SECONDS), now]
        if len(self._alarms) <= _ALARMS and not network_drive(str(self.folder)):
            return True
        log.warning("the times of files in %s cannot be relied on", self.folder)
        self.exact = False
        return False

    def is_there(self) -> bool:
        return self.place.path.exists()

    def open_seal(self) -> dict[str, SealedFile]:
        """A writer begins: returns what was there before."""
        before = self._looks
        self.place.remove()
        return before

    def set_seal(self, names: Iterable[str], revision: int) -> None:
        """A writer is done. What it found and cannot have changed is sealed as it was found, so
        that damage done meanwhile is none of its work. A full disk leaves no seal, which is as
        good as a killed writer."""
        top, before = f"{self.folder}{os.sep}", _lasting_sealed_files(self._looks)
        looks = {name: before.get(name) or look_at_sealed_file(top + name) for name in names}
        self._looks, self.revision = looks, revision
        content = {"revision": revision, "files": looks}
        with contextlib.suppress(OSError, VaultmemError):
            self.place.write(json.dumps(content).encode())


def _lasting_sealed_files(looks: Mapping[str, SealedFile]) -> dict[str, SealedFile]:
    return {name: look for name, look in looks.items() if is_segment_file(name)}
