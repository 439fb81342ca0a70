"""A folder that comes and goes while notes are written: what is acknowledged is in the vault."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import make_store
from vaultmem.base.database import Database
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import Away, VaultmemError
from vaultmem.storage.root import VaultFolder
from vaultmem.vault import Vault


@pytest.mark.parametrize("ghost", [False, True])
def test_no_note_is_acknowledged_that_is_not_in_the_vault(root: Path, ghost: bool) -> None:
    (root / "First.md").write_text("x")
    store, away = make_store(root), root.with_name("away")
    store.walk()
    done = threading.Event()

    def come_and_go() -> None:
        chance = random.Random(16)
        while not done.wait(chance.uniform(0, 0.06)):
            root.rename(away)
            if ghost:
                root.mkdir()
            done.wait(0.002)
            shutil.rmtree(root, ignore_errors=True)
            away.rename(root)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    acknowledged: list[str] = []
    refused = number = 0
    try:
        while refused < 15 or len(acknowledged) < 15:
            number += 1
            try:
                path = f"Folder {number % 7}/Note {number}.md"
                acknowledged.append(store.create(path, b"text %d" % number).path)
            except VaultmemError as error:
                assert isinstance(error, Away) and error.retry_possible, error
                refused += 1
    finally:
        done.set()
        thread.join()
    assert [path for path in acknowledged if not (root / path).exists()] == []


def test_a_vault_is_known_by_its_notes(root: Path, tmp_path: Path) -> None:
    for name in "abcd":
        (root / f"{name}.md").write_text(name)
    home = VaultFolder(root)
    home.remember([f"{name}.md" for name in "abcd"])
    root.rename(tmp_path / "old")
    assert "is not there" in home.trouble()
    root.mkdir()
    assert "not the vault" in home.trouble()
    (root / "a.md").write_text("a")
    assert "not the vault" in home.trouble(), "one of four is not enough"
    (root / "b.md").write_text("b")
    assert not home.trouble() and home.generation == 1
    with pytest.raises(Away), home.kept():
        root.rename(tmp_path / "new")


def test_an_empty_folder_that_is_filled_from_elsewhere_is_taken(root: Path, tmp_path: Path) -> None:
    home = VaultFolder(root)
    root.rmdir()
    root.mkdir()
    (root / "a.md").write_text("a")
    assert not home.trouble()


def test_an_open_database_goes_on_answering_in_other_threads(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    database, away = Database(folder / "a.db"), [""]
    database.away = lambda: away[0]
    made = threading.Thread(
        target=lambda: database.db.executescript("CREATE TABLE t AS SELECT 7 n")
    )
    made.start()
    made.join()
    folder.rename(tmp_path / "elsewhere")
    away[0] = "It is away."
    assert database.db.execute("SELECT n FROM t").fetchone() == (7,)
    other: list[Exception] = []

    def ask() -> None:
        try:
            database.db.execute("SELECT n FROM t")
        except Away as error:
            other.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    assert str(other[0]) == "It is away." and not folder.exists()


def test_state_elsewhere_knows_that_an_empty_folder_is_not_the_vault(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a drive that is not mounted when the server starts; a rebuild says that it is meant."""
    monkeypatch.setenv("VAULTMEM_STATE_DIR", str(tmp_path / "state"))
    flags = {"typing.quiet_seconds": 0.0, "model": "off"}
    with Vault.open(root, flags) as vault:
        vault.remember("The grace period lasts five minutes.")
    root.rename(tmp_path / "real")
    root.mkdir()
    with Vault.open(root, flags) as vault:
        for _ in range(2):
            try:
                assert "not mounted" in str(vault.recall("grace period").warnings)
            except Away as error:
                assert "not mounted" in str(error)
        with pytest.raises(Away):
            vault.remember("Written to nowhere.")
        assert not list(root.iterdir())
        vault.index_now(rebuild=True)
        assert (root / vault.remember("A new beginning.").path).exists()


MAKING: dict[str, Callable[[OwnPath], object]] = {
    "a folder": lambda place: place.make(),
    "a checked folder": lambda place: place.checked_folder(),
    "a file": lambda place: place.write(b"x"),
    "a line": lambda place: place.append(b"x"),
    "a new file": lambda place: place.create(b"x"),
    "a lock": lambda place: place.touch(),
}


@pytest.mark.parametrize("moment", ["before", "meanwhile"])
@pytest.mark.parametrize("what", MAKING)
def test_nothing_of_ours_is_made_in_a_folder_that_took_the_vaults_place(
    root: Path, what: str, moment: str
) -> None:
    """Not even when it does so after we looked: what was opened goes where it goes."""
    (root / "a.md").write_text("a")
    home, away = VaultFolder(root), root.with_name("away")
    home.remember(["a.md"])

    def replaced_meanwhile(found: os.stat_result) -> None:
        home.require_is(found)
        root.rename(away)
        root.mkdir()

    if moment == "before":
        root.rename(away)
        root.mkdir()
        with pytest.raises(Away):
            MAKING[what](OwnPath(root, (".vaultmem", "index", "new"), home.require_is))
        assert not (away / ".vaultmem").exists()
    elif os.name == "posix":
        MAKING[what](OwnPath(root, (".vaultmem", "index", "new"), replaced_meanwhile))
        assert (away / ".vaultmem" / "index" / "new").exists()
    assert not root.exists() or not list(root.glob(".*"))


def test_the_stores_own_files_know_their_vault(root: Path) -> None:
    (root / "a.md").write_text("a")
    store, away = make_store(root), root.with_name("away")
    store.walk()
    root.rename(away)
    root.mkdir()
    for place in (store.state / "index", store.state / "local" / "x", store.trash.place / "y"):
        with pytest.raises(Away):
            place.make()
    assert not list(root.iterdir())
    root.rmdir()
    away.rename(root)
    assert (store.state / "index").make().is_dir()
