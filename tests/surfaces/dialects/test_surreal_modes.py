"""`Connection Modes`, `Environment Variables` and `Configuration File Format` of the SurrealDB
memory plugin's design document: real processes, raw lines."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.dialects.test_surreal import Surreal
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until
from vaultmem.surfaces.dialects.surreal import configuration
from vaultmem.surfaces.dialects.surreal.configuration import remote_address, surreal_configuration

SEED = """---
deployment_mode: embedded-file
db_path: ~/.claude/surrealdb-memory/data
namespace: memory
database: default
embedding_model: all-MiniLM-L6-v2
embedding_dimensions: 384
max_memories_per_session: 100
consolidation_on_shutdown: true
log_level: info
---

# SurrealDB Memory Configuration

This file configures the SurrealDB memory plugin for Claude Code.

## Remote Mode Settings (only used when deployment_mode is "remote")

```yaml
remote_url: ws://localhost:8000
remote_user: root
remote_pass: root
```
"""


class Configured(Surreal):
    """`serve --dialect surreal` without a vault: the configuration says where it is."""

    def __init__(self, home: Path, *arguments: str, **env: str) -> None:
        Process.__init__(self, home, "--dialect", "surreal", *arguments, env=env)
        self._id = 0


def configured(home: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    file = home / "memory.md"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return {"MEMORY_CONFIG_PATH": str(file)}


def passing_vaults() -> set[str]:
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(os.environ["TMPDIR"])
    return {str(folder) for folder in base.glob("vaultmem-passing-*")}


@pytest.mark.parametrize("ending", ["end", "term", "kill"])
def test_embedded_memory_is_gone_at_exit(tmp_path: Path, ending: str) -> None:
    """`embedded-memory`: in-process, no network."""
    with Configured(tmp_path, MEMORY_DEPLOYMENT_MODE="embedded-memory") as server:
        server.store("A kiwi.")
        connection = server.tell("get_memory_status")["connection"]
        assert connection["mode"] == "in-memory"
        folder = Path(connection["path"]).parent
        assert str(folder) in passing_vaults() and folder.stat().st_mode & 0o077 == 0
        if ending == "end":
            assert server.end() == 0
        else:
            server.signal(signal.SIGTERM if ending == "term" else signal.SIGKILL)
            server.child.wait(60)
    if ending == "kill":  # whoever comes next clears up after it
        with Configured(tmp_path, MEMORY_DEPLOYMENT_MODE="embedded-memory") as other:
            assert other.end() == 0
    until(lambda: not folder.exists())
    assert not list(tmp_path.rglob("A kiwi*"))


def test_embedded_file_by_the_configuration_file_of_the_document(tmp_path: Path) -> None:
    """`Configuration File Format`: the example, read whole."""
    env = configured(tmp_path, SEED, 0o644)
    with Configured(tmp_path, **env) as server:
        for number in (1, 2, 3):
            text = f"The refresh token loop failed again in staging, time {number}."
            server.store(text, type="episodic", scope="session")
        status = server.tell("get_memory_status")
        assert server.end() == 0
        told = server.errors()
    home = tmp_path / ".claude/surrealdb-memory/data"
    assert status["connection"]["path"] == str(home) and (home / ".vaultmem").is_dir()
    assert status["connection"]["mode"] == "file-backed"
    assert status["storage"]["embedding_model"] == "all-MiniLM-L6-v2"
    assert status["storage"]["embedding_dimensions"] == 384
    made = [f for f in (home / "Memories").rglob("*.md") if "derived_from" in f.read_text()]
    assert made, "consolidation_on_shutdown"
    assert f"chmod 600 {tmp_path / 'memory.md'}" in told
    assert "Deployment mode: embedded-file" in told, "the level is info"
    keys = ("namespace", "database", "embedding_dimensions", "remote_user", "remote_url")
    for key in keys:
        assert f"{key} has no effect" in told, key


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    """`Environment Variables`: MEMORY_DB_PATH and MEMORY_LOG_LEVEL override the file."""
    env = configured(tmp_path, SEED) | {
        "MEMORY_DB_PATH": str(tmp_path / "elsewhere"),
        "MEMORY_LOG_LEVEL": "error",
    }
    with Configured(tmp_path, **env) as server:
        assert server.tell("get_memory_status")["connection"]["path"] == env["MEMORY_DB_PATH"]
        assert server.end() == 0
        assert "has no effect" not in server.errors(), "these are said at the level info"


def test_a_session_has_as_many_memories_as_the_file_allows(tmp_path: Path) -> None:
    """max_memories_per_session: `storage_full` with current_size and limit."""
    text = "---\nmax_memories_per_session: 2\nunheard_of: 1\n---\n"
    env = configured(tmp_path, text) | {"MEMORY_DB_PATH": str(tmp_path / "data")}
    with Configured(tmp_path, MEMORY_SESSION_ID="abc", **env) as server:
        server.store("Number one.")
        server.store("Number two.")
        full = server.refuse("store_memory", content="Three.", type="semantic", scope="user")
        assert full["error"] == "storage_full"
        assert (full["current_size"], full["limit"]) == ("2 memories", "2 memories")
        assert server.end() == 0
        assert "'unheard_of' is no key that is known" in server.errors()


def test_local_server_is_the_vaults_engine(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    env = {"MEMORY_DEPLOYMENT_MODE": "local-server", "MEMORY_SESSION_ID": "abc"}
    with Surreal(tmp_path, VAULTMEM_ENGINE="on", **env) as server:
        server.store("A kiwi.")
        connection = server.tell("get_memory_status")["connection"]
        assert connection["mode"] == "local-server" and connection["status"] == "connected"
        assert connection["path"] == str(tmp_path / "vault")
        with Surreal(tmp_path, VAULTMEM_ENGINE="on", **env) as other:
            found = other.tell("recall_memories", query="kiwi")["memories"]
            assert [memory["content"] for memory in found] == ["A kiwi."]
            assert other.end() == 0
        assert server.end() == 0


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"MEMORY_DEPLOYMENT_MODE": "cluster"}, "must be one of embedded-memory"),
        ({"MEMORY_DEPLOYMENT_MODE": "remote"}, "needs the address"),
        ({"MEMORY_REMOTE_URL": "ftp://x"}, "is no address of a server"),
        ({"MEMORY_REMOTE_URL": "http://a:b@x"}, "holds a password"),
        ({"MEMORY_CONFIG_PATH": "broken.md"}, "cannot be read"),
    ],
)
def test_a_wrong_configuration_is_a_sentence(
    tmp_path: Path, env: dict[str, str], said: str
) -> None:
    (tmp_path / "broken.md").write_text("---\nlog_level: [\n---\n", encoding="utf-8")
    server = Configured(tmp_path, **env)
    try:
        assert server.child.wait(60) == 2
        told = server.errors()
        assert said in told and "Traceback" not in told
    finally:
        server.__exit__()


def test_addresses_and_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remote_address("ws://localhost:8000") == "http://localhost:8000/mcp"
    assert remote_address("wss://memory.example/rpc") == "https://memory.example/mcp"
    assert remote_address("https://memory.example:8765/team/mcp/") == (
        "https://memory.example:8765/team/mcp"
    )
    for name in list(os.environ):
        if name.startswith("MEMORY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_CONFIG_PATH", "${HOME}/memory.md")
    configured(tmp_path, SEED.replace("embedded-file", "remote"))
    made = surreal_configuration()
    assert (made.mode, made.remote_url, made.token) == ("remote", "ws://localhost:8000", "root")
    assert made.most_of_session == 100 and made.consolidates_at_end and made.log_level == "info"
    known: Any = (*configuration._VARIABLES, *configuration._KEYS, *configuration._WITHOUT_EFFECT)
    assert _keys_of_seed() and set(_keys_of_seed()) <= set(known), "every key of the example"
    assert surreal_configuration().warnings == ()


def _keys_of_seed() -> list[str]:
    return [line.partition(":")[0] for line in SEED.splitlines() if ": " in line and line[0] != "#"]
