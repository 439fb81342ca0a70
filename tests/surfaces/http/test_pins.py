"""Several tokens on one vault: each sees and does what its own pins allow, and no more."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.surfaces.http.site import GUEST, LAPTOP, PHONE, Site, path_of, serving, token_file
from tests.waiting import until
from vaultmem.errors import InvalidInput

ERAS = ("legacy", "2026-07-28")
OWNER = "owner-token-0123456789"
TOKENS = f"""
[tokens.owner]
token = "{OWNER}"
[tokens.laptop]
token = "{LAPTOP}"
user = "me"
project = "Atlas"
[tokens.phone]
token = "{PHONE}"
user = "other"
project = "Zeus"
[tokens.guest]
token = "{GUEST}"
user = "me"
read_only = true
"""


def note(root: Path, title: str, **properties: str) -> None:
    lines = "".join(f"{name}: {value}\n" for name, value in properties.items())
    file = root / "Memories" / f"{title}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"---\n{lines}---\n{title} keeps a kestrel.\n", encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("vault")
    (root / ".vaultmem").mkdir()
    note(root, "Shared")
    note(root, "Mine", user="me", scope="user")
    note(root, "Theirs", user="other", scope="user")
    note(root, "Atlas plan", project="Atlas", scope="project")
    note(root, "Zeus plan", project="Zeus", scope="project")
    with serving(root, token_file(root, TOKENS)) as running:
        yield running


SEEN = {
    OWNER: {"Shared", "Mine", "Theirs", "Atlas plan", "Zeus plan"},
    LAPTOP: {"Shared", "Mine", "Atlas plan"},
    PHONE: {"Shared", "Theirs", "Zeus plan"},
    GUEST: {"Shared", "Mine", "Atlas plan", "Zeus plan"},
}
ALL = SEEN[OWNER]


# --- REST ---------------------------------------------------------------------------------


@pytest.mark.parametrize("token", SEEN)
def test_each_token_finds_its_own(site: Site, token: str) -> None:
    found = site.get("/search?q=kestrel&strategy=keyword&limit=50", token).json
    assert {memory["title"] for memory in found["memories"]} == SEEN[token]
    assert found["total_matched"] == len(SEEN[token])


@pytest.mark.parametrize("token", SEEN)
def test_each_token_reads_its_own(site: Site, token: str) -> None:
    for title in ALL:
        answer = site.get(path_of(title), token)
        assert answer.status == (200 if title in SEEN[token] else 404), title
        by_path = site.get(path_of(f"Memories/{title}.md"), token)
        assert by_path.status == answer.status
        if answer.status == 404:
            assert "kestrel" not in answer.body.decode() + by_path.body.decode()


@pytest.mark.parametrize("project", ["Zeus", "zeus", "ZEUS"])
def test_asking_for_another_project_widens_nothing(site: Site, project: str) -> None:
    found = site.get(f"/search?q=kestrel&strategy=keyword&project={project}", LAPTOP).json
    assert "Zeus plan" not in {memory["title"] for memory in found["memories"]}
    refused = site.get(f"/inject?q=kestrel&project={project}", LAPTOP)
    assert refused.status == 400
    assert "Atlas" in refused.json["message"]


@pytest.mark.parametrize("token", SEEN)
def test_the_context_block_keeps_to_the_pins(site: Site, token: str) -> None:
    block = site.get("/inject?q=kestrel&max_tokens=4000", token).json["context_block"]
    for title in ALL - SEEN[token]:
        assert title not in block


def test_a_project_in_the_question_leaves_out_others(site: Site) -> None:
    block = site.get("/inject?q=kestrel&project=Atlas&max_tokens=4000", OWNER).json["context_block"]
    assert "Atlas plan" in block
    assert "Zeus plan" not in block


def test_status_counts_what_the_token_sees(site: Site) -> None:
    def counted(token: str) -> int:
        total: int = site.get("/status", token).json["counts"]["total"]
        return total

    until(lambda: counted(OWNER) == len(ALL))  # the index is filled while the server answers
    for token, seen in SEEN.items():
        assert counted(token) == len(seen)


# --- MCP ----------------------------------------------------------------------------------


def speak(site: Site, token: str, era: str, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{site.url}/mcp", http_client=http), mode=era) as client,
        ):
            return await talk(client)

    return anyio.run(main)


def call(site: Site, token: str, era: str, tool: str, **arguments: Any) -> Any:
    return speak(site, token, era, lambda client: client.call_tool(tool, arguments))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("token", SEEN)
def test_each_token_recalls_its_own(site: Site, token: str, era: str) -> None:
    asked = {"query": "kestrel", "strategy": "keyword", "limit": 50}
    found = call(site, token, era, "recall_memories", **asked).structured_content
    assert {memory["title"] for memory in found["memories"]} == SEEN[token]
    got = call(site, token, era, "get_memories", ids=sorted(ALL)).structured_content
    assert {memory["title"] for memory in got["memories"]} == SEEN[token]
    assert set(got["missing"]) == ALL - SEEN[token]


@pytest.mark.parametrize("era", ERAS)
def test_a_token_writes_under_its_own_name_and_pins(site: Site, era: str) -> None:
    stored = call(
        site, LAPTOP, era, "store_memory", content=f"A heron of {era}.", type="semantic",
        scope="project",
    ).structured_content  # fmt: skip
    path = path_of(stored["memory_id"])
    memory = site.get(path, LAPTOP).json
    assert (memory["user"], memory["project"], memory["source"]) == ("me", "Atlas", "laptop")
    assert site.get(path, PHONE).status == 404
    assert site.get(path, OWNER).status == 200
    call(site, OWNER, era, "forget_memory", memory_id=stored["memory_id"])


@pytest.mark.parametrize("era", ERAS)
def test_a_token_cannot_change_what_it_does_not_see(site: Site, era: str) -> None:
    for tool, more in (("update_memory", {"content": "Gone."}), ("forget_memory", {})):
        refused = call(site, LAPTOP, era, tool, memory_id="Theirs", **more)
        assert refused.is_error
        assert refused.structured_content["error"] == "not_found"
    assert site.get(path_of("Theirs"), PHONE).json["content"] == "Theirs keeps a kestrel."


@pytest.mark.parametrize("era", ERAS)
def test_what_lasts_for_a_session_is_of_one_token_alone(tmp_path: Path, era: str) -> None:
    (tmp_path / "vault" / ".vaultmem").mkdir(parents=True)
    text = f'[tokens.a]\ntoken = "{LAPTOP}"\nproject = "A"\n[tokens.b]\ntoken = "{PHONE}"\n'
    file = token_file(tmp_path, text)
    swift = {"content": "A passing swift.", "type": "episodic", "scope": "session"}
    with serving(tmp_path / "vault", file, session="run") as site:
        stored = call(site, LAPTOP, era, "store_memory", **swift).structured_content
        assert site.get(path_of(stored["memory_id"]), LAPTOP).status == 200
        assert site.get(path_of(stored["memory_id"]), PHONE).status == 404
        assert site.get("/search?q=swift&strategy=keyword", PHONE).json["memories"] == []


@pytest.mark.parametrize("era", ERAS)
def test_a_reading_token_has_no_writing_tools_and_cannot_use_them(site: Site, era: str) -> None:
    async def talk(client: Client) -> Any:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        stored = {"content": "A raven.", "type": "semantic", "scope": "user"}
        return listed, await client.call_tool("store_memory", stored)

    listed, refused = speak(site, GUEST, era, talk)
    assert "recall_memories" in listed
    assert not listed & {"store_memory", "update_memory", "forget_memory", "prune_memories"}
    assert refused.is_error
    assert refused.structured_content["error"] == "read_only"
    listed, stored = speak(site, LAPTOP, era, talk)
    assert "store_memory" in listed
    assert not stored.is_error


def test_a_session_belongs_to_the_token_that_opened_it(site: Site) -> None:
    """The older protocol keeps sessions: another token must not find one by its id."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content_Type": "application/json",
    }
    opened = site.ask("POST", "/mcp", LAPTOP, json.dumps(hello), **headers)
    assert opened.status == 200
    named = {**headers, "Mcp_Session_Id": opened.headers["mcp-session-id"]}
    ask = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    for stranger in (OWNER, PHONE, GUEST):
        assert site.ask("POST", "/mcp", stranger, ask, **named).status == 404
        assert site.ask("GET", "/mcp", stranger, **named).status == 404
        assert site.ask("DELETE", "/mcp", stranger, **named).status == 404
    assert site.ask("POST", "/mcp", LAPTOP, ask, **named).status == 200


@pytest.mark.parametrize("era", ERAS)
def test_mcp_without_a_known_token_is_refused(site: Site, era: str) -> None:
    with pytest.raises(ExceptionGroup) as refused:
        speak(site, "no-such-token-at-all", era, lambda client: client.list_tools())
    assert refused.group_contains(MCPError, match="error response")


# --- the server's own pins ----------------------------------------------------------------


def test_flags_narrow_every_token(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / ".vaultmem").mkdir(parents=True)
    for user in ("me", "other"):
        note(root, f"Of {user}", user=user)
    file = token_file(tmp_path, f'[tokens.a]\ntoken = "{LAPTOP}"\n')
    with serving(root, file, user="me", read_only=True) as site:
        found = site.get("/search?q=kestrel&strategy=keyword", LAPTOP).json["memories"]
        assert {memory["title"] for memory in found} == {"Of me"}
        stored = {"content": "A raven.", "type": "semantic", "scope": "user"}
        assert call(site, LAPTOP, "legacy", "store_memory", **stored).is_error


def test_a_token_for_someone_else_than_the_flags_is_refused_at_start(tmp_path: Path) -> None:
    file = token_file(tmp_path, f'[tokens.a]\ntoken = "{LAPTOP}"\nuser = "me"\n')
    with pytest.raises(InvalidInput, match="--user"), serving(tmp_path, file, user="other"):
        pass
