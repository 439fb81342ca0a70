"""Memories of a session last as long as the session: not after its process died, not less."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.conftest import Open, clean_environment
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until
from vaultmem.hooks import answer
from vaultmem.storage.local_state.session_folders import SESSION_GRACE_SECONDS, SESSION_IDLE_SECONDS
from vaultmem.vault import Vault

LATER = SESSION_GRACE_SECONDS + 5
MUCH_LATER = SESSION_IDLE_SECONDS + 5

WORKER = """
import sys
from vaultmem.operations.caller import Caller
from vaultmem.vault import Vault
vault = Vault.open(sys.argv[1], {"model": "off"}, caller=Caller(session=sys.argv[2]))
if sys.argv[3] == "serve":
    vault.follower(lambda report: None, watch=False)
print(vault.remember("The build is red just now.", scope="session").path, flush=True)
for line in sys.stdin:
    if line.strip() == "close":
        vault.close()
"""


@contextmanager
def worker(root: Path, session: str, way: str = "serve") -> Iterator[tuple[Any, Path]]:
    """Another process that stored a memory of a session and still lives."""
    process = nursery.Popen(
        [sys.executable, "-c", WORKER, str(root), session, way],
        env=clean_environment(root),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield process, root / process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def pass_time(root: Path, seconds: float) -> None:
    """As if nothing had been heard of any session since."""
    local = root / ".vaultmem" / "local"
    for top in (local / "volatile", local / "hooks"):
        for file in sorted(top.rglob("*"), reverse=True):
            os.utime(file, (time.time() - seconds,) * 2)


def sweep(vault: Vault) -> list[str]:
    return vault.parts.session_folders.sweep()


def test_what_a_killed_process_left_is_swept(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    with worker(root, "dead") as (process, note), worker(root, "alive") as (_, other):
        pass_time(root, MUCH_LATER)
        assert sweep(vault) == []  # both live, however long they say nothing
        process.kill()
        process.wait()
        pass_time(root, 1)
        assert sweep(vault) == []  # a client may start its server anew
        pass_time(root, LATER)
        assert sweep(vault) == [str(note.relative_to(root))]
        assert not note.parent.exists() and other.exists()
        assert sweep(vault) == []


@pytest.mark.parametrize("second", ["serve", "plain"])
def test_a_session_lives_as_long_as_one_of_its_processes(
    open_vault: Open, root: Path, second: str
) -> None:
    vault = open_vault()
    with worker(root, "s") as (first, note), worker(root, "s", second) as (other, same):
        assert same == note  # the text is known, and held by both
        first.kill()
        first.wait()
        pass_time(root, MUCH_LATER)
        assert sweep(vault) == [] and note.exists()
        other.kill()
        other.wait()
        pass_time(root, LATER)
        assert sweep(vault) == [str(note.relative_to(root))]


def test_a_server_that_comes_back_finds_its_session(open_vault: Open, root: Path) -> None:
    with worker(root, "s") as (first, note):
        first.kill()
        first.wait()
    pass_time(root, LATER)
    again = open_vault(session="s")
    again.follower(lambda report: None)
    assert sweep(again) == [] and sweep(open_vault()) == []
    assert [m.path for m in again.recall("build red").memories] == [str(note.relative_to(root))]


def test_a_session_of_short_processes_lives_for_a_day(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    with worker(root, "s", "plain") as (process, note):
        process.communicate("close\n")
    assert [file.name for file in note.parent.iterdir()] == [note.name]
    pass_time(root, LATER)
    assert sweep(vault) == []
    pass_time(root, MUCH_LATER)
    assert sweep(vault) == [str(note.relative_to(root))]


def test_a_session_with_hooks_outlives_its_server(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    with worker(root, "s") as (process, note):
        payload = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Write"}
        answer.to_event(vault, payload | {"tool_input": {"file_path": "/a.py"}})
        process.kill()
        process.wait()
    pass_time(root, LATER)
    assert sweep(vault) == []
    assert note.exists()
    answer.to_event(vault, {"hook_event_name": "SessionEnd", "session_id": "s", "reason": "other"})
    assert not note.exists()


def test_the_end_of_a_session_clears_it_without_a_journal_too(open_vault: Open) -> None:
    vault = open_vault()
    made = vault.remember("for now", scope="session", session_id="s")
    end = {"hook_event_name": "SessionEnd", "session_id": "s", "reason": "other"}
    assert answer.to_event(open_vault({"sessions.keep": True}), end) == {}
    assert vault.get([made.memory_id]).memories
    answer.to_event(vault, end)
    assert vault.get([made.memory_id]).missing


def test_what_is_kept_or_promoted_stays(open_vault: Open, root: Path) -> None:
    vault = open_vault()
    with worker(root, "s") as (process, note), worker(root, "by-hand") as (other, mine):
        made = vault.get([str(note.relative_to(root))]).memories[0]
        promoted = vault.promote(made.id, "user")
        mine.write_text(mine.read_text().replace("scope: session", "scope: user"))
        for each in (process, other):
            each.kill()
            each.wait()
    kept = open_vault(session="kept").remember("stays", scope="session")
    open_vault(session="kept").end_session(keep=True)
    pass_time(root, MUCH_LATER)
    assert sweep(open_vault({"sessions.keep": True})) == []
    assert sweep(vault) == []
    assert vault.get([made.id]).memories[0].path == promoted.path
    assert mine.exists() and (root / kept.path).exists()


def test_a_setting_keeps_what_a_dead_process_left(open_vault: Open, root: Path) -> None:
    keeping = open_vault({"sessions.keep": True}, session="s")
    made = keeping.remember("for the next time", scope="session")
    assert keeping.end_session(summary="done").memories_removed == 0
    keeping.close()
    pass_time(root, MUCH_LATER)
    assert sweep(open_vault()) == []
    assert open_vault(session="s").get([made.memory_id]).memories


def test_a_read_only_vault_sweeps_nothing(open_vault: Open, root: Path) -> None:
    with worker(root, "s") as (process, note):
        process.kill()
        process.wait()
    pass_time(root, LATER)
    assert sweep(open_vault({"read_only": True})) == []
    assert note.exists()


def test_servers_over_stdio_clear_up_after_each_other(tmp_path: Path) -> None:
    root = new_vault(tmp_path / "vault")
    store = {"content": "The build is red just now.", "type": "episodic", "scope": "session"}
    with Process(tmp_path, "--vault", str(root), "--session", "first") as process:
        process.start()
        told = process.call(1, "store_memory", **store)["structuredContent"]
        process.child.kill()
        process.child.wait()
    pass_time(root, LATER)
    with Process(tmp_path, "--vault", str(root), "--session", "second") as process:
        process.start()
        process.call(1, "store_memory", **store)
        until(lambda: not (root / told["path"]).exists())
        found = process.call(2, "recall_memories", query="build red")["structuredContent"]
        assert [hit["path"].split("/")[3] for hit in found["memories"]] == ["second"]
        assert process.end() == 0
    assert list((root / ".vaultmem" / "local" / "volatile" / "second").glob("*.md"))
