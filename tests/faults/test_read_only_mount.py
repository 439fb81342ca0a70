"""A vault on a drive that is mounted read-only: searched, shown and served, and not changed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.faults.test_vanished import assert_refused, paths, recalled, started, stored, told
from tests.surfaces.mcp.harness import Process, new_vault
from tests.waiting import until

NOTE = "The grace period lasts five minutes.\n"


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


def make_read_only(folder: Path) -> None:
    """The system refuses while a file there is open to be written, as by a server's index."""
    until(lambda: mount("-o", "remount,bind,ro", str(folder)))


@pytest.fixture(params=["never indexed", "indexed"])
def vault(request: pytest.FixtureRequest, tmp_path: Path, run: Run) -> Iterator[Path]:
    folder = new_vault(tmp_path / "place" / "vault")
    (folder / "Memories").mkdir(exist_ok=True)
    (folder / "Memories" / "Grace.md").write_text(NOTE)
    if request.param == "indexed":
        assert run("index", "--vault", str(folder)).code == 0
    if not mount("--bind", str(folder), str(folder)):
        pytest.skip("nothing can be mounted here")
    make_read_only(folder)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_commands_look_and_do_not_write(vault: Path, run: Run, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {"VAULTMEM_MODEL": "off", "TMPDIR": str(scratch)}
    found = run("search", "grace period", "--vault", str(vault), "--json", env=env)
    assert found.code == 0 and paths(found.json) == {"Memories/Grace.md"}, found.err
    status = run("status", "--vault", str(vault), "--json", env=env)
    assert status.code == 0, status.err
    connection = status.json["connection"]
    assert connection["status"] == "degraded" and "read-only" in connection["reason"]
    shown = run("show", "Grace", "--vault", str(vault), env=env)
    assert shown.code == 0 and "five minutes" in shown.out, shown.err
    for command in (("recent",), ("tags",), ("context", "grace"), ("history", "Grace")):
        done = run(*command, "--vault", str(vault), env=env)
        assert done.code in (0, 1) and "Traceback" not in done.err, (command, done.err)
    added = run("add", "Something new.", "--vault", str(vault), env=env)
    assert added.code == 3 and "mounted read-only" in added.err, added.err
    assert not os.listdir(scratch), "nothing is left behind"


def test_a_server_reads_and_writes_once_it_can(vault: Path, tmp_path: Path) -> None:
    with started(tmp_path, vault) as server:
        assert paths(recalled(server, "grace period")) == {"Memories/Grace.md"}
        refused = stored(server, "Written to nowhere.")
        assert_refused(refused)
        assert "read-only" in refused["message"]
        assert told(server, "get_memories", ids=["Grace"])["memories"][0]["content"]
        assert told(server, "get_memory_status")["connection"]["status"] == "degraded"
        assert mount("-o", "remount,bind,rw", str(vault))
        kept = stored(server, "Halyards are ropes.")
        assert (vault / kept["path"]).exists()
        assert kept["path"] in paths(recalled(server, "halyards"))
        assert told(server, "get_memory_status")["connection"]["status"] == "connected"
        assert server.end() == 0
        assert "Traceback" not in server.errors()


def test_a_drive_that_becomes_read_only_under_a_server(tmp_path: Path) -> None:
    vault = new_vault(tmp_path / "place" / "vault")
    with started(tmp_path, vault) as server:
        kept = stored(server, "The grace period lasts five minutes.")
        if not mount("--bind", str(vault), str(vault)):
            pytest.skip("nothing can be mounted here")
        try:
            make_read_only(vault)
            assert_refused(stored(server, "Written to nowhere."))
            assert_refused(told(server, "tag_memory", memory_id=kept["memory_id"], add=["lost"]))
            assert paths(recalled(server, "grace period")) == {kept["path"]}
            assert told(server, "get_memories", ids=[kept["memory_id"]])["memories"][0]["content"]
        finally:
            subprocess.run(["umount", "-l", str(vault)], check=True)
        assert "error" not in stored(server, "The grace period is over.")
        assert isinstance(server, Process) and server.end() == 0
