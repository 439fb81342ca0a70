"""Bad input for every tool: a sentence that helps, and nothing written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import snapshot
from tests.surfaces.mcp.harness import ERAS, call, client, new_vault, refused, serving
from vaultmem.errors import InvalidInput
from vaultmem.surfaces.arguments import checked_arguments
from vaultmem.surfaces.mcp import tools
from vaultmem.surfaces.mcp.schemas import Tool
from vaultmem.surfaces.mcp.server import McpServer

pytestmark = pytest.mark.anyio
STORE = {"content": "x", "type": "semantic", "scope": "user"}
WRONG: dict[str, Any] = {"string": 7, "integer": "ten", "number": "much", "boolean": "yes"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_vault(tmp_path_factory.mktemp("input") / "vault")


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[McpServer]:
    with serving(root) as made:
        yield made


def notes(root: Path) -> dict[str, tuple[bytes, int]]:
    found = snapshot(root).items()
    return {path: seen for path, seen in found if not path.startswith(".vaultmem")}


def sample(schema: dict[str, Any]) -> Any:
    """A value that fits."""
    if "oneOf" in schema:
        return sample(schema["oneOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    made: dict[str, Any] = {"string": "x", "boolean": True, "array": [], "object": {}}
    return made.get(schema["type"], schema.get("minimum", 0))


def unfit(schema: dict[str, Any]) -> Any:
    """A value that does not."""
    if "oneOf" in schema or "enum" in schema:
        return "no such word"
    if schema.get("type") == "array":
        return "not a list"
    return WRONG.get(schema["type"], "not an object")


def faults() -> Iterator[tuple[str, dict[str, Any], str]]:
    """For every tool: each argument missing, of a wrong kind, out of range; one too many."""
    for tool in tools.TABLE:
        fit = {name: sample(tool.takes[name]) for name in tool.needs}
        yield tool.name, fit | {"nonsense": 1}, "nonsense"
        for name in tool.needs:
            yield tool.name, {key: value for key, value in fit.items() if key != name}, name
        for name, schema in tool.takes.items():
            yield tool.name, fit | {name: unfit(schema)}, name
            if "maximum" in schema:
                yield tool.name, fit | {name: schema["maximum"] + 1}, name
                yield tool.name, fit | {name: schema["minimum"] - 1}, name
            if schema.get("type") == "array" and schema["items"]["type"] == "string":
                yield tool.name, fit | {name: [5]}, name


@pytest.mark.parametrize("era", ERAS)
async def test_every_fault_is_named_and_nothing_is_written(
    era: str, root: Path, served: McpServer
) -> None:
    before = notes(root)
    count = 0
    async with client(served, era) as c:
        for tool, arguments, culprit in faults():
            told = await refused(c, tool, **arguments)
            assert told["error"] == "invalid_input", (tool, arguments, told)
            assert culprit in told["message"], (tool, arguments, told)
            assert len(told["message"]) < 800
            count += 1
    assert count > 150
    assert notes(root) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("store_memory", {"content": "x", "type": "semantic"}, "needs scope: one of session"),
        ("store_memory", STORE | {"tag": ["a"]}, "no argument 'tag'; did you mean tags?"),
        ("store_memory", STORE | {"type": "fact"}, "type must be one of episodic, semantic"),
        ("store_memory", STORE | {"importance": 7}, "importance must be a number between 0 and 1"),
        ("store_memory", STORE | {"source": {"place": "x"}}, "source has no 'place'"),
        (
            "store_memory",
            STORE | {"related_entities": [{"name": "A", "type": "t"}]},
            "related_entities[0] needs relationship: text",
        ),
        ("recall_memories", {"query": "x", "limit": 51}, "limit must be a whole number between 1"),
        ("recall_memories", {"query": "x", "limit": 2.5}, "limit must be a whole number"),
        ("recall_memories", {"query": "x", "scope": ["user", "all"]}, "scope must be one of"),
        ("recall_memories", {"query": "x", "tags": [1]}, "tags[0] must be text, not 1"),
        ("recall_memories", {"query": "x", "time_range": {"after": 1}}, "time_range.after"),
        ("get_memory_context", {"sections": ["all"]}, "sections[0] must be one of preferences"),
        ("get_memories", {"ids": "one"}, "ids must be a list, each text, not 'one'"),
    ],
)
async def test_the_sentence(
    served: McpServer, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    async with client(served, ERAS[0]) as c:
        told = await refused(c, tool, **arguments)
    assert sentence in told["message"]


async def test_an_empty_optional_argument_is_none_at_all(served: McpServer) -> None:
    async with client(served, ERAS[0]) as c:
        await call(c, "list_memories", scope=None, limit=2.0)


HUGE = "x" * 10_000_000
BELL = "Ring \x07 the bell \x00."


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("text", [HUGE, BELL, "", " \n "], ids=["10 MB", "controls", "no", "blank"])
async def test_text_that_is_no_memory_is_refused(
    era: str, root: Path, served: McpServer, text: str
) -> None:
    before = notes(root)
    async with client(served, era) as c:
        for tool, more in (
            ("store_memory", {"type": "semantic", "scope": "user"}),
            ("log_observation", {}),
        ):
            told = await refused(c, tool, content=text, **more)
            assert told["error"] == "invalid_input" and len(told["message"]) < 500
    assert notes(root) == before


@pytest.mark.parametrize(
    "reference",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\Windows\\x.md",
        ".obsidian/app.json",
        "\x00",
        "a" * 9999,
    ],
)
async def test_references_that_lead_nowhere_get_a_clean_answer(
    served: McpServer, reference: str
) -> None:
    async with client(served, ERAS[0]) as c:
        read = await c.call_tool("get_memories", {"ids": [reference]})
        assert read.structured_content is not None
        told = await refused(c, "forget_memory", memory_id=reference)
    assert told["error"] in ("not_found", "outside_vault", "invalid_input")
    assert not read.structured_content.get("memories")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(tool=st.sampled_from(tools.TABLE), data=st.data())
def test_any_json_is_either_taken_or_refused_with_a_sentence(
    tool: Tool, data: st.DataObject
) -> None:
    keys = st.sampled_from([*tool.takes, "other"])
    arguments = data.draw(st.dictionaries(keys, JSON_VALUES, max_size=5))
    try:
        taken = checked_arguments(tool.name, tool.schema, arguments)
    except InvalidInput as error:
        assert str(error).endswith((".", "?"))
    else:
        assert set(tool.needs) <= set(taken) <= set(tool.takes)
