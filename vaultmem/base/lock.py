"""A lock between processes that the system frees when its holder dies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vaultmem.base.own_path import OwnPath
from vaultmem.base.processes.lock_call import try_lock
from vaultmem.errors import Busy

LEADER_LOCK: Final = "leader.lock"  # held by the one process that follows the files


class HeldLock:
    """A lock that is ours until it is let go, or until the process dies."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def is_at(self, place: Path | OwnPath) -> bool:
        """Whether whoever asks for the lock there finds this one."""
        return _is_lock_file_at(self._fd, place)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def try_to_lock(place: Path | OwnPath) -> HeldLock | None:
    """The lock if nobody has it; None at once if somebody does."""
    fd = OwnPath.of(place).open(os.O_RDWR | os.O_CREAT, 0o600)
    if try_lock(fd):
        return HeldLock(fd)
    os.close(fd)
    return None


def is_locked(place: Path | OwnPath) -> bool:
    """Whether somebody has the lock now."""
    mine = try_to_lock(place)
    if mine is None:
        return True
    mine.release()
    return False


@contextlib.contextmanager
def locked(place: Path | OwnPath, *, timeout: float, what: str) -> Iterator[None]:
    """Hold the lock file, waiting for others at most `timeout` seconds; then Busy."""
    deadline, pause = time.monotonic() + timeout, 0.0005
    while True:
        fd = OwnPath.of(place).open(os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not try_lock(fd):
                if time.monotonic() >= deadline:
                    raise Busy(f"Another process is {what}; try again in a moment.")
                time.sleep(pause)
                pause = min(pause * 2, 0.02)
            if _is_lock_file_at(fd, place):  # else it was deleted, and is nobody's lock any more
                yield
                return
        finally:
            os.close(fd)


def _is_lock_file_at(fd: int, place: Path | OwnPath) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(OwnPath.of(place).path))
    except OSError:
        return False
