"""What every request must pass before any route sees it: Host, Origin, token, size.

Host and Origin keep a web page in the user's browser from reaching a server on the user's own
machine (DNS rebinding): the page's requests carry the page's names, not ours. An address written
in numbers cannot be rebound, so the one a connection arrived at is always a right Host.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio

from vaultmem.surfaces.http import tokens

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CALLER: Final = "vaultmem.caller"
TRUSTED: Final = "vaultmem.trusted"  # whether the token of the run was shown
KNOWN: Final = "vaultmem.known"  # whether it was that one or another that is known
LARGEST_BODY: Final = 4 * 1024 * 1024
BODY_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 2.0
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN: Final = frozenset({"/health"})  # answered without a token: it tells nothing
ASSETS: Final = "/page/"  # neither do the page's own files

_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@?#\[\]]+)(?::(\d{1,5}))?")
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    status: int
    error: str
    message: str
    retry_possible: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()


def refusal_envelope(error: str, message: str, *, retry_possible: bool = False) -> bytes:
    told = {"error": error, "message": message}
    flags = {"retry_possible": retry_possible, "degraded": False}
    return json.dumps(told | flags, ensure_ascii=False).encode(errors="replace")


@dataclass(frozen=True)
class Policy:
    caller: Caller  # who speaks where there are no tokens
    bearers: Mapping[tokens.Token, Caller] = field(default_factory=dict)
    hosts: frozenset[str] = frozenset()  # names beside localhost and the connection's own address
    run: tokens.Token | None = None  # of the person who started the server, for the web page
    is_closed: bool = False  # nobody comes in without it

    def refusal(self, scope: Scope) -> HttpRefusal | None:
        """Why this request may not come in; otherwise `scope` says who is calling."""
        return (
            self._wrong_host_refusal(scope)
            or self._foreign_origin_refusal(scope)
            or self._unknown_token_refusal(scope)
        )

    def _wrong_host_refusal(self, scope: Scope) -> HttpRefusal | None:
        host = _guarded_host_and_port(_guarded_header(scope, b"host"))
        if host and (host[0] in LOOPBACK | self.hosts or host[0] == _guarded_host(scope)):
            return None
        return HttpRefusal(
            421,
            "invalid_input",
            "This server does not answer to that host name. Use the address it printed when it "
            "started, or add the name to http.hosts in .vaultmem/config.toml.",
        )

    def _foreign_origin_refusal(self, scope: Scope) -> HttpRefusal | None:
        own = _guarded_host_and_port(_guarded_header(scope, b"host"))
        origins = _guarded_headers(scope, b"origin")
        elsewhere = _guarded_header(scope, b"sec-fetch-site") in ("cross-site", "same-site")
        if not elsewhere and all(self._is_own_origin(origin, own) for origin in origins):
            return None
        return HttpRefusal(403, "forbidden", "Pages of other web sites may not use this server.")

    def _is_own_origin(self, origin: str, own: tuple[str, str] | None) -> bool:
        scheme, _, authority = origin.partition("://")
        page = _guarded_host_and_port(authority)
        if own is None or page is None or scheme not in ("http", "https"):
            return False
        if page[0] in self.hosts:
            return True
        same_name = page[0] == own[0] or {page[0], own[0]} <= LOOPBACK
        return same_name and (page[1] or _DEFAULT_PORT[scheme]) == (own[1] or _DEFAULT_PORT[scheme])

    def _unknown_token_refusal(self, scope: Scope) -> HttpRefusal | None:
        scope[CALLER], scope[TRUSTED] = self.caller, False
        token = self._shown_token(scope)
        scope[KNOWN] = token is not None
        if token is not None and token is self.run:
            scope[TRUSTED] = True
            return None
        if not self.is_locked or scope["path"] in OPEN or scope["path"].startswith(ASSETS):
            return None
        if token is not None:
            scope[CALLER] = self.bearers[token]
            return None
        return HttpRefusal(
            401,
            "unauthorized",
            "This server needs a token it knows: send the header Authorization: Bearer TOKEN.",
            headers=((b"www-authenticate", b"Bearer"),),
        )

    @property
    def is_locked(self) -> bool:
        return self.is_closed or bool(self.bearers)

    def _shown_token(self, scope: Scope) -> tokens.Token | None:
        known = (*self.bearers, *((self.run,) if self.run else ()))
        kind, _, presented = _guarded_header(scope, b"authorization").partition(" ")
        token = tokens.token_of_bearer(known, presented.strip().encode("latin-1"))
        return token if kind.lower() == "bearer" else None


_DEFAULT_PORT: Final = {"http": "80", "https": "443"}


def host_names(given: Iterable[str]) -> frozenset[str]:
    """Names from the settings, with or without scheme and port, as they are compared."""
    bare = (urlsplit(name).netloc if "://" in name else name for name in given)
    return frozenset(split[0] for name in bare if (split := _guarded_host_and_port(name.strip())))


def _guarded_host_and_port(authority: str) -> tuple[str, str] | None:
    """`[::1]:8765` -> `::1`, `8765`."""
    found = _AUTHORITY.fullmatch(authority.lower())
    return (found[1].strip("[]"), found[2] or "") if found else None


def _guarded_headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _guarded_header(scope: Scope, name: bytes) -> str:
    """The header's value; empty when it is missing or given twice."""
    values = _guarded_headers(scope, name)
    return values[0].strip() if len(values) == 1 else ""


def _guarded_host(scope: Scope) -> str:
    address = (scope.get("server") or ("",))[0]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


class Guard:
    """`door` is the page for a browser that comes without a token."""

    def __init__(self, app: App, policy: Policy, door: Callable[[], str] | None = None) -> None:
        self.app = app
        self.policy = policy
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        send = _with_security_headers(send)
        refusal = self.policy.refusal(scope)
        if refusal is None:
            body = await _guarded_body(scope, receive)
            if body is None:
                return
            if isinstance(body, bytes):
                await self.app(scope, _guarded_receive(body, receive), send)
                return
            refusal = body
        elif refusal.status == 401 and _is_looked_at(scope) and self.door is not None:
            await _send_door(self.door(), send)
            return
        await send_refusal(refusal, scope, receive, send)


def _is_looked_at(scope: Scope) -> bool:
    return scope["method"] == "GET" and "text/html" in _guarded_header(scope, b"accept")


async def _send_door(text: str, send: Send) -> None:
    """It says nothing of the vault, and is no failure: its script comes back with the token."""
    from vaultmem.surfaces.page.frame import POLICY

    body = text.encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", POLICY.encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _guarded_body(scope: Scope, receive: Receive) -> bytes | HttpRefusal | None:
    """The whole body, bounded in size and time, however it is sent; None when the client left."""
    if not _has_body_to_guard(scope):
        return b""
    length = _guarded_header(scope, b"content-length")
    if length.isdigit() and int(length[:20]) > LARGEST_BODY:
        return _TOO_LARGE
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY:
                return _TOO_LARGE
            if not message.get("more_body", False):
                return bytes(body)
    return HttpRefusal(
        408, "busy", "The request's body did not arrive in time.", retry_possible=True
    )


_TOO_LARGE: Final = HttpRefusal(
    413,
    "invalid_input",
    f"A request may carry {LARGEST_BODY // 2**20} MiB at most. Split it into smaller ones.",
)


def _has_body_to_guard(scope: Scope) -> bool:
    names = {key for key, _ in scope["headers"]}
    return b"transfer-encoding" in names or _guarded_header(scope, b"content-length") not in (
        "",
        "0",
    )


def _guarded_receive(body: bytes, receive: Receive) -> Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def send_refusal(refusal: HttpRefusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without reading on. A client that is still sending gets the answer first and a
    moment to read it: closing at once would reset the connection and lose the answer."""
    body = refusal_envelope(refusal.error, refusal.message, retry_possible=refusal.retry_possible)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *refusal.headers,
    ]
    sending = _has_body_to_guard(scope)
    if sending:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": sending})
    if sending:
        with anyio.move_on_after(LINGER_SECONDS):
            while (await receive()).get("more_body", False):
                pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _with_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {key.lower() for key, _ in given}
            extra = [pair for pair in _HEADERS if pair[0] not in names]
            message = {**message, "headers": given + extra}
        await send(message)

    return sending
