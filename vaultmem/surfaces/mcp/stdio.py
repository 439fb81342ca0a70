"""The MCP server on stdin and stdout, kinder than the library's own transport.

The end of input, SIGTERM, SIGINT and the end of the parent let what runs finish (bounded)
before the process ends with 0.
"""

from __future__ import annotations

import io
import logging
import os
import select
import signal
import threading
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

import anyio
from mcp.server.lowlevel import Server

from vaultmem.base.processes import parent_process
from vaultmem.surfaces.mcp.line_pipe import GRACE_SECONDS, LinePipe
from vaultmem.surfaces.mcp.lines import next_line

log = logging.getLogger("vaultmem")

PARENT_SECONDS: Final = 0.5  # between two looks whether the parent is still there


class HeardBefore(NamedTuple):
    """What a client said before this server came to it, and which of it was answered."""

    said: bytes = b""
    answered: Collection[str | int] = ()


NOTHING_HEARD: Final = HeardBefore()


async def serve_stdio(
    server: Server[Any],
    on_first_reply: Callable[[], None],
    grace: float = GRACE_SECONDS,
    answer_bad_lines: bool = True,
    before: HeardBefore = NOTHING_HEARD,
) -> None:
    """Serve one client until it leaves or the process is asked to end."""
    wire_in, wire_out = _private_wire()
    lines = io.BufferedReader(_Heard(before.said, wire_in), 1 << 16)
    pipe = _StdioPipe(
        iter(lambda: next_line(lines), b""),
        wire_out,
        grace,
        answer_bad_lines=answer_bad_lines,
        answered=before.answered,
        on_first_reply=on_first_reply,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(pipe.heed_signals)
        group.start_soon(pipe.heed_parent)
        await pipe.serve(server)
        group.cancel_scope.cancel()


def _private_wire() -> tuple[int, int]:
    """The wire is moved to private descriptors: whatever else writes to stdout reaches
    stderr, and a child process cannot read the client's requests."""
    wire = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
    return wire


class _Heard(io.RawIOBase):
    """What was read already, and then the rest."""

    def __init__(self, said: bytes, descriptor: int) -> None:
        self._said = said
        self._rest = io.FileIO(descriptor)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if not self._said:
            return self._rest.readinto(buffer)
        taken, self._said = self._said[: len(buffer)], self._said[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


class _StdioPipe(LinePipe):
    """stdin and stdout, which end with the process that started us."""

    def __init__(self, lines: Any, out: int, grace: float, **more: Any) -> None:
        super().__init__(lines, self._write_to_stdout, grace=grace, **more)
        self._out, self._last_seconds = out, grace / 2

    def _write_to_stdout(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._out, view) :]

    def about_to_close(self) -> None:
        # Something that cannot be interrupted must not keep the process for ever.
        last = threading.Timer(self._last_seconds, os._exit, (0,))
        last.daemon = True
        last.start()

    async def heed_signals(self) -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    if self.ending.is_set():  # asked twice
                        self.hurry()
                    self.ending.set()
        except (NotImplementedError, ValueError):
            log.debug("this system has no signals to heed")

    async def heed_parent(self) -> None:
        """Where another process keeps our input open, its end does not come with the client's."""
        while not parent_process.is_parent_gone(heard=self.heard) and _has_stdio_reader(self._out):
            await anyio.sleep(PARENT_SECONDS)
        log.warning("The program that started this server has ended, so it ends too.")
        self.ending.set()


def _has_stdio_reader(descriptor: int) -> bool:
    """Whether anybody is at the other end of a pipe; where that cannot be asked, someone is."""
    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    asked.register(descriptor, 0)
    return not any(said & (select.POLLERR | select.POLLHUP) for _, said in asked.poll(0))
