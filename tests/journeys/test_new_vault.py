"""A vault is made where the first command names one, and nowhere by a slip of the finger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.journeys.test_manners import Terminal


def test_the_first_vault_is_made_and_said(run: Run, tmp_path: Path) -> None:
    done = run("serve", "--vault", "Brain")
    assert done.code == 0 and f"Made a new vault in {tmp_path}/Brain" in done.err
    assert (tmp_path / "Brain" / "Home.md").is_file()
    assert "Made" not in run("serve", "--vault", "Brain").err
    assert "Made a new vault" in run("serve", "--vault", "Work").err, (
        "a second one, of its own name"
    )


@pytest.mark.parametrize("typo", ["Brian", "brain2", "Brains"])
def test_a_name_nearly_that_of_a_vault_beside_it_is_asked_for(
    run: Run, tmp_path: Path, typo: str
) -> None:
    run("init", "Brain")
    for command in (["serve"], ["install", "cursor"]):
        done = run(*command, "--vault", typo)
        assert done.code == 1 and f"{tmp_path}/Brain" in done.err, done.err
        assert f"init {tmp_path}/{typo} --yes" in done.err
        assert not (tmp_path / typo).exists()
    assert not (tmp_path / ".cursor").exists(), "nothing points to a vault that there is not"
    assert run("serve", "--create", "--vault", typo).code == 0
    assert (tmp_path / typo / "Home.md").is_file()


def test_at_a_terminal_a_person_is_asked(run: Run, tmp_path: Path) -> None:
    run("init", "Brain")
    terminal = Terminal(tmp_path / "Brain", "serve", "--vault", str(tmp_path / "Brian"))
    terminal.read_until("[y/N]")
    assert f"Did you mean {tmp_path}/Brain?" in terminal.shown.replace("\n", " ")
    terminal.stop()
    assert not (tmp_path / "Brian").exists()


def test_a_folder_around_it_that_is_missing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    done = run("serve", "--vault", "Notse/Brain")
    assert done.code == 1 and f"There is no folder {tmp_path}/Notse either" in done.err
    assert f"did you mean {tmp_path}/Notes?" in done.err
    assert not (tmp_path / "Notse").exists()
    assert run("serve", "--vault", "Documents/Brain").code == 0, "nothing speaks against it"


@pytest.mark.parametrize("inside", ["Memories", "Memories/Atlas", "Sub"])
def test_a_folder_of_a_vault_is_no_vault_of_its_own(run: Run, tmp_path: Path, inside: str) -> None:
    """The vault's settings say what is private in it."""
    run("init", "Brain")
    run("add", "Tea at four", "--project", "Atlas", "--vault", "Brain")
    for command in (["serve"], ["install", "cursor"]):
        done = run(*command, "--vault", f"Brain/{inside}")
        assert done.code == 1, done
        assert f"{tmp_path}/Brain/{inside} lies in the vault {tmp_path}/Brain." in done.err
    assert not (tmp_path / "Brain" / "Sub").exists()
    assert not list((tmp_path / "Brain").glob("*/**/.vaultmem"))
    assert run("serve", "--create", "--vault", "Brain/Sub").code == 0
    assert run("serve", "--vault", "Brain/Sub").code == 0, "it is one from then on"


@pytest.mark.parametrize("command", [["search", "x"], ["add", "x"], ["status"], ["sync"]])
def test_other_commands_make_nothing(run: Run, tmp_path: Path, command: list[str]) -> None:
    run("init", "Brain")
    done = run(*command, "--vault", "Brian")
    assert done.code == 1 and f"Did you mean {tmp_path}/Brain?" in done.err
    assert not (tmp_path / "Brian").exists()


def test_what_is_no_vault_is_not_served(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "pyproject.toml").write_text("")
    (program / "README.md").write_text("# A program\n")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "one.png").write_bytes(b"x")
    for folder, words in ((program, "a program"), (pictures, "no notes"), (tmp_path, "home")):
        done = run("serve", "--vault", str(folder))
        assert done.code == 1 and words in done.err, done.err
        assert not (folder / ".vaultmem").exists()
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "one.md").write_text("A note.\n")
    assert run("serve", "--vault", str(notes)).code == 0, "plain notes are a vault"


def test_an_empty_place_where_a_vault_was(run: Run, tmp_path: Path) -> None:
    """Its index lies elsewhere, and knows it: the drive is not mounted, more likely than a wish."""
    state = {"VAULTMEM_STATE_DIR": str(tmp_path / "state")}
    run("init", "Drive", "--examples", env=state)
    assert run("index", "--vault", "Drive", env=state).code == 0
    (tmp_path / "Drive").rename(tmp_path / "away")
    for make in (lambda: None, (tmp_path / "Drive").mkdir):
        make()
        done = run("init", "Drive", env=state)
        assert done.code == 1 and "not mounted" in done.err, done.err
        done = run("serve", "--vault", "Drive", env=state)
        assert "not mounted" in done.err or "not the vault" in done.err, done.err
        place = tmp_path / "Drive"
        assert not place.exists() or not list(place.iterdir())
    assert run("init", "Drive", "--yes", env=state).code == 0


def test_install_makes_the_vault_that_it_names(run: Run, tmp_path: Path) -> None:
    shown = run("install", "cursor", "--vault", "Brain", "--dry-run")
    assert shown.code == 0 and not (tmp_path / "Brain").exists()
    done = run("install", "cursor", "--vault", "Brain")
    assert done.code == 0 and (tmp_path / "Brain" / "Home.md").is_file()
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["vaultmem"]
    assert entry["args"][-1] == str(tmp_path / "Brain")


def test_without_a_right_to_write_a_vault_is_searched(run: Run, tmp_path: Path) -> None:
    """As another user's, or one whose modes say so; also for root, without the right to pass by."""
    run("init", "Brain", "--examples")
    subprocess.run(["chmod", "-R", "a-w", "Brain"], cwd=tmp_path, check=True)
    dropped = "-dac_override,-dac_read_search,-fowner"
    drop = ["setpriv", "--bounding-set", dropped, "--inh-caps", dropped]
    probe = subprocess.run([*drop, "true"], capture_output=True)
    prefix = drop if probe.returncode == 0 else []
    import os

    if os.getuid() == 0 and not prefix:
        pytest.skip("root writes everywhere here")
    from tests.conftest import clean_environment

    def ask(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [*prefix, sys.executable, "-m", "vaultmem", *arguments, "--vault", "Brain"]
        env = clean_environment(tmp_path) | {"VAULTMEM_MODEL": "off"}
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, input=given
        )

    assert "Refresh tokens" in ask("search", "tokens").stdout
    status = json.loads(ask("status", "--json").stdout)["connection"]
    kept = tmp_path / ".local" / "state" / "vaultmem"
    assert status["status"] == "degraded" and str(kept) in status["reason"]
    assert ask("status").stdout.count(str(kept)) == 1, "said once"
    assert kept.stat().st_mode & 0o077 == 0
    (made,) = kept.iterdir()
    catalog = (made / "index" / "catalog.db").stat().st_ino
    assert "Refresh tokens" in ask("search", "tokens").stdout
    assert (made / "index" / "catalog.db").stat().st_ino == catalog, "not made anew each time"
    refused = ask("add", "Something new.")
    assert refused.returncode == 2 and "no permission to write" in refused.stderr
    hook = ask("hook", given='{"hook_event_name": "SessionStart"}')
    assert hook.returncode == 0 and "small commits" in hook.stdout
    assert ask("doctor").returncode == 0
    subprocess.run(["chmod", "-R", "u+w", "Brain"], cwd=tmp_path, check=True)
    assert ask("add", "Something new.").returncode == 0
    assert json.loads(ask("status", "--json").stdout)["connection"]["status"] == "connected"
