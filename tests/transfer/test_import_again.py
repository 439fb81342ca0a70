"""Importing again: what changed over there, what a person changed or removed here."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.transfer import exports
from tests.transfer.test_sources import counts, notes
from vaultmem.errors import Busy, InvalidInput, ReadOnly, Unavailable
from vaultmem.transfer.importing import Importing
from vaultmem.transfer.ledger import KnownRecord, ledger_decision
from vaultmem.vault import Vault


def bring(vault: Vault, away: Path, *texts: str) -> tuple[int, int, int, int]:
    records = [exports.mem0_record(n, text) for n, text in enumerate(texts)]
    return counts(vault.import_("mem0", exports.mem0(away / "m.json", records)))


def only(root: Path) -> Path:
    [path] = notes(root)
    return root / path


def test_the_decision_table() -> None:
    """Only a note that nobody touched is ever changed, and only when the other side changed."""
    known = [None, KnownRecord("k", "old", "p", "v1")]
    table = {
        (bool(k), digest, current, same): ledger_decision(k, digest, current, same=same)
        for k, digest, current, same in itertools.product(
            known, ("old", "new"), (None, "v1", "v2"), (False, True)
        )
    }
    assert set(table.values()) == {"add", "gone", "here", "update", "kept"}
    assert [k for k, action in table.items() if action == "update"] == [(True, "new", "v1", False)]
    assert all(action in ("add", "gone") for k, action in table.items() if k[2] is None)
    assert table[False, "new", "v1", False] == "kept"
    assert table[True, "old", "v2", False] == "here"


def test_what_changed_there_is_changed_here(vault: Vault, root: Path, away: Path) -> None:
    assert bring(vault, away, "It rains") == (1, 0, 0, 0)
    before = only(root).read_bytes()
    assert bring(vault, away, "It\r\nsnows") == (0, 1, 0, 0)
    memory = vault.get([vault.list().memories[0].id]).memories[0]
    assert memory.content == "It\r\nsnows"
    assert memory.path == only(root).relative_to(root).as_posix() == "Memories/It rains.md"
    head = before.partition(b"\n---\n")[0]
    assert only(root).read_bytes().startswith(head + b"\nupdated: ")
    vault.restore(memory.id)
    assert only(root).read_bytes().endswith(b"It rains\n")
    assert bring(vault, away, "It\r\nsnows") == (0, 0, 0, 0)


def test_what_a_person_changed_is_theirs(vault: Vault, root: Path, away: Path) -> None:
    bring(vault, away, "It rains")
    file = only(root)
    file.write_bytes(file.read_bytes() + b"Yes, heavily.\n")
    mine = file.read_bytes()
    assert bring(vault, away, "It rains") == (0, 0, 0, 0)
    assert bring(vault, away, "It snows") == (0, 0, 1, 0)
    assert file.read_bytes() == mine


def test_what_a_person_types_meanwhile_is_not_overwritten(
    vault: Vault, root: Path, away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the decision and the writing lies a moment."""
    bring(vault, away, "It rains")
    file = only(root)
    carry_out = Importing._import_batch

    def after_an_edit(self: Importing, batch: Any, sorting: Any) -> Any:
        file.write_bytes(file.read_bytes() + b"Typed just now.\n")
        return carry_out(self, batch, sorting)

    monkeypatch.setattr(Importing, "_import_batch", after_an_edit)
    assert bring(vault, away, "It snows") == (0, 0, 1, 0)
    assert file.read_bytes().endswith(b"It rains\nTyped just now.\n")


def test_a_tag_of_mine_keeps_a_note_from_being_rewritten(
    open_vault: Open, root: Path, away: Path
) -> None:
    """Also where nothing is known of the import: another machine did it, and git brought it."""
    vault = open_vault()
    bring(vault, away, "It rains")
    file = only(root)
    file.write_bytes(file.read_bytes().replace(b"\nsource:", b"\ntags:\n  - mine\nsource:"))
    vault.close()
    (root / ".vaultmem/local/imports.db").unlink()
    vault = open_vault()
    assert bring(vault, away, "It rains") == (0, 0, 0, 0)
    assert bring(vault, away, "It snows") == (0, 0, 1, 0)
    assert b"mine" in file.read_bytes()


def test_without_any_record_of_it_nothing_comes_twice(
    open_vault: Open, root: Path, away: Path
) -> None:
    texts = [f"Text number {n}" for n in range(5)]
    vault = open_vault()
    bring(vault, away, *texts)
    vault.close()
    (root / ".vaultmem/local/imports.db").unlink()
    assert bring(open_vault(), away, *texts) == (0, 0, 0, 0)
    assert bring(open_vault(), away, *texts[:4], "changed") == (0, 1, 0, 0)


def test_what_was_moved_or_renamed_is_known_still(vault: Vault, root: Path, away: Path) -> None:
    bring(vault, away, "It rains")
    (root / "Weather").mkdir()
    only(root).rename(root / "Weather" / "Rain.md")
    assert bring(vault, away, "It rains") == (0, 0, 0, 0)
    assert bring(vault, away, "It snows") == (0, 1, 0, 0)
    assert list(notes(root)) == ["Weather/Rain.md"]


def test_what_was_removed_stays_away_unless_told(vault: Vault, root: Path, away: Path) -> None:
    bring(vault, away, "Junk", "Gold")
    (root / "Memories/Junk.md").unlink()
    assert bring(vault, away, "Junk", "Gold") == (0, 0, 1, 0)
    assert list(notes(root)) == ["Memories/Gold.md"]
    assert vault.import_("mem0", away / "m.json", again=True).added == 1
    assert sorted(notes(root)) == ["Memories/Gold.md", "Memories/Junk.md"]


def test_what_was_forgotten_stays_forgotten(vault: Vault, away: Path) -> None:
    bring(vault, away, "Junk")
    vault.forget(vault.list().memories[0].id)
    assert bring(vault, away, "Junk") == (0, 0, 0, 0)
    assert vault.list().total == 0


def test_names_that_are_taken_are_left_alone(vault: Vault, root: Path, away: Path) -> None:
    vault.remember("My own words about rain", title="It rains")
    (root / "Memories" / "it snows.md").write_bytes(b"mine\n")
    assert bring(vault, away, "It rains", "It snows", "It rains") == (3, 0, 0, 0)
    assert set(notes(root)) == {
        "Memories/It rains.md",
        "Memories/It rains 2.md",
        "Memories/It rains 3.md",
        "Memories/it snows.md",
        "Memories/It snows 2.md",
    }


def test_a_folder_in_another_case_is_that_folder(vault: Vault, root: Path, away: Path) -> None:
    vault.remember("x", scope="project", project="Atlas")
    record = exports.mem0_record(1, "It rains", app_id="atlas")
    vault.import_("mem0", exports.mem0(away / "m.json", [record]))
    assert (root / "Memories/Atlas/It rains.md").exists()


# --- who may ------------------------------------------------------------------------------------


def test_a_read_only_vault_or_caller_is_not_written(
    open_vault: Open, root: Path, away: Path
) -> None:
    path = exports.mem0(away / "m.json")
    for vault in (open_vault({"read_only": True}), open_vault(read_only=True)):
        with pytest.raises(ReadOnly):
            vault.import_("mem0", path)
        assert vault.import_("mem0", path, dry_run=True).added == 3
    assert notes(root) == {}


def test_a_caller_bound_to_a_user_or_project_imports_for_these(
    open_vault: Open, away: Path
) -> None:
    records = [
        exports.mem0_record(1, "mine", user_id="me"),
        exports.mem0_record(2, "theirs", user_id="other"),
        exports.mem0_record(3, "nobody's", user_id=None),
        exports.mem0_record(4, "of Atlas", user_id="me", app_id="atlas"),
        exports.mem0_record(5, "of another project", user_id="me", app_id="Birch"),
    ]
    path = exports.mem0(away / "m.json", records)
    done = open_vault(user="Me", project="Atlas").import_("mem0", path)
    assert (done.added, [left.what for left in done.left_out]) == (
        3,
        ["theirs", "of another project"],
    )
    everything = open_vault().get([m.id for m in open_vault().list().memories]).memories
    assert {(m.user, m.project) for m in everything} == {("Me", "Atlas")}


def test_two_users_can_import_the_same_file(open_vault: Open, away: Path) -> None:
    path = exports.mem0(away / "m.json")
    for user in ("a", "b"):
        assert open_vault(user=user).import_("mem0", path).added == 3
        assert open_vault(user=user).list().total == 3
    assert open_vault().list().total == 6


def test_two_imports_take_turns(open_vault: Open, root: Path, away: Path) -> None:
    from vaultmem.base import lock

    vault = open_vault()
    held = lock.try_to_lock(vault.parts.store.local() / "imports.lock")
    assert held is not None
    with pytest.raises(Busy, match="Another import"):
        bring(vault, away, "x")
    held.release()
    assert bring(vault, away, "x") == (1, 0, 0, 0)


def test_a_vault_that_looks_unmounted_is_left_alone(vault: Vault, root: Path, away: Path) -> None:
    bring(vault, away, *(f"Text {n}" for n in range(5)))
    (root / "Memories").rename(away / "Memories")
    with pytest.raises(Unavailable, match="looks empty"):
        bring(vault, away, "Text 0")
    assert notes(root) == {}


def test_the_vault_is_not_imported_into_itself(vault: Vault, root: Path, tmp_path: Path) -> None:
    (root / "Notes").mkdir()
    (root / "Notes" / "a.md").write_bytes(b"a")
    for path in (root, root / "Notes", root / "Notes" / ".." / "Notes"):
        with pytest.raises(InvalidInput, match="lies in the vault itself"):
            vault.import_("folder", path)
    with pytest.raises(InvalidInput, match="imported into itself"):
        vault.import_("folder", tmp_path)
