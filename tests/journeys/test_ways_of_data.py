"""The four ways of data, over real stdio: an agent writes, a person edits, an agent recalls,
a pull brings many changes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import clean_environment, snapshot
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_vault(tmp_path / "vault")


@pytest.fixture
def server(tmp_path: Path, root: Path) -> Iterator[Process]:
    with Process(tmp_path, "--vault", str(root)) as process:
        process.start()
        yield process


def answer(process: Process, tool: str, **arguments: Any) -> dict[str, Any]:
    result = process.call(7, tool, **arguments)
    assert not result["isError"], result
    found: dict[str, Any] = result["structuredContent"]
    return found


def recalled(process: Process, query: str) -> list[str]:
    found = answer(process, "recall_memories", query=query, strategy="keyword", limit=50)
    return [memory["path"] for memory in found["memories"]]


def test_an_agent_writes_and_every_window_finds_it(
    tmp_path: Path, root: Path, server: Process
) -> None:
    with Process(tmp_path, "--vault", str(root)) as other:
        other.start()
        recalled(other, "anything")
        text = "The staging database is reset on Mondays."
        made = answer(server, "store_memory", content=text, type="semantic", scope="user")
        assert text in (root / made["path"]).read_text()  # on disk before the answer
        assert recalled(server, "staging database") == [
            made["path"]
        ]  # at once where it was written
        assert until(lambda: recalled(other, "staging database")) == [made["path"]]
        stale = answer(server, "get_memories", ids=[made["memory_id"]])["memories"][0]
        answer(other, "update_memory", memory_id=made["memory_id"], content="Reset on Tuesdays.")
        result = server.call(
            8,
            "update_memory",
            memory_id=made["memory_id"],
            content="Reset on Fridays.",
            expected_version=stale["version"],
        )
        assert result["isError"] and result["structuredContent"]["error"] == "conflict"
        assert "Tuesdays" in result["structuredContent"]["current"]
        assert "Tuesdays" in (root / made["path"]).read_text()


def test_a_person_edits_and_agents_see_it(root: Path, server: Process) -> None:
    note = root / "Ideas" / "Garden.md"
    note.parent.mkdir()
    note.write_text("Plant the okra in May.\n")
    assert until(lambda: recalled(server, "okra")) == ["Ideas/Garden.md"]
    note.write_text("---\nzip: 00123\n---\nPlant the quince in May.\n")
    assert until(lambda: recalled(server, "quince")) == ["Ideas/Garden.md"]
    assert recalled(server, "okra") == []
    note.rename(root / "Orchard.md")
    assert until(lambda: recalled(server, "quince") == ["Orchard.md"])
    before = snapshot(root / "Ideas") | {"o": ((root / "Orchard.md").read_bytes(), 0)}
    assert before["o"][0] == b"---\nzip: 00123\n---\nPlant the quince in May.\n"
    (root / "Orchard.md").unlink()
    assert until(lambda: not recalled(server, "quince"))


def test_an_agent_recalls_what_the_file_says_now(root: Path, server: Process) -> None:
    note = root / "Port.md"
    note.write_text("The relay listens on port 9471.\n")
    assert until(lambda: recalled(server, "relay port"))
    note.write_text("The relay listens on port 5151.\n")  # not indexed yet, perhaps
    hit = answer(server, "recall_memories", query="relay port")["memories"][0]
    assert "5151" in hit["content"] and "9471" not in hit["content"]
    assert hit["path"] == hit["id"] == "Port.md" and hit["whole"]


def test_a_pull_brings_many_changes(tmp_path: Path, root: Path, server: Process) -> None:
    def git(folder: Path, *arguments: str) -> None:
        identity = ("-c", "user.name=Me", "-c", "user.email=me@localhost")
        subprocess.run(
            ["git", *identity, *arguments],
            cwd=folder,
            env=clean_environment(tmp_path),
            check=True,
            capture_output=True,
        )

    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    git(tmp_path, "clone", "-q", str(root), "laptop")
    laptop = tmp_path / "laptop"
    for i in range(500):
        file = laptop / f"Pulled/{i % 7}/Note {i}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {i}\n\nA wombat, number w{i}.\n")
    git(laptop, "add", "-A")
    git(laptop, "commit", "-qm", "many")
    recalled(server, "wombat")
    before = answer(server, "get_memory_status")["index"]["notes"]
    git(root, "pull", "-q", str(laptop), "main")
    status = until(
        lambda: (
            (found := answer(server, "get_memory_status")["index"])["notes"] == before + 500
            and found
        )
    )
    assert recalled(server, "w499") == ["Pulled/2/Note 499.md"]
    assert status["revision"] < 20  # a few batches, not one for each note
    clean = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True)
    assert clean.stdout == b""
    git(root, "rm", "-rq", "Pulled")
    assert until(lambda: recalled(server, "wombat") == [])
