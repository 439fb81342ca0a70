"""Several servers, a person, a sync program and git on one vault, and a disk that fails.

    python -m tests.faults.simulator --seed 7 --steps 1000

Everything follows from the seed (`plan.py`). After it: nothing acknowledged is lost, no save of
a person is lost, no byte outside the vault has changed, every server finds everything, the index
equals a rebuild, and no process took longer than its bound.
"""

from __future__ import annotations

import argparse
import collections
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.faults import plan
from tests.faults.agent_requests import Requests
from tests.faults.agents import Agent
from tests.faults.ledger import WORD, halves, line, texts
from tests.faults.people import Laptop, Person, SyncProgram
from tests.faults.plan import Step
from tests.faults.scene import Scene

SETTLING: Final = 60.0  # seconds in which every server must find everything
LATEST: Final = 60  # words that each of them is asked for
CODES: Final = {
    *("not_found", "already_exists", "conflict", "invalid_input", "read_only", "outside_vault"),
    *("busy", "memory_unavailable", "storage_full", "note_malformed"),
}


class Simulator:
    def __init__(self, folder: Path, seed: int, steps: int) -> None:
        self.seed = seed
        self.plan = plan.steps(seed, steps)
        self.scene = scene = Scene(folder)
        self.agents = [Agent(f"agent {n}", scene.root, scene.home) for n in range(plan.SERVERS)]
        self.requests = Requests(scene)
        self.person, self.program, self.laptop = Person(scene), SyncProgram(scene), Laptop(scene)
        self.counts: collections.Counter[str] = collections.Counter()

    def run(self) -> None:
        try:
            for step in self.plan:
                self._take(step)
            self.scene.weather.clear()
            self._settle()
            self._verify()
        except Exception as error:
            error.add_note(f"python -m tests.faults.simulator --seed {self.seed}")
            raise
        finally:
            for agent in self.agents:
                agent.drop()
            self.scene.weather.end()

    def _take(self, step: Step) -> None:
        self.scene.weather.pass_by(step.number)
        self.counts[f"{step.actor}: {step.action}"] += 1
        try:
            if step.actor == "agent":
                self._ask(step)
            elif step.actor == "world":
                self._befall(step)
            elif self.scene.weather.fair:  # nobody else can save now, and each sees that
                others = {"person": self.person, "sync program": self.program, "git": self.laptop}
                others[step.actor].act(step)  # type: ignore[attr-defined]
        except Exception as error:
            error.add_note(f"at step {step}")
            raise

    # --- agents ----------------------------------------------------------------------------

    def _ask(self, step: Step) -> None:
        agent = self.agents[step.server]
        if not agent.alive and not self.scene.weather.can_start:
            return  # what a start without a vault does has tests of its own
        agent.start()
        word = self.scene.ledger.word()
        if request := self.requests.of(step, agent, word):
            tool, given = request
            result = agent.call(tool, step.fault, self._meanwhile(step, given), **given)
            self._judge(step, agent, word, result)

    def _judge(self, step: Step, agent: Agent, word: str, result: dict[str, Any] | None) -> None:
        """An acknowledged text must be there from now on; a refusal says why."""
        if result is None:
            killed = step.fault and step.fault.kind == "kill"
            assert killed, f"a server died: {agent.server.errors()[-20000:]}"
            self.counts["killed in a call"] += 1
        elif result["isError"]:
            self._refused(result["structuredContent"])
        else:
            self.counts["acknowledged"] += 1
            told = result["structuredContent"]
            if step.action in plan.WRITING:
                self.scene.ledger.keep(word, agent.name)
                self.requests.acknowledged(step, word, told)
                self._expect_found(agent, word, told)

    def _refused(self, told: dict[str, Any]) -> None:
        assert told["error"] in CODES, told
        assert "Traceback" not in told["message"], told
        if self.scene.weather.away and told["error"] == "memory_unavailable":
            assert told["retry_possible"] and told["degraded"], told
        self.counts[f"refused: {told['error']}"] += 1

    def _expect_found(self, agent: Agent, word: str, told: dict[str, Any]) -> None:
        """Whoever stored something finds it at once, or is told why not."""
        if told.get("searchable", "soon") != "soon":
            found = self._recall(agent, word)
            assert found is None or found["memories"] or found.get("warnings"), (word, found)

    def _recall(self, agent: Agent, word: str, **more: bool) -> dict[str, Any] | None:
        result = agent.call("recall_memories", query=word, strategy="keyword", **more)
        assert result is not None, f"a server died of a question: {agent.server.errors()[-20000:]}"
        if result["isError"]:
            self._refused(result["structuredContent"])
            return None
        found: dict[str, Any] = result["structuredContent"]
        return found

    def _meanwhile(self, step: Step, given: dict[str, Any]) -> Callable[[], None] | None:
        """What somebody else does at the call at which the server is made to wait."""
        if step.fault is None or not self.scene.weather.fair:
            return None
        if step.fault.kind == "a person saves":
            path = self.scene.path(given.get("memory_id", "")) or self.scene.chosen(step)
            return lambda: self.person.save(path, "save in place")
        if step.fault.kind == "another agent writes":
            return lambda: self._let_another_write(step)
        return None

    def _let_another_write(self, step: Step) -> None:
        other = self.agents[(step.server + 1) % plan.SERVERS]
        if other.alive:
            word = self.scene.ledger.word()
            given = {"content": line(word, other.name), "type": "semantic", "scope": "user"}
            result = other.call("store_memory", **given)
            if result is not None and not result["isError"]:
                self.scene.ledger.keep(word, other.name)

    # --- the world -------------------------------------------------------------------------

    def _befall(self, step: Step) -> None:
        weather = self.scene.weather
        if step.action == "kill":
            self.agents[step.server].kill()
        elif step.action == "stop":
            self.agents[step.server].stop()
        elif step.action == "make read-only":
            for agent in self.agents:  # a file system in use cannot be made so
                agent.stop()
            weather.change(step.action, step.number + step.lasts)
        elif step.lasts:
            weather.change(step.action, step.number + step.lasts)
        elif weather.fair:
            weather.damage(step.action)

    # --- the end ---------------------------------------------------------------------------

    def _settle(self) -> None:
        """Those servers that lived through it find everything without being started anew."""
        self.laptop.sync(self.scene.root)
        for agent in self.agents:
            agent.start()
        known, forgotten = self._indexed()
        deadline = time.monotonic() + SETTLING
        for agent in self.agents:
            while wrong := [
                *(word for word in known if not self._finds(agent, word)),
                *(word for word in forgotten if not self._has_forgotten(agent, word)),
            ]:
                late = f"{agent.name} is wrong about {wrong[:5]} after {SETTLING} s"
                assert time.monotonic() < deadline, late
                time.sleep(0.5)

    def _indexed(self) -> tuple[list[str], list[str]]:
        """The latest live words in notes that are no copies of others: memories, forgotten ones."""
        found: dict[bool, set[str]] = {False: set(), True: set()}
        for path, text in texts(self.scene.root).items():
            if ".sync-conflict-" not in path:
                found["\nforgotten: true\n" in text].update(WORD.findall(text))
        live = self.scene.ledger.live.keys()
        return sorted(found[False] & live)[-LATEST:], sorted(found[True] & live)[-LATEST:]

    def _finds(self, agent: Agent, word: str, **more: bool) -> bool:
        return bool((self._recall(agent, word, **more) or {}).get("memories"))

    def _has_forgotten(self, agent: Agent, word: str) -> bool:
        return not self._finds(agent, word) and self._finds(agent, word, include_forgotten=True)

    def _verify(self) -> None:
        scene = self.scene
        assert not (lost := scene.ledger.lost(scene.root)), f"lost: {lost[:10]}"
        assert not (cut := halves(scene.root)), f"half written: {cut}"
        assert scene.outside_is_untouched(), "something outside the vault changed"
        for agent in self.agents:
            agent.stop()
            assert "Traceback" not in agent.server.errors(), agent.server.errors()
        self._compare()

    def _compare(self) -> None:
        """The index as the servers left it with a new one, and what they wrote down with the notes."""
        from vaultmem.vault import Vault

        with Vault.open(str(self.scene.root), {"model": "off"}) as vault:
            wrong = vault.verify().findings
        assert not wrong, wrong[:5]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--plan", action="store_true", help="only say what would be done")
    given = parser.parse_args()
    if given.plan:
        print(*plan.steps(given.seed, given.steps), sep="\n")
        return 0
    folder = Path(tempfile.mkdtemp(prefix="vaultmem-simulator-"))
    started = time.monotonic()
    simulator = Simulator(folder, given.seed, given.steps)
    simulator.run()
    shutil.rmtree(folder)
    print(f"seed {given.seed}: {given.steps} steps in {time.monotonic() - started:.0f} s")
    for name, count in sorted(simulator.counts.items()):
        print(f"  {count:5} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
