"""What a window says at once is what the server says, to the byte."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from tests.conftest import ROOT
from tests.surfaces.mcp.harness import new_vault
from vaultmem.front.conversation import Conversation
from vaultmem.front.replies import FILE, Replies
from vaultmem.front.way_in import _DIALECTS, _TOOLSETS, _WITH_SETTINGS
from vaultmem.surfaces import dialects
from vaultmem.surfaces.mcp import tools

VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)


@pytest.fixture(scope="module")
def task() -> ModuleType:
    spec = importlib.util.spec_from_file_location("w", ROOT / "scripts/tasks/write_replies.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_vault(tmp_path_factory.mktemp("served") / "vault")


def test_the_file_is_what_the_server_says_now(task: ModuleType) -> None:
    assert Path(FILE).read_text("utf-8") == task.written_replies(), (
        "write them anew: scripts/run write-replies"
    )


def ways() -> list[list[str]]:
    """Every way of starting a server that a window knows."""
    sets = [
        ",".join(chosen)
        for number in range(1, len(_TOOLSETS) + 1)
        for chosen in itertools.combinations(_TOOLSETS, number)
    ]
    started = [[], *(["--toolsets", each] for each in sets)]
    started += [["--dialect", name] for name in _DIALECTS]
    started += [["--dialect", "trusty", "--palace", "mine"], ["--user", "anna", "--project", "p"]]
    return [[*way, *flag] for way in started for flag in ([], ["--read-only"])]


@pytest.mark.parametrize("way", ways(), ids=" ".join)
def test_every_way_of_starting_it(task: ModuleType, served: Path, way: list[str]) -> None:
    given = dict(zip(way[::2], way[1::2], strict=False))
    known = Replies(
        given.get("--dialect", "native"),
        tuple(given["--toolsets"].split(",")) if "--toolsets" in given else (),
        "--read-only" in way,
        given.get("--palace", ""),
    )
    said = 0
    for version in VERSIONS:
        requests = task.spoken_requests(version)
        answers = task.replies_of_server(served, way, requests)
        agreed = version if version in HANDSHAKE_PROTOCOL_VERSIONS else ""
        for request in requests:
            found = known.to(request, agreed)
            if found is not None:
                said += 1
                assert f'"result":{found[0]}}}' == answers[request["method"]], (version, request)
    assert said >= len(HANDSHAKE_PROTOCOL_VERSIONS) * (1 if "--palace" in way else 2)


_TOLD = {"name": "a client", "version": "1"}
_CLIENTS = (
    _TOLD,
    {**_TOLD, "title": "A", "description": "b", "websiteUrl": "https://c"},
    {**_TOLD, "icons": [{"src": "a.png", "mimeType": "image/png"}]},
    {**_TOLD, "icons": 5},
    {**_TOLD, "title": None},
)
_CAPABILITIES: tuple[object, ...] = (
    {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
    {"experimental": {"a": {"b": {}}}, "extensions": {"c": {}}, "tasks": {"list": {}}},
    *({"sampling": 5}, {"roots": []}, {"roots": {"listChanged": "x"}}, {"roots": {"a": 1}}),
    *({"experimental": {"a": 1}}, {"extensions": 3}, {"tasks": {"list": 5}}, {"unknown": 7}),
    {"elicitation": {"form": 3}},
)


@pytest.mark.parametrize("version", [HANDSHAKE_PROTOCOL_VERSIONS[-1], MODERN_PROTOCOL_VERSIONS[-1]])
def test_what_a_client_says_of_itself(task: ModuleType, served: Path, version: str) -> None:
    """A window knows what the server would refuse, and leaves that to it."""
    known, said = Replies("native", (), read_only=False), 0
    told = [(client, {}) for client in _CLIENTS] + [(_TOLD, each) for each in _CAPABILITIES]
    for client, capabilities in told:
        (request, *_) = task.spoken_requests(version)
        params = request["params"]
        if "_meta" in params:
            prefix = "io.modelcontextprotocol/"
            params["_meta"] |= {f"{prefix}clientInfo": client,
                                f"{prefix}clientCapabilities": capabilities}  # fmt: skip
        else:
            params |= {"clientInfo": client, "capabilities": capabilities}
        found = known.to(request, "")
        if found is not None:
            said += 1
            answers = task.replies_of_server(served, [], [request])
            assert f'"result":{found[0]}}}' == answers[request["method"]], (client, capabilities)
    assert said >= 5


def test_a_lost_hook_is_silence(task: ModuleType) -> None:
    """Its event is not told twice, and an agent hears nothing of it."""
    talk = Conversation(Replies("native", (), read_only=False), in_turn=False)
    event = {"name": "hook_event", "arguments": {"hook_event_name": "PostToolUse"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": event}
    assert talk.reply_at_once(json.dumps(asked).encode()) == (b"", True)
    again, lost = talk.begin_anew()
    assert not again
    (told,) = map(json.loads, lost)
    assert told["result"] == {"content": [], "isError": False}


def test_the_window_knows_all_toolsets_and_dialects() -> None:
    assert set(_TOOLSETS) == set(tools.TOOLSETS)
    assert set(_DIALECTS) == set(dialects.NAMES)
    with_settings = [
        name
        for name in dialects.NAMES
        if dialects.load_dialect(name, dialects.ServerOptions()).settings
    ]
    assert set(_WITH_SETTINGS) == set(with_settings)


@pytest.mark.parametrize(
    "params",
    [
        *({"cursor": "x"}, {"_meta": {"progressToken": 1}}, {"_meta": []}, {"more": {}}),
        {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "", "version": ""}},
        {"protocolVersion": "2025-06-18", "capabilities": [], "clientInfo": {"name": "", "version": ""}},
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": 1, "version": ""}},
        {"protocolVersion": ["2025-06-18"], "capabilities": {}, "clientInfo": {"name": "", "version": ""}},
    ],
)  # fmt: skip
def test_what_is_unusual_is_for_the_server(params: object) -> None:
    known = Replies("native", (), read_only=False)
    for method in ("initialize", "tools/list", "prompts/list", "server/discover"):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert known.to(request, "2025-06-18") is None


def test_a_window_loads_hardly_anything() -> None:
    heavy = {"json", "re", "typing", "pathlib", "click", "logging", "asyncio", "mcp", "socket"}
    code = (
        "import sys\n"
        "from vaultmem import __main__\n"
        "from vaultmem.front import command, conversation, replies, way_in, window\n"
        "print(sorted(sys.modules))"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"sys=__import__('sys'); sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(eval(done.stdout))
    assert not heavy & loaded, heavy & loaded
