"""A client at stdin and stdout, where only sockets can be waited for: threads wait for the rest."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import threading

from vaultmem.front.client_streams import ClientStreams

_PIECE = 1 << 16
_MOST_PIECES = 64  # that wait to be taken; then the client has to wait


class ThreadedStreams(ClientStreams):
    def __init__(self) -> None:
        # What is put in their place later on must not meet a thread that waits for them.
        self._in, self._out = os.dup(0), os.dup(1)
        self._said: queue.Queue[bytes] = queue.Queue(_MOST_PIECES)
        self._told: queue.Queue[bytes] = queue.Queue()
        self._woken, self._waking = socket.socketpair()
        for end in (self._woken, self._waking):
            end.setblocking(False)
        self._is_broken = False
        for work in (self._listen, self._tell):
            threading.Thread(target=work, daemon=True).start()

    def ready(
        self, link: socket.socket | None, seconds: float, *, hears: bool, tells: bool, sends: bool
    ) -> tuple[bool, bool, bool, bool]:
        if self._is_broken:
            raise BrokenPipeError
        links = [] if link is None else [link]
        if hears and not self._said.empty():
            seconds = 0
        said, takes, odd = select.select(
            [*links, self._woken], links if sends else [], links, seconds
        )
        if self._woken in said:
            self._woken.recv(_PIECE)
        of_engine = bool(links) and (link in said or link in odd)
        return hears and not self._said.empty(), tells, of_engine, bool(takes)

    def read(self) -> bytes:
        return self._said.get()

    def write(self, told: bytearray) -> None:
        self._told.put(bytes(told))
        told.clear()

    def is_all_told(self) -> bool:
        return self._is_broken or not self._told.unfinished_tasks

    def has_reader(self) -> bool:
        return not self._is_broken

    def hand_over(self, told: bytearray) -> None:
        self.write(told)
        self._told.join()
        heard, hears = os.pipe()
        os.dup2(heard, 0)
        os.close(heard)
        threading.Thread(target=self._pass_on, args=[hears], daemon=True).start()

    # --- in threads ------------------------------------------------------------------------

    def _listen(self) -> None:
        piece = b" "
        while piece:
            try:
                piece = os.read(self._in, _PIECE)
            except OSError:
                piece = b""
            self._said.put(piece)
            self._wake()

    def _tell(self) -> None:
        while True:
            told = memoryview(self._told.get())
            try:
                while told and not self._is_broken:
                    told = told[os.write(self._out, told) :]
            except OSError:
                self._is_broken = True
            self._told.task_done()
            self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # it is awake
            self._waking.send(b".")

    def _pass_on(self, hears: int) -> None:
        """What the client says, to the server that reads it from now on."""
        with contextlib.suppress(OSError):  # it has ended
            while piece := self._said.get():
                while piece:
                    piece = piece[os.write(hears, piece) :]
        os.close(hears)
