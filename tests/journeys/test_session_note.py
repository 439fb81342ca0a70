"""The note that a session leaves: a day's events, each to a process of its own, as a person reads it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.conftest import FIXTURES, Ran
from tests.journeys.test_hook_command import UNHURRIED, environment, hook
from vaultmem.vault import Vault

EVENTS: list[dict[str, Any]] = json.loads((FIXTURES / "claude-session.json").read_text())
TAKES_CONTEXT = {"SessionStart", "UserPromptSubmit"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "Brain" / ".vaultmem").mkdir(parents=True)
    return tmp_path / "Brain"


def notes_of(vault: Path) -> list[Path]:
    return sorted((vault / "Sessions").rglob("*.md"))


def masked(note: Path) -> str:
    """Without what is another each time: times and ids."""
    text = f"{note.stem}\n{note.read_text()}"
    text = re.sub(r"\d{4}-\d\d-\d\d \d{4}", "DAY TIME", text)
    text = re.sub(r"\b(created|updated): \S+", r"\1: MOMENT", text)
    text = re.sub(r"\bid: \S+|\^01\w{24}", "ID", text)
    return re.sub(r"\*\*\d\d:\d\d:\d\d\*\*", "**TIME**", text)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vault = tmp_path_factory.mktemp("told") / "Brain"
    (vault / ".vaultmem").mkdir(parents=True)
    for event in EVENTS:
        ran = hook(vault, event)
        assert (ran.code, ran.err) == (0, ""), event
        assert not ran.out or event["hook_event_name"] in TAKES_CONTEXT
    return vault


def test_a_session_leaves_a_note_that_a_person_reads(told: Path) -> None:
    (note,) = notes_of(told)
    assert masked(note) == (FIXTURES / "session-note.md").read_text()


def test_nothing_private_secret_or_of_a_files_contents_is_kept(told: Path) -> None:
    kept = b"".join(file.read_bytes() for file in told.rglob("*") if file.is_file())
    for never in (b"correct-horse", b"ghp_aB3d", b"NEW CONTENTS", b"OLD CONTENTS"):
        assert never not in kept


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how did the test run end", "14 passed"),
        ("did the deploy to the test stage work", "Successfully deployed atlas 2.4.2"),
        ("which files changed when users were logged out in a second tab", "src/auth.py"),
        ("why was the registry push refused", "denied: requested access"),
        ("what was committed about the grace period", "Count the grace period from first use"),
    ],
)
def test_what_happened_is_recalled_later(told: Path, question: str, answer: str) -> None:
    with Vault.open(told, {"model": "off"}) as vault:
        found = vault.recall(question, type="episodic", limit=3).memories
        assert any(answer in hit.content for hit in vault.get([h.id for h in found]).memories), [
            hit.snippet for hit in found
        ]
        whole = vault.recall(question, limit=5).memories
        assert any(hit.path == "" or "Sessions/" in hit.path for hit in whole)


def test_a_session_that_is_killed_has_a_note_at_every_moment(vault: Path) -> None:
    """Whatever event is the last one."""
    with Vault.open(vault) as opened:
        from vaultmem.hooks import answer

        for event in EVENTS[:-1]:
            answer.to_event(opened, event)
            for note in notes_of(vault):
                text = note.read_text()
                first, summary, log = re.split(r"\n\n## (?:Summary|Log)\n\n", text)
                assert first.endswith("fix it in src/auth.py with a test.")
                assert 1 <= len(summary.splitlines()) <= 5
                assert all(line.startswith("- **") for line in log.splitlines())
        before = notes_of(vault)[0].read_text()
        answer.to_event(opened, EVENTS[-1])
        assert notes_of(vault)[0].read_text() == before


def test_a_session_that_is_resumed_goes_on_in_its_note(told: Path, tmp_path: Path) -> None:
    vault = Path(shutil.copytree(told, tmp_path / "Brain"))
    (note,) = notes_of(vault)
    common = {name: EVENTS[0][name] for name in ("session_id", "cwd", "transcript_path")}
    for more in (
        {"hook_event_name": "SessionStart", "source": "resume"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Open the pull request and bump the version"},
        {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": {"file_path": "/home/me/Atlas/src/auth.py"}},
        {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": {"file_path": "/home/me/Atlas/pyproject.toml"}},
        {"hook_event_name": "SessionEnd", "reason": "other"},
    ):  # fmt: skip
        assert hook(vault, {**common, **more}).code == 0
    assert notes_of(vault) == [note]
    text = note.read_text()
    assert text.count("change: ") == 1, "files are one line"
    assert "docs/tokens.md, pyproject.toml; wrote tests/test_two_tabs.py" in text
    assert text.count("src/auth.py, ") == 2, "in the log, and in the summary"
    assert "answer “Open the pull request and bump the version”" in text, "nobody did"


def test_sessions_at_once_have_notes_of_their_own(vault: Path) -> None:
    """Two windows of one project, whose tools end at the same time."""

    def event(session: str, number: int) -> bytes:
        given = {"file_path": f"/home/me/Atlas/src/{session}{number}.py"}
        common = {"session_id": session, "cwd": "/home/me/Atlas", "tool_name": "Edit"}
        told = {**common, "hook_event_name": "PostToolUse", "tool_input": given}
        return json.dumps(told).encode()

    for session in ("one", "two"):
        asked = {"hook_event_name": "UserPromptSubmit", "prompt": f"Rework the {session} module"}
        hook(vault, {**asked, "session_id": session, "cwd": "/home/me/Atlas"})
    running = [
        nursery.Popen(
            [sys.executable, "-c", UNHURRIED, "hook"], stdin=subprocess.PIPE,
            env=environment(vault.parent, vault), cwd=vault.parent,
        )
        for _ in range(8)
    ]  # fmt: skip
    for number, process in enumerate(running):
        assert process.stdin is not None
        process.stdin.write(event(("one", "two")[number % 2], number))
        process.stdin.close()
    assert [process.wait(timeout=120) for process in running] == [0] * 8
    notes = {re.sub(r"^[\d -]+", "", note.stem): note.read_text() for note in notes_of(vault)}
    assert sorted(notes) == ["Rework the one module", "Rework the two module"]
    for session, first in (("one", 0), ("two", 1)):
        text = notes[f"Rework the {session} module"]
        assert text.count("change: ") == 1
        assert all(text.count(f"src/{session}{n}.py") == 2 for n in range(first, 8, 2))


def test_the_answer_is_read_from_the_transcript_where_the_event_has_none(vault: Path) -> None:
    def line(kind: str, content: Any, **more: Any) -> str:
        return json.dumps({"type": kind, "message": {"role": kind, "content": content}, **more})

    said = [{"type": "text", "text": "The cache is cleared at midnight now."}]
    transcript = vault.parent / "s.jsonl"
    transcript.write_text(
        "\n".join(
            (
                "x" * 900_000,
                line("assistant", [{"type": "text", "text": "An earlier answer entirely."}]),
                line("user", "Clear the cache at midnight"),
                "{not json",
                "[" * 5_000,
                line("assistant", said),
                line("user", [{"type": "tool_result", "content": "x"}]),
                line("assistant", [{"type": "tool_use", "name": "Bash"}]),
                line("assistant", "A sub-agent's answer is not it.", isSidechain=True),
                '{"type": "assistant", "message": 7}',
                '{"type": "summary", "half a li',
            )
        )
    )
    common = {"session_id": "s", "cwd": "/home/me/Atlas", "transcript_path": str(transcript)}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "/home/me/Atlas/cache.py"}}
    hook(vault, {**common, "hook_event_name": "PostToolUse", **edit})
    assert hook(vault, {**common, "hook_event_name": "Stop"}) == Ran(0, "", "")
    (note,) = notes_of(vault)
    assert "- Ended: The cache is cleared at midnight now.\n" in note.read_text()


@pytest.mark.parametrize(
    "place", ["/no/such.jsonl", "/dev/zero", "relative.jsonl", "/etc/passwd", ""]
)
def test_a_transcript_that_cannot_be_read_stops_nobody(vault: Path, place: str) -> None:
    stop = {"session_id": "s", "cwd": "/x", "hook_event_name": "Stop", "transcript_path": place}
    assert hook(vault, stop) == Ran(0, "", "")
    assert not (vault / "Sessions").exists()


def test_a_session_where_nothing_happened_leaves_no_note(vault: Path) -> None:
    quiet = [e for e in EVENTS if e["hook_event_name"] not in ("PostToolUse", "PostToolUseFailure")]
    looks = [
        e
        for e in EVENTS
        if e.get("tool_input", {}).get("command", "").startswith(("ls", "git st", "cat"))
    ]
    assert len(looks) == 3
    for event in (*quiet[:4], *looks, quiet[-1]):
        assert hook(vault, event).code == 0
    assert not (vault / "Sessions").exists()
