"""Changing a client's settings file beside the client itself, which may write it at any moment.

The old bytes are kept beside it first. The new ones take its place whole, and only if it is
still what the change was made from; else the change is made again on what is there now. A
link, as managers of dotfiles make them, is followed and stays a link.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultmem.base import durable
from vaultmem.base.differences.line_difference import unified_difference
from vaultmem.errors import Busy, InvalidInput

_LARGEST: Final = 50_000_000  # bytes; Claude Code's own file can be large
_ATTEMPTS: Final = 5
_WIDEST: Final = 1000  # letters of a line that are shown
_BACKUP: Final = ".vaultmem-backup"
_CONTEXT: Final = 2  # lines around a change: others' secrets may stand near

# The bytes of a file to the bytes it is to have; None is no file.
Edit = Callable[[bytes | None], bytes | None]


@dataclass(frozen=True, slots=True)
class SettingsChange:
    what: str  # of ours goes into the file, or out of it
    path: Path
    edit: Edit
    keeps_backup: bool = True  # else what is done can be undone to the byte


@dataclass(frozen=True, slots=True)
class SettingsBackup:
    """A copy that an earlier change left beside a file."""

    path: Path
    needed: str = ""  # why it stays

    @property
    def goes(self) -> bool:
        return not self.needed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done to a file, or would be."""

    step: SettingsChange
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    backups: tuple[SettingsBackup, ...] = ()  # that were removed, and that had to stay

    @property
    def path(self) -> Path:
        return self.step.path

    @property
    def changed(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        return "\n".join(_settings_diff(self))


def preview_settings_change(step: SettingsChange) -> Outcome:
    before = read_settings_file(step.path)
    return Outcome(step, before, step.edit(before))


def apply_settings_change(step: SettingsChange) -> Outcome:
    path = step.path
    for _ in range(_ATTEMPTS):
        outcome = preview_settings_change(step)
        if not outcome.changed:
            return outcome
        with durable.disk_errors_explained(f"Writing {path}"):
            only_ours_goes = outcome.after is None or outcome.after in settings_backups(path)
            only_ours_goes = only_ours_goes or not step.keeps_backup
            backup = None if only_ours_goes else _keep_settings_backup(path, outcome.before)
            if _write_settings_file(Path(os.path.realpath(path)), outcome):
                return Outcome(step, outcome.before, outcome.after, backup)
    raise Busy(f"{path} is being written by another program all the time; close it and try again.")


def read_settings_file(path: Path) -> bytes | None:
    with durable.disk_errors_explained(f"Reading {path}"):
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"{path} is not a file. Nothing was changed.")
        if found.st_size > _LARGEST:
            raise InvalidInput(f"{path} is too large for a settings file. Nothing was changed.")
        return path.read_bytes()


def _write_settings_file(target: Path, outcome: Outcome) -> bool:
    """Whether it could be done: the file was still as it was."""
    if outcome.before is None:
        try:
            durable.create_durably(target, outcome.after or b"")
        except FileExistsError:
            return False
        return True
    if outcome.after is None:
        if target.read_bytes() != outcome.before:
            return False
        target.unlink()
        return True
    return durable.replace_durably(target, outcome.after, outcome.before)


# --- backups -------------------------------------------------------------------------------


def settings_backups(path: Path) -> list[bytes]:
    """What earlier changes started from, as far as it can be read."""
    found = (read_settings_backup(file) for file in settings_backup_files(path))
    return [raw for raw in found if raw is not None]


def settings_backup_files(path: Path) -> list[Path]:
    """Whatever has such a name; one in between may be gone."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    ours = re.compile(re.escape(path.name + _BACKUP) + r"(?:-(\d+))?\Z")
    matches = filter(None, map(ours.match, names))
    return [path.with_name(m[0]) for m in sorted(matches, key=lambda m: int(m[1] or 1))]


def read_settings_backup(file: Path) -> bytes | None:
    """None where it is no plain file, or not to be read."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.lstat(file).st_mode):
            return file.read_bytes()
    return None


def remove_settings_backup(file: Path, expect: bytes | None) -> None:
    """If it is still what was looked at."""
    with durable.disk_errors_explained(f"Removing {file}"):
        if read_settings_backup(file) == expect:
            file.unlink(missing_ok=True)


def _keep_settings_backup(path: Path, raw: bytes | None) -> Path | None:
    """A copy beside the file; an older one that differs stays beside it, too."""
    if raw is None:
        return None
    for name in _settings_backup_names(path):
        if not os.path.lexists(name):
            _write_settings_backup(name, raw, stat.S_IMODE(path.stat().st_mode))
            return name
        with contextlib.suppress(OSError):
            if name.read_bytes() == raw:
                return name
    raise AssertionError("there is no end of names")


def _settings_backup_names(path: Path) -> Iterator[Path]:
    """Up to the first that is free."""
    for number in itertools.count(1):
        name = path.with_name(f"{path.name}{_BACKUP}{f'-{number}' if number > 1 else ''}")
        yield name
        if not os.path.lexists(name):
            return


def _write_settings_backup(path: Path, raw: bytes, mode: int) -> None:
    """Readable by nobody who cannot read the file itself: it may hold keys."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, mode & 0o600), "wb") as handle:
        handle.write(raw)
        handle.flush()
        os.fsync(handle.fileno())
    os.chmod(path, mode)


# --- the difference ------------------------------------------------------------------------


def _settings_diff(outcome: Outcome) -> Iterator[str]:
    old, new = _settings_lines(outcome.before), _settings_lines(outcome.after)
    path = str(outcome.path)
    from_name = "nothing" if outcome.before is None else path
    to_name = "nothing" if outcome.after is None else path
    start = _common_settings_beginning(old[0], new[0]) if len(old) == len(new) == 1 else 0
    for line in unified_difference(old, new, (from_name, to_name), _CONTEXT):
        yield line if len(line) < _WIDEST else _settings_line_part(line, start)


def _settings_lines(raw: bytes | None) -> list[str]:
    return (raw or b"").decode("utf-8", errors="replace").splitlines()


def _common_settings_beginning(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _settings_line_part(line: str, start: int) -> str:
    """Of a file that is one long line, what lies around the change."""
    start = max(1, start - _WIDEST // 5)
    return f"{line[0]}… {line[start : start + _WIDEST]} …"
