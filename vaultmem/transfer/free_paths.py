"""Where what is imported goes: folders as the vault spells them, and names that are free."""

from __future__ import annotations

import posixpath
import unicodedata

from vaultmem.notes import file_names
from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.operations.view import View
from vaultmem.storage.bulk import BulkWriter
from vaultmem.transfer.cleaning import UnfitRecord


class FreePaths:
    def __init__(self, view: View) -> None:
        self._view = view
        self.writer = BulkWriter(view.store)
        self._given: set[str] = set()  # names that were given in this run
        self._numbers: dict[str, int] = {}
        self._folders: dict[str, str] = {}

    def vault_folder(self, name: str) -> str:
        return self._free_folder_as_spelled(str(self._view.settings[f"folders.{name}"]).strip("/"))

    def memories_folder(self, project: str) -> str:
        folder = self.vault_folder("memories")
        return self._free_folder_as_spelled(f"{folder}/{safe_name(project)}") if project else folder

    def _free_folder_as_spelled(self, folder: str) -> str:
        if folder not in self._folders:
            self._folders[folder] = self.writer.folder_spelled_for_bulk(folder)
        return self._folders[folder]

    def free_path(
        self, folder: str, title: str, ending: str = ".md", *, whole_vault: bool = True
    ) -> str:
        """A path that no file has; a new note's name is free in the whole vault."""
        name = safe_name(title) if whole_vault else title
        counted = name_key(name if whole_vault else f"{folder}/{name}")
        while True:
            number = self._numbers[counted] = self._numbers.get(counted, 0) + 1
            suffix = "" if number == 1 else f" {number}"
            most = file_names.MOST_NAME_BYTES - len(suffix)
            found = file_names.cut_name(name, most).rstrip(" .") if suffix else name
            path = f"{folder}/{found}{suffix}{ending}".lstrip("/")
            key = name_key(found + suffix)
            elsewhere = whole_vault and self._view.index.lookup.paths_named(key)
            if elsewhere or name_key(path) in self._given or self.writer.is_taken_for_bulk(path):
                continue
            self._given.add(name_key(path))
            return path

    def another_path(self, path: str) -> str:
        """A free name for a file whose place was taken a moment ago."""
        folder, _, name = path.rpartition("/")
        stem, ending = posixpath.splitext(name)
        return self.free_path(folder, stem, ending, whole_vault=False)

    def import_target(self, path: str) -> str:
        """The place that a file asks for, in names that every machine can have."""
        segments = unicodedata.normalize("NFC", path).split("/")
        stem, ending = posixpath.splitext(segments.pop())
        named = [*segments, stem]
        if any(s.startswith(".") for s in named) or "" in named:
            self._view.store.paths.locate(path)  # says what is wrong with it
            raise UnfitRecord(f"{path} is not a plain path")
        *folders, name = (
            s if file_names.why_name_is_unsafe(s) is None else safe_name(s) for s in named
        )
        folder = self._free_folder_as_spelled("/".join(folders))
        place = f"{folder}/{name}{ending}" if folder else f"{name}{ending}"
        self._view.store.paths.locate(place)
        return place
