"""Several servers on one vault, each with its own agent: questions, and now and then a write."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from peers import Peer, Place
from report.results import spread

from measure.client import Server
from measure.questions import fresh, until_found

_WRITE_EVERY = 10


@dataclass
class Agent:
    """What one agent saw."""

    asked: list[float] = field(default_factory=list)
    wrote: list[float] = field(default_factory=list)
    words: list[tuple[str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def measure(
    peer: Peer, place: Place, counts: tuple[int, ...], seconds: float, mode: str = ""
) -> dict[str, Any]:
    if not peer.writes:
        return {}
    return {str(n): _with(peer, place, n, seconds, mode or peer.modes[0]) for n in counts}


def _with(peer: Peer, place: Place, count: int, seconds: float, mode: str) -> dict[str, Any]:
    servers: list[Server] = []
    try:
        servers += [Server(peer.command(place), place.errors) for _ in range(count)]
        for server in servers:
            server.handshake(300)
            peer.search(server, place.vault.questions[0].text, mode)
            peer.write(server, *fresh("first")[::2])
        agents = _work(peer, place, servers, seconds, mode)
        lost = _lost(peer, servers[0], agents)
    finally:
        for server in servers:
            server.end()
    asked = [each for agent in agents for each in agent.asked]
    wrote = [each for agent in agents for each in agent.wrote]
    failures = [each for agent in agents for each in agent.failures]
    return {
        "per_second": round((len(asked) + len(wrote)) / seconds, 1),
        "recall": spread(asked),
        "write": spread(wrote),
        "failed": len(failures),
        "first_failure": failures[0][:200] if failures else "",
        "lost": lost,
    }


def _work(
    peer: Peer, place: Place, servers: list[Server], seconds: float, mode: str
) -> list[Agent]:
    agents = [Agent() for _ in servers]
    ready = threading.Barrier(len(servers))

    def run(number: int) -> None:
        ready.wait()
        _one(peer, place, servers[number], agents[number], number, seconds, mode)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(servers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return agents


def _one(
    peer: Peer, place: Place, server: Server, agent: Agent, number: int, seconds: float, mode: str
) -> None:
    questions = place.vault.questions
    deadline = time.monotonic() + seconds
    step = number * 13
    while time.monotonic() < deadline:
        step += 1
        try:
            if step % _WRITE_EVERY == 0:
                title, word, text = fresh("together")
                reply = peer.write(server, title, text)
                agent.wrote.append(reply.seconds)
                if reply.failed:
                    agent.failures.append(reply.text)
                else:
                    agent.words.append((title, word))
            else:
                hits = peer.search(server, questions[step % len(questions)].text, mode)
                agent.asked.append(hits.seconds)
                if hits.failed:
                    agent.failures.append("a search failed")
        except Exception as error:  # the edge: a server that dies under load is the finding
            agent.failures.append(f"{type(error).__name__}: {error}")
            return


def _lost(peer: Peer, server: Server, agents: list[Agent]) -> int:
    """Writes that were acknowledged and cannot be found."""
    written = [pair for agent in agents for pair in agent.words][:40]
    missing = 0
    for title, word in written:
        try:
            missing += until_found(peer, server, word, title, 5) is None
        except Exception:  # the edge, as above
            missing += 1
    return missing
