"""What befalls an engine from outside: files deleted, vaults changed, nothing left to take."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.engine.machine import PROGRAM, Machine, Window, machine_in
from tests.surfaces.mcp.harness import new_vault
from tests.waiting import until
from vaultmem.front.engine_call import START_SECONDS


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machine_in(tmp_path) as made:
        yield made


def served(machine: Machine, text: str) -> list[int]:
    """A window that stored something; the engines that there are now."""
    window = machine.window()
    window.greet()
    assert not window.store(text)["isError"]
    return machine.engines()


def test_a_socket_that_is_deleted_comes_again(machine: Machine) -> None:
    before = served(machine, "The heron waits.")
    (door,) = machine.doors()
    door.unlink()
    until(door.exists)
    assert served(machine, "The egret waits.") == before


def test_a_folder_that_is_cleared_away_comes_again(machine: Machine) -> None:
    one = machine.window()
    one.greet()
    one.store("The heron waits.")
    shutil.rmtree(machine.runtime / "vaultmem")
    two = machine.window()
    two.greet()
    assert two.titles("heron waits")
    assert one.titles("heron waits")
    until(lambda: len(machine.engines()) == 1)
    assert one.titles("heron waits")  # the first engine may have answered once more
    assert len(machine.engine()["windows"]) == 2  # type: ignore[index]


def test_another_vault_in_the_same_place_is_another(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The heron is of the first vault.")
    before = machine.engines()
    machine.vault.rename(machine.home / "first")
    other = new_vault(machine.home / "other")
    (other / "Memories").mkdir(exist_ok=True)
    other.rename(machine.vault)
    until(lambda: machine.engines() != before)
    later = machine.window()
    later.greet()
    assert not later.titles("heron first vault")
    assert not window.titles("heron first vault")
    assert not window.store("The egret is of the second.")["isError"]
    assert len(machine.titles_on_disk()) == 1


def test_settings_that_cannot_be_read_close_the_vault_to_new_windows(machine: Machine) -> None:
    one = machine.window()
    one.greet()
    one.store("The heron is everybody's.")
    (machine.vault / ".vaultmem" / "config.toml").write_text('user = "anna"\nread_only = tru')
    for env in ({}, {"VAULTMEM_ENGINE": "off"}):
        later = machine.window(**env)
        later.greet()
        refused = later.told("recall_memories", query="heron")
        assert refused["isError"] and "settings cannot be used" in refused["message"]
        assert later.store("The egret is nobody's.")["isError"]
    assert len(machine.titles_on_disk()) == 1


def test_a_vault_that_becomes_read_only_is_so_for_new_windows(machine: Machine) -> None:
    served(machine, "The heron is there.")
    (machine.vault / ".vaultmem" / "config.toml").write_text("read_only = true\n")
    later = machine.window()
    later.greet()
    assert later.store("The egret is not.")["error"] == "read_only"
    assert machine.run("add", "Nor", "the", "stork").returncode != 0
    assert len(machine.titles_on_disk()) == 1


def test_too_many_open_files_end_no_engine(machine: Machine) -> None:
    before = served(machine, "The heron is there.")
    limits = resource.prlimit(before[0], resource.RLIMIT_NOFILE)
    open_now = len(list(Path(f"/proc/{before[0]}/fd").iterdir()))
    resource.prlimit(before[0], resource.RLIMIT_NOFILE, (open_now, limits[1]))
    waiting = machine.window()
    waiting.greet()
    resource.prlimit(before[0], resource.RLIMIT_NOFILE, limits)
    assert waiting.titles("heron")
    assert machine.engines() == before


def test_a_window_that_stands_still_holds_nobody_up(machine: Machine) -> None:
    """Neither the other windows, nor the end of the engine."""
    still, other = machine.window(), machine.window()
    for window in (still, other):
        window.greet()
    still.store("The heron is there. " * 400)
    still.signal(signal.SIGSTOP)
    pid = machine.engines()[0]
    for number in range(400):
        still.send({"jsonrpc": "2.0", "id": number, "method": "x"} if number % 2 else b"no\n")
    for _ in range(3):
        assert other.titles("heron")
    machine.run("engine", "stop")
    until(lambda: pid not in machine.engines())
    still.signal(signal.SIGCONT)
    assert other.titles("heron")


def test_an_engine_that_cannot_start_is_not_waited_for(machine: Machine) -> None:
    """Whoever started it notices that it ended."""
    served(machine, "The heron is there.")
    (door,) = machine.doors()
    machine.run("engine", "stop")
    until(lambda: not machine.engines())
    door.mkdir()  # it cannot listen
    begun = time.monotonic()
    assert "ended while it started" in without_engine(machine.window())
    assert time.monotonic() - begun < START_SECONDS


def without_engine(window: Window) -> str:
    window.greet()
    return window.without_engine()


def test_a_window_without_an_engine_says_why(machine: Machine) -> None:
    assert without_engine(machine.window()) == ""
    assert without_engine(machine.window(VAULTMEM_ENGINE="off")) == ""
    (machine.runtime / "closed").mkdir()
    (machine.runtime / "closed" / "vaultmem").write_bytes(b"")
    alone = machine.window(XDG_RUNTIME_DIR=str(machine.runtime / "closed"))
    assert "belongs to somebody else" in without_engine(alone)
    assert "options" in without_engine(machine.window("--log-level", "info"))


def test_what_comes_and_goes_leaves_nothing_open(machine: Machine) -> None:
    (engine,) = served(machine, "The heron is there.")

    def open_files() -> int:
        assert machine.run("add", "One", "more").returncode == 0
        return len(list(Path(f"/proc/{engine}/fd").iterdir()))

    before = [open_files() for _ in range(14)][-1]  # until each of its threads has been at work
    assert [open_files() for _ in range(16)][-1] <= before + 8


def test_a_command_is_done_once(machine: Machine) -> None:
    """An engine that hangs is not waited for; what it finds later is done already."""
    (engine,) = served(machine, "The heron is there.")
    machine.kill_engines(signal.SIGSTOP)
    assert machine.run("today", "The heron left").returncode == 0
    machine.kill_engines(signal.SIGCONT)
    later = machine.window()
    later.greet()
    assert not later.store("The egret came.")["isError"]
    assert machine.run("today", "The egret left").returncode == 0
    assert machine.engines() == [engine]
    (day,) = (machine.vault / "Daily").glob("*.md")
    assert day.read_text("utf-8").count("The heron left") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_socket(machine: Machine, closed: str) -> None:
    """Its number would be given to the next file that is opened."""
    served(machine, "The heron is there.")
    command = f'exec "$@" {closed}'
    asked = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    for words in (["serve"], ["search", "heron"]):
        called = ["sh", "-c", command, "sh", *PROGRAM, *words, "--vault", str(machine.vault)]
        by_engine, alone = (
            subprocess.run(called, input=asked, capture_output=True, env=env, timeout=60)
            for env in (machine.env, machine.env | {"VAULTMEM_ENGINE": "off"})
        )
        assert by_engine.returncode == alone.returncode
        assert by_engine.stdout == alone.stdout


def test_a_remark_on_the_settings_is_said_to_its_window(machine: Machine) -> None:
    (machine.vault / ".vaultmem" / "config.toml").write_text("nonsense = 1\n")
    said = []
    for env in ({}, {"VAULTMEM_ENGINE": "off"}):
        window = machine.window(**env)
        window.greet()
        assert window.told("recall_memories", query="heron")["isError"]
        assert window.end() == 0
        said.append(window.errors())
    assert all("nonsense" in each for each in said)
