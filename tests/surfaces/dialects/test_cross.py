"""All dialects on one vault: what one writes the others and Obsidian read, and nobody gets out of
the user, the palace or the session that he is in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.surfaces.mcp.harness import Process, new_vault
from vaultmem.notes.note import parse
from vaultmem.vault import Vault

OBSIDIAN: dict[str, Any] = {  # property: what Obsidian must find in it
    "id": str,
    "key": str,
    "type": str,
    "scope": str,
    "project": str,
    "session": str,
    "user": str,
    "room": str,
    "kind": str,
    "source": str,
    "importance": (int, float),
    "tags": list,
    "aliases": list,
    "created": str,
    "updated": str,
}
TRAE = "The osprey of trae"
ALL_BUT_SESSIONS = ("evolution", "keys", "trusty", "surreal")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    new_vault(tmp_path / "vault")
    return tmp_path


class Speaker(Process):
    def __init__(self, home: Path, dialect: str, *arguments: str, **env: str) -> None:
        named = ("--vault", str(home / "vault"), "--dialect", dialect)
        super().__init__(home, *named, *arguments, env=env)
        self._id = 0

    def __enter__(self) -> Speaker:
        self.start()
        return self

    def raw(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self._id += 1
        return self.request(self._id, "tools/call", name=tool, arguments=arguments)

    def tell(self, tool: str, **arguments: Any) -> Any:
        reply = self.raw(tool, **arguments)
        assert not reply.get("result", {"isError": True}).get("isError"), reply
        return json.loads(reply["result"]["content"][0]["text"])

    def said(self, tool: str, **arguments: Any) -> str:
        """Whatever comes back, an error too, as one text."""
        return json.dumps(self.raw(tool, **arguments), ensure_ascii=False)

    def fails(self, tool: str, **arguments: Any) -> bool:
        reply = self.raw(tool, **arguments)
        return "error" in reply or bool(reply["result"].get("isError"))


# --- written in one, read in another ------------------------------------------------------------


def test_what_one_dialect_writes_all_others_read(home: Path, run: Run) -> None:
    root = home / "vault"
    with Speaker(home, "evolution", MCP_USER_ID="me") as speaker:
        speaker.tell("save_memory", fact="The osprey of evolution", tags=["bird"])
        assert speaker.end() == 0
    with Speaker(home, "memory-mcp", "--user", "me") as speaker:
        speaker.raw("commit_memory", scope="vault", key="osprey", content="The osprey of keys")
        assert speaker.end() == 0
    with Speaker(home, "trae", "--user", "me") as speaker:
        session = speaker.tell("trae_mem_start_session")["session_id"]
        speaker.raw("trae_mem_log", session_id=session, content="The osprey of trae", type="note")
        assert speaker.end() == 0
    with Speaker(home, "trusty", "--user", "me", "--palace", "atlas") as speaker:
        speaker.tell("memory_remember", text="The osprey of trusty", room="Backend", tags=["bird"])
        speaker.tell("kg_assert", subject="Osprey", predicate="eats", object="pike")
        assert speaker.end() == 0
    with Speaker(home, "surreal", "--user", "me", CLAUDE_PROJECT_DIR="/home/me/atlas") as speaker:
        speaker.tell(
            "store_memory",
            content="The osprey of surreal",
            type="semantic",
            scope="project",
            importance=0.8,
            related_entities=[{"name": "Osprey", "type": "bird", "relationship": "about"}],
        )
        found = speaker.tell("recall_memories", query="osprey", limit=50)["memories"]
        assert {memory["content"] for memory in found} == {
            "The osprey of evolution",
            "The osprey of keys",
            "The osprey of trae",
            "The osprey of trusty",
            "The osprey of surreal",
        }
        assert speaker.end() == 0
    with Speaker(home, "trusty", "--user", "me", "--palace", "atlas") as speaker:
        drawers = speaker.tell("memory_list")["drawers"]
        assert drawers[0]["content"] == "The osprey of surreal", "importance .8"
        of_nobody = {"The osprey of keys", "The osprey of evolution"}
        assert {d["content"] for d in drawers[1:]} == {"The osprey of trusty", *of_nobody}
        found = speaker.tell("memory_recall", query="osprey")["results"]
        layers = {each["content"]: each["layer"] for each in found}
        assert layers["The osprey of surreal"] == 1 and layers["The osprey of trusty"] == 2
        assert layers.keys() == {f"The osprey of {name}" for name in ALL_BUT_SESSIONS} | {TRAE}
        assert speaker.end() == 0
    with Speaker(home, "evolution", MCP_USER_ID="me") as speaker:
        said = speaker.said("search_memory", query="osprey", limit=20)
        for name in ("evolution", "keys", "trusty", "surreal"):
            assert f"The osprey of {name}" in said
        assert speaker.end() == 0
    with Speaker(home, "native", "--user", "me") as speaker:
        facts = speaker.tell("query_facts", subject="Osprey")["facts"]
        assert [(fact["predicate"], fact["object"]) for fact in facts] == [("eats", "pike")]
        assert "The osprey of trae" in speaker.said("recall_memories", query="osprey", limit=50)
        assert speaker.end() == 0
    shown = run("search", "osprey", "--vault", str(root), "--json", "--limit", "50")
    assert shown.code == 0 and len(shown.json["memories"]) >= 5
    assert_is_a_vault(root, run)


def assert_is_a_vault(root: Path, run: Run) -> None:
    """In Obsidian's terms: valid properties of the right types, and nothing to complain of."""
    notes = [
        f for name in ("Memories", "Entities", "Sessions") for f in (root / name).rglob("*.md")
    ]
    assert len(notes) >= 6
    for file in notes:
        note = parse(file.read_bytes(), str(file.relative_to(root)))
        assert not note.problems and note.id, file
        for name, value in note.properties.items():
            assert isinstance(value, OBSIDIAN.get(name, (str, int, float, list))), (file, name)
        assert MOMENT.fullmatch(note.string("created"))
        assert note.string("user") == "me"
        assert all(re.fullmatch(r"[\w/-]+", tag) for tag in note.tags)
    trusty = parse((root / "Memories/atlas/The osprey of trusty.md").read_bytes(), "x.md")
    assert trusty.string("project") == "atlas" and trusty.string("room") == "Backend"
    assert trusty.string("scope") == "project" and trusty.tags == ("bird",)
    doctor = run("doctor", "--vault", str(root), "--json")
    assert doctor.code == 0 and doctor.json == [], doctor.out


# --- palaces ------------------------------------------------------------------------------------------


def test_nothing_gets_from_one_palace_into_another(home: Path) -> None:
    with Vault.open(home / "vault") as vault:
        vault.ensure_entity("Shared", "component")
        everyone = vault.remember("What everyone knows").memory_id
    with Speaker(home, "trusty") as speaker:
        secret = speaker.tell("memory_remember", palace="a", text="A heron, secret", tags=["hush"])
        speaker.tell("kg_assert", palace="a", subject="Shared", predicate="hides", object="stork")
        speaker.tell("kg_assert", palace="a", subject="Own", predicate="hides", object="heron")
        speaker.tell("palace_create", name="b", description="Another")
        for tool, given in (
            ("memory_recall", {"query": "heron secret"}),
            ("memory_recall_deep", {"query": "heron secret hush"}),
            ("memory_recall_deep", {"query": "A heron, secret"}),
            ("memory_list", {}),
            ("memory_list", {"tag": "hush"}),
            ("memory_list", {"room": "General"}),
            ("kg_query", {"subject": "Own"}),
            ("kg_query", {"subject": "Entities/Own.md"}),
            ("kg_query", {"subject": "[[Own]]"}),
            ("palace_info", {}),
        ):
            said = speaker.said(tool, palace="b", **given)
            asked = json.dumps(given)[1:-1].replace('"', '\\"')
            assert "heron" not in said.replace(asked, "").replace(given.get("query", "-"), ""), said
        assert speaker.fails("memory_forget", palace="b", drawer_id=secret["drawer_id"])
        fact = {"predicate": "p", "object": "o"}
        assert speaker.fails("kg_assert", palace="a", subject=everyone, **fact)
        for name in ("[[a]]", "[[a|b]]", "", " ", "a\u0000", "x" * 500):
            assert speaker.fails("memory_remember", palace=name, text="Let me in"), name
        for name in ("../a", "/a", "a/../a", "..", ".", "a\\b", "b\n## x", "con", "a.md"):
            speaker.raw("memory_remember", palace=name, text=f"Beside it: {name!r}")
        drawers = speaker.tell("memory_list", palace="a")["drawers"]
        told = {drawer["content"] for drawer in drawers}
        assert told == {"A heron, secret", "What everyone knows"}, "and what belongs to no palace"
        assert speaker.tell("palace_info", palace="a")["drawer_count"] == 1
        for palace in ("a", "b"):  # what is said of an entity that all share, all know
            triples = speaker.tell("kg_query", palace=palace, subject="Shared")["triples"]
            assert [(t["subject"], t["object"]) for t in triples] == [("Shared", "stork")]
        assert speaker.end() == 0
    outside = [file for file in home.rglob("*.md") if not file.is_relative_to(home / "vault")]
    assert outside == [], "no palace's name leads out of the vault"
    shared = parse((home / "vault" / "Entities" / "Shared.md").read_bytes(), "Shared.md")
    assert [fact.object for fact in shared.facts] == ["stork"]
    assert not list((home / "vault" / "Entities").glob("Shared *.md")), "there is one note of it"


def test_a_pinned_project_is_the_only_palace(home: Path) -> None:
    with Vault.open(home / "vault") as vault:
        other = vault.remember("A heron, secret", scope="project", project="a").memory_id
    with Speaker(home, "trusty", "--project", "b") as speaker:
        assert speaker.tell("memory_remember", palace="b", text="Allowed")
        assert speaker.tell("palace_list") == {"palaces": ["b"]}
        for tool, given in (
            ("memory_remember", {"text": "No"}),
            ("memory_recall", {"query": "heron"}),
            ("memory_recall_deep", {"query": "heron"}),
            ("memory_list", {}),
            ("palace_info", {}),
            ("kg_assert", {"subject": "s", "predicate": "p", "object": "o"}),
            ("kg_query", {"subject": "s"}),
        ):
            assert speaker.fails(tool, palace="a", **given), tool
        assert speaker.fails("palace_create", name="a")
        assert speaker.end() == 0
    with Speaker(home, "surreal", "--project", "b") as speaker:
        assert "heron" not in speaker.said("recall_memories", query="secret")
        assert speaker.fails("forget_memory", memory_id=f"memory:{other}")
        assert speaker.fails("update_memory", memory_id="A heron, secret", content="Mine")
        assert speaker.end() == 0


# --- users ----------------------------------------------------------------------------------------------


def test_another_user_s_memories_are_not_there(home: Path) -> None:
    root = home / "vault"
    with Speaker(home, "surreal", "--user", "me", MEMORY_SESSION_ID="one") as speaker:
        mine = speaker.tell(
            "store_memory",
            content="My heron",
            type="episodic",
            scope="user",
            tags=["hush"],
            related_entities=[{"name": "Reeds", "type": "place", "relationship": "about"}],
        )["memory_id"]
        assert speaker.end() == 0
    path = next((root / "Memories").rglob("My heron.md")).relative_to(root).as_posix()
    before = (root / path).read_bytes()
    with Speaker(home, "surreal", "--user", "you", MEMORY_SESSION_ID="one") as speaker:
        for ref in (mine, mine.removeprefix("memory:").lower(), path, "My heron", "[[My heron]]"):
            assert speaker.fails("forget_memory", memory_id=ref)
            assert speaker.fails("update_memory", memory_id=ref, content="Yours")
            assert speaker.fails("promote_memory", memory_id=ref, target_scope="project")
            assert speaker.fails("tag_memory", memory_id=ref)
        for tool, given in (
            ("recall_memories", {"query": "my", "include_forgotten": True, "strategy": "keyword"}),
            ("recall_memories", {"query": "bird", "tags": ["hush"]}),
            ("recall_memories", {"query": "Reeds", "strategy": "graph"}),
            ("search_knowledge_graph", {"entity": "Reeds", "depth": 3}),
            ("search_knowledge_graph", {}),
            ("get_memory_context", {"task_description": "my bird"}),
            ("reflect_and_consolidate", {"session_id": "one", "dry_run": True}),
        ):
            assert "heron" not in speaker.said(tool, **given), tool
        counts = speaker.tell("get_memory_status")["counts"]
        assert counts["total"] == 0 and counts["forgotten"] == 0
        for uri in ("session/summary", "project/knowledge-graph", "user/preferences"):
            read = json.dumps(speaker.request(800, "resources/read", uri=f"memory://{uri}"))
            assert "heron" not in read and "hush" not in read, uri
        assert speaker.end() == 0
    assert (root / path).read_bytes() == before
    with Speaker(home, "trusty", "--user", "you") as speaker:
        assert speaker.tell("palace_list") == {"palaces": []}
        assert speaker.end() == 0


# --- sessions -------------------------------------------------------------------------------------------


def test_another_session_s_memories_are_not_there(home: Path) -> None:
    with Speaker(home, "surreal", MEMORY_SESSION_ID="one") as speaker:
        mine = speaker.tell(
            "store_memory", content="The heron of one", type="episodic", scope="session"
        )["memory_id"]
        with Speaker(home, "surreal", MEMORY_SESSION_ID="two") as other:
            for scope in ({}, {"scope": "session"}, {"scope": ["session", "user"]}):
                assert "heron" not in other.said("recall_memories", query="the one", **scope)
            for session in ("one", "session:one", "ONE"):
                said = other.said("reflect_and_consolidate", session_id=session, dry_run=True)
                assert "heron" not in said
            assert other.fails("promote_memory", memory_id=mine, target_scope="user")
            assert other.fails("forget_memory", memory_id=mine)
            assert "heron" not in other.said("get_memory_context", task_description="the one")
            other.tell(
                "store_memory",
                content="Left for one",
                type="semantic",
                scope="session",
                session_id="session:one",
            )
            assert "Left for one" not in other.said("recall_memories", query="left")
            assert other.end() == 0
        found = speaker.tell("recall_memories", query="heron one left", scope="session")["memories"]
        assert {memory["content"] for memory in found} == {"The heron of one", "Left for one"}
        assert speaker.end() == 0
