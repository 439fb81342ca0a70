"""Many new files at once. The store makes one note and flushes it; thousands would take minutes.

Here the files of a batch are written and flushed side by side under temporary names, then each
is put in its place, and the folders are flushed once. Killed at any moment, this leaves whole
notes, and temporaries that nobody takes for notes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from vaultmem.base import durable
from vaultmem.notes.file_names import name_key
from vaultmem.storage.store import Store

_SIDE_BY_SIDE: Final = 16


class BulkWriter:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._listed: dict[str, dict[str, str]] = {}  # since files were last placed

    def folder_spelled_for_bulk(self, folder: str) -> str:
        """The folder as the vault spells it: `Memories/atlas` is `Memories/Atlas` where that is."""
        place, found = self.store.root, []
        for segment in filter(None, folder.split("/")):
            known = _names_in_folder_for_bulk(place).get(name_key(segment), segment)
            found.append(known)
            place /= known
        return "/".join(found)

    def is_taken_for_bulk(self, path: str) -> bool:
        """Whether a file has this name, also in another case."""
        folder, _, name = path.rpartition("/")
        if folder not in self._listed:
            self._listed[folder] = _names_in_folder_for_bulk(self.store.root / folder)
        return name_key(name) in self._listed[folder]

    def place(self, files: Sequence[tuple[str, bytes]]) -> list[str]:
        """Make those files whose names are free; returns their paths."""
        self._listed.clear()
        with (
            self.store.writing(),
            durable.disk_errors_explained("Importing", "What came before stays."),
        ):
            places = self._files_free_for_bulk(files)
            for folder in dict.fromkeys(file.parent for _, file, _ in places):
                durable.make_folders(folder, self.store.root)
            with contextlib.ExitStack() as stack:

                def write(place: tuple[str, Path, bytes]) -> str:
                    made = durable.temporary_file(place[1].parent, place[2], 0o666)
                    return stack.enter_context(made)

                with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
                    temporaries = list(pool.map(write, places))
                done = [
                    path
                    for temporary, (path, file, _) in zip(temporaries, places, strict=True)
                    if _place_in_bulk_if_free(temporary, file)
                ]
            for folder in dict.fromkeys(file.parent for _, file, _ in places):
                durable.flush_folder(folder)
        return done

    def _files_free_for_bulk(
        self, files: Sequence[tuple[str, bytes]]
    ) -> list[tuple[str, Path, bytes]]:
        taken: dict[Path, dict[str, str]] = {}
        free = []
        for path, raw in files:
            file = self.store.paths.locate(path)
            if file.parent not in taken:
                taken[file.parent] = _names_in_folder_for_bulk(file.parent)
            key = name_key(file.name)
            if key not in taken[file.parent]:
                taken[file.parent][key] = file.name
                free.append((path, file, raw))
        return free


def _names_in_folder_for_bulk(folder: Path) -> dict[str, str]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return {name_key(name): name for name in os.listdir(folder)}
    return {}


def _place_in_bulk_if_free(temporary: str, file: Path) -> bool:
    try:
        durable.place_new_file(temporary, file)
    except FileExistsError:
        return False
    return True
