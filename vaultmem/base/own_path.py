"""A place among vaultmem's own files, reached without following a link.

A vault may come from anywhere, and git carries symbolic links: `.vaultmem`, or whatever lies
in it, may lead to the person's other files. Above its anchor (the vault, or the state folder
that the person named) a path is the person's affair. Below it every folder is opened from the
one above it, so a link is refused even when it is made while we look. Windows cannot open so;
there each part is looked at before it is used. What is written replaces a file by its name, so
that neither a link nor another name of the same file is ever written through.

Where the anchor may be taken away and something else stand at its path, whoever knows the right
folder is asked about the one that was opened, before anything is made in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.base import durable
from vaultmem.errors import OutsideVault, Unavailable

_STEPS: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_PLAIN: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_ANCHOR: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_MOUNT_POINT: Final = 0xA0000003  # what Windows calls a junction


class _OwnFolderHandle(NamedTuple):
    """An open folder; without a number where the system opens files by their whole path only."""

    path: Path
    fd: int | None

    def at(self, name: str) -> str:
        return str(self.path / name) if self.fd is None else name

    def stat(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def scan(self) -> contextlib.AbstractContextManager[Iterator[os.DirEntry[str]]]:
        return os.scandir(self.path if self.fd is None else self.fd)

    def require(self, name: str, kind: str) -> os.stat_result | None:
        """What is there of the kind that is needed; None when nothing is."""
        found = self.stat(name)
        if found is None:
            return None
        if is_link_or_junction(found):
            raise OutsideVault(
                f"{self.path / name} is a link to another place, and vaultmem follows no links "
                "among its own files: a vault from elsewhere could lead it anywhere. Remove the "
                "link. (Index and local state can be kept elsewhere with $VAULTMEM_STATE_DIR.)"
            )
        if not (stat.S_ISDIR if kind == "folder" else stat.S_ISREG)(found.st_mode):
            raise Unavailable(
                f"{self.path / name} is no {kind}, and vaultmem needs one of this name. "
                "Move it away."
            )
        return found


class FolderItem(NamedTuple):
    name: str
    stat: os.stat_result


class OwnPath(NamedTuple):
    anchor: Path
    parts: tuple[str, ...] = ()
    require: Callable[[os.stat_result], None] | None = None  # raises if that is not the anchor

    @classmethod
    def of(cls, place: Path | OwnPath) -> OwnPath:
        """A plain path is checked from the folder it lies in."""
        return place if isinstance(place, OwnPath) else cls(place.parent, (place.name,))

    def __truediv__(self, name: str) -> OwnPath:
        if name in ("", ".", "..") or any(mark in name for mark in ("/", os.sep, "\0")):
            raise OutsideVault(f"{name!r} is not the name of a file.")
        return self._replace(parts=(*self.parts, name))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        return self.anchor.joinpath(*self.parts)

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def parent(self) -> OwnPath:
        return self._replace(parts=self.parts[:-1])

    # --- folders -----------------------------------------------------------------------

    def make(self) -> Path:
        """This folder, and those on the way to it, made where they are missing."""
        with self._opened_own_folder(make=True):
            return self.path

    def is_folder(self) -> bool:
        try:
            with self._opened_own_folder():
                return True
        except FileNotFoundError:
            return False

    def files(self) -> list[FolderItem]:
        """The plain files of this folder by name; none where there is no folder."""
        return [
            entry for entry in self._entries_of_own_folder() if stat.S_ISREG(entry.stat.st_mode)
        ]

    def folders(self) -> list[OwnPath]:
        """The real folders in this one."""
        return [
            self / entry.name
            for entry in self._entries_of_own_folder()
            if stat.S_ISDIR(entry.stat.st_mode) and not is_link_or_junction(entry.stat)
        ]

    def _entries_of_own_folder(self) -> list[FolderItem]:
        found = []
        with (
            contextlib.suppress(FileNotFoundError),
            self._opened_own_folder() as folder,
            folder.scan() as scan,
        ):
            for entry in scan:
                with contextlib.suppress(FileNotFoundError):
                    found.append(FolderItem(entry.name, entry.stat(follow_symlinks=False)))
        return sorted(found, key=lambda entry: entry.name)

    def checked_folder(self) -> Path:
        """The same of a folder, which is made, and of which every part is a plain file."""
        with self._opened_own_folder(make=True) as folder:
            with folder.scan() as entries:
                odd = [entry.name for entry in entries if not entry.is_file(follow_symlinks=False)]
            for name in odd:
                folder.require(name, "file")
        return self.path

    def remove_tree(self) -> None:
        """Take a real folder away with all that is in it; links in it go, not what they lead to."""
        import shutil

        with contextlib.suppress(FileNotFoundError), self.parent._opened_own_folder() as folder:
            if folder.require(self.name, "folder"):
                shutil.rmtree(folder.at(self.name), ignore_errors=True, dir_fd=folder.fd)

    def remove_folder(self) -> None:
        """Take an empty folder away; one with anything in it stays."""
        with contextlib.suppress(OSError), self.parent._opened_own_folder() as folder:
            os.rmdir(folder.at(self.name), dir_fd=folder.fd)

    @contextlib.contextmanager
    def _opened_own_folder(self, *, make: bool = False) -> Iterator[_OwnFolderHandle]:
        above = os.open(self.anchor, _ANCHOR if self.parts else _FOLDER) if _STEPS else None
        folder = _OwnFolderHandle(self.anchor, above)
        try:
            if make and self.require is not None:
                self.require(os.stat(self.anchor if above is None else above))
            for name in self.parts:
                folder = _open_own_folder_below(folder, name, make)
            yield folder
        finally:
            if folder.fd is not None:
                os.close(folder.fd)

    # --- files -------------------------------------------------------------------------

    def stat(self) -> os.stat_result | None:
        """Of a plain file; None when there is none."""
        try:
            with self.parent._opened_own_folder() as folder:
                return folder.require(self.name, "file")
        except FileNotFoundError:
            return None

    def checked(self, *beside: str) -> Path:
        """The path, for a library that opens files by name: it and its companions, which have
        these endings, are plain files or not there, in folders that are real."""
        with self.parent._opened_own_folder() as folder:
            for ending in ("", *beside):
                folder.require(self.name + ending, "file")
        return self.path

    def open(self, flags: int, mode: int = 0o666) -> int:
        """A plain file's number; never that of a pipe or a device, and nothing waits for one."""
        with self.parent._opened_own_folder(make=bool(flags & os.O_CREAT)) as folder:
            if folder.fd is None:
                folder.require(self.name, "file")
            try:
                fd = os.open(folder.at(self.name), flags | _PLAIN | _BINARY, mode, dir_fd=folder.fd)
            except OSError:
                folder.require(self.name, "file")
                raise
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                os.close(fd)
                folder.require(self.name, "file")
                raise Unavailable(f"{self} was replaced by something else; try again.")
        return fd

    def read(self, most: int = -1) -> bytes:
        """The file's bytes, so many at most if that is said."""
        with open(self.open(os.O_RDONLY), "rb") as file:
            return file.read(most)

    def append(self, data: bytes) -> int:
        """Write behind what is there; returns how much there is now."""
        with open(self.open(os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab", buffering=0) as file:
            file.write(data)
            return file.tell()

    def write(self, data: bytes) -> None:
        """All of the file, new; whole or not at all, but not forced to disk."""
        with self.parent._opened_own_folder(make=True) as folder:
            folder.require(self.name, "file")
            with durable.temporary_file(
                folder.path, data, 0o666, at=folder.fd, flush=False
            ) as made:
                os.replace(made, folder.at(self.name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)

    def create(self, data: bytes) -> None:
        """A new file, on disk when this returns; FileExistsError when there is one."""
        with self.parent._opened_own_folder(make=True) as folder:
            with durable.temporary_file(folder.path, data, 0o666, at=folder.fd) as made:
                durable.place_new_file(made, folder.at(self.name), at=folder.fd, into=folder.fd)
            if folder.fd is not None:
                os.fsync(folder.fd)

    def take_in(self, file: Path) -> None:
        """Move a file from elsewhere to this place, which must be free."""
        with self.parent._opened_own_folder(make=True) as folder:
            durable.place_new_file(file, folder.at(self.name), into=folder.fd)
            if folder.fd is not None:
                os.fsync(folder.fd)

    def touch(self) -> None:
        fd = self.open(os.O_WRONLY | os.O_CREAT)
        try:
            os.utime(fd if os.utime in os.supports_fd else self.path)
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Take a plain file away; nothing else, and no error when there is none."""
        with contextlib.suppress(FileNotFoundError), self.parent._opened_own_folder() as folder:
            found = folder.stat(self.name)
            if found is not None and stat.S_ISREG(found.st_mode):
                os.unlink(folder.at(self.name), dir_fd=folder.fd)


def _open_own_folder_below(above: _OwnFolderHandle, name: str, make: bool) -> _OwnFolderHandle:
    """The folder of this name; the one above is closed."""
    fd = None
    try:
        if above.fd is not None:
            fd = os.open(name, _FOLDER | _PLAIN, dir_fd=above.fd)
        elif above.require(name, "folder") is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), above.at(name))
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(above.at(name), dir_fd=above.fd)
            if above.fd is not None:
                _flush_own_folder(above.fd)
        return _open_own_folder_below(above, name, make=False)
    except OSError:
        above.require(name, "folder")
        raise
    if above.fd is not None:
        os.close(above.fd)
    return _OwnFolderHandle(above.path / name, fd)


def _flush_own_folder(folder: int) -> None:
    """To disk; the anchor's number alone would not do, as it is not open for reading."""
    fd = os.open(".", _FOLDER, dir_fd=folder)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_link_or_junction(found: os.stat_result) -> bool:
    junction = getattr(found, "st_reparse_tag", 0) == _MOUNT_POINT
    return stat.S_ISLNK(found.st_mode) or junction
