"""`vaultmem serve` on a disk that does as it is told: fails, delays, or lets others go first.

Orders come as lines of JSON through a socket: {"kind": …, "at": 7} arms a fault for the seventh
call from now by which a tool's thread touches files; {"kind": ""} disarms it.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

CALLS: Final = (
    *("open", "write", "fsync", "replace", "rename", "link", "unlink", "mkdir", "stat"),
    *("lstat", "chmod", "listdir", "scandir", "rmdir"),
)
ERRORS: Final = {"no space": errno.ENOSPC, "read-only": errno.EROFS, "input/output": errno.EIO}
CHANGES: Final = ("write", "fsync", "replace", "rename", "link", "unlink", "mkdir", "chmod")
LONGEST: Final = 5.0  # seconds for others to go first


class Disk:
    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._kind, self._left = "", 0
        self._guard = threading.Lock()
        self._go = threading.Event()

    def listen(self) -> None:
        for line in self._orders.makefile("r"):
            order = json.loads(line)
            if order["kind"] == "go":
                self._go.set()
                continue
            with self._guard:
                self._kind, self._left = order["kind"], order.get("at", 0)
            self._say("armed")

    def before(self, name: str) -> str:
        """What goes wrong with this call."""
        if not threading.current_thread().name.startswith("AnyIO"):
            return ""  # only what a tool's thread does is counted: the rest is in no order
        with self._guard:
            self._left -= 1
            kind, strikes = self._kind, self._left == 0
            lasts = kind in ("short writes", "slow") and self._left <= 0
        if strikes and kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if strikes and kind in ("a person saves", "another agent writes"):
            self._let_others_go_first()
        if strikes and kind in ERRORS:
            if name in CHANGES:
                return kind
            with self._guard:
                self._left = 1  # reading does not fail for want of space: the next call may
        return kind if lasts else ""

    def _let_others_go_first(self) -> None:
        self._go.clear()
        self._say("waiting")
        self._go.wait(LONGEST)

    def _say(self, word: str) -> None:
        self._orders.sendall(word.encode() + b"\n")

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            wrong = self.before(name)
            if wrong in ERRORS:
                raise OSError(ERRORS[wrong], os.strerror(ERRORS[wrong]))
            if wrong == "slow":
                time.sleep(0.01)
            if wrong == "short writes" and name == "write":
                return real(arguments[0], bytes(arguments[1])[: max(1, len(arguments[1]) // 3)])
            return real(*arguments, **named)

        return call


def main() -> None:
    orders = socket.socket(fileno=int(sys.argv.pop(1)))
    disk = Disk(orders)
    for name in CALLS:
        real = getattr(os, name)
        setattr(os, name, disk.wrapped(name, real))
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if real in able:
                able.add(getattr(os, name))
    threading.Thread(target=disk.listen, name="vaultmem-orders", daemon=True).start()
    sys.argv[0] = "vaultmem"
    from vaultmem.__main__ import run

    run()


if __name__ == "__main__":
    main()
