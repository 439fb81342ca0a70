"""A person's machine: a home, a vault, and a run-time folder for engines."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import clean_environment
from tests.surfaces.mcp.harness import INITIALIZED, Process, new_vault
from tests.waiting import until
from vaultmem.front.engine_place import WIRE

# TESTS_ENGINE_WAY=loopback: what windows and engines do on Windows.
WAY = os.environ.get("TESTS_ENGINE_WAY", "")
PROGRAM = (sys.executable, "-P", "-m", "vaultmem")
GREETING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "window", "version": "1"},
    },
}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


class Machine:
    def __init__(self, home: Path, idle_minutes: float = 5, way: str = WAY) -> None:
        self.home, self.way = home, way
        self.vault = new_vault(home / "vault")
        # A socket's path is short, pytest's folders are not.
        self.runtime = Path(tempfile.mkdtemp(prefix="vm"))
        self.env = {
            **{k: v for k, v in clean_environment(home).items() if k != "VAULTMEM_ENGINE"},
            "XDG_RUNTIME_DIR": str(self.runtime),
            "VAULTMEM_ENGINE_IDLE_MINUTES": str(idle_minutes),
            "VAULTMEM_MODEL": "off",
            "VAULTMEM_ENGINE": way,
        }
        self._windows: list[Process] = []

    def window(self, *arguments: str, **env: str) -> Window:
        made = Window(self, *arguments, **env)
        self._windows.append(made)
        return made

    def run(
        self, *arguments: str, piped: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*PROGRAM, *arguments], input=piped, capture_output=True, env=self.env | env,
            cwd=self.vault, timeout=120,
        )  # fmt: skip
        return subprocess.CompletedProcess(
            done.args, done.returncode, _text(done.stdout), _text(done.stderr)
        )

    def engine(self) -> dict[str, Any] | None:
        """What the engine says of itself; None where there is none."""
        told: dict[str, Any] | None = json.loads(self.run("engine", "status", "--json").stdout)
        return told

    def engines(self) -> list[int]:
        """The processes that are engines of this vault."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if b"engine" in words and os.fsencode(self.vault) in words:
                    found.append(int(folder.name))
        return found

    def kill_engines(self, number: int = signal.SIGKILL) -> None:
        for process in self.engines():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def doors(self) -> list[Path]:
        """The files by which engines are found."""
        return [file for end in ("sock", "port") for file in self.runtime.rglob(f"*.{end}")]

    def titles_on_disk(self) -> list[str]:
        return [note.stem for note in (self.vault / "Memories").glob("*.md")]

    def unread(self, window: Process) -> int:
        """Bytes that a window has not yet taken from its client."""
        assert window.child.stdin is not None
        left = array.array("i", [0])
        fcntl.ioctl(window.child.stdin.fileno(), termios.FIONREAD, left)
        return left[0]

    def as_stranger(self, door: Path) -> bytes:
        """What an engine answers to another user of this machine."""
        greeting = json.dumps({"vaultmem": WIRE, "engine": door.stem, "kind": "status",
                               "environment": {}})  # fmt: skip
        code = (
            "import socket, sys\n"
            "link = socket.socket(socket.AF_UNIX); link.connect(sys.argv[1]); link.settimeout(20)\n"
            "try:\n"
            "    link.sendall(sys.argv[2].encode() + b'\\n')\n"
            "    sys.stdout.buffer.write(link.recv(1000))\n"
            "except (BrokenPipeError, ConnectionResetError): pass  # it hung up already\n"
        )
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", code,
             door.name, greeting],
            capture_output=True, cwd=door.parent,  # what is above may be closed to it
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        for window in self._windows:
            window.child.kill()
            window.__exit__()
        self.kill_engines()
        until(lambda: not self.engines())
        shutil.rmtree(self.runtime)


class Window(Process):
    """A client's window, started as a client starts it."""

    def __init__(self, machine: Machine, *arguments: str, **env: str) -> None:
        super().__init__(
            machine.home,
            "--vault",
            str(machine.vault),
            *arguments,
            env=machine.env | env,
            command=(*PROGRAM, "serve"),
        )
        self._number = 100

    def greet(self) -> None:
        assert "result" in self.ask(GREETING)
        self.send(INITIALIZED)

    def told(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers, as data."""
        self._number += 1
        result = self.call(self._number, tool, **arguments)
        data: dict[str, Any] = result.get("structuredContent") or json.loads(
            result["content"][0]["text"]
        )
        return data | {"isError": result["isError"]}

    def without_engine(self) -> str:
        """Why there is no engine; empty where there is one."""
        told = self.told("get_memory_status")
        return str(told["connection"].get("without_engine", ""))

    def store(self, text: str, **more: Any) -> dict[str, Any]:
        return self.told(
            "store_memory", content=text, **{"type": "semantic", "scope": "user", **more}
        )

    def titles(self, query: str) -> list[str]:
        found = self.told("recall_memories", query=query, strategy="keyword")
        assert not found["isError"], found
        return [hit["title"] for hit in found["memories"]]


@contextlib.contextmanager
def machine_in(home: Path, **how: Any) -> Iterator[Machine]:
    made = Machine(home, **how)
    try:
        yield made
    finally:
        made.close()
