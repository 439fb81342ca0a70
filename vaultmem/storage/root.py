"""The vault's folder, and whether it is still the one that was opened. A path is only a name.

A vault that is moved, unmounted or lost with its network drive leaves nothing behind at its
path, or an empty place for a drive, or somebody else's folder. It is told by its identity, its
device and inode, and nothing is written while that is another one. A drive may come back under
new numbers: then the vault is known again by what is in it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

from vaultmem.base.own_program import command_to_type
from vaultmem.config import STATE
from vaultmem.errors import Away, VaultmemError
from vaultmem.storage import drives

FolderIdentity = tuple[int, int]
_MANY: Final = 24  # names that are enough to know a vault by
_GOES_ON: Final = "Nothing is written until it is back; then all goes on by itself."

_GONE: Final = "The vault's folder {} is not there: it was moved, or its drive is not mounted."
_AWAITED: Final = (
    "The folder {0} is empty and seems to be the place of a drive that is not mounted "
    "(a new vault is made there with: {1} {0} --yes)."
)
_FOR_A_MOMENT: Final = (
    "The vault's folder {}, or one in it, was away for a moment. Nothing was changed; try again."
)
_OTHER: Final = (
    "The folder at {} is not the vault that was opened; perhaps it is the empty place of a drive "
    "that is not mounted. To use that folder instead, start again."
)


class VaultFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.generation = 0  # how often the vault came back as another folder
        self._looking = threading.Lock()
        self._identity = _identity_of_root(path)
        self._names = _sample_of_names_in_root(_names_in_root(path))
        self._notes: tuple[str, ...] = ()
        self._awaited = not self._names and drives.is_drive_awaited(path)

    def trouble(self) -> str:
        """Why the vault cannot be used now; nothing while it can."""
        found = _identity_of_root(self.path)
        if found is None:
            return _GONE.format(self.path)
        if self._awaited and not self._has_root_come(found):
            return _AWAITED.format(self.path, command_to_type("init"))
        if found == self._identity:
            return ""
        return "" if self._is_root_back(found) else _OTHER.format(self.path)

    def require(self) -> None:
        if reason := self.trouble():
            raise Away(f"{reason} {_GOES_ON}")

    def require_is(self, found: os.stat_result) -> None:
        """That this folder, which was opened at our path, is the vault. What is then made in it
        goes with it, wherever it is moved, and into nothing that takes its place."""
        if (found.st_dev, found.st_ino) != self._identity:
            self.require()
            if (found.st_dev, found.st_ino) != self._identity:
                raise Away(_FOR_A_MOMENT.format(self.path))

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Nothing is written while the vault is away, and nothing counts as written if it went
        away meanwhile."""
        self.require()
        try:
            yield
        except (OSError, VaultmemError) as error:
            self.require()
            if isinstance(error.__cause__ or error, FileNotFoundError):
                raise Away(_FOR_A_MOMENT.format(self.path)) from error
            raise
        self.require()

    def _has_root_come(self, found: FolderIdentity) -> bool:
        """A folder that is empty when it is opened may be the place of a drive."""
        with self._looking:
            if self._awaited:
                if not _names_in_root(self.path) and drives.is_drive_awaited(self.path):
                    return False
                self._awaited, self._identity = False, found
                self.generation += 1
            return True

    # --- knowing it again ----------------------------------------------------------------

    def expect(self, known: Callable[[], Collection[str]]) -> None:
        """Notes that our own files elsewhere know: a folder that is empty now is not the vault."""
        if not _names_in_root(self.path) and (notes := known()):
            self._notes, self._identity = _sample_of_names_in_root(notes), None

    def accept(self) -> None:
        """The person says that this is the vault."""
        self._notes, self._identity = (), _identity_of_root(self.path)

    def add(self, note: str) -> None:
        if len(self._notes) < _MANY:
            self._notes = (*self._notes, note)

    def remember(self, notes: Collection[str]) -> None:
        """Notes that are in the vault: it is known by some of them, and by what lies in its
        folder while there are none."""
        if notes:
            self._notes = _sample_of_names_in_root(notes)
        else:
            self._names = _sample_of_names_in_root(_names_in_root(self.path))

    def _is_root_back(self, found: FolderIdentity) -> bool:
        """Half of what was known is there: a drive mounted again, a backup, another clone.
        Where nothing was known, anything will do: the drive of an empty place came."""
        with self._looking:
            if found != self._identity:
                known = self._notes or self._names
                there = sum(os.path.lexists(self.path / name) for name in known)
                if 2 * there < len(known) or not _listed_root(self.path):
                    return False
                self._identity = found
                self.generation += 1
            return True


def _identity_of_root(path: Path) -> FolderIdentity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _names_in_root(folder: Path) -> list[str]:
    """What lies in the folder, but for what we put there ourselves."""
    return [name for name in _listed_root(folder) if name != STATE]


def _listed_root(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _sample_of_names_in_root(names: Collection[str]) -> tuple[str, ...]:
    """Some of them, from everywhere."""
    step = max(1, len(names) // _MANY)
    return tuple(name for place, name in enumerate(names) if place % step == 0)[:_MANY]
