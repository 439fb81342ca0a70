"""Following the files: one process leads, another takes over, edits become searchable."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import cast

import pytest

from tests.conftest import TEMPLATE
from tests.indexing.test_embed_sentences import Counting
from tests.waiting import until
from tests.world import World
from vaultmem.embedding.embedder import Embedder
from vaultmem.index.embedded.mapped import passage_map
from vaultmem.indexing.follower import Follower
from vaultmem.indexing.reconcile import ReconcileReport
from vaultmem.indexing.watcher import WatchHint
from vaultmem.vault import Vault


@pytest.fixture
def service(tmp_path: Path) -> Vault:
    root = tmp_path / "vault"
    shutil.copytree(TEMPLATE, root)
    return Vault.open(str(root), {"model": "off"})


def all_embedded(service: Vault) -> bool:
    index = service.status().index
    return index.passages > 0 == index.pending


def found(service: Vault, word: str) -> list[str]:
    answer = service.recall(word, strategy="keyword")
    return [hit.path for hit in answer.memories if word in hit.content]


def test_a_humans_edit_becomes_searchable(service: Vault) -> None:
    reports: list[ReconcileReport] = []
    follower = service.follower(reports.append)
    follower.start()
    try:
        until(lambda: follower.watcher and follower.watcher.mode == "native")
        until(lambda: reports)
        file = service.root / "Memories" / "Questions for planning.md"
        file.write_text("Does zanzibarium exist? #question")
        until(lambda: found(service, "zanzibarium"))
        file.rename(service.root / "Memories" / "Renamed.md")
        until(lambda: found(service, "zanzibarium") == ["Memories/Renamed.md"])
        (service.root / "New folder").mkdir()
        (service.root / "New folder" / "n.md").write_text("quuxification")
        until(lambda: found(service, "quuxification"))
        (service.root / "New folder" / "n.md").unlink()
        until(lambda: not found(service, "quuxification"))
        assert any("Memories/Renamed.md" in r.touched for r in reports)
    finally:
        follower.stop()
        service.close()


def test_whoever_follows_puts_new_vectors_into_the_file_that_all_map(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_map, "FEW_UNKEPT", 8)
    embedder = Counting()
    follower = Follower(world.sync, lambda: cast(Embedder, embedder), watch=False)

    def kept() -> list[Path]:
        return list(world.index.folder.glob("vectors-*.map"))

    for number in range(12):
        world.put(f"n{number}.md", f"word{number}")
    follower.start()
    try:
        until(kept)
        first = kept()
        for number in range(100, 112):
            world.put(f"n{number}.md", f"word{number}")
        follower.look(WatchHint(frozenset(f"n{number}.md" for number in range(100, 112))))
        until(lambda: len(kept()) == 1 and kept() != first)
    finally:
        follower.stop()
    world.close()


def test_a_checkout_of_many_notes_is_followed(service: Vault) -> None:
    root = service.root
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", str(root)]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], check=True)
    subprocess.run([*git, "checkout", "-qb", "other"], check=True)
    for number in range(600):
        (root / "Memories" / f"bulk {number}.md").write_text(f"bulkword{number}")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "b"], check=True)
    follower = service.follower(lambda report: None)
    follower.start()
    try:
        until(lambda: found(service, "bulkword599"))
        subprocess.run([*git, "checkout", "-q", "main"], check=True)
        until(lambda: not found(service, "bulkword599"))
        until(lambda: service.status().index.notes == 11)
        subprocess.run([*git, "checkout", "-q", "other"], check=True)
        until(lambda: service.status().index.notes == 611)
    finally:
        follower.stop()
        service.close()


LEADER = """
import sys, time
from vaultmem.vault import Vault
service = Vault.open(sys.argv[1], {"model": "off"})
follower = service.follower(lambda report: None)
follower.start()
while not follower.leading:
    time.sleep(0.01)
print("leading", flush=True)
time.sleep(600)
"""


def test_another_process_takes_over_when_the_leader_dies(service: Vault) -> None:
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER, str(service.root)], stdout=subprocess.PIPE, text=True
    )
    assert leader.stdout is not None
    assert leader.stdout.readline() == "leading\n"
    follower = service.follower(lambda report: None)
    follower.start()
    try:
        time.sleep(0.3)
        assert not follower.leading
        assert service.parts.is_followed()
        leader.kill()
        leader.communicate()
        until(lambda: follower.leading)
        (service.root / "after.md").write_text("aftermathematics")
        until(lambda: found(service, "aftermathematics"))
    finally:
        follower.stop()
        service.close()
    assert not service.parts.is_followed()


def test_vectors_follow_in_the_background(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    shutil.copytree(TEMPLATE, root)
    service = Vault.open(str(root))
    follower = service.follower(lambda report: None)
    follower.start()
    try:
        until(lambda: all_embedded(service))
        answer = service.recall("why people were logged out by a second tab", strategy="vector")
        assert any("refresh loop" in hit.title for hit in answer.memories[:3])
        (root / "Memories" / "Cat.md").write_text("The cat sleeps on the warm radiator.")
        until(lambda: found(service, "radiator"))
        until(lambda: all_embedded(service))
        answer = service.recall("a pet that naps on the heating", strategy="vector")
        assert answer.memories[0].title == "Cat"
        hybrid = service.recall("a pet that naps on the heating")
        assert hybrid.strategy_used == "hybrid"
        assert "Cat" in [hit.title for hit in hybrid.memories[:3]]
    finally:
        follower.stop()
        service.close()


def test_stopping_leaves_no_thread_behind(service: Vault) -> None:
    """It waits for two seconds at most, which is more than a thread needs that is told to stop."""
    before = set(threading.enumerate())
    follower = service.follower(lambda report: None)
    follower.start()
    until(lambda: follower.leading)
    follower.stop()
    until(lambda: set(threading.enumerate()) <= before)
    service.close()
