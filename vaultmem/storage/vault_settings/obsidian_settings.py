"""What a person has told Obsidian, as far as it says what is no memory: files excluded from its
search, and templates. Followed while a server runs, and never written.

A vault may come from anybody, so nothing in it is trusted: the files are small, and a pattern
that does not come to an end is left out.
"""

from __future__ import annotations

import os
import posixpath
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from vaultmem import setting_values
from vaultmem.base import small_files
from vaultmem.base.file_stamps import FileStamp, file_stamp
from vaultmem.config import Settings
from vaultmem.limits import shown_wrong_value
from vaultmem.notes.file_names import name_key

USUAL_FOLDER: Final = ".obsidian"
MOST_FILTERS: Final = 1_000
LONGEST_PATTERN: Final = 1_000
MATCH_SECONDS: Final = 0.05  # that a pattern may take for one path
_LOOK_SECONDS: Final = 1.0
_REMEMBERED: Final = 100_000  # paths that patterns were tried on
_APP, _CORE_TEMPLATES, _DAILY = "app.json", "templates.json", "daily-notes.json"
_TEMPLATER: Final = "plugins/templater-obsidian/data.json"
_PERIODIC: Final = "plugins/periodic-notes/data.json"
_FILES: Final = (_APP, _CORE_TEMPLATES, _DAILY, _TEMPLATER, _PERIODIC)
_PERIODS: Final = ("daily", "weekly", "monthly", "quarterly", "yearly")
_OURS: Final = ("memories", "entities", "sessions")
_REPEATED: Final = re.compile(r"\{\d*,?\d{4,}\}")

_MARKS: Final = re.compile(rb"\{\{[ \t]*(?:title|date|time)[^}\n]{0,100}\}\}|<%[^%]{1,10000}%>")
_MARKED: Final = 16_000  # bytes in which marks of a template are looked for


class ObsidianProblem(NamedTuple):
    place: str
    message: str
    cure: str


class HiddenBy(NamedTuple):
    """One of Obsidian's "Excluded files"."""

    written: str
    matches: Callable[[str], bool]
    own_folders: tuple[str, ...]  # of ours that it covers as a whole: they stay


def is_template_text(raw: bytes) -> bool:
    """Whether a note has marks in it that a template's plugin fills in."""
    return _MARKS.search(raw[:_MARKED]) is not None


class ObsidianSettings:
    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._wanted = settings["obsidian.folder"]
        self._hides = settings["obsidian.exclude"]
        self._own = tuple(name_key(settings[f"folders.{n}"].strip("/")) + "/" for n in _OURS)
        self._next_look = 0.0
        self._stamps: dict[str, FileStamp | None] | None = None
        self._read: dict[str, Mapping[str, Any]] = {}
        self.folder = self._wanted or USUAL_FOLDER
        self._wrong: dict[str, ObsidianProblem] = {}
        self._take_over()

    # --- questions ---------------------------------------------------------------------

    def hides(self, path: str) -> bool:
        """Whether it is one of the "Excluded files": found by nobody, whoever opens it by name."""
        self._look_now_and_then()
        if not self._filters:
            return False
        if (known := self._hidden.get(path)) is None:
            known = any(self._is_hidden_by(each, path) for each in self._filters)
            if len(self._hidden) >= _REMEMBERED:
                self._hidden.clear()
            self._hidden[path] = known
        return known

    def is_template(self, path: str) -> bool:
        self._look_now_and_then()
        if not self.template_folders and not self._template_files:
            return False
        key = name_key(path)
        return key.startswith(self._template_starts) or key in self._template_files

    def decides(self, path: str) -> bool:
        """Whether a change there may change what is a memory."""
        top = f"{self.folder}/"
        return path == self.folder or (path.startswith(top) and path[len(top) :] in _WATCHED)

    @property
    def told(self) -> str:
        """The same whenever the same paths are no memories."""
        self._look_now_and_then()
        return self._told

    @property
    def problems(self) -> tuple[ObsidianProblem, ...]:
        return tuple(self._wrong.values())

    @property
    def filters(self) -> tuple[HiddenBy, ...]:
        return tuple(self._filters)

    # --- looking -----------------------------------------------------------------------

    def look_anew(self) -> None:
        """Read what has changed. What cannot be read counts as it was read before."""
        self._next_look = time.monotonic() + _LOOK_SECONDS
        if not self._wanted:
            self.folder = self._found_folder()
        stamps = {name: self._stamp(name) for name in _FILES}
        if stamps == self._stamps:
            return
        self._wrong = {}
        for name in _FILES:
            self._read_file(name)
        self._stamps = stamps
        self._take_over()

    def _look_now_and_then(self) -> None:
        if time.monotonic() >= self._next_look:
            self.look_anew()

    def _found_folder(self) -> str:
        """`.obsidian`, or what a person has named instead: a hidden folder with its settings."""
        if (self._root / USUAL_FOLDER).is_dir():
            return USUAL_FOLDER
        try:
            names = sorted(name for name in os.listdir(self._root) if name.startswith("."))
        except OSError:
            return USUAL_FOLDER
        folders = (name for name in names if (self._root / name / _APP).is_file())
        return next(folders, USUAL_FOLDER)

    def _stamp(self, name: str) -> FileStamp | None:
        try:
            return file_stamp(os.lstat(self._root / self.folder / name))
        except OSError:
            return None

    def _read_file(self, name: str) -> None:
        place = posixpath.join(self.folder, name)
        try:
            found = small_files.parse_json(small_files.read_small_file(self._root / place))
            if not isinstance(found, dict):
                raise ValueError("it is no object")
        except (FileNotFoundError, NotADirectoryError):
            self._read.pop(name, None)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or f"it is not valid JSON ({error})"
            message = f"Obsidian's settings here cannot be read: {why}."
            self._wrong[name] = ObsidianProblem(place, message, _UNREAD_CURE)
        else:
            self._read[name] = found

    # --- what was read -----------------------------------------------------------------

    def _take_over(self) -> None:
        self._hidden: dict[str, bool] = {}
        self._filters = list(self._read_filters()) if self._hides else []
        self.template_folders = tuple(dict.fromkeys(self._read_template_folders()))
        self._template_starts = tuple(f"{name_key(folder)}/" for folder in self.template_folders)
        self._template_files = frozenset(map(name_key, self._read_template_files()))
        filters = [each.written for each in self._filters]
        self._told = repr((filters, self._template_starts, sorted(self._template_files)))

    def _value(self, file: str, *names: str) -> Any:
        found: Any = self._read.get(file, {})
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def _read_template_folders(self) -> Iterator[str]:
        named = self._value(_CORE_TEMPLATES, "folder"), self._value(_TEMPLATER, "templates_folder")
        for folder in named:
            plain = folder.strip("/") if isinstance(folder, str) else ""
            if setting_values.is_setting_folder(plain):
                yield plain

    def _read_template_files(self) -> Iterator[str]:
        named = [self._value(_DAILY, "template")]
        named += [self._value(_PERIODIC, period, "template") for period in _PERIODS]
        for file in named:
            plain = file.strip("/") if isinstance(file, str) else ""
            if setting_values.is_setting_folder(plain):
                yield plain if plain.lower().endswith(".md") else f"{plain}.md"

    def _read_filters(self) -> Iterator[HiddenBy]:
        given = self._value(_APP, "userIgnoreFilters")
        if given is None:
            return
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            self._complain("userIgnoreFilters is no list of texts, so it hides nothing.")
            return
        if len(given) > MOST_FILTERS:
            self._complain(f"Only the first {MOST_FILTERS:,} excluded files are heeded.")
        for written in given[:MOST_FILTERS]:
            if written.strip() and (matches := self._matcher(written)):
                own = tuple(folder for folder in self._own if matches(folder))
                yield HiddenBy(written, matches, own)

    def _complain(self, message: str) -> None:
        place = posixpath.join(self.folder, _APP)
        self._wrong[message] = ObsidianProblem(place, message, _FILTER_CURE)

    def _matcher(self, written: str) -> Callable[[str], bool] | None:
        """`/…/` is a pattern found anywhere in a path, all else is how a path begins; case does
        not matter, as in Obsidian."""
        if len(written) > 2 and written.startswith("/") and written.endswith("/"):
            return self._pattern_matcher(written)
        start = name_key(written)
        return lambda path: name_key(path).startswith(start)

    def _pattern_matcher(self, written: str) -> Callable[[str], bool] | None:
        import regex  # type: ignore[import-untyped]

        pattern = written[1:-1]
        shown = shown_wrong_value(written)
        if len(pattern) > LONGEST_PATTERN or _REPEATED.search(pattern):
            self._complain(f"The excluded files {shown} are too long a pattern, so not heeded.")
            return None
        try:
            compiled = regex.compile(pattern, regex.IGNORECASE)
        except (regex.error, OverflowError, RecursionError) as error:
            self._complain(
                f"The excluded files {shown} are no pattern that is known here: {error}."
            )
            return None
        is_slow = False

        def matches(path: str) -> bool:
            nonlocal is_slow
            if is_slow:
                return False
            try:
                return compiled.search(path, timeout=MATCH_SECONDS, concurrent=True) is not None
            except TimeoutError:
                is_slow = True
                self._complain(f"The excluded files {shown} take too long, so they are not heeded.")
                return False

        return matches

    @staticmethod
    def _is_hidden_by(filter: HiddenBy, path: str) -> bool:
        if filter.own_folders and name_key(path).startswith(filter.own_folders):
            return False
        return filter.matches(path)


def _with_folders(files: tuple[str, ...]) -> frozenset[str]:
    above = {posixpath.dirname(file) for file in files} | {"plugins"}
    return frozenset({*files, *above} - {""})


_WATCHED: Final = _with_folders(_FILES)
_UNREAD_CURE: Final = (
    "Open the vault in Obsidian, which writes it anew, or take conflict markers out. Until then "
    "what it excludes may be found."
)
_FILTER_CURE: Final = "Change it in Obsidian: Settings, Files and links, Excluded files."
