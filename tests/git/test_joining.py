"""Machines whose histories began apart come to one memory, and nobody's text is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run, clean_environment
from tests.git.cases import ID, NOTE
from tests.git.conftest import Machine
from tests.git.test_sync import OTHER, converged, sync
from vaultmem.errors import InvalidInput

Join = Callable[..., tuple[Machine, Machine]]


def git(home: Path, *arguments: str) -> None:
    env = clean_environment(home)
    subprocess.run(["git", *arguments], cwd=home, env=env, check=True, capture_output=True)


@pytest.fixture
def empty_hub(home: Path) -> Path:
    git(home, "init", "-q", "--bare", "--initial-branch=main", "hub.git")
    return home


@pytest.fixture
def both_cloned(empty_hub: Path, run: Run) -> tuple[Machine, Machine]:
    """Two clones of the empty remote, each made a vault before either was shared."""
    found = []
    for day, name in enumerate("ab", 1):  # within one second they would make the same commit
        git(empty_hub, "clone", "-q", "hub.git", name)
        at = {"GIT_COMMITTER_DATE": f"2026-01-0{day}T12:00:00Z"}
        assert run("init", name, "--git", env=at).code == 0
        found.append(Machine(empty_hub / name, empty_hub))
    return found[0], found[1]


def roots(machine: Machine) -> int:
    return len(machine.git("rev-list", "--max-parents=0", "HEAD").split())


def test_a_second_empty_clone_goes_on_where_the_first_began(
    both_cloned: tuple[Machine, Machine],
) -> None:
    a, b = both_cloned
    a.save("Memories/Grace.md", NOTE)
    assert sync(a).shared
    assert a.git("rev-parse", "HEAD") != b.git("rev-parse", "HEAD")
    report = sync(b)
    assert (report.status, report.shared) == ("done", True)
    assert b.text("Memories/Grace.md") == NOTE
    assert b.git("rev-parse", "HEAD") == a.git("rev-parse", "HEAD") and roots(b) == 1
    b.edit("Memories/Grace.md", "five", "ten")
    assert "ten minutes" in converged(a, b)["Memories/Grace.md"].decode()


def test_notes_from_before_the_first_sync_stay(both_cloned: tuple[Machine, Machine]) -> None:
    a, b = both_cloned
    a.save("Memories/Same.md", NOTE)
    a.edit("Home.md", "# ", "# Ann's ")
    b.save("Memories/Same.md", OTHER)
    b.save("Memories/Mine.md", "Mine alone.\n")
    b.save("Journal.canvas", "{}\n")
    a.save("Journal.canvas", '{"nodes":[]}\n')
    assert sync(a).shared
    report = sync(b)
    assert (report.status, report.shared) == ("done", True), report
    files = converged(a, b)
    assert files["Memories/Same.md"].decode() == NOTE
    assert files["Memories/Same 2.md"].decode() == OTHER
    assert files["Memories/Mine.md"] == b"Mine alone.\n"
    assert files["Journal.canvas"] == b'{"nodes":[]}\n' and files["Journal 2.canvas"] == b"{}\n"
    assert b"# Ann's " in files["Home.md"] and "Home 2.md" not in files, "the template's, edited"


def test_a_file_of_the_template_that_both_edited(both_cloned: tuple[Machine, Machine]) -> None:
    """Both had the same once: it is merged from there, as if they had begun together."""
    a, b = both_cloned
    first, last = a.text("AGENTS.md").splitlines()[0], a.text("AGENTS.md").splitlines()[-1]
    a.edit("AGENTS.md", first, f"{first} of Ann")
    b.save("AGENTS.md", b.text("AGENTS.md").replace(last, f"{last} And Ben's."))
    sync(a)
    assert sync(b).status == "done"
    text = converged(a, b)["AGENTS.md"].decode()
    assert f"{first} of Ann" in text and "And Ben's." in text


def test_settings_that_differ_are_never_given_markers(both_cloned: tuple[Machine, Machine]) -> None:
    a, b = both_cloned
    for machine, project in ((a, "Ann"), (b, "Ben")):
        machine.save(".vaultmem/config.toml", f"project = '{project}'\n")
        machine.git("commit", "-qam", "settings", "--amend", "--no-edit")
    sync(a)
    report = sync(b)
    assert report.status == "done", report
    assert b.text(".vaultmem/config.toml") == "project = 'Ann'\n"
    (lost,) = report.lost
    assert "Ben" in b.git(*lost.what.partition("yours: git ")[2].split())


def test_the_same_memory_with_other_words_keeps_both(
    both_cloned: tuple[Machine, Machine],
) -> None:
    a, b = both_cloned
    a.save("N.md", NOTE)
    b.save("N.md", NOTE.replace("24", "48"))
    sync(a)
    report = sync(b)
    assert report.status == "done", report
    text = converged(b, a)["N.md"].decode()
    assert "24 hours" in text and "48 hours" in text and text.count("id:") == 1


def test_a_vault_that_was_never_committed_joins(empty_hub: Path, run: Run) -> None:
    """Cloned while the remote was empty; its files wait uncommitted, on a branch without a name."""
    git(empty_hub, "clone", "-q", "hub.git", "b")
    b = Machine(empty_hub / "b", empty_hub)
    assert run("init", "b").code == 0
    b.save("Memories/Mine.md", "Mine alone.\n")
    git(empty_hub, "clone", "-q", "hub.git", "a")
    assert run("init", "a", "--git").code == 0
    a = Machine(empty_hub / "a", empty_hub)
    a.save("Memories/Grace.md", NOTE)
    assert sync(a).shared
    assert sync(b).shared
    assert {"Memories/Grace.md", "Memories/Mine.md"} <= converged(a, b).keys()


def test_one_says_main_and_one_says_master(empty_hub: Path, run: Run) -> None:
    run("init", "a", "--git")
    a = Machine(empty_hub / "a", empty_hub)
    a.git("remote", "add", "origin", str(empty_hub / "hub.git"))
    assert sync(a).shared
    run("init", "b", "--git")
    b = Machine(empty_hub / "b", empty_hub)
    b.git("branch", "-m", "master")
    b.git("remote", "add", "origin", str(empty_hub / "hub.git"))
    b.save("Memories/Mine.md", "Mine alone.\n")
    report = sync(b)
    assert report.shared and "master" in report.messages[0]
    assert b.git("config", "branch.master.merge") == "refs/heads/main"
    assert sync(b).messages == []
    assert sync(a).pulled == ["Memories/Mine.md"]
    assert a.git("ls-remote", "--heads", "origin").count("\n") == 0, "there is one branch"


def test_a_branch_that_a_person_chose_is_its_own(both_cloned: tuple[Machine, Machine]) -> None:
    a, b = both_cloned
    sync(a)
    b.git("switch", "-q", "-c", "trial")
    assert sync(b).shared
    assert "refs/heads/trial" in b.git("ls-remote", "--heads", "origin")


def test_a_remote_that_began_with_a_readme(empty_hub: Path, run: Run) -> None:
    """As sites offer it when one makes a repository there."""
    git(empty_hub, "clone", "-q", "hub.git", "site")
    site = Machine(empty_hub / "site", empty_hub)
    site.save("README.md", "# brain\n")
    site.commit("Initial commit")
    site.git("push", "-q", "origin", "HEAD:main")
    run("init", "a", "--git")
    a = Machine(empty_hub / "a", empty_hub)
    a.git("remote", "add", "origin", str(empty_hub / "hub.git"))
    assert sync(a).shared
    assert a.text("README.md") == "# brain\n" and (a.root / "Home.md").exists()


def test_a_remote_that_holds_something_else_is_left_alone(empty_hub: Path, run: Run) -> None:
    git(empty_hub, "clone", "-q", "hub.git", "program")
    program = Machine(empty_hub / "program", empty_hub)
    program.save("main.py", "print()\n")
    program.commit()
    program.git("push", "-q", "origin", "HEAD:main")
    run("init", "a", "--git")
    a = Machine(empty_hub / "a", empty_hub)
    a.git("remote", "add", "origin", str(empty_hub / "hub.git"))
    before = a.files()
    with pytest.raises(InvalidInput, match="--allow-unrelated-histories") as refused:
        sync(a)
    assert "git remote set-url" in refused.value.message
    assert a.files() == before and a.git("ls-remote", "origin", "main") == program.git(
        "ls-remote", "origin", "main"
    )


def test_a_remote_that_was_made_anew_is_filled_again(both_cloned: tuple[Machine, Machine]) -> None:
    """What was fetched once is no proof of what is there."""
    a, _ = both_cloned
    assert sync(a).shared
    subprocess.run(["rm", "-rf", str(a.home / "hub.git")], check=True)
    git(a.home, "init", "-q", "--bare", "--initial-branch=main", "hub.git")
    report = sync(a)
    assert (report.shared, report.pushed) == (True, True)
    assert a.git("ls-remote", "origin", "refs/heads/main").startswith(a.git("rev-parse", "HEAD"))


def test_a_person_who_was_stopped_while_joining(both_cloned: tuple[Machine, Machine]) -> None:
    """The remote's files are there already, uncommitted, and equal."""
    a, b = both_cloned
    a.save("Memories/Grace.md", NOTE)
    sync(a)
    b.save("Memories/Grace.md", NOTE)
    assert sync(b).shared
    assert converged(a, b)["Memories/Grace.md"].decode() == NOTE
    assert ID in NOTE


@pytest.fixture
def hub_of_another_branch(home: Path, run: Run) -> tuple[Path, Machine]:
    """A remote whose own branch is `master`, as older gits make them, with `main` pushed to it."""
    git(home, "init", "-q", "--bare", "--initial-branch=master", "hub.git")
    run("init", "a", "--git")
    a = Machine(home / "a", home)
    a.git("remote", "add", "origin", str(home / "hub.git"))
    a.save("Memories/Grace.md", NOTE)
    return home, a


def require_one_branch(a: Machine, b: Machine) -> None:
    b.save("Memories/Mine.md", "Mine alone.\n")
    report = sync(b)
    assert report.shared and report.pushed, report.messages
    assert b.git("ls-remote", "--heads", "origin").split() == [
        b.git("rev-parse", "HEAD"),
        "refs/heads/main",
    ]
    assert sync(b).messages == [], "the branch is known from now on"
    assert sync(a).pulled == ["Memories/Mine.md"]


def test_a_clone_that_git_left_empty_is_no_second_beginning(
    hub_of_another_branch: tuple[Path, Machine],
) -> None:
    """git clones nothing where the remote's own branch is not there, and notes its name."""
    home, a = hub_of_another_branch
    assert sync(a).shared
    git(home, "clone", "-q", "hub.git", "b")
    b = Machine(home / "b", home)
    assert b.git("config", "branch.master.merge") == "refs/heads/master"
    assert sync(b).shared and b.text("Memories/Grace.md") == NOTE
    assert sync(b).messages == []
    require_one_branch(a, b)
    assert roots(b) == 1


@pytest.mark.parametrize("cloned", ["before", "after"])
def test_a_vault_made_in_an_empty_clone_joins_another_branch(
    hub_of_another_branch: tuple[Path, Machine], run: Run, cloned: str
) -> None:
    home, a = hub_of_another_branch
    if cloned == "after":
        assert sync(a).shared
    git(home, "clone", "-q", "hub.git", "b")
    assert run("init", "b", "--git").code == 0
    assert sync(a).shared
    require_one_branch(a, Machine(home / "b", home))
