"""The windows of an engine: each has a server of its own, on the shared vault."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import click

from vaultmem import config
from vaultmem.errors import VaultmemError
from vaultmem.front.asker import working_for
from vaultmem.surfaces import serving
from vaultmem.surfaces.cli.serve_options import given_to_serve
from vaultmem.surfaces.engine.callers import Hello, Refused, Visitor, speak_for
from vaultmem.surfaces.engine.shared_vault import SharedVault
from vaultmem.surfaces.mcp import line_pipe
from vaultmem.surfaces.mcp.server import McpServer

log = logging.getLogger("vaultmem")

_START_SECONDS: Final = 30.0


class WindowLoop:
    """The event loop that all windows live in, in a thread of its own from the first one on."""

    def __init__(self, shared: SharedVault) -> None:
        self._shared = shared
        self._ready = threading.Event()
        self._token: anyio.lowlevel.EventLoopToken | None = None
        self._group: anyio.abc.TaskGroup | None = None
        self._end: anyio.Event | None = None
        self._pipes: set[line_pipe.LinePipe] = set()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def serve(self, visitor: Visitor, hello: Hello) -> None:
        """Blocks until the window is gone."""
        with working_for(hello.asker):
            how = _asked_serving(self._shared, visitor, hello.arguments, hello.session)
            visitor.session = how.given["session"]
            visitor.project = how.settings["project"]
            read_only = bool(how.settings["read_only"])
        visitor.tell({"session": visitor.session, "read_only": read_only})
        self._start()
        gone = threading.Event()
        assert self._token is not None and self._group is not None
        window = _Window(self._shared, visitor, hello, how, gone, self._pipes)
        anyio.from_thread.run_sync(self._group.start_soon, window.live, token=self._token)
        gone.wait()

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


class _Window:
    def __init__(
        self,
        shared: SharedVault,
        visitor: Visitor,
        hello: Hello,
        how: serving.Serving,
        gone: threading.Event,
        pipes: set[line_pipe.LinePipe],
    ) -> None:
        self._shared, self._visitor, self._hello = shared, visitor, hello
        self._how, self._gone, self._pipes = how, gone, pipes

    async def live(self) -> None:
        try:
            with working_for(self._hello.asker):
                speak_for(self._visitor)
                await self._serve()
        except Exception:  # the edge: the other windows go on
            log.warning("a window ended oddly", exc_info=True)
        finally:
            self._gone.set()

    async def _serve(self) -> None:
        how, dialect = self._how, self._how.dialect

        def caller() -> Any:
            settings = serving.served_settings(how.root, how.given)
            serving.require_servable_settings(settings)  # its pins may stand in what is not read
            return how.caller(settings)

        server = how.server(over_http=False, life=self._shared.window(caller))
        pipe = line_pipe.LinePipe(
            self._visitor.lines(),
            self._visitor.send,
            grace=dialect.grace_seconds if dialect else line_pipe.GRACE_SECONDS,
            answer_bad_lines=dialect is None or dialect.answers_bad_lines,
            on_first_reply=server.start,
            on_client=self._visitor.know_client,
        )
        self._pipes.add(pipe)
        try:
            await pipe.serve(server.server)
        finally:
            self._pipes.discard(pipe)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_stop_server, server)


def _stop_server(server: McpServer) -> None:
    try:
        server.stop()
    except Exception:  # the edge of a window
        log.warning("a window could not put all in order", exc_info=True)


def _asked_serving(
    shared: SharedVault, visitor: Visitor, arguments: Sequence[str], session: str
) -> serving.Serving:
    """What the window's command line says, read as `serve` itself reads it."""
    end = speak_for(visitor)
    try:
        given = given_to_serve(arguments)
        level = serving.server_log_level(given.pop("log_level"), given["dialect"])
        visitor.log_level = logging.getLevelName(level)
        log.setLevel(min(log.level or logging.WARNING, visitor.log_level))
        dialect = serving.served_dialect(given, over_http=False)
        root = config.find_vault(given.pop("vault"))
        if given.pop("address") or given.pop("create") or given["no_watch"] or root != shared.root:
            raise Refused("the command line is not for this engine")
        given["session"] = given["session"] or session
        return serving.prepared_serving(root, given, dialect, at_once=False)
    except (click.UsageError, VaultmemError) as error:
        raise Refused(f"the command line is not for an engine: {error}") from None
    finally:
        end()
