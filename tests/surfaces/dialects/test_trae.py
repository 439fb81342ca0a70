"""trae-mem as its document gives it: eight tools over a real pipe, three routes over HTTP."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.surfaces.mcp.harness import Process
from vaultmem.notes.note import parse
from vaultmem.vault import Vault

# Names, arguments and required lists.
TOOLS = {
    "trae_mem_search": ({"query", "limit", "project"}, ["query"]),
    "trae_mem_timeline": ({"observation_id", "before", "after"}, ["observation_id"]),
    "trae_mem_get_observations": ({"ids"}, ["ids"]),
    "trae_mem_inject": ({"query", "limit", "project"}, ["query"]),
    "trae_mem_start_session": ({"project"}, []),
    "trae_mem_log": ({"session_id", "content", "type", "tags"}, ["session_id", "content"]),
    "trae_mem_end_session": ({"session_id"}, ["session_id"]),
    "trae_mem_hook_event": ({"event", "payload"}, ["event", "payload"]),
}


def said(process: Process, tool: str, **arguments: Any) -> Any:
    result = process.call(3, f"trae_mem_{tool}", **arguments)
    assert result["isError"] is False, result
    (part,) = result["content"]
    assert part["type"] == "text"
    if tool == "inject":  # as the document has it: the block itself, and beside it the object
        assert result["structuredContent"] == {"context": part["text"]}
    else:
        assert json.loads(part["text"]) == result["structuredContent"]
    return result["structuredContent"]


def refused(process: Process, tool: str, **arguments: Any) -> str:
    result = process.call(4, tool, **arguments)
    assert result["isError"] is True
    return str(result["content"][0]["text"])


def log(process: Process, session: str, content: str, **more: Any) -> str:
    answer = said(process, "log", session_id=session, content=content, **more)
    assert answer["session_id"] == session
    return str(answer["observation_id"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trae")


@pytest.fixture(scope="module")
def trae(home: Path) -> Iterator[Process]:
    with Process(home, "--vault", str(home / "vault"), "--dialect", "trae") as process:
        answer = process.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        assert answer["result"]["capabilities"] == {"tools": {}}
        assert answer["result"]["serverInfo"] == {"name": "trae-mem", "version": "0.1.0"}
        process.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield process
        assert process.end() == 0
        assert process.stray == []


def test_tools_have_their_names_arguments_and_descriptions(trae: Process) -> None:
    tools = trae.request(2, "tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(TOOLS)
    for tool in tools:
        properties, required = TOOLS[tool["name"]]
        assert tool["description"].strip()
        assert set(tool["inputSchema"]["properties"]) == properties
        assert tool["inputSchema"]["required"] == required


def test_a_session_from_start_to_summary(trae: Process, home: Path) -> None:
    session = said(trae, "start_session", project="/home/me/Atlas")["session_id"]
    other = said(trae, "start_session")["session_id"]
    assert session != other
    texts = ["Sign tokens with RS256", "Ran the migration", "The cache is warm"]
    ids = [log(trae, session, texts[0], type="decision", tags=["auth", "c++"])]
    ids += [log(trae, session, text) for text in texts[1:]]
    log(trae, other, "A token of another session")

    found = said(trae, "search", query="RS256 tokens")["results"]
    assert set(found[0]) == {
        *("id", "ts", "kind", "tool_name", "session_id", "snippet", "score"),
    }
    assert (found[0]["id"], found[0]["session_id"]) == (ids[0], session)
    assert found[0]["kind"] == "decision" and "RS256" in found[0]["snippet"]
    assert ids[0] in [
        f["id"] for f in said(trae, "search", query="RS256", project="Atlas")["results"]
    ]
    assert said(trae, "search", query="RS256", project="Elsewhere")["results"] == []
    assert len(said(trae, "search", query="token session", limit=1)["results"]) == 1

    around = said(trae, "timeline", observation_id=ids[1])["items"]
    assert [(each["id"], each["content"]) for each in around] == list(zip(ids, texts, strict=True))
    only = said(trae, "timeline", observation_id=ids[1], before=0, after=1)["observations"]
    assert [each["id"] for each in only] == ids[1:]

    got = said(trae, "get_observations", ids=[ids[2], ids[0], "no-such"])
    assert [each["content"] for each in got["items"]] == [texts[2], texts[0]]
    assert got["items"][1]["tags"] == ["auth", "c--"] and got["missing"] == ["no-such"]

    ended = said(trae, "end_session", session_id=session)
    assert ended["session_id"] == session and "RS256" in ended["summary"]
    (journal,) = ((home / "vault" / "Sessions").rglob("*.md"),)
    notes = [parse(file.read_bytes(), file.name) for file in journal]
    (mine,) = [note for note in notes if note.string("session") == session]
    assert not mine.problems and mine.string("project") == "Atlas"
    assert "## Summary" in mine.body and mine.string("type") == "session"


def test_inject_has_summaries_and_what_is_about_the_task(trae: Process) -> None:
    session = said(trae, "start_session", project="Borealis")["session_id"]
    log(trae, session, "The thermostat drifts by two degrees", type="note")
    log(
        trae, session, "Chose a slow loop for the heating\n- gain 2\n- period 40 s", type="decision"
    )
    log(trae, session, "Ordered new fans for the rack", type="note")
    said(trae, "end_session", session_id=session)
    later = said(trae, "start_session", project="Borealis")["session_id"]
    for i in range(15):
        log(trae, later, f"Unrelated step {i}")
    block = said(trae, "inject", query="why does the thermostat drift", limit=3, project="Borealis")
    assert "thermostat drifts by two degrees" in block["context"]
    assert "not instructions" in block["context"]
    assert "Earlier sessions" in block["context"] and "About the task" in block["context"]
    assert block["context"].count("thermostat drifts") == 1, "nothing is said twice"
    assert block["context"].count("Ordered new fans") == 1
    loop = said(trae, "inject", query="gain and period of the heating loop", project="Borealis")
    kept = r"- Chose a slow loop for the heating \(from [^\n]+\)\n  - gain 2\n  - period 40 s\n"
    assert re.search(kept, loop["context"]), "its lines stay lines"
    assert said(trae, "inject", query="")["context"]


def test_what_is_private_is_not_kept(trae: Process, home: Path) -> None:
    session = said(trae, "start_session")["session_id"]
    half = log(trae, session, "The door code is <private>4711-swordfish</private> since May")
    whole = log(trae, session, "<private>all of it: swordfish</private>")
    said(
        trae,
        "hook_event",
        event="UserPromptSubmit",
        payload={
            "session_id": session,
            "prompt": "hello <private>swordfish</private> there friend",
        },
    )
    got = said(trae, "get_observations", ids=[half, whole])["items"]
    assert got[0]["content"] == "The door code is  since May"
    assert got[1]["content"] == "[PRIVATE]"
    assert said(trae, "search", query="swordfish")["results"] == []
    said(trae, "end_session", session_id=session)
    for file in (home / "vault").rglob("*"):
        if file.is_file():
            assert b"swordfish" not in file.read_bytes(), file


def test_life_cycle_events_become_a_journal(trae: Process) -> None:
    session = "trae-session-1"

    def happens(event: str, **payload: Any) -> Any:
        told = {"session_id": session, "cwd": "/home/me/Cygnus", **payload}
        answer = said(trae, "hook_event", event=event, payload=told)
        assert answer["ok"] is True
        return answer

    happens("SessionStart")
    happens("UserPromptSubmit", prompt="Move the gyroscope calibration into its own module")
    happens("PreToolUse", tool_name="Edit", tool_input={"file_path": "/home/me/Cygnus/gyro.py"})
    edited = happens(
        "PostToolUse",
        tool_name="Edit",
        tool_input={"file_path": "/home/me/Cygnus/gyro.py"},
        tool_response={"success": True},
    )
    happens("Stop", last_assistant_message="The calibration has its own module now")
    around = said(trae, "timeline", observation_id=edited["observation_id"])["items"]
    text = "\n".join(each["content"] for each in around)
    assert "gyroscope calibration" in text and "gyro.py" in text
    assert {each["session_id"] for each in around} == {session}
    ended = happens("SessionEnd")
    assert "gyro" in ended["summary"]
    found = said(trae, "search", query="gyroscope", project="Cygnus")["results"]
    assert found and found[0]["session_id"] == session


def test_every_event_is_kept_with_its_tool_and_its_outcome(trae: Process, home: Path) -> None:
    """Section 6: "SessionStart / PreToolUse 等", in whatever names a client tells them."""

    def happens(event: str, payload: Any) -> Any:
        answer = said(trae, "hook_event", event=event, payload=payload)
        assert answer["ok"] is True and answer["session_id"] == "s-events"
        return answer

    one = {"session_id": "s-events"}
    folder = {"cwd": "/home/me/Lyra", "source": "startup"}
    first = happens("SessionStart", one | folder)["observation_id"]
    happens(
        "PreToolUse", one | {"tool_name": "Edit", "tool_input": {"file_path": "/home/me/Lyra/a.py"}}
    )
    happens(
        "pre_tool_use", {"sessionId": "s-events", "toolName": "Grep", "toolInput": {"pattern": "x"}}
    )
    run = {"command": "pytest -q"}
    failed = {"exit_code": 1, "stdout": "FAILED tests/a.py::test_b - assert 1 == 2"}
    happens("PostToolUse", {"session": "s-events", "tool": "Bash", "args": run, "result": failed})
    happens(
        "PostToolUse",
        one | {"tool_name": "Bash", "tool_input": run, "tool_response": "1 passed in 0.1s"},
    )
    happens("PostToolUseFailure", one | {"tool_name": "mcp__map__find", "error": "no such street"})
    happens("UserPromptSubmit", json.dumps(one | {"message": "Mend the lyre"}))
    happens("UserPromptSubmit", one | {"prompt": "Mend the lyre"})
    happens("Stop", one)
    items = said(trae, "timeline", observation_id=first, before=0, after=20)["items"]
    assert [(each["kind"], each["tool_name"], each["content"]) for each in items] == [
        ("start", None, "The session began in /home/me/Lyra (startup)"),
        ("pretool", "Edit", "`Edit` a.py"),
        ("pretool", "Grep", "`Grep` x"),
        (
            *("tool", "Bash"),
            "`Bash` pytest -q → failed: exit code 1: FAILED tests/a.py::test_b - assert 1 == 2",
        ),
        ("tool", "Bash", "`Bash` pytest -q → ok: 1 passed in 0.1s"),
        ("tool", "mcp__map__find", "`mcp__map__find` → failed: no such street"),
        ("prompt", None, "Asked: Mend the lyre"),
        ("prompt", None, "Asked: Mend the lyre"),
        ("answer", None, "The agent stopped."),
    ]
    journals = [parse(f.read_bytes(), f.name) for f in (home / "vault/Sessions").rglob("*.md")]
    (mine,) = [note for note in journals if note.string("session") == "s-events"]
    assert mine.string("project") == "Lyra", "the folder of the start holds for the session"
    found = said(trae, "search", query="pytest", project="Lyra")["results"]
    assert [each["tool_name"] for each in found] == ["Bash", "Bash"]
    assert all("pytest" in each["snippet"].replace("*", "") for each in found), "lines that match"
    assert said(trae, "search", query="xylophone")["results"] == []
    for event, payload, why in (
        ("PreToolUse", {"session_id": "s-events", "foo": 1}, "has foo, session_id"),
        ("UserPromptSubmit", {"session_id": "s-events"}, "says prompt"),
        ("PreToolUse", "not json", "object"),
        ("PreToolUse", 7, "object"),
    ):
        told = refused(trae, "trae_mem_hook_event", event=event, payload=payload)
        assert why in told, "nothing is dropped in silence"


def test_the_names_of_its_own_clients_are_taken_too(trae: Process) -> None:
    session = said(trae, "start_session", project="x", meta={"a": 1})["session_id"]
    answer = said(trae, "log", session=session, kind="tool", text="ibis", tags={"file": "a.py"})
    (got,) = said(trae, "get_observations", ids=[answer["observation_id"]])["items"]
    assert (got["kind"], got["content"], got["tags"]) == ("tool", "ibis", ["file"])
    window = said(trae, "timeline", observation_id=answer["observation_id"], window=1)
    assert len(window["items"]) == 1
    assert said(trae, "end_session", session=session)["session_id"] == session


def test_what_is_wrong_is_said_in_the_result(trae: Process) -> None:
    assert refused(trae, "trae_mem_nothing") == "未知工具: trae_mem_nothing"
    assert "query" in refused(trae, "trae_mem_search")
    assert "no-such" in refused(trae, "trae_mem_timeline", observation_id="no-such")
    assert "no-such" in refused(trae, "trae_mem_end_session", session_id="no-such")
    assert "ids" in refused(trae, "trae_mem_get_observations", ids="one")
    assert "event" in refused(trae, "trae_mem_hook_event", event="Lunch", payload={})
    error = trae.request(9, "prompts/list")["error"]
    assert error == {"code": -32601, "message": "method_not_found: prompts/list"}


def test_observations_are_known_to_the_native_surface(trae: Process, home: Path) -> None:
    session = said(trae, "start_session")["session_id"]
    id_ = log(trae, session, "The heron stands in the reservoir", tags=["bird"])
    with Vault.open(home / "vault") as vault:
        assert vault.get([id_]).memories[0].content == "The heron stands in the reservoir"
        assert vault.recall("heron", strategy="keyword").memories[0].id == id_
        vault.remember("Herons are protected here", type="semantic")
    texts = [f["snippet"] for f in said(trae, "search", query="protected herons")["results"]]
    assert any("protected" in text for text in texts)


# --- HTTP ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(home: Path, trae: Process) -> Iterator[str]:
    flags = ("--vault", str(home / "vault"), "--dialect", "trae", "--http", "127.0.0.1:0")
    with Process(home, *flags) as process:
        assert process.child.stderr is not None
        for line in process.child.stderr:
            if found := re.search(rb"http://(127\.0\.0\.1:\d+)", line):
                break
        assert found
        yield found[1].decode()


def get(address: str, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_the_three_routes(trae: Process, address: str) -> None:
    session = said(trae, "start_session", project="Delphinus")["session_id"]
    ids = [log(trae, session, f"Sonar reading {i} of the dolphin") for i in range(3)]
    status, found = get(address, "/search?q=sonar+dolphin&limit=2")
    assert status == 200 and set(found) == {"query", "results"}
    assert found["query"] == "sonar dolphin" and len(found["results"]) == 2
    assert {each["session_id"] for each in found["results"]} == {session}
    status, around = get(address, f"/timeline?observation_id={ids[1]}")
    assert status == 200 and around["observation_id"] == ids[1]
    assert [each["id"] for each in around["items"]] == ids
    assert len(get(address, f"/timeline?observation_id={ids[1]}&before=0&after=0")[1]["items"]) == 1
    status, block = get(address, f"/inject?q=dolphin&project={quote('/home/me/Delphinus')}")
    assert status == 200 and set(block) == {"query", "context"}
    assert "Sonar reading" in block["context"]


def test_wrong_questions_are_answered_as_json(address: str) -> None:
    for path, status in (("/search", 400), ("/timeline?observation_id=none", 404), ("/no", 404)):
        answered, told = get(address, path)
        assert answered == status and told["message"]
    assert get(address, "/health")[1]["status"] == "ok"
    assert "/inject" in get(address, "/openapi.json")[1]["paths"]
