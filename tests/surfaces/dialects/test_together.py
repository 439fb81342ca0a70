"""Dialects beside each other on one vault, and over HTTP: what one writes the others know, and
no session or user sees more than its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.http.site import LAPTOP, PHONE, Site, token_file
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until
from vaultmem.notes.note import parse
from vaultmem.vault import Vault

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOKENS = f"""
[tokens.laptop]
token = "{LAPTOP}"
user = "me"
[tokens.phone]
token = "{PHONE}"
user = "other"
"""


def speaking(home: Path, dialect: str, **env: str) -> Process:
    process = Process(home, "--vault", str(home / "vault"), "--dialect", dialect, env=env)
    process.start()
    return process


def text(result: dict[str, Any]) -> str:
    assert result["isError"] is False, result
    return str(result["content"][0]["text"])


def test_what_one_dialect_writes_the_others_read(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    with (
        speaking(tmp_path, "evolution", MCP_USER_ID="me") as evolution,
        speaking(tmp_path, "memory-mcp", VAULTMEM_USER="me") as keyed,
        speaking(tmp_path, "trae", VAULTMEM_USER="me") as trae,
    ):
        evolution.call(1, "save_memory", fact="The osprey nests on the mast", tags=["bird"])
        keyed.call(2, "commit_memory", scope="vault", key="k", content="The osprey eats pike")
        session = json.loads(text(trae.call(3, "trae_mem_start_session")))["session_id"]
        seen = "Saw the osprey dive"
        trae.call(4, "trae_mem_log", session_id=session, content=seen, type="note")

        memories = ("nests on the mast", "eats pike")
        for process, tool in ((evolution, "search_memory"), (keyed, "search_memories")):
            found = text(process.call(5, tool, query="osprey"))
            assert all(part in found for part in memories), found
        everything = text(trae.call(6, "trae_mem_inject", query="osprey"))
        assert all(part in everything for part in (*memories, seen))
        with Vault.open(root) as vault:
            recalled = vault.recall("osprey", strategy="keyword").memories
            titles = {memory.content for memory in recalled}
        assert {"The osprey nests on the mast", "The osprey eats pike", seen} <= titles

        # A session that is only named is not opened by that, nor cleared.
        keyed.call(10, "commit_memory", scope="session", key="v", content="The osprey is volatile")
        for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
            told = {"session_id": "default", "prompt": "where is the osprey now?"}
            answer = trae.call(11, "trae_mem_hook_event", event=event, payload=told)
            assert "volatile" not in json.dumps(answer)
        trae.call(12, "trae_mem_end_session", session_id="default")
        assert "volatile" not in json.dumps(trae.call(13, "trae_mem_search", query="osprey"))
        assert "volatile" in text(keyed.call(14, "search_memories", query="osprey"))

        key = re.search(r"mem_\d+_[0-9a-f]{6}", text(evolution.call(7, "recent_memories")))
        assert key is not None
        pruned = keyed.call(8, "prune_memory", scope="vault", key=key[0])
        assert pruned["structuredContent"] == {"pruned_count": 1}
        assert "mast" not in text(evolution.call(9, "search_memory", query="osprey"))
    for file in (root / "Memories").glob("*.md"):
        note = parse(file.read_bytes(), file.name)
        assert not note.problems and note.id and note.string("key")
        assert note.string("type") == "semantic" and note.string("user") == "me"


def test_the_new_era_speaks_dialects_too(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    flags = ("--vault", str(tmp_path / "vault"), "--dialect", "memory-mcp")
    with Process(tmp_path, *flags) as process:

        def call(id_: int, session: str, tool: str, **arguments: Any) -> dict[str, Any]:
            info = {"name": "new", "version": "1", "extra": {"sessionId": session}}
            meta = META | {"io.modelcontextprotocol/clientInfo": info}
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            result: dict[str, Any] = process.request(id_, "tools/call", **params)["result"]
            return result

        found = process.request(1, "server/discover", _meta=META)["result"]
        assert found["capabilities"]["tools"] is not None
        for i, session in enumerate(("left", "right")):
            given = {"scope": "session", "key": "k", "content": f"a rook on the {session}"}
            assert text(call(2 + i, session, "commit_memory", **given))
        rooks = call(5, "left", "search_memories", query="rook")["structuredContent"]["results"]
        assert [each["content"] for each in rooks] == ["a rook on the left"]
        assert process.end() == 0
    assert not list((tmp_path / "vault/.vaultmem/local/volatile").rglob("*.md"))


# --- over HTTP -------------------------------------------------------------------------------


@contextmanager
def site(home: Path, dialect: str, *flags: str, **env: str) -> Iterator[Site]:
    arguments = ("--vault", str(home / "vault"), "--dialect", dialect, "--http", "127.0.0.1:0")
    with Process(home, *arguments, *flags, env=env) as process:
        assert process.child.stderr is not None
        for line in process.child.stderr:
            if found := re.search(rb"Serving .* on (http://\S+)", line):
                break
        assert found
        yield Site(found[1].decode())


class Client:
    """One connection of the handshake era, without any library."""

    def __init__(self, site: Site, session: str = "", token: str = "") -> None:
        self._site, self._token, self._id = site, token, ""
        info = {"name": "claude-agent", "version": "1.0", "extra": {"sessionId": session}}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", **params)

    def _headers(self) -> dict[str, str]:
        named = {"mcp_session_id": self._id} if self._id else {}
        accepted = "application/json, text/event-stream"
        return {"content_type": "application/json", "accept": accepted, **named}

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        sent = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        got = self._site.ask("POST", "/mcp", self._token, sent, **self._headers())
        assert got.status == 200, got.body
        self._id = got.headers.get("mcp-session-id", self._id)
        body = got.body.decode()
        data = [line[6:] for line in body.splitlines() if line.startswith("data: {")]
        answer: dict[str, Any] = json.loads(data[-1] if data else body)
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def leave(self) -> None:
        got = self._site.ask("DELETE", "/mcp", self._token, **self._headers())
        assert got.status in (200, 204)


def test_connections_have_sessions_of_their_own(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    with site(tmp_path, "memory-mcp") as served:
        first, second = Client(served, "sess_abc123"), Client(served, "sess_other")
        first.call("commit_memory", scope="session", key="k", content="a wren in the hedge")
        second.call("commit_memory", scope="session", key="k", content="a wren in the barn")

        def wrens(client: Client) -> list[str]:
            results = client.call("search_memories", query="wren")["structuredContent"]["results"]
            return [each["content"] for each in results]

        assert wrens(first) == ["a wren in the hedge"] and wrens(second) == ["a wren in the barn"]
        uri = "memory://session/sess_abc123"
        shown = [c.ask("resources/read", uri=uri)["result"]["contents"][0] for c in (first, second)]
        assert "hedge" in shown[0]["text"] and shown[1]["text"] == "[]"
        first.leave()
        kept = tmp_path / "vault/.vaultmem/local/volatile/sess_abc123"
        until(
            lambda: not list(kept.glob("*.md"))
        )  # the server says goodbye before it has cleared up
        again = Client(served, "sess_abc123")
        assert wrens(again) == []
        assert wrens(second) == ["a wren in the barn"]

        # Two of one session: it ends with the last of them. One that changes has it no longer.
        beside = Client(served, "sess_before")
        beside.call("commit_memory", scope="session", key="k", content="a wren before")
        assert beside.call("set_session_id", session_id="sess_abc123")["isError"] is False
        again.call("commit_memory", scope="session", key="k", content="a wren on the roof")
        assert wrens(beside) == ["a wren on the roof"]
        beside.leave()
        until(lambda: not list(kept.parent.glob("sess_before/*.md")))
        assert wrens(again) == ["a wren on the roof"]
        again.leave()
        until(lambda: not list(kept.glob("*.md")))


@pytest.mark.parametrize("pinned", ["", "me"])
def test_a_tokens_user_is_the_user(tmp_path: Path, pinned: str) -> None:
    """Whatever the variable says, a token's own user comes first."""
    new_vault(tmp_path / "vault")
    file = str(token_file(tmp_path, TOKENS))
    env = {"MCP_USER_ID": pinned} if pinned else {}
    with site(tmp_path, "evolution", "--token-file", file, **env) as served:
        mine, theirs = Client(served, token=LAPTOP), Client(served, token=PHONE)
        saved = text(mine.call("save_memory", fact="keeps a kestrel", user_id="other"))
        assert json.loads(saved)["user_id"] == "me"
        found = json.loads(text(theirs.call("search_memory", query="kestrel", user_id="me")))
        assert found == {"ok": True, "user_id": "other", "results": []}
        assert len(json.loads(text(mine.call("search_memory", query="kestrel")))["results"]) == 1
