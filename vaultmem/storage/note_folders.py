"""Folders of notes: what lies in one, making one, and removing one that is empty."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaultmem.base import durable
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.notes import file_names

if TYPE_CHECKING:
    from pathlib import Path

    from vaultmem.storage.store import Store


@dataclass(frozen=True, slots=True)
class FolderEntry:
    name: str
    is_folder: bool
    size: int


class NoteFolders:
    def __init__(self, store: Store) -> None:
        self._store = store

    def entry(self, path: str) -> FolderEntry | None:
        """A file or a folder; None for what is neither, as a link, or is not there."""
        with contextlib.suppress(OSError, VaultmemError):
            file = self._store.paths.locate(path)
            return _as_entry(file.name, os.lstat(file))
        return None

    def entries(self, path: str) -> list[FolderEntry]:
        """What lies in a folder, hidden things and links left out."""
        return list(self._entries_in(self._store.paths.locate(path)))

    def _entries_in(self, folder: Path) -> Iterator[FolderEntry]:
        with contextlib.suppress(OSError), os.scandir(folder) as found:
            for each in found:
                entry = _as_entry(each.name, each.stat(follow_symlinks=False))
                if entry and not each.name.startswith("."):
                    yield entry

    def make(self, path: str) -> None:
        paths = self._store.paths
        self._store.require_writable()
        paths.require_changeable(path)
        folder = paths.locate(path)
        for segment in path.split("/"):
            reason = file_names.why_name_is_unsafe(segment)
            if reason or not file_names.is_new_name(segment):
                raise InvalidInput(f"{path} is not a good name: {reason or 'it is too long'}.")
        with self._store.writing(), durable.disk_errors_explained(f"Making {path}"):
            paths.refuse_clash(path, folder)
            durable.make_folders(folder, self._store.root)

    def remove_empty(self, path: str) -> None:
        """One that something came into meanwhile stays."""
        self._store.require_writable()
        self._store.paths.require_changeable(path)
        folder = self._store.paths.locate(path)
        with self._store.writing(), contextlib.suppress(OSError):
            folder.rmdir()
            durable.flush_folder(folder.parent)


def _as_entry(name: str, found: os.stat_result) -> FolderEntry | None:
    if stat.S_ISDIR(found.st_mode):
        return FolderEntry(name, True, found.st_size)
    return FolderEntry(name, False, found.st_size) if stat.S_ISREG(found.st_mode) else None
