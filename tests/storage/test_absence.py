"""Editors that rename a note away and write it anew, beside agents that read and change it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import make_store
from vaultmem.errors import AlreadyExists, NotFound
from vaultmem.storage import absence
from vaultmem.storage.store import Store
from vaultmem.vault import Vault

PATIENCE = 60.0  # seconds
TEXT = "---\nid: 01K0000000000000000000000A\ntype: semantic\n---\nThe grace period is {}.\n"


@contextmanager
def saving(file: Path, seconds: float) -> Iterator[None]:
    """As vim does it with backupcopy=no, and many others: away, written anew, backup deleted."""
    backup = file.with_name(file.name + "~")
    os.rename(file, backup)

    def write() -> None:
        file.write_text(TEXT.format(seconds))
        backup.unlink()

    timer = threading.Timer(seconds, write)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.fixture(autouse=True)
def far_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor of ours may be kept from writing by whoever else needs the machine."""
    monkeypatch.setattr(absence, "ABSENCE_SECONDS", PATIENCE)
    for waiting in (absence.is_absence_over, absence.lasting_absences):
        monkeypatch.setattr(waiting, "__defaults__", (PATIENCE,))


@pytest.fixture
def vault(root: Path) -> Iterator[Vault]:
    file = root / "Memories" / "Grace.md"
    file.parent.mkdir()
    file.write_text(TEXT.format(0))
    with Vault.open(root, {"typing.quiet_seconds": 0.0, "model": "off"}) as opened:
        opened.index_now()
        yield opened


ID = "01K0000000000000000000000A"
CALLS: dict[str, Callable[[Vault, int], object]] = {
    "get by id": lambda v, i: v.get([ID]).missing == () or pytest.fail("missing"),
    "get by path": lambda v, i: (
        v.get(["Memories/Grace.md"]).missing == () or pytest.fail("missing")
    ),
    "get by title": lambda v, i: v.get(["Grace"]).missing == () or pytest.fail("missing"),
    "recall": lambda v, i: v.recall("grace period", strategy="keyword").memories[0].content,
    "list": lambda v, i: v.list().memories[0].path,
    "tag": lambda v, i: v.tag(ID, add=[f"t{i}"]),
    "update": lambda v, i: v.update(ID, importance=i % 100 / 100),
    "source": lambda v, i: v.source(ID),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.08])
def test_a_note_that_is_written_anew_is_there_for_every_call(
    vault: Vault, root: Path, name: str, seconds: float
) -> None:
    with saving(root / "Memories" / "Grace.md", seconds):
        CALLS[name](vault, 7)


def test_forgetting_by_the_trash_waits_too(vault: Vault, root: Path) -> None:
    file = root / "Memories" / "Grace.md"
    with saving(file, 0.1):
        assert vault.parts.store.remove("Memories/Grace.md") == ".trash/Grace.md"


def test_no_note_is_made_in_the_place_of_one_that_is_being_saved(vault: Vault, root: Path) -> None:
    """The editor would write over it, and an acknowledged memory would be gone."""
    file = root / "Memories" / "Grace.md"
    with saving(file, 0.1), pytest.raises(AlreadyExists):
        vault.parts.store.create("Memories/Grace.md", b"mine")
    assert file.read_text() == TEXT.format(0.1)


def test_a_look_at_everything_does_not_take_a_save_for_a_deletion(vault: Vault, root: Path) -> None:
    file = root / "Memories" / "Grace.md"
    with saving(file, 0.08):
        assert vault.index_now().removed == []


def test_what_is_not_there_is_said_at_once(vault: Vault, root: Path) -> None:
    """Nobody waits for a note that was never there, or that has been gone for a while."""
    started = time.monotonic()
    (root / "Memories" / "Other.md").write_text("fresh")  # the folder has just changed
    for missing in ("Memories/Never.md", "Never", "01K0000000000000000000000B"):
        assert vault.get([missing]).missing == (missing,)
    (root / "Memories" / "Grace.md").unlink()
    past = time.time() - 2 * PATIENCE
    os.utime(root / "Memories", (past, past))
    assert vault.get(["Memories/Grace.md"]).missing
    with pytest.raises(NotFound):
        vault.parts.store.update("Memories/Grace.md", lambda note: b"x")
    assert time.monotonic() - started < PATIENCE / 2


def test_a_store_without_an_index_does_not_wait_for_names(root: Path) -> None:
    store: Store = make_store(root)
    started = time.monotonic()
    with pytest.raises(NotFound):
        store.read("a.md")
    assert time.monotonic() - started < PATIENCE / 2
