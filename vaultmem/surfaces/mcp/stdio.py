"""The MCP server on stdin and stdout, kinder than the library's own transport.

Every line gets an answer: one that is not JSON gets -32700, one that is no request -32600,
both also a line on stderr. The end of input, SIGTERM, SIGINT and the end of the parent let
what runs finish (bounded) before the process ends with 0. Both protocol eras may speak on
the same pipe: a client that asks `server/discover` and then falls back to `initialize`
finds either answered.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import select
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY
from pydantic import ValidationError

from vaultmem.base import parent_process

log = logging.getLogger("vaultmem")

GRACE_SECONDS: Final = 10.0  # for what runs when the end comes
LINE_BYTES: Final = 16_000_000  # of one message: a memory of a million characters, all escaped
NAMELESS: Final = "unknown"  # a client that does not say who it is
PARENT_SECONDS: Final = 0.5  # between two looks whether the parent is still there
_ENDLESS: Final = frozenset({"subscriptions/listen"})  # never answered before the end


async def serve_stdio(
    server: Server[Any],
    on_first_reply: Callable[[], None],
    grace: float = GRACE_SECONDS,
    answer_bad_lines: bool = True,
) -> None:
    """Serve one client until it leaves or the process is asked to end."""
    pipe = _StdioPipe(on_first_reply, grace, answer_bad_lines=answer_bad_lines)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(pipe.heed_signals)
            group.start_soon(pipe.heed_parent)
            group.start_soon(pipe.finish)
            async with anyio.create_task_group() as lanes:
                for receive in pipe.receives:
                    lanes.start_soon(_run_on_pipe, server, receive, pipe)
                pipe.start()
            group.cancel_scope.cancel()
    finally:
        pipe.close()


async def _run_on_pipe(server: Server[Any], receive: Any, pipe: _StdioPipe) -> None:
    send, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def write() -> None:
        async with outgoing:
            async for message in outgoing:
                pipe.write(message.message)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await server.run(receive, send, server.create_initialization_options())


class _StdioPipe:
    """stdin and stdout, with what is under way between them.

    The wire is moved to private descriptors: whatever else writes to stdout reaches
    stderr, and a child process cannot read the client's requests.
    """

    def __init__(
        self, on_first_reply: Callable[[], None], grace: float, *, answer_bad_lines: bool
    ) -> None:
        self._grace = grace
        self._answer_bad_lines = answer_bad_lines
        self._in, self._out = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.dup2(2, 1)
        os.close(empty)
        self._on_first_reply = on_first_reply
        self._token = anyio.lowlevel.current_token()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_stdio_lines, name="stdout", daemon=True)
        legacy, from_legacy = anyio.create_memory_object_stream[Any](0)
        modern, from_modern = anyio.create_memory_object_stream[Any](0)
        self._legacy: MemoryObjectSendStream[Any] = legacy
        self._modern: MemoryObjectSendStream[Any] = modern
        self.receives = (from_legacy, from_modern)
        self._running: set[str | int | None] = set()
        self._heard = False
        self._idle = anyio.Event()
        self._ending = anyio.Event()
        self._hurry = anyio.Event()

    def start(self) -> None:
        self._writer.start()
        threading.Thread(target=self._read_stdio_lines, name="stdin", daemon=True).start()

    def close(self) -> None:
        """Everything answered is written before this returns, unless nobody reads."""
        self._lines.put(None)
        self._writer.join(self._grace)

    # --- in ------------------------------------------------------------------------------

    def _read_stdio_lines(self) -> None:
        try:
            with os.fdopen(self._in, "rb", buffering=1 << 16) as lines:
                while line := _next_stdio_line(lines):
                    self._heard = True
                    if line.strip(_BLANK):
                        anyio.from_thread.run(
                            self._take_stdio_message, parsed_message(line), token=self._token
                        )
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            log.debug("reading ended", exc_info=True)
        finally:
            self.end()

    async def _take_stdio_message(self, taken: SessionMessage | types.JSONRPCError) -> None:
        if isinstance(taken, types.JSONRPCError):
            if self._answer_bad_lines or taken.error.code != types.PARSE_ERROR:
                self.write(taken)
            return
        lane, message = self._legacy, taken.message
        if isinstance(message, types.JSONRPCRequest):
            if self._ending.is_set():
                return  # a signal came: what runs is finished, nothing is begun
            if message.method not in _ENDLESS:
                self._running.add(message.id)
            if message.method != "initialize" and names_protocol_version(message.params):
                lane = self._modern
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._running.discard((message.params or {}).get("requestId"))
            await self._modern.send(taken)
        await lane.send(taken)

    # --- out -----------------------------------------------------------------------------

    def write(self, message: types.JSONRPCMessage) -> None:
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        self._lines.put(line)
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
            self._running.discard(message.id)
            if not self._running:
                self._idle.set()

    def _write_stdio_lines(self) -> None:
        """A thread of its own: a client that reads slowly delays nothing but its own answers."""
        first = True
        while (line := self._lines.get()) is not None:
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._out, view) :]
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
            self._ending.set()

        try:
            anyio.from_thread.run(begin, token=self._token)
        except RuntimeError:
            log.debug("the end had come already")

    async def finish(self) -> None:
        await self._ending.wait()
        with anyio.move_on_after(self._grace):
            while self._running and not self._hurry.is_set():
                self._idle = anyio.Event()
                await self._idle.wait()
        # Something that cannot be interrupted must not keep the process for ever.
        last = threading.Timer(self._grace / 2, os._exit, (0,))
        last.daemon = True
        last.start()
        await self._legacy.aclose()
        await self._modern.aclose()

    async def heed_signals(self) -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                log.debug("waiting for a client")
                async for _ in signals:
                    if self._ending.is_set():  # asked twice
                        self._hurry.set()
                        self._idle.set()
                    self._ending.set()
        except (NotImplementedError, ValueError):
            log.debug("this system has no signals to heed")

    async def heed_parent(self) -> None:
        """Where another process keeps our input open, its end does not come with the client's."""
        while not parent_process.is_parent_gone(heard=self._heard) and _has_stdio_reader(self._out):
            await anyio.sleep(PARENT_SECONDS)
        log.warning("The program that started this server has ended, so it ends too.")
        self._ending.set()


# --- one line ----------------------------------------------------------------------------

_CANCELLED: Final = "notifications/cancelled"
_STEP: Final = 1 << 20
_HEAD: Final = 1_000  # bytes in which a message that is too long may name its id
_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,100}")')
_BLANK: Final = b" \t\r\n\0"
_HALF: Final = re.compile("[\ud800-\udfff]")


def _next_stdio_line(lines: BinaryIO) -> bytes:
    """The next line; of one that is too long, a beginning that is too long as well."""
    line = lines.readline(LINE_BYTES + 1)
    if len(line) > LINE_BYTES and not line.endswith(b"\n"):
        while (rest := lines.readline(_STEP)) and not rest.endswith(b"\n"):
            pass
    return line


def parsed_message(line: bytes) -> SessionMessage | types.JSONRPCError:
    """The message on a line, or the error that its sender is to get."""
    if len(line) > LINE_BYTES:
        found = _ID.search(line[:_HEAD])
        reason = f"a message has at most {LINE_BYTES:,} bytes, and this one has more"
        return _refused_stdio_message(json.loads(found[1]) if found else None, reason)
    try:
        found = json.loads(
            line.strip(_BLANK).removeprefix(b"\xef\xbb\xbf").decode(),
            parse_constant=_refuse_jsonrpc_constant,
        )
    except (ValueError, RecursionError) as error:
        log.warning("a line that is not JSON was refused: %s", str(error)[:200])
        return _jsonrpc_error(
            None, types.PARSE_ERROR, f"Parse error: the line is not JSON ({error})."
        )
    if isinstance(found, list):
        return _refused_stdio_message(
            None, "batches are not part of the protocol; send one message per line"
        )
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return _refused_stdio_message(
            _jsonrpc_id(found), 'a message is an object with "jsonrpc": "2.0"'
        )
    if "method" in found and "id" in found and _jsonrpc_id(found) is None:
        return _refused_stdio_message(None, "the id of a request is a text or a whole number")
    if found.get("method") == "initialize":
        _complete_stdio_initialize(found)
    try:
        message = types.jsonrpc_message_adapter.validate_python(
            _stdio_whole_numbers(found), by_name=False
        )
        return SessionMessage(message)
    except ValidationError as error:
        return _refused_stdio_message(
            _jsonrpc_id(found), f"{error.error_count()} fields are not as they must be"
        )
    except RecursionError:
        return _refused_stdio_message(_jsonrpc_id(found), "it is nested too deeply")


def _refuse_jsonrpc_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _refused_stdio_message(id_: str | int | None, reason: str) -> types.JSONRPCError:
    log.warning("a message was refused: %s", reason)
    return _jsonrpc_error(id_, types.INVALID_REQUEST, f"Invalid request: {reason}.")


def _jsonrpc_error(id_: str | int | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=id_, error=types.ErrorData(code=code, message=message)
    )


def _jsonrpc_id(found: Any) -> str | int | None:
    id_ = found.get("id") if isinstance(found, dict) else None
    return id_ if isinstance(id_, (str, int)) and not isinstance(id_, bool) else None


def _complete_stdio_initialize(initialize: dict[str, Any]) -> None:
    """Small clients leave out what the library insists on."""
    params = initialize.setdefault("params", {})
    if isinstance(params, dict):
        params.setdefault("protocolVersion", "2024-11-05")
        params.setdefault("capabilities", {})
        params.setdefault("clientInfo", {"name": NAMELESS, "version": ""})


def _stdio_whole_numbers(value: Any) -> Any:
    """Half of a surrogate pair becomes U+FFFD, as in every encoder of the web."""
    if isinstance(value, str):
        return value if value.isascii() else _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_stdio_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {
            _stdio_whole_numbers(key): _stdio_whole_numbers(item) for key, item in value.items()
        }
    return value


def names_protocol_version(params: Mapping[str, Any] | None) -> bool:
    """Whether a request says so itself, as in the era without a handshake."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


def _has_stdio_reader(descriptor: int) -> bool:
    """Whether anybody is at the other end of a pipe; where that cannot be asked, someone is."""
    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    asked.register(descriptor, 0)
    return not any(said & (select.POLLERR | select.POLLHUP) for _, said in asked.poll(0))
