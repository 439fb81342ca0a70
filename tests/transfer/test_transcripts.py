"""Sessions of the past: transcripts of Claude Code and Codex become journals, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.transfer import transcripts
from tests.transfer.test_sources import notes
from tests.transfer.transcripts import ClaudeCode, Codex
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.hooks import answer
from vaultmem.notes import journal
from vaultmem.notes.note import Note, parse
from vaultmem.transfer.importing import Imported
from vaultmem.vault import Vault

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 12


def journals(root: Path) -> list[Note]:
    found = (path for path in notes(root) if path.startswith("Sessions/"))
    return [parse((root / path).read_bytes(), path) for path in found]


def told(note: Note) -> list[str]:
    return [f"{seen.category}: {seen.content}" for seen in journal.journal_entries(note)]


def counted(done: Imported) -> tuple[int, int, int, int, int]:
    return done.added, done.updated, done.here, done.kept, done.left


def gateway(home: Path, number: int = 1) -> ClaudeCode:
    talk = ClaudeCode(home, number)
    talk.ask(f"Fix the clock bug <private>at Acme</private> with the key {SECRET} in the gateway.")
    talk.ask("<system-reminder>noise</system-reminder>", isMeta=True)
    talk.use("Write", {"file_path": "/home/me/code/gateway/auth.py", "content": "S" * 50},
             {"type": "create", "content": "S" * 50})  # fmt: skip
    talk.run("pytest -q", "E   ValueError: bad clock\n1 failed in 0.2s", code=1)
    talk.use("Read", {"file_path": "/etc/hosts"}, "127.0.0.1 a-line-of-output")
    talk.run("pytest -q", "secret-looking output\n3 passed in 0.1s")
    talk.answer("We decided to sign the tokens with RS256.\n\nThe tests pass.")
    talk.ask("[Request interrupted by user]")
    talk.ask("<task-notification>done</task-notification>", promptSource="system")
    talk.ask([{"type": "text", "text": "Let's use port 8443 for the gateway."}])
    talk.answer("The gateway listens on port 8443 now.")
    return talk


def test_a_session_becomes_the_journal_that_hooks_would_have_kept(
    vault: Vault, root: Path, away: Path
) -> None:
    gateway(away).write()
    sub = away / "projects/-home-me-code-gateway" / "x/subagents/agent-1.jsonl"
    transcripts.write_lines(sub, gateway(away, 9).lines)
    (away / "projects/-home-me-code-gateway/memory").mkdir()
    (away / "projects/-home-me-code-gateway/memory/MEMORY.md").write_text("not a session")
    done = vault.import_("claude-code", away)
    assert counted(done) == (1, 0, 0, 0, 0)
    [note] = journals(root)
    assert note.path.startswith("Sessions/2026/2026-03-02 1000 Fix the clock bug with the key")
    assert (note.string("project"), note.string("source")) == ("gateway", "claude-code")
    assert note.string("session") == gateway(away).id
    text = note.text
    assert "Acme" not in text and "a1B2c3D4" not in text and "[redacted" in text
    assert "a-line-of-output" not in text and "secret-looking" not in text and "noise" not in text
    assert text.partition("\n---\n")[2].startswith("Fix the clock bug with the key [redacted")
    assert text.index("## Summary") < text.index("## Log")
    assert told(note) == [
        "change: Wrote auth.py",
        "failure: Test run `pytest -q` failed: exit code 1, E ValueError: bad clock",
        "test: Test run `pytest -q` passed after failing: 3 passed in 0.1s",
        "decision: We decided to sign the tokens with RS256.",
        "prompt: Let's use port 8443 for the gateway.",
        "decision: Let's use port 8443 for the gateway.",
        "ending: The gateway listens on port 8443 now.",
    ]
    assert any("secret_redacted: 1 text" in warning for warning in done.warnings)
    assert any("sub-agents" in warning for warning in done.warnings)
    hits = vault.recall("which port does the gateway use?").memories
    assert note.path in {hit.path for hit in hits}


def test_a_question_and_its_answer_are_a_session(vault: Vault, root: Path, away: Path) -> None:
    talk = ClaudeCode(away)
    talk.ask("Name the port of the gateway.")
    talk.answer("8443.")
    talk.write()
    silent = ClaudeCode(away, 2)
    silent.ask("<command-name>/clear</command-name>")
    silent.write()
    done = vault.import_("claude-code", away)
    assert counted(done) == (1, 0, 0, 0, 0)
    assert any("nothing was asked" in warning for warning in done.warnings)
    [note] = journals(root)
    assert "\nName the port of the gateway.\n" in note.text
    assert counted(vault.import_("claude-code", away)) == (0, 0, 1, 0, 0)


def test_again_it_changes_nothing_and_follows_what_went_on(
    vault: Vault, root: Path, away: Path
) -> None:
    talk = gateway(away)
    talk.write()
    vault.import_("auto", away)
    [before] = journals(root)
    assert counted(vault.import_("claude-code", talk.file)) == (0, 0, 1, 0, 0)
    assert [note.raw for note in journals(root)] == [before.raw]
    talk.ask("Now rotate the signing key of the gateway.")
    talk.write()
    assert counted(vault.import_("claude-code", away)) == (0, 1, 0, 0, 0)
    [after] = journals(root)
    assert after.id == before.id
    assert told(after)[:6] == told(before)[:6]
    assert (
        told(after)[-1] == "open: Left to do: answer “Now rotate the signing key of the gateway.”"
    )
    file = root / after.path
    file.write_bytes(after.raw.replace(b"Wrote auth.py", b"Wrote auth.py, by hand"))
    talk.ask("And the other key of the gateway.")
    talk.write()
    assert counted(vault.import_("claude-code", away)) == (0, 0, 0, 1, 0)
    assert b"by hand" in file.read_bytes()
    file.unlink()
    vault.remember("The vault has other notes.")
    assert vault.import_("claude-code", away).gone == 1
    assert not journals(root)


def test_no_journal_beside_the_one_that_hooks_kept(vault: Vault, root: Path, away: Path) -> None:
    talk = gateway(away)
    talk.write()
    event = {"session_id": talk.id, "cwd": talk.folder}
    answer.to_event(vault, {**event, "hook_event_name": "UserPromptSubmit", "prompt": "Fix it now"})
    edit = {"tool_name": "Write", "tool_input": {"file_path": f"{talk.folder}/auth.py"}}
    answer.to_event(vault, {**event, "hook_event_name": "PostToolUse", **edit})
    [kept] = journals(root)
    assert counted(vault.import_("claude-code", away)) == (0, 0, 1, 0, 0)
    assert [note.raw for note in journals(root)] == [kept.raw]


def test_hooks_go_on_in_an_imported_journal(vault: Vault, root: Path, away: Path) -> None:
    talk = gateway(away)
    talk.write()
    vault.import_("claude-code", away)
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{talk.folder}/port.py"}}
    event = {"hook_event_name": "PostToolUse", "session_id": talk.id, "cwd": talk.folder, **edit}
    answer.to_event(vault, event)
    [note] = journals(root)
    assert "change: Edited port.py; wrote auth.py" in told(note)
    assert "port.py" in journal.journal_summary(note)


def test_a_fork_tells_only_what_is_its_own(vault: Vault, root: Path, away: Path) -> None:
    """Claude Code copies what was said before, with its ids and times, under a new session."""
    old = gateway(away, number=7)
    fork = ClaudeCode(away, number=3)
    fork.lines = [{**line, "sessionId": fork.id} for line in old.lines if isinstance(line, dict)]
    fork.lines.insert(0, {"type": "queue-operation", "timestamp": "2026-03-02T11:00:00.000Z",
                          "sessionId": fork.id, "content": "x"})  # fmt: skip
    fork.ask("Forked: the gateway needs a second port.")
    old.write()
    fork.write()
    assert vault.import_("claude-code", away).added == 2
    second = next(note for note in journals(root) if note.string("session") == fork.id)
    assert told(second) == ["open: Left to do: answer “Forked: the gateway needs a second port.”"]
    assert second.text.count("8443") == 0


def test_odd_and_broken_lines_are_counted_and_cost_nothing_else(
    vault: Vault, root: Path, away: Path
) -> None:
    talk = gateway(away)
    odd = ['{"type":"user","mess', "\x00" * 40, "[1, 2]", '"type":"user"', "", "not json at all"]
    shapes = [
        {"type": "user"},
        {"type": "user", "message": 7},
        {"type": "user", "message": {"content": [None, 3, {"type": "text", "text": 4}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": 3}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": []}]}},
        {"type": "user", "timestamp": "yesterday", "cwd": 5, "message": {"content": "\ud800 x"}},
        {"type": "user", "message": {"content": json.loads("[" * 400 + "]" * 400)}},
    ]
    talk.lines[3:3] = [*odd, *shapes]
    talk.write()
    backup = talk.file.with_name("backup") / talk.file.name
    transcripts.write_lines(backup, talk.lines[:5])
    done = vault.import_("claude-code", away)
    assert counted(done) == (1, 0, 0, 0, 5)
    assert any("copies of the same session" in warning for warning in done.warnings)
    [note] = journals(root)
    assert "decision: We decided to sign the tokens with RS256." in told(note)


OLD_META = {"id": "", "timestamp": "2025-06-01T10:00:00Z", "instructions": None}


def test_codex_of_this_and_of_last_year(vault: Vault, root: Path, away: Path) -> None:
    talk = Codex(away)
    talk.say("user", "<environment_context>\n<cwd>/home/me</cwd>\n</environment_context>")
    talk.say("user", "# AGENTS.md instructions for /home/me\nuse tabs")
    talk.say("developer", "You are Codex.")
    talk.say("user", "Fix the clock bug in the gateway.")
    patch = "*** Begin Patch\n*** Add File: src/auth.py\n+S\n*** Update File: docs/a.md\n@@\n*** End Patch"
    talk.patch(patch, "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.")
    talk.use("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch.replace('auth', 'port')}\nEOF"},
             "Wall time: 0 s\nOutput:\nExit code: 0\nOutput:\nSuccess.")  # fmt: skip
    talk.use("exec_command", {"cmd": "pytest -q"},
             "Chunk ID: 1\nProcess exited with code 1\nOutput:\nE   KeyError: 'kid'\n1 failed in 1s")  # fmt: skip
    talk.use("shell", {"command": ["bash", "-lc", "make build"]},
             json.dumps({"output": "BUILD FAILED", "metadata": {"exit_code": 2}}))  # fmt: skip
    talk.use("update_plan", {"plan": [{"step": "Rotate the key", "status": "pending"}]}, "ok")
    talk.say("assistant", "We decided to keep HS256 for the tests.")
    talk.write()
    old = Codex(away, number=2)
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text":
            "# Context from my IDE setup:\n\n## My request for Codex:\nName the old gateway."}]}  # fmt: skip
    old.lines = [OLD_META, {"record_type": "state"}, item]
    old.write()
    agent = Codex(away, number=3)
    agent.lines = [{"type": "session_meta", "payload": {"id": agent.id,
                    "source": {"subagent": "review"}}}, *talk.lines[1:]]  # fmt: skip
    agent.write()
    assert counted(vault.import_("auto", away)) == (2, 0, 0, 0, 0)
    new = next(note for note in journals(root) if note.string("session") == talk.id)
    assert new.string("project") == "gateway" and new.string("source") == "codex"
    assert "Fix the clock bug in the gateway.\n" in new.text and "use tabs" not in new.text
    assert told(new) == [
        "change: Edited docs/a.md; wrote src/auth.py, src/port.py",
        "failure: Test run `pytest -q` failed: exit code 1, E KeyError: 'kid'",
        "failure: `make build` failed: exit code 2, BUILD FAILED",
        "open: Left to do: Rotate the key",
        "decision: We decided to keep HS256 for the tests.",
        "ending: We decided to keep HS256 for the tests.",
    ]
    assert (
        "Name the old gateway."
        in next(n for n in journals(root) if n.string("session") == old.id).text
    )
    assert counted(vault.import_("codex", away)) == (0, 0, 2, 0, 0)


def test_whoever_is_bound_to_a_project_imports_its_sessions_alone(
    open_vault: Open, root: Path, away: Path
) -> None:
    gateway(away).write()
    other = ClaudeCode(away, 2, "/home/me/code/other")
    other.ask("Something else entirely, for others.")
    other.write()
    done = open_vault(project="gateway").import_("claude-code", away)
    assert (done.added, done.left) == (1, 1)


def test_the_command_knows_where_the_programs_keep_them(
    vault: Vault, root: Path, away: Path
) -> None:
    gateway(away / "claude").write()
    moved = {"CLAUDE_CONFIG_DIR": str(away / "claude"), "CODEX_HOME": str(away / "none")}
    env = {**os.environ, **moved, "VAULTMEM_MODEL": "off"}

    def run(source: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "vaultmem", "import", source, "--vault", str(root)]
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)

    done = run("claude-code")
    assert (done.returncode, "1 added" in done.stdout) == (0, True), done.stderr
    missing = run("codex")
    assert missing.returncode == 1 and "There are no transcripts in" in missing.stderr
    with pytest.raises(InvalidInput, match="What is to be imported"):
        vault.import_("mem0")
    with pytest.raises(NotFound):
        vault.import_("codex", away / "nowhere")
