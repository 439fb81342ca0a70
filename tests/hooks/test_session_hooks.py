"""What a session's journal holds: bounded, without secrets, and read back as it was written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open, snapshot
from vaultmem.hooks import answer
from vaultmem.notes import journal
from vaultmem.notes.journal_text import work_lines
from vaultmem.notes.note import parse
from vaultmem.operations.agent_work.last_answer import ending_of, left_to_do
from vaultmem.vault import Vault

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD2fG4"


def happens(vault: Vault, name: str, session: str = "s", **fields: Any) -> dict[str, Any]:
    common = {"session_id": session, "cwd": "/home/me/Atlas"}
    return answer.to_event(vault, {**common, "hook_event_name": name, **fields})


def edits(vault: Vault, path: str, session: str = "s") -> None:
    happens(vault, "PostToolUse", session, tool_name="Edit", tool_input={"file_path": path})


def runs(vault: Vault, command: str, output: str, *, failed: bool = False) -> None:
    given = {"tool_name": "Bash", "tool_input": {"command": command}}
    if failed:
        happens(vault, "PostToolUseFailure", **given, error=f"Exit code 1\n{output}")
    else:
        happens(vault, "PostToolUse", **given, tool_response={"stdout": output, "stderr": ""})


def note_of(root: Path) -> Path:
    (note,) = (root / "Sessions").rglob("*.md")
    return note


def entries(root: Path) -> list[tuple[str, str]]:
    note = parse(note_of(root).read_bytes())
    assert not note.problems
    return [(seen.category, seen.content) for seen in journal.journal_entries(note)]


# --- what it is called -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "name", "first"),
    [
        ("Fix the grace period. It is wrong.", "Fix the grace period", "Fix the grace period. It is wrong."),
        ("Hi!\nRename the gateway module", "Rename the gateway module", "Hi! Rename the gateway module"),
        ("```\nTraceback x\n```\nWhat broke the queue here?", "What broke the queue here", "What broke the queue here?"),
        ("Why is this slow?\n```\n" + "x = 1\n" * 5_000 + "```\n", "Why is this slow", "Why is this slow?"),
        ("<ide_opened_file>secret.py</ide_opened_file>[Image #1] Align the buttons", "Align the buttons", "Align the buttons"),
        ("Traceback (most recent call last):\n  File \"a.py\", line 3\n    load(x)\nValueError: x\n\nwhy since yesterday?",
         "why since yesterday", "why since yesterday?"),
        ("# Plan\n- move tokens", "Plan - move tokens", "\\# Plan - move tokens"),
        ("令牌轮换的宽限期不对。请修复。", "令牌轮换的宽限期不对", "令牌轮换的宽限期不对。请修复。"),
        ("Deploy with " + TOKEN + " now", "Deploy with redacted github token now", "Deploy with [redacted: github token] now"),
        ("Log in as <private>ada:4711</private> and export users", "Log in as and export users", "Log in as and export users"),
        ("The export drops the very last row of the sheet whenever somebody asks for all of the rows.",
         "The export drops the very last row of the sheet whenever somebody asks", None),
        ("word " * 200, " ".join(["word"] * 16), None),
        ("[[Atlas]] %% and #tag <!-- x", "Atlas %% and tag !-- x", "\\[\\[Atlas]] % % and \\#tag < ! - x"),
    ],
)  # fmt: skip
def test_the_first_request_is_name_and_first_line(
    vault: Vault, root: Path, prompt: str, name: str, first: str | None
) -> None:
    happens(vault, "UserPromptSubmit", prompt="ok thanks")
    happens(vault, "UserPromptSubmit", prompt=prompt)
    happens(vault, "UserPromptSubmit", prompt="And now something else entirely")
    edits(vault, "/home/me/Other/../Atlas/a.py")
    stem = re.sub(r"^\d{4}-\d\d-\d\d \d{4} ", "", note_of(root).stem)
    note = parse(note_of(root).read_bytes())
    assert stem == re.sub(r"[#\[\]<>]", "", name).strip() or stem == name
    said = note.body.partition("\n")[0]
    assert first is None or said == first
    assert len(said) <= 440 and len(stem) <= 80
    assert [head.text for head in note.headings] == ["Summary", "Log"]
    assert not note.links and not note.tags and entries(root) == [("change", "Edited a.py")]


def test_without_hooks_a_journal_is_named_by_what_was_logged_first(
    vault: Vault, root: Path
) -> None:
    vault.log("Count the grace period from first use. Tabs share it.", session_id="s")
    assert note_of(root).stem[16:] == "Count the grace period from first use"


def test_an_agents_own_lines_are_in_the_summary_at_once(vault: Vault, root: Path) -> None:
    happens(vault, "UserPromptSubmit", prompt="Fix the grace period")
    edits(vault, "/home/me/Atlas/a.py")
    vault.log("Count it from first use", type="decision", session_id="s")
    vault.log("Both tabs share a token", type="discovery", session_id="s")
    edits(vault, "/home/me/Atlas/b.py")
    text = note_of(root).read_text()
    lines = ["- Decided: Count it from first use", "- Learned: Both tabs share a token"]
    assert "\n".join([*lines, "- Changed: a.py, b.py"]) in text


def test_a_persons_words_stay(vault: Vault, root: Path) -> None:
    happens(vault, "UserPromptSubmit", prompt="Fix the grace period")
    edits(vault, "/home/me/Atlas/a.py")
    file = note_of(root)
    mine = file.read_text().replace("- Changed: a.py", "Mine: it was a bad day.")
    mine = mine.replace("Edited a.py", "Edited a.py, which hurt")
    file.write_text(mine.replace("## Log", "My own line.\n\n## Log"))
    edits(vault, "/home/me/Atlas/b.py")
    text = file.read_text()
    assert "Mine: it was a bad day." in text and "My own line." in text
    assert entries(root) == [("change", "Edited a.py, which hurt"), ("change", "Edited b.py")]


def test_a_summary_that_was_given_stays(vault: Vault, root: Path) -> None:
    edits(vault, "/home/me/Atlas/a.py")
    vault.end_session(session_id="s", summary="All of it is done.")
    edits(vault, "/home/me/Atlas/b.py")
    assert "## Summary\n\nAll of it is done.\n\n## Log" in note_of(root).read_text()


# --- bounds ------------------------------------------------------------------------------------


def test_many_files_are_one_line(vault: Vault, root: Path) -> None:
    for number in [*range(40), *range(40)]:
        edits(vault, f"/home/me/Atlas/src/file_{number}.py")
    ((kind, line),) = entries(root)
    assert kind == "change" and line.endswith("src/file_19.py and 20 more")
    assert "- Changed: src/file_0.py, src/file_1.py" in note_of(root).read_text()
    assert "src/file_5.py and 34 more\n" in note_of(root).read_text()


def test_a_command_that_keeps_failing_is_told_once_until_it_passes(
    vault: Vault, root: Path
) -> None:
    for took in ("0.3s", "0.4s"):
        runs(vault, "pytest -q", f"FAILED a.py::b - x\n1 failed in {took}", failed=True)
    runs(vault, "curl x", "fatal: no route", failed=True)
    for took in ("1.3s", "1.4s"):
        runs(vault, "pytest -q 2>&1 | tail -5", f"3 passed in {took}")
    runs(vault, "curl x", "")
    runs(vault, "curl x", "")
    runs(vault, "curl y", "")
    assert entries(root) == [
        ("failure", "Test run `pytest -q` failed: exit code 1, FAILED a.py::b - x"),
        ("failure", "`curl x` failed: exit code 1, fatal: no route"),
        ("test", "Test run `pytest -q` passed after failing: 3 passed in 1.3s"),
        ("command", "`curl x` passed after failing"),
    ]


def test_a_note_stays_readable_however_much_happens(vault: Vault, root: Path) -> None:
    happens(vault, "UserPromptSubmit", prompt="Make everything work " * 400)
    for number in range(90):
        runs(
            vault,
            f"pytest tests/{number}.py " + "x" * 3_000,
            f"Error: {number} " + "y" * 5_000,
            failed=True,
        )
    for number in range(30):
        todos = [
            {"content": f"Item {number} {i} " + "z" * 900, "status": "pending"} for i in range(90)
        ]
        happens(vault, "PostToolUse", tool_name="TodoWrite", tool_input={"todos": todos})
        happens(vault, "Stop", last_assistant_message=f"Result {number} is in. " * 3_000)
    found = entries(root)
    assert len(found) == work_lines.MOST_RUNS + 2
    assert max(len(text) for _, text in found) < 2_000
    assert note_of(root).stat().st_size < 60_000
    summary = journal.journal_summary(parse(note_of(root).read_bytes()))
    assert len(summary.splitlines()) <= 5 and len(summary) < 2_500
    kept = json.loads((root / ".vaultmem/local/hooks/s.json").read_text())
    assert len(json.dumps(kept)) < 60_000


ODD = [
    "x" * 300_000,
    "\x00\x1b[31m\xff",
    f"token {TOKEN} " * 3,
    "<private>p4ss</private> y",
    "%% a $$ [[b]]",
]


@pytest.mark.parametrize(
    "odd", [*ODD, "`" * 9, "^id", "#tag", "## Log", "<private>p4ss", "\u2028a\r\nb"]
)
def test_hostile_texts_do_nothing_in_a_note(vault: Vault, root: Path, odd: str) -> None:
    happens(vault, "UserPromptSubmit", prompt=f"Repair it {odd}")
    edits(vault, f"/home/me/Atlas/{odd[:3_000]}.py")
    runs(vault, f"run {odd}", f"Error: {odd}\nError: last {odd}", failed=True)
    runs(vault, "pytest", f"{odd}\nFAILED a.py::b - {odd}", failed=True)
    happens(vault, "PostToolUse", tool_name="TodoWrite", tool_input={"todos": [{"content": odd}]})
    happens(vault, "Stop", last_assistant_message=f"It says {odd} now. And that is the end of it.")
    note = parse(note_of(root).read_bytes())
    assert not note.problems and [head.text for head in note.headings] == ["Summary", "Log"]
    assert not note.links and not note.tags
    assert all("\n" not in text for _, text in entries(root))
    assert "```" not in note.body
    kept = b"".join(raw for raw, _ in snapshot(root).values())
    assert TOKEN.encode() not in kept and b"p4ss" not in kept


@settings(max_examples=60)
@given(
    st.lists(st.text(min_size=1, max_size=30).filter(lambda t: t.strip()), min_size=1, max_size=25)
)
def test_a_line_of_files_is_read_back(paths: list[str]) -> None:
    clean = [p for p in dict.fromkeys(" ".join(p.split()).replace("`", "'") for p in paths) if p]
    for edited, wrote in ((clean, []), ([], clean), (clean[::2], clean[1::2])):
        files = work_lines.ChangedFiles(tuple(edited), tuple(wrote), 3)
        if files.names:
            assert work_lines.files_of_line(work_lines.files_line(files)) == files


# --- what is left, and how it ended --------------------------------------------------------------


ANSWER = """Perfect!

The cause was the **grace period**: it was counted from issue. It is counted from first use now.

- `src/auth.py`

**Next steps:**
1. Update the docs. They are old.
2. Tell the gateway team
- [x] done already

Shall I deploy it to staging?"""


def test_what_an_answer_says() -> None:
    assert ending_of(ANSWER) == (
        "The cause was the grace period: it was counted from issue. It is counted from first use now."
    )
    assert left_to_do(ANSWER) == [
        "Update the docs",
        "Tell the gateway team",
        "answer “Shall I deploy it to staging?”",
    ]
    assert ending_of("Done.") == ending_of("") == ending_of("```\ncode\n```") == ""
    assert left_to_do("What is left of it is nothing.\n\n- a\n- b") == []


def test_what_is_left_goes_when_it_is_done(vault: Vault, root: Path) -> None:
    def task(tool: str, number: str, response: Any = None, **given: Any) -> None:
        happens(
            vault, "PostToolUse", tool_name=tool, tool_input=given, tool_response=response or {}
        )

    edits(vault, "/home/me/Atlas/a.py")
    task("TaskCreate", "1", {"task": {"id": "1"}}, subject="Write the test")
    task("TaskCreate", "2", {"task": {"id": "2"}}, subject="Fix it; then deploy")
    assert entries(root)[-1] == ("open", "Left to do: Write the test; Fix it, then deploy")
    happens(vault, "Stop", last_assistant_message=ANSWER)
    assert "Tell the gateway team" in entries(root)[1][1]
    for number in ("1", "2"):
        task("TaskUpdate", number, taskId=number, status="completed")
    happens(vault, "Stop", last_assistant_message="All of that has been deployed to staging.")
    told = [entry for entry in entries(root)[1:] if entry[0] != "discovery"]
    assert told == [
        ("open", "Nothing is left to do."),
        ("ending", "All of that has been deployed to staging."),
    ]
    assert "Left to do" not in note_of(root).read_text().partition("## Log")[0]


def test_questions_alone_leave_a_note_from_the_third_on(vault: Vault, root: Path) -> None:
    for number, subject in enumerate(("Postgres", "SQLite", "Redis"), 1):
        happens(vault, "UserPromptSubmit", prompt=f"Would {subject} do for the queue?")
        happens(vault, "Stop", last_assistant_message=f"{subject} would do for the queue today.")
        assert (root / "Sessions").exists() == (number == 3)
    assert note_of(root).stem[16:] == "Would Postgres do for the queue"
    assert entries(root) == [("ending", "Redis would do for the queue today.")]


def test_what_is_not_wanted_is_not_kept(open_vault: Open, root: Path) -> None:
    vault = open_vault({"hooks.keep": ("edit",)})
    happens(vault, "UserPromptSubmit", prompt="Fix the grace period")
    runs(vault, "pytest", "FAILED a.py::b - x", failed=True)
    happens(vault, "Stop", last_assistant_message="It is all fixed at last.")
    assert not (root / "Sessions").exists()
    edits(vault, "/home/me/Atlas/a.py")
    assert entries(root) == [("change", "Edited a.py")]
    assert "Fix the grace" not in note_of(root).read_text() + note_of(root).name


@pytest.mark.parametrize("reply", ["no thanks", "Yes, open the pull request please"])
def test_a_question_is_answered_by_whatever_a_person_says_next(
    vault: Vault, root: Path, reply: str
) -> None:
    happens(vault, "UserPromptSubmit", prompt="Fix the grace period")
    edits(vault, "/home/me/Atlas/src/auth.py")
    answer = (
        "It is fixed.\n\n## Next steps\n\n1. Tell the gateway team\n\nShall I open a pull request?"
    )
    happens(vault, "Stop", last_assistant_message=answer)
    assert (
        "Tell the gateway team; answer “Shall I open a pull request?”" in note_of(root).read_text()
    )
    happens(vault, "UserPromptSubmit", prompt=reply)
    text = note_of(root).read_text()
    assert "Left to do: Tell the gateway team\n" in text and "Shall I open" not in text
