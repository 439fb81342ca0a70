"""Following the files: one process leads, another takes over, edits become searchable."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE
from vaultmem.indexing.reconcile import ReconcileReport
from vaultmem.vault import Vault


def eventually(condition: Callable[[], object], seconds: float = 10.0) -> float:
    """Wait until it holds; answers with how long that took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "it never happened"
        time.sleep(0.01)
    return time.monotonic() - started


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
        eventually(lambda: follower.watcher and follower.watcher.mode == "native")
        eventually(lambda: reports)
        file = service.root / "Memories" / "Questions for planning.md"
        file.write_text("Does zanzibarium exist? #question")
        assert eventually(lambda: found(service, "zanzibarium")) < 3
        file.rename(service.root / "Memories" / "Renamed.md")
        eventually(lambda: found(service, "zanzibarium") == ["Memories/Renamed.md"])
        (service.root / "New folder").mkdir()
        (service.root / "New folder" / "n.md").write_text("quuxification")
        eventually(lambda: found(service, "quuxification"))
        (service.root / "New folder" / "n.md").unlink()
        eventually(lambda: not found(service, "quuxification"))
        assert any("Memories/Renamed.md" in r.touched for r in reports)
    finally:
        follower.stop()
        service.close()


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
        eventually(lambda: found(service, "bulkword599"), 20)
        subprocess.run([*git, "checkout", "-q", "main"], check=True)
        eventually(lambda: not found(service, "bulkword599"), 20)
        eventually(lambda: service.status().index.notes == 11, 20)
        subprocess.run([*git, "checkout", "-q", "other"], check=True)
        eventually(lambda: service.status().index.notes == 611, 20)
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
time.sleep(60)
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
        eventually(lambda: follower.leading, 6)
        (service.root / "after.md").write_text("aftermathematics")
        eventually(lambda: found(service, "aftermathematics"))
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
        eventually(lambda: all_embedded(service), 60)
        answer = service.recall("why people were logged out by a second tab", strategy="vector")
        assert any("refresh loop" in hit.title for hit in answer.memories[:3])
        (root / "Memories" / "Cat.md").write_text("The cat sleeps on the warm radiator.")
        eventually(lambda: found(service, "radiator"))
        eventually(lambda: all_embedded(service), 30)
        answer = service.recall("a pet that naps on the heating", strategy="vector")
        assert answer.memories[0].title == "Cat"
        hybrid = service.recall("a pet that naps on the heating")
        assert hybrid.strategy_used == "hybrid"
        assert "Cat" in [hit.title for hit in hybrid.memories[:3]]
    finally:
        follower.stop()
        service.close()


def test_stopping_takes_less_than_two_seconds(service: Vault) -> None:
    follower = service.follower(lambda report: None)
    follower.start()
    eventually(lambda: follower.leading)
    started = time.monotonic()
    follower.stop()
    assert time.monotonic() - started < 2
    service.close()
