"""An hour of agents and people on one vault, in a few minutes: does anything grow?

    scripts/bench/run soak [--minutes 5] [--notes 10000] [--work DIR]

Four servers, each with an agent that recalls, stores, updates and forgets; a person edits,
renames and deletes; git checks out other states. Memory, open files, threads and the files of
the index are looked at all the time. At the end everything that was stored must be there, and
the index must equal one made from nothing. Ends with 1 when something grew or is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

from peers import Place
from peers.vaultmem import Adapter
from report import tables
from report.results import Results, spread

from measure import corpus, machine
from measure.client import Server
from measure.soak_people import Agent, Git, Log, Person, share

SERVERS = 4
LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Sample:
    at: float  # seconds since the start
    memory: float  # MB, all servers
    handles: int
    threads: int
    files: int  # of the index
    index_mb: float


def main() -> int:
    given = _arguments()
    work = (given.work or Path(tempfile.mkdtemp())).resolve()
    results = Results(work / "results", again=True)
    vault = corpus.lay_out(work, given.notes, None)
    place = Place(work / "env" / "vaultmem", work / "soak" / "home", work / "soak" / "notes", vault)
    found = results.part("soak", lambda: _soak(place, given.minutes * 60))
    if not given.work:
        shutil.rmtree(work, ignore_errors=True)
    return _tell(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/run soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--work", type=Path, help="keep the vault and the result here")
    return parser.parse_args()


def _soak(place: Place, seconds: float) -> dict[str, Any]:
    peer = Adapter()
    shutil.rmtree(place.home.parent, ignore_errors=True)
    place.home.mkdir(parents=True)
    place.vault.copy(place.notes)
    share(place.notes, place.home)
    peer.complete(place, peer.fill(place, 24 * 3600))
    log = Log()
    servers = [Server(peer.command(place), place.errors) for _ in range(SERVERS)]
    try:
        for server in servers:
            server.handshake()
        samples, last = _work(place, servers, log, seconds)
        wrong = _settle(servers[0], log, last)
    finally:
        for server in servers:
            server.end()
    wrong += _compare(place)
    return _summary(samples, log, wrong, seconds) | {"notes": place.vault.count}


# --- work -----------------------------------------------------------------------------------


def _work(
    place: Place, servers: list[Server], log: Log, seconds: float
) -> tuple[list[Sample], tuple[str, str]]:
    stop = threading.Event()
    person = Person(place.notes, log, stop, pause=0.7)
    agents = [
        Agent(server, place.vault.questions, log, stop, number, pause=0.05)
        for number, server in enumerate(servers)
    ]
    people = [*agents, person, Git(place.notes, place.home, log, stop, pause=max(5, seconds / 20))]
    for each in people:
        each.start()
    started = time.monotonic()
    samples = []
    while time.monotonic() - started < seconds:
        time.sleep(min(LOOK_SECONDS, seconds / 12))
        samples.append(_look(place, servers, time.monotonic() - started))
        print(f"soak: {samples[-1]}", file=sys.stderr, flush=True)
    stop.set()
    for each in people:
        each.join(60)
    return samples, person.last


def _look(place: Place, servers: list[Server], at: float) -> Sample:
    index = place.notes / ".vaultmem"
    held = [machine.memory(server.child.pid, index) for server in servers]
    files = [file for file in (index / "index").rglob("*") if file.is_file()]
    return Sample(
        round(at, 1),
        round(sum(each.own for each in held if each), 1),
        sum(machine.handles(server.child.pid) for server in servers),
        sum(machine.threads(server.child.pid) for server in servers),
        len(files),
        round(machine.size_of(index / "index") / 1e6, 1),
    )


# --- at the end -----------------------------------------------------------------------------


def _settle(server: Server, log: Log, last: tuple[str, str]) -> list[str]:
    """The last edit must be found, and every memory that was stored and not forgotten."""
    wrong = []
    path, word = last
    deadline = time.monotonic() + 60
    while word and not _finds(server, word, path):
        if time.monotonic() > deadline:
            wrong.append(f"the last edit, of {path}, is not found after a minute")
            break
        time.sleep(0.2)
    ids = list(log.kept)
    for start in range(0, len(ids), 50):
        reply = server.call("get_memories", ids=ids[start : start + 50])
        wrong += [f"the memory {each} is lost" for each in reply.data.get("missing", ())]
    return wrong


def _finds(server: Server, word: str, path: str) -> bool:
    reply = server.call("recall_memories", query=word, strategy="keyword")
    return any(hit["path"] == path for hit in reply.data["memories"])


def _compare(place: Place) -> list[str]:
    """The index as the servers left it, against one made from nothing."""
    from tests.world import World, contents
    from vaultmem.vault import Vault

    with Vault.open(str(place.notes)) as vault:
        mine = contents(vault.parts.index)
    fresh = World(place.notes, place.home.parent / "fresh")
    try:
        fresh.sync.everything(told=True)
        anew = fresh.contents()
    finally:
        fresh.close()
    return [_difference(name, mine[name], anew[name]) for name in mine if mine[name] != anew[name]]


def _difference(name: str, mine: Any, anew: Any) -> str:
    if not isinstance(mine, list):
        return f"index and rebuild differ in {name}: {mine} and {anew}"
    only, missing = set(mine) - set(anew), set(anew) - set(mine)
    some = sorted(only | missing)[:2]
    return (
        f"index and rebuild differ in {name}: {len(only)} too many, {len(missing)} missing: {some}"
    )


# --- verdict --------------------------------------------------------------------------------


def _summary(samples: list[Sample], log: Log, wrong: list[str], seconds: float) -> dict[str, Any]:
    parts = {
        "first": samples[len(samples) // 6 : len(samples) // 2],
        "last": samples[-max(3, len(samples) // 3) :],
    }
    ends = {name: _middle(part) for name, part in parts.items()}
    late = _late(log, seconds)
    grown = _grown(ends["first"], ends["last"], late)
    return {
        "samples": [asdict(sample) for sample in samples],
        "by_minute": late,
        "work": {kind: spread([s for _, s in taken]) for kind, taken in log.taken.items()},
        "ends": ends,
        "failures": log.failures[:20],
        "wrong": [*grown, *wrong, *(f"failed: {each}" for each in log.failures[:5])],
    }


def _middle(samples: list[Sample]) -> dict[str, float]:
    names = ("memory", "handles", "threads", "files", "index_mb")
    return {n: statistics.median(getattr(s, n) for s in samples) for n in names}


def _late(log: Log, seconds: float) -> list[dict[str, Any]]:
    """p95 of every minute, or of every sixth part of a short run."""
    starts = [at for taken in log.taken.values() for at, _ in taken]
    begun, step = min(starts, default=0.0), min(60.0, seconds / 6)
    found = []
    for number in range(int(seconds / step + 0.5)):
        span = (begun + number * step, begun + (number + 1) * step)
        row: dict[str, Any] = {"until": round((number + 1) * step)}
        for kind in ("recall", "store", "update"):
            within = [s for at, s in log.taken[kind] if span[0] <= at < span[1]]
            row[kind] = spread(within).get("p95")
            row[f"{kind}s"] = len(within)
        found.append(row)
    return found


def _grown(
    first: dict[str, float], last: dict[str, float], late: list[dict[str, Any]]
) -> list[str]:
    """More than a fifth and more than chance: of memory, of handles, threads and files of the
    index, and of the time that a question takes."""
    spare = {"memory": 40.0, "handles": 12.0, "threads": 4.0, "files": 40.0}
    grown = [
        f"{name} grew from {first[name]:.0f} to {last[name]:.0f}"
        for name, least in spare.items()
        if last[name] > first[name] * 1.2 and last[name] > first[name] + least
    ]
    known = [row["recall"] for row in late if row["recall"]]
    if len(known) >= 4:
        before, after = statistics.median(known[1:-2]), statistics.median(known[-2:])
        if after > 2 * before and after > before + 50:
            grown.append(f"p95 of recall grew from {before:.0f} to {after:.0f} ms")
    return grown


def _tell(found: dict[str, Any]) -> int:
    if "trouble" in found:
        print(f"soak: {found['trouble']}")
        return 1
    print(tables.soak(found))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
