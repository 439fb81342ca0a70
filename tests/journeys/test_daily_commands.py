"""A person's day on the command line: the daily note, tasks, appending and replacing."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests import nursery
from tests.conftest import Ran, Run, clean_environment
from tests.journeys.test_memory_commands import on_terminal, piped
from vaultmem import vault as service

QUIET = {"VAULTMEM_TYPING_QUIET_SECONDS": "0"}
Me = Callable[..., Ran]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault as Obsidian leaves it, with daily notes in folders by year."""
    root = tmp_path / "Brain"
    service.make_vault(service.plan_vault(str(root), git=False, examples=False), git=False)
    says = {"folder": "Journal", "format": "YYYY/MM-MMMM/YYYY-MM-DD", "template": "Templates/Mine"}
    (root / ".obsidian/daily-notes.json").write_text(json.dumps(says))
    template = "# {{date:dddd}}\r\n\r\n## Tasks\r\n\r\n- [ ]\r\n\r\n## Log\r\n"
    (root / "Templates/Mine.md").write_bytes(template.encode())
    return root


@pytest.fixture
def me(run: Run, vault: Path) -> Me:
    def call(*arguments: str, zone: str = "UTC") -> Ran:
        return run(*arguments, cwd=vault, env=QUIET | {"TZ": zone})

    return call


def day_in(zone: str) -> dt.datetime:
    return dt.datetime.now(ZoneInfo(zone))


def daily(vault: Path, zone: str = "UTC") -> Path:
    return vault / f"{day_in(zone):Journal/%Y/%m-%B/%Y-%m-%d}.md"


def test_a_day_from_its_first_line_to_its_last_task(me: Me, vault: Path) -> None:
    done = me("today")
    assert done.code == 1 and "no daily note of today yet" in done.err
    assert not (vault / "Journal").exists(), "looking makes nothing"

    done = me("today", "Called", "the", "landlord", "--section", "Log")
    assert done.code == 0, done.err
    file = daily(vault)
    said = (
        f"{day_in('UTC'):%A}\r\n\r\n## Tasks\r\n\r\n- [ ]\r\n\r\n## Log\r\n\r\nCalled the landlord"
    )
    assert file.read_bytes() == f"# {said}\r\n".encode()
    assert done.out.strip().split("\t")[1] == file.relative_to(vault).as_posix()

    assert me("today", "--task", "Send", "the", "contract").code == 0
    said = said.replace("- [ ]", "- [ ] Send the contract")
    assert file.read_bytes() == f"# {said}\r\n".encode()
    assert me("task", "@today").out == "[ ]\tSend the contract\n"

    assert me("today", "--done", "contract").code == 0
    assert file.read_bytes() == f"# {said}\r\n".replace("[ ]", "[x]").encode()
    assert me("today", "--undone", "contract").code == 0
    assert file.read_bytes() == f"# {said}\r\n".encode()

    done = me("today", "--done", "landlord")
    assert done.code == 1 and "There is no task 'landlord'" in done.err
    assert me("search", "landlord").out.startswith(file.relative_to(vault).as_posix())
    assert "Called the landlord" in me("today").out
    assert "+Called the landlord" in me("recent", "--since", "today").out, "its first line counts"
    assert me("restore", "@today").code == 0
    assert b"[x]" in file.read_bytes()


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo", "Pacific/Kiritimati"])
def test_the_day_is_the_persons(me: Me, vault: Path, zone: str) -> None:
    days = {daily(vault, zone)}
    done = me("today", "An evening", zone=zone)
    days.add(daily(vault, zone))  # midnight may have come between
    assert vault / done.out.strip().split("\t")[1] in days


def test_text_is_appended_and_replaced(me: Me, vault: Path) -> None:
    file = vault / "Plan.md"
    file.write_bytes(b"\xef\xbb\xbf---\r\nzip: 00123 # keep\r\n---\r\n# Plan\r\n\r\n* one")
    assert me("append", "Plan", "* two", "--section", "Plan").code == 0
    head = b"\xef\xbb\xbf---\r\nzip: 00123 # keep\r\n---\r\n# Plan\r\n\r\n"
    assert file.read_bytes() == head + b"* one\r\n* two\r\n"
    assert piped(vault, b"* three\n", "append", "Plan", "-").code == 0
    assert piped(vault, b"* four\n", "append", "Plan").code == 0
    assert file.read_bytes() == head + b"* one\r\n* two\r\n* three\r\n* four\r\n"
    assert me("replace", "Plan", "two", "2").code == 0
    assert piped(vault, b"* 3\n", "replace", "Plan", "* three", "-").code == 0
    assert me("replace", "Plan", " four", "").code == 0
    assert file.read_bytes() == head + b"* one\r\n* 2\r\n* 3\r\n*\r\n"

    before = file.read_bytes()
    done = me("replace", "Plan", "*", "x")
    assert done.code == 2 and "OLD stands in the note 4 times" in done.err
    done = me("replace", "Plan", "* nine", "x")
    assert done.code == 2 and "OLD is not in the note's text" in done.err
    done = me("append", "Plan", "x", "--section", "Plans")
    assert done.code == 2 and "It has: Plan (line 1)" in done.err and "--section" in done.err
    assert me("append", "Nowhere", "x").code == 1
    assert me("replace", "Plan", "-", "-").code == 2
    assert piped(vault, b"", "append", "Plan", "-").code == 2
    assert piped(vault, b"\xff\xfe", "append", "Plan", "-").code == 2
    assert file.read_bytes() == before
    assert me("history", "Plan").out.count("before: update") == 6


def test_tasks_of_a_note(me: Me, vault: Path) -> None:
    file = vault / "House.md"
    text = "* [ ] Call the landlord\n* [/] Half done\n\n```\n* [ ] code\n```\n"
    file.write_text(text)
    assert me("task", "House").out == "[ ]\tCall the landlord\n[/]\tHalf done\n"
    listed = me("task", "House", "--json").json
    assert listed["tasks"][1] == {"text": "Half done", "mark": "/", "line": 2}
    assert me("task", "House", "Pay", "the", "rent").code == 0
    assert file.read_text() == text.replace("done\n", "done\n* [ ] Pay the rent\n")
    done = me("task", "House", "half", "--done")
    assert done.code == 2 and "give it with its mark: [/] Half done" in done.err
    assert me("task", "House", "[/] half", "--done", "--json").json["task"] == "* [x] Half done"
    assert me("task", "House", "the", "--done").code == 2
    assert me("task", "House", "code", "--done").code == 1
    (vault / "Empty.md").write_text("Nothing.\n")
    done = me("task", "Empty")
    assert done.code == 1 and "no tasks" in done.err


def test_text_may_begin_with_a_dash(me: Me, vault: Path) -> None:
    """A line of a list is what people append most."""
    file = vault / "Shopping.md"
    file.write_text("- bread\n")
    for text in (
        "- milk",
        "-5 degrees in the cellar",
        "--- urgent",
        "-> see the list",
        "- [ ] eggs",
    ):
        assert me("append", "Shopping", text).code == 0, text
        assert file.read_text().endswith(f"{text}\n")
    assert me("replace", "Shopping", "- milk", "- oat milk\n- tea").code == 0
    assert file.read_text().startswith("- bread\n- oat milk\n- tea\n")
    assert me("task", "Shopping", "- [ ] eggs", "--done").code == 0
    assert me("today", "- a thought", "--section", "Log").code == 0
    assert "## Log\r\n\r\n- a thought" in daily(vault).read_bytes().decode()
    assert me("search", "- oat", "milk").out.startswith("Shopping.md")
    misspelt = me("append", "Shopping", "x", "--sektion", "Log")
    assert misspelt.code == 2 and "No such option" in misspelt.err
    too_many = me("replace", "Shopping", "- a", "- b", "- c")
    assert too_many.code == 2 and "(- c)" in too_many.err


def test_a_terminal_says_what_was_done(vault: Path) -> None:
    shown = on_terminal(vault, "today", "--task", "Send the contract")
    assert "Made" in shown and "- [ ] Send the contract" in shown
    assert "Checked" in on_terminal(vault, "today", "--done", "contract")
    assert "As it was" in on_terminal(vault, "today", "--done", "contract")
    assert "nothing to append" in on_terminal(vault, "append", "@today")


def test_a_read_only_vault_stays_as_it_is(me: Me, vault: Path) -> None:
    (vault / "Plan.md").write_text("- [ ] a\n")
    for command in (
        ["today", "x"], ["append", "Plan", "x"], ["replace", "Plan", "a", "b"], ["task", "Plan", "x"],
    ):  # fmt: skip
        done = nursery.run(
            [sys.executable, "-m", "vaultmem", *command], cwd=vault, stdin=subprocess.DEVNULL,
            env=clean_environment(vault.parent) | QUIET | {"VAULTMEM_READ_ONLY": "1"},
            capture_output=True,
        )  # fmt: skip
        assert done.returncode == 2 and b"read-only" in done.stderr, command
    assert (vault / "Plan.md").read_text() == "- [ ] a\n" and not (vault / "Journal").exists()
