"""One look at a vault: what is there, and what could not be looked at or is no note."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.base import durable
from vaultmem.base.file_stamps import FileStamp, file_stamp
from vaultmem.base.own_path import OwnPath
from vaultmem.notes import file_names
from vaultmem.notes.note import Note


class NotANote(NamedTuple):
    """Why something that is named like a note is none, and what to do about it."""

    reason: str
    cure: str


_NOT_UNICODE: Final = NotANote("Its name is not UTF-8, so it is not read.", "Rename it.")
_IN_NOT_UNICODE: Final = NotANote(
    "The name of this folder is not UTF-8, so no note in it is read.", "Rename it."
)
_ABSOLUTE: Final = NotANote(
    "Its name looks like a path that begins at a drive, so it is not read.", "Rename it."
)
_NO_FILE: Final = NotANote(
    "It is a pipe, a socket or a device, not a file.",
    "Move it out of the vault, or give it another ending.",
)
_LINK: Final = NotANote(
    "It is a link to another place, which is not followed.",
    "Move the file itself into the vault.",
)


@dataclass(slots=True)
class Listing:
    """What could not be looked at is said, never taken for gone."""

    notes: dict[str, FileStamp] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)  # everything a link can point at
    unread: list[tuple[str, str]] = field(default_factory=list)  # folder or file, reason
    refused: dict[str, NotANote] = field(default_factory=dict)  # what is only named like a note
    symlinks: list[str] = field(default_factory=list)
    temporaries: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # what could be notes, and is not to be

    def sort_in(
        self, folder: str, found: list[os.DirEntry[str]], is_memory: Callable[[str], bool]
    ) -> Iterator[str]:
        """File the entries of one folder; yields the folders below it."""
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                if durable.is_temporary_name(entry.name):
                    self.temporaries.append(path)
                continue
            try:
                if entry.is_symlink():
                    self.symlinks.append(path)
                    if is_memory(path):
                        self.refused[file_names.escaped_name(path)] = _LINK
                elif entry.is_dir(follow_symlinks=False):
                    yield path
                else:
                    self.files.append(path)
                    if not is_memory(path):
                        self.left_out += [path] * file_names.is_readable_name(path)
                    elif not self.refuses(path, entry):
                        self.notes[path] = file_stamp(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue
            except OSError as error:
                self.unread.append((path, error.strerror or str(error)))

    def refuses(self, path: str, entry: os.DirEntry[str]) -> bool:
        """Whether no note can be made of this; a folder with a bad name is told once."""
        if not file_names.is_unicode_name(path):
            self._refuse_to_list_name(path.split("/"))
            return True
        if file_names.looks_like_absolute_path(path):
            self.refused[path] = _ABSOLUTE
        elif not entry.is_file(follow_symlinks=False):
            self.refused[path] = _NO_FILE
        return path in self.refused

    def _refuse_to_list_name(self, parts: list[str]) -> None:
        bad = next(i for i, part in enumerate(parts, 1) if not file_names.is_unicode_name(part))
        place = file_names.escaped_name("/".join(parts[:bad]))
        self.refused[place] = _NOT_UNICODE if bad == len(parts) else _IN_NOT_UNICODE


def vault_listing(root: Path, is_memory: Callable[[str], bool]) -> Listing:
    """All folders of the vault, but for hidden ones."""
    listing = Listing()
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            listing.unread.append((folder, error.strerror or str(error)))
            continue
        folders += reversed(list(listing.sort_in(folder, found, is_memory)))
    return listing


def original_of_copies(same: list[Note], listing: Listing) -> Note:
    """Of notes with one id: the one not named like a copy, else the one longest untouched."""

    def rank(note: Note) -> tuple[int, int, str]:
        saved = listing.notes[note.path].mtime_ns
        return file_names.copy_rank_of_name(note.title), saved, note.path

    return min(same, key=rank)


def notes_below(
    folder: OwnPath, start: str, is_note: Callable[[str], bool]
) -> Iterator[tuple[str, FileStamp]]:
    """The notes in one of our own folders, whose path is `start`."""
    for name, found in folder.files():
        if is_note(start + name):
            yield start + name, file_stamp(found)
    for below in folder.folders():
        yield from notes_below(below, f"{start}{below.name}/", is_note)
