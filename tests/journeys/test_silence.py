"""Nothing of ours, and none of the libraries under it, leaves a file outside the vault, goes to
the network or looks up a host. Looked at from outside the process, since native code is part
of it: what lies in a fresh home afterwards and, where strace works, every call to the system.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from vaultmem.base.telemetry import SWITCHES

API = """
import sys
from vaultmem import Vault
with Vault.open(sys.argv[1]) as vault:
    vault.remember(content="The orchard gate is locked at nine.")
    vault.embed_all()
    print(vault.recall("When is the garden closed?", strategy="vector").memories[0].title)
from vaultmem.index.embedded.vector_graph import vector_graph_class
vector_graph_class()(ndim=8)  # which only large vaults need
"""
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "the orchard gate?"}
BEES = {"content": "Bees live behind the gate.", "type": "semantic", "scope": "user"}
STORE = {"name": "store_memory", "arguments": BEES}
RECALL = {"name": "recall_memories", "arguments": {"query": "Where are the insects?"}}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}}


@dataclass(frozen=True)
class Machine:
    """A home that nobody has used yet, and a look at what a process does around it."""

    folder: Path

    @property
    def vault(self) -> Path:
        return self.folder / "vault"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"  # home and temporary files, and all else that has a place

    def environment(self) -> dict[str, str]:
        kept = ("PATH", "LANG", "SYSTEMROOT")
        places = {
            name: str(self.outside / place)
            for name, place in {
                "HOME": "home",
                "USERPROFILE": "home",
                "TMPDIR": "tmp",
                "TEMP": "tmp",
                "TMP": "tmp",
                "XDG_CACHE_HOME": "cache",
                "XDG_CONFIG_HOME": "config",
                "XDG_DATA_HOME": "data",
                "XDG_STATE_HOME": "state",
                "XDG_RUNTIME_DIR": "run",
            }.items()
        }
        quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
        return {k: os.environ[k] for k in kept if k in os.environ} | places | quiet

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        trace = self.folder / f"{time.monotonic_ns()}.trace"
        return subprocess.Popen(
            [*_strace(trace), sys.executable, *arguments],
            cwd=self.vault,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, said: str = "") -> str:
        out, err = self.started(*arguments).communicate(said, timeout=120)
        assert "Traceback" not in err, err
        return out

    def vaultmem(self, *arguments: str, said: str = "") -> str:
        return self.run("-P", "-m", "vaultmem", *arguments, said=said)

    def left(self) -> list[str]:
        """What lies in the home and beside it, and was not there before."""
        return sorted(
            path.relative_to(self.outside).as_posix()
            for path in self.outside.rglob("*")
            if path.parent != self.outside
        )

    def deeds(self) -> list[str]:
        """The calls that wrote outside the vault, or spoke to a network."""
        lines = (line for file in self.folder.glob("*.trace") for line in _calls(file))
        return [line for line in lines if _is_network(line) or _writes_outside(line, self.vault)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.vault.mkdir()
    for place in ("home", "tmp", "cache", "config", "data", "state", "run"):
        (made.outside / place).mkdir(parents=True)
    return made


@functools.cache
def _can_trace() -> bool:
    command = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, sys.executable, "-V"]
    tried = shutil.which("strace") and subprocess.run(command, capture_output=True)
    return bool(tried) and tried.returncode == 0


def _strace(trace: Path) -> list[str]:
    if not _can_trace():
        return []
    which = ["-e", "trace=%file,%network,ftruncate", "-e", "signal=none"]
    return ["strace", "-f", "-qq", "--seccomp-bpf", "-y", *which, "-o", str(trace)]


def _calls(trace: Path) -> Iterator[str]:
    """Whole calls: where another thread came in between, their two halves are put together."""
    begun: dict[str, str] = {}
    for line in trace.read_text(errors="replace").splitlines():
        thread, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[thread] = call.removesuffix("<unfinished ...>")
        elif resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", call):
            yield begun.pop(thread, "") + resumed[1]
        else:
            yield call
    yield from begun.values()


def _is_network(call: str) -> bool:
    """Also an attempt that failed, or a look at how hosts are looked up."""
    if call.startswith(("connect(", "send")):
        return "sa_family=AF_INET" in call
    return "/etc/resolv.conf" in call or "/systemd/resolve" in call


WRITING = ("mkdir", "rename", "unlink", "rmdir", "symlink", "mknod", "truncate", "chmod", "utime")
ALLOWED = ("/dev/null", "/dev/tty", "/proc/self/")


def _writes_outside(call: str, vault: Path) -> bool:
    name = call.partition("(")[0]
    if re.search(r"= -1 E\w+", call):
        return False
    opens = name.startswith(("open", "creat"))
    if opens and not re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|^creat", call):
        return False
    paths = _named(call)
    if name.startswith("link"):
        paths = paths[-1:]  # what a link is made to may lie anywhere
    elif not opens and not name.startswith(WRITING):
        return False
    return any(not path.startswith((f"{vault}/", *ALLOWED)) for path in paths)


def _named(call: str) -> list[str]:
    """The absolute paths of a call; of a relative one the folder stands before it."""
    found = re.findall(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"', call)
    return [os.path.normpath(os.path.join(folder or "/", path)) for folder, path in found]


def talk(server: subprocess.Popen[str], id_: int, method: str, params: dict[str, Any]) -> Any:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\n"
    )
    server.stdin.flush()
    while (reply := json.loads(server.stdout.readline())).get("id") != id_:
        pass
    return reply["result"]


def test_no_command_leaves_a_file_or_goes_to_the_network(machine: Machine) -> None:
    machine.vaultmem("init", ".")
    server = machine.started("-P", "-m", "vaultmem", "serve")
    talk(server, 0, "initialize", HELLO)
    assert not talk(server, 1, "tools/call", STORE).get("isError")
    for arguments in (["index", "--vectors"], ["models", "list"], ["status"], ["doctor"]):
        machine.vaultmem(*arguments)
    assert "Bees" in machine.vaultmem("search", "insects", "--strategy", "vector")
    machine.vaultmem("hook", said=json.dumps(PROMPT))
    machine.vaultmem("context", "the orchard")
    found = talk(server, 2, "tools/call", RECALL)
    assert "Bees" in json.dumps(found) and "embedding_failed" not in json.dumps(found)
    _, err = server.communicate(timeout=60)
    assert server.returncode == 0, err
    assert machine.left() == []
    assert machine.deeds() == []


def test_a_server_of_http_speaks_only_when_it_is_spoken_to(machine: Machine) -> None:
    machine.vaultmem("init", ".")
    machine.vaultmem("add", "Bees live behind the gate.")
    server = machine.started("-P", "-m", "vaultmem", "serve", "--http", "127.0.0.1:0")
    assert server.stderr is not None
    try:
        named = (re.search(r"http://\S+", line) for line in server.stderr)
        address = next(found[0] for found in named if found)
        with urllib.request.urlopen(f"{address}/search?q=bees", timeout=60) as answer:
            assert b"Bees" in answer.read()
    finally:
        os.kill(_traced(server.pid), signal.SIGTERM)
        server.communicate(timeout=60)
    assert machine.left() == []
    assert machine.deeds() == []


def _traced(pid: int) -> int:
    """The program under strace."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return int(children.read_text().split()[0]) if _can_trace() else pid


def test_a_program_that_uses_the_library(machine: Machine) -> None:
    assert "orchard gate" in machine.run("-c", API, str(machine.vault))
    assert machine.left() == []
    assert machine.deeds() == []


NATIVE = """
import ctypes, os, socket
libc = ctypes.CDLL(None)
libc.creat(os.environ["HOME"].encode() + b"/left", 0o600)
libc.creat(os.environ["HOME"].encode() + b"/gone", 0o600)
libc.unlink(os.environ["HOME"].encode() + b"/gone")
socket.socket(type=socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", 9))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library by its name")
def test_the_look_from_outside_sees_native_code(machine: Machine) -> None:
    machine.run("-c", NATIVE)
    assert machine.left() == ["home/left"]
    if _can_trace():
        assert [re.split(r"\W", call)[0] for call in machine.deeds()] == [
            *("creat", "creat", "unlink", "sendto")
        ]


@pytest.mark.parametrize(("set_", "then"), [(None, "1"), ("", "1"), ("0", "0"), ("true", "true")])
@pytest.mark.parametrize(
    "module", ["vaultmem", "vaultmem.errors", "vaultmem.embedding.onnx_session"]
)
def test_the_switch_is_set_before_anything_else(module: str, set_: str | None, then: str) -> None:
    """Whichever module comes first; what a person says about it stays, and children inherit it."""
    code = (
        f"import {module}, os, subprocess, sys;"
        "assert 'onnxruntime' not in sys.modules;"
        "code = 'import os; print(*(os.environ[n] for n in sys.argv[1:]))';"
        "subprocess.run([sys.executable, '-c', 'import sys;' + code, *sys.argv[1:]])"
    )
    env = {k: v for k, v in os.environ.items() if k not in SWITCHES} | {"PYTHONPATH": str(ROOT)}
    env |= {name: set_ for name in SWITCHES if set_ is not None}
    assert _said([sys.executable, "-c", code, *SWITCHES], env) == " ".join([then] * len(SWITCHES))


def _said(command: Sequence[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True).stdout.strip()
