"""Several processes on one vault: nothing lost, nothing doubled, whoever dies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests import nursery
from tests.waiting import until
from tests.world import World

WORKER = """
import pathlib, random, sys
from vaultmem import config
from vaultmem.notes.edit import new_note_bytes
from vaultmem.index import Filters, Index
from vaultmem.indexing.reconcile import Reconciler
from vaultmem.storage.store import Store
root, state, name, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
store = Store(root, config.load(root, {"typing.quiet_seconds": 0.0, "state_dir": str(state / "state")}))
index = Index(state / "index")
sync = Reconciler(store, index)
for number in range(count):
    word = f"{name}word{number}"
    store.create(f"{name}/{word}.md", new_note_bytes({"tags": [name]}, f"says {word}"))
    print(word, flush=True)  # acknowledged: from here on it must never be lost
    sync.these([f"{name}/{word}.md"])
    hits = index.search_text(word, Filters(), 5)
    assert hits.total == 1, f"{word} was not found by its own writer"
    index.search_text("says", Filters(), 5)
"""


def start(world: World, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(world.root), str(world.state), name, str(count)]
    return nursery.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_four_processes_write_and_search_and_one_is_killed(world: World) -> None:
    workers = [start(world, name, 25) for name in ("ann", "bob", "cid")]
    workers.append(start(world, "dan", 100_000))  # more than it will come to
    until(lambda: list((world.root / "dan").glob("*.md")))
    workers[3].kill()
    outputs = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers[:3]] == [0, 0, 0], outputs
    assert workers[3].returncode == -signal.SIGKILL
    world.sync.everything()
    acknowledged = {word for out, _ in outputs for word in out.split()}
    assert len(acknowledged) >= 75
    for word in acknowledged:
        assert len(world.find(word)) == 1, word
    assert world.contents() == world.rebuilt()


def test_another_process_sees_a_write_at_once(world: World) -> None:
    other = World(world.root, world.state)
    try:
        for number in range(5):
            world.put(f"n{number}.md", f"fresh{number}")
            world.sync.these([f"n{number}.md"])
            assert other.find(f"fresh{number}") == [f"n{number}.md"]
    finally:
        other.close()


def test_a_write_does_not_wait_for_the_whole_of_a_large_vault(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultmem.indexing.batches.BATCH_NOTES", 40)
    for number in range(1000):
        world.put(f"old/n{number}.md", f"old{number}")
    other = World(world.root, world.state)
    filling = threading.Thread(target=other.sync.everything)
    filling.start()
    until(lambda: world.index.size, pause=0.005)
    world.put("new.md", "something new")
    world.sync.these(["new.md"])
    assert filling.is_alive(), "the vault was filled before the one note got its turn"
    assert world.index.size < 1000
    assert world.find("something new") == ["new.md"]
    filling.join()
    other.close()
    assert world.contents() == world.rebuilt()


KILLED = """
import os, pathlib, random, signal, sys, threading, time
from vaultmem import config
from vaultmem.index import Index
from vaultmem.indexing.reconcile import Reconciler
from vaultmem.storage.store import Store
root, state = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
store = Store(root, config.load(root, {"state_dir": str(state / "state")}))
index = Index(state / "index")
delay = float(sys.argv[3])
threading.Thread(target=lambda: (time.sleep(delay), os.kill(os.getpid(), signal.SIGKILL)), daemon=True).start()
import vaultmem.indexing.reconcile
vaultmem.indexing.batches.BATCH_NOTES = 7
Reconciler(store, index).everything()
"""


def test_killed_at_any_moment_the_next_start_heals(world: World) -> None:
    """Thirty kills while notes are indexed, changed, moved and removed."""
    chance = random.Random(5)
    for number in range(60):
        world.put(f"n{number}.md", f"---\ntags: [t{number % 3}]\n---\nword{number} [[n1]]")
    killed, longest = 0, 0.2
    for round_ in range(200):
        if killed >= 30:
            break
        for number in chance.sample(range(60), 20):
            file = world.root / f"n{number}.md"
            if file.exists() and chance.random() < 0.2:
                file.unlink()
            else:
                world.put(f"n{number}.md", f"---\ntags: [t]\n---\nword{number} round{round_}")
        command = [sys.executable, "-c", KILLED, str(world.root), str(world.state)]
        done = nursery.run([*command, str(chance.uniform(0.0, longest))], capture_output=True)
        died = done.returncode == -signal.SIGKILL
        assert died or done.returncode == 0, done.stderr.decode()
        killed += died
        longest = longest * 1.1 if died else longest * 0.7  # stay inside the work, fast or slow
    assert killed >= 30
    world.close()
    world.open()
    world.sync.everything()
    assert world.contents() == world.rebuilt()
    assert world.index.catalog.pending() == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_the_full_texts_commit(world: World, when: str) -> None:
    world.put("a.md", "first")
    world.sync.everything()
    world.close()
    world.put("a.md", "second")
    world.put("b.md", "another")
    code = f"""if 1:
        import os, pathlib, signal, sys
        from vaultmem import config
        from vaultmem.index import Index
        from vaultmem.index.embedded.text import fulltext
        from vaultmem.indexing.reconcile import Reconciler
        from vaultmem.storage.store import Store
        real = fulltext.TextWriter.commit
        def dying(self):
            if {when!r} == "after": real(self)
            os.kill(os.getpid(), signal.SIGKILL)
        fulltext.TextWriter.commit = dying
        root, state = map(pathlib.Path, sys.argv[1:])
        store = Store(root, config.load(root, {{"state_dir": str(state / "state")}}))
        Reconciler(store, Index(state / "index")).everything()
    """
    done = subprocess.run([sys.executable, "-c", code, str(world.root), str(world.state)])
    assert done.returncode == -signal.SIGKILL
    (world.root / "b.md").unlink()  # it was in the full text, and never in the catalog
    world.open()
    world.sync.everything()
    assert world.contents() == world.rebuilt()
    assert world.find("another") == []
    assert world.find("second") == ["a.md"]


def test_a_full_disk_stops_the_index_not_the_search(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        root = tmp_path / "vault"
        root.mkdir()
        world = World(root, disk)
        world.put("a.md", "findable")
        world.sync.everything()
        (disk / "ballast").write_bytes(b"x" * 3_000_000)
        for number in range(400):
            world.put(f"n{number}.md", " ".join(f"w{number}x{i}" for i in range(2000)))
        with pytest.raises(Exception, match="disk is full"):
            world.sync.everything()
        assert world.find("findable") == ["a.md"]
        for number in range(400):
            (root / f"n{number}.md").unlink()
        (disk / "ballast").unlink()
        world.put("b.md", "later")
        world.sync.everything()
        assert world.find("later") == ["b.md"]
        world.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


_LEFT_OPEN = """
import gc, sys, threading
from vaultmem.vault import Vault
vault = Vault.open(sys.argv[1])
def use():
    vault.remember("Refresh tokens rotate, " + sys.argv[2])
    vault.recall("tokens", strategy="keyword")
if sys.argv[2] == "in a thread":
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
else:
    use()
if sys.argv[2] == "let go":
    del vault
    gc.collect()
if sys.argv[2] == "failing":
    raise SystemExit(3)
"""


@pytest.mark.parametrize("how", ["plainly", "in a thread", "let go", "failing"])
def test_an_index_that_nobody_closed_is_whole(tmp_path: Path, how: str) -> None:
    """SQLite changes its file when the last connection goes, and that is no damage."""
    (tmp_path / "a.md").write_text("Tokens live for a day.\n", "utf-8")
    begun = set()
    for _ in range(3):
        command = [sys.executable, "-c", _LEFT_OPEN, str(tmp_path), how]
        done = nursery.run(command, env=os.environ | {"VAULTMEM_MODEL": "off"})
        assert done.returncode == (3 if how == "failing" else 0)
        begun |= {folder.name for folder in (tmp_path / ".vaultmem/index").glob("fulltext-*")}
    assert len(begun) == 1
