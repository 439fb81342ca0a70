"""Writes that wait on local disk in the order in which they came, each in a file of its own.

An entry is on disk once `append` returns, and stays until somebody takes it away. So neither a
kill nor several processes at once lose one, or swap two.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vaultmem.base import durable, lock
from vaultmem.errors import StorageFull

_ENTRY: Final = re.compile(r"\d{12}\.json")
_ASIDE: Final = "refused"
_WAIT_SECONDS: Final = 10.0


class WriteQueue:
    def __init__(self, folder: Path, most: int, most_bytes: int) -> None:
        self.folder = folder
        self._most, self._most_bytes = most, most_bytes

    def append(self, entry: Mapping[str, Any]) -> int:
        """Returns how many wait now."""
        data = json.dumps(entry, ensure_ascii=False).encode(errors="replace")
        with durable.disk_errors_explained("Writing to the queue"):
            self._make_folder()
            with lock.locked(self.folder / "append.lock", timeout=_WAIT_SECONDS, what="queueing"):
                waiting = self._entry_files()
                size = sum(file.stat().st_size for file in waiting if file.exists())
                if len(waiting) >= self._most or size + len(data) > self._most_bytes:
                    raise StorageFull(
                        f"{len(waiting):,} entries with {size:,} bytes wait in {self.folder}, and "
                        f"it holds {self._most:,} or {self._most_bytes:,} bytes at most."
                    )
                last = int(waiting[-1].stem) if waiting else 0
                durable.create_durably(self.folder / f"{last + 1:012}.json", data)
                return len(waiting) + 1

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            durable.make_folders(self.folder)
            self.folder.chmod(0o700)  # what waits is as private as what it is for

    def __len__(self) -> int:
        return len(self._entry_files())

    def _entry_files(self) -> list[Path]:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return sorted(self.folder / name for name in names if _ENTRY.fullmatch(name))

    def entries(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """First in, first out; those that came meanwhile as well."""
        seen: set[Path] = set()
        while new := [file for file in self._entry_files() if file not in seen]:
            for file in new:
                seen.add(file)
                with contextlib.suppress(FileNotFoundError, ValueError):
                    entry = json.loads(file.read_bytes())
                    if isinstance(entry, dict):
                        yield file, entry

    def remove(self, file: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            file.unlink()

    def set_aside(self, file: Path, entry: Mapping[str, Any]) -> Path:
        """Out of the others' way, with what `entry` says about it by then; nothing is thrown
        away."""
        folder = self.folder / _ASIDE
        durable.make_folders(folder)
        number = 1 + max((int(each.stem) for each in folder.glob("*.json")), default=0)
        aside = folder / f"{number:012}.json"
        durable.create_durably(aside, json.dumps(entry, ensure_ascii=False, indent=1).encode())
        self.remove(file)
        return aside

    def count_set_aside(self) -> int:
        return len(list((self.folder / _ASIDE).glob("*.json")))

    def try_to_work(self) -> lock.HeldLock | None:
        """For who works the entries off: one process at a time; None while another one does."""
        self._make_folder()
        return lock.try_to_lock(self.folder / "work.lock")
