"""Clients hear of changes: their own, another process's, and a person's in the files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.surfaces.mcp.harness import (
    ERAS,
    call,
    client,
    is_followed_by_another,
    new_vault,
    serving,
    window_of,
)
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.mcp.server import McpServer, Options
from vaultmem.vault import Vault

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed"),
]
PATIENCE = 20
NOTE = "memory://vault/Memories/Tea.md"
RECENT = "memory://recent"
OTHER = "memory://vault/Memories/Other.md"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = new_vault(tmp_path / "vault")
    (root / "Memories" / "Tea.md").write_text("Tea at four.\n")
    (root / "Memories" / "Other.md").write_text("Another note.\n")
    return root


class Heard:
    """What a client was told, as ("list", "") and ("updated", uri)."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []

    async def legacy(self, message: Any) -> None:
        if message.method == "notifications/resources/list_changed":
            self.all.append(("list", ""))
        elif message.method == "notifications/resources/updated":
            self.all.append(("updated", message.params.uri))

    async def modern(self, subscription: Any) -> None:
        async for event in subscription:
            self.all.append(("updated", event.uri) if hasattr(event, "uri") else ("list", ""))

    async def wait_for(self, *wanted: tuple[str, str]) -> None:
        with anyio.fail_after(PATIENCE):
            while not set(wanted) <= set(self.all):
                await anyio.sleep(0.02)


@asynccontextmanager
async def listening(served: McpServer, era: str, *uris: str) -> AsyncIterator[tuple[Any, Heard]]:
    heard = Heard()
    if era == "legacy":
        async with client(served, era, message_handler=heard.legacy) as c:
            assert c.server_capabilities.resources.subscribe
            assert c.server_capabilities.resources.list_changed
            for uri in uris:
                await c.subscribe_resource(uri)
            yield c, heard
        return
    async with (
        client(served, era) as c,
        c.listen(resource_subscriptions=list(uris), resources_list_changed=True) as subscription,
        anyio.create_task_group() as group,
    ):
        group.start_soon(heard.modern, subscription)
        yield c, heard
        group.cancel_scope.cancel()


async def settled(served: McpServer) -> None:
    """Wait until the server follows the files, and what it saw at first was told."""
    if window := window_of(served):
        with anyio.fail_after(PATIENCE):
            while not is_followed_by_another(window):
                await anyio.sleep(0.02)
        await anyio.sleep(2.0)  # what was there is known to it, and what comes is watched
        return
    served.start()
    with anyio.fail_after(PATIENCE):
        while served.life.follower is None or served.life.follower.watcher is None:
            await anyio.sleep(0.02)
    await anyio.sleep(0.5)


async def test_an_agents_write(vault: Path, era: str) -> None:
    with serving(vault) as served:
        await anyio.to_thread.run_sync(lambda: served.vault().index_now())
        async with listening(served, era, NOTE, OTHER, RECENT) as (c, heard):
            await call(
                c, "update_memory", memory_id="Memories/Tea.md", old_text="four", new_text="five"
            )
            await heard.wait_for(("list", ""), ("updated", NOTE), ("updated", RECENT))
            await anyio.sleep(0.3)
    assert ("updated", OTHER) not in heard.all


async def test_a_persons_edit(vault: Path, era: str) -> None:
    with serving(vault) as served:
        async with listening(served, era, NOTE, OTHER) as (_, heard):
            await settled(served)
            heard.all.clear()
            (vault / "Memories" / "Tea.md").write_text("Tea at six.\n")
            await heard.wait_for(("list", ""), ("updated", NOTE))
            (vault / "Memories" / "Other.md").unlink()
            await heard.wait_for(("updated", OTHER))


async def test_a_note_that_comes_later(vault: Path, era: str) -> None:
    uri = "memory://vault/Memories/Later.md"
    with serving(vault) as served:
        async with listening(served, era, uri) as (_, heard):
            await settled(served)
            (vault / "Memories" / "Later.md").write_text("Now it is here.\n")
            await heard.wait_for(("updated", uri))


async def test_another_process_writes(vault: Path, era: str) -> None:
    """It indexes what it writes itself, so the watcher finds nothing new to report."""
    with serving(vault) as served:
        async with listening(served, era, NOTE) as (_, heard):
            await settled(served)
            heard.all.clear()

            def write() -> None:
                with Vault.open(vault, {"typing.quiet_seconds": 0.0}) as other:
                    other.update("Memories/Tea.md", old_text="four", new_text="seven")

            await anyio.to_thread.run_sync(write)
            await heard.wait_for(("list", ""), ("updated", NOTE))


async def test_a_pull_of_many_notes_is_one_burst(vault: Path, era: str) -> None:
    with serving(vault) as served:
        async with listening(served, era, NOTE) as (_, heard):
            await settled(served)
            heard.all.clear()
            for _ in range(5_000):
                served.life.vault_changed([NOTE])
            (vault / "Memories" / "Tea.md").write_text("Tea at eight.\n")
            await heard.wait_for(("updated", NOTE))
            await anyio.sleep(0.5)
    assert heard.all.count(("list", "")) <= 3
    assert heard.all.count(("updated", NOTE)) == 1


async def test_after_unsubscribing_nothing_is_heard(vault: Path) -> None:
    with serving(vault) as served:
        await anyio.to_thread.run_sync(lambda: served.vault().index_now())
        async with listening(served, "legacy", NOTE) as (c, heard):
            await c.unsubscribe_resource(NOTE)
            await call(c, "update_memory", memory_id="Memories/Tea.md", append="Or at nine.")
            await heard.wait_for(("list", ""))
            await anyio.sleep(0.3)
        assert ("updated", NOTE) not in heard.all
        assert not served.notifier._listeners, "a session that ended is still remembered"


async def test_only_known_resources_can_be_subscribed_to(vault: Path) -> None:
    from mcp import MCPError

    with serving(vault) as served:
        async with client(served, "legacy") as c:
            with pytest.raises(MCPError) as caught:
                await c.subscribe_resource("memory://nothing")
    assert caught.value.error.code == -32602


async def test_a_pinned_caller_hears_nothing_of_what_it_may_not_see(vault: Path, era: str) -> None:
    """Two callers of one server, as over HTTP: the same URI, but one may not see the note."""
    who = {"ann": Caller(user="ann"), "bob": Caller(user="bob")}
    now = "ann"
    flags = {"typing.quiet_seconds": 0.0}
    served = McpServer(lambda: Vault.open(vault, flags), Options(), lambda request: who[now])
    try:
        async with listening(served, era) as (c, _):
            hers = await call(c, "store_memory", content="Mine.", type="semantic", scope="user")
            uri = f"memory://vault/{hers['memory_id']}"
            now = "bob"
            async with listening(served, era, uri, RECENT) as (_, bob):
                now = "ann"
                async with listening(served, era, uri) as (c, ann):
                    await call(c, "update_memory", memory_id=hers["memory_id"], content="Still.")
                    await ann.wait_for(("updated", uri))
                    await bob.wait_for(("list", ""))
                    await anyio.sleep(0.5)
        assert ("updated", uri) not in bob.all
    finally:
        served.stop()
