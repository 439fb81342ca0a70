"""A note that does not say when it was made keeps its date, whatever happens to its file."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from vaultmem.base.system_calls import file_birth_ns
from vaultmem.vault import Vault

HAS_BIRTHS = bool(file_birth_ns(__file__))


def created(vault: Vault, path: str) -> float:
    return vault.get([path]).memories[0].created_at.timestamp()


@pytest.fixture
def plain(root: Path, vault: Vault) -> float:
    """A person's note, seen once; when it was made."""
    (root / "Plain.md").write_text("Kettle\n")
    (root / "Other.md").write_text("Lamp\n")
    vault.index_now()
    found = created(vault, "Plain.md")
    assert abs(found - time.time()) < 30
    until(lambda: time.time() > found + 1.1)  # what is made from now on is told apart
    return found


def test_an_agents_edit_and_an_editors_save_leave_it(
    root: Path, vault: Vault, plain: float
) -> None:
    vault.update("Plain.md", append="Teapot")
    assert created(vault, "Plain.md") == plain
    (root / "other").write_text("Cup\n")
    os.replace(root / "other", root / "Plain.md")
    vault.index_now()
    assert created(vault, "Plain.md") == plain
    assert vault.list(order="created").memories[0].created_at.timestamp() == plain


def test_an_index_made_anew_has_it(root: Path, open_vault: Any, vault: Vault, plain: float) -> None:
    vault.update("Plain.md", append="Teapot")
    vault.index_now(rebuild=True)
    assert created(vault, "Plain.md") == plain
    vault.close()
    shutil.rmtree(root / ".vaultmem/index")
    again = open_vault()
    again.index_now()
    assert created(again, "Plain.md") == plain


def test_a_move_takes_it_along(root: Path, vault: Vault, plain: float) -> None:
    (root / "Folder").mkdir()
    shutil.copyfile(root / "Plain.md", root / "Folder/Moved.md")  # as across two disks
    (root / "Plain.md").unlink()
    vault.index_now()
    assert created(vault, "Folder/Moved.md") == plain


def test_another_note_of_the_name_has_its_own(root: Path, vault: Vault, plain: float) -> None:
    (root / "Plain.md").unlink()
    vault.index_now()
    (root / "Plain.md").write_text("Something else\n")
    vault.index_now()
    assert created(vault, "Plain.md") > plain


def test_an_agents_edit_of_what_was_never_indexed(root: Path, vault: Vault) -> None:
    file = root / "Plain.md"
    file.write_text("Kettle\n")
    past = time.time() - 100_000
    os.utime(file, (past, past))
    vault.update("Plain.md", append="Teapot")
    assert created(vault, "Plain.md") == int(past)


@pytest.mark.skipif(not HAS_BIRTHS, reason="this disk does not tell when files were made")
def test_a_save_before_it_was_first_seen(root: Path, vault: Vault) -> None:
    file = root / "Plain.md"
    file.write_text("Kettle\n")
    os.utime(file, (time.time() + 5_000, time.time() + 5_000))
    vault.index_now()
    assert abs(created(vault, "Plain.md") - time.time()) < 60


def test_filters_lists_and_a_look_without_an_index_agree(root: Path, vault: Vault) -> None:
    (root / "2024-05-05 Walk.md").write_text("Kettle\n")
    (root / "Talk.md").write_text("---\ndate: 2023-05-05\n---\nKettle\n")
    vault.index_now()
    for broken in (False, True):
        if broken:
            (root / ".vaultmem/index/catalog.db").unlink()
        found = {
            m.path for m in vault.recall("kettle", after="2024-05-05", before="2024-05-05").memories
        }
        assert found == {"2024-05-05 Walk.md"}
    listed = [each.path for each in vault.list(order="created").memories]
    assert listed == ["2024-05-05 Walk.md", "Talk.md"]
