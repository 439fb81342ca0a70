"""Hooks in Claude Code's settings, beside a person's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.clients.client_files import LAUNCHER, do, file_of
from tests.conftest import snapshot
from vaultmem.clients import json_edit
from vaultmem.clients.catalogue import CLIENTS
from vaultmem.clients.our_entry import is_our_hook, starts_vaultmem

EVERY = pytest.mark.parametrize("name", CLIENTS)


# --- hooks ---------------------------------------------------------------------------------


def settings() -> Path:
    return Path(os.environ["HOME"]) / ".claude" / "settings.json"


def with_hooks(text: str) -> bytes:
    settings().parent.mkdir(exist_ok=True)
    settings().write_text(text)
    return text.encode()


def hooks_now() -> list[tuple[str, str, str]]:
    found = json_edit.parse_jsonc(settings().read_text()).plain.get("hooks", {})
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
