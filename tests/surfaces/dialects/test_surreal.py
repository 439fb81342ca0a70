"""The SurrealDB memory plugin as its design document gives it: real processes, raw lines."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp.harness import Process, new_vault
from vaultmem.notes.note import parse
from vaultmem.recall import fusion
from vaultmem.recall.fusion import LaneScore, MemoryKey
from vaultmem.vault import Vault

TOOLS = json.loads(Path(__file__).with_name("surreal_tools.json").read_text(encoding="utf-8"))
ID = re.compile(r"memory:[0-7][0-9A-HJKMNP-TV-Z]{25}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TYPESCRIPT = "User prefers TypeScript over JavaScript for new projects"
ENTITIES = [
    {"name": "TokenValidator", "type": "component", "relationship": "depends_on"},
    {"name": "APIGateway", "type": "component", "relationship": "used_by"},
]


class Surreal(Process):
    def __init__(self, home: Path, *arguments: str, **env: str) -> None:
        named = ("--vault", str(home / "vault"), "--dialect", "surreal")
        super().__init__(home, *named, *arguments, env=env)
        self._id = 0

    def __enter__(self) -> Surreal:
        self.hello = self.start()
        return self

    def raw(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self._id += 1
        return self.request(self._id, "tools/call", name=tool, arguments=arguments)

    def tell(self, tool: str, **arguments: Any) -> Any:
        """A call that must succeed: its answer is JSON, printed as the document prints it."""
        reply = self.raw(tool, **arguments)
        assert set(reply["result"]) == {"content"}, reply
        (part,) = reply["result"]["content"]
        told = json.loads(part["text"])
        assert part == {
            "type": "text",
            "text": json.dumps(told, indent=2, ensure_ascii=False),
        }
        return told

    def refuse(self, tool: str, **arguments: Any) -> Any:
        """A call that must fail with the error envelope."""
        result = self.raw(tool, **arguments)["result"]
        assert result["isError"] is True
        told = json.loads(result["content"][0]["text"])
        assert {"error", "message", "degraded", "retry_possible"} <= set(told)
        return told

    def wrong(self, tool: str, **arguments: Any) -> str:
        """A call whose input is not as it must be: a standard MCP error."""
        error = self.raw(tool, **arguments)["error"]
        assert error["code"] == -32602
        message: str = error["message"]
        return message

    def store(self, content: str, **more: Any) -> str:
        given = {"type": "semantic", "scope": "user", **more}
        id_: str = self.tell("store_memory", content=content, **given)["memory_id"]
        return id_

    def read(self, uri: str) -> tuple[str, str]:
        (found,) = self.request(900, "resources/read", uri=uri)["result"]["contents"]
        assert found["uri"] == uri
        return found["mimeType"], found["text"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    new_vault(tmp_path / "vault")
    return tmp_path


@pytest.fixture
def server(home: Path) -> Iterator[Surreal]:
    with Surreal(home, MEMORY_SESSION_ID="session:abc123") as process:
        yield process


def note_of(home: Path, id_: str) -> Any:
    for file in (home / "vault").glob("[!.]*/**/*.md"):
        note = parse(file.read_bytes(), str(file.relative_to(home / "vault")))
        if note.id and f"memory:{note.id}" == id_:
            return note
    raise AssertionError(f"no note has the id {id_}")


# --- the document's answers ---------------------------------------------------------------------


def test_handshake_tools_and_resources(server: Surreal) -> None:
    assert server.hello["serverInfo"] == {"name": "surrealdb-memory", "version": "0.1.0"}
    assert server.hello["capabilities"] == {"tools": {}, "resources": {"subscribe": True}}
    assert server.request(1, "tools/list")["result"]["tools"] == TOOLS
    assert server.request(2, "resources/list")["result"]["resources"] == [
        {
            "uri": "memory://status",
            "name": "Memory System Status",
            "description": "Connection health, memory counts, and storage statistics",
            "mimeType": "application/json",
        },
        {
            "uri": "memory://session/summary",
            "name": "Current Session Summary",
            "description": "Memories stored, recalled, and consolidated this session",
            "mimeType": "text/markdown",
        },
        {
            "uri": "memory://project/knowledge-graph",
            "name": "Project Knowledge Graph",
            "description": "Entity and relationship overview for the current project",
            "mimeType": "text/markdown",
        },
        {
            "uri": "memory://user/preferences",
            "name": "User Preferences",
            "description": "Learned user preferences and coding patterns",
            "mimeType": "text/markdown",
        },
    ]
    assert "result" in server.request(3, "resources/subscribe", uri="memory://status")
    server.send(
        {
            "jsonrpc": "2.0",
            "id": 4,
            "method": "tools/call",
            "params": {
                "name": "store_memory",
                "arguments": {"content": "News.", "type": "semantic", "scope": "user"},
            },
        }
    )
    told: set[object] = set()  # the receipt and the news, whichever comes first
    while not {4, "notifications/resources/updated"} <= told:
        heard = server.heard()
        told.add(heard.get("method", heard.get("id")))
    missing = server.request(5, "resources/read", uri="memory://nothing")
    assert missing["error"]["code"] == -32602


def test_store_and_recall(home: Path, server: Surreal) -> None:
    stored = server.tell(
        "store_memory",
        content="AuthService validates tokens before the gateway does.",
        type="semantic",
        scope="project",
        related_entities=ENTITIES,
    )
    assert ID.fullmatch(stored.pop("memory_id"))
    assert stored == {
        "embedding_generated": True,
        "graph_edges_created": 2,
        "scope": "project",
        "type": "semantic",
    }
    id_ = server.store(
        TYPESCRIPT,
        importance=0.8,
        tags=["preferences", "languages"],
        source={"conversation_turn": 12},
    )
    found = server.tell("recall_memories", query="Which language does the user prefer?")
    assert set(found) == {"memories", "total_matched", "strategy_used", "query_time_ms"}
    assert found["total_matched"] == 2 and found["strategy_used"] == "hybrid"
    best = found["memories"][0]
    assert MOMENT.fullmatch(best.pop("created_at")) and 0 < best.pop("relevance_score") <= 1
    assert best == {
        "id": id_,
        "content": TYPESCRIPT,
        "type": "semantic",
        "scope": "user",
        "importance": 0.8,
        "tags": ["preferences", "languages"],
        "access_count": 0,
        "source": {"conversation_turn": 12},
    }
    again = server.tell("recall_memories", query="Which language does the user prefer?")
    assert again["memories"][0]["access_count"] == 1
    other = next(m for m in again["memories"] if m["scope"] == "project")
    assert other["source"] == {} and other["importance"] == 0.5
    note = note_of(home, id_)
    assert note.string("scope") == "user" and note.tags == ("preferences", "languages")
    assert note.number("importance") == 0.8 and note.string("session") == "abc123"


def test_recall_filters(server: Surreal) -> None:
    def texts(**given: Any) -> set[str]:
        found = server.tell("recall_memories", query="parrot", strategy="keyword", **given)
        return {memory["content"] for memory in found["memories"]}

    server.store("A parrot met us.", type="episodic", scope="session", tags=["bird/large"])
    server.store("The parrot is green.", importance=0.9, tags=["C++ notes"])
    how = server.store("Feed a parrot nuts.", type="procedural", scope="project", importance=0.1)
    everything = {"A parrot met us.", "The parrot is green.", "Feed a parrot nuts."}
    assert texts() == everything
    assert texts(scope="session") == {"A parrot met us."}
    assert texts(scope=["session", "project"]) == everything - {"The parrot is green."}
    assert texts(type="procedural") == {"Feed a parrot nuts."}
    assert texts(type=["episodic", "semantic"]) == everything - {"Feed a parrot nuts."}
    assert texts(min_importance=0.6) == {"The parrot is green."}
    assert texts(tags=["bird", "C++ notes"]) == everything - {"Feed a parrot nuts."}
    assert texts(time_range={"after": "2020-01-01T00:00:00Z"}) == everything
    assert texts(time_range={"before": "2020-01-01T00:00:00Z"}) == set()
    assert len(texts(limit=1)) == 1
    server.tell("forget_memory", memory_id=how)
    assert texts() == everything - {"Feed a parrot nuts."}
    assert texts(include_forgotten=True) == everything
    for strategy in ("vector", "hybrid", "graph"):
        found = server.tell("recall_memories", query="parrot", strategy=strategy)
        assert found["strategy_used"] in (strategy, "keyword") and found["memories"]


def test_a_long_memory_comes_back_whole(server: Surreal) -> None:
    text = "\n\n".join(f"## Part {n}\n\n" + "The walrus sings. " * 60 for n in range(20)).strip()
    stored = server.tell("store_memory", content=text, type="semantic", scope="user")
    if not stored["embedding_generated"]:
        assert [each["code"] for each in stored["warnings"]] == ["embedding_pending"]
    (memory,) = server.tell("recall_memories", query="walrus", strategy="keyword")["memories"]
    assert memory["content"] == text


def test_update_counts_versions_and_keeps_history(home: Path, server: Surreal) -> None:
    id_ = server.store(TYPESCRIPT, tags=["languages"])
    server.tell("update_memory", memory_id=id_, importance=0.6)
    changed = server.tell(
        "update_memory", memory_id=id_, content="User prefers Rust", importance=0.7
    )
    assert changed == {
        "memory_id": id_,
        "updated_fields": ["content", "importance"],
        "re_embedded": True,
        "version": 3,
    }
    more = server.tell(
        "update_memory",
        memory_id=id_,
        tags={"add": ["systems"], "remove": ["languages"]},
        metadata={"team": "core", "source": "talk", "nested": {"a": [1]}, "list": [1, 2]},
        related_entities={"add": ENTITIES},
    )
    assert more["updated_fields"] == ["tags", "metadata", "related_entities"]
    assert more["version"] == 4 and more["re_embedded"] is False
    note = note_of(home, id_)
    assert note.tags == ("systems",) and note.get("team") == "core"
    assert note.get("meta_source") == "talk" and json.loads(note.get("nested")) == {"a": [1]}
    assert note.strings("depends_on") == ("[[TokenValidator]]",)
    server.tell("update_memory", memory_id=id_, related_entities={"remove": ["TokenValidator"]})
    assert note_of(home, id_).strings("depends_on") == ()
    with Vault.open(home / "vault") as vault:
        versions = vault.history(id_).versions
        assert len(versions) == 5
        assert TYPESCRIPT in vault.version_text(id_, versions[-1].version)


def test_an_update_replaces_what_that_system_showed_or_wrote(home: Path) -> None:
    text = "\n\n".join("The walrus sings. " * 60 for _ in range(6)).strip()
    with Surreal(home) as server:
        id_ = server.store(text)
        assert server.end() == 0
    with Surreal(home) as server:  # it knows the id alone, as a script of that system may
        server.tell("update_memory", memory_id=id_, content=text.replace("sings", "hums"))
        file = next((home / "vault" / "Memories").glob("The walrus*.md"))
        file.write_text(file.read_text() + "And a person listens.\n")
        told = server.refuse("update_memory", memory_id=id_, content="Short.")
        assert told["error"] == "conflict" and "a person listens" in told["current"]
        (memory,) = server.tell("recall_memories", query="walrus", strategy="keyword")["memories"]
        assert memory["content"].endswith("And a person listens.")
        server.tell("update_memory", memory_id=id_, content="Short.")
        assert note_of(home, id_).body.strip() == "Short."


def test_versions_count_on_when_old_texts_are_dropped(home: Path) -> None:
    with Vault.open(home / "vault", {"typing.quiet_seconds": 0.0}) as vault:
        id_ = vault.remember("Number 0").memory_id
        for n in range(1, 56):
            vault.update(id_, content=f"Number {n}")
        assert vault.history(id_).number == 56
        assert len(vault.history(id_).versions) == 51
        vault.remove(id_)
        vault.restore(id_)
        assert vault.history(id_).number == 57


def test_forget_promote_and_tag(home: Path, server: Surreal) -> None:
    reason = "Outdated information — project moved to new framework"
    old = server.store("The project uses Backbone.")
    forgotten = server.tell("forget_memory", memory_id=old, reason=reason)
    assert forgotten == {"memory_id": old, "status": "forgotten", "reason": reason}
    assert note_of(home, old).string("forgotten_reason") == reason
    wrapped = server.store("Wrap errors with context.", type="procedural", scope="session")
    why = "Reusable pattern for error handling"
    promoted = server.tell("promote_memory", memory_id=wrapped, target_scope="project", reason=why)
    assert promoted == {
        "memory_id": wrapped,
        "previous_scope": "session",
        "new_scope": "project",
        "reason": why,
    }
    note = note_of(home, wrapped)
    assert note.path.startswith("Memories/") and not note.string("session"), "it left the session"
    assert note.string("promoted_reason") == why
    assert "broader" in server.wrong("promote_memory", memory_id=wrapped, target_scope="project")
    server.tell("tag_memory", memory_id=wrapped, add=["architecture", "decisions", "draft"])
    tagged = server.tell("tag_memory", memory_id=wrapped, add=["grpc"], remove=["draft"])
    assert tagged == {"memory_id": wrapped, "tags": ["architecture", "decisions", "grpc"]}
    assert server.tell("tag_memory", memory_id=wrapped) == tagged
    assert server.tell("tag_memory", memory_id=wrapped.removeprefix("memory:")) == tagged


def entities_of(found: Any) -> dict[str, set[tuple[str, str, str]]]:
    return {
        f"{entity['name']} {entity['type']}": {
            (way["type"], way["target"], way["direction"]) for way in entity["relationships"]
        }
        for entity in found["entities"]
    }


def test_the_knowledge_graph(server: Surreal) -> None:
    """`search_knowledge_graph`: from entity to entity, each memory that names both is one hop."""

    def link(*named: tuple[str, str, str]) -> list[dict[str, str]]:
        return [dict(zip(("name", "type", "relationship"), each, strict=True)) for each in named]

    def search(entity: str = "", **more: Any) -> Any:
        named = {"entity": entity} if entity else {}
        return server.tell("search_knowledge_graph", **named, **more)

    id_ = server.store(
        "The gateway asks the validator.", scope="project", related_entities=ENTITIES
    )
    server.store(
        "The validator reads keys.",
        related_entities=link(
            ("TokenValidator", "component", "uses"), ("KeyVault", "service", "depends_on")
        ),
    )
    server.store(
        "Keys are kept on Mercury.",
        related_entities=link(("KeyVault", "service", "runs_on"), ("Mercury", "machine", "hosts")),
    )
    planet = server.store(
        "Mercury is near the sun.",
        related_entities=link(("Mercury", "planet", "circles"), ("Sun", "star", "orbits")),
    )
    found = search("APIGateway")
    assert set(found) == {"entities", "memories", "graph_stats"}
    assert {"entities_traversed", "relationships_found", "depth_reached"} <= set(
        found["graph_stats"]
    )
    assert entities_of(found) == {
        "APIGateway component": {
            ("depends_on", "TokenValidator", "outgoing"),
            ("used_by", "TokenValidator", "incoming"),
        },
        "TokenValidator component": {
            ("used_by", "APIGateway", "outgoing"),
            ("depends_on", "APIGateway", "incoming"),
        },
    }
    assert [entity["memory_count"] for entity in found["entities"]] == [1, 2]
    assert id_ in {memory["id"] for memory in found["memories"]}
    two, three = search("APIGateway", depth=2), search("APIGateway", depth=3)
    assert set(entities_of(two)) == {*entities_of(found), "KeyVault service"}
    assert set(entities_of(three)) == {*entities_of(two), "Mercury machine"}
    assert [each["graph_stats"]["depth_reached"] for each in (two, three)] == [2, 3]
    assert len(search("APIGateway", depth=3, limit=2)["entities"]) == 2
    assert search("APIGateway", include_memories=False)["memories"] == []
    outgoing = entities_of(search("APIGateway", direction="outgoing"))
    assert outgoing["APIGateway component"] == {("depends_on", "TokenValidator", "outgoing")}
    assert set(entities_of(search("APIGateway", relationship_type="uses"))) == {
        "APIGateway component"
    }
    both = entities_of(search("Mercury"))  # one name, two types: two entities
    assert both["Mercury machine"] >= {("runs_on", "KeyVault", "outgoing")}
    assert both["Mercury planet"] >= {("orbits", "Sun", "outgoing")}
    assert search("Nothing")["entities"] == []
    assert search("Nothing")["graph_stats"]["depth_reached"] == 0
    overview = entities_of(search())
    assert {"TokenValidator component", "Mercury planet", "Sun star"} <= set(overview)
    server.tell("forget_memory", memory_id=id_)
    (stale,) = search("APIGateway")["entities"][0]["relationships"][:1]
    assert stale["stale"] is True, "edges of a forgotten memory say so"
    server.tell("update_memory", memory_id=planet, related_entities={"remove": ["Mercury"]})
    assert entities_of(search("Mercury"))["Mercury planet"] == set()
    text = server.read("memory://project/knowledge-graph")[1]
    assert "**TokenValidator** (component" in text and "- runs_on → " in text
    assert "density" in text and "The validator reads keys" not in text


def test_reflection(home: Path, server: Surreal) -> None:
    for text in (
        "The refresh token loop failed again in staging because the clock was off.",
        "The refresh token loop failed in staging, and the clock was off by a minute.",
        "Fixed the refresh token loop in staging by syncing the clock.",
    ):
        server.store(text, type="episodic", scope="session", tags=["auth"])
    before = {file.name for file in (home / "vault" / "Memories").rglob("*.md")}
    plan = server.tell("reflect_and_consolidate", dry_run=True, strategy="summarize")
    assert {file.name for file in (home / "vault" / "Memories").rglob("*.md")} == before
    done = server.tell("reflect_and_consolidate", session_id="session:abc123")
    assert set(done) == {"consolidated_memories", "patterns_detected", "session_stats"}
    assert done["session_stats"]["memories_analyzed"] == 3
    assert set(done["session_stats"]) == {
        "memories_analyzed",
        "consolidated_into",
        "patterns_found",
    }
    assert plan["consolidated_memories"] and done["consolidated_memories"]
    made = done["consolidated_memories"][0]
    assert set(made) == {"id", "content", "type", "derived_from", "scope"}
    assert ID.fullmatch(made["id"]) and made["type"] in ("semantic", "procedural")
    assert len(made["derived_from"]) >= 2 and all(map(ID.fullmatch, made["derived_from"]))
    for pattern in done["patterns_detected"]:
        assert set(pattern) == {"pattern", "frequency", "suggested_scope"}
    assert note_of(home, made["id"]).strings("derived_from")


def test_status_context_and_summary(home: Path, server: Surreal) -> None:
    server.store(TYPESCRIPT, tags=["preferences"])
    server.store("This service uses gRPC.", scope="project", tags=["grpc"])
    server.store("Earlier discussed auth flow.", type="episodic", scope="session")
    server.store("When writing tests, start a real server.", type="procedural", scope="project")
    server.tell("recall_memories", query="gRPC")
    status = server.tell("get_memory_status")
    assert set(status) == {"connection", "counts", "storage", "current_session"}
    connection = status["connection"]
    assert set(connection) == {"status", "mode", "path", "uptime_seconds", "version"}
    assert connection["status"] == "connected" and connection["mode"] == "file-backed"
    assert connection["path"] == str(home / "vault")
    counts = status["counts"]
    assert counts == {
        "total": 4,
        "by_scope": {"session": 1, "project": 2, "user": 1},
        "by_type": {"episodic": 1, "semantic": 2, "procedural": 1},
        "forgotten": 0,
        "entities": 0,
        "relationships": 0,
    }
    assert set(status["storage"]) == {
        "database_size_bytes",
        "embedding_dimensions",
        "embedding_model",
    }
    session = status["current_session"]
    assert session["session_id"] == "session:abc123" and session["memories_this_session"] == 4
    assert MOMENT.fullmatch(session["started_at"])
    kind, text = server.read("memory://status")
    assert kind == "application/json" and json.loads(text)["counts"] == counts

    context = server.tell("get_memory_context", task_description="gRPC tests", max_tokens=2000)
    assert set(context) == {"context_block", "memories_used", "tokens_used", "truncated"}
    block = context["context_block"]
    assert block.startswith("## Memory Context\n")
    for heading in ("User Preferences", "Project Knowledge", "Recent Session"):
        assert f"\n### {heading}\n- " in block
    assert "\n### Relevant Procedures\n- When writing tests" in block
    assert context["memories_used"] == 4 and 0 < context["tokens_used"] <= 2000
    one = server.tell("get_memory_context", sections=["preferences"])["context_block"]
    assert "TypeScript" in one and "gRPC" not in one

    kind, text = server.read("memory://session/summary")
    assert kind == "text/markdown"
    assert re.fullmatch(
        r"## Session Memory Summary\n"
        r"\*\*Session:\*\* session:abc123 \| Started: \d{4}-\d\d-\d\d \d\d:\d\d\n"
        r"\*\*Memories stored:\*\* 4 \(1 episodic, 2 semantic, 1 procedural\)\n"
        r"\*\*Memories recalled:\*\* 1 queries, \d+ unique memories served\n"
        r"\*\*Key topics:\*\* .*(?:grpc|preferences).*\n",
        text,
    )
    assert "TypeScript" in server.read("memory://user/preferences")[1]


# --- ranking --------------------------------------------------------------------------------------


def test_ranks_are_fused_with_k_60() -> None:
    first, second, third = MemoryKey(1), MemoryKey(2), MemoryKey(3)
    lanes = {
        "keyword": {first: LaneScore(9.0, 1, 9.0), second: LaneScore(8.9, 2, 8.9)},
        "vector": {third: LaneScore(0.9, 3, 0.9), first: LaneScore(0.1, 1, 0.1)},
    }
    fused = fusion.fused_by_rank(lanes, {"keyword": 1.0, "vector": 0.45})
    shares = {each.memory: each.score * 2 / 61 for each in fused}
    assert shares == pytest.approx({first: 1 / 61 + 1 / 62, second: 1 / 62, third: 1 / 61})
    assert [each.memory for each in fused] == [first, third, second]


def test_importance_and_age_count_beside_relevance(home: Path, server: Surreal) -> None:
    plain = server.store("The heron stands in the reeds.", importance=0.1)
    weighty = server.store("The heron stands in the pond.", importance=1.0)
    with Vault.open(home / "vault", {"typing.quiet_seconds": 0.0}) as vault:
        path = vault.get([weighty]).memories[0].path
    found = server.tell("recall_memories", query="heron stands", strategy="keyword")["memories"]
    assert [memory["id"] for memory in found] == [weighty, plain]
    scores = {memory["id"]: memory["relevance_score"] for memory in found}
    file = home / "vault" / path
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"created: \d{4}", "created: 2001", text), encoding="utf-8")
    with Vault.open(home / "vault") as vault:
        vault.index_now()
    later = server.tell("recall_memories", query="heron stands", strategy="keyword")["memories"]
    aged = {memory["id"]: memory["relevance_score"] for memory in later}
    assert scores[weighty] - aged[weighty] == pytest.approx(0.2, abs=0.01), "recency counts 0.2"
    assert scores[weighty] - scores[plain] >= 0.2 * 0.9 - 0.02, "importance counts 0.2"


ASKED = {
    "plumbing leak": "The kitchen tap drips at night.",
    "which indentation style does she like": "Ana prefers tabs over spaces.",
    "pet at work": "The office dog is called Biscuit.",
    "infrastructure as code tool": "The deploy pipeline uses Terraform.",
}


def test_vectors_rank_by_the_cosine_and_importance_only_what_is_relevant(server: Surreal) -> None:
    """Hybrid Search Implementation Detail: words and answers do not meet, and what answers is
    the least important of all."""
    others = ("Quarterly budget review is on Monday.", "Invoices go out on the fifth.")
    for text in (*ASKED.values(), *others):
        server.store(text, importance=0.0 if text in ASKED.values() else 1.0)
    cosines: dict[str, list[float]] = {}
    for question, answer in ASKED.items():
        for strategy in ("vector", "hybrid"):
            found = server.tell("recall_memories", query=question, strategy=strategy, limit=5)
            assert found["memories"][0]["content"] == answer, (question, strategy)
            assert len(found["memories"]) == 5 and found["strategy_used"] == strategy
            assert found["total_matched"] == 6, "of which five were asked for"
            cosines[strategy] = [memory["relevance_score"] for memory in found["memories"]]
            assert cosines[strategy] == sorted(cosines[strategy], reverse=True)
    same = server.tell("recall_memories", query=ASKED["pet at work"], strategy="vector")
    assert same["memories"][0]["relevance_score"] > 0.9, "itself"


def test_a_sessions_counts_and_times_agree(home: Path) -> None:
    with Surreal(home, MEMORY_SESSION_ID="abc123") as server:
        gone = server.store("Number one.", scope="session", type="episodic")
        server.store("Number two.")
        server.store("Of another session.", session_id="other")
        server.tell("forget_memory", memory_id=gone)
        first = server.tell("get_memory_status")["current_session"]
        assert server.end() == 0
    with Surreal(home, MEMORY_SESSION_ID="abc123") as server:
        status = server.tell("get_memory_status")["current_session"]
        text = server.read("memory://session/summary")[1]
        assert first["memories_this_session"] == status["memories_this_session"] == 1
        assert "**Memories stored:** 1 (1 semantic)" in text
        assert status["started_at"] == first["started_at"], "a session that was resumed began then"
        assert json.loads(server.read("memory://status")[1])["current_session"] == status
        assert server.end() == 0


# --- errors and degrading -------------------------------------------------------------------------


def test_errors(server: Surreal) -> None:
    told = server.refuse("forget_memory", memory_id="memory:01K00000000000000000000000")
    assert told["error"] == "not_found" and told["degraded"] is False
    assert told["retry_possible"] is False
    assert "type" in server.wrong("store_memory", content="x", scope="user")
    assert "episodic" in server.wrong("store_memory", content="x", type="odd", scope="user")
    assert "limit" in server.wrong("recall_memories", query="x", limit=51)
    assert "scope" in server.wrong("recall_memories", query="x", scope=["nowhere"])
    assert "source" in server.wrong(
        "store_memory", content="x", type="semantic", scope="user", source={"page": 1}
    )
    assert server.wrong("update_memory", memory_id=server.store("Something."))
    assert server.raw("no_such_tool")["error"]["code"] == -32602
    assert len(server.tell("recall_memories", query="something", limit=1.0)["memories"]) == 1


def test_without_a_model_a_memory_is_stored_and_found_by_its_words(home: Path) -> None:
    with Surreal(home, VAULTMEM_MODEL="no-such-model") as server:
        stored = server.tell("store_memory", content="A kiwi.", type="semantic", scope="user")
        assert stored["embedding_generated"] is False
        assert stored["warning"] == "embedding_failed"
        assert stored["searchable_by"] == "keyword_only"
        assert [each["code"] for each in stored["warnings"]] == ["embedding_failed"]
        found = server.tell("recall_memories", query="kiwi")
        assert [memory["content"] for memory in found["memories"]] == ["A kiwi."]
        assert found["strategy_used"] == "keyword"
        assert all(set(each) == {"code", "message"} for each in found["warnings"])
        assert "embedding_failed" in {each["code"] for each in found["warnings"]}


def test_without_any_index_answers_come_from_the_files_and_say_so(home: Path) -> None:
    with Surreal(home) as server:
        server.store("The first cormorant.")
        assert server.end() == 0
    index = home / "vault" / ".vaultmem" / "index"
    shutil.rmtree(index)
    index.write_text("in the way", encoding="utf-8")
    with Surreal(home) as server:
        found = server.tell("recall_memories", query="cormorant")
        assert [memory["content"] for memory in found["memories"]] == ["The first cormorant."]
        assert found["degraded"] is True and found["message"]
        assert "partial_results" in {each["code"] for each in found["warnings"]}
        id_ = server.store("A second one.")
        assert note_of(home, id_).body.strip() == "A second one.", "the file needs no index"
        assert server.end() == 0


def test_a_locked_index_delays_nothing_but_the_search(home: Path) -> None:
    """The write queue of a vault: the file is there at once, and the index follows."""
    with Surreal(home) as server:
        server.store("The first cormorant.")
        catalog = home / "vault" / ".vaultmem" / "index" / "catalog.db"
        blocker = sqlite3.connect(catalog, isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        try:
            stored = server.tell(
                "store_memory", content="The second cormorant.", type="semantic", scope="user"
            )
            assert note_of(home, stored["memory_id"]).body.strip() == "The second cormorant."
            assert "index_behind" in {each["code"] for each in stored["warnings"]}
        finally:
            blocker.execute("ROLLBACK")
            blocker.close()
        found: list[Any] = []
        while len(found) < 2:  # as soon as somebody looks at the files again
            found = server.tell("recall_memories", query="cormorant")["memories"]


# --- sessions ---------------------------------------------------------------------------------------


def test_a_session_is_summed_up_and_can_be_resumed(home: Path) -> None:
    with Surreal(home, MEMORY_SESSION_ID="abc123") as server:
        server.store("Only for now: the build is red.", scope="session", type="episodic")
        server.store(TYPESCRIPT, tags=["languages"])
        assert server.end() == 0
    (journal,) = (home / "vault" / "Sessions").rglob("*.md")
    note = parse(journal.read_bytes(), "Sessions/x.md")
    assert note.string("session") == "abc123" and note.string("type") == "session"
    assert "## Summary" in note.body and "Memories stored: 2" in note.body
    with Surreal(home, MEMORY_SESSION_ID="session:abc123") as server:
        (found,) = server.tell("recall_memories", query="build", scope="session")["memories"]
        assert found["content"] == "Only for now: the build is red."
        assert server.end() == 0
    with Surreal(home, MEMORY_SESSION_ID="other") as server:
        assert server.tell("recall_memories", query="build", scope="session")["memories"] == []
        refused = server.refuse("forget_memory", memory_id=found["id"])
        assert refused["error"] == "not_found", "another session's memory is not there"
        assert server.end() == 0
    assert len(list((home / "vault" / "Sessions").rglob("*.md"))) == 1, "nothing was stored in it"


def test_read_only_offers_no_writing_tools(home: Path) -> None:
    with Surreal(home, "--read-only") as server:
        names = {tool["name"] for tool in server.request(1, "tools/list")["result"]["tools"]}
        assert names == {
            "recall_memories",
            "search_knowledge_graph",
            "get_memory_status",
            "get_memory_context",
        }
        told = server.refuse("store_memory", content="x", type="semantic", scope="user")
        assert told["error"] == "read_only"
        assert server.end() == 0 and not server.errors()


def test_variables(home: Path) -> None:
    with Surreal(home, MEMORY_LOG_LEVEL="debug", MEMORY_DB_PATH="elsewhere") as server:
        assert server.end() == 0
        told = server.errors()
    assert "waiting for a client" in told
    assert "The database path elsewhere has no effect: --vault names the vault." in told
    assert not (home / "elsewhere").exists()
