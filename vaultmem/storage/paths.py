"""Which paths are notes, and the guards of the way to them."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vaultmem.base.own_path import OwnPath
from vaultmem.config import STATE, Settings
from vaultmem.errors import AlreadyExists, InvalidInput, OutsideVault, ReadOnly
from vaultmem.notes import file_names
from vaultmem.notes.note import printable

VOLATILE: Final = f"{STATE}/local/volatile/"  # notes of a session, on this machine only
_IGNORED_NAMES: Final = frozenset(("conflict-files-obsidian-git.md",))
# A path that no guard could object to; anything else takes the slow and careful way.
_ORDINARY: Final = re.compile(r"(?:[^/\\\0.:\ud800-\udfff][^/\\\0:\ud800-\udfff]*(?:/|\Z))+")


class NotePaths:
    def __init__(self, root: Path, volatile: OwnPath, settings: Settings) -> None:
        self.root = root
        self.top = str(root).rstrip("/") + "/"
        self._volatile = volatile
        self._excluded = _excluded_path_matcher(settings["exclude"])
        self._templates = file_names.name_key(settings["folders.templates"].strip("/"))
        self._inside: set[str] = set()  # folders that were seen to lie in the vault

    def look_anew(self) -> None:
        """Folders may be other ones by now."""
        self._inside.clear()

    def is_note(self, path: str) -> bool:
        """Whether a file is part of the memory, and can be called by its name."""
        return self.is_memory(path) and file_names.is_unicode_name(path)

    def is_memory(self, path: str) -> bool:
        """Markdown or a canvas, not a template, not excluded."""
        name = path.rpartition("/")[2]
        if not file_names.is_readable_name(name) or name in _IGNORED_NAMES:
            return False
        if any(segment.startswith(".") for segment in path.removeprefix(VOLATILE).split("/")):
            return False
        templates = self._templates
        if templates and file_names.name_key(path).startswith(templates + "/"):
            return False
        return not self._excluded(path)

    def locate(self, path: str) -> Path:
        """The file behind a vault path; refuses whatever could lead out of the vault."""
        if not path or "\0" in path:
            raise InvalidInput("A note's path is missing.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise InvalidInput(f"{printable(path)} cannot be the name of a file.") from None
        if file_names.looks_like_absolute_path(path) or (os.name == "nt" and ":" in path):
            raise OutsideVault(f"{path} is an absolute path; name notes relative to the vault.")
        top, inner = self._top_folder_of_path(path)
        segments = inner.replace("\\", "/").split("/") if os.name == "nt" else inner.split("/")
        if any(segment in ("", ".", "..") for segment in segments):
            raise OutsideVault(f"{path} leaves the vault or is not a plain path.")
        if any(segment.startswith(".") for segment in segments):
            raise OutsideVault(f"{path} lies in a hidden folder, which vaultmem leaves alone.")
        file = top.joinpath(*segments)
        self._require_path_inside(path, str(file.parent), top)
        return file

    def _top_folder_of_path(self, path: str) -> tuple[Path, str]:
        """The folder that a path must not leave, and the path in it."""
        if path.startswith(VOLATILE):
            self._volatile.is_folder()  # refuses a link on the way there
            return self._volatile.path, path.removeprefix(VOLATILE)
        return self.root, path

    def _require_path_inside(self, path: str, folder: str, above: Path) -> None:
        """No part of the way is a link: one may lead out, or into what is hidden."""
        wanted = os.path.realpath(above) + folder[len(str(above)) :]
        if os.path.normcase(os.path.realpath(folder)) != os.path.normcase(wanted):
            raise OutsideVault(f"{path} leads out of the vault through a link, or into it again.")

    def readable(self, path: str) -> str:
        """`locate` for the thousands of reads of one run: a folder is looked at only once."""
        if not _ORDINARY.fullmatch(path):
            return str(self.locate(path))
        file = f"{self.top}{path}"
        folder = file.rpartition("/")[0]
        if folder not in self._inside:
            self._require_path_inside(path, folder, self.root)
            self._inside.add(folder)
        return file

    def require_changeable(self, path: str) -> None:
        """Whoever would write, move or remove what is no note of ours to change is told so."""
        if file_names.is_canvas(path):
            raise ReadOnly(
                f"{path} is a canvas. A canvas is drawn in Obsidian; vaultmem reads it and never "
                "writes it. Nothing was changed."
            )

    # --- new names ----------------------------------------------------------------------

    def new_file(self, path: str) -> Path:
        self.require_changeable(path)
        file = self.locate(path)
        if not self.is_note(path):
            raise InvalidInput(
                f"{path} would not be a note: it needs the ending .md, outside of "
                "the templates folder and of what the settings exclude."
            )
        for segment in path.removeprefix(VOLATILE).split("/"):
            if reason := file_names.why_name_is_unsafe(segment.removesuffix(".md")):
                raise InvalidInput(f"{path} is not a good name: {reason}.")
        if not file_names.is_new_name(file.stem):
            raise InvalidInput(f"{path} is too long a name, or not in Unicode's composed form.")
        return file

    def refuse_clash(self, path: str, file: Path) -> None:
        """No second file or folder whose name differs only in case or in accents' form."""
        top, inner = self._top_folder_of_path(path)
        place = top
        for segment in inner.split("/"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                for name in os.listdir(place):
                    if file_names.name_key(name) == file_names.name_key(segment):
                        if name != segment or place / name == file:
                            other = (place / name).relative_to(top).as_posix()
                            raise AlreadyExists(
                                f"There is already {other}, which is the same name."
                            )
            place /= segment


def _excluded_path_matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """A pattern names a file or a whole folder; `*` and `?` are allowed in it."""
    if not patterns:
        return lambda path: False
    translated = (fnmatch.translate(p.strip("/"))[:-2] for p in patterns)  # less its \\Z
    regex = re.compile("|".join(rf"(?:{t})(?:/|\Z)" for t in translated), re.DOTALL)
    return lambda path: regex.match(path) is not None
