"""update_memory as an agent uses it on parts of notes, tasks and the daily note."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from tests.surfaces.mcp.harness import ERAS, call, client, new_vault, refused, serving
from vaultmem.surfaces.mcp.server import Options

pytestmark = pytest.mark.anyio
HOUSE = (
    "# House\n\n## Open\n\n* [ ] Call the landlord\n* [ ] Pay the rent\n\n## Done\r\n\nNothing.\n"
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_vault(tmp_path / "vault")
    (root / "House.md").write_bytes(HOUSE.encode())
    return root


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_keeps_the_tasks_of_a_note(era: str, root: Path) -> None:
    file = root / "House.md"
    with serving(root) as served:
        async with client(served, era) as c:
            done = await call(c, "update_memory", memory_id="House", task="Send the contract")
            assert done["task"] == "* [ ] Send the contract"
            more = HOUSE.replace("the rent\n", "the rent\n* [ ] Send the contract\n")
            assert file.read_bytes() == more.encode()
            done = await call(
                c, "update_memory", memory_id="House", task="landlord", done=True,
                section="Open", expected_version=done["version"],
            )  # fmt: skip
            assert done["task"] == "* [x] Call the landlord"
            checked = more.replace("[ ] Call", "[x] Call")
            assert file.read_bytes() == checked.encode()
            done = await call(c, "update_memory", memory_id="House", task="landlord", done=True)
            assert done["updated_fields"] == []
            told = await refused(c, "update_memory", memory_id="House", task="the", done=True)
            assert told["error"] == "invalid_input" and "Pay the rent (line 6)" in told["message"]
            told = await refused(c, "update_memory", memory_id="House", task="sleep", done=True)
            assert told["error"] == "not_found" and "[ ] Pay the rent" in told["message"]
            told = await refused(c, "update_memory", memory_id="House", done=True)
            assert "give its text in task" in told["message"]
            assert file.read_bytes() == checked.encode()
            await call(c, "restore_memory", memory_id="House")
            assert file.read_bytes() == more.encode()


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_writes_into_the_day(era: str, root: Path) -> None:
    day = dt.datetime.now().astimezone().date().isoformat()
    with serving(root) as served:
        async with client(served, era) as c:
            (missing,) = (await call(c, "get_memories", ids=["@today"]))["missing"]
            assert missing == "@today" and not (root / "Daily").exists()
            told = await refused(
                c, "update_memory", memory_id="@today", append="x", section="Diary"
            )
            assert "It has: Remembered (line 1)" in told["message"]
            assert not (root / "Daily").exists(), "nothing is made where the change is refused"
            done = await call(
                c, "update_memory", memory_id="@today", append="Called Sam.", section="Notes"
            )
            assert done["created"] is True and done["path"] == f"Daily/{day}.md"
            done = await call(c, "update_memory", memory_id="@today", task="Write to Sam")
            text = (root / done["path"]).read_text()
            assert text.endswith("## Notes\n\nCalled Sam.\n\n- [ ] Write to Sam\n")
            (read,) = (await call(c, "get_memories", ids=["@today"]))["memories"]
            assert read["path"] == done["path"] and "Called Sam." in read["content"]
            found = await call(c, "recall_memories", query="Called Sam")
            assert found["memories"][0]["path"] == done["path"], "it is found at once"
            stale = await refused(
                c, "update_memory", memory_id="@today", append="x", expected_version="0" * 20
            )
            assert stale["error"] == "conflict" and "Called Sam." in stale["current"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_is_bound_writes_only_into_what_it_sees(era: str, root: Path) -> None:
    (root / "Zeus.md").write_text("---\nproject: Zeus\n---\n- [ ] theirs\n")
    with serving(root, project="Atlas") as served:
        async with client(served, era) as c:
            for given in ({"task": "x"}, {"task": "theirs", "done": True}, {"append": "x"}):
                told = await refused(c, "update_memory", memory_id="Zeus", **given)
                assert told["error"] == "not_found" and "theirs" not in json.dumps(told)
            done = await call(c, "update_memory", memory_id="@today", append="From Atlas.")
            assert any("shared_note" in warning for warning in done["warnings"])
    assert (root / "Zeus.md").read_text().endswith("- [ ] theirs\n")
    before = (root / done["path"]).read_bytes()
    with serving(root, Options(read_only=True), read_only=True) as served:
        async with client(served, era) as c:
            assert "update_memory" not in {tool.name for tool in (await c.list_tools()).tools}
    assert (root / done["path"]).read_bytes() == before
