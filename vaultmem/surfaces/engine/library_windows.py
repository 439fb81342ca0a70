"""Windows, or what of them, the MCP library serves: dialects, and what is seldom said."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from vaultmem.front.asker import Asker, working_for
from vaultmem.surfaces import serving
from vaultmem.surfaces.engine.callers import Refused, Visitor, speak_for
from vaultmem.surfaces.mcp import line_pipe
from vaultmem.surfaces.mcp.followed_vault import MakeLife
from vaultmem.surfaces.mcp.server import McpServer

log = logging.getLogger("vaultmem")

_START_SECONDS: Final = 30.0


class WindowLoop:
    """The event loop that all of them live in, in a thread of its own from the first one on."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._token: anyio.lowlevel.EventLoopToken | None = None
        self._group: anyio.abc.TaskGroup | None = None
        self._end: anyio.Event | None = None
        self._pipes: set[line_pipe.LinePipe] = set()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, window: LibraryWindow) -> None:
        self._start()
        assert self._token is not None and self._group is not None
        anyio.from_thread.run_sync(
            self._group.start_soon, window.live, self._pipes, token=self._token
        )

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=anyio.run, args=[self._run], daemon=True)
                self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise Refused("the engine could not begin")

    async def _run(self) -> None:
        self._end = anyio.Event()
        self._token = anyio.lowlevel.current_token()
        async with anyio.create_task_group() as group:
            self._group = group
            self._ready.set()
            await self._end.wait()
            for pipe in tuple(self._pipes):
                pipe.ending.set()

    def stop(self) -> None:
        """What runs in the windows may finish."""
        if self._thread is None or self._token is None or self._end is None:
            return
        anyio.from_thread.run_sync(self._end.set, token=self._token)
        self._thread.join(line_pipe.GRACE_SECONDS * 1.5)


class LibraryWindow:
    """One of them, or the rest of one: `answered` are requests whose replies its client has."""

    def __init__(
        self,
        visitor: Visitor,
        asker: Asker,
        how: serving.Serving,
        life: MakeLife,
        lines: Iterator[bytes],
        answered: Collection[Any] = (),
    ) -> None:
        self._visitor, self._asker = visitor, asker
        self._how, self._life = how, life
        self._lines, self._answered = lines, answered
        self._gone = threading.Event()

    def wait(self) -> None:
        """Until the window is gone."""
        self._gone.wait()

    async def live(self, pipes: set[line_pipe.LinePipe]) -> None:
        try:
            with working_for(self._asker):
                speak_for(self._visitor)
                await self._serve(pipes)
        except Exception:  # the edge: the other windows go on
            log.warning("a window ended oddly", exc_info=True)
        finally:
            self._gone.set()

    async def _serve(self, pipes: set[line_pipe.LinePipe]) -> None:
        dialect = self._how.dialect
        server = self._how.server(over_http=False, life=self._life)
        pipe = line_pipe.LinePipe(
            self._lines,
            self._visitor.send,
            grace=dialect.grace_seconds if dialect else line_pipe.GRACE_SECONDS,
            answer_bad_lines=dialect is None or dialect.answers_bad_lines,
            answered=self._answered,
            on_first_reply=server.start,
            on_client=self._visitor.know_client,
        )
        pipes.add(pipe)
        try:
            await pipe.serve(server.server)
        finally:
            pipes.discard(pipe)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_stop_server, server)


def _stop_server(server: McpServer) -> None:
    try:
        server.stop()
    except Exception:  # the edge of a window
        log.warning("a window could not put all in order", exc_info=True)
