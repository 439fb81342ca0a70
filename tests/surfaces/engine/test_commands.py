"""Commands through an engine say what they say without one."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.engine.machine import PROGRAM, Machine, machine_in
from tests.waiting import until


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine_in(tmp_path_factory.mktemp("home")) as made:
        window = made.window()
        window.greet()
        for text in ("Herons nest in the reeds behind our mill.", "Herons eat frogs at dawn."):
            assert not window.store(text, tags=["bird"])["isError"]
        until(made.engine)
        yield made


def steady(text: str) -> str:
    """Without what differs from one moment to the next."""
    return re.sub(r"\d+ ms|\"query_time_ms\": [\d.]+|_score\": [\d.e-]+", "", text)


@pytest.mark.parametrize(
    "words",
    [
        *("search heron", "search heron --json", "search --explain heron", "search nothing-like-it"),
        *("recent", "recent --json", "tags", "tags --json", "timeline", "facts heron", "graph heron"),
        *("context herons", "context herons --json", "show nobody", "show", "search", "search -q heron"),
        *("search --bogus x", "add", "today", "history nobody", "recent --by person --since today"),
        *("search --vault . heron", "search --vault /nowhere heron", "search --tag bird frogs"),
    ],
)  # fmt: skip
def test_the_same_words_come_out(machine: Machine, words: str) -> None:
    by_engine = machine.run(*words.split())
    alone = machine.run(*words.split(), VAULTMEM_ENGINE="off")
    assert by_engine.returncode == alone.returncode
    assert steady(by_engine.stdout) == steady(alone.stdout)
    assert steady(by_engine.stderr) == steady(alone.stderr)


def test_what_is_added_is_found_by_all(machine: Machine) -> None:
    added = machine.run("add", "The", "stork", "clatters", "--json")
    path = json.loads(added.stdout)["path"]
    assert (machine.vault / path).read_bytes()
    assert path in machine.run("search", "stork", "clatters").stdout
    assert path in machine.run("search", "stork", "clatters", VAULTMEM_ENGINE="off").stdout
    assert machine.run("append", path, "It", "has", "no", "voice.").returncode == 0
    assert "no voice" in (machine.vault / path).read_text("utf-8")


def test_a_pipe_is_read_by_the_command_itself(machine: Machine) -> None:
    assert machine.run("add", piped=b"The auk is gone.").returncode == 0
    assert "auk" in machine.run("search", "auk").stdout


def test_raw_bytes_come_out_as_they_are(machine: Machine) -> None:
    odd = machine.vault / "Odd.md"
    odd.write_bytes(b"Latin-1: caf\xe9\r\n")
    done = machine.run("show", "Odd", "--raw")
    assert done.stdout.encode("utf-8", "surrogateescape") == odd.read_bytes()


def test_pins_of_the_environment_hold(machine: Machine) -> None:
    refused = machine.run("add", "Not", "mine", VAULTMEM_READ_ONLY="1")
    assert refused.returncode != 0 and "reading only" in refused.stderr
    machine.run("add", "The", "curlew", "calls", VAULTMEM_USER="anna")
    assert "curlew" in machine.run("search", "curlew", VAULTMEM_USER="anna").stdout
    assert "curlew" not in machine.run("search", "curlew", VAULTMEM_USER="boris").stdout


def event(name: str, **more: object) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": "h1", "cwd": "/", **more}).encode()


def test_hooks_are_answered_alike(machine: Machine) -> None:
    prompt = event("UserPromptSubmit", prompt="Where do our herons nest?")
    later = prompt.replace(b'"h1"', b'"h2"')  # a session is told once
    vault = ("hook", "--vault", str(machine.vault))
    by_engine = machine.run(*vault, piped=prompt)
    alone = machine.run(*vault, piped=later, VAULTMEM_ENGINE="off")
    assert by_engine.returncode == alone.returncode == 0
    assert "behind our mill" in alone.stdout
    assert by_engine.stdout == alone.stdout
    assert machine.run(*vault, piped=b"rubbish").returncode == 0
    assert machine.run("hook", "--bogus", piped=prompt).returncode == 0


def test_a_hook_ends_though_its_input_does_not(machine: Machine) -> None:
    command = [*PROGRAM, "hook", "--vault", str(machine.vault)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=machine.env) as child:
        assert child.wait(60) == 0


def test_a_session_that_starts_calls_an_engine(tmp_path: Path) -> None:
    with machine_in(tmp_path) as machine:
        vault = ("hook", "--vault", str(machine.vault))
        assert machine.run(*vault, piped=event("PostToolUse", tool_name="Bash")).returncode == 0
        assert not machine.engines()
        assert machine.run(*vault, piped=event("SessionStart", source="startup")).returncode == 0
        until(machine.engine)
