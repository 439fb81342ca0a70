"""What is measured of vaultmem alone, on the vault that was filled for the comparison."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from peers import Place
from peers.vaultmem import Adapter

from measure import index, machine, many_servers
from measure.client import Server
from measure.questions import ask

Step = Callable[[Place], dict[str, Any]]


def steps(peer: Adapter, *, quick: bool) -> dict[str, Step]:
    rounds = 2 if quick else 7
    return {
        "unchanged": _unchanged,
        "commands": lambda place: _commands(peer, place, rounds),
        "filters": lambda place: _filters(peer, place, 20 if quick else 120),
        "together_hybrid": lambda place: many_servers.measure(
            peer, place, (1, 2) if quick else (1, 4, 16), 2 if quick else 5, "hybrid"
        ),
        "second": lambda place: _second(peer, place),
        "vectors": lambda place: peer.vectors,
    }


def _unchanged(place: Place) -> dict[str, Any]:
    """An open vault looks through all files and finds nothing to do."""
    taken = [index.child(place.notes, "start") for _ in range(3)]
    return {"seconds": round(statistics.median(taken), 3)}


def _commands(peer: Adapter, place: Place, rounds: int) -> dict[str, Any]:
    """Whole processes, in milliseconds."""
    named = {
        "search": ("search", "billing cache", "--strategy", "keyword"),
        "status": ("status",),
        "index": ("index",),
        "help": ("--help",),
    }
    found = {}
    for name, arguments in named.items():
        vault = () if name == "help" else ("--vault", str(place.notes))
        command = peer.run_as(place, "-m", "vaultmem", *arguments, *vault)
        found[name] = round(statistics.median(_process(command) for _ in range(rounds)) * 1000)
    return found


def _process(command: Any) -> float:
    started = time.perf_counter()
    subprocess.run(
        list(command.arguments), env=dict(command.env), cwd=command.cwd, capture_output=True
    )
    return time.perf_counter() - started


def _filters(peer: Adapter, place: Place, most: float) -> dict[str, Any]:
    with peer.open(place) as server:
        wanted = {"none": {}, **_usual(server)}
        return {
            strategy: {
                name: ask(peer, server, place, strategy, most / 12, **given)
                for name, given in wanted.items()
            }
            for strategy in peer.modes
        }


def _usual(server: Server) -> dict[str, dict[str, Any]]:
    """Filters that many notes of this vault pass."""
    tags = server.call("list_tags").data["tags"]
    some = server.call("list_memories", limit=100, order="title").data["memories"]
    found: dict[str, dict[str, Any]] = {}
    if tags:
        found["tag"] = {"tags": [max(tags, key=lambda each: each["count"])["tag"]]}
    for name in ("project", "type"):
        values = Counter(each.get(name) for each in some if each.get(name))
        if values:
            value = values.most_common(1)[0][0]
            found[name] = {name: [value] if name == "type" else value}
    created = sorted(each["created_at"] for each in some if each.get("created_at"))
    if created:
        found["time"] = {"time_range": {"after": created[len(created) // 2]}}
    return found


def _second(peer: Adapter, place: Place) -> dict[str, Any]:
    """Memory of a server beside one that follows the files: before, and after a question by
    meaning."""
    with peer.open(place) as first, peer.open(place) as second:
        peer.search(first, "billing cache", "keyword")
        time.sleep(3)
        peer.search(second, "billing cache", "keyword")
        idle = machine.memory(second.child.pid, peer.store(place))
        peer.search(second, "billing cache", "hybrid")
        meaning = machine.memory(second.child.pid, peer.store(place))
    if idle is None or meaning is None:
        return {}
    return {"idle": round(idle.own, 1), "with_model": round(meaning.own, 1)}
