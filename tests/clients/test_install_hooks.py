"""Hooks in Claude Code's settings, beside a person's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.clients.client_files import LAUNCHER, do, file_of, put
from tests.clients.conftest import ClaudeSays
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
        (event, group.get("matcher", ""), handler.get("command") or handler["server"])
        for event, groups in found.items()
        for group in groups
        for handler in group["hooks"]
    ]


MINE = """{
  "model": "opus", // the best
  "hooks": {
    "Notification": [],
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
        *("Stop", "PostCompact", "SessionEnd"),
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
    assert len(now) == 8
    assert do("uninstall", "claude-code") == 0
    assert hooks_now() == [("SessionStart", "", "date")]


# --- hooks that ask the server --------------------------------------------------------------

ASKED = ["UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"]
STARTED = ["SessionStart", "PostCompact", "SessionEnd"]


def kinds_now() -> dict[str, str]:
    groups = json_edit.parse_jsonc(settings().read_text()).plain.get("hooks", {})
    return {event: group[-1]["hooks"][-1]["type"] for event, group in groups.items() if group}


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        ("echo '2.1.282 (Claude Code)'", True),
        ("echo '2.1.325 (Claude Code)'", True),
        ("echo '3.0.0'; echo of another line", True),
        ("echo '2.1.281 (Claude Code)'", False),
        ("echo '2.0.999 (Claude Code)'", False),
        ("echo 'no number'", False),
        ("echo '2.1.325 (Claude Code)'; exit 1", False),
        ("kill -9 $$", False),
    ],
)
def test_hooks_ask_the_server_where_claude_code_can(
    home: Path, claude_says: ClaudeSays, answer: str, asks: bool
) -> None:
    """An older one would ignore the whole file for a kind of hook that it does not know."""
    claude_says(answer)
    assert do("install", "claude-code") == 0
    kind = "mcp_tool" if asks else "command"
    assert kinds_now() == dict.fromkeys(ASKED, kind) | dict.fromkeys(STARTED, "command")


def test_what_is_written_for_a_hook_that_asks(home: Path, claude_says: ClaudeSays) -> None:
    claude_says("echo '2.1.325 (Claude Code)'")
    assert do("install", "claude-code") == 0
    written = json_edit.parse_jsonc(settings().read_text()).plain["hooks"]
    assert written["PostToolUseFailure"] == [
        {
            "matcher": "Bash",
            "hooks": [
                {
                    "type": "mcp_tool",
                    "server": "vaultmem",
                    "tool": "hook_event",
                    "input": {
                        "hook_event_name": "${hook_event_name}",
                        "session_id": "${session_id}",
                        "cwd": "${cwd}",
                        "agent_id": "${agent_id}",
                        "tool_name": "${tool_name}",
                        "tool_input": "${tool_input}",
                        "error": "${error}",
                        "is_interrupt": "${is_interrupt}",
                    },
                    "timeout": 5,
                }
            ],
        }
    ]


def test_installing_again_follows_the_version(home: Path, claude_says: ClaudeSays) -> None:
    before = with_hooks(MINE)
    for answer, kind in [
        ("exit 1", "command"),
        ("echo '2.1.325 (Claude Code)'", "mcp_tool"),
        ("echo '2.1.200 (Claude Code)'", "command"),
        ("echo '2.1.326 (Claude Code)'", "mcp_tool"),
    ]:
        claude_says(answer)
        assert do("install", "claude-code") == 0
        assert {kinds_now()[event] for event in ASKED} == {kind}
        assert len(hooks_now()) == 9, "our seven beside two of a person's own"
        after = settings().read_bytes()
        assert do("install", "claude-code") == 0
        assert settings().read_bytes() == after, "the second time nothing is written"
    assert do("uninstall", "claude-code") == 0
    assert settings().read_bytes() == before, "every byte is back"


def test_a_dry_run_shows_the_hooks_that_ask(
    home: Path, claude_says: ClaudeSays, capsys: pytest.CaptureFixture[str]
) -> None:
    claude_says("echo '2.1.325 (Claude Code)'")
    assert do("install", "claude-code", "--dry-run") == 0
    said = capsys.readouterr().out
    assert said.count('"type": "mcp_tool"') == 4 and said.count('"type": "command"') == 3
    assert snapshot(home) == {}


def test_who_has_an_older_claude_code_is_told(
    home: Path, claude_says: ClaudeSays, capsys: pytest.CaptureFixture[str]
) -> None:
    claude_says("echo '2.1.200 (Claude Code)'")
    assert do("install", "claude-code") == 0
    assert "From 2.1.282 on its hooks ask the connected server" in capsys.readouterr().err
    claude_says("echo '2.1.325 (Claude Code)'")
    assert do("install", "claude-code") == 0
    assert "2.1.282" not in capsys.readouterr().err


def on_no_path(claude_says: ClaudeSays) -> Path:
    """The program, taken off the PATH, where this machine has none of its own."""
    program = claude_says("echo '2.1.325 (Claude Code)'").rename(settings().parents[1] / "claude")
    if shutil.which("claude"):
        pytest.skip("a Claude Code is installed on this machine")
    return program


def test_a_claude_that_is_on_no_path_is_found(home: Path, claude_says: ClaudeSays) -> None:
    place = home / ".local" / "bin" / "claude"
    place.parent.mkdir(parents=True)
    on_no_path(claude_says).rename(place)
    assert do("install", "claude-code") == 0
    assert kinds_now()["Stop"] == "mcp_tool"


@pytest.mark.parametrize(
    ("noted", "asks"),
    [
        ('{"firstStartVersion": "2.1.300"}', True),
        ('{"firstStartVersion": "2.0.1", "lastReleaseNotesSeen": "2.1.325"}', True),
        ('{"firstStartVersion": "2.0.1", "lastOnboardingVersion": null}', False),
        ('{"numStartups": 7}', False),
        (None, False),
    ],
)
def test_without_a_program_its_settings_tell(
    home: Path, claude_says: ClaudeSays, noted: str | None, asks: bool
) -> None:
    """An editor's extension brings a Claude Code that is on no path."""
    on_no_path(claude_says).unlink()
    if noted:
        put("claude-code", noted)
    assert do("install", "claude-code") == 0
    assert (kinds_now()["Stop"] == "mcp_tool") == asks


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


@pytest.mark.parametrize(
    ("server", "tool", "ours"),
    [
        ("vaultmem", "hook_event", True),
        ("vaultmem", "recall_memories", False),
        ("work", "hook_event", False),
        (None, None, False),
    ],
)
def test_our_hooks_that_ask_are_known(server: str | None, tool: str | None, ours: bool) -> None:
    assert is_our_hook({"type": "mcp_tool", "server": server, "tool": tool}) == ours


def test_our_entries_are_known() -> None:
    assert starts_vaultmem({"command": "uvx", "args": ["vaultmem", "serve"]})
    assert starts_vaultmem({"command": "C:\\x\\vaultmem.exe", "args": ["serve"]})
    assert not starts_vaultmem({"command": "other", "args": ["serve", "--vault", "/vaultmem"]})
    assert not starts_vaultmem({"command": "vaultmem"})
    assert not starts_vaultmem({"url": "http://x"})
