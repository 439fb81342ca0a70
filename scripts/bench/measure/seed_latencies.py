"""The latencies that the documents of other memory systems ask for, through their dialects.

    scripts/bench/run seed_latencies [--memories 10000] [--folder DIR]

A vault of short memories, each of which names two entities, is served on stdin and stdout as those
systems' clients do it. Measured is what the client waits for, and the processor time that the
server took meanwhile: where the machine is busy with other work, the first holds that work too.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(Path(__file__).parents[1]), str(ROOT)]

from measure import machine
from measure.client import Command, Reply, Server
from measure.generated_vaults import NoteMaker
from vaultmem import vault as vaults
from vaultmem.vault import Vault

ASKED: Final = 30
SESSION: Final = "bench"
OF_SESSION: Final = 100  # episodic memories, which are consolidated
KINDS: Final = ("component", "service", "library", "concept", "person")
RELATIONS: Final = ("uses", "depends_on", "authored_by", "implements")
TICK: Final = os.sysconf("SC_CLK_TCK")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--memories", type=int, default=10_000)
    options.add_argument("--folder", type=Path, help="keep the vault here for another run")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = given.folder or Path(folder) / "vault"
        if not (root / "Memories" / "P0").exists():
            make(root, given.memories)
        with Vault.open(root) as vault:
            vault.index_now()
            vault.embed_all()
        print(f"{given.memories} memories; {machine.moment()}\n", flush=True)
        print("| call | target | median | 95th of 100 | processor |\n|---|---|---|---|---|")
        surreal(root, Path(folder))
        trusty(root, Path(folder))
        print(f"\n{machine.moment()}")


# --- the vault -----------------------------------------------------------------------------------


def make(root: Path, memories: int) -> None:
    vaults.make_vault(vaults.plan_vault(str(root), git=False, examples=False), git=False)
    maker = NoteMaker(17)
    names = entity_names(max(50, memories // 20))
    for number in range(memories):
        place = root / "Memories" / f"P{number % 20}"
        place.mkdir(parents=True, exist_ok=True)
        text = memory(maker, number, names)
        (place / f"Memory {number}.md").write_text(text, encoding="utf-8", newline="\n")
    for number, name in enumerate(names):
        text = f"---\nid: 02{number:024}\ntype: entity\nkind: {maker.random.choice(KINDS)}\n---\n"
        (root / "Entities").mkdir(exist_ok=True)
        (root / "Entities" / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")


def entity_names(many: int) -> list[str]:
    maker = NoteMaker(19)
    return [f"{' '.join(maker.random.choices(maker.words, k=2)).title()} {n}" for n in range(many)]


def memory(maker: NoteMaker, number: int, names: list[str]) -> str:
    pick = maker.random
    day = f"2026-{number % 10 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:15:00Z"
    ranked = [1 / (rank + 10) for rank in range(len(names))]
    one, other = pick.choices(names, ranked, k=2)
    kind = "episodic" if number < OF_SESSION else pick.choice(("semantic", "procedural"))
    session = f"session: {SESSION}\n" if number < OF_SESSION else ""
    text = " ".join(maker.sentence() for _ in range(pick.randint(1, 3)))
    return (
        f"---\nid: 01{number:024}\ntype: {kind}\nscope: project\nproject: P{number % 20}\n"
        f"{session}importance: {pick.randint(1, 9) / 10}\n"
        f'{RELATIONS[number % 4]}:\n  - "[[{one}]]"\n{RELATIONS[(number + 1) % 4]}:\n'
        f'  - "[[{other}]]"\ncreated: {day}\nupdated: {day}\n---\n{text}\n'
    )


# --- the calls -----------------------------------------------------------------------------------


def served(root: Path, home: Path, dialect: str, *more: str) -> Server:
    arguments = [sys.executable, "-m", "vaultmem", "serve", "--vault", str(root)]
    env = machine.clean_environment(home, VAULTMEM_ENGINE="off", MEMORY_SESSION_ID=SESSION)
    command = Command([*arguments, "--dialect", dialect, *more], env, home)
    server = Server(command, home / "errors")
    server.handshake()
    return server


def surreal(root: Path, home: Path) -> None:
    maker = NoteMaker(23)
    questions = [maker.sentence() for _ in range(ASKED)]
    names = entity_names(max(50, len(list((root / "Entities").glob("*.md")))))
    asked = random.Random(3).choices(names[:200], k=ASKED)
    with served(root, home, "surreal") as server:
        first = {
            "content": f"The first of all, at {time.time()}.",
            "type": "semantic",
            "scope": "user",
        }
        row(server, "first store: the model is loaded", "~2 s", "store_memory", [first])
        run = f"In the run of {time.time()}"  # a text that is known would not be stored anew
        stores = [{**first, "content": f"{run}: {maker.sentence()}"} for _ in range(ASKED)]
        row(server, "store_memory", "< 50 ms", "store_memory", stores)
        for strategy, target in (("vector", "< 100 ms"), ("hybrid", "< 200 ms")):
            given = [{"query": question, "strategy": strategy} for question in questions]
            row(server, f"recall_memories ({strategy})", target, "recall_memories", given)
        for depth, target in ((1, "< 50 ms"), (3, "< 200 ms")):
            given = [{"entity": name, "depth": depth} for name in asked]
            title = f"search_knowledge_graph (depth {depth})"
            row(server, title, target, "search_knowledge_graph", given)
        tasks = [{"task_description": question} for question in questions]
        row(server, "get_memory_context", "< 300 ms", "get_memory_context", tasks)
        plan: list[dict[str, Any]] = [{"dry_run": True}] * 3 + [{}]
        title = f"reflect_and_consolidate ({OF_SESSION} memories)"
        row(server, title, "< 2 s", "reflect_and_consolidate", plan)


def trusty(root: Path, home: Path) -> None:
    maker = NoteMaker(29)
    with served(root, home, "trusty", "--palace", "P1") as server:
        server.call("memory_recall_deep", query="warm")
        given = [{"query": maker.sentence()} for _ in range(ASKED)]
        row(server, "trusty: memory_recall_deep", "< 150 ms", "memory_recall_deep", given)


def row(server: Server, title: str, target: str, tool: str, calls: list[dict[str, Any]]) -> None:
    took = sorted(measured(server, tool, calls))
    middle = statistics.median(seconds for seconds, _ in took)
    near = took[min(len(took) - 1, int(len(took) * 0.95))][0]
    processor = statistics.mean(used for _, used in took)
    print(
        f"| {title} | {target} | {1000 * middle:.0f} ms | {1000 * near:.0f} ms "
        f"| {1000 * processor:.0f} ms |",
        flush=True,
    )


def measured(
    server: Server, tool: str, calls: list[dict[str, Any]]
) -> Iterator[tuple[float, float]]:
    for given in calls:
        before = processor_seconds(server.child.pid)
        reply: Reply = server.call(tool, **given)
        if reply.failed:
            raise SystemExit(f"{tool} failed: {reply.text}")
        yield reply.seconds, processor_seconds(server.child.pid) - before


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


if __name__ == "__main__":
    main()
