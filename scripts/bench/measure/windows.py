"""What a window and a command cost with the vault's engine, and without it, in turns in one run.

    scripts/bench/run windows [--notes 10000] [--rounds 7] [--only starts,memory,questions,commands,crowd]

Each way has its own copy of the same generated vault, with vectors for all passages; they take
turns and change who begins. Beside them `python -c pass`, and Node's server-memory if npm brings
it. Processor time of a window is its own, of the engine is named apart; other programs on the
machine disturb it less than they do the clock. Memory is what is resident without mapped files of
the index, and the share (PSS) of each, summed over windows and engine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

import peers
from peers import Peer, Place
from peers.server_memory import Adapter as ServerMemory

from measure import corpus, many_servers
from measure.client import Command, Server
from measure.generated_vaults import NoteMaker, make_vault
from measure.questions import fresh
from measure.window_ways import ENGINE, OFF, Way, cpu_of, cpu_of_threads, own_of, table

QUESTIONS = 40  # of each kind
STORES = 12
HAMMERING, HAMMER_SECONDS = 16, 6.0
PASS = "`python -c pass`"
PROMPT = "How long does the billing cache keep what the queue sent?"
Figures = dict[str, dict[str, list[float]]]  # by row and column


def main() -> None:
    options = argparse.ArgumentParser(prog="scripts/bench/run windows", description=__doc__)
    options.add_argument("--notes", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--only", default=",".join(PARTS), help=", ".join(PARTS))
    options.add_argument("--folder", type=Path, help="keep the vaults here for another run")
    given = options.parse_args()
    with contextlib.ExitStack() as stack:
        kept = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        vault = laid_out(kept / str(given.notes) / "vault", given.notes)
        ways = [stack.enter_context(Way(name, vault)) for name in (ENGINE, OFF)]
        print(f"{given.notes:,} notes\n", flush=True)
        for part in given.only.split(","):
            found = PARTS[part](ways, given.rounds, kept)
            print(table(found), flush=True)


def measured(notes: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Every part of it, for `all`."""
    vault = laid_out(folder / str(notes) / "vault", notes)
    with contextlib.ExitStack() as stack:
        ways = [stack.enter_context(Way(name, vault)) for name in (ENGINE, OFF)]
        rows = {name: part(ways, rounds, folder) for name, part in PARTS.items()}
    return {"notes": notes, "rows": rows}


def laid_out(root: Path, notes: int) -> corpus.Notes:
    filled = root.with_name("filled")
    if not filled.exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        make_vault(root, notes)
        _fill(root)
        filled.touch()
    asked = tuple(corpus.make_questions(root, QUESTIONS))
    return corpus.Notes(root, notes, 0, asked)


def _fill(root: Path) -> None:
    """Nothing is left that a server would embed behind our questions."""
    from measure import index
    from vaultmem.indexing.embed_sentences import MOST_PASSAGES
    from vaultmem.vault import Vault

    with Vault.open(str(root)) as vault, contextlib.redirect_stdout(sys.stderr):
        vault.index_now()
        index.fill_vectors(vault, "synthetic")
        embedder, vectors = vault.parts.embedder(), vault.parts.index.vectors
        assert embedder is not None
        if vectors.passages_so_far()[0] > MOST_PASSAGES:
            return
        maker = NoteMaker(5)
        real = embedder.embed([maker.sentence() for _ in range(200)])
        waiting = vectors.passages_without_sentences(embedder.identity, 0, MOST_PASSAGES)
        rows = {key: list(index.mixed(real, 5, number)) for number, _, key in waiting}
        vectors.add_sentences(embedder.identity, rows)


def in_turns(ways: list[Way], rounds: int) -> Iterator[Way]:
    for turn in range(rounds):
        yield from ways if turn % 2 else reversed(ways)


def note(found: Figures, row: str, column: str, value: float) -> None:
    found.setdefault(row, {}).setdefault(column, []).append(value)


# --- starts --------------------------------------------------------------------------------


def starts(ways: list[Way], rounds: int, kept: Path) -> Figures:
    """A window beside others; the engine is there already, as is everything in the cache."""
    found: Figures = {}
    others: list[tuple[Peer, Place]] = []
    with contextlib.suppress(peers.CannotRun, OSError):
        others.append(_server_memory(kept, ways[0].place.vault))
    with contextlib.ExitStack() as stack:
        for way in ways:
            stack.enter_context(way.window())
        for way in in_turns(ways, rounds):
            cpu, wall = way.run_python("-c", "pass")
            note(found, "start to end, processor", PASS, cpu)
            note(found, "start to end, wall", PASS, wall)
            _start(found, way.command(way.place), way.name, way.place)
            for peer, place in others:
                _start(found, peer.command(place), peer.name, place)
    if not others:
        print("server-memory is not measured: npm does not bring it here", flush=True)
    return found


def _start(found: Figures, command: Command, column: str, place: Place) -> None:
    with Server(command, place.errors) as server:
        note(found, "start to first reply, wall", column, server.handshake() * 1000)
        note(found, "start to first reply, processor", column, cpu_of_threads(server.child.pid))
        begun = time.perf_counter()
        server.listed()
        note(found, "the list of tools, wall", column, (time.perf_counter() - begun) * 1000)
        for kind, amount in own_of([server.child.pid], place.notes).items():
            note(found, f"memory of a window that has said nothing yet, {kind}", column, amount)


def _server_memory(kept: Path, vault: corpus.Notes) -> tuple[Peer, Place]:
    peer = ServerMemory()
    place = Place(kept / "server-memory", kept / "server-memory-home", vault.folder, vault)
    place.home.mkdir(parents=True, exist_ok=True)
    peer.install(place.env)
    return peer, place


# --- memory, and the first question ------------------------------------------------------------


def memory(ways: list[Way], rounds: int, kept: Path) -> Figures:
    """Windows that open one after the other, no engine before the first of them."""
    found: Figures = {}
    for way in ways:
        many = 10 if way.name == ENGINE else 4
        way.stop_engine()
        with contextlib.ExitStack() as stack:
            windows: list[Server] = []
            for number in range(1, many + 1):
                windows.append(stack.enter_context(way.window()))
                _first_question(found, way, windows, number)
                if number in (1, 4, 10):
                    pids = [window.child.pid for window in windows]
                    one = own_of(pids[:1], way.place.notes)
                    for kind, amount in one.items():
                        note(found, f"memory of a window, {kind}", way.name, amount)
                    for kind, amount in own_of(way.all_of(pids), way.place.notes).items():
                        row = f"{number} window{'s' * (number > 1)} and engine, {kind}"
                        note(found, row, way.name, amount)
    return found


def _first_question(found: Figures, way: Way, windows: list[Server], number: int) -> None:
    which = "the first window" if number == 1 else "later windows"
    question = way.place.vault.questions[number].text
    before = way.engine_cpu() if number > 1 else 0.0
    asked = windows[-1].call("recall_memories", query=question, strategy="hybrid")
    assert not asked.failed, asked.text
    used = cpu_of(windows[-1].child.pid) + way.engine_cpu() - before
    since_start = (time.perf_counter() - windows[-1].started) * 1000
    note(found, f"start to first hybrid answer in {which}, wall", way.name, since_start)
    note(found, f"… of which the question, in {which}", way.name, asked.seconds * 1000)
    note(found, f"… processor of all since the start, {which}", way.name, used)


# --- questions and stores over MCP ---------------------------------------------------------------


def questions(ways: list[Way], rounds: int, kept: Path) -> Figures:
    found: Figures = {}
    with contextlib.ExitStack() as stack:
        windows = {way: stack.enter_context(way.window()) for way in ways}
        for way, window in windows.items():  # what only the first one pays
            for asked in way.place.vault.questions[:5]:
                window.call("recall_memories", query=asked.text, strategy="hybrid")
            way.write(window, *fresh("first")[::2])
        for mode in ("keyword", "hybrid"):
            _ask(found, windows, mode)
        for _ in range(STORES):
            for way, window in windows.items():
                _store(found, way, window)
    return found


def _ask(found: Figures, windows: dict[Way, Server], mode: str) -> None:
    pids = {way: window.child.pid for way, window in windows.items()}
    before = {way: (cpu_of_threads(pid), way.engine_cpu()) for way, pid in pids.items()}
    for number in range(QUESTIONS):
        for way, window in windows.items():
            text = way.place.vault.questions[number].text
            asked = window.call("recall_memories", query=text, strategy=mode)
            note(found, f"{mode}, wall", way.name, asked.seconds * 1000)
    for way, pid in pids.items():
        own, engine = cpu_of_threads(pid), way.engine_cpu()
        row = f"{mode}, processor of the window, mean"
        note(found, row, way.name, (own - before[way][0]) / QUESTIONS)
        if engine:
            row = f"{mode}, processor of the engine, mean"
            note(found, row, way.name, (engine - before[way][1]) / QUESTIONS)


def _store(found: Figures, way: Way, window: Server) -> None:
    title, word, text = fresh("windows")
    reply = way.write(window, title, text)
    assert not reply.failed, reply.text
    note(found, "store, wall", way.name, reply.seconds * 1000)
    asked = way.search(window, word, "keyword")
    is_found = any(title in path for path in asked.notes)
    note(found, "… found by the next question, share", way.name, float(is_found))
    note(found, "… and that question, wall", way.name, asked.seconds * 1000)


# --- commands ------------------------------------------------------------------------------------


def commands(ways: list[Way], rounds: int, kept: Path) -> Figures:
    """Beside a window that has asked by meaning."""
    found: Figures = {}
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "bench", "prompt": PROMPT}
    asked = {
        "`hook` on a prompt": (("hook",), event),
        "`search` by words": (("search", "billing cache", "--strategy", "keyword"), None),
        "`search --strategy hybrid`": (("search", "billing cache", "--strategy", "hybrid"), None),
    }
    with contextlib.ExitStack() as stack:
        for way in ways:
            window = stack.enter_context(way.window())
            window.call("recall_memories", query=PROMPT, strategy="hybrid")
        for turn, way in enumerate(in_turns(ways, rounds + 1)):
            for name, (words, event_) in asked.items():
                told = (
                    {**event_, "cwd": str(way.place.home), "session_id": f"bench{turn}"}
                    if event_
                    else None
                )
                engine = way.engine_cpu()
                cpu, wall = way.run_program(*words, given=json.dumps(told) if told else "")
                if turn < len(ways):  # the first ones open what later ones find open
                    continue
                note(found, f"{name}, processor", way.name, cpu)
                note(found, f"{name}, wall", way.name, wall)
                if engine:
                    note(
                        found,
                        f"{name}, processor of the engine",
                        way.name,
                        way.engine_cpu() - engine,
                    )
    return found


# --- many at once --------------------------------------------------------------------------------


def crowd(ways: list[Way], rounds: int, kept: Path) -> Figures:
    """Sixteen windows that ask by words without a pause, and store at every tenth turn."""
    found: Figures = {}
    for way in ways:
        seen = many_servers.measure(way, way.place, (HAMMERING,), HAMMER_SECONDS, "keyword")
        told = seen[str(HAMMERING)]
        for row, value in (
            ("p50", told["recall"]["p50"]), ("p95", told["recall"]["p95"]),
            ("store p50", told["write"].get("p50", 0)), ("calls a second", told["per_second"]),
            ("failed or lost", told["failed"] + told["lost"]),
        ):  # fmt: skip
            note(found, f"{HAMMERING} windows at once, {row}", way.name, float(value))
    return found


PARTS: dict[str, Callable[[list[Way], int, Path], Figures]] = {
    "starts": starts,
    "memory": memory,
    "questions": questions,
    "commands": commands,
    "crowd": crowd,
}

if __name__ == "__main__":
    main()
