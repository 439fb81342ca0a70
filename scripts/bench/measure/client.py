"""An MCP server on stdio, spoken to in plain JSON lines: one client for vaultmem and its peers."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Gone(Exception):
    """The server ended, or did not answer in time."""


@dataclass(frozen=True)
class Command:
    """How a process is started."""

    arguments: Sequence[str]
    env: Mapping[str, str]
    cwd: Path


@dataclass(frozen=True)
class Reply:
    text: str
    data: Any  # structured content, if there is any
    failed: bool
    seconds: float
    characters: int  # of the text, as a model reads it

    def json(self) -> Any:
        """The structured answer; else the text read as JSON; else nothing."""
        if self.data is not None:
            return self.data
        try:
            return json.loads(self.text)
        except ValueError:
            return None


class Server:
    def __init__(self, command: Command, errors: Path) -> None:
        errors.parent.mkdir(parents=True, exist_ok=True)
        self.errors = errors
        self._number = 0
        self._waiting = b""
        self._lines: list[bytes] = []
        with errors.open("ab") as sink:
            self.started = time.perf_counter()
            self.child = subprocess.Popen(
                list(command.arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=dict(command.env),
                cwd=command.cwd,
                bufsize=0,
            )

    def handshake(self, seconds: float = 300) -> float:
        """Seconds from the start of the process to its first reply."""
        self.request("initialize", HELLO, seconds)
        taken = time.perf_counter() - self.started
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return taken

    def request(self, method: str, params: Mapping[str, Any], seconds: float = 120) -> Any:
        self._number += 1
        wanted = self._number
        self._send({"jsonrpc": "2.0", "id": wanted, "method": method, "params": params})
        deadline = time.monotonic() + seconds
        while True:
            message = self._next(deadline)
            if message.get("id") == wanted and "method" not in message:
                if "error" in message:
                    return {"isError": True, "content": [], "error": message["error"]}
                return message["result"]
            if "method" in message and "id" in message:  # the server asks us: we offer nothing
                refusal = {"code": -32601, "message": "not offered"}
                self._send({"jsonrpc": "2.0", "id": message["id"], "error": refusal})

    def call(self, tool: str, seconds: float = 120, **arguments: Any) -> Reply:
        started = time.perf_counter()
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, seconds)
        taken = time.perf_counter() - started
        text = "\n".join(part.get("text", "") for part in result.get("content", ()))
        text = text or json.dumps(result.get("error", "")) * ("error" in result)
        data = result.get("structuredContent")
        return Reply(text, data, bool(result.get("isError")), taken, len(text))

    def listed(self) -> int:
        """Bytes of the list of tools, which every client reads."""
        return len(json.dumps(self.request("tools/list", {}), separators=(",", ":")))

    def end(self) -> None:
        if self.child.stdin is not None and not self.child.stdin.closed:
            self.child.stdin.close()
        try:
            self.child.wait(15)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    # --- lines -------------------------------------------------------------------------------

    def _send(self, message: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(message).encode() + b"\n")
        try:
            while line:
                line = line[os.write(self.child.stdin.fileno(), line) :]
        except OSError as error:
            raise Gone(f"it no longer reads: {error}; see {self.errors.name}") from None

    def _next(self, deadline: float) -> dict[str, Any]:
        while True:
            while self._lines:
                try:
                    message = json.loads(self._lines.pop(0))
                except ValueError:  # a stray line on stdout
                    continue
                if isinstance(message, dict):
                    return message
            self._read(deadline)

    def _read(self, deadline: float) -> None:
        handle = self.child.stdout.fileno()
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([handle], [], [], left)[0]:
            raise Gone("no answer in time")
        got = os.read(handle, 1 << 20)
        if not got:
            raise Gone(f"it ended with {self.child.wait()}; see {self.errors.name}")
        *self._lines, self._waiting = (self._waiting + got).split(b"\n")
