"""What systems can do with files and Python does not offer: a small door to the C library.

Whatever a system, a disk or this process cannot do is answered with False or left undone; every
caller has another way.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX in malloc.h
_MANY_FILES: Final = 8_192

_SWAP: Final = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
_HERE: Final = -2 if sys.platform == "darwin" else -100  # AT_FDCWD
_ACL_AND_XATTR: Final = 1 << 0 | 1 << 2
_STATX_BIRTH: Final = 0x800
_STATX_BYTES: Final = 256
_STATX: Final = struct.Struct("=I76xqI")  # the mask, and the birth's seconds and nanoseconds
_CANNOT: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM, errno.EXDEV)


@cache
def _system_call_in_c(*names: str) -> Any:
    with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        return next((f for name in names if (f := getattr(library, name, None))), None)
    return None


def exchange_files(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Give each of two files the other's name, at one stroke; False where that is impossible."""
    swap = _system_call_in_c("renameat2", "renameatx_np") if sys.platform != "win32" else None
    if swap is None:
        return False
    import ctypes

    if swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _SWAP) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), os.fspath(other))


def copy_file_attributes(source: int, target: int) -> None:
    """Extended attributes and the access list of one open file for another, as far as allowed."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            wanted, there = os.listxattr(source), os.listxattr(target)
            for name in wanted:
                with contextlib.suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))
            for name in {*there} - {*wanted}:  # a folder gives its files an access list
                with contextlib.suppress(OSError):
                    os.removexattr(target, name)
    elif copy := _system_call_in_c("fcopyfile"):
        copy(source, target, None, _ACL_AND_XATTR)


def file_birth_ns(path: str | os.PathLike[str]) -> int:
    """When a file was made, in nanoseconds since the epoch; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError):
        if sys.platform == "linux":
            return _linux_file_birth_ns(os.fsencode(path))
        found = os.stat(path)
        if (born := getattr(found, "st_birthtime", None)) is not None:
            return int(born * 1e9)
        if sys.platform == "win32":
            return found.st_ctime_ns
    return 0


def _linux_file_birth_ns(path: bytes) -> int:
    ask = _system_call_in_c("statx")
    if ask is None:
        return 0
    import ctypes

    told = ctypes.create_string_buffer(_STATX_BYTES)
    if ask(_HERE, path, 0, _STATX_BIRTH, told) != 0:
        return 0
    mask, seconds, nanoseconds = _STATX.unpack_from(told)
    return int(seconds * 1_000_000_000 + nanoseconds) if mask & _STATX_BIRTH else 0


def is_file_being_written(fd: int) -> bool:
    """Whether a program has this file, which is open here for reading, open for writing."""
    had = _call_for_file_lease(fd, "F_RDLCK")
    if had:
        _call_for_file_lease(fd, "F_UNLCK")
    return had is False


@contextlib.contextmanager
def file_undisturbed(fd: int) -> Iterator[bool]:
    """Keep others from opening a file for a moment: they wait. False where that cannot be."""
    got = bool(_call_for_file_lease(fd, "F_WRLCK"))
    try:
        yield got
    finally:
        if got:
            _call_for_file_lease(fd, "F_UNLCK")


def _call_for_file_lease(fd: int, kind: str) -> bool | None:
    """Whether a lease can be had; None where there are none (another's file, some disks)."""
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # the usual signal would end the process
        fcntl.fcntl(fd, fcntl.F_SETLEASE, getattr(fcntl, kind))
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    return True


def share_memory_of_threads() -> None:
    """glibc gives each thread a heap of its own, and each keeps what was freed: at 10,000 notes
    80 MB of 385. To be said before there are threads."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):  # only glibc can
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def allow_many_open_files() -> None:
    """For a process that serves many: each of its threads has files of its own open."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY_FILES)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
