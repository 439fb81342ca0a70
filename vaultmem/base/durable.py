"""Files that are whole or not there: written beside, flushed to disk, then put in place.

A temporary name starts with a dot and does not end in `.md`, so that no watcher, no
Obsidian and no git takes it for a note. A process killed at any point leaves the old
file or the new one, and at worst a temporary that `sweep` removes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ulid_transform import ulid_now

from vaultmem.errors import InvalidInput, ReadOnly, StorageFull, Unavailable, VaultmemError

_TEMPORARY: Final = (".vm-", ".tmp")
_NO_HARD_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def create(path: Path, data: bytes) -> None:
    """Make a new file with this content; FileExistsError when there is one."""
    made = make_folders(path.parent)
    try:
        with _temporary(path.parent, data, 0o666) as temporary:
            place_new(temporary, path)
            sync_folder(path.parent)
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def replace(path: Path, data: bytes, unchanged: Callable[[], bool]) -> bool:
    """Put new content in the place of a file's; False if `unchanged` says no at the last moment."""
    mode = stat.S_IMODE(path.stat().st_mode)
    with _temporary(path.parent, data, mode) as temporary:
        os.chmod(temporary, mode)
        if not unchanged():
            return False
        os.replace(temporary, path)
        sync_folder(path.parent)
    return True


def place_new(source: Path, target: Path) -> None:
    """Give a file a name that must not be taken yet."""
    if sys.platform == "win32":
        os.rename(source, target)  # refuses a taken name there
        return
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # No hard links here (FAT, some network drives): claim the name, then fill it.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.replace(source, target)
    else:
        try:
            os.unlink(source)
        except OSError:
            os.unlink(target)
            raise


def make_folders(folder: Path) -> list[Path]:
    """The folders that had to be made, innermost first."""
    made: list[Path] = []
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            made.insert(0, place)
            sync_folder(place.parent)
    return made


def sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _temporary(folder: Path, data: bytes, mode: int) -> Iterator[Path]:
    path = folder / ulid_now().join(_TEMPORARY)
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def is_temporary(name: str) -> bool:
    return name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1])


def is_abandoned(path: Path) -> bool:
    """A temporary whose writer must be gone: nothing we write takes an hour."""
    return is_temporary(path.name) and time.time() - path.stat().st_mtime > 3600


_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def explained(doing: str, result: str = "Nothing was changed.") -> Iterator[None]:
    """Turn what the system says into what the reader can do about it."""
    try:
        yield
    except OSError as error:
        raise _explanation(doing, error, result) from error


def _explanation(doing: str, error: OSError, result: str) -> VaultmemError:
    if error.errno in _FULL:
        return StorageFull(
            f"{doing} failed: the disk is full. {result} Free some space and try again."
        )
    if error.errno in _FORBIDDEN:
        return ReadOnly(f"{doing} failed: no permission. {result}")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidInput(f"{doing} failed: the name is too long for this disk. {result}")
    return Unavailable(f"{doing} failed: {error.strerror or error}. {result}")
