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

from ulid_transform import ulid_now, ulid_to_timestamp

from vaultmem.base import system_calls
from vaultmem.errors import Away, InvalidInput, ReadOnly, StorageFull, Unavailable, VaultmemError

FileName = str | Path
_TEMPORARY: Final = (".vm-", ".tmp")
_PLAIN: Final = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_TURNS: Final = 100  # saves of a person's in the milliseconds that ours takes
_NO_HARD_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def create_durably(path: Path, data: bytes, below: Path | None = None) -> None:
    """Make a new file with this content; FileExistsError when there is one."""
    made = make_folders(path.parent, below)
    try:
        with temporary_file(path.parent, data, 0o666) as new:
            place_new_file(new, path)
            flush_folder(path.parent)
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def replace_durably(path: Path, data: bytes, expected: bytes) -> bool:
    """Put new content in the place of a file's; False if that is no longer the expected one.

    The new file gets the old one's owner, mode, extended attributes and access list, and the two
    exchange their names. Then what came out is looked at: if a person saved in the last moment,
    or is still writing, theirs goes back to its place, as often as it takes. A file with several
    names is written to as it is, so that all of them stay one file.
    """
    try:
        old = os.open(path, os.O_RDONLY | _PLAIN)
    except FileNotFoundError:
        return False
    with open(old, "rb", buffering=0) as file:
        found = os.fstat(old)
        if file.read() != expected:
            return False
        if found.st_nlink > 1 and sys.platform != "win32":
            return _write_durably_through_hard_links(path, data, expected)
        mode = stat.S_IMODE(found.st_mode)
        with temporary_file(
            path.parent, data, mode, dress=lambda new: _dress_new_file_as_old(old, found, new)
        ) as new:
            os.chmod(new, mode)
            return _replace_durably_by_exchange(Path(new), path, data, expected)


def _dress_new_file_as_old(old: int, found: os.stat_result, new: int) -> None:
    if sys.platform == "win32":
        return
    mine = os.fstat(new)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.fchown(new, found.st_uid, found.st_gid)
        except OSError:
            with contextlib.suppress(OSError):
                os.fchown(new, -1, found.st_gid)
    os.fchmod(new, stat.S_IMODE(found.st_mode))
    system_calls.copy_file_attributes(old, new)


def _replace_durably_by_exchange(new: Path, path: Path, data: bytes, expected: bytes) -> bool:
    """Whether the new file is in the place now; `new` names what is no longer needed."""
    put: bytes | None = data
    wanted: bytes | None = expected  # what should come out for it; None: whatever it is by now
    for turn in range(_TURNS):
        try:
            if not system_calls.exchange_files(new, path):
                return _replace_durably_without_exchange(new, path, expected)
        except FileNotFoundError:  # deleted, or renamed away to be written anew
            if turn:
                with contextlib.suppress(FileExistsError):
                    place_new_file(new, path)
            return False
        flush_folder(path.parent)
        out = _read_at_rest(new)
        if wanted is None or out == wanted:
            return turn == 0
        put, wanted = out, put
    return False


def _replace_durably_without_exchange(new: Path, path: Path, expected: bytes) -> bool:
    """Where names cannot be exchanged: look once more, then replace."""
    if _read_at_rest(path) != expected:
        return False
    os.replace(new, path)
    flush_folder(path.parent)
    return True


def _read_at_rest(path: Path) -> bytes | None:
    """A plain file's content; None while somebody is writing to it."""
    try:
        with open(os.open(path, os.O_RDONLY | _PLAIN), "rb", buffering=0) as file:
            if system_calls.is_file_being_written(file.fileno()):
                return None
            return file.read()
    except OSError:
        return None


def _write_durably_through_hard_links(path: Path, data: bytes, expected: bytes) -> bool:
    """What is longer is added first: on a full disk the old text can still be put back."""
    fd = os.open(path, os.O_RDWR | _PLAIN)
    with open(fd, "r+b", buffering=0) as file, system_calls.file_undisturbed(fd):
        if file.read() != expected:
            return False
        try:
            _write_bytes_at(fd, data[len(expected) :], len(expected))
            _write_bytes_at(fd, data[: len(expected)], 0)
            os.ftruncate(fd, len(data))
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, min(len(expected), os.fstat(fd).st_size))
            _write_bytes_at(fd, expected, 0)
            raise
        here = os.fstat(fd)
    with contextlib.suppress(FileNotFoundError):
        there = os.stat(path, follow_symlinks=False)
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
    return False


def _write_bytes_at(fd: int, data: bytes, place: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, place)
        view, place = view[written:], place + written


def place_new_file(
    source: FileName, target: FileName, *, at: int | None = None, into: int | None = None
) -> None:
    """Give a file a name that must not be taken yet; `at` and `into` are open folders, if given."""
    if sys.platform == "win32":
        os.rename(source, target)  # refuses a taken name there
        return
    try:
        os.link(source, target, src_dir_fd=at, dst_dir_fd=into)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # No hard links here (FAT, some network drives): claim the name, then fill it.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666, dir_fd=into))
        os.replace(source, target, src_dir_fd=at, dst_dir_fd=into)
    else:
        try:
            os.unlink(source, dir_fd=at)
        except OSError:
            os.unlink(target, dir_fd=into)
            raise


def make_folders(folder: Path, below: Path | None = None) -> list[Path]:
    """The folders that had to be made, innermost first. What they are to lie `below` is not
    made: it may be away."""
    made: list[Path] = []
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    if below is not None:
        missing = [f for f in missing if below in f.parents]
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            made.insert(0, place)
            flush_folder(place.parent)
    return made


def flush_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def temporary_file(
    folder: Path,
    data: bytes,
    mode: int,
    *,
    at: int | None = None,
    flush: bool = True,
    dress: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """A file with this content under a name that nobody takes for a note, until it is moved."""
    name = ulid_now().join(_TEMPORARY)
    path = str(folder / name) if at is None else name
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        fd = os.open(path, flags, mode, dir_fd=at)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if dress:
                dress(fd)
            if flush:
                os.fsync(fd)
        finally:
            os.close(fd)
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path, dir_fd=at)


def is_temporary_name(name: str) -> bool:
    return name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1])


def is_abandoned_temporary(name: str, found: os.stat_result) -> bool:
    """A temporary whose writer must be gone: nothing we write takes an hour. What was exchanged
    has the old note's time of change, so the time in its name counts too."""
    if not is_temporary_name(name):
        return False
    made = 0.0
    with contextlib.suppress(ValueError):
        made = ulid_to_timestamp(name[len(_TEMPORARY[0]) : -len(_TEMPORARY[1])]) / 1000
    return time.time() - max(found.st_mtime, made) > 3600


_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM)


@contextlib.contextmanager
def disk_errors_explained(doing: str, result: str = "Nothing was changed.") -> Iterator[None]:
    """Turn what the system says into what the reader can do about it."""
    try:
        yield
    except OSError as error:
        raise _disk_error_explained(doing, error, result) from error


def _disk_error_explained(doing: str, error: OSError, result: str) -> VaultmemError:
    if error.errno in _FULL:
        return StorageFull(
            f"{doing} failed: the disk is full. {result} Free some space and try again."
        )
    if error.errno == errno.EROFS:
        return Away(f"{doing} failed: the drive is mounted read-only. {result}")
    if error.errno in _FORBIDDEN:
        return ReadOnly(f"{doing} failed: no permission. {result}")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidInput(f"{doing} failed: the name is too long for this disk. {result}")
    return Unavailable(f"{doing} failed: {error.strerror or error}. {result}")
