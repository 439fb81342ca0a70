"""A window that is served without the MCP library: many calls at once, some of them cut off."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.engine.machine import Machine, machine_in
from tests.waiting import until
from vaultmem.surfaces.engine.call_threads import AT_ONCE, CallThreads, Work
from vaultmem.surfaces.engine.turns import Turns

CHANGED = "notifications/resources/list_changed"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine_in(tmp_path_factory.mktemp("home")) as made:
        yield made


def has_loaded_library(machine: Machine) -> bool:
    (engine,) = machine.engines()
    return "pydantic_core" in Path(f"/proc/{engine}/maps").read_text()


def asked(number: int, tool: str, **given: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": given}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_what_clients_mostly_say_needs_no_library(machine: Machine) -> None:
    window, other = machine.window(), machine.window()
    window.greet()
    other.greet()
    assert not window.store("The heron fishes at dawn.")["isError"]
    assert other.heard()["method"] == CHANGED  # and every window hears of it
    assert window.titles("heron") == other.titles("heron") == ["The heron fishes at dawn"]
    assert window.request(7, "resources/list")["result"]["resources"]
    assert window.told("list_tags", colour=1)["isError"]
    for number in range(3 * AT_ONCE):  # more than may be under way
        window.send(asked(1000 + number, "recall_memories", query="heron", strategy="keyword"))
    heard = {window.receive()["id"] for _ in range(3 * AT_ONCE)}
    assert heard == set(range(1000, 1000 + 3 * AT_ONCE))
    assert not has_loaded_library(machine)
    uri = "memory://vault"
    assert "result" in window.request(8, "resources/read", uri=uri)  # the library hears this
    assert has_loaded_library(machine)
    assert window.titles("heron")
    assert not other.store("The bittern booms at dusk.")["isError"]
    assert window.heard()["method"] == CHANGED  # from the library now, and once
    assert window.titles("bittern") and window.end() == other.end() == 0


def test_who_cancels_hears_nothing(machine: Machine) -> None:
    """Of many calls the last, which cannot have its turn before the cancellation is read."""
    window = machine.window()
    window.greet()
    window.store("The avocet wades.")
    numbers = range(2000, 2000 + 4 * AT_ONCE)
    last = numbers[-1]
    lines = [asked(number, "get_memory_context", task_description="avocet") for number in numbers]
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": last}}
    lines += [{"jsonrpc": "2.0", **cancelled}, asked(3000, "list_tags")]
    window.send(b"".join(json.dumps(each).encode() + b"\n" for each in lines))
    heard = {window.receive()["id"] for _ in numbers}
    assert heard == {*numbers, 3000} - {last}
    assert window.end() == 0


def test_what_was_asked_is_answered_when_the_client_leaves(machine: Machine) -> None:
    window = machine.window()
    window.greet()
    for number in range(AT_ONCE + 4):
        said = {"content": f"Gull {number} came.", "type": "semantic", "scope": "user"}
        window.send(asked(number + 1, "store_memory", **said))
    assert window.end() == 0
    stored = [title for title in machine.titles_on_disk() if title.startswith("Gull")]
    assert len(stored) == AT_ONCE + 4


def test_turns_go_by_order_and_long_ones_hold_up_nobody() -> None:
    turns, begun, go = Turns(1, long_seconds=0.05), [], threading.Event()

    def work(name: str, *, is_long: bool = False) -> None:
        with turns.turn():
            begun.append(name)
            if is_long:
                go.wait(60)

    threads = []
    for name in ("long", "first", "second"):
        threads.append(
            threading.Thread(target=work, args=[name], kwargs={"is_long": name == "long"})
        )
        threads[-1].start()
        until(lambda: begun[:1] == ["long"])
        time.sleep(0.01)  # each stands behind the one before
    until(lambda: begun == ["long", "first", "second"])
    assert not turns.is_quiet
    go.set()
    for thread in threads:
        thread.join(60)
    assert turns.is_quiet


def test_calls_of_a_window_work_at_the_same_time() -> None:
    """Each waits for all of them."""
    together, done = threading.Barrier(AT_ONCE), threading.Semaphore(0)

    def take(line: bytes) -> Work | None:
        def work() -> None:
            together.wait(60)
            done.release()

        return work if line != b"nothing" else None

    lines = iter([b"nothing", *[b"call"] * AT_ONCE, *[b"call"] * AT_ONCE])
    threads = CallThreads(lines, take)
    threads.run(60)
    for _ in range(2 * AT_ONCE):
        assert done.acquire(timeout=60)


def test_a_call_that_fails_ends_no_window(caplog: pytest.LogCaptureFixture) -> None:
    answered = []

    def take(line: bytes) -> Work | None:
        def work() -> None:
            if line == b"bad":
                raise ZeroDivisionError
            answered.append(line)

        return work

    CallThreads(iter([b"bad", b"good"]), take).run(60)
    assert answered == [b"good"]
    assert "ended oddly" in caplog.text
