"""Projects, the user's identity, versions and recent activity, as an agent asks for them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp.harness import call, client, new_vault, serving
from vaultmem.base.token_count import token_count
from vaultmem.vault import Vault

pytestmark = pytest.mark.anyio
IDENTITY = (
    "# Me\n\nAda Ravn, ceramist in Odense. Writes Danish; wants short answers. %%not this%%\n"
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_vault(tmp_path / "vault")
    (root / "Kiln.md").write_text("# Kiln\n\nThe second kiln, in the barn.\n\nIt is electric.\n")
    with Vault.open(root) as vault:
        for text in ("The kiln holds 90 plates.", "The kiln needs 400 volts."):
            vault.remember(text, scope="project", project="Kiln")
        vault.remember("The shop opens at ten.", scope="project", project="Shop")
        vault.make_project("Shop", "Where plates are sold.")
    return root


async def ask(root: Path, tool: str, pins: dict[str, Any] | None = None, **given: Any) -> Any:
    with serving(root, **(pins or {})) as served:
        async with client(served, "legacy") as connection:
            return await call(connection, tool, **given)


async def test_projects_are_listed_and_described(root: Path) -> None:
    told = (await ask(root, "get_memory_status"))["projects"]
    assert [(each["name"], each["memories"], each["description"]) for each in told] == [
        ("Kiln", 2, "The second kiln, in the barn. It is electric."),
        ("Shop", 1, "Where plates are sold."),
    ]
    bound = (await ask(root, "get_memory_status", {"project": "Shop"}))["projects"]
    assert [each["name"] for each in bound] == ["Shop"], "another project does not exist"


async def test_a_project_has_a_context_of_its_own(root: Path) -> None:
    kiln = (await ask(root, "get_memory_context", project="Kiln"))["context_block"]
    assert "400 volts" in kiln and "shop" not in kiln
    shop = (await ask(root, "get_memory_context", project="shop"))["context_block"]
    assert "opens at ten" in shop and "volts" not in shop
    assert (await ask(root, "get_memory_context", project="Nowhere"))["context_block"] == ""


async def test_the_identity_is_in_every_context_once(root: Path) -> None:
    (root / "Identity.md").write_text(IDENTITY + "More. " * 2_000)
    with serving(root) as served:
        async with client(served, "legacy") as connection:
            first = await call(connection, "get_memory_context", task_description="volts")
            block = first["context_block"]
            assert block.index("### About the user\n- Ada Ravn, ceramist") < block.index("volts")
            assert "not this" not in block and token_count(block) < 400, "and it is bounded"
            again = await call(connection, "get_memory_context", task_description="ten o'clock")
            assert "Ada Ravn" not in again["context_block"], "it is in the session already"
    with Vault.open(root) as vault:
        assert "Ada Ravn" in vault.reminder("", "another").context_block
        assert "Ada Ravn" in vault.context().context_block
        assert "Ada Ravn" in vault.context(sections=["preferences"]).context_block
    (root / "Identity.md").write_text("---\nuser: ada\n---\nAda Ravn, ceramist.\n")
    other = await ask(root, "get_memory_context", {"user": "bo"}, task_description="volts")
    assert "Ada" not in other["context_block"], "somebody else's is not"


async def test_versions_are_listed_and_read(root: Path) -> None:
    note = "Memories/Shop/The shop opens at ten.md"
    with serving(root) as served:
        async with client(served, "legacy") as connection:
            change = {"old_text": "ten", "new_text": "eleven"}
            await call(connection, "update_memory", memory_id=note, **change)
            listed = await call(connection, "get_memories", ids=[note], version="list")
            kept = [each for each in listed["versions"] if not each.get("current")]
            assert listed["number"] == 2 and len(kept) == 1 and kept[0]["action"] == "update"
            old = await call(connection, "get_memories", ids=[note], version=kept[0]["version"][:8])
            assert (
                old["content"] == "The shop opens at ten." and old["version"] == kept[0]["version"]
            )
            wrong = await connection.call_tool(
                "get_memories", {"ids": [note, note], "version": "list"}
            )
            assert wrong.is_error
    (root / "Open.md").write_text("Seen. <private>my key</private> %%mine%%\n")
    with serving(root) as served:
        async with client(served, "legacy") as connection:
            await call(connection, "forget_memory", memory_id="Open")
            listed = await call(connection, "get_memories", ids=["Open"], version="list")
            for each in listed["versions"]:
                then = await call(connection, "get_memories", ids=["Open"], version=each["version"])
                assert then["content"].startswith("Seen.") and "my key" not in str(then)


async def test_what_happened_is_told(root: Path) -> None:
    told = await ask(root, "list_memories", since="today", project="Shop")
    assert {each["what"] for each in told["activity"]} >= {"stored"}
    assert all(each["project"] == "Shop" for each in told["activity"])


async def test_projects_are_told_without_an_index(root: Path) -> None:
    index = root / ".vaultmem" / "index"
    shutil.rmtree(index)
    index.write_text("a file where the folder should be")
    told = await ask(root, "get_memory_status")
    assert [each["name"] for each in told["projects"]] == ["Kiln", "Shop"]
