"""The system's call behind a lock between processes, as light as a window has to be."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt

    def try_lock(fd: int) -> bool:
        """Whether the lock on this open file is ours now, until it is closed."""
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Whether the lock on this open file is ours now, until it is closed."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def locked_file(path: str) -> int:
    """Its descriptor, while nobody else has the lock; -1 where somebody does."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags, 0o600)
    try:
        if try_lock(fd):
            return fd
    except OSError:
        os.close(fd)
        raise
    os.close(fd)
    return -1
