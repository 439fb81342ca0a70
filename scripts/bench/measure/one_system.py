"""One system on one vault, measured as an agent's client meets it. The same for all of them."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from peers import CannotRun, Peer, Place
from report.results import spread

from measure import git_pull, machine, many_servers
from measure.client import Server
from measure.corpus import Notes, markdown
from measure.questions import ask, fresh, until_found


@dataclass(frozen=True)
class Bounds:
    """How much of everything, and how long at most."""

    fill_seconds: float = 1800
    ask_seconds: float = 300
    wait_seconds: float = 30  # for something to become searchable
    starts: int = 5
    writes: int = 30
    edits: int = 10
    pulls: tuple[int, ...] = (500,)
    processes: tuple[int, ...] = (1, 4)
    together_seconds: float = 5


QUICK = Bounds(600, 60, 20, 2, 5, 3, (20,), (1, 2), 2)


def measure(
    peer: Peer,
    notes: Notes,
    env: Path,
    folder: Path,
    bounds: Bounds,
    more: Mapping[str, Callable[[Place], dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": peer.name, "notes": notes.count, "bytes": notes.bytes}
    found |= {"remark": peer.note, "indexed": peer.indexed}
    try:
        started = time.monotonic()
        found["version"] = peer.install(env)
        found["install_seconds"] = round(time.monotonic() - started)
        found["program_mb"] = round(machine.size_of(env) / 1e6) if env.exists() else None
        place = _place(peer, notes, env, folder)
        _in_steps(peer, place, bounds, found, more or {})
    except CannotRun as reason:
        found["cannot"] = str(reason)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _place(peer: Peer, notes: Notes, env: Path, folder: Path) -> Place:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    place = Place(env, folder / "home", notes.copy(folder / "notes"), notes)
    peer.prepare(place)
    return place


def _in_steps(
    peer: Peer,
    place: Place,
    bounds: Bounds,
    found: dict[str, Any],
    more: Mapping[str, Callable[[Place], dict[str, Any]]],
) -> None:
    """A step that fails says why, and the others are still taken; without notes there are none."""
    try:
        found["fill"] = _filled(peer, place, bounds)
    except TimeoutError as error:
        raise CannotRun(f"not filled with {place.vault.count:,} notes: {error}") from None
    for name, step in {
        "disk": lambda: _disk(peer, place),
        "start": lambda: starts(peer, place, bounds),
        **{name: partial(step, place) for name, step in more.items()},
        "served": lambda: _served(peer, place, bounds),
        "together": lambda: many_servers.measure(
            peer, place, bounds.processes, bounds.together_seconds
        ),
        "pull": lambda: git_pull.measure(peer, place, bounds.pulls, bounds.wait_seconds * 10),
    }.items():
        try:
            found[name] = step()
        except Exception as error:  # the edge: what a peer does wrong is part of the answer
            found[name] = {"trouble": f"{type(error).__name__}: {error}"[:300]}


def _filled(peer: Peer, place: Place, bounds: Bounds) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with _highest_memory(peer, place) as highest:
        steps = peer.fill(place, bounds.fill_seconds)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peer.complete(place, steps)
    peer.learn(place)
    taken = {name: round(seconds, 2) for name, seconds in steps.items()}
    return {"seconds": taken, "cpu_seconds": round(cpu, 1), "memory": highest()}


def _disk(peer: Peer, place: Place) -> dict[str, Any]:
    """What lies beside the notes; the model's own files are no matter of their number."""
    files = [file for file in peer.store(place).rglob("*") if file.is_file()]
    kept = [file for file in files if "models" not in file.relative_to(place.home.parent).parts]
    return {"index": sum(file.stat().st_size for file in kept), "notes": place.vault.bytes}


# --- memory while it works ------------------------------------------------------------------


@contextlib.contextmanager
def _highest_memory(peer: Peer, place: Place) -> Iterator[Callable[[], float]]:
    """The most that processes started meanwhile hold at a time, looked at every second."""
    ended = threading.Event()
    most = [0.0]
    before = set(machine.family(os.getpid()))

    def look() -> None:
        while not ended.wait(1.0):
            held = [
                machine.memory(pid, peer.store(place), alone=True)
                for pid in set(machine.family(os.getpid())) - before
            ]
            most[0] = max(most[0], sum(each.own for each in held if each))

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield lambda: round(most[0], 1)
    finally:
        ended.set()
        watching.join()


# --- starting -------------------------------------------------------------------------------


def starts(peer: Peer, place: Place, bounds: Bounds) -> dict[str, Any]:
    if not _speaks(peer):
        return {}
    files = [*peer.libraries(place), peer.store(place)]
    cold = []
    for _ in range(max(1, bounds.starts // 2)):
        machine.put_out_of_cache(*files)
        cold.append(_start(peer, place, peer.modes[0]))
    warm = [_start(peer, place, peer.modes[0]) for _ in range(bounds.starts)]
    meaning = [_start(peer, place, peer.modes[-1]) for _ in range(max(1, bounds.starts // 2))]
    return {
        "cold": _middle(cold, 0),
        "cold_first_answer": _middle(cold, 1),
        "warm": _middle(warm, 0),
        "warm_first_answer": _middle(warm, 1),
        f"first_{peer.modes[-1]}_answer": _middle(meaning, 1),
        "behind": _behind(peer, place, bounds) if peer.follows_files else None,
    }


def _start(peer: Peer, place: Place, mode: str) -> tuple[float, float]:
    """Seconds from the start of the process to the first reply, and to the first answer."""
    with Server(peer.command(place), place.errors) as server:
        first = server.handshake()
        peer.search(server, place.vault.questions[0].text, mode)
        return first, time.perf_counter() - server.started


def _behind(peer: Peer, place: Place, bounds: Bounds) -> float | None:
    """A note was changed while nothing ran: seconds from the start until a search finds it."""
    _, word, _ = fresh("behind")
    file = markdown(place.notes)[3]
    file.write_text(file.read_text(encoding="utf-8") + f"\n{word}\n", encoding="utf-8")
    path = file.relative_to(place.notes).as_posix()
    with Server(peer.command(place), place.errors) as server:
        server.handshake()
        if until_found(peer, server, word, path, 4 * bounds.wait_seconds) is None:
            return None
        return round(time.perf_counter() - server.started, 3)


def _middle(pairs: list[tuple[float, float]], which: int) -> float:
    return round(statistics.median(pair[which] for pair in pairs), 3)


def _speaks(peer: Peer) -> bool:
    return type(peer).command is not Peer.command


# --- one server -----------------------------------------------------------------------------


def _served(peer: Peer, place: Place, bounds: Bounds) -> dict[str, Any]:
    server = peer.open(place)
    try:
        found: dict[str, Any] = {}
        if _speaks(peer):
            found["tools_bytes"] = server.listed()
            peer.search(server, place.vault.questions[0].text, peer.modes[0])
            time.sleep(3)
            found["memory_idle"] = _memory(server, peer, place)
        found["recall"] = {
            mode: ask(peer, server, place, mode, bounds.ask_seconds) for mode in peer.modes
        }
        if _speaks(peer):
            found["memory_asked"] = _memory(server, peer, place)
        if peer.writes:
            found |= _written(peer, server, bounds)
        if peer.follows_files:
            found["edit"] = edits(peer, server, place, bounds)
        return found
    finally:
        if _speaks(peer):
            server.end()


def _memory(server: Server, peer: Peer, place: Place) -> dict[str, float]:
    held = machine.memory(server.child.pid, peer.store(place))
    return {"own": round(held.own, 1), "pss": round(held.pss, 1)} if held else {}


# --- writing --------------------------------------------------------------------------------


def _written(peer: Peer, server: Any, bounds: Bounds) -> dict[str, Any]:
    stored, until, updated = [], [], []
    first = peer.write(server, *fresh("first")[::2]).seconds
    for _ in range(bounds.writes):
        title, word, text = fresh("stored")
        reply = peer.write(server, title, text)
        if reply.failed:
            raise RuntimeError(f"writing failed: {reply.text[:200]}")
        stored.append(reply.seconds)
        waited = until_found(peer, server, word, title, bounds.wait_seconds)
        if waited is None:
            return {"write": spread(stored), "written": {"never": bounds.wait_seconds}}
        until.append(reply.seconds + waited)
        changed = peer.update(server, title, f"{text}\n\nAnd {word} again.")
        if changed is not None and not changed.failed:
            updated.append(changed.seconds)
    times = {"write": stored, "written": until, "update": updated}
    return {name: spread(each) for name, each in times.items()} | {"first_write": round(first, 3)}


def edits(peer: Peer, server: Any, place: Place, bounds: Bounds) -> dict[str, Any]:
    """A person adds a line to a note: how long until a search for it finds the note."""
    files = markdown(place.notes)
    taken: list[float] = []
    for number in range(bounds.edits):
        file = files[number * 7 % len(files)]
        _, word, _ = fresh("edited")
        text = file.read_text(encoding="utf-8")
        file.write_text(f"{text.rstrip()}\n\n{word}\n", encoding="utf-8")
        path = file.relative_to(place.notes).as_posix()
        waited = until_found(peer, server, word, path, bounds.wait_seconds)
        if waited is None:
            return {**spread(taken), "never": bounds.wait_seconds}
        taken.append(waited)
        time.sleep(0.5)
    return spread(taken)
