"""Serve a vault over HTTP: MCP at /mcp and a REST API beside it.

    app.run_http(make, open_http_socket(host, port))    blocks until a signal
    await app.listen_http(make, http_socket, …)         the same beside something else in one loop

`make` builds the MCP surface. It is called once, in a thread, after the socket listens: a client
that comes early waits for it, and /health answers meanwhile.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vaultmem.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.http.guard import Policy
    from vaultmem.surfaces.http.routes import Rest

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8765
GRACE_SECONDS: Final = 5
_ADDRESS: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]*):)?(\d{1,5})|([^\s:/\[\]]+)")


@dataclass(frozen=True)
class RunToken:
    """What the person who started the server shows, from the web page."""

    text: str  # empty where the tokens of a file are the only ones
    is_needed: bool = False  # by everybody; else only for changes


@dataclass(frozen=True)
class HttpSocket:
    """A socket that is bound, and the rules for coming in through it."""

    socket: socket.socket
    policy: Policy
    title: str
    routes: tuple[Rest, ...] = ()  # each takes the place of the usual one on its path
    page: bool = False  # whether the web page is served beside them
    link: str = ""  # to the page, where the terminal is to show it

    @property
    def url(self) -> str:
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def parse_http_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; either may be left out. Without a host it is this machine alone."""
    found = _ADDRESS.fullmatch(text.strip())
    if not found:
        raise InvalidInput(f"{text!r} is not an address; write it as HOST:PORT: 127.0.0.1:8765.")
    host = (found[1] or found[3] or DEFAULT_HOST).strip("[]")
    port = int(found[2]) if found[2] else DEFAULT_PORT
    if port > 65535:
        raise InvalidInput(f"There is no port {port}; ports go up to 65535.")
    return host, port


def caller_of_request(request: Any) -> Caller | None:
    """Who sent this HTTP request; None when it did not come through the guard."""
    from vaultmem.surfaces.http.guard import CALLER

    return None if request is None else request.scope.get(CALLER)


def open_http_socket(
    host: str,
    port: int,
    caller: Caller | None = None,
    token_file: str | None = None,
    hosts: Iterable[str] = (),
    title: str = "",
    routes: Iterable[Rest] = (),
    page: RunToken | None = None,
) -> HttpSocket:
    """Everything that can be refused is refused here, before anything is opened or built."""
    from vaultmem.operations.caller import Caller
    from vaultmem.surfaces.http import guard, tokens

    known = tokens.read_tokens(token_file, say_http) if token_file else ()
    caller = caller or Caller()
    bearers = {token: tokens.pinned_caller(caller, token) for token in known}
    family, address = _resolved_http_address(host, port)
    near = ipaddress.ip_address(address[0].partition("%")[0]).is_loopback
    if not near and not known:
        raise InvalidInput(
            f"{host} can be reached from other machines, so a token is needed: "
            "--token-file FILE. Without one, serve on 127.0.0.1."
        )
    if not near:
        say_http("Tokens travel unencrypted here: put a proxy with TLS in front of it.")
    names = guard.host_names((*hosts, host) if not near else hosts)
    run = tokens.token_of_run(page.text) if page and page.text else None
    closed = page is not None and page.is_needed
    policy = guard.Policy(caller, bearers, names, run, closed)
    bound = _bound_http_socket(family, address)
    return HttpSocket(bound, policy, title, tuple(routes), page is not None)


def say_http(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _resolved_http_address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    host = DEFAULT_HOST if host == "localhost" else host
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InvalidInput(f"This machine knows no address {host!r} to serve on.") from None
    return found[0][0], found[0][4]


def _bound_http_socket(family: socket.AddressFamily, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would let two servers share a port
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        raise Unavailable(
            f"{address[0]}:{address[1]} cannot be served on: {error.strerror}. "
            "Choose another port, or 0 for any that is free."
        ) from None
    return made
