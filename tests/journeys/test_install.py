"""Connecting clients: the settings of all eight, fresh, in use, broken and commented."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Run, clean_environment, snapshot
from vaultmem import config
from vaultmem.surfaces.cli import main
from vaultmem.surfaces.clients import files, jsonc
from vaultmem.surfaces.clients.entry import NAME, is_our_hook, starts_vaultmem
from vaultmem.surfaces.clients.known import CLIENTS, Client

LAUNCHER = str(ROOT / "scripts" / "vaultmem")
EVERY = pytest.mark.parametrize("name", CLIENTS)

Do = Callable[..., int]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("VAULTMEM_", "XDG_", "CLAUDE_", "CODEX_", "GEMINI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Brain").mkdir()
    return tmp_path


def do(*words: str) -> int:
    return main([*words, *(() if words[0] == "uninstall" else ("--vault", "Brain"))])


def file_of(name: str) -> Path:
    return CLIENTS[name].file(config.places())


def entry(client: Client, vault: Path) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "stdio"} if client.typed else {}
    return made | {"command": LAUNCHER, "args": ["serve", "--vault", str(vault)]}


def data_of(name: str, raw: bytes | None = None) -> dict[str, Any]:
    text = (file_of(name).read_bytes() if raw is None else raw).decode("utf-8-sig")
    data: dict[str, Any] = tomllib.loads(text) if CLIENTS[name].toml else jsonc.parse(text).plain
    return data


def put(name: str, text: str | bytes) -> Path:
    file = file_of(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def in_use(name: str, *, comments: bool) -> str:
    """Settings as a person has them."""
    if CLIENTS[name].toml:
        text = 'model = "x"\n\n[mcp_servers.other]\ncommand = "npx"\nargs = ["-y", "other"]\n'
        return text.replace("\n\n", " # the model\n\n# servers\n") if comments else text
    under = CLIENTS[name].under
    text = f'{{\n    "theme": "dark",\n    "{under}": {{\n        "other": {{ "command": "npx" }}\n    }},\n    "z": [1, 2]\n}}\n'
    if not comments:
        return text
    text = text.replace('"dark",', '"dark", // my eyes').replace(
        "{\n        ", "{ /* mine */\n        "
    )
    return "// settings\n" + text.replace("1, 2]\n", "1, 2],\n")


# --- the matrix ----------------------------------------------------------------------------


@EVERY
def test_fresh(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert do("install", name) == 0
    said = capsys.readouterr()
    assert str(file_of(name)) in said.out
    assert CLIENTS[name].then in said.err
    assert data_of(name) == {CLIENTS[name].under: {NAME: entry(CLIENTS[name], home / "Brain")}}
    before = snapshot(home)
    assert do("install", name) == 0
    assert "already there" in capsys.readouterr().out
    assert snapshot(home) == before, "the second time nothing is written"
    assert do("uninstall", name) == 0
    assert snapshot(home) == {}, "what install made alone goes again"


@EVERY
@pytest.mark.parametrize("comments", [False, True], ids=["plain", "comments"])
def test_in_use(name: str, comments: bool, home: Path) -> None:
    file = put(name, in_use(name, comments=comments))
    file.chmod(0o600)
    before = file.read_bytes()
    assert do("install", name) == 0
    client, after = CLIENTS[name], file.read_bytes()
    expected = data_of(name, before)
    expected[client.under][NAME] = entry(client, home / "Brain")
    assert data_of(name) == expected
    bytes_of_after = iter(after)
    assert all(byte in bytes_of_after for byte in before), "nothing is taken away or moved"
    backup = file.with_name(file.name + ".vaultmem-backup")
    assert backup.read_bytes() == before
    assert {stat.S_IMODE(f.stat().st_mode) for f in (file, backup)} == {0o600}
    assert do("install", name) == 0
    assert file.read_bytes() == after
    assert do("uninstall", name) == 0
    assert file.read_bytes() == before, "every byte is back"


@EVERY
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_broken(name: str, command: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = in_use(name, comments=False).replace('= "npx"', "= npx").replace(': "dark"', " dark")
    put(name, text)
    before = snapshot(home)
    assert do(command, name) == 2
    said = capsys.readouterr().err
    assert re.search(r"line \d+, column \d+", said), said
    assert str(file_of(name)) in said
    assert "Nothing was changed" in said
    assert snapshot(home) == before


@EVERY
def test_windows_line_ends_a_mark_and_no_last_line_end_stay(name: str, home: Path) -> None:
    text = in_use(name, comments=True).rstrip("\n").replace("\n", "\r\n")
    file = put(name, b"\xef\xbb\xbf" + text.encode())
    before = file.read_bytes()
    assert do("install", name) == 0
    after = file.read_bytes()
    assert after.startswith(b"\xef\xbb\xbf")
    assert after.count(b"\n") == after.count(b"\r\n") > before.count(b"\n")
    assert not after.endswith(b"\n")
    assert NAME in data_of(name)[CLIENTS[name].under]
    assert do("uninstall", name) == 0
    assert file.read_bytes() == before


@EVERY
def test_a_dry_run_shows_the_difference_and_writes_nothing(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(name, in_use(name, comments=True))
    before = snapshot(home)
    for command in ("install", "uninstall"):
        assert do(command, name, "--dry-run") == 0
        assert snapshot(home) == before
    out = capsys.readouterr().out
    assert re.search(r"^\+ .*vaultmem", out, re.MULTILINE) or "+[mcp_servers.vaultmem]" in out
    assert "/Brain" in out


@EVERY
def test_what_a_person_added_to_the_entry_stays(name: str, home: Path) -> None:
    (home / "Other").mkdir()
    assert do("install", name) == 0
    client, file = CLIENTS[name], file_of(name)
    text = file.read_text()
    if client.toml:
        file.write_text(text + 'startup_timeout_sec = 20\n\n[mcp_servers.vaultmem.env]\nA = "b"\n')
    else:
        file.write_text(
            text.replace('"vaultmem": {', '"vaultmem": {\n      "env": { "A": "b" }, // mine')
        )
    assert (
        main(["install", name, "--vault", "Other", "--read-only", "--toolsets", "graph, core"]) == 0
    )
    made = data_of(name)[client.under][NAME]
    assert made["env"] == {"A": "b"}
    options = ["--read-only", "--toolsets", "core,graph"]
    assert made["args"] == ["serve", "--vault", str(home / "Other"), *options]
    assert "// mine" in file.read_text() or client.toml
    assert do("uninstall", name) == 0
    assert data_of(name) == {}


@EVERY
def test_an_entry_of_that_name_that_is_not_ours_is_left_alone(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if CLIENTS[name].toml:
        put(name, '[mcp_servers.vaultmem]\nurl = "http://127.0.0.1:8765/mcp"\n')
    else:
        put(name, json.dumps({CLIENTS[name].under: {NAME: {"url": "http://127.0.0.1:8765/mcp"}}}))
    before = snapshot(home)
    for command in ("install", "uninstall"):
        assert do(command, name) == 2
        assert "so it stays" in capsys.readouterr().err
    assert snapshot(home) == before


# --- awkward files -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": null}', "not a group"),
        ('{"mcpServers": ["x"]}', "not a group"),
        ("[]", "holds no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("\ufeff{}".encode("utf-16"), "UTF-8"),
        ('{"mcpServers": {"vaultmem": "x"}}', "so it stays"),
    ],
)
def test_what_cannot_be_edited_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], text: str | bytes, words: str
) -> None:
    put("cursor", text)
    before = snapshot(home)
    assert do("install", "cursor") == 2
    assert words in capsys.readouterr().err
    assert snapshot(home) == before


def test_an_inline_table_is_refused_with_what_to_add(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put("codex", 'mcp_servers = { other = { command = "npx" } }\n')
    before = snapshot(home)
    assert do("install", "codex") == 2
    said = capsys.readouterr().err
    assert "by hand" in said
    assert "[mcp_servers.vaultmem]" in said
    assert snapshot(home) == before


@pytest.mark.parametrize("text", ["", "\n", "{}", " { } \n"])
def test_an_empty_file_is_filled(home: Path, text: str) -> None:
    put("cursor", text)
    assert do("install", "cursor") == 0
    assert NAME in data_of("cursor")["mcpServers"]


@pytest.mark.parametrize("text", ['{"mcpServers": {}}', '{"a": 1}', '{\n  "mcpServers": {}\n}\n'])
def test_an_empty_group_that_was_there_comes_back(home: Path, text: str) -> None:
    file = put("cursor", text)
    assert do("install", "cursor") == 0
    assert do("uninstall", "cursor") == 0
    assert file.read_text() == text


def test_a_link_stays_a_link(home: Path) -> None:
    dotfiles = home / "dotfiles" / "cursor.json"
    dotfiles.parent.mkdir()
    dotfiles.write_text("{}\n")
    file_of("cursor").parent.mkdir()
    file_of("cursor").symlink_to(dotfiles)
    assert do("install", "cursor") == 0
    assert file_of("cursor").is_symlink()
    assert NAME in json.loads(dotfiles.read_text())["mcpServers"]
    assert sorted(f.name for f in dotfiles.parent.iterdir()) == ["cursor.json"]
    assert do("uninstall", "cursor") == 0
    assert dotfiles.read_text() == "{}\n"


def test_older_backups_are_kept(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put("cursor", '{"a": 1}')
    assert do("install", "cursor") == 0
    put("cursor", '{"a": 2}')
    assert do("install", "cursor") == 0
    names = sorted(f.name for f in file.parent.iterdir())
    assert names == ["mcp.json", "mcp.json.vaultmem-backup", "mcp.json.vaultmem-backup-2"]
    assert file.with_name(names[1]).read_text() == '{"a": 1}'
    assert file.with_name(names[2]).read_text() == '{"a": 2}'
    assert names[2] in capsys.readouterr().err


def test_a_client_that_writes_meanwhile_loses_nothing(home: Path) -> None:
    file = put("cursor", '{"a": 1}')
    others = iter([b'{"a": 2}', b'{"a": 3}'])

    def edit(raw: bytes | None) -> bytes:
        assert raw is not None
        if new := next(others, None):
            file.write_bytes(new)
        return raw.replace(b"}", b', "ours": true}')

    done = files.apply(files.Step("server", file, edit))
    assert file.read_bytes() == b'{"a": 3, "ours": true}'
    assert done.before == b'{"a": 3}'


def test_a_file_made_meanwhile_is_not_overwritten(home: Path) -> None:
    file = file_of("cursor")

    def edit(raw: bytes | None) -> bytes:
        if raw is None:
            put("cursor", "{}")
        return (raw or b"") + b" ours"

    files.apply(files.Step("server", file, edit))
    assert file.read_bytes() == b"{} ours"


def test_one_that_never_rests_is_given_up(home: Path) -> None:
    file = put("cursor", "0")

    def edit(raw: bytes | None) -> bytes:
        file.write_bytes((raw or b"") + b"0")
        return b"ours"

    with pytest.raises(Exception, match="all the time"):
        files.apply(files.Step("server", file, edit))
    assert b"ours" not in file.read_bytes()


def test_a_folder_in_its_place_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file_of("cursor").mkdir(parents=True)
    assert do("install", "cursor") == 2
    assert "is not a file" in capsys.readouterr().err


def test_comments_where_a_client_takes_none_are_mentioned(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("claude-desktop", "zed"):
        put(name, in_use(name, comments=True))
        assert do("install", name) == 0
        assert ("reads plain JSON" in capsys.readouterr().err) == (name == "claude-desktop")


# --- hooks ---------------------------------------------------------------------------------


def settings() -> Path:
    return Path(os.environ["HOME"]) / ".claude" / "settings.json"


def with_hooks(text: str) -> bytes:
    settings().parent.mkdir(exist_ok=True)
    settings().write_text(text)
    return text.encode()


def hooks_now() -> list[tuple[str, str, str]]:
    found = jsonc.parse(settings().read_text()).plain.get("hooks", {})
    return [
        (event, group.get("matcher", ""), handler["command"])
        for event, groups in found.items()
        for group in groups
        for handler in group["hooks"]
    ]


MINE = """{
  "model": "opus", // the best
  "hooks": {
    "Stop": [],
    "PostToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "say done" }] }
    ],
    "SessionStart": [{ "hooks": [
      { "type": "command", "command": "vaultmem hook --vault ~/x | tee log" }
    ] }]
  }
}
"""


def test_hooks_go_beside_a_persons_own_and_away_again(home: Path) -> None:
    before = with_hooks(MINE)
    theirs = hooks_now()
    assert do("install", "claude-code") == 0
    command = f"{LAUNCHER} hook --vault {home / 'Brain'}"
    now = hooks_now()
    assert [hook for hook in now if hook[2] != command] == theirs
    assert {hook[0] for hook in now if hook[2] == command} == {
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
        *("PostCompact", "SessionEnd"),
    }
    after = settings().read_bytes()
    assert do("install", "claude-code") == 0
    assert settings().read_bytes() == after
    assert do("uninstall", "claude-code") == 0
    assert settings().read_bytes() == before


def test_older_hooks_of_ours_are_replaced(home: Path) -> None:
    with_hooks(
        """{"hooks": {"SessionStart": [{"hooks": [
            {"type": "command", "command": "vaultmem hook --vault ~/Old", "timeout": 3},
            {"type": "command", "command": "date"}]}],
        "PreCompact": [{"hooks": [{"type": "command", "command": "/x/python -m vaultmem hook"}]}]}}"""
    )
    assert do("install", "claude-code") == 0
    now = hooks_now()
    assert ("SessionStart", "", "date") in now
    assert "PreCompact" not in {event for event, _, _ in now}
    assert all("Old" not in command for _, _, command in now)
    assert len(now) == 7
    assert do("uninstall", "claude-code") == 0
    assert hooks_now() == [("SessionStart", "", "date")]


@pytest.mark.parametrize("options", [["--no-hooks"], ["--read-only"], ["--project", "Atlas"]])
def test_hooks_can_be_left_out(home: Path, options: list[str]) -> None:
    assert do("install", "claude-code", *options) == 0
    assert not settings().exists()


@pytest.mark.parametrize(
    "words",
    [
        ["claude-code", "--hooks", "--read-only"],
        ["claude-code", "--hooks", "--config", ".mcp.json"],
        ["cursor", "--hooks"],
    ],
)
def test_hooks_where_they_cannot_be_are_refused(home: Path, words: list[str]) -> None:
    assert do("install", *words) == 2
    assert snapshot(home) == {}


def test_broken_hooks_stop_everything_unless_they_are_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_hooks('{"hooks": []}')
    assert do("install", "claude-code") == 2
    assert "--no-hooks" in capsys.readouterr().err
    assert not file_of("claude-code").exists(), "nothing is half done"
    assert do("install", "claude-code", "--no-hooks") == 0


def test_the_plugin_is_noticed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = with_hooks('{"enabledPlugins": {"vaultmem@vaultmem": true}}')
    assert do("install", "claude-code") == 0
    assert "one of the two is enough" in capsys.readouterr().err
    assert settings().read_bytes() == before


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("vaultmem hook", True),
        ("'/a b/vaultmem' hook --vault '/my brain'", True),
        ("C:/x/python.exe -m vaultmem hook --event Stop", True),
        ("vaultmem hook > /dev/null", False),
        ("vaultmem hook; date", False),
        ("vaultmem search x", False),
        ("my-vaultmem hook", False),
        ("vaultmem 'hook", False),
    ],
)
def test_our_hooks_are_known(command: str, ours: bool) -> None:
    assert is_our_hook({"type": "command", "command": command}) == ours


def test_our_entries_are_known() -> None:
    assert starts_vaultmem({"command": "uvx", "args": ["vaultmem", "serve"]})
    assert starts_vaultmem({"command": "C:\\x\\vaultmem.exe", "args": ["serve"]})
    assert not starts_vaultmem({"command": "other", "args": ["serve", "--vault", "/vaultmem"]})
    assert not starts_vaultmem({"command": "vaultmem"})
    assert not starts_vaultmem({"url": "http://x"})


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
    assert "the server makes one" in capsys.readouterr().err
    assert data_of("cursor")["mcpServers"][NAME]["args"][-1] == str(home / "Not yet")
    (home / "file").write_text("x")
    assert main(["install", "cursor", "--vault", "file"]) == 2
    assert main(["install", "cursor", "--vault", "Brain", "--toolsets", "core,nope"]) == 2
    (home / "Brain" / ".vaultmem").mkdir()
    os.chdir(home / "Brain")
    assert main(["install", "cursor"]) == 0
    assert data_of("cursor")["mcpServers"][NAME]["args"][-1] == str(home / "Brain")


def test_another_file_of_the_client(home: Path) -> None:
    assert do("install", "claude-code", "--config", "project/.mcp.json") == 0
    made = json.loads((home / "project" / ".mcp.json").read_text())
    assert made["mcpServers"][NAME]["type"] == "stdio"
    assert not settings().exists()
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


def handshake(words: list[str], environment: dict[str, str]) -> dict[str, Any]:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    hello = {**asked, "params": {**client, "clientInfo": {"name": "t", "version": "1"}}}
    done = subprocess.run(
        words, input=json.dumps(hello) + "\n", env=environment, capture_output=True, text=True,
        timeout=60, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[0])["result"]
    return answer


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
        "from vaultmem.surfaces.clients.entry import this_program\n"
        "sys.executable = sys.argv[2]; print(*this_program(), sep='|')\n"
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
        expected = f"{python.parent}/vaultmem" if installed else f"{python}|-m|vaultmem"
        assert done.stdout.strip() == expected


def test_the_bundle_starts(tmp_path: Path) -> None:
    import zipfile

    bundle = tmp_path / "vaultmem.mcpb"
    subprocess.run([sys.executable, ROOT / "scripts/bundle.py", bundle], check=True, stdout=-1)
    zipfile.ZipFile(bundle).extractall(tmp_path / "bundle")
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    pins = tomllib.loads((tmp_path / "bundle" / "pyproject.toml").read_text())
    assert any(pin.startswith("mcp==") for pin in pins["project"]["dependencies"])
    main_file = tmp_path / "bundle" / manifest["server"]["entry_point"]
    environment = clean_environment(tmp_path) | {"VAULTMEM_VAULT": "${HOME}/Brain"}
    environment.pop("PYTHONPATH")
    answer = handshake([sys.executable, str(main_file)], environment)
    assert answer["serverInfo"]["version"] == manifest["version"]
    assert (tmp_path / "Brain" / ".gitignore").exists()


# --- the plugin and the page ---------------------------------------------------------------

PLUGIN = ROOT / "vaultmem" / "plugin"


def test_the_plugin_says_what_install_says() -> None:
    from vaultmem import __version__
    from vaultmem.surfaces.clients.entry import EVENTS

    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == __version__
    events = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    found = []
    for event, (group,) in events.items():
        (handler,) = group["hooks"]
        assert is_our_hook(handler)
        found.append((event, group.get("matcher", ""), not handler.get("async", False)))
    assert tuple(found) == EVENTS
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"][NAME]
    assert starts_vaultmem(server)
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert (ROOT / market["plugins"][0]["source"]).resolve() == PLUGIN


def test_the_skill_names_tools_that_there_are() -> None:
    from vaultmem.surfaces.mcp.tools import BY_NAME

    text = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text()
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", text)) - {"expected_version"}
    assert named
    assert named <= set(BY_NAME)


@EVERY
def test_the_page_shows_what_install_writes(name: str, home: Path) -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    (mine,) = (each for each in section if each.startswith(f"{name}\n"))
    blocks = re.findall(r"```(?:json|toml)\n(.*?)```", mine, re.DOTALL)
    assert do("install", name) == 0
    written = file_of(name).read_text()
    shown = written.replace(LAUNCHER, "/home/me/vaultmem/scripts/vaultmem")
    assert blocks[0] == shown.replace(str(home / "Brain"), "/home/me/Brain")
