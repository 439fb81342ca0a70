"""The vault goes away under running servers: moved, replaced, unmounted, mounted again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests import waiting
from tests.conftest import clean_environment
from tests.surfaces.http.site import Site
from tests.surfaces.mcp.harness import Process, new_vault

NUMBERS = count(1)
QUICK = {"VAULTMEM_MODEL": "off", "VAULTMEM_TYPING_QUIET_SECONDS": "0"}


def told(server: Process, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, an error or not."""
    answer: dict[str, Any] = server.call(next(NUMBERS), tool, **arguments)["structuredContent"]
    return answer


def stored(server: Process, content: str) -> dict[str, Any]:
    return told(server, "store_memory", content=content, type="semantic", scope="user")


def recalled(server: Process, query: str) -> dict[str, Any]:
    return told(server, "recall_memories", query=query)


def until(server: Process, found: Callable[[dict[str, Any]], bool], query: str) -> dict[str, Any]:
    """Ask until the answer is the one that is waited for; a leader takes a moment."""
    answer: dict[str, Any] = {}

    def is_found() -> bool:
        answer.clear()
        answer.update(recalled(server, query))
        return found(answer)

    waiting.until(is_found)
    return answer


def paths(answer: dict[str, Any]) -> set[str]:
    return {memory["path"] for memory in answer.get("memories", ())}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return new_vault(tmp_path / "place" / "vault")


@pytest.fixture
def server(tmp_path: Path, vault: Path) -> Iterator[Process]:
    with started(tmp_path, vault) as process:
        yield process


def started(home: Path, vault: Path, *more: str, **env: str) -> Process:
    process = Process(home, "--vault", str(vault), *more, env=QUICK | env)
    process.start()
    return process


def assert_refused(answer: dict[str, Any]) -> None:
    assert answer["error"] == "memory_unavailable", answer
    assert answer["retry_possible"] is True and answer["degraded"] is True
    assert "again" in answer["message"] or "mounted" in answer["message"]
    assert "Traceback" not in answer["message"] and "Errno" not in answer["message"]


def assert_away(server: Process, ref: str) -> None:
    """Nothing is acknowledged, and nothing is said that is not so."""
    assert_refused(stored(server, "Written to nowhere."))
    assert_refused(told(server, "update_memory", memory_id=ref, importance=0.9))
    assert_refused(told(server, "forget_memory", memory_id=ref))
    assert_refused(told(server, "tag_memory", memory_id=ref, add=["lost"]))
    assert_refused(told(server, "log_observation", content="Seen nowhere."))
    assert_refused(told(server, "assert_fact", subject="A", predicate="is", object="B"))
    assert_refused(told(server, "get_memories", ids=[ref]))
    connection = told(server, "get_memory_status")["connection"]
    assert connection["status"] == "degraded" and str(connection["path"]) in connection["reason"]


def test_a_vault_that_is_moved_away_and_back(server: Process, vault: Path) -> None:
    kept = stored(server, "The grace period lasts five minutes.")
    until(server, lambda answer: kept["path"] in paths(answer), "grace period")
    elsewhere = vault.rename(vault.with_name("elsewhere"))
    assert_away(server, kept["memory_id"])
    answer = recalled(server, "grace period")
    assert paths(answer) == {kept["path"]}, "the index still answers"
    assert answer["memories"][0]["title"] and not answer["memories"][0]["content"]
    assert any("is not there" in warning for warning in answer["warnings"])
    listed = told(server, "list_memories")
    assert listed["memories"] and "is not there" in listed["warnings"][0]
    time.sleep(2.5)  # longer than any of our threads sleeps
    assert not vault.exists(), "no ghost is made"

    (elsewhere / "Memories" / "By hand.md").write_text("Halyards are ropes.\n")
    elsewhere.rename(vault)
    assert "error" not in stored(server, "The grace period is over.")
    until(server, lambda answer: "Memories/By hand.md" in paths(answer), "halyards")
    assert told(server, "get_memories", ids=[kept["memory_id"]])["memories"][0]["content"]
    assert told(server, "get_memory_status")["connection"]["status"] == "connected"
    assert server.end() == 0
    assert "Traceback" not in server.errors()


@pytest.mark.parametrize("instead", ["an empty folder", "another vault"])
def test_what_stands_at_its_place_is_left_alone(
    tmp_path: Path, server: Process, vault: Path, instead: str
) -> None:
    kept = [stored(server, f"The grace period {n} lasts {n} minutes.") for n in range(3)]
    until(server, lambda answer: len(paths(answer)) == 3, "grace period")
    elsewhere = vault.rename(vault.with_name("elsewhere"))
    if instead == "an empty folder":
        vault.mkdir()
    else:
        new_vault(vault)
        (vault / "Memories" / "Theirs.md").write_text("The grace period of someone else.\n")
    before = files(vault)
    assert_away(server, kept[0]["memory_id"])
    assert len(paths(recalled(server, "grace period"))) == 3
    time.sleep(2.5)
    assert files(vault) == before
    assert len(paths(recalled(server, "grace period"))) == 3, "nothing was removed or taken in"

    vault.rename(vault.with_name("theirs"))
    elsewhere.rename(vault)
    assert "error" not in stored(server, "The grace period is over.")
    assert len(paths(recalled(server, "grace period"))) == 4
    assert server.end() == 0


def files(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*")}


def test_the_same_vault_as_another_folder_is_known_again(server: Process, vault: Path) -> None:
    """A drive that is mounted again may have new numbers, and a backup has them always."""
    kept = stored(server, "The grace period lasts five minutes.")
    until(server, lambda answer: kept["path"] in paths(answer), "grace period")
    elsewhere = vault.rename(vault.with_name("elsewhere"))
    assert_refused(stored(server, "Written to nowhere."))
    shutil.copytree(elsewhere, vault)
    (vault / "Memories" / "By hand.md").write_text("Halyards are ropes.\n")
    again = stored(server, "The grace period is over.")
    assert (vault / again["path"]).exists() and not (elsewhere / again["path"]).exists()
    until(server, lambda answer: "Memories/By hand.md" in paths(answer), "halyards")
    (vault / "Memories" / "Later.md").write_text("Sheets are ropes, too.\n")
    until(server, lambda answer: "Memories/Later.md" in paths(answer), "sheets")
    assert told(server, "get_memory_status")["connection"]["status"] == "connected"
    assert server.end() == 0
    assert "Traceback" not in server.errors()


def test_two_servers_lose_and_find_their_vault(tmp_path: Path, vault: Path) -> None:
    with started(tmp_path, vault) as leader, started(tmp_path, vault) as other:
        kept = stored(leader, "The grace period lasts five minutes.")
        until(other, lambda answer: kept["path"] in paths(answer), "grace period")
        elsewhere = vault.rename(vault.with_name("elsewhere"))
        for server in (leader, other):
            assert_away(server, kept["memory_id"])
            answer = recalled(server, "grace period")
            assert paths(answer) == {kept["path"]}, (server is leader, answer)
        time.sleep(2.5)
        assert not vault.exists()
        elsewhere.rename(vault)
        second = stored(other, "Halyards are ropes.")
        until(leader, lambda answer: second["path"] in paths(answer), "halyards")
        leader.child.kill()  # the one that follows the files
        (vault / "Memories" / "Later.md").write_text("Sheets are ropes, too.\n")
        until(other, lambda answer: "Memories/Later.md" in paths(answer), "sheets")
        assert other.end() == 0


def test_state_that_is_kept_elsewhere_goes_away(tmp_path: Path, vault: Path) -> None:
    """The notes are there: they are read and looked through, and nothing is written."""
    state = tmp_path / "state"
    with started(tmp_path, vault, VAULTMEM_STATE_DIR=str(state / "vaultmem")) as server:
        kept = stored(server, "The grace period lasts five minutes.")
        gone = state.rename(tmp_path / "gone")
        state.symlink_to(
            "/proc/self/nothing"
        )  # as a drive that is not mounted: nothing can be made
        assert_refused(stored(server, "Written to nowhere."))
        assert told(server, "get_memories", ids=[kept["memory_id"]])["memories"][0]["content"]
        assert paths(recalled(server, "grace period")) == {kept["path"]}
        state.unlink()
        gone.rename(state)
        assert "error" not in stored(server, "The grace period is over.")
        assert server.end() == 0


def test_http_and_hooks_of_a_vault_that_is_moved(tmp_path: Path, vault: Path) -> None:
    with Process(tmp_path, "--vault", str(vault), "--http", "127.0.0.1:0", env=QUICK) as server:
        assert server.child.stderr is not None
        site = Site(server.child.stderr.readline().decode().split()[-1])
        assert site.get("/status").json["connection"]["status"] == "connected"
        vault.rename(vault.with_name("elsewhere"))
        assert site.get("/health").status == 200
        connection = site.get("/status").json["connection"]
        assert connection["status"] == "degraded" and "is not there" in connection["reason"]
        found = site.get("/search?q=anything").json
        assert "is not there" in str(found.get("warnings") or found.get("message"))
        event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s"})
        command = [sys.executable, "-m", "vaultmem", "hook", "--vault", str(vault)]
        hook = subprocess.run(
            command, input=event, capture_output=True, text=True, env=clean_environment(tmp_path)
        )
        assert hook.returncode == 0 and "Traceback" not in hook.stderr
        assert not vault.exists()
        vault.with_name("elsewhere").rename(vault)
        assert site.get("/status").json["connection"]["status"] == "connected"
