"""trusty-memory as its integration guide gives it: real processes, raw lines, its own examples."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ulid_transform import ulid_at_time

from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until
from vaultmem.notes.note import parse
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

# The guide's own messages.
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "open-mpm", "version": "1.0.0"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
TOOLS = json.loads("""[
  {"name": "memory_remember", "description": "Store a memory (drawer) in a palace room.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string", "description": "Palace ID (optional if server started with --palace)"},
     "text": {"type": "string", "description": "Memory content"},
     "room": {"type": "string", "description": "Room type (optional)"},
     "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["palace", "text"]}},
  {"name": "memory_recall", "description": "Recall memories using L0+L1+L2 progressive retrieval.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string"}, "query": {"type": "string"},
     "top_k": {"type": "integer", "default": 10}},
    "required": ["palace", "query"]}},
  {"name": "memory_recall_deep", "description": "Deep recall using L3 full HNSW search.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string"}, "query": {"type": "string"},
     "top_k": {"type": "integer", "default": 10}},
    "required": ["palace", "query"]}},
  {"name": "palace_create", "description": "Create a new memory palace.",
   "inputSchema": {"type": "object", "properties": {
     "name": {"type": "string"}, "description": {"type": "string"}},
    "required": ["name"]}},
  {"name": "palace_list", "description": "List all palaces on this machine.",
   "inputSchema": {"type": "object", "properties": {}}},
  {"name": "kg_assert", "description": "Assert a fact in the temporal knowledge graph.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string"}, "subject": {"type": "string"},
     "predicate": {"type": "string"}, "object": {"type": "string"},
     "confidence": {"type": "number", "default": 1.0}, "provenance": {"type": "string"}},
    "required": ["palace", "subject", "predicate", "object"]}},
  {"name": "kg_query", "description": "Query active knowledge-graph triples for a subject.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string"}, "subject": {"type": "string"}},
    "required": ["palace", "subject"]}},
  {"name": "memory_list",
   "description": "List drawers in a palace, optionally filtered by room type or tag.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string"},
     "room": {"type": "string", "description": "Filter by room type (Frontend, Backend, Testing, Planning, Documentation, Research, Configuration, Meetings, General, or custom)"},
     "tag": {"type": "string", "description": "Filter by tag"},
     "limit": {"type": "integer", "description": "Max results (default 50)"}},
    "required": ["palace"]}},
  {"name": "memory_forget", "description": "Delete a drawer from a palace by its UUID.",
   "inputSchema": {"type": "object", "properties": {
     "palace": {"type": "string"},
     "drawer_id": {"type": "string", "description": "UUID of the drawer to delete"}},
    "required": ["palace", "drawer_id"]}},
  {"name": "palace_info", "description": "Get metadata and stats for a single palace.",
   "inputSchema": {"type": "object", "properties": {"palace": {"type": "string"}},
    "required": ["palace"]}}
]""")
REMEMBER = {
    "palace": "my-project",
    "text": "The API gateway validates JWT tokens using RS256.",
    "room": "Backend",
    "tags": ["auth", "jwt", "api-gateway"],
}
ASSERT = {
    "palace": "my-project",
    "subject": "auth-service",
    "predicate": "deployed_version",
    "object": "2.4.1",
    "confidence": 0.95,
    "provenance": "deploy-log-2026-05-10",
}
ABOUT = "Memories for the Acme client engagement"


class Trusty(Process):
    def __init__(self, home: Path, *arguments: str, **options: Any) -> None:
        vault = ("--vault", str(home / "vault"), "--dialect", "trusty")
        super().__init__(home, *vault, *arguments, **options)
        self._id = 100

    def __enter__(self) -> Trusty:
        return self

    def greet(self) -> dict[str, Any]:
        reply = self.ask(INITIALIZE)
        self.send(INITIALIZED)
        return reply

    def raw(self, tool: str, arguments: Any) -> dict[str, Any]:
        self._id += 1
        return self.ask(
            calling(self._id, tool) | {"params": {"name": tool, "arguments": arguments}}
        )

    def tell(self, tool: str, **arguments: Any) -> Any:
        """A call that must succeed, in the guide's envelope and no more."""
        reply = self.raw(tool, arguments)
        assert set(reply["result"]) == {"content"}, reply
        (part,) = reply["result"]["content"]
        assert set(part) == {"type", "text"} and part["type"] == "text"
        return json.loads(part["text"])

    def refuse(self, tool: str, **arguments: Any) -> str:
        """A call that must fail, as an internal error."""
        reply = self.raw(tool, arguments)
        assert set(reply) == {"jsonrpc", "id", "error"}, reply
        assert reply["error"]["code"] == -32603
        message: str = reply["error"]["message"]
        assert "Traceback" not in message
        return message


@pytest.fixture
def home(tmp_path: Path) -> Path:
    new_vault(tmp_path / "vault")
    return tmp_path


@pytest.fixture
def server(home: Path) -> Iterator[Trusty]:
    with Trusty(home) as process:
        process.greet()
        yield process


@pytest.fixture
def bound(home: Path) -> Iterator[Trusty]:
    with Trusty(home, "--palace", "my-project") as process:
        yield process


# --- the guide, from front to back --------------------------------------------------------------


def test_the_guide_with_a_palace_bound(home: Path, bound: Trusty) -> None:
    assert bound.greet() == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {
                "name": "trusty-memory",
                "version": "0.1.10",
                "default_palace": "my-project",
            },
        },
    }
    tools = bound.ask(LIST)["result"]["tools"]
    for shown, tool in zip(tools, TOOLS, strict=True):
        required = tool["inputSchema"].get("required")
        if required:
            tool = json.loads(json.dumps(tool))
            tool["inputSchema"]["required"] = [name for name in required if name != "palace"]
        assert shown == tool
    assert bound.tell("palace_list") == {"palaces": ["my-project"]}, "made at the start"
    stored = bound.tell("memory_remember", text="No palace was named.")
    assert stored["palace"] == "my-project"
    assert bound.tell("palace_info")["drawer_count"] == 1
    other = bound.tell("memory_remember", palace="elsewhere", text="A named one wins.")
    assert other["palace"] == "elsewhere"
    found = bound.tell("memory_recall", query="palace")["results"]
    assert [each["drawer_id"] for each in found] == [stored["drawer_id"]]
    assert bound.refuse("memory_remember") == "missing 'text'"
    assert bound.end() == 0


def test_the_guide_without_a_palace(home: Path, server: Trusty) -> None:
    assert server.ask(LIST)["result"]["tools"] == TOOLS
    stored = server.tell("memory_remember", **REMEMBER)
    drawer = stored.pop("drawer_id")
    assert UUID.fullmatch(drawer) and stored == {"palace": "my-project", "status": "stored"}

    query = "How does token validation work?"
    found = server.tell("memory_recall", palace="my-project", query=query, top_k=5)
    (result,) = found.pop("results")
    assert found == {"palace": "my-project", "query": query}
    assert 0 < result.pop("score") <= 1
    assert result == {
        "drawer_id": drawer,
        "content": REMEMBER["text"],
        "layer": 2,
        "tags": REMEMBER["tags"],
        "importance": 0.5,
    }
    deep = server.tell("memory_recall_deep", palace="my-project", query="JWT tokens", top_k=20)
    assert set(deep) == {"palace", "query", "results"}
    assert [(each["drawer_id"], each["layer"]) for each in deep["results"]] == [(drawer, 3)]

    listed = server.tell("memory_list", palace="my-project", room="Backend", tag="auth", limit=20)
    (shown,) = listed.pop("drawers")
    assert listed == {"palace": "my-project"} and MOMENT.fullmatch(shown.pop("created_at"))
    assert shown == {
        "drawer_id": drawer,
        "content": REMEMBER["text"],
        "importance": 0.5,
        "tags": REMEMBER["tags"],
    }

    made = server.tell("palace_create", name="client-acme", description=ABOUT)
    assert made == {"palace_id": "client-acme", "status": "created"}
    server.tell("palace_create", name="agent-pm")
    assert set(server.tell("palace_list")["palaces"]) == {"my-project", "client-acme", "agent-pm"}
    assert server.tell("palace_info", palace="my-project") == {
        "id": "my-project",
        "name": "my-project",
        "drawer_count": 1,
        "data_dir": str(home / "vault" / "Memories" / "my-project"),
    }

    assert server.tell("kg_assert", **ASSERT) == {"status": "asserted"}
    known = server.tell("kg_query", palace="my-project", subject="auth-service")
    (triple,) = known.pop("triples")
    assert known == {"subject": "auth-service"} and MOMENT.fullmatch(triple.pop("valid_from"))
    wanted = {name: value for name, value in ASSERT.items() if name != "palace"}
    assert triple == wanted | {"valid_to": None}

    gone = server.tell("memory_forget", palace="my-project", drawer_id=drawer)
    assert gone == {"status": "deleted", "drawer_id": drawer, "palace": "my-project"}
    assert server.tell("memory_list", palace="my-project")["drawers"] == []
    assert server.tell("memory_recall", palace="my-project", query=query)["results"] == []
    assert server.tell("palace_info", palace="my-project")["drawer_count"] == 0
    assert "no drawer" in server.refuse("memory_forget", palace="my-project", drawer_id=drawer)
    assert list((home / "vault" / ".trash").rglob("*.md")), "deleted notes go to the trash"


# --- errors --------------------------------------------------------------------------------------


def test_errors_have_the_guide_s_codes_and_texts(server: Trusty) -> None:
    missing = server.refuse("memory_recall", query="anything")
    assert missing == "memory_recall: missing 'palace' (no --palace default configured)"
    for tool, given, text in (
        ("memory_remember", {"palace": "p"}, "missing 'text'"),
        ("memory_remember", {"palace": "p", "text": 5}, "missing 'text'"),
        ("memory_recall_deep", {"palace": "p"}, "missing 'query'"),
        ("memory_forget", {"palace": "p"}, "missing 'drawer_id'"),
        ("palace_create", {}, "missing 'name'"),
        ("kg_assert", {"palace": "p"}, "missing 'subject'"),
        ("kg_assert", {"palace": "p", "subject": "s"}, "missing 'predicate'"),
        ("kg_query", {"palace": "p", "predicate": "x"}, "missing 'subject'"),
    ):
        assert server.refuse(tool, **given) == text
    assert server.refuse("memory_dance") == "unknown tool: memory_dance"
    assert "open palace nowhere" in server.refuse("palace_info", palace="nowhere")
    assert "open palace nowhere" in server.refuse("memory_recall", palace="nowhere", query="x")
    assert server.tell("palace_list")["palaces"] == [], "a question makes no palace"
    server.tell("memory_remember", palace="p", text="Something.")
    assert "UUID" in server.refuse("memory_forget", palace="p", drawer_id="Something")

    for method in ("foo", "resources/list", "prompts/list"):
        reply = server.request(7, method)
        assert reply["error"] == {"code": -32601, "message": f"Method not found: {method}"}
    for line in (b"{nope\n", b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}\n'):
        reply = server.ask(line)
        assert reply["id"] is None and reply["error"]["code"] == -32700
    batch = b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n'
    assert server.ask(batch)["error"]["code"] == -32600, "section 2: batches are not supported"
    assert server.request(8, "ping") == {"jsonrpc": "2.0", "id": 8, "result": {}}
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert server.request(9, "ping")["id"] == 9, "a notification gets no answer"


def test_creating_a_palace_twice(server: Trusty) -> None:
    server.tell("palace_create", name="client-acme")
    server.tell("palace_create", name="client-acme", description=ABOUT)
    assert server.tell("palace_create", name="client-acme", description=ABOUT)
    assert server.tell("palace_create", name="Client-Acme"), "names differ by more than case"
    told = server.refuse("palace_create", name="client-acme", description="Another client")
    assert "exists already" in told
    assert server.tell("palace_list") == {"palaces": ["client-acme"]}


# --- rooms, layers, facts ------------------------------------------------------------------------


def test_rooms(home: Path, server: Trusty) -> None:
    def texts(**given: Any) -> set[str]:
        return {d["content"] for d in server.tell("memory_list", palace="p", **given)["drawers"]}

    for room, text in ((None, "none"), ("General", "general"), ("backend", "low"), ("Loft", "own")):
        named = {} if room is None else {"room": room}
        server.tell("memory_remember", palace="p", text=text, tags=["v2.0", "#a b", "7"], **named)
    assert texts() == {"none", "general", "low", "own"}
    assert texts(room="General") == {"none", "general"}
    assert texts(room="Backend") == {"low"}
    assert texts(room="Loft") == texts(room="Custom(Loft)") == {"own"}
    assert texts(room="Frontend") == set()
    assert texts(tag="v2.0") == texts(), "a tag is found as it was given"
    assert len(texts(limit=2)) == 2
    rooms = {parse(f.read_bytes(), f.name).string("room") for f in (home / "vault").rglob("p/*.md")}
    assert rooms == {"General", "Backend", "Loft"}


def test_layers(home: Path, server: Trusty) -> None:
    """0 is what the palace is, 1 its essentials, 2 what the question finds, 3 the deep search."""
    server.tell("palace_create", name="acme", description=ABOUT)
    server.tell("memory_remember", palace="acme", text="Invoices are due within thirty days.")
    with Vault.open(home / "vault") as vault:
        vault.remember("Never call before noon.", scope="project", project="acme", importance=0.9)
    found = server.tell("memory_recall", palace="acme", query="invoices due")["results"]
    assert {each["content"]: each["layer"] for each in found} == {
        "Invoices are due within thirty days.": 2,
        "Never call before noon.": 1,
        ABOUT: 0,
    }
    assert found[0]["content"] == "Invoices are due within thirty days."
    scores = [each["score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    (best,) = server.tell("memory_recall", palace="acme", query="invoices due", top_k=1)["results"]
    assert best["layer"] == 2
    deep = server.tell("memory_recall_deep", palace="acme", query="invoices due")["results"]
    assert deep[0]["layer"] == 3 and {each["layer"] for each in deep} == {0, 1, 3}
    first = server.tell("memory_list", palace="acme")["drawers"][0]
    assert first["importance"] == 0.9, "the most important first"


def test_a_newer_triple_closes_the_older(home: Path, server: Trusty) -> None:
    server.tell("kg_assert", **ASSERT)
    server.tell("kg_assert", **ASSERT | {"object": "2.5.0", "provenance": None})
    server.tell("kg_assert", **ASSERT | {"predicate": "is owned by", "object": "platform team"})
    triples = server.tell("kg_query", palace="my-project", subject="auth-service")["triples"]
    assert {(t["predicate"], t["object"], t["provenance"]) for t in triples} == {
        ("deployed_version", "2.5.0", None),
        ("is_owned_by", "platform team", "deploy-log-2026-05-10"),
    }
    with Vault.open(home / "vault") as vault:
        facts = vault.facts("auth-service", include_closed=True).facts
    old = [fact for fact in facts if fact.object == "2.4.1"]
    assert len(old) == 1 and old[0].valid_to, "closed, and not deleted"
    server.tell("kg_assert", palace="my-project", subject="s", predicate="p", object="o")
    (usual,) = server.tell("kg_query", palace="my-project", subject="s")["triples"]
    assert usual["confidence"] == 1.0


def test_triples_stand_in_the_note_that_is_there(home: Path, server: Trusty) -> None:
    """`kg_assert` and `kg_query`: one entity, whoever speaks of it."""
    (home / "vault" / "Music").mkdir()
    person = home / "vault" / "Music" / "Theremin.md"
    person.write_text("An instrument that nobody touches.\n", encoding="utf-8")
    with Vault.open(home / "vault") as vault:
        vault.assert_fact("Ondes Martenot", "invented_by", "Maurice Martenot")
    for subject, maker in (("Theremin", "Leon Theremin"), ("Ondes Martenot", "Martenot")):
        server.tell("kg_assert", palace="lab", subject=subject, predicate="built by", object=maker)
    server.tell("kg_assert", palace="lab", subject="Own", predicate="p", object="o")
    server.tell("kg_assert", palace="studio", subject="Own", predicate="p", object="other")
    ondes = server.tell("kg_query", palace="lab", subject="Ondes Martenot")["triples"]
    assert {t["predicate"]: t["object"] for t in ondes} == {
        "built_by": "Martenot",
        "invented_by": "Maurice Martenot",
    }
    assert server.tell("kg_query", palace="studio", subject="Theremin")["triples"]
    (own,) = server.tell("kg_query", palace="studio", subject="Own")["triples"]
    assert own["object"] == "other", "an entity of a palace's own is its own"
    assert "built_by:: Leon Theremin" in person.read_text(encoding="utf-8")
    assert not [*(home / "vault").rglob("Theremin 2.md"), *(home / "vault").rglob("Ondes* 2.md")]
    with Vault.open(home / "vault") as vault:
        assert [f.object for f in vault.facts("Theremin").facts] == ["Leon Theremin"]
        assert {f.object for f in vault.facts("Own").facts} == {"o", "other"}
        vault.assert_fact("Theremin", "built_by", "Robert Moog")
    (theremin,) = server.tell("kg_query", palace="lab", subject="Theremin")["triples"]
    assert theremin["object"] == "Robert Moog", "a newer one closes it, whoever says it"


def test_importance_rises_and_fades(home: Path, server: Trusty) -> None:
    """Section 5, memory_recall: L1 is the top-importance drawers, so there must be some."""
    server.tell("memory_remember", palace="p", text="The vault door sticks in winter.")
    server.tell("memory_remember", palace="p", text="Never deploy on Fridays.", importance=0.9)
    server.tell("memory_remember", palace="p", text="Ask Mira about the budget.", tags=["pinned"])
    server.tell("memory_remember", palace="p", text="An old habit of the team.")

    def layers() -> dict[str, tuple[int, float]]:
        found = server.tell("memory_recall", palace="p", query="vault door", top_k=10)["results"]
        return {each["content"]: (each["layer"], each["importance"]) for each in found}

    first = layers()
    assert first["Never deploy on Fridays."] == (1, 0.9)
    assert first["Ask Mira about the budget."] == (1, 0.95)
    assert first["The vault door sticks in winter."] == (2, 0.5)
    for _ in range(25):
        server.tell("memory_recall", palace="p", query="vault door", top_k=1)
    layer, importance = layers()["The vault door sticks in winter."]
    assert layer == 1 and 0.7 < importance < 0.9, "what is asked for again and again"
    listed = server.tell("memory_list", palace="p")["drawers"]
    assert [d["importance"] for d in listed] == sorted(
        (d["importance"] for d in listed), reverse=True
    )
    assert listed[0]["content"] == "Ask Mira about the budget."
    texts = [f.read_text(encoding="utf-8") for f in (home / "vault" / "Memories").rglob("*.md")]
    assert sum("importance:" in text for text in texts) == 1, "what is computed is in no note"
    assert Path(server.tell("palace_info", palace="p")["data_dir"]).is_dir()
    server.tell("palace_create", name="empty")
    assert Path(server.tell("palace_info", palace="empty")["data_dir"]).is_dir()


# --- dreamers ------------------------------------------------------------------------------------


DOUBLES = {
    "one": "The API gateway validates JWT tokens using RS256.",
    "two": "The API gateway validates JWT tokens using RS256",
    "three": "The gateway listens on port 8080.",
    "four": "The gateway listens on port 8081.",
}


def drawers(root: Path, palace: str, texts: dict[str, str]) -> None:
    folder = root / "Memories" / palace
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        id_ = str(ulid_at_time(1_700_000_000 + len(name)))
        tags = f"created: 2023-11-14T22:13:20\ntags:\n  - {name}\n"
        raw = f"---\nid: {id_}\ntype: semantic\nscope: project\nproject: {palace}\n{tags}---\n{text}\n"
        (folder / f"{name}.md").write_text(raw, encoding="utf-8")


def test_dreamers_merge_index_and_let_fade(home: Path) -> None:
    """Section 7, Dreamer tasks: deduplication, closet index refresh and importance decay, for each
    palace; each can be left out, and everything can be taken back."""
    root = home / "vault"
    drawers(root, "acme", DOUBLES)
    drawers(root, "other", {"one": DOUBLES["one"]})
    before = {f: f.read_bytes() for f in root.rglob("Memories/**/*.md")}
    stopping = threading.Event()
    with Vault.open(root, {"model": "off"}, caller=Caller(project="acme")) as vault:
        assert vault.dreams.dream([], stopping).merged == ()
        assert {f: f.read_bytes() for f in before} == before
        assert vault.dreams.dream(["index"], stopping).indexed == len(before)
        ((gone, kept),) = vault.dreams.dream(["merge"], stopping).merged
        merged, whole = vault.get([gone, kept], counted=False).memories
        assert merged.forgotten and merged.superseded_by
        assert merged.superseded_by.rpartition("/")[2] == whole.title
        assert [name.rpartition("/")[2] for name in whole.derived_from or ()] == [merged.title]
        assert {"one", "two"} <= set(whole.tags)
        assert (
            (root / merged.path)
            .read_bytes()
            .endswith(before[root / merged.path].split(b"---\n")[2])
        )
        assert vault.project("acme").memories == 3, "what says other things stays: another port"
        assert vault.project("acme").folder and not vault.dreams.dream(["merge"], stopping).merged
        vault.restore(gone)
        assert (root / merged.path).read_bytes() == before[root / merged.path]
        vault.index_now()
        assert not vault.dreams.dream(["merge"], stopping).merged, "taken back once for all"

        assert vault.dreams.dream(["decay"], stopping).faded == 3, "one was changed just now"
        weights = vault.weights.weighed(project="acme")
        assert weights[kept] == 0.5 and next(iter(weights)) == kept
        assert all(weight < 0.1 for id_, weight in weights.items() if id_ != kept)
        vault.recall("API gateway tokens", floor=False)
        assert vault.dreams.dream(["decay"], stopping).faded >= 1
        assert vault.weights.weighed(project="acme")[gone] == 0.5, "used, it is as it was"
        stopping.set()
        assert vault.dreams.dream(["merge", "index", "decay"], stopping).merged == ()


def test_dreamers_run_with_the_server_and_stop_with_it(home: Path) -> None:
    root = home / "vault"
    drawers(root, "acme", DOUBLES)

    def forgotten() -> int:
        return sum(b"forgotten: true" in f.read_bytes() for f in root.rglob("acme/*.md"))

    (root / ".vaultmem/config.toml").write_text("[upkeep]\ndreams = []\n", encoding="utf-8")
    with Trusty(home, "--palace", "acme", "--log-level", "info") as server:
        server.greet()
        server.tell("palace_list")
        assert server.end() == 0
        assert "dreamer" not in server.errors()
    assert forgotten() == 0
    (root / ".vaultmem/config.toml").unlink()
    with Trusty(home, "--palace", "acme", "--log-level", "info") as server:
        server.greet()
        server.tell("palace_list")
        until(lambda: server.tell("palace_info")["drawer_count"] == 3, 120, 0.5)
        assert forgotten() == 1
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        assert server.child.wait(60) == 0
        assert (
            time.monotonic() - began < 30
        )  # two seconds, on a machine that has nothing else to do
        told = server.errors()
        assert "dreamers of 1 projects: merge, index, decay" in told
        assert "dreamer of acme: merged" in told and "vaultmem restore" in told


# --- life ----------------------------------------------------------------------------------------


def test_the_log_level_is_the_variable_s(home: Path) -> None:
    with Trusty(home, env={"RUST_LOG": "trusty_memory=trace"}) as server:
        server.greet()
        assert server.end() == 0
        assert "waiting for a client" in server.errors()


def test_the_end_of_input_is_the_end_with_0(home: Path, bound: Trusty) -> None:
    bound.greet()
    bound.send(calling(9, "memory_remember", text="Kept through the end."))
    assert bound.end() == 0
    assert bound.receive()["id"] == 9, "what was asked before is answered"
    assert bound.stray == [] and "Traceback" not in bound.errors()
    assert (home / "vault" / "Memories" / "my-project" / "Kept through the end.md").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_what_runs_and_ends_with_0(
    home: Path, bound: Trusty, number: int
) -> None:
    bound.greet()
    bound.tell("palace_list")
    for id_ in range(2, 8):
        bound.send(calling(id_, "memory_remember", text=f"Number {id_}."))
    time.sleep(0.05)
    bound.signal(number)
    assert bound.child.wait(30) == 0
    written = {path.stem for path in (home / "vault" / "Memories").rglob("Number*.md")}
    answered = set()
    while (reply := bound._replies.get(timeout=5)) is not None:
        answered.add(f"Number {reply['id']}")
    assert answered == written
    assert "Traceback" not in bound.errors()


def calling(id_: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def test_http_beside_stdio(home: Path) -> None:
    with Trusty(home, "--palace", "p", "--http", "127.0.0.1:0", "--log-level", "info") as server:
        server.greet()
        stored = server.tell("memory_remember", text="Seen on both roads.")
        assert server.child.stderr is not None
        address = None
        while address is None:
            line = server.child.stderr.readline().decode()
            assert line, "it never said where it serves"
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
        with urllib.request.urlopen(f"{address[0]}/health", timeout=30) as reply:
            assert json.load(reply)["status"] == "ok"
        call = {
            "jsonrpc": "2.0",
            "id": 5,
            "method": "tools/call",
            "params": {"name": "memory_list", "arguments": {}},
        }
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        hello = urllib.request.Request(
            f"{address[0]}/mcp", json.dumps(INITIALIZE).encode(), headers
        )
        with urllib.request.urlopen(hello, timeout=30) as reply:
            body = reply.read().decode()
            headers["Mcp-Session-Id"] = reply.headers["Mcp-Session-Id"] or ""
        assert '"default_palace":"p"' in body.replace(" ", "")
        ask = urllib.request.Request(f"{address[0]}/mcp", json.dumps(call).encode(), headers)
        with urllib.request.urlopen(ask, timeout=30) as reply:
            assert stored["drawer_id"] in reply.read().decode()
        assert server.end() == 0, "the end of stdin ends both"
