"""Windows and engines where there is no socket in the file system: a port and a secret."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.engine.machine import Machine, machine_in
from tests.surfaces.engine.storm import Storm
from tests.waiting import until
from vaultmem.base.processes import lock_call
from vaultmem.front import loopback_way
from vaultmem.front.engine_place import LOOPBACK, EnginePlace

STEPS = 40


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machine_in(tmp_path, way=LOOPBACK) as made:
        yield made


def place_of(door: Path) -> EnginePlace:
    return EnginePlace("", door.stem, str(door.parent), is_loopback=True)


def connected(door: Path) -> socket.socket:
    return socket.create_connection((loopback_way.HOST, int(door.read_text().split()[0])), 20)


def test_windows_and_commands_share_one(machine: Machine) -> None:
    one, two = machine.window("--user", "boris"), machine.window("--user", "anna")
    one.greet()
    two.greet()
    one.store("The heron is Boris'.")
    two.store("The heron is Anna's.")
    assert one.without_engine() == two.without_engine() == ""
    assert len(machine.engines()) == 1
    assert len(one.titles("heron")) == len(two.titles("heron")) == 1
    assert machine.run("search", "heron").returncode == 0
    assert {each["client"] for each in (machine.engine() or {})["windows"]} == {"window"}
    (door,) = machine.doors()
    assert door.suffix == ".port" and door.stat().st_mode & 0o777 == 0o600
    machine.kill_engines()
    assert one.titles("heron")
    assert one.end() == two.end() == 0
    assert machine.run("engine", "stop").stdout == "Stopped.\n"
    until(lambda: not machine.engines() and not machine.doors())


def test_a_client_is_handed_over_in_the_middle(machine: Machine) -> None:
    """Its streams were read by threads, which give them back."""
    window = machine.window()
    window.greet()
    window.store("The ibis wades in the delta.")
    machine.kill_engines(signal.SIGSTOP)
    window.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call",')
    window.send(b'"params":{"name":"list_tags","arguments":{}}}\n')
    assert not window.receive()["result"]["isError"]
    assert "no longer answered" in window.without_engine()
    long = window.store("The ibis sleeps. " + "x" * 200_000)
    assert not long["isError"] and len(window.titles("ibis")) == 2
    assert window.end() == 0


def test_without_the_secret_nothing_is_said(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The bittern booms.")
    (door,) = machine.doors()
    with connected(door) as link:
        link.sendall(b"0" * 32 + b"\n")
        first = link.makefile("rb").readline()  # as much as anybody may know
        assert len(first.split()) == 2
        link.sendall(b"0" * 64 + b'\n{"vaultmem":2,"kind":"status"}\n')
        with contextlib.suppress(ConnectionError):
            assert link.recv(1000) == b""
    assert [each["client"] for each in (machine.engine() or {})["windows"]] == ["window"]


def test_who_took_an_engines_port_hears_nothing(machine: Machine) -> None:
    """Neither the secret, nor a word of the client."""
    served = machine.window()
    served.greet()
    served.store("The bittern booms.")
    (door,) = machine.doors()
    served.child.kill()
    machine.kill_engines()
    until(lambda: not machine.engines())
    heard: list[bytes] = []

    def pretend(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                link = listening.accept()[0]
                heard.append(link.recv(10_000))
                link.sendall(b"1" * 32 + b" " + b"0" * 64 + b"\n")
                heard.append(link.recv(10_000))
                link.close()

    with socket.create_server((loopback_way.HOST, 0)) as listening:
        secret = door.read_text().split()[1]
        door.write_text(f"{listening.getsockname()[1]} {secret}\n")
        until(lambda: lock_call.locked_file(place_of(door).lock) >= 0)  # while we live
        threading.Thread(target=pretend, args=[listening], daemon=True).start()
        window = machine.window()
        window.greet()
        assert window.titles("bittern")  # by itself
        assert window.without_engine()
        listening.shutdown(socket.SHUT_RDWR)
    assert heard and all(len(each) in (0, 33) and secret.encode() not in each for each in heard)


def test_a_file_that_others_may_read_is_not_used(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    window.store("The bittern booms.")
    (door,) = machine.doors()
    door.chmod(0o644)
    with pytest.raises(OSError, match="open to others"):
        loopback_way.reached(place_of(door))
    assert "open to others" in machine.run("engine", "status").stderr


def test_nothing_is_lost_and_nothing_left(tmp_path: Path) -> None:
    with machine_in(tmp_path, idle_minutes=0, way=LOOPBACK) as machine:
        storm = Storm(machine, 3)
        for _ in range(STEPS):
            storm.step()
        storm.end()
        assert storm.promised
        until(lambda: not machine.engines())
