"""A client at the other end of a pipe or socket: its messages line by line, and what is under way.

Every line gets an answer: one that is not JSON gets -32700, one that is no request -32600,
both also a line on stderr. Both protocol eras may speak on the same pipe: a client that asks
`server/discover` and then falls back to `initialize` finds either answered.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from vaultmem.surfaces.mcp.lines import BLANK
from vaultmem.surfaces.mcp.messages import (
    named_client,
    names_protocol_version,
    parsed_message,
)

log = logging.getLogger("vaultmem")

GRACE_SECONDS: Final = 10.0  # for what runs when the end comes
_CANCELLED: Final = "notifications/cancelled"
_ENDLESS: Final = frozenset({"subscriptions/listen"})  # never answered before the end


class LinePipe:
    """`lines` blocks until the next line, and ends with the client; `send` writes all of a line
    or raises OSError. Both run in threads of their own."""

    def __init__(
        self,
        lines: Iterator[bytes],
        send: Callable[[bytes], None],
        *,
        grace: float = GRACE_SECONDS,
        answer_bad_lines: bool = True,
        answered: Collection[str | int | None] = (),
        on_first_reply: Callable[[], None] = lambda: None,
        on_client: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._in, self._send = lines, send
        self._grace = grace
        self._answer_bad_lines = answer_bad_lines
        self._answered = Counter(answered)  # requests whose replies the client has already
        self._on_first_reply = on_first_reply
        self._on_client = on_client
        self._token = anyio.lowlevel.current_token()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_lines, name="to-client", daemon=True)
        legacy, from_legacy = anyio.create_memory_object_stream[Any](0)
        modern, from_modern = anyio.create_memory_object_stream[Any](0)
        self._legacy: MemoryObjectSendStream[Any] = legacy
        self._modern: MemoryObjectSendStream[Any] = modern
        self._receives = (from_legacy, from_modern)
        self._running: Counter[str | int | None] = Counter()  # an id may come twice
        self.heard = False
        self._idle = anyio.Event()
        self.ending = anyio.Event()
        self._hurry = anyio.Event()

    async def serve(self, server: Server[Any]) -> None:
        """Until the client leaves or the end is asked for; what runs may finish."""
        log.debug("waiting for a client")
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._finish)
                async with anyio.create_task_group() as lanes:
                    for receive in self._receives:
                        lanes.start_soon(self._run_lane, server, receive)
                    self._writer.start()
                    reading = contextvars.copy_context().run  # what it logs is this client's
                    threading.Thread(
                        target=reading, args=[self._read_lines], name="from-client", daemon=True
                    ).start()
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):  # others may live in this loop
                await anyio.to_thread.run_sync(self._close)

    async def _run_lane(self, server: Server[Any], receive: Any) -> None:
        send, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

        async def write() -> None:
            async with outgoing:
                async for message in outgoing:
                    self.write(message.message)

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await server.run(receive, send, server.create_initialization_options())

    def _close(self) -> None:
        """Everything answered is written before this returns, unless nobody reads."""
        self._lines.put(None)
        self._writer.join(self._grace)

    # --- in ------------------------------------------------------------------------------

    def _read_lines(self) -> None:
        try:
            for line in self._in:
                self.heard = True
                if line.strip(BLANK):
                    anyio.from_thread.run(self._take, parsed_message(line), token=self._token)
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            log.debug("reading ended", exc_info=True)
        finally:
            self.end()

    async def _take(self, taken: SessionMessage | types.JSONRPCError) -> None:
        if isinstance(taken, types.JSONRPCError):
            if self._answer_bad_lines or taken.error.code != types.PARSE_ERROR:
                self.write(taken)
            return
        lane, message = self._legacy, taken.message
        if isinstance(message, types.JSONRPCRequest):
            if self.ending.is_set():
                return  # a signal came: what runs is finished, nothing is begun
            if message.method not in _ENDLESS:
                self._running[message.id] += 1
            if name := named_client(message):
                self._on_client(name)
            if message.method != "initialize" and names_protocol_version(message.params):
                lane = self._modern
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._forget((message.params or {}).get("requestId"))
            await self._modern.send(taken)
        await lane.send(taken)

    # --- out -----------------------------------------------------------------------------

    def write(self, message: types.JSONRPCMessage) -> None:
        if not isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
            self._lines.put(_line_of(message))
            return
        if self._answered[message.id] > 0:
            self._answered[message.id] -= 1
        else:
            self._lines.put(_line_of(message))
        self._forget(message.id)
        if not self._running:
            self._idle.set()

    def _forget(self, id_: object) -> None:
        """One request of this id is done; what a client calls an id may be anything."""
        if isinstance(id_, (str, int)) and self._running[id_] > 1:
            self._running[id_] -= 1
        elif isinstance(id_, (str, int)):
            del self._running[id_]

    def _write_lines(self) -> None:
        """A thread of its own: a client that reads slowly delays nothing but its own answers."""
        first = True
        while (line := self._lines.get()) is not None:
            try:
                self._send(line)
            except OSError:
                log.debug("the client no longer reads")
                self.end()
                return
            if first:
                first = False
                self._on_first_reply()

    # --- the end -------------------------------------------------------------------------

    def end(self) -> None:
        """No more is read; what runs may finish. From any thread."""

        async def begin() -> None:
            self.ending.set()

        try:
            anyio.from_thread.run(begin, token=self._token)
        except RuntimeError:
            log.debug("the end had come already")

    def hurry(self) -> None:
        """What runs is not waited for any longer."""
        self._hurry.set()
        self._idle.set()

    async def _finish(self) -> None:
        await self.ending.wait()
        with anyio.move_on_after(self._grace):
            while self._running and not self._hurry.is_set():
                self._idle = anyio.Event()
                await self._idle.wait()
        self.about_to_close()
        await self._legacy.aclose()
        await self._modern.aclose()

    def about_to_close(self) -> None:
        """What runs has finished, or had its time."""


def _line_of(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
