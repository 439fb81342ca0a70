"""What is private gets out nowhere: planted words, every shape of Markdown, every way out.

A person's private words stay in their files and reach nothing else; an agent's never reach the
disk at all. What merely speaks of the tag in code comes back byte for byte.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.conftest import Run
from tests.surfaces.http import site as http_site
from tests.surfaces.mcp.harness import Process, client, new_vault, serving
from vaultmem.hooks import answer
from vaultmem.surfaces.mcp.resources import FIXED
from vaultmem.vault import Vault

pytestmark = pytest.mark.anyio
WORD = "qzcanary"
OPENINGS = ("<private>", "<PRIVATE >", '<private class="x">', "<private\n>", "<private hidden>")

# {} is a planted word; `harbour` is public, so that every note is found.
BODIES = (
    "harbour <O>{}</private> harbour",
    "harbour <O>{} <private>x</private> {}</private> harbour",
    "harbour\n\n<O>{}\n\n## Heading {}\n\n- {}",
    "## Plan <O>{}</private> harbour\n\ntext",
    "harbour [[Target|<O>{}</private>]] and [[<O>{}</private>]] and #a<O>{}</private>",
    "harbour\n\n| a | b |\n|---|---|\n| <O>{}</private> | harbour |",
    "> harbour <O>{}</private>\n> more",
    "<!-- <O>{}</private> --> harbour %% <O>{}</private> %%",
    "harbour\n\n## One\n\n<O>{}\n\n## Two\n\n{}</private> harbour",
    "## Facts\n\n- owns:: harbour <O>{}</private> (2026-01-01 → ) ^f-ab12\n- has:: [[<O>{}</private>]]",
    "- [tip] harbour <O>{}</private> #t (<O>{}</private>)\n- depends_on [[X]] (<O>{}</private>)",
    "harbour\n\n```\nnever closed\n<O>{}</private>",
    "harbour `<private>` then <O>{}</private>",
    "<<<<<<< a\nharbour <O>{}\n=======\nharbour\n>>>>>>> b\n{}",
    "harbour [a](<O>{}</private>.md) ^<O>{}</private>",
)
HEADS = (
    'source: "<O>{}</private>"',
    'aliases:\n  - harbour\n  - "<O>{}"\n  - "{}</private>"',
    'tags: [harbour, "<O>{}</private>"]\nmood: "<O>{}</private> harbour"',
    'about: ["[[<O>{}</private>]]"]\ndepends_on: ["[[<O>{}</private>]]"]',
    "note: |\n  harbour\n  <O>{}\n  {}</private>",
    'key: "<O>{}</private>"\nroom: "<O>{}</private>"\nkind: "<O>{}</private>"',
    'superseded_by: "[[<O>{}</private>]]"\nforgotten_reason: "<O>{}</private>"',
    'broken: "<O>{}</private>\nharbour: [',
)
MENTIONS = (
    "harbour: mark it with `<private>` and go on.",
    "harbour: `<private>` and `</private>`, or `<private>…</private>`, go on.",
    "harbour\n\n```\n<private>\n```\n\nand go on",
    "harbour: ssh -i <private key> host, and go on",
)


@dataclass
class Plants:
    words: list[str] = field(default_factory=list)

    def into(self, shape: str, opening: str = "<private>") -> str:
        while "{}" in shape:
            self.words.append(f"{WORD}{len(self.words):03}z")
            shape = shape.replace("{}", self.words[-1], 1)
        return shape.replace("<O>", opening)

    def in_text(self, text: str) -> list[str]:
        folded = text.casefold()
        return [word for word in self.words if word in folded]


@pytest.fixture(scope="module")
def persons() -> Plants:
    return Plants()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, persons: Plants) -> Path:
    """A vault whose owner keeps things private in every way there is."""
    made = new_vault(tmp_path_factory.mktemp("private") / "vault")
    for number, (shape, opening) in enumerate(itertools.product(BODIES, OPENINGS)):
        if opening == "<private hidden>" and "</private>" not in shape:
            opening = "<private a=b>"  # with a bare word it counts only when it is closed
        file = made / "Memories" / f"Body {number}.md"
        file.write_text(persons.into(shape, opening) + "\n", encoding="utf-8")
    for number, (head, opening) in enumerate(itertools.product(HEADS, OPENINGS)):
        said = persons.into(head, opening.replace("\n", " ").replace('"', "'"))
        file = made / "Memories" / f"Head {number}.md"
        file.write_text(f"---\n{said}\n---\nharbour\n", encoding="utf-8")
    journal = persons.into(
        "---\ntype: session\nsession: s-harbour\n---\n## Log\n\n"
        "- **09:12:04** note: harbour <O>{}</private> ^01ke6nz8a0b1c2d3e4f5g6h7jk\n  <O>{}</private>\n"
        "\n## Summary\n\nharbour <O>{}</private> <O>{} <private>x</private> {}</private>\n"
    )
    (made / "Sessions").mkdir(exist_ok=True)
    (made / "Sessions" / "Harbour.md").write_text(journal, encoding="utf-8")
    copy = made / "Memories" / "Body 0 (Conflicted copy laptop 202601051200).md"
    copy.write_text(persons.into("harbour <O>{}</private> other\n"), encoding="utf-8")
    return made


async def out_of_tools(connection: Any) -> Iterator[tuple[str, str]]:
    paths = [f"Memories/Body {n}.md" for n in range(75)]
    paths += [f"Memories/Head {n}.md" for n in range(40)]
    asked: list[tuple[str, dict[str, Any]]] = [
        *(("list_memories", {"limit": 50, "offset": n}) for n in (0, 50, 100)),
        ("recall_memories", {"query": "harbour", "limit": 100, "max_tokens": 20000}),
        ("recall_memories", {"query": "harbour", "limit": 100, "detail": "full"}),
        ("recall_memories", {"query": "harbour heading plan", "strategy": "graph", "limit": 50}),
        ("search_knowledge_graph", {"entity": "Target"}),
        ("search_knowledge_graph", {"query": "harbour"}),
        ("query_facts", {}),
        ("query_facts", {"subject": "Body 45"}),
        ("list_tags", {}),
        ("get_timeline", {"session_id": "s-harbour"}),
        ("get_memory_context", {"task": "harbour", "max_tokens": 8000}),
        ("get_memory_status", {}),
        ("reflect_and_consolidate", {"dry_run": True}),
        ("prune_memories", {"scope": "session", "dry_run": True}),
        ("update_memory", {"memory_id": "Body 0", "content": "x", "expected_version": "0" * 20}),
        ("tag_memory", {"memory_id": "Body 70", "add": ["x"]}),
        ("get_memories", {"ids": ["harbor", "Body", "Head 999"]}),
        *(("get_memories", {"ids": paths[i : i + 20]}) for i in range(0, len(paths), 20)),
    ]
    found = []
    for tool, arguments in asked:
        result = await connection.call_tool(tool, arguments)
        found.append((f"{tool} {arguments}"[:80], result.model_dump_json()))
    return iter(found)


async def out_of_resources(connection: Any) -> Iterator[tuple[str, str]]:
    listed = await connection.list_resources()
    uris = [f"memory://{path}" for path in FIXED] + ["memory://session/s-harbour"]
    uris += [f"memory://vault/Memories/Body {n}.md" for n in range(0, 75, 5)]
    uris += [f"memory://vault/Memories/Head {n}.md" for n in range(40)]
    found = [("resources/list", listed.model_dump_json())]
    for uri in uris:
        try:
            read = await connection.read_resource(uri.replace(" ", "%20"))
            found.append((uri, read.model_dump_json()))
        except Exception as error:
            found.append((uri, str(error)))
    prompts = [(p, await connection.get_prompt(p)) for p in ("session-wrap-up", "review-memories")]
    found += [(name, prompt.model_dump_json()) for name, prompt in prompts]
    return iter(found)


async def test_nothing_private_gets_out_of_the_server(
    root: Path, persons: Plants, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "vaultmem")
    with serving(root) as served:
        async with client(served, "legacy") as connection:
            ways = [*(await out_of_tools(connection)), *(await out_of_resources(connection))]
        vault = served.vault()
        for event in ("SessionStart", "UserPromptSubmit"):
            told = {"event": event, "prompt": "What about the harbour plan?", "session_id": "s2"}
            ways.append((event, json.dumps(answer.to_event(vault, told), default=str)))
    ways.append(("log", caplog.text))
    leaks = {way: found for way, said in ways if (found := persons.in_text(said))}
    assert not leaks
    assert sum("harbour" in said for _, said in ways) > 40, "these ways do show notes"
    assert len(persons.words) > 150


def test_nothing_private_is_in_the_index(root: Path, persons: Plants, run: Run) -> None:
    assert run("index", "--vault", str(root)).code in (0, 1)
    for file in (root / ".vaultmem" / "index").rglob("*"):  # history keeps a person's own bytes
        said = file.name + (file.read_bytes().decode("latin-1") if file.is_file() else "")
        assert persons.in_text(said) == [], file


def test_nothing_private_gets_out_by_http(root: Path, persons: Plants) -> None:
    with http_site.serving(root) as site:
        paths = ["/search?q=harbour&limit=100", "/inject?q=harbour", "/status", "/timeline"]
        paths += [http_site.path_of(f"Body {n}") for n in range(0, 75, 5)]
        paths += [http_site.path_of(f"Head {n}") for n in range(0, 40, 3)]
        for path in paths:
            assert persons.in_text(site.get(path).body.decode()) == [], path


ASKED_OF_DIALECTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "evolution": [
        ("search_memory", {"query": "harbour", "limit": 50}),
        ("recent_memories", {"limit": 50}),
        ("list_tags", {}),
    ],
    "memory-mcp": [("search_memories", {"query": "harbour", "scope": "all", "limit": 50})],
    "surreal": [
        ("recall_memories", {"query": "harbour", "limit": 50}),
        ("search_knowledge_graph", {"entity": "Target", "include_memories": True}),
        ("search_knowledge_graph", {}),
        ("get_memory_context", {"task_description": "harbour", "max_tokens": 8000}),
        ("reflect_and_consolidate", {"strategy": "full", "dry_run": True}),
        ("get_memory_status", {}),
    ],
    "trusty": [
        ("palace_create", {"name": "harbour"}),
        ("memory_recall", {"palace": "harbour", "query": "harbour", "top_k": 50}),
        ("memory_recall_deep", {"palace": "harbour", "query": "harbour", "top_k": 50}),
        ("memory_list", {"palace": "harbour", "limit": 100}),
        ("kg_query", {"palace": "harbour", "subject": "Body 45"}),
        ("palace_info", {"palace": "harbour"}),
        ("palace_list", {}),
    ],
    "trae": [
        ("trae_mem_search", {"query": "harbour", "limit": 50}),
        ("trae_mem_inject", {"query": "harbour", "limit": 50}),
        ("trae_mem_timeline", {"observation_id": "01ke6nz8a0b1c2d3e4f5g6h7jk"}),
        ("trae_mem_get_observations", {"ids": ["01ke6nz8a0b1c2d3e4f5g6h7jk", "Body 0"]}),
    ],
}


@pytest.mark.parametrize("dialect", ASKED_OF_DIALECTS)
def test_nothing_private_gets_out_by_a_dialect(
    root: Path, persons: Plants, tmp_path: Path, dialect: str
) -> None:
    with Process(tmp_path, "--vault", str(root), "--dialect", dialect) as server:
        server.start()
        ways = [
            (tool, json.dumps(server.call(number, tool, **arguments)))
            for number, (tool, arguments) in enumerate(ASKED_OF_DIALECTS[dialect], 10)
        ]
        if dialect in ("memory-mcp", "surreal"):
            ways += out_of_its_resources(server)
    assert {way: found for way, said in ways if (found := persons.in_text(said))} == {}
    assert any("harbour" in said for _, said in ways)


def out_of_its_resources(server: Process) -> list[tuple[str, str]]:
    listed = server.request(50, "resources/list")["result"]["resources"]
    return [
        (each["uri"], json.dumps(server.request(number, "resources/read", uri=each["uri"])))
        for number, each in enumerate(listed[:60], 60)
    ]


async def test_nothing_private_is_offered_for_completion(root: Path, persons: Plants) -> None:
    with serving(root) as served:
        async with client(served, "legacy") as connection:
            told = []
            templates = (await connection.list_resource_templates()).resource_templates
            for template in templates:
                for name in re.findall(r"{(\w+)", template.uri_template):
                    for begun in ("", "q", "Body", "Head", "Harb", "s-"):
                        about = types.ResourceTemplateReference(uri=template.uri_template)
                        done = await connection.complete(about, {"name": name, "value": begun})
                        told.append(done.model_dump_json())
    assert persons.in_text("".join(told)) == []
    assert any("Body" in said or "harbour" in said for said in told)


def test_nothing_private_is_shown_to_a_model(tmp_path: Path, run: Run) -> None:
    """Sampling hands texts to whatever model the client has."""
    plants, made = Plants(), new_vault(tmp_path / "vault")
    settings = {"typing.quiet_seconds": 0.0, "model": "off"}
    with Vault.open(made, settings) as vault:
        session = vault.start_session(title="Harbour").session_id
        for number in range(12):
            vault.log(f"harbour plan {number}: the mooring is paid", session_id=session)
    (journal,) = (made / "Sessions").rglob("*.md")
    hidden = plants.into("the mooring is paid <O>{}</private>", "<private >")
    journal.write_text(journal.read_text().replace("the mooring is paid", hidden))
    for number in range(3):
        private = plants.into("<O>{}</private>")
        (made / "Memories" / f"Mooring {number}.md").write_text(
            f"---\ntype: episodic\nsession: {session}\n---\n"
            f"The mooring is paid in harbour {number}. {private}\n"
        )
    assert run("index", "--vault", str(made)).code == 0
    with Vault.open(made, settings) as vault:
        wanted = repr(vault.prose_wanted(session_id=session))
    assert "mooring" in wanted and plants.in_text(wanted) == []


def test_no_commit_says_what_is_private(tmp_path: Path, run: Run) -> None:
    plants, made = Plants(), tmp_path / "vault"
    assert run("init", str(made), "--git").code == 0
    for number, shape in enumerate(
        ("# <O>{}</private> Harbour\n", "---\ntitle: <O>{}</private>\n---\n")
    ):
        (made / f"Note {number}.md").write_text(plants.into(shape, "<private>"))
    with Vault.open(made, {"typing.quiet_seconds": 0.0, "model": "off"}) as vault:
        vault.remember("harbour", title=plants.into("Harbour <O>{}</private>", "<private>"))
        vault.forget(vault.remember("old").memory_id, reason=plants.into("<O>{}</private>"))
        vault.make_project(plants.into("Quay <O>{}</private>", "<private>"))
    assert run("sync", "--vault", str(made)).code == 0
    said = subprocess.run(
        ["git", "-C", str(made), "log", "--format=%an%n%ae%n%B", "--name-only"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "Harbour" in said and plants.in_text(said) == []


COMMANDS = (
    ("search", "harbour", "--limit", "50", "--explain"), ("recent", "--limit", "100"), ("tags",),
    ("show", "Body 0"), ("timeline", "01ke6nz8a0b1c2d3e4f5g6h7jk"), ("graph", "Target"), ("status",),
    ("context", "harbour"), ("consolidate", "--dry-run"), ("doctor",), ("conflicts",), ("facts", "Body 45"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_nothing_private_gets_out_by_a_command(
    root: Path, persons: Plants, run: Run, command: tuple[str, ...]
) -> None:
    for more in ((), ("--json",)):
        ran = run(*command, *more, "--vault", str(root))
        assert ran.code < 3, ran.err
        assert persons.in_text(ran.out + ran.err) == [], (command, more)


# --- what agents give ------------------------------------------------------------------------

Give = Callable[[Any, Callable[[], str]], Any]
GIVING: dict[str, Give] = {
    "content": lambda v, p: v.remember(f"harbour {p()} harbour"),
    "title": lambda v, p: v.remember("harbour", title=f"Harbour {p()}"),
    "title alone": lambda v, p: v.remember("harbour two", title=p()),
    "tags": lambda v, p: v.remember("harbour three", tags=[f"a{p()}"]),
    "source": lambda v, p: v.remember("harbour four", source={"tool": f"x {p()}"}),
    "key": lambda v, p: v.remember("harbour five", key=f"k {p()}"),
    "room": lambda v, p: v.remember("harbour six", room=f"r {p()}"),
    "project": lambda v, p: v.remember("harbour seven", scope="project", project=f"P {p()}"),
    "session": lambda v, p: v.remember("harbour 8", scope="session", session_id=f"s {p()}"),
    "entity": lambda v, p: v.remember(
        "harbour nine",
        related_entities=[{"name": f"E {p()}", "type": f"t {p()}", "relationship": f"r {p()}"}],
    ),
    "log": lambda v, p: v.log(f"harbour {p()}", session_id=f"z {p()}", tags=[f"t{p()}"]),
    "log kind": lambda v, p: v.log("harbour", session_id="z", type=p()),
    "start": lambda v, p: v.start_session(title=f"T {p()}", project=f"P {p()}"),
    "end": lambda v, p: v.end_session(session_id=v.log("x").session_id, summary=f"## S\n{p()}"),
    "fact": lambda v, p: v.assert_fact(f"S {p()}", "owns", f"harbour {p()}", provenance=p()),
    "predicate": lambda v, p: v.assert_fact("S", f"o{p()}", "harbour"),
    "reason": lambda v, p: v.forget(v.remember("harbour ten").memory_id, reason=p()),
    "metadata": lambda v, p: v.update(
        v.remember("harbour eleven").memory_id, metadata={"mood": p(), f"n{p()}": ["a", p()]}
    ),
    "update": lambda v, p: v.update(v.remember("harbour 12").memory_id, append=f"more {p()}"),
    "hook": lambda v, p: answer.to_event(
        v, {"event": "PostCompact", "summary": f"harbour {p()}", "session_id": f"h {p()}"}
    ),
    "hook prompt": lambda v, p: answer.to_event(
        v, {"event": "UserPromptSubmit", "prompt": f"harbour {p()}", "session_id": f"h {p()}"}
    ),
    "project note": lambda v, p: v.make_project(f"N {p()}", f"harbour {p()}"),
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_what_an_agent_gives_in_private_reaches_no_disk(tmp_path: Path, opening: str) -> None:
    from vaultmem.errors import VaultmemError

    plants, made = Plants(), new_vault(tmp_path / "vault")

    def plant() -> str:
        return plants.into("<O>{}</private>", opening)

    told: dict[str, str] = {}
    with Vault.open(made, {"typing.quiet_seconds": 0.0, "model": "off"}) as vault:
        for name, give in GIVING.items():
            try:
                told[name] = repr(give(vault, plant))
            except (VaultmemError, TypeError) as error:
                told[name] = str(error)
        stored = vault.remember(f"harbour last {plant()}")
    assert [w for w in stored.warnings if w.startswith("private_removed")]
    for file in made.rglob("*"):
        said = file.name + (file.read_bytes().decode("latin-1") if file.is_file() else "")
        assert plants.in_text(said) == [], file
    assert {name: plants.in_text(said) for name, said in told.items() if plants.in_text(said)} == {}
    assert len(plants.words) > 25


@pytest.mark.parametrize("text", MENTIONS)
def test_what_merely_speaks_of_the_tag_comes_back(tmp_path: Path, text: str) -> None:
    made = new_vault(tmp_path / "vault")
    with Vault.open(made, {"typing.quiet_seconds": 0.0, "model": "off"}) as vault:
        done = vault.remember(text)
        assert not [w for w in done.warnings if w.startswith("private_removed")]
        assert vault.get([done.memory_id]).memories[0].content == text
        assert (made / done.path).read_text(encoding="utf-8").endswith(f"---\n{text}\n")
        logged = vault.log(text)
        seen = vault.timeline(observation_id=logged.observation_id).observations
        assert [each.content for each in seen] == [text]
        found = vault.recall("harbour go on").memories
        assert found and "go on" in found[0].content
