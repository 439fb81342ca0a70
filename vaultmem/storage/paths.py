"""Which paths are notes, and the guards of the way to them."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vaultmem.base import small_files
from vaultmem.base.file_stamps import FileStamp, file_stamp
from vaultmem.base.own_path import OwnPath
from vaultmem.config import STATE, Settings
from vaultmem.errors import AlreadyExists, InvalidInput, OutsideVault, ReadOnly
from vaultmem.notes import file_names
from vaultmem.notes.note import printable
from vaultmem.setting_values import plain_path
from vaultmem.storage.pdf.pdf_texts import can_read_pdfs
from vaultmem.storage.vault_settings.obsidian_settings import ObsidianSettings, is_template_text

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
        self._templates = file_names.name_key(settings["folders.templates"].strip("/")) + "/"
        self._may_be_templates = settings.values["folders.templates"].origin == "default"
        self._marked: dict[str, tuple[FileStamp, bool]] = {}
        self.obsidian = ObsidianSettings(root, settings)
        levels = ((file_names.name_key(folder), level) for folder, level in settings.access.items())
        self._access = sorted(levels, key=lambda each: -len(each[0]))
        self._spelled = {file_names.name_key(folder): folder for folder in settings.access}
        told = (settings["exclude"], sorted(settings.access.items()), self._templates)
        self._settings_told = repr(told)
        self._inside: set[str] = set()  # folders that were seen to lie in the vault

    def look_anew(self) -> None:
        """Folders may be other ones by now, and a person may have excluded others."""
        self._inside.clear()
        self.obsidian.look_anew()

    def is_note(self, path: str) -> bool:
        """Whether a file is part of the memory, and can be called by its name."""
        return self.is_memory(path) and file_names.is_unicode_name(path)

    def is_memory(self, path: str) -> bool:
        """Markdown, a canvas or a PDF, not a template, not excluded."""
        name = path.rpartition("/")[2]
        if not file_names.is_readable_name(name) or name in _IGNORED_NAMES:
            return False
        if file_names.is_pdf(name) and not can_read_pdfs():
            return False
        if any(segment.startswith(".") for segment in path.removeprefix(VOLATILE).split("/")):
            return False
        if path.startswith(VOLATILE):
            return True
        if self._is_kept_away(path):
            return False
        return not (self.obsidian.hides(path) or self._is_template(path))

    def may_begin_notes(self, path: str) -> bool:
        """Whether new notes may have its text, as that of a template, which is no memory; what our
        settings keep away is not read for that either, whoever names it."""
        hidden = any(segment.startswith(".") for segment in path.split("/"))
        return not hidden and not self._is_kept_away(path)

    def _is_kept_away(self, path: str) -> bool:
        return self._excluded(path) or self._access_to(path)[1] == "none"

    def _is_template(self, path: str) -> bool:
        """A folder that somebody has named as one of templates has nothing else. Of a person's own
        folder that only happens to be called so, what has marks to fill in."""
        if self.obsidian.is_template(path):
            return True
        if not self._is_in_template_folder(path):
            return False
        return not self._may_be_templates or self._has_template_marks(path)

    def _is_in_template_folder(self, path: str) -> bool:
        return file_names.name_key(path).startswith(self._templates)

    def _has_template_marks(self, path: str) -> bool:
        file = self.top + path
        try:
            stamp = file_stamp(os.lstat(file))
            known = self._marked.get(path)
            if known is None or known[0] != stamp:
                with small_files.open_plain_file(file) as handle:
                    known = stamp, is_template_text(handle.read(1 << 14))
                self._marked[path] = known
        except OSError:
            return False
        return known[1]

    @property
    def kept_away(self) -> str:
        """The same whenever the same paths are no memories."""
        told = self._settings_told + self.obsidian.told
        return hashlib.sha256(told.encode(errors="replace")).hexdigest()

    def _access_to(self, path: str) -> tuple[str, str]:
        """What the settings let vaultmem do there, and the folder that they name for it: the
        innermost of those that the path lies in."""
        if self._access:
            key = file_names.name_key(path)
            for folder, level in self._access:
                if key == folder or key.startswith(folder + "/"):
                    return self._spelled[folder], level
        return "", "write"

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
        if file_names.is_pdf(path):
            raise ReadOnly(
                f"{path} is a PDF. vaultmem reads it and never writes it. Nothing was changed."
            )
        folder, level = self._access_to(path)
        if level == "read":
            raise ReadOnly(
                f"{path} lies in {folder}, which vaultmem may read and not change: the settings "
                f'say access to it is "read". Nothing was changed.'
            )

    # --- new names ----------------------------------------------------------------------

    def is_place_for_note(self, path: str) -> bool:
        """Whether a new one may be put there: none among what may be templates."""
        return self.is_note(path) and not self._is_in_template_folder(path)

    def new_file(self, path: str) -> Path:
        self.require_changeable(path)
        file = self.locate(path)
        if not self.is_place_for_note(path):
            raise InvalidInput(
                f"{path} would not be a note: it needs the ending .md, outside of the templates "
                "folder and of what the settings, or Obsidian's excluded files, leave out."
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
            key = file_names.name_key(segment)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                for name in os.listdir(place):  # of thousands of names
                    known = name.lower() if name.isascii() else file_names.name_key(name)
                    if known == key and (name != segment or place / name == file):
                        other = (place / name).relative_to(top).as_posix()
                        raise AlreadyExists(f"There is already {other}, which is the same name.")
            place /= segment


def _excluded_path_matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """A pattern names a file or a whole folder, in whatever case and form of accents: the same
    vault lies on systems that make no difference. `*` and `?` are allowed in it, and `**/` stands
    for any folders, or none."""
    plain = [path for p in patterns if (path := plain_path(p))]
    translated = [_translated_path_pattern(file_names.name_key(path)) for path in plain]
    if not translated:
        return lambda path: False
    regex = re.compile("|".join(rf"(?:{t})(?:/|\Z)" for t in translated), re.DOTALL)
    return lambda path: regex.match(file_names.name_key(path)) is not None


def _translated_path_pattern(pattern: str) -> str:
    pieces = re.split(r"(?:(?<=/)|\A)\*\*/", pattern.replace("[", "[[]"))
    return "(?:.*/)?".join(fnmatch.translate(piece)[:-2] for piece in pieces)  # less \Z
