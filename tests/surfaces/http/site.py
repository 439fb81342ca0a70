"""A real server on a loopback port over a real vault, in this process, and a plain client."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
from anyio.from_thread import start_blocking_portal

from vaultmem.operations.caller import Caller
from vaultmem.surfaces import http as surface
from vaultmem.surfaces.http import app

LAPTOP = "laptop-token-0123456789"
PHONE = "phone-token-0123456789"
GUEST = "guest-token-0123456789"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Site:
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def get(self, path: str, token: str = "", **headers: str) -> Answer:
        return self.ask("GET", path, token, **headers)

    def ask(
        self, method: str, path: str, token: str = "", body: Any = None, **headers: str
    ) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            named["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=named)
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def raw(self, sent: bytes) -> bytes:
        """Everything the server says to these bytes, until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(sent)
            received = b""
            while data := connection.recv(65536):
                received += data
        return received


def status_of(received: bytes) -> int:
    return int(received.split(b" ", 2)[1])


def path_of(title: str) -> str:
    return "/memories/" + quote(title, safe="")


@contextmanager
def serving(
    root: Path,
    token_file: Path | None = None,
    hosts: tuple[str, ...] = (),
    page: str | None = None,
    **caller: Any,
) -> Iterator[Site]:
    """With the web page where `page` gives the token of its run, or an empty one."""

    def make() -> Any:
        from vaultmem.surfaces.mcp.server import McpServer, Options
        from vaultmem.vault import Vault

        options = Options(caller=Caller(**caller), watch=False)
        quick = {"typing.quiet_seconds": 0.0}
        return McpServer(lambda: Vault.open(str(root), quick), options, surface.caller_of_request)

    served: list[Any] = []

    def make_once() -> Any:
        served.append(make())
        return served[0]

    given = str(token_file) if token_file else None
    run = None if page is None else surface.RunToken(page)
    http_socket = surface.open_http_socket(
        "127.0.0.1", 0, Caller(**caller), given, hosts, "a test", (), run
    )
    url = http_socket.url
    with start_blocking_portal() as portal:
        stop = portal.call(anyio.Event)
        running = portal.start_task_soon(app.listen_http, make_once, http_socket, stop, 2)
        try:
            yield Site(url)
        finally:
            portal.call(stop.set)
            running.result(timeout=30)
            for each in served:
                each.stop()


def token_file(folder: Path, text: str, name: str = "tokens.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return file
