"""An agent's window: a server on a disk that does as it is told, started anew when it died."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.faults.plan import Fault
from tests.surfaces.mcp.harness import Process

BOUND: Final = 90.0  # seconds for any call; two locks and a person who types are 25
ENDING: Final = 60.0
SETTINGS: Final = {
    "VAULTMEM_MODEL": "off",
    "VAULTMEM_TYPING_QUIET_SECONDS": "0.02",
    "VAULTMEM_TYPING_WAIT_SECONDS": "0.5",
    "PYTHONFAULTHANDLER": "1",
}


class Hang(AssertionError):
    """A process took longer than its bound."""


class Agent:
    """One window: a server that is started when it is needed, and again when it died."""

    def __init__(self, name: str, root: Path, home: Path) -> None:
        self.name, self.root, self.home = name, root, home
        self._server: FaultyServer | None = None
        self._number = 0

    @property
    def server(self) -> FaultyServer:
        assert self._server is not None
        return self._server

    @property
    def alive(self) -> bool:
        return self._server is not None and self._server.child.poll() is None

    def start(self) -> None:
        if not self.alive:
            self.drop()
            self._server = FaultyServer(self.home, self.root)
            self._server.start()
            self.call("get_memory_status")  # it has opened this vault, whatever comes in its place

    def call(
        self,
        tool: str,
        fault: Fault | None = None,
        meanwhile: Callable[[], None] | None = None,
        **arguments: Any,
    ) -> dict[str, Any] | None:
        """The tool's result; None when the server died of it."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        try:
            self.server.arm(fault, meanwhile)
            self.server.send(request)
            reply = self.server.answer(self._number, BOUND)
            self.server.arm(None, None)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            self.server.child.wait(ENDING)
            return None
        result: dict[str, Any] = reply["result"]
        return result

    def kill(self) -> None:
        if self.alive:
            self.server.signal(signal.SIGKILL)
            self.server.child.wait(ENDING)

    def stop(self) -> None:
        """As a client does it: the end of input."""
        if not self.alive:
            return
        assert self.server.child.stdin is not None
        self.server.child.stdin.close()
        try:
            code = self.server.child.wait(ENDING)
        except subprocess.TimeoutExpired:
            raise Hang(f"{self.name} did not end within {ENDING} s") from None
        assert code == 0, f"{self.name} ended with {code}: {self.server.errors()}"

    def drop(self) -> None:
        if self._server is not None:
            self._server.close()
        self._server = None


class FaultyServer(Process):
    """A server on a disk that does as it is told."""

    def __init__(self, home: Path, root: Path) -> None:
        self._orders, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._armed = threading.Event()
        self._meanwhile: Callable[[], None] | None = None
        self._trouble: list[BaseException] = []
        command = [sys.executable, "-m", "tests.faults.faulty_server", str(theirs.fileno())]
        super().__init__(
            home,
            *("--vault", str(root)),
            env=SETTINGS,
            command=[*command, "serve"],
            pass_fds=(theirs.fileno(),),
            stderr=self._errors,
        )
        theirs.close()
        threading.Thread(target=self._listen, daemon=True).start()

    def arm(self, fault: Fault | None, meanwhile: Callable[[], None] | None) -> None:
        """Order a fault; `meanwhile` is done while the server waits at the call it names."""
        self._armed.clear()
        self._meanwhile = meanwhile
        self._order(kind=fault.kind if fault else "", at=fault.at if fault else 0)
        if not self._armed.wait(BOUND):
            raise Hang("the orders were not heard")
        if self._trouble:
            raise self._trouble.pop()

    def _order(self, **order: Any) -> None:
        self._orders.sendall(json.dumps(order).encode() + b"\n")

    def _listen(self) -> None:
        with contextlib.suppress(OSError), self._orders.makefile("r") as words:
            for word in words:
                if word.strip() == "armed":
                    self._armed.set()
                else:
                    self._let_others_act()
        self._armed.set()

    def _let_others_act(self) -> None:
        try:
            if self._meanwhile is not None:
                self._meanwhile()
        except BaseException as error:
            self._trouble.append(error)
        finally:
            self._order(kind="go")

    def answer(self, number: int, seconds: float) -> dict[str, Any]:
        try:
            reply = self.receive(seconds)
        except queue.Empty:
            self.signal(signal.SIGABRT)  # its threads say where they are
            self.child.wait(ENDING)
            raise Hang(f"no answer within {seconds} s: {self.errors()[-6000:]}") from None
        except AssertionError:
            raise EOFError from None
        assert reply["id"] == number, reply
        return reply

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def close(self) -> None:
        self.__exit__()
        self._orders.close()
        self._errors.close()
