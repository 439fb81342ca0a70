"""Answers that an agent can afford: whatever the vault and the question, in either form."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vaultmem import Vault
from vaultmem.base.token_count import most_tokens
from vaultmem.operations.caller import Caller
from vaultmem.operations.results import NearMiss, Recalled
from vaultmem.parts import Freshness
from vaultmem.surfaces import answers
from vaultmem.surfaces.mcp import tools
from vaultmem.surfaces.mcp.schemas import Tool

FLAGS = {"typing.quiet_seconds": 0.0, "model": "off"}
MOST = 1_200
GRAPH = 1_000

WORDS = st.sampled_from(
    [
        "heron",
        "weir",
        "token",
        "the",
        "and",
        "`code`",
        "Überweisung",
        "记忆系统",
        "🦆",
        "a_b",
        "\\",
        '"',
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=30).map(lambda words: " ".join(words) + ". ")
LINES = st.lists(
    st.one_of(SENTENCE, st.sampled_from(["\n\n", "\n# h\n", "- x\n", "> "])), max_size=30
)
NAME = st.text("abc äé汉-", min_size=1, max_size=50).map(str.strip).filter(bool)
TAGS = st.lists(st.text("abcdefgh/", min_size=1, max_size=90).filter(str.isalpha), max_size=30)


@st.composite
def notes(draw: st.DrawFn) -> dict[str, str]:
    """Paths and texts: some with everything that a memory can have, at its longest."""
    made: dict[str, str] = {}
    for number in range(draw(st.integers(1, 12))):
        folders = draw(st.lists(NAME, max_size=4))
        path = "/".join([*folders, f"{draw(NAME)} {number}.md"])
        head = ""
        if draw(st.booleans()):
            fields = {
                "id": f"01KE6Q8Z4R9M2N4P6R7S8T9V{number:02d}",
                "type": draw(st.sampled_from(["semantic", "procedural", "entity"])),
                "project": draw(NAME),
                "source": "x" * draw(st.integers(0, 500)),
                "tags": draw(TAGS),
            }
            lines = (f"{name}: {json.dumps(value)}" for name, value in fields.items())
            head = "---\n" + "\n".join(lines) + "\n---\n"
        made[path] = head + "heron " + "".join(draw(LINES)) * draw(st.sampled_from([1, 5]))
    return made


@contextmanager
def vault_of(texts: dict[str, str]) -> Iterator[Vault]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".vaultmem").mkdir()
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8", newline="")
        with Vault.open(root, FLAGS, caller=Caller()) as vault:
            vault.index_now()
            yield vault


def answered(vault: Vault, name: str, **given: Any) -> tuple[str, dict[str, Any]]:
    tool: Tool = tools.BY_NAME[name]
    result = answers.native_answer(tool.run(vault, given), given)
    jsonschema.validate(result["structuredContent"], tool.listing()["outputSchema"])
    return result["content"][0]["text"], result["structuredContent"]


def cost(structured: dict[str, Any]) -> int:
    return most_tokens(answers.compact_json(structured))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(notes(), st.lists(WORDS, min_size=1, max_size=8).map(" ".join))
def test_a_default_answer_has_a_bound_in_either_form(texts: dict[str, str], asked: str) -> None:
    with vault_of(texts) as vault:
        for question in (asked, "heron"):
            text, structured = answered(vault, "recall_memories", query=question)
            assert cost(structured) <= MOST and most_tokens(text) <= MOST
            for hit in structured["memories"]:
                assert {"path", "content", "whole", "relevance_score"} <= set(hit)
                named = vault.get([hit.get("id", hit["path"])]).memories
                assert named and named[0].path == hit["path"]
                assert f"`{hit['path']}`" in text
        text, structured = answered(vault, "search_knowledge_graph")
        assert cost(structured) <= GRAPH + 200  # one long name may be all there is


@pytest.fixture(scope="module")
def herons() -> Iterator[Vault]:
    """A vault as large as they come for a default answer."""
    texts = {
        f"Birds/Heron {n}.md": f"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9{n:03d}\ntags: [bird, b{n}]\n---\n"
        + f"Heron {n} stands at [[Weir {n % 40}]]. It rests near [[Birds]]. " * 30
        for n in range(300)
    }
    texts |= {f"Weir {n}.md": f"A weir. See [[Weir {n + 1}]].\n" for n in range(40)}
    texts |= {f"Daily/2026-10-{n:02d}.md": "Saw [[Birds]] at [[Weir 1]].\n" for n in range(1, 29)}
    with vault_of(texts) as vault:
        yield vault


def test_what_is_left_out_is_counted(herons: Vault) -> None:
    text, found = answered(herons, "recall_memories", query="heron stands")
    shown = len(found["memories"])
    assert 3 <= shown < 10 and found["more"] == found["total_matched"] - shown
    assert f"{found['more']} more matched" in text
    assert cost(found) <= 600 and most_tokens(text) <= 600
    _, larger = answered(herons, "recall_memories", query="heron stands", max_tokens=3_000)
    assert len(larger["memories"]) == 10 and 1_000 < cost(larger) <= 3_000
    _, brief = answered(herons, "recall_memories", query="heron stands", detail="brief")
    assert cost(brief) <= 250
    _, many = answered(herons, "recall_memories", query="heron stands", limit=50)
    assert len(many["memories"]) > shown
    _, full = answered(herons, "recall_memories", query="heron stands", detail="full")
    assert {"type", "scope", "importance", "access_count"} <= set(full["memories"][0])


def test_the_text_alone_is_enough_to_go_on_with(herons: Vault) -> None:
    text, found = answered(herons, "recall_memories", query="heron 7")
    first = found["memories"][0]
    line = text.splitlines()[0]
    for name in ("title", "path", "id"):
        assert first[name] in line
    assert first["created_at"][:10] in line and str(first["relevance_score"]) in line
    assert f"> {first['content'].splitlines()[0]}" in text


def test_an_explained_answer_says_what_it_costs(herons: Vault) -> None:
    text, found = answered(herons, "recall_memories", query="heron 7", explain=True)
    trace = found["memories"][0]["trace"]
    assert trace["lanes"][0]["name"] == "keyword" and trace["tokens"] > 20
    assert found["trace"]["tokens"] <= 600 and "not forgotten" in found["trace"]["filters"]
    assert "keyword: place 1" in text


def test_the_graph_is_small_and_days_are_no_entities(herons: Vault) -> None:
    _, overview = answered(herons, "search_knowledge_graph")
    assert cost(overview) <= GRAPH
    names = [entity["name"] for entity in overview["entities"]]
    assert "Birds" in names and not [name for name in names if name.startswith("2026")]
    assert overview["more"]["entities"] > 0
    _, birds = answered(herons, "search_knowledge_graph", entity="Birds")
    assert cost(birds) <= GRAPH and birds["entities"][0]["name"] == "Birds"
    assert birds["entities"][0]["memory_count"] >= 300 and birds["memories"]
    _, more = answered(herons, "search_knowledge_graph", entity="Birds", max_tokens=4_000)
    assert len(more["memories"]) > len(birds["memories"])
    _, day = answered(herons, "search_knowledge_graph", entity="2026-10-01")
    assert day["entities"][0]["name"] == "2026-10-01"


@pytest.mark.parametrize(
    ("tool", "most"),
    [
        ("list_memories", 1_600),
        ("list_tags", 1_000),
        ("get_memory_status", 400),
        ("query_facts", 50),
    ],
)
def test_other_answers_are_lean(herons: Vault, tool: str, most: int) -> None:
    text, found = answered(herons, tool)
    assert cost(found) <= most and json.loads(text) == found


def test_a_list_goes_on_where_it_ended(herons: Vault) -> None:
    listed = {"order": "title", "folder": "Birds"}
    _, page = answered(herons, "list_memories", **listed)
    shown = len(page["memories"])
    assert page["next_offset"] == shown < 20
    _, after = answered(herons, "list_memories", **listed, offset=shown)
    _, both = answered(herons, "list_memories", **listed, limit=20)
    paths = [each["path"] for each in (*page["memories"], *after["memories"])]
    assert paths[:20] == [each["path"] for each in both["memories"]]


def test_a_long_timeline_is_cut_and_each_entry_can_be_read(herons: Vault) -> None:
    herons.start_session(title="Birds")
    ids = [
        herons.log(f"Heron {n} came and stood there for a while. " * 20).observation_id
        for n in range(12)
    ]
    _, found = answered(herons, "get_timeline", observation_id=ids[5])
    assert cost(found) <= 2_000 and len(found["observations"]) > 10
    entry = next(each for each in found["observations"] if each["id"] == ids[5])
    assert entry["whole"] is False
    _, read = answered(herons, "get_memories", ids=[ids[5]])
    assert read["memories"][0]["content"].startswith(entry["content"].removesuffix(" …"))


def test_what_is_merely_nearest_is_no_hit() -> None:
    near = (NearMiss("Birds/Heron.md", "Heron", 0.1234), NearMiss("x" * 400, "Long", 0.1))
    nothing = Recalled(
        *((), 0, "hybrid", 1.0, Freshness(7, 0, 0)),
        message="Nothing known about this.",
        nearest=near,
    )
    result = answers.native_answer(nothing, {})
    assert result["structuredContent"] == {
        "memories": [],
        "total_matched": 0,
        "strategy_used": "hybrid",
        "message": "Nothing known about this.",
        "nearest": [
            {
                "id": "Birds/Heron.md",
                "path": "Birds/Heron.md",
                "title": "Heron",
                "relevance_score": 0.12,
            }
        ],
    }
    assert result["content"][0]["text"].splitlines() == [
        "Nothing known about this.",
        "Nearest, but no answer:",
        "- Heron · `Birds/Heron.md` · 0.12",
    ]
