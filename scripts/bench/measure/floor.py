"""What the parts cost alone, so that a reader sees how much of a figure is ours."""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from report.results import spread

from measure import machine
from measure.client import Command, Server
from measure.corpus import Notes, markdown

_EMPTY = Path(__file__).with_name("empty_server.py")


def of_parts(vault: Notes, work: Path, *, quick: bool) -> dict[str, Any]:
    """What does not depend on the number of notes."""
    folder = work / "limits"
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was broken off
    folder.mkdir(parents=True)
    texts = [file.read_text(encoding="utf-8") for file in markdown(vault.folder)[:200]]
    rounds = 20 if quick else 200
    try:
        return {
            "server": _empty_server(folder, 2 if quick else 5),
            "sqlite": {
                mode: _sqlite(folder / f"{mode}.db", texts, mode, rounds)
                for mode in ("NORMAL", "FULL")
            },
            "file": _durable_file(folder, texts, rounds),
            "model": _model(folder, texts, 10 if quick else 40),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def of_vault(vault: Notes, work: Path) -> dict[str, Any]:
    """What depends on it."""
    folder = work / "limits"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        return {
            "notes": vault.count,
            "read_seconds": _read(vault),
            "copy_seconds": _copy(vault, folder / "copy"),
            "tantivy": _tantivy(vault, folder / "tantivy"),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- a server that does nothing -------------------------------------------------------------


def _empty_server(folder: Path, rounds: int) -> dict[str, Any]:
    command = Command([sys.executable, str(_EMPTY)], machine.clean_environment(folder), folder)
    cold = []
    for _ in range(max(1, rounds // 2)):
        machine.put_out_of_cache(*machine.libraries(Path(sys.executable)))
        cold.append(_first_reply(command, folder))
    warm = [_first_reply(command, folder) for _ in range(rounds)]
    with Server(command, folder / "stderr.txt") as server:
        server.handshake()
        for _ in range(5):
            server.call("nothing", text="x")
        calls = [server.call("nothing", text="x").seconds for _ in range(50)]
        held = machine.memory(server.child.pid, folder)
    return {
        "cold": round(statistics.median(cold), 3),
        "warm": round(statistics.median(warm), 3),
        "call": spread(calls),
        "memory": round(held.own, 1) if held else None,
    }


def _first_reply(command: Command, folder: Path) -> float:
    with Server(command, folder / "stderr.txt") as server:
        return server.handshake()


# --- files and SQLite -----------------------------------------------------------------------


def _read(vault: Notes) -> float:
    started = time.perf_counter()
    for file in markdown(vault.folder):
        file.read_bytes()
    return round(time.perf_counter() - started, 3)


def _copy(vault: Notes, to: Path) -> float:
    """As `cp -r`, with every file safe on the disk."""
    started = time.perf_counter()
    for file in markdown(vault.folder):
        target = to / file.relative_to(vault.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as handle:
            handle.write(file.read_bytes())
            handle.flush()
            os.fsync(handle.fileno())
    return round(time.perf_counter() - started, 3)


def _durable_file(folder: Path, texts: list[str], rounds: int) -> dict[str, float]:
    """A note written so that it survives a power cut: a file beside, renamed, both synced."""
    taken = []
    handle = os.open(folder, os.O_RDONLY)
    for number in range(rounds):
        started = time.perf_counter()
        beside = folder / ".new"
        with beside.open("wb") as file:
            file.write(texts[number % len(texts)].encode())
            file.flush()
            os.fsync(file.fileno())
        beside.rename(folder / f"{number}.md")
        os.fsync(handle)
        taken.append(time.perf_counter() - started)
    os.close(handle)
    return spread(taken)


def _sqlite(file: Path, texts: list[str], mode: str, rounds: int) -> dict[str, float]:
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={mode}")
    db.execute("CREATE TABLE note (path TEXT PRIMARY KEY, text TEXT)")
    taken = []
    for number in range(rounds):
        started = time.perf_counter()
        db.execute("INSERT INTO note VALUES (?, ?)", (f"{number}", texts[number % len(texts)]))
        taken.append(time.perf_counter() - started)
    db.close()
    return spread(taken)


# --- Tantivy --------------------------------------------------------------------------------


def _tantivy(vault: Notes, folder: Path) -> dict[str, Any]:
    """A document for each note, nothing but its path and words."""
    import tantivy

    folder.mkdir()
    build = tantivy.SchemaBuilder()
    build.add_text_field("path", stored=True, tokenizer_name="raw")
    build.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(build.build(), path=str(folder))
    files = markdown(vault.folder)
    started = time.perf_counter()
    writer = index.writer(heap_size=100_000_000, num_threads=1)
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        writer.add_document(tantivy.Document(path=str(file), text=text))
    writer.commit()
    writer.wait_merging_threads()
    filled = time.perf_counter() - started
    index.reload()
    asked = [_tantivy_question(index, question.text) for question in vault.questions for _ in "ab"]
    size = machine.size_of(folder)
    return {"seconds": round(filled, 2), "query": spread(asked[1::2]), "bytes": size}


def _tantivy_question(index: Any, text: str) -> float:
    words = "".join(char if char.isalnum() else " " for char in text)
    started = time.perf_counter()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query(words, ["text"]), 10).hits
    for _, address in hits:
        searcher.doc(address)
    return time.perf_counter() - started


# --- the model ------------------------------------------------------------------------------


def _model(folder: Path, texts: list[str], count: int) -> dict[str, Any]:
    """fastembed as it comes, with the weights that vaultmem uses."""
    from vaultmem.embedding import embedder, fastembed_session

    ours = embedder.load_embedder("", folder / "models")
    if ours is None:
        return {"trouble": "no embedding model is available"}
    plain = fastembed_session.open_fastembed_session(ours.model)
    pieces = [piece for text in texts for piece in text.split("\n\n") if len(piece) > 200][:count]
    started = time.perf_counter()
    list(plain.embed(pieces))
    rate = len(pieces) / (time.perf_counter() - started)
    asked = []
    for piece in pieces[:30]:
        started = time.perf_counter()
        list(plain.query_embed(piece[:60]))
        asked.append(time.perf_counter() - started)
    return {"passages_per_second": round(rate, 2), "question": spread(asked)}
