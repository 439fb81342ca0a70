"""Resources, templates, prompts and completions, in both protocol eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from tests.surfaces.mcp.harness import ERAS, SESSION, call, client, new_vault, serving
from vaultmem.surfaces.mcp import resources
from vaultmem.surfaces.mcp.server import McpServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_vault(tmp_path_factory.mktemp("resources") / "vault")


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[McpServer]:
    (root / "Memories" / "A human note.md").write_text("Tea at four. #tea\n", encoding="utf-8")
    copied = root / "Memories" / "A human note (Conflicted copy laptop 202601051200).md"
    copied.write_text("Tea at five.\n", encoding="utf-8")
    with serving(root) as made:
        vault = made.vault()
        vault.remember("Prefers tea to coffee.", tags=["drinks"], importance=0.9, key="tea")
        vault.remember("Atlas uses gRPC.", scope="project", project="Atlas", tags=["grpc"])
        vault.assert_fact("AuthService", "depends_on", "[[Keychain]]")
        vault.log("Chose RS256", type="decision")
        yield made


async def read(connection: Client, uri: str) -> tuple[str, str]:
    (content,) = (await connection.read_resource(uri)).contents
    return str(content.mime_type), content.text  # type: ignore[union-attr]


async def read_json(connection: Client, uri: str) -> Any:
    kind, text = await read(connection, uri)
    assert kind == "application/json"
    return json.loads(text)


async def test_the_fixed_resources(served: McpServer, era: str) -> None:
    async with client(served, era) as c:
        listed = {each.uri: each for each in (await c.list_resources()).resources}
        for path in resources.FIXED:
            kind, text = await read(c, f"memory://{path}")
            assert text and listed[f"memory://{path}"].mime_type == kind
        status = await read_json(c, "memory://status")
        assert status["counts"]["total"] >= 3 and "settings" not in status
        assert "**Session:**" in (await read(c, "memory://session/summary"))[1]
        graph = (await read(c, "memory://project/knowledge-graph"))[1]
        assert "**AuthService**" in graph and "depends_on → Keychain" in graph
        assert "Prefers tea to coffee." in (await read(c, "memory://user/preferences"))[1]
        recent = await read_json(c, "memory://recent")
        assert "Memories/A human note.md" in [memory["path"] for memory in recent["memories"]]
        conflicts = (await read_json(c, "memory://conflicts"))["conflicts"]
        assert [each["problem"] for each in conflicts] == ["conflict-copy"]
        session = await read_json(c, f"memory://session/{SESSION}")
        assert [each["content"] for each in session["log"]] == ["Chose RS256"]


async def test_notes_by_id_key_path_and_page(served: McpServer, era: str) -> None:
    async with client(served, era) as c:
        page = await read_json(c, "memory://vault?offset=0&limit=2")
        assert len(page["memories"]) == 2 and page["next_offset"] == 2
        whole = await read_json(c, "memory://vault")
        tea = next(each for each in whole["memories"] if "tea to coffee" in each["title"])
        for name in (tea["id"], "tea", tea["path"].replace(" ", "%20"), tea["path"]):
            text = await read(c, f"memory://vault/{name}")
            assert text == ("text/markdown", "Prefers tea to coffee.")


@pytest.mark.parametrize(
    "uri",
    [
        "memory://other",
        "memory://vault/",
        "memory://vault/no such note",
        "memory://vault/../../etc/passwd",
        "memory://vault/%2e%2e/%2e%2e/etc/passwd",
        "memory://vault?limit=0",
        "memory://vault?offset=-1",
        "memory://vault?limit=ten",
        "memory://session/none",
        "file:///etc/passwd",
        "",
    ],
)
async def test_what_is_not_there_is_invalid(served: McpServer, era: str, uri: str) -> None:
    async with client(served, era) as c:
        with pytest.raises(MCPError) as caught:
            await c.read_resource(uri)
    assert caught.value.error.code == -32602
    assert "Traceback" not in caught.value.error.message


async def test_the_list_comes_in_pages(tmp_path: Path, era: str) -> None:
    root = new_vault(tmp_path / "v")
    for number in range(250):
        (root / "Memories" / f"Note {number:03}.md").write_text(f"Number {number}.\n")
    with serving(root) as served:
        async with client(served, era) as c:
            found, cursor, pages = [], None, 0
            while True:
                page = await c.list_resources(cursor=cursor)
                found += [each.uri for each in page.resources]
                pages += 1
                cursor = page.next_cursor
                if cursor is None:
                    break
            with pytest.raises(MCPError) as caught:
                await c.list_resources(cursor="made up")
    assert caught.value.error.code == -32602
    assert pages == 3 and len(found) == len(set(found)) == 250 + len(resources.FIXED)
    assert found[0] == "memory://status" and "memory://vault/Memories/Note%20000.md" in found


async def test_templates(served: McpServer, era: str) -> None:
    async with client(served, era) as c:
        listed = (await c.list_resource_templates()).resource_templates
    assert [each.uri_template for each in listed] == [
        "memory://vault{?offset,limit}",
        "memory://recent{?by,since,project,limit}",
        "memory://vault/{+key}",
        "memory://session/{session_id}",
    ]


async def test_prompts(served: McpServer, era: str) -> None:
    async with client(served, era) as c:
        listed = [each.name for each in (await c.list_prompts()).prompts]
        assert listed == ["recall-before-answering", "session-wrap-up", "review-memories"]
        asked = await c.get_prompt("recall-before-answering", {"question": "What do I drink?"})
        text = asked.messages[0].content.text  # type: ignore[union-attr]
        assert "What do I drink?" in text and "recall_memories" in text
        for name in listed[1:]:
            assert (await c.get_prompt(name)).messages
        for name, arguments in (("none", {}), ("recall-before-answering", {})):
            with pytest.raises(MCPError) as caught:
                await c.get_prompt(name, arguments)
            assert caught.value.error.code == -32602


async def test_completions(served: McpServer, era: str) -> None:
    note = ResourceTemplateReference(type="ref/resource", uri="memory://vault/{+key}")
    session = ResourceTemplateReference(type="ref/resource", uri="memory://session/{session_id}")
    review = PromptReference(type="ref/prompt", name="review-memories")
    async with client(served, era) as c:

        async def values(ref: Any, name: str, begun: str) -> list[str]:
            argument = {"name": name, "value": begun}
            return list((await c.complete(ref, argument)).completion.values)

        assert "Memories/A human note.md" in await values(note, "key", "Memories/a h")
        tea = await call(c, "get_memories", ids=["tea"])
        id_ = tea["memories"][0]["id"]
        assert await values(note, "key", id_[:20]) == [id_]
        assert await values(session, "session_id", SESSION[:5]) == [SESSION]
        assert await values(review, "tag", "dr") == ["drinks"]
        assert await values(review, "project", "at") == ["Atlas"]
        assert await values(review, "entity", "auth") == ["AuthService"]
        assert await values(review, "nothing", "x") == []
