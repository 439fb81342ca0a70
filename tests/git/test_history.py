"""Versions of a note from git, and the driver's registration."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.git.cases import ID, NOTE
from tests.git.conftest import Clones, Machine
from tests.git.test_sync import sync


def test_history_shows_commits_also_from_before_a_rename(clones: Clones, run: Run) -> None:
    a, _ = clones({"Old.md": NOTE})
    a.edit("Old.md", "24", "12")
    a.commit("shorter")
    os.rename(a.root / "Old.md", a.root / "New.md")
    a.commit("another name")
    with a.vault(client="claude-code") as vault:
        vault.update("New", importance=0.9)
        vault.update("New", importance=0.8)
    sync(a)
    ran = run("history", ID, "--json", "--vault", str(a.root))
    assert ran.code == 0, ran.err
    versions = ran.json["versions"]
    told = [v.get("subject", v["action"]) for v in versions]
    commits = [said for said in told if said != "update"]  # git counts in whole seconds
    assert commits == ["memory: update New", "another name", "shorter", "first"]
    assert told.count("update") == 1, "the text between two updates, which no commit has"
    assert versions[0]["current"]
    assert versions[0]["author"] == "claude-code (vaultmem)"
    shown = run("history", ID, "--vault", str(a.root))
    assert "Tester: first" in shown.out
    first = next(v for v in versions if v.get("subject") == "first")
    assert run("history", ID, first["version"][:8], "--vault", str(a.root)).out == NOTE
    done = run("restore", ID, first["commit"][:10], "--vault", str(a.root))
    assert done.code == 0, done.err
    assert a.text("New.md") == NOTE


def test_a_deleted_note_has_a_history_no_more_but_a_pruned_one_has(
    clones: Clones, run: Run
) -> None:
    a, _ = clones({"Memories/N.md": NOTE})
    with a.vault() as vault:
        vault.prune("project", tags=["auth"])
    ran = run("history", ID, "--json", "--vault", str(a.root))
    assert ran.code == 0, ran.err
    assert not any(version["current"] for version in ran.json["versions"])
    assert ran.json["versions"][-1]["subject"] == "first"


def test_without_git_there_are_snapshots(root: Path, run: Run) -> None:
    (root / ".vaultmem").mkdir()
    (root / "N.md").write_text(NOTE)
    assert (
        run("forget", ID, "--vault", str(root), env={"VAULTMEM_TYPING_QUIET_SECONDS": "0"}).code
        == 0
    )
    ran = run("history", ID, "--json", "--vault", str(root))
    assert [version["action"] for version in ran.json["versions"]] == ["current", "forget"]
    assert "commit" not in ran.json["versions"][0]


def driver_of(machine: Machine) -> str:
    return machine.git("config", "--get", "merge.vaultmem.driver", check=False)


def test_init_registers_the_driver(root: Path, home: Path, run: Run) -> None:
    assert run("init", str(root), "--git").code == 0
    command = driver_of(Machine(root, home))
    assert re.search(r"^/.+ -P -m vaultmem merge-driver %O %A %B %L %P$", command)
    assert run("doctor", "--vault", str(root)).code == 0


def test_doctor_finds_a_clone_without_it(clones: Clones, run: Run) -> None:
    a, _ = clones({"N.md": NOTE})
    ran = run("doctor", "--json", "--vault", str(a.root))
    assert [found["problem"] for found in ran.json] == ["merge-driver"]
    assert run("doctor", "--fix", "--vault", str(a.root)).code == 0
    assert driver_of(a).endswith("%O %A %B %L %P")
    a.git("config", "merge.vaultmem.driver", "/no/such/python -m vaultmem merge-driver %O %A %B")
    assert run("doctor", "--vault", str(a.root)).code == 1


@pytest.mark.parametrize("name", ["a vault", "it's"])
def test_a_vault_whose_path_needs_quoting(home: Path, run: Run, name: str) -> None:
    root = home / name
    assert run("init", str(root), "--git").code == 0
    machine = Machine(root, home)
    machine.save("N (1)'s.md", NOTE)
    machine.commit()
    machine.git("switch", "-q", "-c", "side")
    machine.edit("N (1)'s.md", "24", "12")
    machine.commit()
    machine.git("switch", "-q", "main")
    machine.edit("N (1)'s.md", "  - tokens\n", "")
    machine.commit()
    machine.git("merge", "-q", "--no-edit", "side")
    assert "12 hours" in machine.text("N (1)'s.md")
    assert "  - tokens" not in machine.text("N (1)'s.md")
