"""What sessions tell of one thing: the latest comes first, however many there were before."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from ulid_transform import ulid_at_time

from vaultmem import Vault
from vaultmem import vault as service

FIRST = dt.datetime(2026, 10, 1, 9, tzinfo=dt.UTC)
SESSIONS = 40
COMMANDS = ("pytest -q", "pytest -q tests/test_login.py", "npm test")


def journal(number: int) -> str:
    """Tests fail, are mended, and pass; but for the last session, in which they go wrong."""
    began = FIRST + dt.timedelta(days=number, minutes=7 * number)
    run = f"Test run `{COMMANDS[number % len(COMMANDS)]}`"
    failed = f"failure: {run} failed: exit code 1, FAILED tests/test_{number}.py::test_it"
    passed = f"test: {run} passed after failing: {50 + number} passed in 1.{number:02}s"
    if number == SESSIONS - 1:
        failed, passed = f"test: {run} passed: 90 passed in 1.9s", failed
    said = [
        f"change: Edited src/m{number}.py",
        failed,
        passed,
        "ending: The rows are kept to the end of the file now, and a test covers it.",
    ]
    lines = [f"---\nid: {ulid_at_time(began.timestamp())}\ntype: session\nproject: Atlas"]
    lines += [f"session: s{number}\ncreated: {began:%Y-%m-%dT%H:%M:%S}\n---\nSession {number}."]
    lines += ["\n## Log\n"]
    for minute, line in enumerate(said):
        at = began + dt.timedelta(minutes=minute)
        lines += [f"- **{at:%H:%M:%S}** {line} ^{ulid_at_time(at.timestamp()).lower()}"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    root: Path = tmp_path_factory.mktemp("Brain")
    service.make_vault(service.plan_vault(str(root), git=False, examples=False), git=False)
    (root / "Sessions/2026").mkdir(parents=True)
    for number in range(SESSIONS):
        day = FIRST + dt.timedelta(days=number)
        (root / f"Sessions/2026/{day:%Y-%m-%d} Work {number}.md").write_text(journal(number))
    for number in range(30):
        (root / f"Note {number}.md").write_text(f"Topic {number} has to do with cats.\n")
    with Vault.open(root, {"model": "off"}) as opened:
        yield opened


def first(vault: Vault, question: str, **more: object) -> list[str]:
    found = vault.recall(question, strategy="keyword", limit=4, **more).memories  # type: ignore[arg-type]
    return [memory.content for memory in found]


@pytest.mark.parametrize(
    "question",
    ["how did the test run end", "did the test run pass", "how did the last test run go"],
)
def test_the_last_test_run_is_the_answer(vault: Vault, question: str) -> None:
    assert "tests/test_39.py::test_it" in first(vault, question)[0]


def test_the_last_ending_comes_first(vault: Vault) -> None:
    found = vault.recall("are the rows kept now", strategy="keyword", limit=3).memories
    assert [memory.path.rpartition(" ")[2] for memory in found] == ["39.md", "38.md", "37.md"]


def test_what_failed_and_passed_since_is_told_in_this_order(vault: Vault) -> None:
    said = first(vault, "which test_21 run failed", before="2026-10-23", after="2026-10-21")
    assert "passed after failing" in said[0]
    assert "tests/test_21.py::test_it" in said[1]


def test_another_command_that_is_named_keeps_its_place(vault: Vault) -> None:
    assert "`npm test`" in first(vault, "how did the npm test run end")[0]


def test_what_commands_said_is_not_put_before_an_agent(vault: Vault) -> None:
    block = vault.context("how did the test run of test_39 end").context_block
    assert "Test run" not in block
