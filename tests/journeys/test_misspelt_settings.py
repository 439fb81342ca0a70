"""A setting that was misspelt may be the one that keeps notes private: every command tells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import command
from tests.conftest import clean_environment
from tests.journeys.test_serve import Process
from vaultmem import config

TOLD = ".vaultmem/config.toml:1: there is no setting 'exlude'; did you mean 'exclude'?"
CODE = "The door code is 4711."


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTMEM_MODEL", "off")
    root = tmp_path / "Brain"
    (root / "Private").mkdir(parents=True)
    (root / "Private" / "Door.md").write_text(f"{CODE}\n")
    misspell(root)
    return root


def misspell(root: Path) -> None:
    (root / ".vaultmem").mkdir(exist_ok=True)
    (root / config.CONFIG).write_text('exlude = ["Private"]\n')


@pytest.mark.parametrize(
    "words",
    [
        *("search door", "search door --json", "recent", "recent --json", "tags", "graph"),
        *("context door", "index", "add Tea", "export jsonl -", "show Door", "facts Door"),
        *("review", "sync", "consolidate", "history Door", "forget Door", "timeline x"),
    ],
)
def test_a_command_refuses_and_says_what_was_meant(vault: Path, words: str) -> None:
    done = command(*words.split(), "--vault", str(vault))
    assert done.code == 2
    assert TOLD in done.err and "Correct the line or remove it" in done.err
    assert done.out == ""
    assert not (vault / ".vaultmem" / "index").exists(), "nothing is indexed"


def test_what_looks_after_the_vault_shows_it_and_works(vault: Path) -> None:
    status = command("status", "--vault", str(vault), person=True)
    assert status.code == 0 and TOLD in " ".join(status.out.split())
    assert command("status", "--json", "--vault", str(vault)).json["settings_problems"] == [TOLD]
    findings = command("doctor", "--json", "--vault", str(vault))
    assert findings.code == 1
    (found,) = [each for each in findings.json if each["problem"] == "settings"]
    assert (found["path"], found["message"]) == (config.CONFIG, TOLD)
    assert "Correct the line" in found["fix"]
    assert TOLD in command("conflicts", "--vault", str(vault)).err
    assert TOLD in command("engine", "status", "--vault", str(vault)).err


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--json"]])
def test_connecting_a_client_tells_it(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    """The entry is right, and its server would refuse every call."""
    monkeypatch.setenv("HOME", str(tmp_path))
    done = command("install", "cursor", "--vault", str(vault), *more)
    assert done.code == 0 and TOLD in done.err and "Correct the line" in done.err


def test_the_doctor_takes_nothing_in_that_may_be_excluded(vault: Path) -> None:
    (vault / config.CONFIG).write_text('exclude = ["Private"]\n')
    assert command("index", "--vault", str(vault)).code == 0
    misspell(vault)
    for way in (["--fix"], ["--verify", "--repair"]):
        command("doctor", *way, "--vault", str(vault))
    (vault / config.CONFIG).write_text("")
    status = command("status", "--json", "--vault", str(vault)).json
    assert status["index"]["notes"] == 0


def test_a_hook_tells_the_agent_nothing_and_takes_nothing_in(vault: Path) -> None:
    event = b'{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"the door code?"}'
    done = subprocess.run(
        [sys.executable, "-m", "vaultmem", "hook", "--vault", str(vault)],
        input=event, capture_output=True, env=clean_environment(vault.parent), timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
    assert TOLD in done.stderr.decode()
    assert not (vault / ".vaultmem" / "index").exists()


def test_a_server_answers_every_call_with_it(vault: Path, tmp_path: Path) -> None:
    with Process(tmp_path, "--vault", str(vault)) as server:
        server.start()
        answer = server.call(1, "recall_memories", query="door code")["structuredContent"]
        assert answer["error"] == "memory_unavailable"
        assert TOLD in answer["message"] and CODE not in str(answer)
        assert server.end() == 0


def test_a_variable_of_another_version_breaks_nothing_and_is_told(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / config.CONFIG).unlink()
    monkeypatch.setenv("VAULTMEM_FROM_TOMORROW", "1")
    done = command("search", "door", "--json", "--vault", str(vault))
    assert done.code == 0 and CODE in done.json["memories"][0]["content"]
    assert "$VAULTMEM_FROM_TOMORROW is no variable of this version" in done.err
    findings = command("doctor", "--json", "--vault", str(vault)).json
    assert [each["path"] for each in findings if each["problem"] == "settings"] == ["environment"]
    monkeypatch.setenv("VAULTMEM_EXLUDE", "Private")
    done = command("search", "door", "--vault", str(vault))
    assert done.code == 2 and "did you mean $VAULTMEM_EXCLUDE?" in done.err
