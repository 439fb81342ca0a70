"""The six commands of the API's memory tool on notes under one folder of the vault.

A file is a note that holds its text and nothing else, so a person reads what the agent wrote. Who
is bound to a user or a project has that said above the text, which the tool does not show.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, ParamSpec

from vaultmem.errors import AlreadyExists, NotFound, VaultmemError
from vaultmem.limits import bounded
from vaultmem.notes import masking
from vaultmem.notes.edit import note_from_nothing
from vaultmem.notes.note import Note, note_version, parse
from vaultmem.operations.memory_files import names, replies
from vaultmem.operations.memory_files.replies import MemoryFileError
from vaultmem.operations.writing import WritingGroup
from vaultmem.storage.note_folders import FolderEntry, NoteFolders
from vaultmem.storage.renames import Renames

if TYPE_CHECKING:
    from vaultmem.operations.input import Input
    from vaultmem.operations.view import View
    from vaultmem.operations.writing import Writing

P = ParamSpec("P")
_LEVELS: Final = 2
_NO_SIZE: Final = 4096  # of a folder that nothing was written to yet
_MISSING: Final = "The path {} does not exist. Please provide a valid path."


def _explained(command: Callable[P, str]) -> Callable[P, str]:
    """Every refusal is a sentence for the model."""

    @functools.wraps(command)
    def call(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return command(*args, **kwargs)
        except names.BadMemoryPath as error:
            raise MemoryFileError(str(error)) from None

    return call


class MemoryFiles(WritingGroup):
    def __init__(self, view: View, writing: Writing, input: Input) -> None:
        super().__init__(view, writing, input)
        self._folders = NoteFolders(view.store)
        self._top = view.settings["folders.memory_files"].strip("/")
        pins = {"user": view.caller.user, "project": view.caller.project}
        bound = {name: pin for name, pin in pins.items() if pin}
        made = note_from_nothing(bound, "", names=view.settings.properties) if bound else None
        self._heading = made.text if made else ""

    # --- the commands ----------------------------------------------------------------------

    @_explained
    @bounded()
    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        place = names.path_segments(path)
        found = self._entry(place)
        if found is None:
            raise MemoryFileError(_MISSING.format(path))
        if not found.is_folder:
            return replies.shown_file(path, self._text(self._note(place)), view_range)
        return replies.shown_folder(path, found.size, self._listed(self._folder(place), 1))

    @_explained
    @bounded()
    def create(self, path: str, file_text: str) -> str:
        place = names.path_segments(path)
        self._writing.require_writable()
        text = self._input.clean_text(file_text, "The file")
        if self._entry(place):
            raise MemoryFileError(f"File {path} already exists")
        self._require_folders(place[:-1])
        made = parse(f"{self._heading}{text}".encode(), self._file(place))
        try:
            self._writing.make_note(parse(b"", made.path), made, "add")
        except AlreadyExists:
            raise MemoryFileError(f"File {path} already exists") from None
        return f"File created successfully at: {path}"

    @_explained
    @bounded()
    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        new, said = self._input.clean_text(new_str, "new_str"), ""

        def replaced(text: str) -> tuple[int, int, str]:
            nonlocal said
            at = replies.replacement_place(path, text, old_str)
            said = replies.shown_change(f"{text[:at]}{new}{text[at + len(old_str) :]}", at)
            return at, at + len(old_str), new

        self._change(path, replaced)
        return said

    @_explained
    @bounded()
    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        added = self._input.clean_text(insert_text, "insert_text")

        def inserted(text: str) -> tuple[int, int, str]:
            """Only what differs, so that nothing else of the note is touched."""
            made = replies.text_with_lines(text, insert_line, added)
            start = _shared_start(text, made)
            end = _shared_start(text[start:][::-1], made[start:][::-1])
            return start, len(text) - end, made[start : len(made) - end]

        self._change(path, inserted)
        return f"The file {path} has been edited."

    @_explained
    @bounded()
    def delete(self, path: str) -> str:
        place = names.path_segments(path)
        if not place:
            raise MemoryFileError("Cannot delete the /memories directory itself")
        self._writing.require_writable()
        if (found := self._entry(place)) is None:
            raise MemoryFileError(f"The path {path} does not exist")
        if found.is_folder:
            self._delete_folder(path, place)
        else:
            self._writing.trash_note(self._note(place), "delete")
        return f"Successfully deleted {path}"

    @_explained
    @bounded()
    def rename(self, old_path: str, new_path: str) -> str:
        old, new = names.path_segments(old_path), names.path_segments(new_path)
        if not old:
            raise MemoryFileError("Cannot rename the /memories directory itself")
        self._writing.require_writable()
        if not new or self._entry(new):
            raise MemoryFileError(f"The destination {new_path} already exists")
        self._require_folders(new[:-1])
        if (found := self._entry(old)) is None:
            raise MemoryFileError(f"The path {old_path} does not exist")
        if new[: len(old)] == old:
            raise MemoryFileError(f"{old_path} cannot be moved into itself")
        if found.is_folder:
            self._rename_folder(old_path, old, new)
        else:
            self._move(self._file(old), self._file(new))
        return f"Successfully renamed {old_path} to {new_path}"

    @_explained
    @bounded()
    def clear(self) -> str:
        """All of it into the trash."""
        self._writing.require_writable()
        if self._folders.entry(self._top):
            self._delete_folder(names.ROOT, [])
        return "All memory cleared"

    # --- places ------------------------------------------------------------------------------

    def _folder(self, place: Sequence[str]) -> str:
        return "/".join([self._top, *map(names.folder_name, place)])

    def _file(self, place: Sequence[str]) -> str:
        return f"{self._folder(place[:-1])}/{names.note_name(place[-1])}"

    def _entry(self, place: Sequence[str]) -> FolderEntry | None:
        """The folder or the note that the caller may know of at a place."""
        folder = self._folders.entry(self._folder(place))
        if not place:
            return folder or FolderEntry(self._top, True, _NO_SIZE)
        if folder and folder.is_folder:
            return folder
        path = self._file(place)
        found = self._folders.entry(path)
        return found if found and not found.is_folder and self._is_shown(path) else None

    def _is_shown(self, path: str) -> bool:
        store = self._view.store
        if not store.paths.is_note(path):
            return False
        return not self._view.is_bound() or self._view.is_visible(store.note(path))

    def _note(self, place: Sequence[str]) -> Note:
        return self._view.require_visible(self._view.store.note(self._file(place)))

    def _listed(self, folder: str, level: int) -> Iterator[tuple[int, str]]:
        """What lies in a folder and in the folders in it, by its names under /memories."""
        found = []
        for entry in self._folders.entries(folder):
            path = f"{folder}/{entry.name}"
            name = names.folder_of(entry.name)
            if not entry.is_folder:
                name = names.file_of_note(entry.name) if self._is_shown(path) else ""
            if name and not name.startswith("."):
                found.append((name, entry, path))
        for name, entry, path in sorted(found, key=lambda each: each[0]):
            if not entry.is_folder:
                yield max(0, entry.size - self._hidden(path)), name
                continue
            yield entry.size, f"{name}/"
            if level < _LEVELS:
                yield from (
                    (size, f"{name}/{below}") for size, below in self._listed(path, level + 1)
                )

    def _require_folders(self, place: Sequence[str]) -> None:
        for deep in range(1, len(place) + 1):
            if (found := self._entry(place[:deep])) and not found.is_folder:
                raise MemoryFileError(f"{names.ROOT}/{'/'.join(place[:deep])} is not a directory")
        if not self._folders.entry(self._folder(place)):
            self._folders.make(self._folder(place))

    # --- texts -------------------------------------------------------------------------------

    def _hidden(self, path: str) -> int:
        """How much of a note is not shown: whose it is."""
        if not self._heading:
            return 0
        text = self._view.store.read(path).raw.decode("utf-8", "surrogateescape")
        return len(self._heading) if text.startswith(self._heading) else 0

    def _parted(self, note: Note) -> tuple[str, str]:
        """What is not shown, and the text as the file has it, line ends and all."""
        try:
            text = note.raw.decode()
        except UnicodeDecodeError:
            raise MemoryFileError(f"{note.path} is not valid UTF-8, so it is left alone") from None
        if self._heading and text.startswith(self._heading):
            return self._heading, text[len(self._heading) :]
        return "", text

    def _text(self, note: Note) -> str:
        return masking.mask_private(self._parted(note)[1])

    def _change(self, path: str, make: Callable[[str], tuple[int, int, str]]) -> None:
        """Put other text between two places of a file's text, as it is when nobody else writes."""
        place = names.path_segments(path)
        self._writing.require_writable()
        if (found := self._entry(place)) is None:
            raise MemoryFileError(_MISSING.format(path))
        if found.is_folder:
            raise MemoryFileError(f"The path {path} is not a file.")

        def changed(note: Note) -> bytes:
            heading, text = self._parted(note)
            start, end, new = make(masking.mask_private(text))
            return f"{heading}{text[:start]}{new}{text[end:]}".encode()

        try:
            self._writing.rewrite_note(self._note(place), "update", changed)
        except NotFound:
            raise MemoryFileError(
                f"The file {path} no longer exists (may have been deleted or renamed concurrently)."
            ) from None

    # --- folders -----------------------------------------------------------------------------

    def _contents(self, path: str, folder: str) -> tuple[list[str], list[str]]:
        """The notes and the folders in a folder, innermost first; refused where there is more,
        which a command for memories has no business with."""
        notes: list[str] = []
        folders: list[str] = []
        for entry in self._folders.entries(folder):
            inner = f"{folder}/{entry.name}"
            if entry.is_folder:
                found = self._contents(path, inner)
                notes, folders = notes + found[0], folders + found[1]
            elif names.file_of_note(entry.name) and self._is_shown(inner):
                notes.append(inner)
            else:
                raise MemoryFileError(
                    f"{path} holds other files than memories, so it was left as it is. "
                    "Delete or rename the files in it one by one."
                )
        return notes, [*folders, folder]

    def _delete_folder(self, path: str, place: Sequence[str]) -> None:
        notes, folders = self._contents(path, self._folder(place))
        for note in notes:
            self._writing.trash_note(self._view.store.note(note), "delete")
        for folder in folders if place else folders[:-1]:
            self._folders.remove_empty(folder)

    def _rename_folder(self, path: str, old: Sequence[str], new: Sequence[str]) -> None:
        before, after = self._folder(old), self._folder(new)
        notes, folders = self._contents(path, before)
        for folder in reversed(folders):
            self._folders.make(f"{after}{folder[len(before) :]}")
        for note in notes:
            self._move(note, f"{after}{note[len(before) :]}")
        for folder in folders:
            self._folders.remove_empty(folder)

    def _move(self, old: str, new: str) -> None:
        history, store = self._view.parts.history, self._view.store
        store.paths.require_changeable(old)
        note = store.note(old)
        try:
            after = store.parse(Renames(store).move(old, new))
        except AlreadyExists as error:
            raise MemoryFileError(str(error)) from None
        history.renamed(note, after)
        self._writing.record_write(old, "", "rename", note.id)
        self._writing.record_write(new, note_version(after.raw), "rename", note.id)
        self._writing.index_paths([new, old])


def _shared_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def explained_failure(error: Exception) -> str:
    """What a model reads of whatever kept a command from being carried out."""
    if isinstance(error, VaultmemError):
        return error.message
    return f"The memory could not do this: {type(error).__name__}."
