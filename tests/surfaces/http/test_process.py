"""`vaultmem serve --http` as a process: how it starts, speaks both protocol eras, and ends."""

from __future__ import annotations

import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from tests import nursery
from tests.conftest import Run, clean_environment
from tests.surfaces.http.site import LAPTOP, Site, path_of, status_of, token_file
from vaultmem.surfaces import http as surface
from vaultmem.surfaces.http import DEFAULT_PORT, app, parse_http_address
from vaultmem.surfaces.mcp.server import McpServer, Options
from vaultmem.vault import Vault

ERAS = ("legacy", "2026-07-28")
ENDS = (signal.SIGTERM, signal.SIGINT)
Start = Callable[..., "Process"]


class Process:
    def __init__(self, *arguments: str, home: Path) -> None:
        self.ran = nursery.Popen(
            [sys.executable, "-m", "vaultmem", "serve", "--vault", str(home / "vault"), *arguments],
            env=clean_environment(home),
            stdin=subprocess.DEVNULL,
            bufsize=0,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said = ""
        self.site = Site(self._address())

    def _address(self) -> str:
        assert self.ran.stderr is not None
        while line := self.ran.stderr.readline().decode():
            self.said += line
            if found := re.search(r"Serving .* on (http://\S+)", line):
                return found[1]
        raise AssertionError(f"it ended with {self.ran.wait()}: {self.said}")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.ran.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        out, error = self.ran.communicate(timeout=30)
        self.said += error.decode()
        print(self.said)  # shown when a test fails
        assert out == b""
        return self.ran.returncode


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Process] = []

    def begin(*arguments: str) -> Process:
        started.append(Process("--http", "127.0.0.1:0", *arguments, home=tmp_path))
        return started[-1]

    yield begin
    for process in started:
        if process.ran.poll() is None:
            process.ran.kill()
        process.ran.communicate()


# --- starting -----------------------------------------------------------------------------


def test_it_says_where_it_is_and_answers_at_once(start: Start, tmp_path: Path) -> None:
    process = start()
    assert process.site.get("/health").json["status"] == "ok"
    assert (tmp_path / "vault" / ".vaultmem").is_dir()  # made, since it was not there
    assert process.end() == 0
    assert f"{process.site.url}/mcp" in process.said
    assert str(tmp_path / "vault") in process.said


def test_health_answers_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    """`make` is what imports the protocol library; here it never gets to it."""
    code = (
        "import sys, time; from vaultmem.surfaces import http; from vaultmem.surfaces.http import app\n"
        "def make():\n"
        "    heavy = {'mcp', 'fastembed', 'numpy', 'onnxruntime', 'pydantic'} & set(sys.modules)\n"
        "    print('before:', sorted(heavy), file=sys.stderr, flush=True)\n"
        "    time.sleep(3600)\n"
        "app.run_http(make, http.open_http_socket('127.0.0.1', 0))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env=clean_environment(tmp_path), stderr=subprocess.PIPE
    ) as ran:
        assert ran.stderr is not None
        said = b""
        while b"before: []\n" not in said:
            line = ran.stderr.readline()
            assert line, said
            said += line
        found = re.search(rb"on (http://\S+)", said)
        assert found
        assert Site(found[1].decode()).get("/health").status == 200
        ran.terminate()
        assert ran.wait(timeout=30) == 0  # it does not wait for what never comes


def test_a_port_in_use_ends_with_a_sentence(run: Run, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = run("serve", "--vault", str(tmp_path / "vault"), "--http", address)
    assert done.code == 3
    assert address in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "nonsense:x", "localhost:99999"])
def test_a_wrong_or_open_address_is_refused(run: Run, tmp_path: Path, address: str) -> None:
    done = run("serve", "--vault", str(tmp_path / "vault"), "--http", address)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_wrong_token_file_is_refused(run: Run, tmp_path: Path) -> None:
    file = token_file(tmp_path, "short", "token")
    where = ("--vault", str(tmp_path / "vault"), "--http", "127.0.0.1:0")
    done = run("serve", *where, "--token-file", str(file))
    assert done.code == 2
    assert "16" in done.err


def test_without_a_port_there_is_a_usual_one() -> None:
    assert parse_http_address("127.0.0.1") == ("127.0.0.1", DEFAULT_PORT)


def test_a_token_is_never_said(start: Start, tmp_path: Path) -> None:
    process = start("--token-file", str(token_file(tmp_path, LAPTOP, "token")))
    assert process.site.get("/status").status == 401
    assert process.site.get("/status", LAPTOP).status == 200
    assert process.site.get("/status", LAPTOP + "x").status == 401
    assert process.site.get(f"/status?token={LAPTOP}", LAPTOP).status == 400
    assert process.end() == 0
    assert LAPTOP not in process.said


# --- both eras ----------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_stores_and_a_script_finds(start: Start, era: str) -> None:
    process = start("--no-watch")

    async def talk() -> Any:
        async with Client(f"{process.site.url}/mcp", mode=era) as client:
            content = "Herons stand still for hours."
            given = {"content": content, "type": "semantic", "scope": "user"}
            stored = await client.call_tool("store_memory", given)
            asked = {"query": "herons", "strategy": "keyword"}
            recalled = await client.call_tool("recall_memories", asked)
            return client.protocol_version, stored.structured_content, recalled.structured_content

    version, stored, recalled = anyio.run(talk)
    assert (version == "2026-07-28") == (era == "2026-07-28")
    assert recalled["memories"][0]["id"] == stored["memory_id"]
    found = process.site.get("/search?q=herons&strategy=keyword").json
    assert found["memories"][0]["id"] == stored["memory_id"]
    assert process.site.get(path_of(stored["memory_id"])).json["content"].startswith("Herons")
    assert process.end() == 0
    assert "Traceback" not in process.said


def test_read_only_is_kept_over_http(start: Start) -> None:
    process = start("--read-only")

    async def talk() -> Any:
        async with Client(f"{process.site.url}/mcp", mode="legacy") as client:
            given = {"content": "A raven.", "type": "semantic", "scope": "user"}
            return await client.call_tool("store_memory", given)

    assert anyio.run(talk).structured_content["error"] == "read_only"


# --- beside something else in one process ---------------------------------------------------


def test_it_runs_beside_something_else_until_told(tmp_path: Path) -> None:
    """As stdio and HTTP in one process do: one server object, one loop, no signals of its own."""
    (tmp_path / ".vaultmem").mkdir()
    served = McpServer(
        lambda: Vault.open(tmp_path), Options(watch=False), surface.caller_of_request
    )
    http_socket = surface.open_http_socket("127.0.0.1", 0, None, None, (), "")
    port = http_socket.socket.getsockname()[1]
    handlers = [signal.getsignal(number) for number in ENDS]

    async def beside() -> Any:
        stop = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.listen_http, lambda: served, http_socket, stop, 1)
            await anyio.sleep(0)
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                listed = await client.list_tools()
            stop.set()
        return listed

    assert anyio.run(beside).tools
    served.stop()
    assert [signal.getsignal(number) for number in ENDS] == handlers
    with socket.socket() as gone:
        assert gone.connect_ex(("127.0.0.1", port)) != 0


# --- ending -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_ends_it_well(start: Start, number: int) -> None:
    process = start()
    assert process.site.get("/search?q=x&strategy=keyword").status == 200
    with socket.create_connection(("127.0.0.1", process.site.port)):  # someone idle is connected
        assert process.end(number) == 0
    assert "Traceback" not in process.said
    assert "Error" not in process.said


@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.8, 1.2])
def test_it_ends_well_in_the_midst_of_embedding(
    start: Start, tmp_path: Path, seconds: float
) -> None:
    """A thread inside the model's library must not abort the process on its way out."""
    folder = tmp_path / "vault" / "Memories"
    folder.mkdir(parents=True)
    for number in range(40):
        text = f"Herons number {number} stand still for hours.\n" * 20
        (folder / f"Heron {number}.md").write_text(text, encoding="utf-8")
    process = start()
    assert process.site.get("/search?q=herons&strategy=keyword").status == 200
    time.sleep(seconds)
    assert process.end() == 0


def test_a_request_that_runs_is_finished(start: Start) -> None:
    """The first hybrid search loads the model, which takes longer than the signal."""
    process = start("--no-watch")
    assert process.site.get("/status").status == 200
    with socket.create_connection(("127.0.0.1", process.site.port), timeout=30) as connection:
        connection.sendall(b"GET /search?q=owl HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert process.site.get("/health").status == 200  # what came before it has begun
        process.ran.send_signal(signal.SIGTERM)
        received = b""
        while data := connection.recv(65536):
            received += data
    assert status_of(received) == 200
    assert b'"strategy_used"' in received
    assert process.wait() == 0


OPEN = (
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\n"
)
HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
)
META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
LISTEN = (
    b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":'
    b'{"notifications":{"resourcesListChanged":true},%s}}' % META
)


def listening(site: Site, era: str) -> socket.socket:
    """A connection on which the server only tells news."""
    connection = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    if era == "legacy":
        posted = {
            "Accept": "application/json, text/event-stream",
            "Content_Type": "application/json",
        }
        session = site.ask("POST", "/mcp", body=HELLO, **posted).headers["mcp-session-id"]
        connection.sendall(
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            b"Mcp-Session-Id: %s\r\n\r\n" % session.encode()
        )
    else:
        named = b"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"
        connection.sendall(OPEN + named + b"Content-Length: %d\r\n\r\n" % len(LISTEN) + LISTEN)
    return connection


@pytest.mark.parametrize("era", ERAS)
def test_a_stream_that_only_listens_is_ended_at_once_and_cleanly(start: Start, era: str) -> None:
    process = start("--no-watch")
    with listening(process.site, era) as stream:
        head = stream.recv(65536)
        assert status_of(head) == 200
        assert b"text/event-stream" in head
        process.ran.send_signal(signal.SIGTERM)
        received = head
        while data := stream.recv(65536):
            received += data
    assert received.endswith(b"0\r\n\r\n")  # the last chunk: ended, not cut off
    assert process.wait() == 0
    assert "Traceback" not in process.said


def test_a_client_that_never_ends_its_request_does_not_keep_it(start: Start) -> None:
    process = start("--no-watch")
    with socket.create_connection(("127.0.0.1", process.site.port)) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        assert select.select([connection], [], [], 0.3)[0] == []
        process.ran.send_signal(signal.SIGINT)
        assert process.end() == 0  # and being asked twice changes nothing
