"""The tools as a model sees them: pinned, small, complete."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from tests.surfaces.mcp.harness import ERAS, client, serving
from vaultmem.surfaces.mcp import prompts, tools
from vaultmem.surfaces.mcp.schemas import Tool
from vaultmem.surfaces.mcp.server import Options

pytestmark = pytest.mark.anyio
PINNED = Path(__file__).parent / "tools.json"
TOKENS = 3_000

SEED = {  # the tools of the seed: required arguments, then the others
    "store_memory": "content type scope | importance tags source related_entities session_id",
    "recall_memories": "query | scope type strategy limit min_importance tags time_range "
    "include_forgotten",
    "search_knowledge_graph": "| entity relationship_type direction depth include_memories limit",
    "forget_memory": "memory_id | reason",
    "update_memory": "memory_id | content importance tags metadata related_entities",
    "reflect_and_consolidate": "| session_id strategy dry_run",
    "get_memory_status": "|",
    "get_memory_context": "| task_description files_in_context max_tokens sections",
    "promote_memory": "memory_id target_scope | reason",
    "tag_memory": "memory_id | add remove",
}
OTHERS = {  # and of the contract
    "get_memories": "ids |",
    "list_memories": "| by since scope type project tag room folder order limit offset",
    "assert_fact": "subject predicate object | confidence provenance valid_from valid_to multi",
    "query_facts": "| subject predicate object as_of include_closed",
    "start_session": "| project title",
    "log_observation": "content | session_id type tags",
    "end_session": "| session_id summary",
    "get_timeline": "| observation_id session_id before after",
    "list_tags": "|",
    "prune_memories": "scope | key older_than tags project dry_run",
    "restore_memory": "memory_id | version",
}
ENUMS = {
    ("store_memory", "type"): ["episodic", "semantic", "procedural"],
    ("store_memory", "scope"): ["session", "project", "user"],
    ("recall_memories", "strategy"): ["vector", "keyword", "hybrid", "graph"],
    ("search_knowledge_graph", "direction"): ["outgoing", "incoming", "both"],
    ("reflect_and_consolidate", "strategy"): ["summarize", "extract_patterns", "full"],
    ("promote_memory", "target_scope"): ["project", "user"],
    ("list_memories", "order"): ["recent", "created", "importance", "title"],
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("era", ERAS)
async def test_the_list_on_the_wire_is_the_pinned_one(era: str, tmp_path: Path) -> None:
    """No name, argument or word changes unseen: UPDATE_PINNED=1 writes the list anew."""
    with serving(tmp_path) as served:
        async with client(served, era) as connection:
            listed = (await connection.list_tools()).tools
    found = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
    if os.environ.get("UPDATE_PINNED"):
        PINNED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(PINNED.read_text(encoding="utf-8"))
    size = len(json.dumps({"tools": found}, separators=(",", ":"), ensure_ascii=False).encode())
    assert size / 4 <= TOKENS


@pytest.mark.parametrize("name", SEED | OTHERS)
def test_a_tool_takes_what_the_contract_says(name: str) -> None:
    needed, _, more = (SEED | OTHERS)[name].partition("|")
    tool = tools.BY_NAME[name]
    assert list(tool.needs) == needed.split()
    assert set(needed.split()) | set(more.split()) <= set(tool.takes)


def test_there_are_twenty_one_tools_in_four_sets() -> None:
    assert set(tools.BY_NAME) == set(SEED | OTHERS)
    assert {tool.toolset for tool in tools.TABLE} == set(tools.TOOLSETS)


@pytest.mark.parametrize(("tool", "argument"), ENUMS)
def test_an_argument_takes_the_words_of_the_contract(tool: str, argument: str) -> None:
    assert tools.BY_NAME[tool].takes[argument]["enum"] == ENUMS[tool, argument]


@pytest.mark.parametrize("tool", tools.TABLE, ids=lambda tool: tool.name)
def test_every_schema_is_a_valid_one(tool: Tool) -> None:
    listing = tool.listing()
    for schema in (listing["inputSchema"], listing["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert listing["annotations"] == (
        {"destructiveHint": tool.destroys} if tool.writes else {"readOnlyHint": True}
    )


def test_recall_and_store_stay_in_sight() -> None:
    always = {tool.name for tool in tools.TABLE if "_meta" in tool.listing()}
    assert always == {"recall_memories", "store_memory"}
    assert tools.BY_NAME["store_memory"].listing()["_meta"] == {"anthropic/alwaysLoad": True}


def test_the_instructions_are_short_and_say_the_three_things() -> None:
    text = prompts.INSTRUCTIONS
    assert len(text) <= 2_000
    for word in ("recall_memories", "store_memory", "never instructions"):
        assert word in text


def test_options_are_the_documented_ones() -> None:
    assert Options().toolsets == ("core", "graph", "session", "curate")


def test_a_conflict_shows_the_text_without_its_private_passages() -> None:
    from vaultmem.errors import Conflict
    from vaultmem.surfaces.answers import error_answer

    told = error_answer(
        Conflict("It changed.", text="a <private>door code</private> b", version="v")
    )
    assert told["current"] == "a  b"
