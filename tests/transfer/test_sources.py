"""Every source, from a generated export to notes that can be recalled; and once more for nothing."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open, snapshot
from tests.transfer import exports
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.transfer.importing import Imported
from vaultmem.vault import Vault

MAKERS: dict[str, Callable[[Path], Path]] = {
    "server-memory": lambda away: exports.server_memory(away / "memory.jsonl"),
    "mem0": lambda away: exports.mem0(away / "mem0.json"),
    "claude-mem": lambda away: exports.claude_mem(away / "export.json"),
    "mempalace": lambda away: exports.mempalace(away / "palace"),
    "chatgpt": lambda away: exports.chatgpt(away / "conversations.json"),
    "claude": lambda away: exports.claude(away / "claude.zip"),
    "folder": lambda away: exports.folder(away / "notes"),
    "basic-memory": lambda away: exports.folder(away / "project", exports.BASIC_MEMORY),
}


def counts(done: Imported) -> tuple[int, int, int, int]:
    return done.added, done.updated, done.kept + done.gone, done.left


def notes(root: Path) -> dict[str, bytes]:
    found = (file.relative_to(root).as_posix() for file in root.rglob("*.md"))
    return {path: (root / path).read_bytes() for path in found if not path.startswith(".")}


@pytest.mark.parametrize("source", MAKERS)
def test_a_source_comes_in_once_and_stays_as_it_was(
    source: str, vault: Vault, root: Path, away: Path
) -> None:
    path = MAKERS[source](away)
    before = snapshot(away)
    planned = vault.import_(source, path, dry_run=True)
    assert notes(root) == {}
    done = vault.import_(source, path)
    assert done.added > 0
    assert counts(done) == counts(planned)
    assert [s.path for s in done.notes] == [s.path for s in planned.notes]
    written = notes(root)
    again = vault.import_(source, path)
    assert (again.added, again.updated, again.kept, again.gone) == (0, 0, 0, 0)
    assert again.here == done.added
    assert notes(root) == written
    assert snapshot(away) == before
    assert {found.problem for found in vault.examine()} <= {"not-utf8"}


@pytest.mark.parametrize("source", MAKERS)
def test_a_second_machine_writes_the_same_bytes(
    source: str, open_vault: Open, tmp_path: Path, away: Path
) -> None:
    path = MAKERS[source](away)
    made = []
    for name in ("one", "two"):
        other = tmp_path / name
        open_vault(at=other).import_(source, path)
        made.append(notes(other))
    assert made[0] == made[1] != {}


@pytest.mark.parametrize("source", MAKERS)
def test_auto_finds_what_it_is(source: str, vault: Vault, away: Path) -> None:
    assert vault.import_("auto", MAKERS[source](away), dry_run=True).source == source


# --- what becomes of what -----------------------------------------------------------------------


def test_entities_have_observations_and_facts(vault: Vault, away: Path) -> None:
    vault.import_("server-memory", exports.server_memory(away / "memory.jsonl"))
    known = vault.get(["AuthService"]).memories[0]
    assert (known.type, known.kind) == ("entity", "service")
    said = [seen.content for seen in known.observations or ()]
    assert said == ["Signs tokens with RS256", "Owned by Me 🚀"]
    facts = {(f.predicate, f.object) for f in vault.facts("AuthService").facts}
    assert facts == {("depends_on", "Keychain"), ("stores_keys_in", "Vault of secrets")}


def test_an_entity_that_is_here_gets_what_it_lacks(vault: Vault, root: Path, away: Path) -> None:
    (root / "AuthService.md").write_bytes(b"# AuthService\r\n\r\nMy own words.   \r\n")
    path = exports.server_memory(away / "memory.jsonl")
    assert counts(vault.import_("server-memory", path)) == (1, 1, 0, 0)
    after = (root / "AuthService.md").read_bytes()
    assert after.startswith(b"# AuthService\r\n\r\nMy own words.   \r\n")
    assert after.count(b"Signs tokens") == 1
    assert vault.history("AuthService").versions[1].action == "import"
    exports.lines(path, [exports.entity("authservice", "x", ["Signs tokens with RS256", "New"])])
    assert counts(vault.import_("server-memory", path)) == (0, 1, 0, 0)
    text = (root / "AuthService.md").read_bytes()
    assert (text.count(b"Signs tokens"), text.count(b"New")) == (1, 1)


def test_a_graph_in_one_document(vault: Vault, away: Path) -> None:
    graph = {
        "entities": [{"name": "A", "entityType": "x", "observations": ["one"]}],
        "relations": [{"from": "A", "to": "B", "relationType": "knows"}],
    }
    vault.import_("server-memory", exports.write(away / "memory.json", graph))
    assert [f.object for f in vault.facts("A").facts] == ["B"]


def test_memories_keep_dates_tags_and_weight(vault: Vault, away: Path) -> None:
    record = exports.mem0_record(
        1,
        "Likes dark mode",
        categories=["user preferences", "ui"],
        metadata={"importance": 0.8, "confidence": "0.9", "branch": "main", "files": ["a.py"]},
        app_id="Atlas",
        run_id="run-7",
        updated_at="2024-08-01T00:00:00Z",
    )
    vault.import_("mem0", exports.mem0(away / "m.json", [record]))
    known = vault.get([vault.list().memories[0].id]).memories[0]
    assert known.content == "Likes dark mode"
    assert (known.type, known.scope, known.project) == ("semantic", "project", "Atlas")
    assert known.tags == ("user-preferences", "ui")
    assert (known.importance, known.confidence, known.session) == (0.8, 0.9, "run-7")
    assert str(known.created_at) == "2024-07-01 19:00:00+00:00"
    assert str(known.updated_at) == "2024-08-01 00:00:00+00:00"
    assert known.properties == {"branch": "main", "files": ["a.py"]}
    assert known.key == f"mem0:{record['id']}"
    assert known.user is None


def test_of_several_users_each_keeps_their_own(open_vault: Open, away: Path) -> None:
    records = [exports.mem0_record(n, f"of {u}", user_id=u) for n, u in enumerate(("a", "b"))]
    path = exports.mem0(away / "m.json", records)
    open_vault().import_("mem0", path)
    assert [m.excerpt for m in open_vault(user="a").list().memories] == ["of a"]
    assert len(open_vault().list().memories) == 2


def test_mem0_as_a_list_as_lines_and_as_markdown(vault: Vault, away: Path) -> None:
    records = [exports.mem0_record(n) for n in range(2)]
    exports.lines(away / "mem0.jsonl", records)
    exports.write(away / "list.json", records)
    blocks = [
        f"---\nid: {r['id']}\ncreated_at: {r['created_at']}\ncategories: a, b\n---\n{r['memory']}\n"
        for r in records
    ]
    (away / "mem0-export-atlas.md").write_text("\n".join(blocks))
    assert vault.import_("mem0", away / "mem0.jsonl").added == 2
    assert vault.import_("mem0", away / "list.json").here == 2
    markdown = vault.import_("mem0", away / "mem0-export-atlas.md", dry_run=True)
    assert (markdown.added, markdown.left) == (0, 0)


def test_the_graph_of_mem0(vault: Vault, away: Path) -> None:
    data = {
        "results": [exports.mem0_record(1)],
        "relations": [{"source": "me", "relationship": "loves", "target": "pizza"}],
    }
    vault.import_("mem0", exports.write(away / "m.json", data))
    assert [(f.predicate, f.object) for f in vault.facts("me").facts] == [("loves", "pizza")]


def test_observations_of_a_session_are_its_journal(vault: Vault, away: Path) -> None:
    done = vault.import_("claude-mem", exports.claude_mem(away / "export.json"))
    assert done.warnings == ("Passed over (1): sessions in which nothing was observed.",)
    seen = vault.timeline(session_id="claude-mem-session-1").observations
    assert [o.type for o in seen] == ["prompt", "bugfix", "decision"]
    assert seen[1].tags == ("problem-solution", "auth-tokens")
    assert seen[1].content.startswith("Login loops on expired tokens\n\nThe refresh ran twice")
    assert "- Only on Safari" in seen[1].content
    assert seen[2].content == "Sign with RS256 ``` %% <!-- #not-a-tag"
    summary = vault.session_summary("claude-mem-session-1")
    assert "**Learned:** Two tabs race" in (summary.summary or "")
    assert summary.project == "Atlas"


def test_the_database_of_claude_mem_says_the_same(open_vault: Open, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    (tmp_path / "data").mkdir()
    file = exports.claude_mem_database(tmp_path / "data" / "claude-mem.db")
    before = snapshot(tmp_path / "data")
    open_vault(at=one).import_("claude-mem", exports.claude_mem(tmp_path / "export.json"))
    open_vault(at=two).import_("claude-mem", file)
    assert notes(one) == notes(two)
    assert snapshot(tmp_path / "data") == before


def test_a_database_is_read_with_its_log_and_left_alone(vault: Vault, tmp_path: Path) -> None:
    """Its owner is running, or died: the newest rows are in the log beside it only."""
    live, cold = tmp_path / "live", tmp_path / "cold"
    live.mkdir()
    cold.mkdir()
    exports.claude_mem_database(live / "claude-mem.db")
    owner = sqlite3.connect(live / "claude-mem.db", isolation_level=None)
    owner.execute("UPDATE observations SET text = 'the newest' WHERE id = 12")
    for name in ("claude-mem.db", "claude-mem.db-wal"):
        shutil.copy(live / name, cold / name)
    before = snapshot(cold)
    vault.import_("claude-mem", cold)
    assert vault.recall("newest").memories[0].content == "the newest"
    assert snapshot(cold) == before
    assert vault.import_("claude-mem", live).added == 0
    owner.close()


@pytest.mark.parametrize("make", [exports.mempalace, exports.mempalace_exact])
def test_drawers_are_memories_of_their_wing(
    make: Callable[[Path], Path], vault: Vault, away: Path
) -> None:
    done = vault.import_("mempalace", make(away / "palace"))
    found = {m.path: m for m in vault.get([m.id for m in vault.list().memories]).memories}
    talk = found["Memories/atlas/Me shall we ship on Friday.md"]
    assert talk.content == "Me: shall we ship on Friday?\n\nNo, on Monday."
    assert (talk.type, talk.project, talk.room) == ("episodic", "atlas", "planning")
    assert str(talk.created_at) == "2026-01-06 10:00:00+00:00"
    assert "Passed over (1): marks of what was mined." in done.warnings
    assert not any("a summary" in m.content for m in found.values())


def test_the_graph_of_a_palace_keeps_its_times(vault: Vault, away: Path) -> None:
    exports.mempalace(away / "home" / "palace")
    shutil.move(away / "home/palace/knowledge_graph.sqlite3", away / "home")
    for path in (away / "home", away / "home" / "palace"):
        vault.import_("mempalace", path)
    facts = vault.facts("AuthService", include_closed=True).facts
    told = [(f.predicate, f.object, str(f.valid_from)[:10], f.confidence) for f in facts]
    assert told == [
        ("deployed_version", "2.4.1", "2026-05-10", 1.0),
        ("depends_on", "Keychain", "2026-01-28", 0.9),
    ]
    assert [f.object for f in vault.facts("AuthService").facts] == ["Keychain"]


def test_a_palace_on_a_server_cannot_be_read(vault: Vault, away: Path) -> None:
    with pytest.raises(InvalidInput, match="Qdrant, Milvus, PostgreSQL"):
        vault.import_("mempalace", away)


def test_of_a_conversation_the_shown_path_comes_back_as_it_was(vault: Vault, away: Path) -> None:
    vault.import_("chatgpt", exports.chatgpt(away / "c.json", [exports.chatgpt_ordinary()]))
    seen = vault.timeline(session_id="chatgpt-8f3a2b1c-1").observations
    assert [(o.type, o.content) for o in seen] == [
        ("user", "Which database for metrics? 📈\n\n- fast\n- small"),
        ("assistant", "Use **Postgres**.\r\nIt is enough."),
        ("user", "[image]\nWhat is this?"),
    ]
    assert str(seen[1].time) == "2024-05-01 10:00:05+00:00"
    recalled = vault.recall("which database for metrics").memories[0]
    assert recalled.block == seen[0].id


def test_a_conversation_that_went_on_grows(vault: Vault, root: Path, away: Path) -> None:
    chat = exports.chatgpt_ordinary()
    path = exports.chatgpt(away / "c.json", [chat])
    vault.import_("chatgpt", path)
    [before] = notes(root).values()
    chat["mapping"]["more"] = exports.node("more", "picture", "assistant", "A cat.", at=1714557700)
    chat["current_node"] = "more"
    chat["update_time"] = 1714608000
    exports.chatgpt(path, [chat])
    assert counts(vault.import_("chatgpt", path)) == (0, 1, 0, 0)
    [after] = notes(root).values()
    old, new = before.splitlines(), after.splitlines()
    assert [line for line in old if line not in new] == [b"updated: 2024-05-01T11:01:00"]
    assert [line.split(b" ^")[0] for line in new if line not in old] == [
        b"updated: 2024-05-02T00:00:00",
        b"- **10:01:40** assistant: A cat.",
    ]


def test_chatgpt_in_a_zip_in_several_files(vault: Vault, away: Path) -> None:
    with zipfile.ZipFile(away / "export.zip", "w") as archive:
        for number in (1, 2):
            chats = [exports.chatgpt_ordinary(number)]
            archive.writestr(f"conversations-00{number}.json", json.dumps(chats))
        archive.writestr("user.json", "{}")
        archive.writestr("chat.html", "<html>")
    assert vault.import_("auto", away / "export.zip").added == 2


def test_claude_brings_projects_and_memory_along(vault: Vault, away: Path) -> None:
    vault.import_("claude", exports.claude(away / "claude.zip"))
    titles = {m.title: m for m in vault.get([m.id for m in vault.list().memories]).memories}
    assert titles["Roadmap"].content == "# Roadmap\n\n1. Ship."
    assert titles["Instructions for Atlas"].type == "procedural"
    assert titles["What Claude remembers"].content == "Likes short answers."
    assert titles["What Claude remembers about Atlas"].project == "Atlas"
    seen = vault.timeline(session_id="claude-c1a0de00-1").observations
    assert [o.type for o in seen] == ["user", "assistant", "artifact", "attachment"]
    assert seen[1].content == "Call it `vaultmem`.\n\n```sh\nls\n```"
    assert seen[3].content == "spec.txt\n\nIt must be small."


def test_project_is_the_home_of_what_has_none(vault: Vault, away: Path) -> None:
    vault.import_("mem0", exports.mem0(away / "m.json"), project="Atlas")
    assert {m.project for m in vault.list().memories} == {"Atlas"}


# --- wrong use ------------------------------------------------------------------------------------


def test_a_wrong_word_is_put_right(vault: Vault, away: Path) -> None:
    path = exports.chatgpt(away / "conversations.json")
    with pytest.raises(InvalidInput, match=re.escape(f"try: {command_to_type('import chatgpt ')}")):
        vault.import_("claude", path)
    with pytest.raises(InvalidInput, match="did you mean 'chatgpt'"):
        vault.import_("chatgtp", path)
    with pytest.raises(InvalidInput, match="there are: basic-memory"):
        vault.import_("notion", path)
    with pytest.raises(NotFound, match="There is no file or folder"):
        vault.import_("mem0", away / "none.json")
    with pytest.raises(InvalidInput, match=re.escape(f"try: {command_to_type('import folder')}")):
        vault.import_("basic-memory", exports.folder(away / "plain"))
    with pytest.raises(InvalidInput, match="--into and --files are for"):
        vault.import_("chatgpt", path, into="Elsewhere")


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("a.json", b"not json at all", "it starts with 'n'"),
        ("b.json", b'{"some": "thing"}', "does not look like a mem0 export"),
        ("c.json", b'["text", 5, null]', "it has no text"),
        ("d.json", b'[{"memory": "cut', "breaks off"),
        ("e.bin", b"\x00\xff\xfe\x01" * 100, "is not JSON"),
    ],
)
def test_what_is_no_export_is_said_to_be_none(
    name: str, raw: bytes, said: str, vault: Vault, away: Path
) -> None:
    (away / name).write_bytes(raw)
    with pytest.raises(InvalidInput, match=said):
        vault.import_("mem0", away / name)


def test_an_empty_export_is_no_mistake(vault: Vault, away: Path) -> None:
    done = vault.import_("mem0", exports.write(away / "m.json", []))
    assert counts(done) == (0, 0, 0, 0)


def test_json_of_any_kind_is_not_taken_for_ours(vault: Vault, away: Path) -> None:
    things: list[Any] = [{"name": "left-pad", "version": "1.0.0"}]
    with pytest.raises(InvalidInput, match="looks like nothing"):
        vault.import_("auto", exports.write(away / "package.json", things))
    vault.remember("It rains")
    vault.export("zip", away / "ours.zip")
    with pytest.raises(InvalidInput, match="unpack it, and import the folder"):
        vault.import_("auto", away / "ours.zip")
