"""The server as a process on a pipe, spoken to in raw lines without any library."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import clean_environment
from tests.surfaces.mcp.harness import INITIALIZE, INITIALIZED, Process, new_vault
from tests.waiting import until

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
STORE = {"content": "Kept through the end.", "type": "semantic", "scope": "user"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return new_vault(tmp_path / "vault")


@pytest.fixture
def server(tmp_path: Path, vault: Path) -> Iterator[Process]:
    with Process(tmp_path, "--vault", str(vault)) as process:
        yield process


def calling(id_: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_version_is_spoken(server: Process, version: str) -> None:
    hello = json.loads(json.dumps(INITIALIZE))
    hello["params"]["protocolVersion"] = version
    result = server.ask(hello)["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "vaultmem" and result["serverInfo"]["version"]
    assert result["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert "recall_memories" in result["instructions"]
    server.send(INITIALIZED)
    assert len(server.request(1, "tools/list")["result"]["tools"]) == 21
    assert server.end() == 0


def test_initialize_with_nothing_in_it_is_accepted(server: Process) -> None:
    reply = server.ask({"jsonrpc": "2.0", "id": "a", "method": "initialize"})
    assert reply["id"] == "a" and reply["result"]["protocolVersion"]


def test_both_eras_on_one_pipe(server: Process) -> None:
    """A client that asks in the new way and falls back to the old finds either answered."""
    found = server.request(1, "server/discover", _meta=MODERN)["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["capabilities"]["resources"]["subscribe"]
    server.start()
    assert len(server.request(2, "tools/list")["result"]["tools"]) == 21
    stored = server.request(3, "tools/call", _meta=MODERN, name="store_memory", arguments=STORE)[
        "result"
    ]
    assert stored["resultType"] == "complete" and not stored["isError"]
    read = server.call(4, "get_memories", ids=[stored["structuredContent"]["memory_id"]])
    assert read["structuredContent"]["memories"][0]["content"] == STORE["content"]
    assert server.end() == 0


def test_changes_are_heard_on_the_pipe_in_both_eras(server: Process, vault: Path) -> None:
    server.start()
    wanted = {"resourcesListChanged": True, "resourceSubscriptions": ["memory://recent"]}
    listen = {"_meta": MODERN, "notifications": wanted}
    server.send({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": listen})
    assert server.heard()["method"] == "notifications/subscriptions/acknowledged"
    server.send(calling(6, "store_memory", **STORE))
    legacy, modern = set(), set()
    while not (legacy and len(modern) == 2):
        told = server.heard()
        if "method" in told:
            stamped = "io.modelcontextprotocol/subscriptionId" in str(told.get("params"))
            (modern if stamped else legacy).add(told["method"])
    assert legacy == {"notifications/resources/list_changed"}
    assert modern == legacy | {"notifications/resources/updated"}
    assert server.end() == 0, "an open stream must not hold up the end"


def test_bad_lines_are_answered_and_said_on_stderr(server: Process) -> None:
    server.start()
    for line, code in (
        (b"{nope\n", -32700),
        (b'{"a": "\xff"}\n', -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}\n', -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n', -32600),
        (b'"text"\n', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}\n', -32600),
    ):
        reply = server.ask(line)
        assert reply["error"]["code"] == code and reply["id"] is None, line[:60]
    reply = server.ask(b'{"id": 5, "method": "ping"}\n')
    assert reply["id"] == 5 and reply["error"]["code"] == -32600
    reply = server.ask(b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": [1]}\n')
    assert reply["id"] == 6 and reply["error"]["code"] == -32600
    for depth in (100, 300, 480, 900):
        nested = "[" * depth + "]" * depth
        line = (
            f'{{"jsonrpc": "2.0", "id": {depth}, "method": "ping", "params": {{"x": {nested}}}}}\n'
        )
        reply = server.ask(line.encode())
        assert reply["id"] in (depth, None) and ("result" in reply or "error" in reply)
    assert server.request(7, "no/such/method")["error"]["code"] == -32601
    server.send(b"\n \r\n\n")
    reply = server.ask(b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 8, "method": "ping"}\r\n')
    assert reply == {"jsonrpc": "2.0", "id": 8, "result": {}}
    assert server.end() == 0
    told = server.errors()
    assert "not JSON" in told and "refused" in told and "Traceback" not in told


def test_half_a_character_is_replaced_and_the_rest_kept(server: Process) -> None:
    server.start()
    line = json.dumps(calling(1, "store_memory", **STORE | {"content": "HALF here"})).encode()
    reply = server.ask(line.replace(b"HALF", b"\\ud83d") + b"\n")
    stored = reply["result"]["structuredContent"]
    read = server.call(2, "get_memories", ids=[stored["memory_id"]])["structuredContent"]
    assert read["memories"][0]["content"] == "\ufffd here"


def test_notifications_and_replies_nobody_waits_for_are_not_answered(server: Process) -> None:
    server.start()
    server.send({"jsonrpc": "2.0", "method": "notifications/unheard", "params": {}})
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
    server.send({"jsonrpc": "2.0", "id": 77, "result": {}})
    server.send({"jsonrpc": "2.0", "id": 78, "error": {"code": -32600, "message": "no"}})
    assert server.request(3, "ping") == {"jsonrpc": "2.0", "id": 3, "result": {}}


def test_one_shot_input_is_answered_to_the_last_line(tmp_path: Path, vault: Path) -> None:
    """What is asked before the input ends is answered before the process does."""
    lines = [INITIALIZE, INITIALIZED]
    lines += [
        calling(n, "store_memory", **STORE | {"content": f"Number {n}."}) for n in range(1, 13)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "vaultmem", "serve", "--vault", str(vault)],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        timeout=120,
        env=clean_environment(tmp_path),
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    answered = sorted(reply["id"] for reply in replies if "id" in reply)
    assert answered == list(range(13)) and done.returncode == 0
    assert len(list((vault / "Memories").glob("Number*.md"))) == 12


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_what_runs_and_ends_with_0(
    server: Process, vault: Path, number: int
) -> None:
    server.start()
    server.call(1, "get_memory_status")
    for id_ in range(2, 8):
        server.send(calling(id_, "store_memory", **STORE | {"content": f"Number {id_}."}))
    time.sleep(0.05)
    server.signal(number)
    assert server.child.wait(30) == 0
    written = {path.stem for path in (vault / "Memories").glob("Number*.md")}
    answered = set()
    while (reply := server._replies.get(timeout=5)) is not None:
        if reply.get("id"):
            answered.add(f"Number {reply['id']}")
    assert answered == written, "a note was written whose call got no answer, or the reverse"
    assert not list((vault / "Memories").glob(".*")), "a temporary file was left"
    assert "Traceback" not in server.errors()


@pytest.mark.parametrize("moment", [b"loading", b"waiting"])
def test_a_signal_before_the_first_message(tmp_path: Path, vault: Path, moment: bytes) -> None:
    with Process(tmp_path, "--vault", str(vault), "--log-level", "debug") as process:
        assert process.child.stderr is not None
        while moment not in process.child.stderr.readline():
            assert process.child.poll() is None
        process.signal(signal.SIGTERM)
        assert process.child.wait(30) == 0
        assert "Traceback" not in process.errors()


_SHORT_LIVED = """
import os, subprocess, sys, time
vault, reading, writing, seconds = sys.argv[1:]
server = subprocess.Popen(
    [sys.executable, "-m", "vaultmem", "serve", "--vault", vault],
    stdin=int(reading), stdout=int(writing), stderr=subprocess.DEVNULL,
)
print(server.pid, flush=True)
time.sleep(float(seconds))
os._exit(1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the parent's end shows otherwise there")
def test_no_server_outlives_its_parent(tmp_path: Path, vault: Path) -> None:
    """Whenever it dies, also before we look, and though others keep both pipes open."""
    (reading, feeding), (heard, writing) = os.pipe(), os.pipe()
    kept = random.Random(16)
    delays = (0.0, 0.0, kept.uniform(0, 0.1), kept.uniform(0.1, 0.5), kept.uniform(0.5, 1.5), 3.0)
    orphans: dict[int, float] = {}

    def orphaned(seconds: float) -> int:
        parent = subprocess.run(
            [sys.executable, "-c", _SHORT_LIVED, vault, str(reading), str(writing), str(seconds)],
            pass_fds=[reading, writing],
            stdout=subprocess.PIPE,
            timeout=60,
            env=clean_environment(tmp_path),
        )
        return int(parent.stdout)

    try:
        with ThreadPoolExecutor(len(delays)) as pool:
            orphans = dict(zip(pool.map(orphaned, delays), delays, strict=True))
        until(lambda: not any(map(_runs, orphans)))
    finally:
        for end in (reading, feeding, heard, writing):
            os.close(end)
        for pid in filter(_runs, orphans):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe cannot be asked there")
def test_the_server_ends_when_nobody_hears_it(tmp_path: Path, vault: Path) -> None:
    """Even while its input stays open and its parent lives."""
    heard, writing = os.pipe()
    command = [sys.executable, "-m", "vaultmem", "serve", "--vault", str(vault)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=writing, env=clean_environment(tmp_path)
    ) as child:
        os.close(writing)
        os.close(heard)
        assert child.wait(30) == 0


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    except FileNotFoundError:
        return False


def test_stray_prints_do_not_reach_the_client(tmp_path: Path, vault: Path) -> None:
    """Whatever a library prints, stdout carries protocol only."""
    noisy = (
        "import sys, os\n"
        "from vaultmem.operations import read\n"
        "from vaultmem.surfaces.cli import main\n"
        "kept = read.Reader.tags\n"
        "def loud(self, **more):\n"
        "    print('noise'); os.system('echo noise'); sys.stdout.flush()\n"
        "    return kept(self, **more)\n"
        "read.Reader.tags = loud\n"
        "sys.exit(main(['serve', '--vault', sys.argv[1]]))\n"
    )
    lines = [INITIALIZE, INITIALIZED, calling(1, "list_tags")]
    done = subprocess.run(
        [sys.executable, "-c", noisy, str(vault)],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        timeout=60,
        env=clean_environment(tmp_path),
    )
    assert b"noise" in done.stderr and b"noise" not in done.stdout
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())


def test_a_client_that_no_longer_reads(tmp_path: Path, vault: Path) -> None:
    command = [sys.executable, "-m", "vaultmem", "serve", "--vault", str(vault)]
    env = clean_environment(tmp_path)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as child:
        assert child.stdin and child.stdout and child.stderr
        child.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        child.stdin.flush()
        assert b"result" in child.stdout.readline()
        child.stdout.close()
        child.stdin.write(json.dumps(calling(1, "get_memory_status")).encode() + b"\n")
        child.stdin.flush()
        assert child.wait(30) == 0
        assert b"Traceback" not in child.stderr.read()


def test_nothing_heavy_is_there_at_the_first_reply(tmp_path: Path, vault: Path) -> None:
    """The index, the model and the watcher are opened after it."""
    assert not (vault / ".vaultmem" / "index").exists()
    code = (
        "import sys, threading\n"
        "from vaultmem.surfaces.mcp import stdio\n"
        "kept = stdio._StdioPipe.write\n"
        "def write(self, message):\n"
        "    heavy = {'numpy', 'tantivy', 'onnxruntime', 'fastembed', 'watchdog', 'yaml'}\n"
        "    print('loaded', sorted(heavy & set(sys.modules)), file=sys.stderr, flush=True)\n"
        "    return kept(self, message)\n"
        "stdio._StdioPipe.write = write\n"
        "from vaultmem.surfaces.cli import main\n"
        "sys.exit(main(['serve', '--vault', sys.argv[1]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(vault)],
        input=json.dumps(INITIALIZE).encode() + b"\n",
        capture_output=True,
        timeout=60,
        env=clean_environment(tmp_path),
    )
    assert b"loaded []" in done.stderr.splitlines()
    assert done.returncode == 0


# No two of their texts have the same words.
CLIENTS = ["Anna", "Boris", "Chloe", "Dmitri", "Esther", "Farid", "Greta", "Hiro", "Ines", "Jonas"]
TURNS = ["earliest", "middle", "latest"]


def test_ten_clients_on_one_vault(tmp_path: Path, vault: Path) -> None:
    """Ten servers, each with its own client, on the same notes: no call fails, nothing is lost."""

    def work(number: int) -> list[str]:
        with Process(tmp_path, "--vault", str(vault), "--session", f"s{number}") as process:
            process.start()
            made = []
            for turn in range(3):
                text = f"{CLIENTS[number]} wrote the {TURNS[turn]} note."
                stored = process.call(turn * 4 + 1, "store_memory", **STORE | {"content": text})
                assert not stored["isError"], stored
                made.append(stored["structuredContent"]["memory_id"])
                found = process.call(
                    turn * 4 + 2, "recall_memories", query=text, strategy="keyword"
                )
                assert made[-1] in [m["id"] for m in found["structuredContent"]["memories"]]
                logged = process.call(turn * 4 + 3, "log_observation", content=text)
                assert not logged["isError"], logged
                shared = process.call(
                    turn * 4 + 4,
                    "assert_fact",
                    subject="Everyone",
                    predicate="met",
                    object=f"client {number}",
                    multi=True,
                )
                assert not shared["isError"], shared
            assert process.end() == 0
            return made

    with ThreadPoolExecutor(10) as pool:
        ids = [id_ for made in pool.map(work, range(10)) for id_ in made]
    assert len(set(ids)) == 30
    with Process(tmp_path, "--vault", str(vault)) as process:
        process.start()
        read = process.call(1, "get_memories", ids=ids)["structuredContent"]
        assert read["missing"] == [] and len(read["memories"]) == 30
        facts = process.call(2, "query_facts", subject="Everyone")["structuredContent"]["facts"]
        assert {fact["object"] for fact in facts} == {f"client {n}" for n in range(10)}
