"""Whatever a client writes: through an engine it hears what it hears without one."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.engine.machine import GREETING, PROGRAM, Machine, machine_in
from tests.surfaces.mcp.harness import INITIALIZED
from tests.waiting import until

OFF = {"VAULTMEM_ENGINE": "off"}
RECALL = {"name": "recall_memories", "arguments": {"query": "heron", "strategy": "keyword"}}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine_in(tmp_path_factory.mktemp("home")) as made:
        window = made.window()
        window.greet()
        assert not window.store("Herons nest in the reeds behind our mill.")["isError"]
        until(made.engine)
        yield made


def line(id_: object, method: str, **params: Any) -> bytes:
    asked = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return json.dumps(asked).encode() + b"\n"


def said(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def call(id_: object, name: object, given: object, **more: Any) -> bytes:
    return line(id_, "tools/call", name=name, arguments=given, **more)


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "window", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
READING: tuple[tuple[str, object], ...] = (
    *(("recall_memories", {"query": "heron", "detail": each}) for each in ("brief", "full")),
    ("recall_memories", {"query": "nothing of this is here", "limit": 0}),
    ("recall_memories", {"query": 5, "colour": "red"}),
    ("recall_memories", {}),
    ("get_memories", {"ids": ["nobody"]}),
    ("list_memories", {"order": "title"}),
    ("list_memories", {"order": "by colour"}),
    ("get_memory_context", {"task_description": "herons"}),
    ("search_knowledge_graph", {}),
    ("query_facts", {"subject": "x"}),
    ("list_tags", {}),
    ("get_timeline", {}),
    ("prune_memories", {"scope": "user", "dry_run": True}),
    ("consolidate_memories", {"dry_run": True}),
    ("store_memory", {"content": "", "type": "semantic", "scope": "user"}),
    ("store_memry", {}),
    ("hook_event", {}),
    ("hook_event", {"hook_event_name": "Nothing"}),
)
HELLO = said(GREETING) + said(INITIALIZED)
LONG = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"'
GIANT = LONG + b"x" * 17_000_000 + b'"}}\n'


def giant(length: int) -> bytes:
    """A line of so many bytes, its end not counted."""
    return LONG + b"x" * (length - len(LONG) - 3) + b'"}}\n'


ODD: tuple[object, ...] = (
    None,
    True,
    1.5,
    [],
    {},
    "",
    "\ud800",
    "a\nb",
    "a\u2028b",
    10**20,
    -1,
    "x" * 300,
)

TALKS = {
    "a giant": HELLO + GIANT + line(8, "ping"),
    "a giant without an end": HELLO + GIANT[:-1],
    "a giant, then silence": HELLO + GIANT[:-4],
    "as long as may be": HELLO + giant(15_999_999) + line(8, "ping"),
    "one too long": HELLO + giant(16_000_000) + line(8, "ping"),
    "two too long": HELLO + giant(16_000_001) + line(8, "ping"),
    "no end": HELLO + line(1, "tools/call", **RECALL)[:-1],
    "no letters": HELLO + b"\xff\xfe\n" + line(1, "ping"),
    "letters cut off": HELLO + b'{"jsonrpc":"2.0","id":1,"method":"\xc3"}\n' + line(2, "ping"),
    "nothing": HELLO + b"\n\0\n \t\r\n" + line(1, "ping"),
    "NUL inside": HELLO + b'{"jsonrpc":"2.0",\0"id":1,"method":"ping"}\n' + line(2, "ping"),
    "a mark of byte order": HELLO + b"\xef\xbb\xbf" + line(1, "tools/call", **RECALL),
    "the same id twice": HELLO + line(1, "tools/call", **RECALL) * 2,
    "a batch": HELLO + said([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]) + line(2, "ping"),
    "an empty batch": HELLO + b"[]\n" + line(2, "ping"),
    "odd ids": HELLO
    + b"".join(
        line(id_, method)
        for id_ in ODD
        for method in ("ping", "tools/list")
    ),
    "ids that are odd, of calls": HELLO
    + b"".join(
        line(id_, "tools/call", **RECALL)
        for id_ in ODD
    ),
    "no numbers": HELLO
    + b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}\n'
    + b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"x":-Infinity}}\n'
    + line(3, "tools/call", **RECALL),
    "digits": HELLO + b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}\n',
    "deep": HELLO + b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 200_000 + b"\n",
    "a name twice": HELLO + b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n',
    "greeted twice": HELLO + HELLO + line(1, "ping"),
    "greeted twice at once": said(GREETING) * 2 + said(INITIALIZED) + line(1, "ping"),
    "before the greeting": line(1, "tools/list") + line(2, "ping") + HELLO + line(3, "ping"),
    "never greeted": line(2, "ping"),
    "the greeting's id again": HELLO + line(0, "ping") + line(0, "tools/call", **RECALL),
    "another version": HELLO.replace(b"2025-06-18", b"1999-01-01") + line(1, "tools/list"),
    "a greeting that is none": line(0, "initialize") + line(1, "tools/list"),
    "parameters that are none": HELLO
    + said({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]})
    + said({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": None})
    + said({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": "x"})
    + said({"jsonrpc": "2.0", "id": 4, "method": 5})
    + said({"jsonrpc": "1.0", "id": 5, "method": "ping"})
    + said({"id": 6, "method": "ping"})
    + said({"jsonrpc": "2.0", "id": 7, "method": "ping", "more": 1}),
    "replies to nothing": HELLO
    + said({"jsonrpc": "2.0", "id": 99, "result": {}})
    + said({"jsonrpc": "2.0", "id": 98, "error": {"code": 1, "message": "x"}})
    + line(1, "ping"),
    "words of a window": HELLO + b'!{"session":"x"}\n!\n!bye\n>\n>{}\n' + line(1, "ping"),
    "ends of lines of another system": HELLO.replace(b"\n", b"\r\n") + line(1, "ping"),
    "cut off long before": HELLO
    + said({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 55}})
    + said({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}})
    + said({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    + line(1, "ping"),
    "nothing at all": b"",
    "not told that it is greeted": said(GREETING) + line(1, "tools/call", **RECALL),
    "what is said of a call": HELLO
    + call(1, "recall_memories", {"query": "heron"}, _meta={"progressToken": 1, "x/y": {}})
    + call(2, "recall_memories", {"query": "heron"}, _meta={"progressToken": True})
    + call(3, "recall_memories", {"query": "heron"}, task={})
    + call(4, "recall_memories", None)
    + call(5, 5, {})
    + line(6, "tools/call", name="list_tags")
    + call(7, "list_tags", {"limit": 3, "\ud83d\ude00": "\ud800 \ud83d\ude00"}),
    "resources, and calls again": HELLO
    + line(1, "resources/list")
    + line(2, "resources/list", cursor="notes-100")
    + line(3, "resources/list", cursor="notes-0", more=1)
    + line(4, "resources/list", cursor="elsewhere")
    + line(5, "resources/templates/list")
    + line(6, "resources/templates/list", cursor="x")
    + line(7, "resources/read", uri="memory://vault")
    + call(8, "list_memories", {})
    + line(9, "prompts/get", name="review")
    + call(10, "list_memories", {"limit": 1}),
    "numbers that are written in two ways": HELLO
    + call(1, "recall_memories", {"query": "heron", "min_importance": 1e-7, "limit": 1e0})
    + call(2, "recall_memories", {"query": "1e-07", "strategy": "keyword", "explain": True}),
    "both eras": HELLO
    + call(1, "list_memories", {}, _meta=MODERN)
    + call(2, "list_memories", {})
    + line(3, "resources/list", _meta=MODERN),
    **{
        f"every tool that reads, {version}": HELLO.replace(b"2025-06-18", version.encode())
        + b"".join(
            call(number, name, given) for number, (name, given) in enumerate(READING, 1)
        )
        for version in ("2024-11-05", "2025-03-26", "2025-11-25")
    },
}  # fmt: skip


def heard(machine: Machine, spoken: bytes, **env: str) -> tuple[list[str], str, int]:
    """What came out, in an order that is no matter of chance; what was said beside it."""
    done = subprocess.run(
        [*PROGRAM, "serve", "--vault", str(machine.vault), "--session", "s"],
        input=spoken, capture_output=True, env=machine.env | env, cwd=machine.home, timeout=120,
    )  # fmt: skip
    lines = [re.sub(r'query_time_ms\W+[\d.]+|\d+ ms|_score\W+[\d.e-]+|"at":"[^"]+"|access_count\W+\d+', "", each)
             for each in done.stdout.decode().splitlines()]  # fmt: skip
    return sorted(lines), done.stderr.decode(), done.returncode


@pytest.mark.parametrize("talk", TALKS)
def test_what_is_heard_is_the_same(machine: Machine, talk: str) -> None:
    by_engine, alone = heard(machine, TALKS[talk]), heard(machine, TALKS[talk], **OFF)
    assert by_engine == alone
