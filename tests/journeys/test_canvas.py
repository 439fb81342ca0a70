"""A board in Obsidian, from being drawn to being deleted: a real server, real commands, real git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, clean_environment
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until

BOARD = "Boards/Plan.canvas"
REFUSED = "A canvas is drawn in Obsidian"
TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("update_memory", {"append": "more"}),
    ("update_memory", {"content": "all of it"}),
    ("tag_memory", {"add": ["x"]}),
    ("forget_memory", {}),
    ("promote_memory", {"target_scope": "user"}),
    ("restore_memory", {}),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_vault(tmp_path / "vault")
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root)
    return root


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=root,
        env=clean_environment(root.parent),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "As it is")


def draw(root: Path, *texts: str) -> None:
    group = {"id": "g", "type": "group", "label": "Launch", "width": 900, "height": 900}
    nodes: list[dict[str, Any]] = [{**group, "x": 0, "y": 0}]
    for number, text in enumerate(texts):
        place = {"x": 10, "y": 100 * number, "width": 200, "height": 60}
        nodes.append({"id": str(number), "type": "text", "text": text, **place})
    edges = [{"id": "e", "fromNode": "0", "toNode": "1", "label": "unless it rains"}]
    file = root / BOARD
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"nodes": nodes, "edges": edges}, indent="\t"))


def recalled(server: Process, query: str) -> list[tuple[str, str, str]]:
    found = server.call(3, "recall_memories", query=query, strategy="keyword")
    hits = found["structuredContent"]["memories"]
    return [(hit["path"], hit["title"], hit["content"]) for hit in hits]


def test_a_board_is_drawn_found_changed_and_deleted(tmp_path: Path, root: Path) -> None:
    with Process(tmp_path, "--vault", str(root), "--toolsets", "all") as server:
        server.start()
        assert recalled(server, "lanterns") == []
        draw(root, "Hang the lanterns in the orchard", "Ask the choir to sing")
        lanterns = [(BOARD, "Plan.canvas", "Hang the lanterns in the orchard")]
        assert until(lambda: recalled(server, "lanterns")) == lanterns
        said = "Hang the lanterns in the orchard → Ask the choir to sing: unless it rains"
        assert recalled(server, "unless it rains")[0] == (BOARD, "Plan.canvas", said)
        draw(root, "Hang the bunting in the orchard", "Ask the choir to sing")
        bunting = [(BOARD, "Plan.canvas", "Hang the bunting in the orchard")]
        assert until(lambda: recalled(server, "bunting")) == bunting
        assert until(lambda: recalled(server, "lanterns") == [])
        (root / BOARD).unlink()
        assert until(lambda: recalled(server, "bunting") == [])
    assert git(root, "status", "--porcelain") == ""


def test_agents_read_a_board_and_are_refused_to_change_it(tmp_path: Path, root: Path) -> None:
    draw(root, "Hang the lanterns", "Ask the choir")
    commit(root)
    with Process(tmp_path, "--vault", str(root), "--toolsets", "all") as server:
        server.start()
        shown = server.call(1, "get_memories", ids=[BOARD])["structuredContent"]["memories"][0]
        text = "## Launch\n\nHang the lanterns\n\n***\n\nAsk the choir\n\n***\n\n"
        text += "- Hang the lanterns → Ask the choir: unless it rains"
        assert shown["content"] == text
        page = server.request(2, "resources/read", uri=f"memory://vault/{BOARD}")["result"]
        assert page["contents"][0]["text"] == text
        for tool, arguments in TOOLS:
            told = server.call(3, tool, memory_id=BOARD, **arguments)
            assert told["isError"] and REFUSED in told["structuredContent"]["message"], tool
        listed = server.call(4, "list_memories", order="recent")["structuredContent"]["memories"]
        assert BOARD in [memory["path"] for memory in listed]
    assert git(root, "status", "--porcelain") == ""


def test_a_person_s_commands_and_a_board(run: Run, root: Path) -> None:
    draw(root, "Hang the lanterns", "Ask the choir")
    commit(root)
    kept = (root / BOARD).read_bytes()

    def me(*arguments: str) -> Any:
        env = {"VAULTMEM_TYPING_QUIET_SECONDS": "0", "EDITOR": "false"}
        return run(*arguments, cwd=root, env=env)

    assert me("search", "lanterns", "--json").json["memories"][0]["path"] == BOARD
    assert "## Launch" in me("show", BOARD).out
    assert me("show", BOARD, "--raw").out.encode() == kept
    assert BOARD in [memory["path"] for memory in me("recent", "--json").json["memories"]]
    assert [v["current"] for v in me("history", BOARD, "--json").json["versions"]] == [True]
    for change in (("edit", BOARD), ("forget", BOARD), ("restore", BOARD)):
        ran = me(*change)
        assert ran.code == 2 and REFUSED in ran.err, ran
    assert BOARD not in me("doctor").out
    assert (root / BOARD).read_bytes() == kept and git(root, "status", "--porcelain") == ""
    (root / BOARD).write_text('{"nodes": [')
    findings = me("doctor", "--json").json
    assert [f["path"] for f in findings if f["problem"] == "malformed-canvas"] == [BOARD]


def test_a_board_that_a_sync_brings_is_found(run: Run, root: Path, tmp_path: Path) -> None:
    git(root, "clone", "--quiet", "--bare", str(root), str(tmp_path / "hub.git"))
    git(root, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(root, "push", "--quiet", "--set-upstream", "origin", "main")
    other = tmp_path / "other"
    git(root, "clone", "--quiet", str(tmp_path / "hub.git"), str(other))
    assert run("search", "lanterns", cwd=other).code == 1
    draw(root, "Hang the lanterns", "Ask the choir")
    assert run("sync", cwd=root).code == 0
    pulled = run("sync", "--json", cwd=other).json
    assert BOARD in pulled["pulled"] and pulled["indexed"] >= 1
    assert run("search", "lanterns", "--json", cwd=other).json["memories"][0]["path"] == BOARD
    assert (other / BOARD).read_bytes() == (root / BOARD).read_bytes()
