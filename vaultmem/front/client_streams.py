"""A client at stdin and stdout, where the system tells what is ready without a thread."""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

_PIECE = 1 << 16
_WHOLE = 4096  # bytes that a pipe takes at once when it says that it takes some
_GONE = select.POLLERR | select.POLLHUP if hasattr(select, "poll") else 0


class ClientStreams:
    def ready(
        self, link: socket | None, seconds: float, *, hears: bool, tells: bool, sends: bool
    ) -> tuple[bool, bool, bool, bool]:
        """Whether the client said something, and takes something; and the same of the engine."""
        asked = select.poll()
        if hears:
            asked.register(0, select.POLLIN)
        if tells:
            asked.register(1, select.POLLOUT)
        number = -1 if link is None else link.fileno()
        if link is not None:
            asked.register(number, select.POLLIN | (select.POLLOUT if sends else 0))
        found = dict(asked.poll(seconds * 1000))
        if found.get(1, 0) & _GONE:
            raise BrokenPipeError
        of_engine = found.get(number, 0)
        said = bool(of_engine & (select.POLLIN | _GONE))
        return 0 in found, 1 in found, said, bool(of_engine & select.POLLOUT)

    def read(self) -> bytes:
        """Empty at the end."""
        try:
            return os.read(0, _PIECE)
        except OSError:
            return b""

    def write(self, told: bytearray) -> None:
        """As much of it as is taken now; that is taken out."""
        while told and _takes_some(1):
            del told[: os.write(1, told[:_WHOLE])]

    def is_all_told(self) -> bool:
        """Of what was taken out."""
        return True

    def has_reader(self) -> bool:
        asked = select.poll()
        asked.register(1, 0)
        return not any(said & _GONE for _, said in asked.poll(0))

    def hand_over(self, told: bytearray) -> None:
        """To the server in this process, when that much is told."""
        os.set_blocking(1, True)
        while told:
            del told[: os.write(1, told)]


def _takes_some(descriptor: int) -> bool:
    asked = select.poll()
    asked.register(descriptor, select.POLLOUT)
    return bool(asked.poll(0))
