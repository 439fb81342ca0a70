"""The index on generated vaults: filling it, starting, following an edit, asking.

    scripts/bench/run index [--notes 10000] [--vectors real|synthetic|none]

Synthetic vectors are made from real ones of some of the vault's passages, each mixed with
its neighbours, so that they lie together as real ones do. Each row is a process of its own
where memory or start-up is measured.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(Path(__file__).parents[1]), str(ROOT)]

from measure.generated_vaults import NoteMaker, make_vault
from vaultmem.vault import Vault

if TYPE_CHECKING:
    import numpy as np

REAL = 2_000  # sentences embedded to make the others from


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--notes", type=int, default=10_000)
    options.add_argument("--vectors", choices=["real", "synthetic", "none"], default="synthetic")
    options.add_argument("--folder", type=Path, help="keep the vault here for another run")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = given.folder or Path(folder) / "vault"
        if not root.exists():
            root.mkdir(parents=True)
            make_vault(root, given.notes)
        shutil.rmtree(root / ".vaultmem", ignore_errors=True)
        print(f"{given.notes} notes\n\n| | |\n|---|---|")
        measure(root, given.vectors)


def row(name: str, value: str) -> None:
    print(f"| {name} | {value} |", flush=True)


def measure(root: Path, vectors: str) -> None:
    service = Vault.open(str(root))
    report = service.index_now()
    notes = len(report.added)
    row("fill the text index", f"{report.seconds:.1f} s, {notes / report.seconds:,.0f} notes/s")
    size = sum(f.stat().st_size for f in (root / ".vaultmem").rglob("*") if f.is_file())
    text = sum(f.stat().st_size for f in root.rglob("*.md"))
    row("notes / index without vectors", f"{text / 1e6:.1f} MB / {size / 1e6:.1f} MB")
    service.close()
    row("start on the unchanged vault", f"{child(root, 'start'):.2f} s")
    row("memory, idle (text lane only)", f"{child(root, 'idle'):.0f} MB")
    row("whole process `vaultmem search`", f"{command(root):.0f} ms (median of 7)")
    row("human edit until searchable", f"{child(root, 'edit'):.0f} ms (median of 10)")
    if vectors != "none":
        fill_vectors(Vault.open(str(root)), vectors)
    for name, value in json.loads(child_text(root, f"ask {vectors}")).items():
        row(name, value)


def fill_vectors(service: Vault, how: str) -> None:
    if how == "real":
        started = time.monotonic()
        done = service.embed_all()
        row("vectors", f"{done / (time.monotonic() - started):.1f} passages/s")
        return
    embedder = service.parts.embedder()
    assert embedder is not None
    index = service.parts.index
    hashes = [bytes(r[0]) for r in index.catalog.db.execute("SELECT DISTINCT hash FROM passage")]
    maker = NoteMaker(5)
    real = embedder.embed([maker.sentence() for _ in range(REAL)])
    for start in range(0, len(hashes), 5000):
        part = hashes[start : start + 5000]
        index.vectors.add(embedder.identity, part, mixed(real, len(part), start))
    row("passages", f"{len(hashes):,} (synthetic vectors)")
    started = time.monotonic()
    if index.vectors.build_graph(embedder.identity):
        row("build the graph", f"{time.monotonic() - started:.0f} s")


def mixed(real: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Each a real one, moved as two of its neighbours differ, and a little at random."""
    import numpy as np

    source = np.random.default_rng(seed)
    near = np.argsort(-(real @ real.T), axis=1)[:, 1:25]
    which, one, other = source.integers(0, (len(real), 24, 24), (count, 3)).T
    apart = real[near[which, one]] - real[near[which, other]]
    noise = source.normal(size=(count, real.shape[1])) * 0.25 / real.shape[1] ** 0.5
    made = real[which] + apart * source.uniform(0.2, 0.9, (count, 1)) + noise
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def command(root: Path) -> float:
    times = []
    for _ in range(7):
        started = time.perf_counter()
        arguments = ["-m", "vaultmem", "search", "billing cache", "--vault", str(root)]
        subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


# --- in a process of their own -----------------------------------------------------------------


def child_text(root: Path, what: str) -> str:
    command_ = [sys.executable, __file__, "--child", what, str(root)]
    return subprocess.run(command_, capture_output=True, text=True, check=True).stdout


def child(root: Path, what: str) -> float:
    return float(child_text(root, what))


def run_child(what: str, root: Path) -> None:
    service = Vault.open(str(root))
    if what == "start":
        started = time.monotonic()
        assert not service.index_now().touched
        print(time.monotonic() - started)
    elif what == "idle":
        service.recall("billing cache", strategy="keyword")
        print(memory())
    elif what == "edit":
        print(edit_to_searchable(service))
    else:
        print(json.dumps(ask(service, what.split()[1])))


def memory() -> float:
    """The process's own memory and libraries, in MB, without mapped index files, which
    belong to the system's cache."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    mapped = 0
    files = ("/fulltext-", "catalog.db", ".usearch", "/vectors-", "/prepared/")
    for block in Path("/proc/self/smaps").read_text().split("VmFlags"):
        if any(name in block for name in files):
            mapped += sum(int(x.split()[1]) for x in block.splitlines() if x.startswith("Rss:"))
    return (int(lines["VmRSS"].split()[0]) - mapped) / 1024


def edit_to_searchable(service: Vault) -> float:
    follower = service.follower(lambda report: None)
    follower.start()
    while follower.watcher is None or follower.watcher.mode != "native":
        time.sleep(0.05)
    time.sleep(2)
    notes = sorted(service.root.rglob("Memories/**/*.md"))
    times = []
    for number in range(10):
        word = f"fresh{time.time_ns()}"
        file = notes[number * 7]
        file.write_text(file.read_text(encoding="utf-8") + f"\n{word}\n", encoding="utf-8")
        started = time.perf_counter()
        while not service.parts.recall.ask(word, strategy="keyword").hits:
            time.sleep(0.005)
        times.append((time.perf_counter() - started) * 1000)
    follower.stop()
    return statistics.median(times)


def ask(service: Vault, vectors: str) -> dict[str, str]:
    maker, chance = NoteMaker(7), random.Random(3)
    questions = [" ".join(chance.choices(maker.words, maker.weights, k=4)) for _ in range(150)]
    recall = service.parts.recall
    strategies = ["keyword"] if vectors == "none" else ["keyword", "vector", "hybrid"]
    result = {}
    for strategy in strategies:
        for question in questions[:5]:
            recall.ask(question, strategy=strategy)
        times = sorted(recall.ask(q, strategy=strategy).milliseconds for q in questions)
        result[f"{strategy} p50 / p95"] = f"{times[75]:.1f} / {times[142]:.1f} ms"
    result["memory with model" if vectors != "none" else "memory"] = f"{memory():.0f} MB"
    return result


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
