"""Windows and their engine: shared, pinned, killed, hung, and never needed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.surfaces.engine.machine import Machine, machine_in
from tests.waiting import until
from vaultmem.front.window import HUNG_SECONDS, PARENT_SECONDS, PING_SECONDS


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machine_in(tmp_path) as made:
        yield made


def test_two_windows_share_one_engine(machine: Machine) -> None:
    one, two = machine.window(), machine.window("--project", "Atlas")
    one.greet()
    two.greet()
    stored = one.store("The heron nests in the reeds.")
    assert not stored["isError"]
    assert two.titles("heron reeds")
    assert len(machine.engines()) == 1
    told = machine.engine()
    assert told and {each["project"] for each in told["windows"]} == {"", "Atlas"}
    assert {each["client"] for each in told["windows"]} == {"window"}
    assert "connected" in machine.run("engine", "status").stdout
    assert one.end() == two.end() == 0
    until(lambda: not (machine.engine() or {"windows": 1})["windows"])


def test_each_window_has_its_own_pins(machine: Machine) -> None:
    """What one may not see, or may not do, nothing that its client says can change."""
    pins = {
        "anna": ["--user", "anna"],
        "boris": ["--user", "boris"],
        "atlas": ["--project", "Atlas"],
        "zenith": ["--project", "Zenith"],
        "reader": ["--read-only", "--user", "anna"],
    }
    windows = {name: machine.window(*flags) for name, flags in pins.items()}
    for window in windows.values():
        window.greet()
    for name in ("anna", "boris", "atlas", "zenith"):
        scope = {"scope": "project"} if name in ("atlas", "zenith") else {}
        assert not windows[name].store(f"A kestrel is the bird of {name}.", **scope)["isError"]
    assert len(machine.engines()) == 1

    def seen(name: str) -> set[str]:
        return {title.rstrip(".").split()[-1] for title in windows[name].titles("kestrel bird")}

    assert seen("anna") == seen("reader") == {"anna", "atlas", "zenith"}
    assert seen("boris") == {"boris", "atlas", "zenith"}
    assert seen("atlas") == {"anna", "boris", "atlas"}
    assert seen("zenith") == {"anna", "boris", "zenith"}
    refused = windows["reader"].store("A reader writes nothing.")
    assert refused["isError"] and refused["error"] == "read_only"
    assert "store_memory" not in {
        tool["name"] for tool in windows["reader"].request(7, "tools/list")["result"]["tools"]
    }
    windows["boris"].send(b'!{"read_only":false}\n')
    assert windows["boris"].receive()["error"]["code"] == -32700  # a client's words stay its words


def test_an_engine_that_is_killed_is_not_noticed(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The otter swims at night.")
    for _ in range(2):
        machine.kill_engines()
        assert window.titles("otter swims")  # a question is asked again
    assert not window.store("The otter sleeps by day.")["isError"]
    assert len(machine.titles_on_disk()) == 2
    assert window.end() == 0


def test_a_question_under_way_is_asked_again(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The plover runs along the shore.")
    machine.kill_engines(signal.SIGSTOP)  # it hears, and does not answer
    window.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "recall_memories", "arguments": {"query": "plover shore"}}})  # fmt: skip
    window.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "store_memory", "arguments": {"content": "x y", "type": "semantic", "scope": "user"}}})  # fmt: skip
    until(lambda: machine.unread(window) == 0)
    machine.kill_engines()
    replies = {reply["id"]: reply["result"] for reply in (window.receive(), window.receive())}
    assert "plover" in replies[1]["content"][0]["text"]
    lost = replies[2]
    assert lost["isError"] and "memory_unavailable" in lost["content"][0]["text"]
    assert lost["structuredContent"]["retry_possible"]


def test_an_engine_that_hangs_is_given_up(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The ibis wades in the delta.")
    window.store("The ibis is of this session.", scope="session")
    machine.kill_engines(signal.SIGSTOP)
    assert len(window.titles("ibis")) == 2  # by itself, in the end, and in the same session
    later = machine.window()
    later.greet()  # at once, whatever the engine does
    assert later.titles("ibis delta")
    assert window.end() == later.end() == 0


def test_an_engine_that_stutters_is_waited_for(machine: Machine) -> None:
    """However long nothing was said before: it is given its time from the call on."""
    window = machine.window()
    window.greet()
    window.store("The ibis wades in the delta.")
    time.sleep(HUNG_SECONDS + PING_SECONDS)
    machine.kill_engines(signal.SIGSTOP)
    store = {"content": "The ibis sleeps.", "type": "semantic", "scope": "user"}
    window.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "store_memory", "arguments": store}})  # fmt: skip
    until(lambda: machine.unread(window) == 0)
    time.sleep(3 * PARENT_SECONDS)  # it looks more than once
    machine.kill_engines(signal.SIGCONT)
    assert not window.receive()["result"]["isError"]
    assert window.without_engine() == ""


def test_a_subscription_outlives_its_engine(machine: Machine) -> None:
    window, other = machine.window(), machine.window()
    window.greet()
    other.greet()
    note = window.store("The crane dances in spring.")
    uri = f"memory://vault/{note['path']}"
    assert "result" in window.request(5, "resources/subscribe", uri=uri)
    machine.kill_engines()
    assert window.titles("crane")
    assert not other.told("update_memory", memory_id=note["memory_id"], content="The crane rests.")[
        "isError"
    ]
    while "uri" not in window.heard().get("params", {}):
        pass


def test_windows_of_other_settings_never_meet(machine: Machine) -> None:
    one, two = machine.window(), machine.window(VAULTMEM_TYPING_QUIET_SECONDS="1")
    for window in (one, two):
        window.greet()
    one.store("The wren sings loudly.")
    assert two.titles("wren sings")
    assert len(machine.engines()) == 2


def test_many_windows_that_start_at_once_elect_one(machine: Machine) -> None:
    windows = [machine.window() for _ in range(30)]

    def use(number: int) -> bool:
        windows[number].greet()
        stored = windows[number].store(f"Swallow number {number} came home.")
        return not stored["isError"] and not windows[number].without_engine()

    with ThreadPoolExecutor(30) as pool:
        assert all(pool.map(use, range(30)))
    until(lambda: len(machine.engines()) == 1)
    assert len(machine.titles_on_disk()) == 30
    assert all(window.end() == 0 for window in windows)


@pytest.mark.parametrize("trouble", ["closed", "a file", "open to all", "too long"])
def test_without_a_place_for_a_socket_it_works_by_itself(machine: Machine, trouble: str) -> None:
    folder = machine.runtime / "vaultmem"
    if trouble == "too long" and machine.way:
        pytest.skip("a port has no path")
    if trouble == "closed":
        machine.env["XDG_RUNTIME_DIR"] = "/proc"
        machine.env["TMPDIR"] = "/proc"
    elif trouble == "a file":
        folder.write_bytes(b"")
    elif trouble == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        deep = machine.runtime / ("d" * 90)
        deep.mkdir()
        machine.env["XDG_RUNTIME_DIR"] = str(deep)
    window = machine.window()
    window.greet()
    assert not window.store("The dipper dives.")["isError"]
    assert window.titles("dipper dives")
    assert window.end() == 0
    assert not machine.engines()


def test_a_vault_that_is_moved_away_is_let_go(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The swift never lands.")
    machine.vault.rename(machine.home / "moved")
    assert window.told("recall_memories", query="swift")["isError"] is not None
    assert window.end() == 0
    until(lambda: not machine.engines())
    assert list((machine.home / "moved" / "Memories").glob("*.md"))


def test_it_leaves_when_nobody_needs_it(tmp_path: Path) -> None:
    with machine_in(tmp_path, idle_minutes=0) as machine:
        window = machine.window()
        window.greet()
        window.store("The eider is a duck.")
        assert machine.engines()
        window.end()
        until(lambda: not machine.engines())
        assert not machine.doors()


def test_it_stops_when_it_is_told_to(machine: Machine) -> None:
    assert "No engine" in machine.run("engine", "stop").stdout
    window = machine.window()
    window.greet()
    window.store("The gannet plunges.")
    assert machine.run("engine", "stop").stdout == "Stopped.\n"
    until(lambda: not machine.engines())
    assert window.titles("gannet plunges")  # a window that needs it starts another one
    assert len(machine.engines()) == 1


def test_an_upgrade_gives_new_windows_a_new_engine(machine: Machine) -> None:
    """Those that are open go on with what they began with."""
    program = machine.home / "program"
    shutil.copytree(ROOT / "vaultmem", program / "vaultmem")
    machine.env["PYTHONPATH"] = str(program)
    old = machine.window()
    old.greet()
    old.store("The avocet sweeps the mud.")
    (before,) = machine.engines()
    errors = program / "vaultmem" / "errors.py"
    errors.write_bytes(errors.read_bytes() + b"\n")
    until(lambda: not machine.doors())
    new = machine.window()
    new.greet()
    assert new.titles("avocet mud") and old.titles("avocet mud")
    assert len(machine.engines()) == 2
    assert old.end() == 0
    until(lambda: before not in machine.engines())
    assert new.titles("avocet mud")


def test_a_left_over_socket_is_nobodys(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The knot gathers in flocks.")
    machine.kill_engines()
    window.child.kill()
    assert machine.doors()
    again = machine.window()
    again.greet()
    assert again.titles("knot flocks")
    until(lambda: len(machine.engines()) == 1)  # one that was not elected leaves by itself


def test_session_memories_live_as_long_as_their_windows(machine: Machine) -> None:
    one = machine.window("--session", "s-one")
    two = machine.window("--session", "s-one")
    for window in (one, two):
        window.greet()
    one.store("The ruff is in this session.", scope="session")
    assert two.titles("ruff session")
    one.end()
    assert two.titles("ruff session")


def test_the_socket_is_its_owners_alone(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The bittern booms.")
    (door,) = machine.doors()
    assert door.stat().st_mode & 0o077 == 0
    assert door.parent.stat().st_mode & 0o777 == 0o700
    if os.getuid() == 0 and shutil.which("setpriv") and not machine.way:
        door.chmod(0o777)
        door.parent.chmod(0o755)
        machine.runtime.chmod(0o755)
        told = machine.as_stranger(door)
        assert told == b""
