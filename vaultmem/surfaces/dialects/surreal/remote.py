"""Another vaultmem server over HTTP or HTTPS, asked call by call: nothing is lost when it is
started anew between two of them."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from vaultmem import __version__
from vaultmem.base.own_program import command_to_type
from vaultmem.surfaces.dialects import DialectError
from vaultmem.surfaces.dialects.surreal.calls import SERVER_NAME, Refusal, SurrealCall, Unreachable

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 60.0
LARGEST_ANSWER: Final = 64_000_000  # bytes
_ERA: Final = "2026-07-28"  # in which every request says all that its answer depends on
_WIRE: Final = "io.modelcontextprotocol/"
_IDLE: Final = 8  # connections that are kept
_PLAIN_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_GONE: Final = (ConnectionError, http.client.BadStatusLine, http.client.CannotSendRequest)


class RemoteServer:
    def __init__(self, url: str, token: str) -> None:
        self.place = url
        self._at = urlsplit(url)
        self._token = token
        self.session = ""  # where a call names none
        self._idle: list[http.client.HTTPConnection] = []
        self._keeping = threading.Lock()

    @property
    def shows_password(self) -> bool:
        """Whether everybody on the way can read the token."""
        plain = self._at.scheme == "http" and self._at.hostname not in _PLAIN_HOSTS
        return bool(self._token) and plain

    def perform(self, call: SurrealCall) -> dict[str, Any]:
        params = {"name": call.tool, "arguments": dict(call.given)}
        result = self._result("tools/call", params, call.session, call.client, call.key)
        told = _told_in_result(result)
        if not result.get("isError"):
            return told
        if told.get("error") in ("memory_unavailable", "busy"):
            raise Unreachable(str(told.get("message", "the server has no memory at hand")))
        raise Refusal(told)

    def read(self, uri: str, session: str) -> tuple[str, str]:
        result = self._result("resources/read", {"uri": uri}, session, "", "")
        (content,) = result["contents"]
        return content["mimeType"], content["text"]

    def probe(self) -> None:
        """Whether it is there, knows us, and speaks as we do."""
        self._result("tools/list", {}, self.session, "", "")

    def close(self) -> None:
        with self._keeping:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # --- one request -------------------------------------------------------------------------

    def _result(
        self, method: str, params: Mapping[str, Any], session: str, client: str, key: str
    ) -> dict[str, Any]:
        extra = {"sessionId": session or self.session}
        meta = {
            f"{_WIRE}protocolVersion": _ERA,
            f"{_WIRE}clientCapabilities": {},
            f"{_WIRE}clientInfo": {
                "name": client or "vaultmem",
                "version": __version__,
                "extra": extra,
            },
            **({"vaultmem/key": key} if key else {}),
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        body = json.dumps(request).encode()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _ERA,
            "Mcp-Method": method,
            **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
        }
        if named := params.get("name") or params.get("uri"):
            headers["Mcp-Name"] = named
        return self._read_reply(*self._sent(body, headers))

    def _sent(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """A connection that was kept may have been closed meanwhile: then once more, on a new
        one. A write that arrived twice is done once, by its key."""
        try:
            while (kept := self._kept_connection()) is not None:
                with contextlib.suppress(*_GONE):
                    return self._exchange(kept, body, headers)
            return self._exchange(self._new_connection(), body, headers)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.place} cannot be reached: {_plain_reason(error)}.") from None

    def _exchange(
        self, connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        try:
            if connection.sock is None:
                connection.connect()
                wire: Any = connection.sock
                wire.settimeout(ANSWER_SECONDS)
            connection.request("POST", self._at.path, body, dict(headers))
            reply = connection.getresponse()
            read = reply.read(LARGEST_ANSWER + 1)
        except BaseException:
            connection.close()
            raise
        if len(read) > LARGEST_ANSWER or reply.will_close:
            connection.close()
        else:
            with self._keeping:
                self._idle.append(connection)
                spare = self._idle[:-_IDLE]
                del self._idle[:-_IDLE]
            for each in spare:
                each.close()
        return reply.status, read

    def _kept_connection(self) -> http.client.HTTPConnection | None:
        with self._keeping:
            return self._idle.pop() if self._idle else None

    def _new_connection(self) -> http.client.HTTPConnection:
        host, port = self._at.hostname or "", self._at.port
        if self._at.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=context)
        return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)

    def _read_reply(self, status: int, body: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(body)
        except ValueError:
            reply = None
        if status in (401, 403):
            raise Unreachable(
                f"{self.place} does not know the token of the configuration file (remote_pass)."
            )
        if not isinstance(reply, dict) or reply.get("jsonrpc") != "2.0":
            said = reply.get("message") if isinstance(reply, dict) else ""
            raise Unreachable(f"{self.place} answered with the status {status}. {said}".strip())
        if "error" in reply:
            error = reply["error"]
            raise DialectError(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = reply["result"]
        name = (result.get("_meta") or {}).get(f"{_WIRE}serverInfo", {}).get("name", SERVER_NAME)
        if name != SERVER_NAME:
            raise Unreachable(
                f"{self.place} is served by {name}, which speaks otherwise. Start the server there "
                f"with: {command_to_type('serve --dialect surreal --http HOST:PORT')}"
            )
        return result


def _told_in_result(result: Mapping[str, Any]) -> dict[str, Any]:
    try:
        told = json.loads(result["content"][0]["text"])
    except (LookupError, TypeError, ValueError):
        told = None
    if not isinstance(told, dict):
        raise Unreachable("what the server answered cannot be read")
    return told


def _plain_reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    said = getattr(error, "strerror", None) or str(error)
    return said or type(error).__name__
