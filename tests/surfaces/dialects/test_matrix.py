"""Who reads what was written by whom: one vault, every dialect a process of its own, and the table
that docs/dialects.md prints. What is hidden from a caller is hidden in every dialect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.surfaces.dialects.test_cross import Speaker
from tests.surfaces.mcp.harness import new_vault

DOCS = Path(__file__).parents[3] / "docs" / "dialects.md"
WRITTEN = {  # by whom: what it is about, and words that only this text has
    "a person's note": ("Osprey", "roosts in the poplar"),
    "a person's fact": ("Osprey", "gull"),
    "native": ("Osprey", "circles the lighthouse"),
    "native fact": ("Osprey", "lapwing"),
    "native observation": ("Osprey", "hovered over the weir"),
    "evolution": ("Osprey", "nests on the mast"),
    "memory-mcp": ("Osprey", "eats pike"),
    "surreal": ("Osprey", "winters in Gambia"),
    "trusty": ("Osprey", "guards the reservoir"),
    "trusty fact": ("Kingfisher", "heron"),
    "trae": ("Osprey", "dived at dawn"),
}
READERS = ("native", "evolution", "memory-mcp", "surreal", "trusty", "trae")
FLAGS = {"trusty": ("--palace", "atlas"), "native": ("--project", "atlas")}
HIDDEN = {
    "Diary/Forgotten.md": "---\nforgotten: true\n---\nThe osprey was hidden by forgetting.\n",
    "Diary/Hers.md": "---\nuser: her\n---\nThe osprey was hidden by its user.\n",
    "Diary/Other.md": "---\nproject: Zeus\n---\nThe osprey was hidden by its project.\n",
    "Away/Excluded.md": "The osprey was hidden by the settings.\n",
    "Diary/Private.md": "An osprey, and <private>it was hidden as private</private>.\n",
}


class Everyone:
    """A process for each dialect, on one vault."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.root = home / "vault"
        self.speakers = {
            name: stack.enter_context(
                Speaker(home, name, "--user", "me", *FLAGS.get(name, ()), MCP_USER_ID="me")
            )
            for name in READERS
        }

    def tell(self, dialect: str, tool: str, **given: Any) -> Any:
        return self.speakers[dialect].tell(tool, **given)

    def said(self, dialect: str, tool: str, **given: Any) -> str:
        return self.speakers[dialect].said(tool, **given)

    def resource(self, dialect: str, uri: str) -> str:
        reply = self.speakers[dialect].request(900, "resources/read", uri=uri)
        return json.dumps(reply, ensure_ascii=False)


@pytest.fixture(scope="module")
def everyone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everyone]:
    home = tmp_path_factory.mktemp("matrix")
    root = new_vault(home / "vault")
    (root / "Birds").mkdir()
    (root / "Birds/Seen.md").write_text(
        "---\nid: 7\nkey: mast\n---\nThe osprey roosts in the poplar.\n"
    )
    (root / "Entities").mkdir(exist_ok=True)
    (root / "Entities/Osprey.md").write_text("## Facts\n\n- fears:: gull (2026-01-02 → )\n")
    for path, text in HIDDEN.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    config = root / ".vaultmem/config.toml"
    kept = re.sub(r"(?m)^exclude = .*$", "", config.read_text())
    config.write_text(f'exclude = ["Away/**"]\n{kept}')
    with ExitStack() as stack:
        made = Everyone(home, stack)
        _write(made)
        yield made
        for speaker in made.speakers.values():
            assert speaker.end() == 0


def _write(by: Everyone) -> None:
    store = {"type": "semantic", "scope": "user"}
    by.tell("native", "store_memory", content="The osprey circles the lighthouse", **store)
    by.tell("native", "assert_fact", subject="Osprey", predicate="mobs", object="lapwing")
    by.tell("native", "log_observation", content="The osprey hovered over the weir")
    by.tell("evolution", "save_memory", fact="The osprey nests on the mast", tags=["bird"])
    by.speakers["memory-mcp"].raw(
        "commit_memory", scope="vault", key="pike", content="The osprey eats pike"
    )
    by.tell("surreal", "store_memory", content="The osprey winters in Gambia", **store)
    by.tell("trusty", "memory_remember", text="The osprey guards the reservoir", room="Backend")
    by.tell("trusty", "kg_assert", subject="Kingfisher", predicate="chases", object="heron")
    session = by.tell("trae", "trae_mem_start_session")["session_id"]
    by.speakers["trae"].raw("trae_mem_log", session_id=session, content="The osprey dived at dawn")


def _timeline(by: Everyone, question: str) -> str:
    """Around the first observation that a search finds."""
    found = re.search(r"\b0[0-9a-z]{25}\b", by.said("trae", "trae_mem_search", query=question))
    return by.said("trae", "trae_mem_timeline", observation_id=found[0]) if found else ""


def _answers(by: Everyone, question: str, subject: str) -> dict[tuple[str, str], str]:
    """What each reader says, in each of the ways that it has."""
    said, many = by.said, 50
    return {
        ("native", "search"): said("native", "recall_memories", query=question, detail="full"),
        ("native", "list"): said("native", "list_memories", limit=100),
        ("native", "facts"): said("native", "query_facts", subject=subject),
        ("native", "timeline"): said("native", "get_timeline"),
        ("evolution", "search"): said("evolution", "search_memory", query=question, limit=many),
        ("evolution", "list"): said("evolution", "recent_memories", limit=many),
        ("memory-mcp", "search"): said("memory-mcp", "search_memories", query=question),
        ("memory-mcp", "list"): by.resource("memory-mcp", "memory://vault?limit=100"),
        ("surreal", "search"): said("surreal", "recall_memories", query=question, limit=many),
        ("surreal", "facts"): said("surreal", "search_knowledge_graph", entity=subject),
        ("trusty", "search"): said("trusty", "memory_recall_deep", query=question, top_k=many),
        ("trusty", "list"): said("trusty", "memory_list", limit=many),
        ("trusty", "facts"): said("trusty", "kg_query", subject=subject),
        ("trae", "search"): said("trae", "trae_mem_search", query=question, limit=many),
        ("trae", "timeline"): _timeline(by, question),
    }


def _ways(told: dict[tuple[str, str], str], reader: str, words: str) -> str:
    return ", ".join(
        way for (who, way), text in told.items() if who == reader and words in _answer(text)
    )


def test_who_reads_what_was_written_by_whom(everyone: Everyone) -> None:
    rows = []
    for writer, (subject, words) in WRITTEN.items():
        told = _answers(everyone, f"{subject} {words}", subject)
        cells = [_ways(told, reader, words) or "–" for reader in READERS]
        assert all("search" in cell or "facts" in cell for cell in cells), (writer, cells)
        rows.append(f"| {writer} | {' | '.join(cells)} |")
    table = "\n".join([f"| written by | {' | '.join(READERS)} |", "|---" * 7 + "|", *rows])
    assert table in DOCS.read_text(encoding="utf-8"), f"docs/dialects.md should say:\n\n{table}"


def test_what_is_hidden_is_hidden_in_every_dialect(everyone: Everyone) -> None:
    for reason in ("by forgetting", "by its user", "by the settings", "as private"):
        told = _answers(everyone, f"osprey hidden {reason}", "Osprey")
        assert not [who for who, text in told.items() if f"hidden {reason}" in _answer(text)]
        for path in ("Diary/Forgotten.md", "Diary/Hers.md", "Away/Excluded.md"):
            read = everyone.resource("memory-mcp", f"memory://vault/{quote(path, safe='')}")
            assert "error" in read and "hidden" not in read
    told = _answers(everyone, "osprey hidden by its project", "Osprey")
    seen = {who for (who, way), text in told.items() if "by its project" in _answer(text)}
    assert seen == {"evolution", "memory-mcp", "surreal", "trae"}, "the two that are pinned do not"


def _answer(text: str) -> str:
    """Without the question that some answers repeat, and the marks on its words."""
    return re.sub(r'\\"query\\":\\".*?\\"', "", text).replace("**", "")


def test_no_dialect_deletes_what_a_person_wrote(everyone: Everyone) -> None:
    root = everyone.root
    note, entity = root / "Birds/Seen.md", root / "Entities/Osprey.md"
    journals = {file: file.read_bytes() for file in (root / "Sessions").rglob("*.md")}
    before = note.read_bytes(), entity.read_bytes()
    hits = everyone.tell("evolution", "search_memory", query="osprey", limit=50)["results"]
    keys = [hit["key"] for hit in hits]
    theirs = [key for key in keys if key.endswith(".md") or ".md#" in key or key.islower()]
    theirs.remove("pike")
    theirs = [key for key in theirs if not key.startswith("mem_")]
    assert {"Birds/Seen.md", "Entities/Osprey.md#1"} < set(theirs)
    for key in theirs:
        assert "error" in everyone.said("evolution", "forget", key=key), key
        for tool, given in (
            ("prune_memory", {"scope": "vault", "key": key}),
            ("commit_memory", {"scope": "vault", "key": key, "content": "mine now"}),
        ):
            assert "-32602" in everyone.said("memory-mcp", tool, **given), (tool, key)
    everyone.said("memory-mcp", "prune_memory", scope="vault", key="7")
    everyone.said("memory-mcp", "prune_memory", scope="vault", tags=["person"])
    listed = everyone.tell("trusty", "memory_list", limit=50)["drawers"]
    drawer = next(each["drawer_id"] for each in listed if "poplar" in each["content"])
    assert everyone.speakers["trusty"].fails("memory_forget", drawer_id=drawer)
    assert everyone.speakers["surreal"].fails("forget_memory", memory_id="memory:Birds/Seen.md")
    assert (note.read_bytes(), entity.read_bytes()) == before
    assert {file: file.read_bytes() for file in (root / "Sessions").rglob("*.md")} == journals


def test_keys_do_not_clash(everyone: Everyone) -> None:
    """A person's property `key`, the same key in a project, and what goes by its id."""
    store = {"type": "semantic", "scope": "project", "project": "atlas", "key": "mast"}
    everyone.tell("native", "store_memory", content="The mast of atlas is oak", **store)

    def committed(key: str, content: str) -> None:
        reply = everyone.speakers["memory-mcp"].raw(
            "commit_memory", scope="vault", key=key, content=content, tags=["kept"]
        )
        assert not reply["result"]["isError"], reply

    def entries() -> dict[str, str]:
        read = everyone.speakers["memory-mcp"].request(
            1, "resources/read", uri="memory://vault?limit=900"
        )
        found = json.loads(read["result"]["contents"][0]["text"])
        keys = [entry["key"] for entry in found]
        assert len(keys) == len(set(keys))
        return {entry["key"]: entry["content"] for entry in found}

    committed("mast", "The mast of mine is ash")
    known = entries()
    assert known["mast"] == "The mast of mine is ash"
    assert known["Birds/Seen.md"] == "The osprey roosts in the poplar."
    keyless = next(key for key, content in known.items() if content == "The mast of atlas is oak")
    committed(keyless, "The mast of atlas is elm")
    assert entries() == known | {keyless: "The mast of atlas is elm"}
    everyone.speakers["memory-mcp"].raw("prune_memory", scope="vault", key="mast")
    left = entries()
    assert left["mast"] == "The mast of atlas is elm", "the key is that of the other one now"
    assert len(left) == len(known) - 1


def test_a_setting_narrows_every_dialect(everyone: Everyone) -> None:
    home, narrow = everyone.root.parent, {"VAULTMEM_DIALECTS_FOLDERS": "Memories"}
    with Speaker(home, "evolution", MCP_USER_ID="me", **narrow) as speaker:
        said = speaker.said("search_memory", query="osprey", limit=50)
        assert "nests on the mast" in said and "dived at dawn" in said and "poplar" not in said
        assert "AGENTS.md" not in speaker.said("recent_memories", limit=50)
        assert speaker.end() == 0
    with Speaker(home, "surreal", "--user", "me", **narrow) as speaker:
        said = speaker.said("recall_memories", query="osprey", limit=50)
        assert "nests on the mast" in said and "dived at dawn" in said and "poplar" not in said
        assert speaker.fails("update_memory", memory_id="Birds/Seen.md", content="mine")
        assert "lapwing" in speaker.said("search_knowledge_graph", entity="Osprey")
        assert speaker.end() == 0
