"""The ASGI application behind the guard, and the server that runs it.

Operations run in worker threads, never on the loop. At the end the streams that only wait for
news are closed at once; requests that do something get some seconds to finish.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread
import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from vaultmem import __version__
from vaultmem.errors import Busy, Unavailable, VaultmemError
from vaultmem.surfaces import answers, render
from vaultmem.surfaces.http import GRACE_SECONDS, HttpSocket, routes, say_http
from vaultmem.surfaces.http.guard import (
    CALLER,
    Guard,
    Message,
    Receive,
    Scope,
    Send,
    refusal_envelope,
)
from vaultmem.surfaces.http.pages import SHARED, PageSite, wants_page
from vaultmem.surfaces.page import frame

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.mcp.server import McpServer
    from vaultmem.vault import Vault

T = TypeVar("T")

READY_SECONDS: Final = 20.0  # a request waits so long for the server to be built
ANSWER_SECONDS: Final = 60.0
HEAD_SECONDS: Final = 15.0  # a connection may take so long to say what it wants
KEEP_ALIVE_SECONDS: Final = 10
LARGEST_ANSWER: Final = 1_000_000  # characters; who asks here is a program
LARGEST_HEAD: Final = 64 * 1024
THREADS: Final = 8

_STATUS: Final = {
    "invalid_input": 400,
    "outside_vault": 400,
    "note_malformed": 400,
    "read_only": 403,
    "not_found": 404,
    "already_exists": 409,
    "conflict": 409,
    "busy": 503,
    "memory_unavailable": 503,
    "storage_full": 507,
}


class Site:
    """REST answers from the table of routes; MCP answers from what `make` builds."""

    def __init__(self, make: Callable[[], McpServer], http_socket: HttpSocket) -> None:
        self._make = make
        self._http_socket = http_socket
        self._routes = routes.routes_with_others(http_socket.routes)
        self._server: McpServer | None = None
        self._mcp: Starlette | None = None
        self._ready = anyio.Event()
        self._limiter = anyio.CapacityLimiter(THREADS)
        self._listeners: set[anyio.CancelScope] = set()
        self._ended = anyio.Event()
        self._page = PageSite(self._work_for_page) if http_socket.page else None
        self.app = self._starlette_app()

    def _starlette_app(self) -> Starlette:
        places = ((each.path.replace("}", ":path}"), each) for each in self._routes)
        rest = [Route(at, partial(self._app_answer, each), methods=["GET"]) for at, each in places]
        page = self._page.routes if self._page else []
        app = Starlette(
            routes=[*rest, *page, Route("/mcp", self)],
            exception_handlers={
                HTTPException: _app_no_route_response,
                VaultmemError: _app_error_response,
                Exception: _app_error_response,
            },
        )
        app.router.redirect_slashes = False
        return app

    async def hold_mcp_server(self) -> None:
        """Build the MCP surface and keep it open until the end."""
        try:
            server = await anyio.to_thread.run_sync(self._make, abandon_on_cancel=True)
            mcp = await anyio.to_thread.run_sync(_mcp_http_app, server)
        except Exception as error:
            say_http(f"MCP cannot be served: {error}")
            self._ready.set()
            return
        async with mcp.router.lifespan_context(mcp):
            self._server, self._mcp = server, mcp
            self._ready.set()
            server.start()
            await self._ended.wait()

    async def _mcp_server_of_app(self) -> McpServer:
        with anyio.move_on_after(READY_SECONDS):
            await self._ready.wait()
        if self._server is not None:
            return self._server
        if self._ready.is_set():
            raise Unavailable("The memory could not be opened; the server's terminal says why.")
        raise Busy("The server is still starting. Try again in a moment.")

    # --- REST ----------------------------------------------------------------------------

    async def _app_answer(self, route: routes.Rest, request: Request) -> Response:
        if self._page and route.path in SHARED and wants_page(request):
            return await self._page.screen(request)
        given = route.read_parameters(request.query_params.multi_items(), request.path_params)
        if route.run is None:
            return Response(self._app_docs_page(route.path), media_type=route.media)
        server = await self._mcp_server_of_app()
        work = partial(_work_for_app, server, route, given, request.scope[CALLER])
        with anyio.move_on_after(ANSWER_SECONDS):
            text = await anyio.to_thread.run_sync(
                work, abandon_on_cancel=True, limiter=self._limiter
            )
            return Response(text, media_type=route.media)
        raise Busy("This takes longer than a request may last. Try again, or ask for less.")

    async def _work_for_page(self, request: Request, do: Callable[[Vault], T]) -> T:
        server = await self._mcp_server_of_app()
        caller = request.scope[CALLER]
        return await anyio.to_thread.run_sync(
            lambda: do(server.for_rest(caller)), abandon_on_cancel=True, limiter=self._limiter
        )

    def _app_docs_page(self, path: str) -> str:
        with_token = bool(self._http_socket.policy.bearers)
        match path:
            case "/health":
                return json.dumps({"status": "ok", "version": __version__})
            case "/openapi.json":
                return render.to_json(routes.openapi(self._routes, with_token=with_token))
        return routes.routes_page(self._routes, self._http_socket.url, with_token=with_token)

    # --- MCP -----------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An object Starlette calls as ASGI; a method it would take for an endpoint of its own."""
        await self._mcp_server_of_app()
        assert self._mcp is not None
        scope["user"] = _http_session_owner(scope[CALLER])
        if not _is_http_listening_only(scope):
            await self._mcp(scope, receive, send)
            return
        open_end = _OpenEndedSend(send)
        with anyio.CancelScope() as listener:
            self._listeners.add(listener)
            try:
                await self._mcp(scope, receive, open_end)
            finally:
                self._listeners.discard(listener)
        await open_end.close()

    # --- the end -------------------------------------------------------------------------

    @property
    def is_built(self) -> bool:
        return self._ready.is_set()

    def end_listeners(self) -> None:
        for listener in self._listeners:
            listener.cancel()
        if self._page:
            self._page.end_news()

    def end_site(self) -> None:
        self._ended.set()


class _OpenEndedSend:
    """Sends on, and ends a response that was cut off, so that the client sees a clean end."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open = False

    async def __call__(self, message: Message) -> None:
        self._open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def close(self) -> None:
        if self._open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _mcp_http_app(server: McpServer) -> Starlette:
    from mcp.server.transport_security import TransportSecuritySettings

    # The guard has looked at Host and Origin already, and knows the names from the settings.
    trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.server.streamable_http_app(transport_security=trusting)


def _http_session_owner(caller: Caller) -> Any:
    """To the SDK a session belongs to whoever opened it; to others it does not exist."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=repr(caller), scopes=[]))


def _is_http_listening_only(scope: Scope) -> bool:
    return scope["method"] == "GET" or (b"mcp-method", b"subscriptions/listen") in scope["headers"]


def _work_for_app(
    server: McpServer, route: routes.Rest, given: routes.Given, caller: Caller
) -> str:
    assert route.run is not None
    answer = render.plain_json(route.run(server.for_rest(caller), given))
    return render.to_json(answers.shortened_answer(answer, LARGEST_ANSWER)[0])


# --- errors -----------------------------------------------------------------------------------


async def _app_error_response(request: Request, error: Exception) -> Response:
    told = answers.error_answer(error)
    status = _STATUS.get(told["error"], 500) if isinstance(error, VaultmemError) else 500
    return Response(render.to_json(told), status, media_type="application/json")


async def _app_no_route_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        code, message = "invalid_input", f"{request.url.path} answers to GET only."
    else:
        code, message = "not_found", "There is no such route. GET /docs lists them all."
    body, status = refusal_envelope(code, message), error.status_code
    return Response(body, status, error.headers, media_type="application/json")


# --- the server -------------------------------------------------------------------------------


class _Connection(H11Protocol):
    """uvicorn's own, which would wait for ever for a request that never comes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._close_silent_http(None, first=True)

    def _close_silent_http(self, before: Any, *, first: bool = False) -> None:
        if self.transport.is_closing():
            return
        if not first and self.cycle is before and self.conn.their_state is h11.IDLE:
            self.transport.close()
            return
        self.loop.call_later(HEAD_SECONDS, self._close_silent_http, self.cycle)

    def send_400_response(self, msg: str) -> None:
        body = refusal_envelope("invalid_input", "This is not a request that can be read as HTTP.")
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # signals are not its business: stdio may be served beside it


def run_http(
    make: Callable[[], McpServer], http_socket: HttpSocket, grace: int = GRACE_SECONDS
) -> None:
    """Serve until SIGTERM or SIGINT, then let what runs finish and return."""
    built: list[McpServer] = []

    def make_once() -> McpServer:
        built.append(make())
        return built[0]

    try:
        anyio.run(_serve_http_until_signal, make_once, http_socket, grace)
    finally:
        for server in built:
            server.stop()
    _leave_http()


def _leave_http() -> None:
    """A thread that is still inside a library (embedding, say) would abort the process when the
    interpreter is taken down around it. Notes are safe on disk by now: just go."""
    if threading.active_count() > 1:
        sys.stderr.flush()
        os._exit(0)


async def _serve_http_until_signal(
    make: Callable[[], McpServer], http_socket: HttpSocket, grace: int
) -> None:
    """Signals ask for an end, which comes within `grace`; only after it do they force one."""
    stop = anyio.Event()
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)
    for number in caught:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    try:
        await listen_http(make, http_socket, stop, grace)
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


async def listen_http(
    make: Callable[[], McpServer], http_socket: HttpSocket, stop: anyio.Event, grace: int
) -> None:
    site = Site(make, http_socket)
    server = _Server(_uvicorn_config(site, http_socket, grace))
    title = http_socket.title or "the vault"
    say_http(f"Serving {title} on {http_socket.url}")
    say_http(f"  MCP at {http_socket.url}/mcp, REST at {http_socket.url}/docs; Ctrl-C ends it.")
    if http_socket.link:
        say_http(f"  The page, for you: {http_socket.link}")
    if count := len(http_socket.policy.bearers):
        known = "1 token is" if count == 1 else f"{count} tokens are"
        say_http(f"  {known} known; clients send the header Authorization: Bearer TOKEN")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(site.hold_mcp_server)
        tasks.start_soon(_end_site_at_signal, stop, site, server)
        await server.serve(sockets=[http_socket.socket])
        site.end_site()
        if not site.is_built:
            tasks.cancel_scope.cancel()


async def _end_site_at_signal(stop: anyio.Event, site: Site, server: uvicorn.Server) -> None:
    await stop.wait()
    server.should_exit = True
    site.end_listeners()


def _uvicorn_config(site: Site, http_socket: HttpSocket, grace: int) -> uvicorn.Config:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # we say it in sentences
    door = frame.door if http_socket.page else None
    return uvicorn.Config(
        Guard(site.app, http_socket.policy, door),
        http=_Connection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=grace,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )
