"""A vault in git that is looked at, indexed, served and searched looks in git as before."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import nursery
from tests.conftest import Run, clean_environment
from tests.git.conftest import Clones, Machine
from tests.surfaces.mcp.harness import Process

NOTE = "---\nid: 01HQXYZ7K3M4N5P6Q7R8S9T0AA\n---\nTokens expire after 24 hours.\n"


def plain(home: Path) -> Machine:
    """Notes in git, and nobody has ever run init."""
    machine = Machine(home / "plain", home)
    machine.root.mkdir()
    machine.git("init", "-q", "-b", "main")
    machine.save("N.md", NOTE)
    machine.commit()
    return machine


def cloned(home: Path) -> Machine:
    plain(home).git("clone", "-q", str(home / "plain"), str(home / "clone"))
    return Machine(home / "clone", home)


def folder_of_a_repository(home: Path) -> Machine:
    around = Machine(home / "around", home)
    around.save("code.py", "1\n")
    around.save("Notes/N.md", NOTE)
    around.git("init", "-q", "-b", "main")
    around.commit()
    return Machine(around.root / "Notes", home)


def with_settings(home: Path) -> Machine:
    machine = plain(home)
    machine.save(".vaultmem/config.toml", "[typing]\nquiet_seconds = 0.0\n")
    machine.commit()
    return machine


def with_settings_and_rules(home: Path) -> Machine:
    machine = with_settings(home)
    machine.save(".vaultmem/.gitignore", "*\n!.gitignore\n!config.toml\n")
    machine.commit()
    return machine


def with_state_elsewhere(home: Path) -> Machine:
    machine = plain(home)
    machine.save(".vaultmem/config.toml", f'state_dir = "{home / "state"}"\n')
    machine.commit()
    return machine


KINDS = (
    *(plain, cloned, folder_of_a_repository, with_settings, with_settings_and_rules),
    with_state_elsewhere,
)


def served(machine: Machine, *flags: str) -> None:
    with Process(machine.home, "--vault", str(machine.root), *flags) as server:
        server.start()
        server.call(1, "recall_memories", query="tokens")
        server.request(2, "resources/read", uri="memory://conflicts")
        assert server.end() == 0


def hooked(machine: Machine) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "our tokens"}
    command = [sys.executable, "-m", "vaultmem", "hook", "--vault", str(machine.root)]
    env = clean_environment(machine.home)
    nursery.run(command, env=env, input=json.dumps(event).encode(), check=True, timeout=60)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_git_status_is_empty(home: Path, run: Run, kind: Callable[[Path], Machine]) -> None:
    machine = kind(home)
    ways: list[Callable[[], object]] = [
        *(
            (lambda command=command: run(*command, "--vault", str(machine.root)))  # type: ignore[misc]
            for command in (["search", "tokens"], ["status"], ["conflicts"], ["history", "N"])
        ),
        lambda: hooked(machine),
        lambda: served(machine, "--read-only"),
        lambda: run("index", "--vault", str(machine.root)),
        lambda: served(machine),
    ]
    for way in ways:
        way()
        assert machine.git("status", "--porcelain", "--untracked-files=all") == ""
    assert any(path.name == "catalog.db" for path in home.rglob("*")), "nothing was indexed"


def test_settings_that_a_person_makes_are_seen(home: Path, run: Run) -> None:
    machine = plain(home)
    run("index", "--vault", str(machine.root))
    machine.save(".vaultmem/config.toml", "[typing]\nquiet_seconds = 0.0\n")
    shown = machine.git("status", "--porcelain", "--untracked-files=all")
    assert shown == "?? .vaultmem/config.toml"


def test_init_brings_its_files_into_git_also_after_indexing(home: Path, run: Run) -> None:
    machine = plain(home)
    run("index", "--vault", str(machine.root))
    done = run("init", str(machine.root), "--git")
    assert done.code == 0, done.err
    tracked = machine.git("ls-files", ".vaultmem").split()
    assert tracked == [".vaultmem/.gitignore", ".vaultmem/config.toml"]
    assert machine.git("status", "--porcelain") == ""
    assert "Nothing" in run("init", str(machine.root), "--git").err


def test_init_leaves_rules_that_a_person_changed(home: Path, run: Run) -> None:
    machine = plain(home)
    run("index", "--vault", str(machine.root))
    file = machine.save(".vaultmem/.gitignore", "*\n# mine\n")
    run("init", str(machine.root))
    assert file.read_text() == "*\n# mine\n"


def test_sync_commits_nothing_of_a_merely_indexed_vault(clones: Clones, home: Path) -> None:
    machine = plain(home)
    with machine.vault() as vault:
        vault.recall("tokens")
        vault.sync(quiet_seconds=0.0)
    assert machine.git("log", "--format=%s").splitlines() == ["by hand"]
