"""EvolutionDB's bridge as its document gives it: real processes, raw lines, its eight cases."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import clean_environment
from tests.surfaces.mcp.harness import Process
from vaultmem.notes.note import parse
from vaultmem.vault import Vault

# The document's own lines.
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize",'
    b'"params":{"protocolVersion":"2024-11-05","capabilities":{}}}\n'
)
INITIALIZED_ANSWER = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "evolutiondb-memory", "version": "1.0.0"},
    },
}
LIST = b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
SAVE = (
    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"save_memory",'
    b'"arguments":{"fact":"loves jazz","tags":["preference"]}}}\n'
)
INPUTS = {
    "save_memory": ({"fact", "tags"}, ["fact"]),
    "search_memory": ({"query", "tag", "limit"}, ["query"]),
    "recent_memories": ({"limit"}, []),
    "forget": ({"key"}, ["key"]),
    "list_tags": (set(), []),
}


def bridge(home: Path, user: str | None = None) -> Process:
    env = {} if user is None else {"MCP_USER_ID": user}
    return Process(home, "--vault", str(home / "vault"), "--dialect", "evolution", env=env)


def told(result: dict[str, Any]) -> Any:
    """What a call says: one line of JSON, and nothing beside it."""
    assert set(result) == {"content", "isError"}
    (part,) = result["content"]
    assert part["type"] == "text" and "\n" not in part["text"]
    return json.loads(part["text"])


def said(process: Process, tool: str, **arguments: Any) -> Any:
    result = process.call(7, tool, **arguments)
    assert result["isError"] is False, result
    return told(result)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evolution")


@pytest.fixture(scope="module")
def alice(home: Path) -> Iterator[Process]:
    with bridge(home, "alice") as process:
        assert process.ask(INITIALIZE) == INITIALIZED_ANSWER
        process.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield process
        assert process.end() == 0
        assert process.stray == []


# --- the eight cases -------------------------------------------------------------------------


def test_1_the_handshake_needs_no_client_info(alice: Process) -> None:
    assert alice.ask(INITIALIZE) == INITIALIZED_ANSWER


def test_2_five_tools_with_descriptions(alice: Process) -> None:
    tools = alice.ask(LIST)["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(INPUTS)
    for tool in tools:
        properties, required = INPUTS[tool["name"]]
        assert tool["description"].strip()
        assert tool["inputSchema"]["type"] == "object"
        assert set(tool["inputSchema"]["properties"]) == properties
        assert tool["inputSchema"].get("required", []) == required


def test_3_what_is_saved_is_found(alice: Process) -> None:
    answer = alice.ask(SAVE)
    assert answer["id"] == 3 and answer["result"]["isError"] is False
    saved = told(answer["result"])
    assert list(saved) == ["ok", "key", "user_id"]
    assert saved["ok"] is True and saved["user_id"] == "alice"
    assert re.fullmatch(r"mem_\d{13}_[0-9a-f]{6}", saved["key"])
    (found,) = said(alice, "search_memory", query="JAZZ")["results"]
    assert found["key"] == saved["key"]
    assert (found["fact"], found["tags"], found["score"]) == ("loves jazz", ["preference"], 1)
    assert abs(found["created"] * 1000 - int(saved["key"].split("_")[1])) < 1


def test_4_a_tag_narrows_the_search(alice: Process) -> None:
    said(alice, "save_memory", fact="plays chess on Sundays", tags=["hobby"])
    said(alice, "save_memory", fact="watches chess at work", tags=["Work", "work/games"])
    said(alice, "save_memory", fact="a chess board of wood", tags=["hobbyhorse"])
    tagged = said(alice, "search_memory", query="chess", tag="HOBBY")["results"]
    assert [found["fact"] for found in tagged] == ["plays chess on Sundays"]
    only_tagged = said(alice, "search_memory", query="nothing-of-this", tag="work")["results"]
    assert [(f["fact"], f["score"]) for f in only_tagged] == [("watches chess at work", 0)]
    more = said(alice, "search_memory", query="chess Sunday hobby")["results"]
    assert more[0]["fact"] == "plays chess on Sundays" and more[0]["score"] == 3
    assert len(said(alice, "search_memory", query="chess", limit=2)["results"]) == 2


def test_5_recent_memories_come_newest_first(alice: Process) -> None:
    facts = [f"number {i} of the row" for i in range(6)]
    keys = [said(alice, "save_memory", fact=fact)["key"] for fact in facts]
    assert keys == sorted(keys, key=lambda key: int(key.split("_")[1]))
    assert len(set(keys)) == len(keys), "globally unique, and by the millisecond"
    recent = said(alice, "recent_memories", limit=6)["results"]
    assert [found["fact"] for found in recent] == facts[::-1]
    assert [f["created"] for f in recent] == sorted((f["created"] for f in recent), reverse=True)
    assert len(said(alice, "recent_memories")["results"]) == 10


def test_6_forget_deletes_by_key(alice: Process) -> None:
    key = said(alice, "save_memory", fact="allergic to marzipan")["key"]
    assert said(alice, "forget", key=key) == {"ok": True, "key": key}
    assert said(alice, "search_memory", query="marzipan")["results"] == []
    assert said(alice, "forget", key=key) == {"ok": False, "key": key}
    facts = [f["fact"] for f in said(alice, "recent_memories", limit=100)["results"]]
    assert "allergic to marzipan" not in facts


def test_7_tags_are_counted(alice: Process) -> None:
    for tags in (["lang", "python"], ["lang"], ["lang", "c++", "2024"]):
        said(alice, "save_memory", fact=f"speaks {' and '.join(tags)}", tags=tags)
    counts = {each["tag"]: each["count"] for each in said(alice, "list_tags")["tags"]}
    assert counts["lang"] == 3 and counts["python"] == 1
    # What can be no tag of a note is kept as near as a note can have it, and found as given.
    assert [
        [f["fact"] for f in said(alice, "search_memory", query="speaks", tag=tag)["results"]]
        for tag in ("c++", "2024")
    ] == [["speaks lang and c++ and 2024"]] * 2


def test_8_the_user_is_pinned_whatever_the_arguments_say(alice: Process, home: Path) -> None:
    result = alice.call(8, "save_memory", fact="keeps a zeppelin", user_id="bob", tags=["secret"])
    assert told(result)["user_id"] == "alice"
    key = told(result)["key"]
    with bridge(home, "bob") as bob:
        bob.start()
        for user in ("alice", "bob", None):
            given = {} if user is None else {"user_id": user}
            assert said(bob, "search_memory", query="zeppelin", **given)["results"] == []
            assert said(bob, "search_memory", query="x", tag="secret", **given)["results"] == []
            assert said(bob, "recent_memories", **given)["results"] == []
            assert said(bob, "list_tags", **given)["tags"] == []
            assert said(bob, "forget", key=key, **given) == {"ok": False, "key": key}
        mine = said(bob, "save_memory", fact="flies a kite", user_id="alice")
        assert mine["user_id"] == "bob"
        assert bob.end() == 0
    assert said(alice, "search_memory", query="kite", user_id="bob")["results"] == []
    assert len(said(alice, "search_memory", query="zeppelin")["results"]) == 1


def piped(home: Path, *lines: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "vaultmem", "serve", "--vault", "v", "--dialect", "evolution"]
    env = clean_environment(home)
    return subprocess.run(
        command, input=b"".join(lines), cwd=home, env=env, capture_output=True, timeout=60
    )


# --- the loop --------------------------------------------------------------------------------


def test_what_is_piped_in_is_answered_in_order_and_bad_lines_are_survived(tmp_path: Path) -> None:
    """All at once, as a script does it: nothing waits for an answer."""
    lines = [
        INITIALIZE,
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b"not JSON at all\n",
        b"\n",
        b'{"cut": \n',
        SAVE,
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search_memory",'  # noqa: ISC004
        b'"arguments":{"query":"jazz"}}}\n',
        b'{"jsonrpc":"2.0","id":5,"method":"no/such"}\n',
        b'{"jsonrpc":"2.0","id":6,"method":"ping"}\n',
    ]
    done = piped(tmp_path, *lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [answer["id"] for answer in answers] == [1, 3, 4, 5, 6]
    assert answers[0] == INITIALIZED_ANSWER
    found = told(answers[2]["result"])
    assert found["user_id"] == "default_user"
    assert [each["fact"] for each in found["results"]] == ["loves jazz"]
    assert answers[3]["error"] == {"code": -32601, "message": "method not found: no/such"}
    assert done.stderr.count(b"not JSON") == 2


def test_a_failure_inside_is_an_internal_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "v" / ".vaultmem").mkdir(parents=True)
    (tmp_path / "v" / "Memories").write_text("a file where the folder should be")
    answer = json.loads(piped(tmp_path, SAVE).stdout)
    assert answer["id"] == 3 and answer["error"]["code"] == -32603
    assert "Not a directory" in answer["error"]["message"]


def test_what_is_wrong_is_said_in_the_result(alice: Process) -> None:
    for tool, arguments, sentence in (
        ("save_memory", {"fact": "  "}, "save_memory requires non-empty `fact`"),
        ("save_memory", {}, "save_memory requires non-empty `fact`"),
        ("search_memory", {"query": ""}, "search_memory requires non-empty `query`"),
        ("forget", {}, "forget requires `key`"),
        ("remember", {}, "unknown tool: remember"),
    ):
        result = alice.call(9, tool, **arguments)
        assert result["isError"] is True
        assert told(result) == {"error": sentence}


def test_facts_are_ordinary_memories(alice: Process, home: Path) -> None:
    key = said(alice, "save_memory", fact="drinks tea, <private>never gin</private>", tags=["a b"])
    with Vault.open(home / "vault") as vault:
        memory = vault.get([key["key"]]).memories[0]
        recalled = vault.recall("who drinks tea", strategy="keyword").memories
    assert memory.key == key["key"] and re.fullmatch(r"[0-9A-Z]{26}", memory.id)
    assert (memory.type, memory.scope, memory.user) == ("semantic", "user", "alice")
    assert memory.tags == ("a-b",)
    assert memory.id in [each.id for each in recalled]
    file = home / "vault" / memory.path
    note = parse(file.read_bytes(), memory.path)
    assert not note.problems and file.parent.name == "Memories"
    assert b"gin" not in file.read_bytes()


def test_what_is_stored_elsewhere_without_a_user_is_known_too(alice: Process, home: Path) -> None:
    with Vault.open(home / "vault") as vault:
        done = vault.remember("The gateway listens on port 8443", tags=["network"])
    (found,) = said(alice, "search_memory", query="8443")["results"]
    assert found["key"] == done.memory_id and found["tags"] == ["network"]
    assert said(alice, "forget", key=done.memory_id) == {"ok": True, "key": done.memory_id}


def test_a_read_only_bridge_only_reads(home: Path, alice: Process) -> None:
    vault = str(home / "vault")
    with Process(home, "--vault", vault, "--dialect", "evolution", "--read-only") as reader:
        reader.start()
        names = [tool["name"] for tool in reader.ask(LIST)["result"]["tools"]]
        assert names == ["search_memory", "recent_memories", "list_tags"]
        result = reader.call(4, "save_memory", fact="x")
        assert result["isError"] is True and "read-only" in told(result)["error"]
