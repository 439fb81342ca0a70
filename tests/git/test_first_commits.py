"""Notes that do not say when they were made, in a vault that git keeps."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.git.conftest import Machine
from vaultmem.git.first_commits import VaultCommits
from vaultmem.git.repo import Repo
from vaultmem.vault import Vault

JANUARY, MARCH, JULY = "2024-01-10T12:00:00Z", "2024-03-10T12:00:00Z", "2024-07-10T12:00:00Z"


@pytest.fixture
def machine(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(root, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    made.git("init", "-q", "--initial-branch=main")
    made.save(".gitignore", ".vaultmem/\n")
    return made


def commit(machine: Machine, when: str, message: str = "by hand") -> None:
    machine.git("add", "-A")
    machine.git("commit", "-q", "--date", when, "-m", message)


def created(vault: Vault) -> dict[str, str]:
    listed = vault.list(order="created").memories
    return {each.path: f"{each.created_at:%Y-%m-%d}" for each in listed}


def open_clone(machine: Machine, place: Path, open_vault: Any) -> Vault:
    machine.git("clone", "-q", str(machine.root), str(place))
    vault: Vault = open_vault(at=place)
    vault.index_now()
    return vault


def test_a_clone_dates_notes_by_their_first_commit(
    machine: Machine, tmp_path: Path, open_vault: Any
) -> None:
    machine.save("Old.md", "Kettle\n")
    machine.save("Moved.md", "Teapot\n")
    machine.save("Dated.md", "---\ndate: 2020-02-02\n---\nCup\n")
    commit(machine, JANUARY)
    machine.save("Umlaut ä [x].md", "Saucer\n")
    commit(machine, MARCH)
    (machine.root / "Folder").mkdir()
    os.rename(machine.root / "Moved.md", machine.root / "Folder/Moved.md")
    machine.edit("Old.md", "Kettle", "A kettle")
    commit(machine, JULY)
    vault = open_clone(machine, tmp_path / "clone", open_vault)
    (tmp_path / "clone/New.md").write_text("Spoon\n")
    vault.index_now()
    dates = created(vault)
    today = f"{dt.datetime.now(dt.UTC):%Y}"
    assert dates.pop("New.md").startswith(today)
    assert dates == {
        "Umlaut ä [x].md": "2024-03-10",
        "Old.md": "2024-01-10",
        "Folder/Moved.md": "2024-01-10",
        "Dated.md": "2020-02-02",
    }
    before = {m.path for m in vault.recall("kettle teapot cup", before="2024-02-01").memories}
    assert before == {"Old.md", "Folder/Moved.md", "Dated.md"}
    assert vault.get(["Old.md"]).memories[0].created_at.isoformat() == "2024-01-10T12:00:00+00:00"


def test_a_folder_of_a_larger_repository(machine: Machine, tmp_path: Path, open_vault: Any) -> None:
    machine.save("docs/vault/Note.md", "Kettle\n")
    machine.save("Note.md", "Another\n")
    commit(machine, JANUARY)
    machine.git("clone", "-q", str(machine.root), str(tmp_path / "clone"))
    vault = open_vault(at=tmp_path / "clone/docs/vault")
    vault.index_now()
    assert created(vault) == {"Note.md": "2024-01-10"}


def test_a_pull_that_brings_the_history_later(
    machine: Machine, tmp_path: Path, open_vault: Any
) -> None:
    machine.save("A.md", "Kettle\n")
    commit(machine, JANUARY)
    vault = open_clone(machine, tmp_path / "clone", open_vault)
    clone = Machine(tmp_path / "clone", tmp_path)
    machine.save("B.md", "Teapot\n")
    commit(machine, MARCH)
    shutil.copy(machine.root / "B.md", clone.root / "B.md")  # another road was quicker than git
    vault.index_now()
    assert created(vault)["B.md"] != "2024-03-10"
    (clone.root / "B.md").unlink()
    clone.git("pull", "-q")
    (clone.root / "C.md").write_text("Cup\n")
    vault.index_now()
    assert created(vault)["B.md"] == "2024-03-10"


def test_a_commit_never_moves_what_was_known_before(machine: Machine, open_vault: Any) -> None:
    machine.save("A.md", "Kettle\n")
    past = dt.datetime(2023, 5, 5, tzinfo=dt.UTC).timestamp()
    os.utime(machine.root / "A.md", (past, past))
    vault = open_vault()
    vault.index_now()
    assert created(vault) == {"A.md": "2023-05-05"}
    commit(machine, JULY)
    vault.index_now()
    vault.index_now(rebuild=True)
    assert created(vault) == {"A.md": "2023-05-05"}


def test_git_is_asked_once_and_runs_nothing_of_the_repository(machine: Machine) -> None:
    machine.save("A.md", "Kettle\n")
    commit(machine, JANUARY)
    mark = machine.root.parent / "ran"
    machine.git("config", "core.fsmonitor", f"touch {mark}")
    machine.git("config", "diff.external", f"touch {mark}")
    machine.save(".gitattributes", "*.md diff=evil\n")
    machine.git("config", "diff.evil.textconv", f"touch {mark};:")
    commits = VaultCommits(machine.root)
    state = commits.state()
    look = commits.look("", lambda path: None)
    assert look is not None and look.first == {"A.md": 1704888000} and look.anew
    assert not mark.exists()
    again = commits.look(look.head, lambda path: None)
    assert again is not None and not again.first and not again.anew
    assert commits.state() == state
    machine.save("B.md", "Teapot\n")
    commit(machine, MARCH)
    assert commits.state() != state
    later = commits.look(look.head, lambda path: None)
    assert later is not None and list(later.first) == ["B.md"]
    gone = commits.look("0" * 40, lambda path: None)
    assert gone is not None and sorted(gone.first) == ["A.md", "B.md"]


def test_without_git_or_commits_there_is_nothing(root: Path, machine: Machine) -> None:
    assert VaultCommits(root).look("", lambda path: None) is None
    shutil.rmtree(root / ".git")
    assert VaultCommits(root).state() == ""
    with pytest.raises(Exception, match="not in a git repository"):
        Repo(root)
