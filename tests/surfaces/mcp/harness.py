"""Vaults and servers for the MCP tests: real vaults, the real server, the library's own client."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from mcp import Client, StdioServerParameters

from tests import nursery
from tests.conftest import clean_environment, engine_variables
from vaultmem import vault
from vaultmem.base import lock
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.mcp.server import McpServer, Options
from vaultmem.vault import Vault

ERAS = ("legacy", "2026-07-28")
SESSION = "01K00000000000000000000000"
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def new_vault(folder: Path) -> Path:
    vault.make_vault(vault.plan_vault(str(folder), git=False, examples=False), git=False)
    return folder


@contextmanager
def serving(root: Path, options: Options | None = None, **caller: Any) -> Iterator[McpServer]:
    """The server in this process; a caller's pins as keywords."""
    who = Caller(**{"session": SESSION, **caller})
    flags = {"typing.quiet_seconds": 0.0}
    how = options or Options()
    served = McpServer(lambda: Vault.open(root, flags, caller=who), how)
    _windows[served] = _window(root, how, who)
    try:
        yield served
    finally:
        served.stop()


# The same server as a client starts it, for suites that are run through an engine.
_windows: WeakKeyDictionary[McpServer, StdioServerParameters] = WeakKeyDictionary()


def _window(root: Path, how: Options, who: Caller) -> StdioServerParameters:
    words = ["--vault", str(root), "--toolsets", ",".join(how.toolsets)]
    pins = {"user": who.user, "project": who.project, "session": who.session}
    words += [word for name, pin in pins.items() if pin for word in (f"--{name}", pin)]
    words += ["--read-only"] if how.read_only or who.read_only else []
    env = {**os.environ, **engine_variables(root), "VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    return StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "vaultmem", "serve", *words], env=env
    )


def client(served: McpServer, era: str, **more: Any) -> Client:
    """TESTS_THROUGH_ENGINE=1: to a window of an engine, else to the server in this process."""
    return Client(window_of(served) or served.server, mode=era, **more)


def window_of(served: McpServer) -> StdioServerParameters | None:
    """None where it is not to be reached so, or was not made as a client can ask for it."""
    return _windows.get(served) if os.environ.get("TESTS_THROUGH_ENGINE") else None


def is_followed_by_another(window: StdioServerParameters) -> bool:
    """Whether a process follows the files of its vault."""
    folder = Path(window.args[window.args.index("--vault") + 1]) / ".vaultmem"
    return any(lock.is_locked(file) for file in folder.rglob(lock.LEADER_LOCK))


async def call(connection: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call that must succeed; its two forms must say the same."""
    result = await connection.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    text = result.content[0].text  # type: ignore[union-attr]
    if tool != "recall_memories":  # its text is Markdown
        assert json.loads(text) == result.structured_content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(connection: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call that must fail, with the contract's envelope."""
    result = await connection.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    told = result.structured_content
    assert isinstance(told, dict)
    assert json.loads(result.content[0].text) == told  # type: ignore[union-attr]
    assert {"error", "message", "retry_possible", "degraded"} <= set(told)
    assert "Traceback" not in told["message"] and "http" not in told["message"]
    return told


class Process:
    """`vaultmem serve` as a client starts it, spoken to without any library."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        env: dict[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "vaultmem", "serve"),
        **options: Any,
    ) -> None:
        self.child = nursery.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=clean_environment(home) | (env or {}),
            cwd=home,
            **{"stderr": subprocess.PIPE, **options},
        )
        self._replies: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.stray: list[bytes] = []  # lines on stdout that are no protocol
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            try:
                self._replies.put(json.loads(line))
            except ValueError:
                self.stray.append(line)
        self._replies.put(None)

    def send(self, message: Any) -> None:
        assert self.child.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.child.stdin.write(line)
        self.child.stdin.flush()

    def receive(self, seconds: float = 60) -> dict[str, Any]:
        """The next reply; notifications are passed over."""
        while (reply := self._replies.get(timeout=seconds)) is not None:
            if "method" not in reply:
                return reply
        raise AssertionError(f"the server ended: {self.errors()}")

    def heard(self, seconds: float = 60) -> dict[str, Any]:
        """The next message of any kind."""
        reply = self._replies.get(timeout=seconds)
        assert reply is not None, self.errors()
        return reply

    def ask(self, message: Any) -> dict[str, Any]:
        self.send(message)
        return self.receive()

    def request(self, id_: int, method: str, **params: Any) -> dict[str, Any]:
        return self.ask({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def call(self, id_: int, tool: str, **arguments: Any) -> dict[str, Any]:
        reply = self.request(id_, "tools/call", name=tool, arguments=arguments)
        assert reply["id"] == id_, reply
        result: dict[str, Any] = reply["result"]
        return result

    def start(self) -> dict[str, Any]:
        reply = self.ask(INITIALIZE)
        self.send(INITIALIZED)
        result: dict[str, Any] = reply["result"]
        return result

    def signal(self, number: int) -> None:
        os.kill(self.child.pid, number)

    def end(self) -> int:
        """Close its input and wait for it."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        return self.child.wait(60)

    def errors(self) -> str:
        assert self.child.stderr is not None
        return self.child.stderr.read().decode()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()
