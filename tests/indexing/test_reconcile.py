"""One road into the index: whatever happens to the files, the index equals a rebuild."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, TEMPLATE, snapshot
from tests.world import World
from vaultmem.errors import Away, Unavailable
from vaultmem.index.embedded.batch import CatalogWriter
from vaultmem.upkeep.doctor import examine_index, examine_vault


def test_a_first_look_and_a_second(world: World) -> None:
    world.copy(TEMPLATE)
    report = world.sync.everything()
    assert len(report.added) == 11
    assert world.find("grace period")
    again = world.sync.everything()
    assert not again.touched
    assert again.revision == report.revision


def test_added_changed_moved_removed(world: World) -> None:
    world.put("a.md", "alpha")
    world.put("b.md", "---\nid: 01B\n---\nbeta")
    world.put("c.md", "gamma")
    world.sync.everything()
    world.put("a.md", "alpha and omega")
    (world.root / "sub").mkdir()
    (world.root / "b.md").rename(world.root / "sub" / "b2.md")
    world.put("sub/b2.md", "---\nid: 01B\n---\nbeta, edited on the way")
    (world.root / "c.md").unlink()
    world.put("d.md", "delta")
    report = world.sync.everything()
    assert report.changed == ["a.md"]
    assert report.moved == [("b.md", "sub/b2.md")]
    assert report.removed == ["c.md"]
    assert report.added == ["d.md"]
    assert world.contents() == world.rebuilt()
    assert world.find("beta") == ["sub/b2.md"]
    assert world.find("gamma") == []


def test_a_renamed_note_without_an_id_keeps_its_number(world: World) -> None:
    world.put("old.md", "the same bytes")
    world.sync.everything()
    number = next(iter(world.index.search_text("bytes", world_filters(), 5).notes))[0]
    (world.root / "old.md").rename(world.root / "new.md")
    assert world.sync.everything().moved == [("old.md", "new.md")]
    assert next(iter(world.index.search_text("bytes", world_filters(), 5).notes))[0] == number


def world_filters() -> object:
    from vaultmem.index import Filters

    return Filters()


def test_a_touched_file_is_not_indexed_again(world: World) -> None:
    file = world.put("a.md", "alpha")
    world.sync.everything()
    revision = world.index.revision
    os.utime(file, (1, 1))
    report = world.sync.everything()
    assert not report.touched
    assert world.index.revision == revision + 1, "only its stamp was noted"
    assert world.index.inventory.known()["a.md"].stat.mtime_ns == 1_000_000_000


def test_an_edit_that_keeps_size_and_second_is_seen(world: World) -> None:
    file = world.put("a.md", "aaaa")
    world.sync.everything()
    stamp = file.stat().st_mtime_ns
    file.write_bytes(b"bbbb")
    os.utime(file, ns=(stamp + 1, stamp + 1))
    assert world.sync.everything().changed == ["a.md"]


def test_an_emptied_vault_removes_nothing_unless_told(world: World) -> None:
    for name in "abcde":
        world.put(f"{name}.md", f"note {name}")
    world.sync.everything()
    for name in "abcde":
        (world.root / f"{name}.md").unlink()
    report = world.sync.everything()
    assert report.withheld == 5
    assert len(world.index.inventory.known()) == 5
    assert world.sync.everything(told=True).removed
    assert world.index.inventory.known() == {}


def test_an_unmounted_vault_removes_nothing(world: World, tmp_path: Path) -> None:
    world.put("a.md", "x")
    world.put("b.md", "y")
    world.sync.everything()
    world.root.rename(tmp_path / "away")
    for told in (False, True):
        with pytest.raises(Away, match="not mounted"):
            world.sync.everything(told=told)
    with pytest.raises(Away):
        world.sync.these(["a.md"])
    assert len(world.index.inventory.known()) == 2
    (tmp_path / "away").rename(world.root)
    assert not world.sync.everything().touched


def test_some_paths_only(world: World) -> None:
    for name in "abc":
        world.put(f"{name}.md", f"word{name}")
    world.sync.everything()
    world.put("a.md", "changed")
    world.put("b.md", "changed too")
    (world.root / "c.md").rename(world.root / "d.md")
    report = world.sync.these(["a.md", "d.md", "nowhere.md", "Templates/t.md"])
    assert (report.changed, report.added) == (["a.md"], ["d.md"])
    assert world.find("wordb") == ["b.md"], "b was not named"
    world.sync.these(["b.md", "c.md"])
    assert world.contents() == world.rebuilt()


def test_a_rename_seen_from_one_side_only(world: World) -> None:
    world.put("old.md", "---\nid: 01X\n---\ntext")
    world.sync.everything()
    (world.root / "old.md").rename(world.root / "new.md")
    assert world.sync.these(["new.md"]).moved == [("old.md", "new.md")]
    assert world.contents() == world.rebuilt()


def test_n2_a_conflict_copy_is_flagged_and_its_original_indexed(world: World) -> None:
    world.put("Note.md", "---\nid: 01X\n---\noriginal")
    world.sync.everything()
    world.put("Note (Conflicted copy Laptop 202601051200).md", "---\nid: 01X\n---\ncopy")
    report = world.sync.everything()
    assert "same id as Note.md" in report.problems[0][1]
    assert world.find("original") == ["Note.md"]
    assert world.find("copy") == []
    (world.root / "Note.md").unlink()
    assert world.sync.everything().moved
    assert world.find("copy")


def test_bad_notes_are_named_and_the_rest_goes_on(world: World) -> None:
    world.copy(FIXTURES / "golden")
    before = snapshot(world.root)
    report = world.sync.everything()
    assert snapshot(world.root) == before, "indexing never writes"
    assert len(report.added) == len(before)
    assert len(report.problems) > 8
    assert "duplicate-keys.md" in world.find("found")
    assert len(world.index.status().skipped) == len(report.problems)


def test_indexing_a_git_vault_leaves_it_clean(world: World) -> None:
    world.copy(FIXTURES / "golden")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", str(world.root)]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    world.sync.everything()
    done = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
    assert done.stdout == ""


def test_a_note_that_vanishes_between_walk_and_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put("a.md", "x")
    world.put("b.md", "y")
    real = world.store.read

    def read(path: str) -> object:
        (world.root / "a.md").unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(world.store, "read", read)
    assert world.sync.everything().added == ["b.md"]


def test_a_huge_note_comes_last_and_alone(world: World) -> None:
    world.put("huge.md", b"# Big\n\n" + b"lorem ipsum dolor " * 3_000_000)  # 54 MB
    for number in range(30):
        world.put(f"n{number}.md", f"small {number}")
    found_at: list[int] = []

    def progress(done: int, total: int) -> None:
        found_at.append(len(world.find("small")))

    report = world.sync.everything(progress=progress)
    assert found_at[0] == 30, "all small notes are searchable before the huge one"
    assert any(path == "huge.md" for path, _ in report.problems)
    assert world.find("ipsum") == ["huge.md"]


def test_many_notes_in_one_folder(world: World) -> None:
    for number in range(3000):
        world.put(f"flat/n{number}.md", f"number{number}")
    assert len(world.sync.everything().added) == 3000
    assert world.find("number2999") == ["flat/n2999.md"]


# --- stores that break ---------------------------------------------------------------------


def damage(folder: Path, how: str) -> None:
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"]
    for file in files:
        if how == "delete":
            file.unlink()
        elif how == "truncate":
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        else:
            file.write_bytes(b"\xff" * file.stat().st_size)


@pytest.mark.parametrize("how", ["delete", "truncate", "garble"])
@pytest.mark.parametrize("which", ["catalog.db", "fulltext", "everything"])
def test_a_damaged_index_comes_back_the_same(world: World, how: str, which: str) -> None:
    world.copy(TEMPLATE)
    world.sync.everything()
    before = world.contents()
    folder = world.index.folder
    world.close()
    if which == "catalog.db":
        for file in folder.glob("catalog.db*"):
            file.unlink() if how == "delete" else file.write_bytes(b"garbage" * 50)
    elif which == "fulltext":
        damage(next(folder.glob("fulltext-*")), how)
    else:
        damage(folder, how)
    world.open()
    assert not world.index.is_whole
    world.sync.everything()
    assert world.index.is_whole
    assert world.contents() == before


def test_index_files_deleted_while_open(world: World) -> None:
    world.copy(TEMPLATE)
    world.sync.everything()
    before = world.contents()
    shutil.rmtree(world.index.folder)
    world.index.folder.mkdir()
    time.sleep(0.03)  # one look lasts for a few milliseconds
    assert world.find("grace") == []
    assert not world.index.is_whole
    world.sync.everything()
    assert world.contents() == before


def test_a_new_language_makes_a_new_full_text(world: World) -> None:
    from vaultmem.index import Index
    from vaultmem.indexing.reconcile import Reconciler

    world.put("a.md", "die Häuser")
    world.sync.everything()
    world.close()
    world.index = Index(world.state / "index", "german")
    world.sync = Reconciler(world.store, world.index)
    assert world.find("Häuser") == ["a.md"], "until then the old one is asked, as it was made"
    world.index.take_language()
    assert not world.index.is_whole
    world.sync.everything()
    assert world.find("Haus") == ["a.md"]
    assert len(list(world.index.folder.glob("fulltext-*"))) == 1


def test_damage_met_by_a_question_is_seen_by_the_leader(world: World) -> None:
    world.copy(TEMPLATE)
    world.sync.everything()
    other = World(world.root, world.state)
    for file in world.index.folder.glob("fulltext-*/*.idx"):  # as a disk does it: no time changes
        rot(file)
    with pytest.raises(Unavailable):
        for word in ("grace", "period", "tokens", "the", "a"):
            other.find(word)
    assert not world.index.is_whole
    world.sync.everything()
    assert world.index.is_whole
    assert world.find("grace") == other.find("grace") != []
    other.close()


def rot(file: Path) -> None:
    found = file.stat()
    with file.open("r+b") as stream:
        stream.write(b"\xff" * (found.st_size - 100))
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_question_that_the_engine_cannot_bear_is_not_the_end_of_the_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.copy(TEMPLATE)
    world.sync.everything()

    def fail(*args: object) -> None:
        raise ValueError("it cannot")

    begun = set()
    for _ in range(3):
        with monkeypatch.context() as patched:
            patched.setattr(world.index.files.text, "_fulltext_query", fail)
            with pytest.raises(Unavailable):
                world.find("grace")
        world.sync.everything()
        assert world.find("grace")
        begun.add(world.index.identity)
    assert len(begun) == 1, "once is enough to know that it is not the files"


def test_a_note_takes_over_the_id_of_one_that_is_gone(world: World) -> None:
    world.put("a.md", "---\nid: 01SAME\n---\ntwin")
    world.put("b.md", "plain")
    world.sync.everything()
    (world.root / "a.md").unlink()
    world.put("b.md", "---\nid: 01SAME\n---\ntwin, once more")
    world.sync.these(["b.md"])
    assert world.find("once") == ["b.md"]
    world.sync.everything()
    assert not world.sync.everything().touched
    assert world.contents() == world.rebuilt()


# --- two notes with one id -------------------------------------------------------------------

ONE, OTHER = "---\nid: 01ONE\n---\nalpha", "---\nid: 01TWO\n---\nbeta"


def copied_over(world: World) -> None:
    world.put("a.md", ONE)
    world.put("b.md", OTHER)
    world.sync.everything()
    shutil.copyfile(world.root / "a.md", world.root / "b.md")


@pytest.mark.parametrize("whole", [True, False])
def test_a_copy_over_another_note_takes_its_old_text_out(world: World, whole: bool) -> None:
    copied_over(world)
    report = world.sync.everything() if whole else world.sync.these(["b.md"])
    assert report.removed == ["b.md"]
    assert (world.find("alpha"), world.find("beta")) == (["a.md"], [])
    assert [path for path, _ in world.index.status().skipped] == ["b.md"]
    assert "same id as a.md" in world.index.status().skipped[0][1]
    assert examine_index(world.store, world.index) == [], "nothing is behind"
    assert [f.path for f in examine_vault(world.store) if f.problem == "duplicate-id"] == ["b.md"]
    revision = world.index.revision
    assert world.sync.everything().problems
    assert world.index.revision == revision, "what is known to be left out is not read again"
    assert world.contents() == world.rebuilt()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("how", ["removed", "renamed", "another id", "no id"])
def test_a_twin_has_its_turn_when_the_other_leaves(world: World, how: str, whole: bool) -> None:
    copied_over(world)
    world.sync.everything()
    if how == "removed":
        (world.root / "a.md").unlink()
    elif how == "renamed":
        (world.root / "a.md").rename(world.root / "c.md")
    else:
        world.put("a.md", "---\nid: 01NEW\n---\nalpha" if how == "another id" else "alpha")
    world.sync.everything() if whole else world.sync.these(["a.md", "c.md"])
    skipped = [path for path, _ in world.index.status().skipped]
    if how == "renamed":  # whichever of the two it is, one of them is found
        assert len(world.find("alpha")) == len(skipped) == 1
    else:
        assert "b.md" in world.find("alpha")
        assert skipped == []
    assert world.contents() == world.rebuilt()
    assert not world.sync.everything().touched


def test_ids_that_are_exchanged(world: World) -> None:
    world.put("a.md", ONE)
    world.put("b.md", OTHER)
    world.sync.everything()
    world.put("a.md", OTHER)
    world.put("b.md", ONE)
    for path in ("a.md", "b.md"):
        world.sync.these([path])
    assert (world.find("alpha"), world.find("beta")) == (["b.md"], ["a.md"])
    assert world.index.status().skipped == ()
    assert world.contents() == world.rebuilt()


def test_many_notes_with_one_id(world: World) -> None:
    for number in range(20):
        world.put(f"n{number}.md", f"---\nid: 01SAME\n---\nnumber{number}")
    world.sync.everything()
    for left in range(19, 0, -1):
        assert len(world.index.status().skipped) == left
        (owner,) = world.index.inventory.known()
        (world.root / owner).unlink()
        world.sync.these([owner])
    (world.root / next(iter(world.index.inventory.known()))).unlink()
    world.sync.everything(told=True)
    assert world.index.inventory.known() == {} and world.index.status().skipped == ()


def test_what_is_skipped_and_deleted_is_forgotten(world: World) -> None:
    world.put("a.md", ONE)
    for name in ("b.md", "c.md"):
        world.put(name, ONE)
    world.sync.everything()
    (world.root / "b.md").unlink()
    world.sync.these(["b.md"])
    assert [path for path, _ in world.index.status().skipped] == ["c.md"]
    (world.root / "c.md").unlink()
    world.sync.everything()
    assert world.index.status().skipped == ()


# --- stamps ----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="there is no change time")
@pytest.mark.parametrize("whole", [True, False])
def test_a_change_that_keeps_inode_size_and_time_is_seen(world: World, whole: bool) -> None:
    file = world.put("a.md", "aaaa")
    world.sync.everything()
    before = file.stat()
    with file.open("r+b") as inside:
        inside.write(b"bbbb")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino, after.st_size, after.st_mtime_ns
    )  # fmt: skip
    report = world.sync.everything() if whole else world.sync.these(["a.md"])
    assert report.changed == ["a.md"]
    assert world.find("bbbb") == ["a.md"]


def test_other_rights_or_links_change_a_stamp_and_nothing_else(world: World) -> None:
    file = world.put("a.md", "aaaa")
    world.sync.everything()
    file.chmod(0o600)
    os.link(file, world.root / "a.txt")
    assert not world.sync.everything().touched
    revision = world.index.revision
    assert not world.sync.everything().touched
    assert world.index.revision == revision


def test_a_touched_note_of_a_killed_batch_is_still_found(world: World) -> None:
    """Its documents are taken out when the batch is undone, so it must come in again."""
    file = world.put("a.md", "alpha")
    world.put("b.md", "beta")
    world.sync.everything()
    os.utime(file, (1, 1))
    world.put("b.md", "beta, changed")
    CatalogWriter(world.index.catalog).mark_batch_pending(
        ["a.md", "b.md"]
    )  # as a killed writer leaves it
    world.sync.everything()
    assert world.find("alpha") == ["a.md"]
    assert world.contents() == world.rebuilt()
