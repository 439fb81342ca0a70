"""Two machines at work: servers, people and syncs at once, and pulls while servers run."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

from tests.git.conftest import Clones, Machine
from tests.git.test_merge import frontmatter_is_valid
from tests.git.test_sync import converged, sync
from tests.surfaces.mcp.harness import Process
from tests.waiting import until
from tests.world import World
from vaultmem.indexing.follower import Follower
from vaultmem.indexing.reconcile import ReconcileReport
from vaultmem.notes.note import parse

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SECONDS = 60 if LONG else 8
HUMAN = {f"Human {n}.md": f"# Human {n}\n\n- first\n\nA paragraph.\n\n## Later\n" for n in range(4)}
SHARED = {
    f"Memories/Shared {n}.md": f"---\nid: 01KE6Q8Z4R9M2N4P6R7S8T9VW{n}\ntype: semantic\n"
    f"scope: user\ntags:\n  - shared\n---\nShared memory number {n}.\n"
    for n in range(4)
}


class Agent(threading.Thread):
    """Talks to one machine's server until it is told to stop; knows what was acknowledged."""

    def __init__(self, machine: Machine, name: str) -> None:
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.kept: list[str] = []
        self.trouble: list[object] = []
        self._random = random.Random(name)
        self._name = name
        self._server = Process(
            machine.home, "--vault", str(machine.root), env={"VAULTMEM_MODEL": "off"}
        )
        self._server.start()

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            number += 1
            word = f"{self._name}word{number}x"
            tool, arguments = self._choice(word)
            result = self._server.call(number, tool, **arguments)
            if not result.get("isError"):
                self.kept.append(word)
            elif result["structuredContent"]["error"] not in ("busy", "conflict"):
                self.trouble.append(result["structuredContent"])
            time.sleep(0.05)

    def _choice(self, word: str) -> tuple[str, dict[str, object]]:
        shared = f"01KE6Q8Z4R9M2N4P6R7S8T9VW{self._random.randrange(4)}"
        return self._random.choice(
            [
                (
                    "store_memory",
                    {"content": f"Learned about {word}.", "type": "semantic", "scope": "user"},
                ),
                ("tag_memory", {"memory_id": shared, "add": [word]}),
                (
                    "assert_fact",
                    {"subject": "AuthService", "predicate": "saw", "object": word, "multi": True},
                ),
                ("log_observation", {"content": f"Seen {word}"}),
            ]
        )

    def end(self) -> None:
        self.stopping.set()
        self.join(60)
        self._server.end()
        with self._server:
            pass


class Person:
    """Saves in place, as Obsidian does."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine = machine
        self.kept: list[str] = []
        self._random = random.Random(name)
        self._name = name

    def edit(self) -> None:
        word = f"{self._name}word{len(self.kept)}x"
        path = self._random.choice(sorted(HUMAN))
        file = self.machine.root / path
        lines = file.read_text().split("\n")
        place = self._random.choice(["bullet", "paragraph", "end"])
        if place == "bullet":
            lines.insert(3, f"- {word}")
        elif place == "paragraph":
            lines.insert(lines.index("A paragraph.") + 1, f"\nParagraph {word}.")
        else:
            lines += [f"More {word}.", ""]
        file.write_text("\n".join(lines))
        self.kept.append(word)


def test_two_machines_converge_and_nothing_is_lost(clones: Clones) -> None:
    machines = clones(HUMAN | SHARED)
    agents = [
        Agent(machine, name) for machine, name in zip(machines, ("agenta", "agentb"), strict=True)
    ]
    people = [Person(machine, name) for machine, name in zip(machines, ("meA", "meB"), strict=True)]
    chance = random.Random(8)

    def acknowledged() -> list[str]:
        return [word for each in (*agents, *people) for word in each.kept]

    for agent in agents:
        agent.start()
    syncs = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or syncs <= 3 or len(acknowledged()) <= 40:
        if chance.random() < 0.7:
            chance.choice(people).edit()
            time.sleep(0.02)
        else:
            report = sync(chance.choice(machines))
            assert report.status in ("done", "waiting"), report
            syncs += 1
    for agent in agents:
        agent.end()
        assert not agent.trouble
    files = converged(*machines)
    text = b"\n".join(files.values()).decode()
    missing = [word for word in acknowledged() if word not in text]
    assert not missing, f"{len(missing)} of {len(acknowledged())} are lost: {missing[:10]}"
    for path, raw in files.items():
        if path.endswith(".md"):
            assert frontmatter_is_valid(raw), path
            assert not parse(raw).problems, path


def test_a_pull_of_a_thousand_notes_is_one_reconcile(clones: Clones, tmp_path: Path) -> None:
    a, b = clones({"N.md": "here\n"})
    for n in range(1200):
        a.save(f"Notes/{n}.md", f"Note number {n}.\n")
    a.commit()
    a.git("push", "-q")
    world = World(b.root, tmp_path / "sidecar")
    reports: list[ReconcileReport] = []
    follower = Follower(world.sync, lambda: None, reports.append)
    follower.start()
    try:
        until(
            lambda: (
                bool(reports) and follower.watcher is not None and follower.watcher.mode == "native"
            )
        )
        b.save("Marker.md", "Whatever the watcher said when it began was looked at before this.\n")
        until(lambda: "Marker.md" in reports[-1].added)
        reports.clear()
        b.git("pull", "-q", "--ff-only")
        until(lambda: sum(len(report.added) for report in reports) == 1200)
        assert len(reports) == 1
        b.git("switch", "-q", "-c", "other", "HEAD~1")
        b.save("Only here.md", "only here\n")
        b.commit()
        b.git("switch", "-q", "main")
        until(lambda: len(world.index.inventory.known()) == 1201)
    finally:
        follower.stop()
    try:
        assert world.contents() == world.rebuilt()
    finally:
        world.close()
