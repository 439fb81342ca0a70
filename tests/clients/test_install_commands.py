"""What a person sees of `install` and `uninstall`, on each system, and what is started then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.clients.client_files import LAUNCHER, data_of, do, file_of, handshake, put
from tests.conftest import ROOT, Run, clean_environment, snapshot
from vaultmem import config
from vaultmem.base.own_program import PROGRAM
from vaultmem.clients.catalogue import CLIENTS
from vaultmem.surfaces.cli import main

EVERY = pytest.mark.parametrize("name", CLIENTS)


# --- what a person sees --------------------------------------------------------------------


def test_the_list_says_which_clients_are_here_and_connected(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put("zed", "{ broken")
    (home / ".codex").mkdir()
    assert do("install", "cursor") == 0
    capsys.readouterr()
    assert main(["install", "--json"]) == 0
    listed = {each["client"]: each for each in json.loads(capsys.readouterr().out)["clients"]}
    assert list(listed) == list(CLIENTS)
    assert (listed["cursor"]["state"], listed["cursor"]["vault"]) == (
        "connected",
        str(home / "Brain"),
    )
    assert listed["codex"]["state"] == "here"
    assert listed["windsurf"]["state"] == "absent"
    assert listed["zed"]["state"] == "unreadable"
    assert main(["install"]) == 0
    said = capsys.readouterr()
    assert "cursor\tconnected" in said.out
    assert "line 1, column 3" in said.err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("claude", "did you mean claude-code or claude-desktop?"),
        ("curser", "did you mean cursor?"),
        ("gemini-cli", "did you mean gemini?"),
        ("emacs", "Known are claude-code"),
    ],
)
def test_unknown_clients(
    home: Path, capsys: pytest.CaptureFixture[str], given: str, words: str
) -> None:
    for command in ("install", "uninstall"):
        assert do(command, given) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("given", ["Claude Code", "claude_code", "CLAUDE-CODE"])
def test_names_may_be_written_in_any_way(home: Path, given: str) -> None:
    assert do("install", given, "--no-hooks") == 0
    assert file_of("claude-code").exists()


def test_nothing_to_uninstall_is_no_failure(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put("cursor", '{"a": 1}')
    before = snapshot(home)
    for name in ("cursor", "zed"):
        assert do("uninstall", name) == 0
        assert "is not in the settings" in capsys.readouterr().err
    assert snapshot(home) == before


def test_vaults(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "cursor"]) == 2
    assert "--vault DIR" in capsys.readouterr().err
    assert main(["install", "cursor", "--vault", "~/Not yet"]) == 0
    assert "Made a new vault" in capsys.readouterr().err
    assert data_of("cursor")["mcpServers"][PROGRAM]["args"][-1] == str(home / "Not yet")
    (home / "file").write_text("x")
    assert main(["install", "cursor", "--vault", "file"]) == 2
    assert main(["install", "cursor", "--vault", "Brain", "--toolsets", "core,nope"]) == 2
    (home / "Brain" / ".vaultmem").mkdir()
    os.chdir(home / "Brain")
    assert main(["install", "cursor"]) == 0
    assert data_of("cursor")["mcpServers"][PROGRAM]["args"][-1] == str(home / "Brain")


def test_another_file_of_the_client(home: Path) -> None:
    assert do("install", "claude-code", "--config", "project/.mcp.json") == 0
    made = json.loads((home / "project" / ".mcp.json").read_text())
    assert made["mcpServers"][PROGRAM]["type"] == "stdio"
    assert not (home / ".claude").exists(), "no hooks there"
    assert do("uninstall", "claude-code", "--config", "project/.mcp.json") == 0
    assert not (home / "project" / ".mcp.json").exists()


def test_a_file_of_one_long_line_is_shown_around_the_change(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put("cursor", json.dumps({"key": "s" * 5000, "mcpServers": {"other": {}}}))
    assert do("install", "cursor", "--dry-run") == 0
    out = capsys.readouterr().out
    assert '"vaultmem": {"command"' in out
    assert len(out) < 4000


def test_the_answer_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put("cursor", "{}")
    assert do("install", "cursor", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["client"], said["changed"], said["dry_run"]) == ("cursor", True, False)
    assert said["files"][0]["backup"].endswith("mcp.json.vaultmem-backup")
    assert '+    "vaultmem": {' in said["files"][0]["diff"]


# --- other systems -------------------------------------------------------------------------

PLACES = {
    "darwin": {
        "claude-code": ".claude.json",
        "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": "Library/Application Support/Code/User/mcp.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "windsurf": ".codeium/windsurf/mcp_config.json",
        "zed": ".config/zed/settings.json",
    },
    "win32": {
        "claude-code": ".claude.json",
        "claude-desktop": "AppData/Roaming/Claude/claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": "AppData/Roaming/Code/User/mcp.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "windsurf": ".codeium/windsurf/mcp_config.json",
        "zed": "AppData/Roaming/Zed/settings.json",
    },
    "linux": {
        "claude-code": ".claude.json",
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".config/Code/User/mcp.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "windsurf": ".codeium/windsurf/mcp_config.json",
        "zed": ".config/zed/settings.json",
    },
}


@pytest.mark.parametrize("system", PLACES)
def test_where_each_client_has_its_settings(home: Path, system: str) -> None:
    places = config.places(system)
    found = {name: client.file(places) for name, client in CLIENTS.items()}
    assert found == {name: home / path for name, path in PLACES[system].items()}


def test_a_packaged_claude_on_windows_has_its_own(home: Path) -> None:
    package = home / "AppData" / "Local" / "Packages" / "Claude_pzs8sxrjxfjjc"
    package.mkdir(parents=True)
    found = CLIENTS["claude-desktop"].file(config.places("win32"))
    assert found == package / "LocalCache" / "Roaming" / "Claude" / "claude_desktop_config.json"


def test_variables_of_the_clients_are_honoured(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "c"))
    monkeypatch.setenv("CODEX_HOME", str(home / "x"))
    monkeypatch.setenv("GEMINI_CLI_HOME", "~/g")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
    for name in ("claude-code", "codex", "gemini", "zed"):
        assert do("install", name) == 0
    made = {str(f.relative_to(home)) for f in home.rglob("*") if f.is_file()}
    assert made == {
        *("c/.claude.json", "c/settings.json", "x/config.toml"),
        *("g/.gemini/settings.json", "conf/zed/settings.json"),
    }


# --- real processes ------------------------------------------------------------------------


def test_what_is_written_starts_the_server_from_anywhere(run: Run, tmp_path: Path) -> None:
    done = run("install", "codex", "--vault", "My Brain")
    assert done.code == 0, done.err
    made = tomllib.loads((tmp_path / ".codex" / "config.toml").read_text())
    start = made["mcp_servers"]["vaultmem"]
    assert start["command"] == LAUNCHER
    bare = {"HOME": str(tmp_path), "PATH": os.defpath}
    assert handshake([start["command"], *start["args"]], bare)["serverInfo"]["name"] == "vaultmem"
    assert (tmp_path / "My Brain" / "Home.md").exists()
    assert run("uninstall", "codex").code == 0
    assert not (tmp_path / ".codex" / "config.toml").exists()


def test_an_installed_program_is_started_by_its_own_path(tmp_path: Path) -> None:
    """As a package has it: no launcher beside the code, a script beside Python."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "vaultmem").symlink_to(ROOT / "vaultmem")
    code = (
        "import pathlib, sys, vaultmem; vaultmem.__file__ = sys.argv[1]\n"
        "from vaultmem.base.own_program import own_command_from_anywhere\n"
        "sys.executable = sys.argv[2]; print(*own_command_from_anywhere(), sep='|')\n"
    )
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    for installed in (False, True):
        if installed:
            (python.parent / "vaultmem").write_text("")
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "vaultmem" / "__init__.py"), str(python)],
            env=clean_environment(tmp_path), capture_output=True, text=True, check=True,
        )  # fmt: skip
        expected = f"{python.parent}/vaultmem" if installed else f"{python}|-P|-m|vaultmem"
        assert done.stdout.strip() == expected


# --- several vaults ------------------------------------------------------------------------


@EVERY
def test_a_second_vault_has_an_entry_of_its_own(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert do("install", name, "--no-hooks") == 0
    first = file_of(name).read_bytes()
    second = ("--vault", str(home / "Work"), "--name", "work")
    assert main(["install", name, *second]) == 0
    servers = data_of(name)[CLIENTS[name].under]
    assert [
        str(home / "Brain") in str(servers[PROGRAM]),
        str(home / "Work") in str(servers["work"]),
    ]
    capsys.readouterr()
    assert main(["install", "--json"]) == 0
    listed = {each["client"]: each for each in json.loads(capsys.readouterr().out)["clients"]}
    assert listed[name]["more"] == {"work": str(home / "Work")}
    assert main(["uninstall", name, "--name", "work"]) == 0
    assert file_of(name).read_bytes() == first


def test_hooks_are_those_of_the_vault_without_a_name(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks = home / ".claude" / "settings.json"
    assert do("install", "claude-code", "--name", "work") == 0
    assert not hooks.exists()
    assert do("install", "claude-code", "--name", "work", "--hooks") == 2
    assert "Hooks speak for one vault" in capsys.readouterr().err
    assert do("install", "claude-code") == 0
    kept = hooks.read_bytes()
    assert do("uninstall", "claude-code", "--name", "work") == 0
    assert hooks.read_bytes() == kept


@pytest.mark.parametrize("given", ["", "two words", "a" * 41, "x.y", '"'])
def test_names_of_entries_are_plain(
    home: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("install", "uninstall"):
        assert do(command, "cursor", "--name", given) == 2
        assert "cannot be the name of an entry" in capsys.readouterr().err
    assert not file_of("cursor").exists()
