"""`Reconnection`, `Error Handling and Graceful Degradation` and the integration test that the
SurrealDB memory plugin's design document asks for: disconnect, queue, reconnect, flush."""

from __future__ import annotations

import itertools
import json
import os
import socket
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.conftest import clean_environment
from tests.surfaces.dialects.test_surreal import Surreal
from tests.surfaces.dialects.test_surreal_modes import Configured, configured
from tests.surfaces.mcp.harness import new_vault
from tests.waiting import until
from vaultmem.errors import StorageFull
from vaultmem.surfaces.dialects.surreal.connection import retry_delays
from vaultmem.surfaces.dialects.surreal.write_queue import WriteQueue
from vaultmem.vault import Vault

TOKEN = "a-token-that-nobody-guesses"


class RemoteVault:
    """Another vaultmem server over HTTP, which can be killed and started."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home, self._arguments = home, arguments
        home.mkdir()
        new_vault(home / "vault")
        (home / "token").write_text(TOKEN, encoding="utf-8")
        (home / "token").chmod(0o600)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.child: Any = None

    def start(self) -> None:
        command = [sys.executable, "-m", "vaultmem", "serve", "--vault", str(self.home / "vault")]
        command += ["--http", f"127.0.0.1:{self.port}", "--token-file", str(self.home / "token")]
        env = clean_environment(self.home)
        with (self.home / "log").open("ab") as log:
            what = [*command, *self._arguments]
            self.child = nursery.Popen(what, env=env, stderr=log, stdout=log)
        until(self._is_up)

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()

    def contents(self) -> list[str]:
        with Vault.open(self.home / "vault") as vault:
            listed = vault.list(limit=1000).memories
            return sorted(vault.get([each.id]).memories[0].content for each in listed)


@contextmanager
def remote_vault(home: Path, *arguments: str) -> Iterator[RemoteVault]:
    remote = RemoteVault(home, *arguments)
    remote.start()
    try:
        yield remote
    finally:
        remote.kill()


def remote_settings(home: Path, remote: RemoteVault, token: str = TOKEN) -> dict[str, str]:
    text = f"---\ndeployment_mode: remote\n---\n\n```yaml\nremote_pass: {token}\n```\n"
    url = f"ws://127.0.0.1:{remote.port}"
    return configured(home, text) | {"MEMORY_REMOTE_URL": url, "MEMORY_SESSION_ID": "abc123"}


def test_disconnect_queue_reconnect_flush(tmp_path: Path) -> None:
    """`Integration Tests`: degraded mode, with servers that are killed on both sides."""
    home = tmp_path / "here"
    home.mkdir()
    with remote_vault(tmp_path / "there", "--dialect", "surreal") as remote:
        env = remote_settings(home, remote)
        with Configured(home, **env) as server:
            known = server.store("The heron stands in the reeds.")
            server.store("Only now: the build is red.", scope="session", type="episodic")
            status = server.tell("get_memory_status")
            assert status["connection"]["status"] == "connected"
            assert status["connection"]["mode"] == "remote"
            assert status["current_session"]["session_id"] == "session:abc123"
            assert status["current_session"]["memories_this_session"] == 2
            assert "session:abc123" in server.read("memory://session/summary")[1]
            assert "type must be one of" in server.wrong(
                "store_memory", content="x", type="odd", scope="user"
            )
            missing = server.refuse("forget_memory", memory_id="memory:01K00000000000000000000000")
            assert missing["error"] == "not_found"
            server.tell("recall_memories", query="heron")

            remote.kill()
            queued = [store_while_away(server, f"Cormorant number {n}.") for n in range(1, 5)]
            assert [each["queued_writes"] for each in queued] == [1, 2, 3, 4]
            first = queued[0]["memory_id"]
            changed = server.tell("update_memory", memory_id=first, importance=0.9)
            assert changed["status"] == "queued" and changed["degraded"] is True
            assert changed["memory_id"] == first
            tagged = server.tell("tag_memory", memory_id=known, add=["late"])
            assert tagged["queued_writes"] == 6
            at_hand = server.tell("recall_memories", query="heron")
            assert at_hand["degraded"] is True and at_hand["message"]
            assert [each["content"] for each in at_hand["memories"]] == [
                "The heron stands in the reeds."
            ]
            assert server.tell("get_memory_status")["connection"]["status"] == "degraded"
            graph = server.tell("search_knowledge_graph", entity="X")
            assert graph["entities"] == [] and graph["degraded"] is True
            context = server.tell("get_memory_context")
            assert "heron" in context["context_block"] and context["degraded"] is True
            server.child.kill()  # nothing of the queue is in its memory alone

        with Configured(home, **env) as server:
            waiting = server.tell("recall_memories", query="cormorant", limit=2)
            assert len(waiting["memories"]) == 2 and waiting["degraded"] is True
            assert store_while_away(server, "The last one.")["queued_writes"] == 7
            remote.start()
            until(lambda: is_reached(server), 120, 0.2)
            found = server.tell("recall_memories", query="cormorant")
            assert found["memories"][0]["importance"] == 0.9, "its name in the queue still works"
            assert server.tell("update_memory", memory_id=first, importance=0.3)["version"] == 3
            server.tell("promote_memory", memory_id=store_red(server), target_scope="project")
            assert server.end() == 0
            assert "7 queued writes were carried out" in server.errors()
        assert not list(home.rglob("surreal-queue/*/*.json"))
    assert remote.contents() == [
        *(f"Cormorant number {n}." for n in range(1, 5)),
        "Only now: the build is red.",
        "The heron stands in the reeds.",
        "The last one.",
        "The tests are red.",
    ]


def store_while_away(server: Surreal, text: str) -> Any:
    told = server.tell("store_memory", content=text, type="semantic", scope="user")
    assert told["status"] == "queued" and told["degraded"] is True and told["message"]
    assert told["embedding_generated"] is False and told["memory_id"].startswith("memory:")
    return told


def store_red(server: Surreal) -> str:
    return server.store("The tests are red.", scope="session", type="episodic")


def is_reached(server: Surreal) -> bool:
    status = server.tell("get_memory_status")
    return status["connection"]["status"] == "connected" and "queued_writes" not in status


def posted(remote: RemoteVault, key: str, tool: str, token: str = TOKEN, **arguments: Any) -> Any:
    """A call over HTTP, as the queue sends it."""
    wire = "io.modelcontextprotocol/"
    meta = {
        f"{wire}protocolVersion": "2026-07-28",
        f"{wire}clientCapabilities": {},
        f"{wire}clientInfo": {"name": "t", "version": "1", "extra": {"sessionId": "s1"}},
        "vaultmem/key": key,
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    url = f"http://127.0.0.1:{remote.port}/mcp"
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=60) as reply:
        return json.loads(json.load(reply)["result"]["content"][0]["text"])


def test_what_one_was_shown_is_not_at_hand_for_another(tmp_path: Path) -> None:
    """Security Considerations, while the vault is away: each token is somebody else."""
    ann, bob = "a" * 20, "b" * 20
    remote = RemoteVault(tmp_path / "there", "--dialect", "surreal")
    names = f'[tokens.ann]\ntoken="{ann}"\nuser="ann"\n[tokens.bob]\ntoken="{bob}"\nuser="bob"\n'
    (remote.home / "token").write_text(names, encoding="utf-8")

    def herons(token: str) -> list[str]:
        found = posted(remote, "", "recall_memories", token, query="heron")
        return sorted(memory["content"] for memory in found["memories"])

    def store(content: str) -> Any:
        given = {"content": content, "type": "semantic", "scope": "user"}
        return posted(remote, "", "store_memory", ann, **given)

    remote.start()
    try:
        store("Ann's first heron.")
        assert (herons(ann), herons(bob)) == (["Ann's first heron."], [])
        (remote.home / "vault").rename(remote.home / "away")
        assert store("Ann's second heron.")["status"] == "queued"
        hers = ["Ann's first heron.", "Ann's second heron."]
        assert (herons(ann), herons(bob)) == (hers, [])
        (remote.home / "away").rename(remote.home / "vault")
        until(lambda: "queued_writes" not in posted(remote, "", "get_memory_status", ann), 120, 0.2)
        assert (herons(ann), herons(bob)) == (hers, [])
    finally:
        remote.kill()


def test_a_write_of_which_the_answer_was_lost_is_done_once(tmp_path: Path) -> None:
    """The same key twice, over HTTP: as the queue sends it when the first answer never came."""
    with remote_vault(tmp_path / "there", "--dialect", "surreal") as remote:

        def post(key: str, tool: str, **arguments: Any) -> Any:
            return posted(remote, key, tool, **arguments)

        given = {"content": "Once.", "type": "episodic", "scope": "session"}
        first = post("key-1", "store_memory", **given)
        assert post("key-1", "store_memory", **given) == first
        promoted = post("key-2", "promote_memory", memory_id="key-1", target_scope="project")
        assert promoted["memory_id"] == first["memory_id"], "known by the key that made it"
        again = post("key-2", "promote_memory", memory_id="key-1", target_scope="project")
        assert again == promoted, "a second time it would be refused"
        changed = post("key-3", "update_memory", memory_id=first["memory_id"], importance=0.7)
        assert post("key-3", "update_memory", memory_id="key-1", importance=0.7) == changed
    assert remote.contents() == ["Once."]


@pytest.mark.parametrize("wrong", ["token", "dialect"])
def test_a_server_that_does_not_serve_us_is_said(tmp_path: Path, wrong: str) -> None:
    home = tmp_path / "here"
    home.mkdir()
    how = ("--dialect", "surreal") if wrong == "token" else ()
    with remote_vault(tmp_path / "there", *how) as remote:
        token = "another-token-altogether" if wrong == "token" else TOKEN
        with Configured(home, **remote_settings(home, remote, token)) as server:
            told = store_while_away(server, "A kiwi.")["message"]
            said = "does not know the token" if wrong == "token" else "--dialect surreal --http"
            assert said in told and TOKEN not in told
            assert server.end() == 0


def test_a_vault_that_is_away_gets_its_writes_when_it_is_back(tmp_path: Path) -> None:
    """`Connection failure`: the vault's folder is not there, as when its drive is unmounted."""
    new_vault(tmp_path / "vault")
    with Surreal(tmp_path, MEMORY_SESSION_ID="abc") as server:
        server.store("The heron stands in the reeds.")
        (tmp_path / "vault").rename(tmp_path / "away")
        queued = store_while_away(server, "Stored while away.")
        server.tell("tag_memory", memory_id=queued["memory_id"], add=["late"])
        refused = server.tell("forget_memory", memory_id="memory:01K00000000000000000000000")
        assert refused["status"] == "queued", "whether it is there cannot be known yet"
        server.tell("tag_memory", memory_id=queued["memory_id"], add=["<private>a name</private>x"])
        assert "empty" in server.wrong("store_memory", content=" ", type="semantic", scope="user")
        waiting = "".join(file.read_text() for file in tmp_path.rglob("surreal-queue/*/*.json"))
        assert "late" in waiting and "a name" not in waiting, "what is private is on no disk"
        found = server.tell("recall_memories", query="stored while away")
        assert found["degraded"] is True
        assert found["memories"][0]["content"] == "Stored while away."
        (tmp_path / "away").rename(tmp_path / "vault")
        until(lambda: is_reached(server), 120, 0.2)
        assert server.tell("get_memory_status")["refused_writes"] == 1
        memories = server.tell("recall_memories", query="stored while away")["memories"]
        assert memories[0]["content"] == "Stored while away." and "late" in memories[0]["tags"]
        assert server.end() == 0
        assert "A queued write was refused and is kept" in server.errors()
    (aside,) = tmp_path.rglob("refused/*.json")
    assert "There is no memory" in json.loads(aside.read_bytes())["refused"]


def test_a_query_over_its_time_returns_what_there_is(tmp_path: Path) -> None:
    """`Query timeout`: partial results if available, else empty."""
    new_vault(tmp_path / "vault")
    with Surreal(tmp_path, MEMORY_QUERY_TIMEOUT="0.000001") as server:
        server.store("The heron stands in the reeds.")
        late = server.tell("recall_memories", query="heron")
        assert late["warning"] == "query_timeout"
        assert "query_timeout" in {each["code"] for each in late["warnings"]}
        assert [each["content"] for each in late["memories"]] == ["The heron stands in the reeds."]
        assert server.tell("recall_memories", query="walrus")["memories"] == []
        assert server.end() == 0


def test_attempts_to_reconnect_are_made_when_the_document_says() -> None:
    """`Reconnection`: immediately, after 1, 2, 4 and 8 s, then every 30 s."""
    assert list(itertools.islice(retry_delays(), 8)) == [0, 1, 2, 4, 8, 30, 30, 30]


def test_the_queue_is_bounded_private_and_in_order(tmp_path: Path) -> None:
    queue = WriteQueue(tmp_path / "queue", 3, 1_000)
    assert [queue.append({"n": n}) for n in range(3)] == [1, 2, 3]
    with pytest.raises(StorageFull, match="3 entries"):
        queue.append({"n": 3})
    assert os.stat(queue.folder).st_mode & 0o077 == 0
    waiting = list(queue.entries())
    assert [entry["n"] for _, entry in waiting] == [0, 1, 2]
    queue.remove(waiting[0][0])
    queue.set_aside(*waiting[1])
    assert [entry["n"] for _, entry in queue.entries()] == [2] and queue.count_set_aside() == 1
    assert queue.append({"n": 4}) == 2
    with pytest.raises(StorageFull, match="1,000 bytes"):
        queue.append({"n": "x" * 1_000})
    held = queue.try_to_work()
    assert held is not None and queue.try_to_work() is None
    held.release()
