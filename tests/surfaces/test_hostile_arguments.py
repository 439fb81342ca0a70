"""Hostile values for every argument of every tool, route, prompt, resource and completion.

Each call is answered soon and shortly: with success, or with a known code and a sentence; a
refused call leaves the notes as they are, and the server goes on. `HYPOTHESIS_PROFILE=long`
tries all values for each argument, else each gets some of them.
"""

from __future__ import annotations

import inspect
import io
import itertools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import pytest
from mcp import MCPError

from tests.surfaces.http.site import serving
from tests.surfaces.mcp.harness import Process, client, new_vault
from tests.surfaces.mcp.harness import serving as in_process
from vaultmem import limits
from vaultmem.surfaces import answers, arguments, cli, dialects
from vaultmem.surfaces.http import routes
from vaultmem.surfaces.mcp import prompts, resources, tools
from vaultmem.vault import Vault, _Offered

CODES = {
    *("not_found", "already_exists", "conflict", "invalid_input", "read_only", "outside_vault"),
    *("busy", "memory_unavailable", "storage_full", "note_malformed"),
}
SPOKEN = dialects.ALL
CPU_SECONDS = 2.0
REPLY_BYTES = 5 * limits.SHOWN  # twice the answer, and a quote in a text takes two signs
EVERYTHING = os.environ.get("HYPOTHESIS_PROFILE") == "long"
AT_ONCE = 6  # values for each argument, where not all are tried


def deep(levels: int, inner: Any = "x") -> Any:
    for _ in range(levels):
        inner = {"a": [inner]}
    return inner


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 5.0, 2.5, 1e308, -1e308, 2**31, 2**63, 10**400),
    *("", " ", "\n", "x", "5", "\0", "a\0b", "\ud800", "\x1b[31m", "ä" * 300, "🚀" * 12_000),
    *("x" * 300, "x" * 5_000, "[" * 50_000, "x" * 1_000_001, "../../etc/passwd", "C:\\x", "-1"),
    *("<private>x", "---\nid: 1\n---", "%%", "*", '" OR 1=1', "\u202e", "2026-99-99", "9" * 400),
    *([], [[]], [None], [1], [""], ["\0"], ["x" * 5_000], ["x"] * 100_000, [{}], [{"name": 5}]),
    *([{"name": f"n{i}", "type": "t", "relationship": "r"} for i in range(300)],),
    *({}, {"x": 1}, {"add": "x"}, {"add": [1]}, {"add": ["x"] * 5_000}, {"after": 5}),
    *({f"k{i}": i for i in range(5_000)}, {"k": "x" * 100_000}, {"k": 1e308}, {"k": {"l": "m"}}),
    *(deep(15), deep(60), deep(300), [0.5] * 70_000, [1e300, -1e300], {"": ""}, {"\0": "\0"}),
)
FIT: dict[str, Any] = {  # what makes a call go as far as it can
    **dict.fromkeys(("memory_id", "id", "drawer_id"), "Tea"),
    **dict.fromkeys(("content", "text", "fact"), "Tea is at four"),
    **dict.fromkeys(("query", "q", "question"), "tea"),
    **dict.fromkeys(("subject", "object", "name", "palace", "key"), "Tea"),
    "predicate": "is_at",
    "ids": ["Tea"],
    "target_scope": "user",
    "payload": {"session_id": "s", "prompt": "tea?"},
    "event": "UserPromptSubmit",
    "session_id": "hostile",
    "observation_id": "01k00000000000000000000000",
}


def fit(name: str, schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return FIT[name] if name in FIT else {"array": [], "object": {}}.get(schema.get("type", ""), 1)


def values_for(number: int) -> Iterator[Any]:
    """All of them, or some; another argument gets others."""
    if EVERYTHING:
        yield from VALUES
    else:
        turn = itertools.islice(itertools.cycle(VALUES), number * AT_ONCE, (number + 1) * AT_ONCE)
        yield from turn


def calls(listed: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], str]]:
    numbers = itertools.count()
    for tool in listed:
        schema = tool["inputSchema"]
        known = schema.get("properties", {})
        good = {name: fit(name, known[name]) for name in schema.get("required", ())}
        yield tool["name"], good | {"contant": 1}, "contant"
        for name in known:
            for value in values_for(next(numbers)):
                yield tool["name"], good | {name: value}, name


# --- a server, and what may never happen ----------------------------------------------------------


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    vault = new_vault(tmp_path / "vault")
    (vault / "Tea.md").write_text("Tea is at four.\n")
    (vault / "Many.md").write_text(
        "Many tags, tea.\n\n" + "".join(f"#tag{i}\n" for i in range(20_000))
    )
    for first in range(0, 6_000, 500):
        tags = ", ".join(f"label{i}" for i in range(first, first + 500))
        (vault / f"Labels {first}.md").write_text(f"---\ntags: [{tags}]\n---\nLabels.\n")
    (vault / "Long.md").write_text("Tea, and more tea. " * 60_000)
    with Vault.open(vault, {"model": "off"}) as opened:
        opened.index_now()  # what the first call takes is not what its argument takes
    return vault


def quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass")[:20_000], safe="")


def notes(root: Path) -> dict[str, tuple[int, int]]:
    found = (f for f in root.rglob("*.md") if ".vaultmem" not in f.parts)
    return {str(file): (file.stat().st_size, file.stat().st_mtime_ns) for file in found}


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watched:
    """Every reply is looked at as it comes."""

    def __init__(self, server: Process, root: Path) -> None:
        self.server, self.root, self.number, self.refused = server, root, 0, 0
        self.slowest = 0.0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        before, spent = notes(self.root), cpu(self.server.child.pid)
        reply = self.server.request(self.number, method, **params)
        spent = cpu(self.server.child.pid) - spent
        self.slowest = max(self.slowest, spent)
        what = f"{method} {json.dumps(params)[:300]}"
        assert reply["id"] == self.number, what
        assert len(json.dumps(reply)) <= REPLY_BYTES, what
        assert spent < CPU_SECONDS, (what, spent)
        if told := sentence(reply):
            self.refused += 1
            assert 5 < len(told) < 3_000, (what, told)
            for word in ("Traceback", "pydantic", "unexpected", "nternal error", "validation err"):
                assert word not in told, (what, told)
            assert notes(self.root) == before, (what, told)
        return reply


def sentence(reply: dict[str, Any]) -> str:
    """What a refusal says; empty where the call was done."""
    if "error" in reply:
        assert isinstance(reply["error"]["code"], int)
        return str(reply["error"]["message"])
    result = reply["result"]
    if not result.get("isError"):
        return ""
    if told := result.get("structuredContent"):
        assert told["error"] in CODES, told
        return str(told["message"])
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("spoken", SPOKEN)
def test_every_argument_of_every_tool(spoken: str, root: Path, tmp_path: Path) -> None:
    env = {"VAULTMEM_MODEL": "off", "VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    with Process(tmp_path, "--vault", str(root), "--dialect", spoken, env=env) as server:
        server.start()
        watched = Watched(server, root)
        listed = watched.ask("tools/list")["result"]["tools"]
        for tool, given, culprit in calls(listed):
            reply = watched.ask("tools/call", name=tool, arguments=given)
            if culprit == "contant" and spoken == "native":
                assert "no argument 'contant'" in sentence(reply)
        for name in ("x" * 100_000, "", "recall_memories\0", "store_memory; rm"):
            assert sentence(watched.ask("tools/call", name=name, arguments={}))
        if spoken != "trusty":  # where what is of a wrong type counts as missing
            assert watched.refused > watched.number / 4
        for name in ("x" * 100_000, "tools", ""):
            assert sentence(watched.ask(name))
        assert server.end() == 0
        assert not server.stray


@pytest.mark.parametrize("spoken", ["native", "memory-mcp", "surreal"])
def test_resources_prompts_and_completions(spoken: str, root: Path, tmp_path: Path) -> None:
    texts = [value for value in VALUES if isinstance(value, str)]
    env = {"VAULTMEM_MODEL": "off"}
    with Process(tmp_path, "--vault", str(root), "--dialect", spoken, env=env) as server:
        server.start()
        watched = Watched(server, root)
        for text in texts:
            for uri in (text, f"memory://vault/{text}", f"memory://session/{quoted(text)}"):
                watched.ask("resources/read", uri=uri)
            watched.ask("resources/read", uri=f"memory://vault?offset={text}&limit={text}")
            watched.ask("resources/list", cursor=text)
        for uri in ("memory://vault/Long.md", "memory://vault/Many.md", "memory://recent"):
            watched.ask("resources/read", uri=uri)
        for wrong in (5, None, [], {}):
            watched.ask("resources/read", uri=wrong)
            watched.ask("prompts/get", name=wrong, arguments=wrong)
        if spoken == "native":
            for prompt, text in itertools.product(prompts.LISTING, texts):
                for argument in prompt["arguments"]:
                    given = {"question": "x", argument["name"]: text}
                    watched.ask("prompts/get", name=prompt["name"], arguments=given)
            for text in texts:
                ref = {"type": "ref/resource", "uri": "memory://vault/{+key}"}
                argument = {"name": "tags", "value": text}
                watched.ask("completion/complete", ref=ref, argument=argument)
                argument = {"name": text, "value": "t"}
                watched.ask("completion/complete", ref=ref, argument=argument)
        assert watched.refused > watched.number / 4
        assert server.end() == 0


def test_every_parameter_of_every_route(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_MODEL", "off")
    texts = [value for value in VALUES if isinstance(value, str) and len(value) <= 12_000]
    texts += ["5.0", "1e308", "nan", "-0", "٥"]
    with serving(root) as site:
        for route in routes.ROUTES:
            for name, text in itertools.product(route.takes, texts):
                before = notes(root)
                given = dict.fromkeys(route.needs, "tea") | {name: quoted(text)}
                path = route.path.replace("{id}", given.pop("id", ""))
                asked = "&".join(f"{key}={item}" for key, item in given.items())
                reply = site.get(f"{path}?{asked}" if asked else path)
                assert reply.status in (200, 400, 404), (path, name, text[:50], reply.body[:300])
                assert len(reply.body) < 2 * 1_000_000
                if reply.status != 200:
                    told = reply.json
                    assert told["error"] in CODES and len(told["message"]) < 3_000
                    assert notes(root) == before
        assert site.get("/search?q=tea&limit=5.0").status == 200
        assert site.get("/health").status == 200


def test_a_client_may_call_itself_anything(root: Path, tmp_path: Path) -> None:
    for name in (value for value in VALUES if isinstance(value, str)):
        called = limits.bounded_client_name(name)
        assert len(called) <= 100 and called.isprintable()
        called.encode()
    name = "evil\n\0\x1b[31m \ud800" + "x" * 100_000
    with Process(tmp_path, "--vault", str(root), env={"VAULTMEM_MODEL": "off"}) as server:
        info = {"name": name, "version": name, "extra": {"sessionId": name}}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        assert "result" in server.request(0, "initialize", **params)
        done = server.call(1, "start_session", title="x")
        assert not done["isError"], done


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
async def test_subscriptions_have_a_bound(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultmem.surfaces.mcp.server.MOST_SUBSCRIPTIONS", 3)
    with in_process(root) as served:
        async with client(served, "legacy") as c:
            for number in range(3):
                await c.subscribe_resource(f"memory://vault/{number}")
            with pytest.raises(MCPError, match="subscriptions; end some first"):
                await c.subscribe_resource("memory://vault/3")
            await c.unsubscribe_resource("memory://vault/0")
            await c.subscribe_resource("memory://vault/3")


def test_messages_have_a_bound(root: Path, tmp_path: Path) -> None:
    def memory() -> int:
        status = Path(f"/proc/{server.child.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"store_memory",'
    with Process(tmp_path, "--vault", str(root), env={"VAULTMEM_MODEL": "off"}) as server:
        server.start()
        server.call(1, "list_memories")
        before = memory()
        server.send(call + b'"arguments":{"content":"')
        for _ in range(200):
            server.send(b"x" * 1_000_000)
        server.send(b'"}}}\n')
        reply = server.receive()
        assert (reply["id"], reply["error"]["code"]) == (7, -32600)
        assert "at most 16,000,000 bytes" in reply["error"]["message"]
        assert memory() - before < 120_000_000
        for line in (b"[" * 5_000_000, b'{"a":' * 900 + b"1" + b"}" * 900, b"9" * 5_000):
            server.send(line + b"\n")
            assert server.receive()["error"]["code"] in (-32700, -32600)
        assert server.call(8, "recall_memories", query="tea")["structuredContent"]["memories"]
        assert server.end() == 0


def test_bodies_over_http_have_a_bound(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_MODEL", "off")
    call = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tags","arguments":'
    )
    bodies = (
        *(b"[" * 1_000_000, b"{" * 1_000_000, call + b'{"a":' * 900 + b"1" + b"}" * 902),
        *(b"x" * 5_000_000, b"\0" * 1000, b"\xff\xfe", b"", b"NaN", b"9" * 10_000, b'"\\ud800"'),
    )
    accept = "application/json, text/event-stream"
    with serving(root) as site:
        for body in bodies:
            reply = site.ask(
                "POST", "/mcp", body=body, Accept=accept, Content_Type="application/json"
            )
            assert 400 <= reply.status < 500, (body[:50], reply.status, reply.body[:300])
            assert len(reply.body) < 3_000 and b"Traceback" not in reply.body
        assert site.get("/health").status == 200


OPERATED = {  # commands that start programs, watch, ask, or write outside of the vault
    *("serve", "install", "uninstall", "models", "edit", "sync", "demo", "look", "hook"),
    *("completion", "init", "export"),
}


def test_every_option_of_every_command(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_MODEL", "off")
    monkeypatch.chdir(root)
    texts = [v for v in VALUES if isinstance(v, str) and len(v) < 100_000]
    turns, count = itertools.cycle([*texts, "\udcff", "nan", "5.0", "1e308"]), 0
    for name in sorted(set(cli.COMMANDS) - OPERATED):
        command = cli.cli.get_command(click.Context(cli.cli), name)
        assert command is not None
        taken = [
            p for p in command.params if not getattr(p, "is_flag", False) and p.name != "vault"
        ]
        needed = [p for p in taken if isinstance(p, click.Argument) and p.required]
        for target, value in ((p, next(turns)) for p in taken for _ in range(3)):
            own = [value if p is target else "Tea" for p in needed]
            named = [f"{target.opts[0]}={value}"] if isinstance(target, click.Option) else []
            own += [value] if target not in needed and not named else []
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Tea is at four")))
            started = time.process_time()
            code = cli.main([name, *named, "--", *own])
            said = "".join(capsys.readouterr())
            assert code in (0, 1, 2), (name, target.name, value[:50], said)
            assert "Traceback" not in said and len(said) < 100_000, (name, target.name, value[:50])
            assert time.process_time() - started < CPU_SECONDS, (name, target.name, value[:50])
            count += 1
    assert count > 80


# --- no argument without a bound ------------------------------------------------------------------


def names_in(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        if inner.get("type") == "object" and "properties" in inner and path + name != "source":
            yield from names_in(inner, f"{path}{name}.")
        else:
            yield path + name


def test_every_argument_has_a_bound() -> None:
    schemas = [tool.schema for tool in tools.TABLE]
    schemas += [{"properties": route.takes} for route in routes.ROUTES]
    for name in dialects.NAMES:
        spoken = dialects.load_dialect(name, dialects.ServerOptions())
        schemas += [dict(tool.schema) for tool in spoken.tools]
        schemas += [{"properties": route.takes} for route in spoken.routes]
    schemas += [{"properties": {a["name"]: a for a in p["arguments"]}} for p in prompts.LISTING]
    paths = {path for schema in schemas for path in names_in(schema)}
    assert len(paths) > 60
    for path in paths:
        assert path in limits.TABLE or path.rpartition(".")[2] in limits.TABLE, path


def test_every_operation_is_bounded(root: Path) -> None:
    ours = {"fix", "repair", "upkeep", "project_folder", "review_queue"}  # take our own objects
    with Vault.open(root, {"model": "off"}) as vault:
        offered = [name for name, each in vars(Vault).items() if isinstance(each, _Offered)]
        assert len(offered) > 50
        for name in set(offered) - ours:
            operation = getattr(vault, name)
            if inspect.signature(operation).parameters:
                assert hasattr(operation, "bounds"), name


@pytest.mark.parametrize("name", sorted(limits.TABLE))
def test_every_bound_has_a_sentence(name: str) -> None:
    bound = limits.TABLE[name]
    assert bound.bound_in_words
    for value in (*VALUES, float("nan"), float("inf"), object(), b"x", {1, 2}, iter("x" * 200_000)):
        try:
            bound.bounded_value(name, value)
        except limits.InvalidInput as error:
            assert name in str(error) and str(error).endswith((".", "shorter.", "title."))
            assert len(str(error)) < 400


# --- answers --------------------------------------------------------------------------------------


def test_answers_are_cut_with_a_count(root: Path, tmp_path: Path) -> None:
    env = {"VAULTMEM_MODEL": "off"}
    with Process(tmp_path, "--vault", str(root), env=env) as server:
        server.start()
        got = server.call(1, "get_memories", ids=["Many.md", "Long.md", "Tea.md"])[
            "structuredContent"
        ]
        many, long, tea = got["memories"]
        assert (len(many["tags"]), many["tags_total"]) == (100, 500)
        assert long["characters"] == 1_140_000 and "version" not in long
        assert 0 < long["next_offset"] < 10_000 and tea["version"]
        tags = server.call(2, "list_tags")["structuredContent"]
        assert len(tags["tags"]) + tags["more"] == 6_500 and len(tags["tags"]) > 50
        hits = server.call(3, "recall_memories", query="many tags")["structuredContent"]
        assert len(json.dumps(hits)) < REPLY_BYTES
        note = server.request(4, "resources/read", uri="memory://vault/Long.md")["result"]
        assert "more characters" in note["contents"][0]["text"][-100:]
    assert set(arguments.__dict__) and resources.LONGEST  # both are what the calls above met


def test_what_was_cut_cannot_be_replaced(root: Path, tmp_path: Path) -> None:
    """Not even with a version that came from elsewhere."""
    env = {"VAULTMEM_MODEL": "off", "VAULTMEM_TYPING_QUIET_SECONDS": "0"}
    with Process(tmp_path, "--vault", str(root), env=env) as server:
        server.start()
        server.call(1, "get_memories", ids=["Long.md"])
        version = server.call(2, "tag_memory", memory_id="Long.md", add=["seen"])
        given = {"memory_id": "Long.md", "content": "Short."}
        for expected in ({}, {"expected_version": version["structuredContent"]["version"]}):
            done = server.call(3, "update_memory", **given, **expected)
            assert done["isError"] and done["structuredContent"]["error"] == "invalid_input"
    assert (root / "Long.md").stat().st_size > 1_000_000


def test_what_is_short_stays_as_it_is() -> None:
    answer = {"memories": [{"tags": ["a"] * 150, "content": "x" * 60_000, "version": "v"}]}
    assert answers.shortened_answer(answer)[0] is answer


def test_entities_of_one_call_are_bounded_and_quick(tmp_path: Path) -> None:
    with Vault.open(new_vault(tmp_path / "vault"), {"typing.quiet_seconds": 0.0}) as vault:
        many = [{"name": f"N {i}", "type": "t", "relationship": "about"} for i in range(50)]
        before = vault.parts.index.revision
        vault.remember("All of them", related_entities=[*many[:49], many[0]])
        assert vault.parts.index.revision - before <= 2  # the memory, and all entities together
        assert len(vault.entity_names("N ", 100)) == 49
        with pytest.raises(limits.InvalidInput, match="related_entities has 51 items, and 50"):
            vault.remember("Too many", related_entities=[*many, many[0]])
