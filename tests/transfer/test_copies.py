"""Folders of Markdown: the same bytes, in the same folders, and nothing overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, snapshot
from tests.transfer import exports
from tests.transfer.test_sources import counts, notes
from vaultmem.errors import OutsideVault
from vaultmem.vault import Vault


def test_bytes_and_folders_are_kept(vault: Vault, root: Path, away: Path) -> None:
    source = exports.folder(away / "My notes")
    done = vault.import_("folder", source)
    expected = {
        f"My notes/{path}": raw
        for path, raw in exports.NOTES.items()
        if path.endswith(".md") and "/." not in f"/{path}"
    }
    assert notes(root) == expected
    assert len(done.warnings) == 1
    assert done.warnings[0].startswith("Only Markdown was taken; 1 other files stayed behind")
    near = vault.search_graph("Plan")
    assert "Deep note" in str(near)


def test_the_golden_corpus_arrives_unharmed(vault: Vault, root: Path) -> None:
    golden = FIXTURES / "golden"
    vault.import_("folder", golden, into="")
    assert notes(root) == {file.name: file.read_bytes() for file in golden.glob("*.md")}


def test_other_files_come_along_when_asked(vault: Vault, root: Path, away: Path) -> None:
    source = exports.folder(away / "n")
    assert vault.import_("folder", source, files=True, into="Archive/2024").added == 4
    assert (root / "Archive/2024/picture.png").read_bytes() == b"\x89PNG"
    assert not list(root.rglob("app.json"))
    assert vault.import_("folder", source, files=True, into="Archive/2024").here == 4


def test_a_name_that_is_taken_is_never_overwritten(vault: Vault, root: Path, away: Path) -> None:
    source = exports.folder(away / "n", {"A.md": b"theirs\n", "Same.md": b"same\n"})
    exports.folder(root, {"n/a.md": b"mine\n", "n/Same.md": b"same\n"})
    done = vault.import_("folder", source)
    assert (done.added, done.here) == (1, 1)
    assert [step.why for step in done.notes if step.why] == ["n/A.md is called n/A 2.md here"]
    assert notes(root) == {"n/a.md": b"mine\n", "n/A 2.md": b"theirs\n", "n/Same.md": b"same\n"}
    again = vault.import_("folder", source)
    assert (again.added, again.here) == (0, 2)


def test_a_clash_is_known_again_without_any_record(vault: Vault, root: Path, away: Path) -> None:
    source = exports.folder(away / "n", {"A.md": b"theirs\n"})
    exports.folder(root, {"n/A.md": b"mine\n", "n/A 2.md": b"another\n", "n/A 3.md": b"theirs\n"})
    done = vault.import_("folder", source)
    assert [(step.action, step.path) for step in done.notes] == [("here", "n/A 3.md")]


def test_changes_on_either_side(vault: Vault, root: Path, away: Path) -> None:
    names = ("mine", "theirs", "both", "moved", "gone")
    source = exports.folder(away / "n", {f"{name}.md": f"old {name}\n".encode() for name in names})
    vault.import_("folder", source)
    for name in ("mine", "both"):
        (root / "n" / f"{name}.md").write_bytes(b"edited here\n")
    for name in ("theirs", "both"):
        (source / f"{name}.md").write_bytes(f"edited there: {name}\n".encode())
    (root / "n/moved.md").write_bytes(b"old and mine\n")
    (root / "n/gone.md").unlink()
    done = {Path(str(s.path)).stem: s.action for s in vault.import_("folder", source).notes}
    assert done == {
        "mine": "here",
        "theirs": "update",
        "both": "kept",
        "moved": "here",
        "gone": "gone",
    }
    assert (root / "n/theirs.md").read_bytes() == b"edited there: theirs\n"
    assert (root / "n/both.md").read_bytes() == b"edited here\n"
    assert vault.history("n/theirs.md").versions[1].action == "import"


def test_a_note_with_an_id_is_known_wherever_it_is(vault: Vault, root: Path, away: Path) -> None:
    known = vault.remember("It rains")
    raw = (root / known.path).read_bytes()
    source = exports.folder(away / "copy", {"Other name.md": raw, "Changed.md": raw + b"More.\n"})
    done = vault.import_("folder", source)
    assert {(s.what, s.action) for s in done.notes} == {
        ("copy/Other name.md", "here"),
        ("copy/Changed.md", "kept"),
    }
    assert notes(root) == {known.path: raw}


def test_two_folders_of_one_name_do_not_follow_each_other(
    vault: Vault, root: Path, away: Path
) -> None:
    one = exports.folder(away / "one" / "n", {"A.md": b"one\n"})
    two = exports.folder(away / "two" / "n", {"A.md": b"two\n"})
    for source in (one, two, one, two):
        vault.import_("folder", source)
    assert notes(root) == {"n/A.md": b"one\n", "n/A 2.md": b"two\n"}


@pytest.mark.skipif(os.name == "nt", reason="such names do not exist there")
def test_names_that_do_not_travel_are_changed_aloud(vault: Vault, root: Path, away: Path) -> None:
    strange = {
        "What now?.md": b"a\n",
        "a:b/c .md": b"b\n",
        "cafe\u0301.md": b"c\n",
        "con.md": b"d\n",
    }
    source = exports.folder(away / "n", strange)
    done = vault.import_("folder", source)
    assert set(notes(root)) == {"n/What now.md", "n/a b/c.md", "n/café.md", "n/con note.md"}
    assert "n/What now?.md is called n/What now.md here" in [step.why for step in done.notes]
    assert vault.import_("folder", source).here == 4


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_links_and_unreadable_files_are_left_aloud(vault: Vault, root: Path, away: Path) -> None:
    secret = away / "secret.md"
    secret.write_bytes(b"not in the folder\n")
    source = exports.folder(away / "n", {"A.md": b"a\n"})
    (source / "link.md").symlink_to(secret)
    (source / "out").symlink_to(away, target_is_directory=True)
    (source / "loop").symlink_to(source, target_is_directory=True)
    done = vault.import_("folder", source)
    assert (done.added, [left.what for left in done.left_out]) == (1, ["link.md"])
    assert list(notes(root)) == ["n/A.md"]


def test_templates_and_places_outside_are_refused(vault: Vault, root: Path, away: Path) -> None:
    source = exports.folder(away / "n", {"Templates/Day.md": b"{{date}}\n", "A.md": b"a\n"})
    done = vault.import_("folder", source, into="")
    assert (done.added, [left.what for left in done.left_out]) == (1, ["Templates/Day.md"])
    for place in ("../elsewhere", "/tmp", ".obsidian", "a/../../b"):
        with pytest.raises(OutsideVault):
            vault.import_("folder", source, into=place)


def test_basic_memory_is_understood_as_it_is(vault: Vault, root: Path, away: Path) -> None:
    source = exports.folder(away / "main", exports.BASIC_MEMORY)
    before = snapshot(source)
    done = vault.import_("basic-memory", source)
    flow = root / "main/specs/Auth flow.md"
    assert flow.read_bytes() == exports.BASIC_MEMORY["specs/Auth flow.md"]
    # Links name it by its title, so the copy is called so; its bytes are the same.
    store = root / "main/specs/Token store.md"
    assert store.read_bytes() == exports.BASIC_MEMORY["specs/token-store.md"]
    assert len(done.warnings) == 1
    known = vault.get(["Auth flow"]).memories[0]
    assert [(o.category, o.content) for o in known.observations or ()] == [
        ("decision", "Sign with RS256 #security")
    ]
    assert snapshot(source) == before
    assert counts(vault.import_("basic-memory", source)) == (0, 0, 0, 0)
