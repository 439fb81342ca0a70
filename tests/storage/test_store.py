"""The notes on disk: rules S1 to S5 and N3."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
import unicodedata
from pathlib import Path

import pytest

from tests.conftest import make_store, snapshot
from vaultmem.errors import (
    AlreadyExists,
    Busy,
    Conflict,
    InvalidInput,
    NotFound,
    OutsideVault,
    ReadOnly,
    VaultmemError,
)
from vaultmem.notes.edit import AddItems, SetProperty, edit_note
from vaultmem.notes.note import note_version
from vaultmem.storage.store import Store


def put(root: Path, path: str, text: str = "text\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


# --- walking -----------------------------------------------------------------------------


def test_walk_finds_notes_and_leaves_the_rest(store: Store, root: Path) -> None:
    for path in (
        *("Note.md", "a/b/Deep.MD", "Memories/M.md", "pic.png", "Notes.base"),
        *(".obsidian/x.md", ".trash/gone.md", "a/.hidden.md", ".git/y.md", ".vaultmem/z.md"),
        *("Templates/T.md", "templates2/T.md", "conflict-files-obsidian-git.md", ".vm-1.tmp"),
    ):
        put(root, path, "{{date}}" if path == "Templates/T.md" else "text\n")
    listing = store.walk()
    assert sorted(listing.notes) == ["Memories/M.md", "Note.md", "a/b/Deep.MD", "templates2/T.md"]
    assert "pic.png" in listing.files
    assert "Templates/T.md" in listing.files
    assert listing.temporaries == [".vm-1.tmp"]
    stat_of = listing.notes["Note.md"]
    assert stat_of.size == 5
    assert stat_of.inode == (root / "Note.md").stat().st_ino


def test_excluded_notes_and_folders(root: Path) -> None:
    for path in ("Home.md", "a/Home.md", "Archive/x.md", "Archive 2/y.md", "b/x.draft.md"):
        put(root, path)
    store = make_store(root, exclude=("Home.md", "Archive/", "*.draft.md"))
    assert sorted(store.walk().notes) == ["Archive 2/y.md", "a/Home.md"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("**/Private", ["Work/b.md"]),
        ("**/Private/**", ["Work/b.md"]),
        ("*/Private", ["Private/a.md", "Work/b.md"]),
        ("Work/**/Private", ["Private/a.md", "Work/b.md"]),
        ("Work/**/b.md", ["Private/a.md", "Work/Private/c.md", "Work/x/Private/d.md"]),
        ("**", []),
    ],
)
def test_two_stars_stand_for_any_folders_or_none(root: Path, pattern: str, left: list[str]) -> None:
    for path in ("Private/a.md", "Work/b.md", "Work/Private/c.md", "Work/x/Private/d.md"):
        put(root, path)
    assert sorted(make_store(root, exclude=(pattern,)).walk().notes) == left


def test_symlinks_are_told_and_not_followed(store: Store, root: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md")
    put(root, "in.md")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "link.md").symlink_to(root / "in.md")
    listing = store.walk()
    assert list(listing.notes) == ["in.md"]
    assert sorted(listing.symlinks) == ["link.md", "out"]


def test_a_folder_that_cannot_be_read_is_told(root: Path) -> None:
    put(root, "ok.md")
    put(root, "locked/x.md")
    code = f"""if 1:
        import os, pathlib, tempfile  # now: another user may not be allowed to Python's folder
        from vaultmem import config
        from vaultmem.storage.store import Store
        os.chmod({str(root / "locked")!r}, 0)
        if os.getuid() == 0: os.setuid(65534)
        listing = Store(pathlib.Path({str(root)!r}), config.load(pathlib.Path({str(root)!r}))).walk()
        assert list(listing.notes) == ["ok.md"], listing
        assert listing.unread == [("locked", "Permission denied")], listing
    """
    for folder in (root, *root.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    (root / "locked").chmod(0o755)
    assert done.returncode == 0, done.stderr


def test_a_missing_vault_is_not_an_empty_one(tmp_path: Path) -> None:
    listing = make_store(tmp_path / "unmounted").walk()
    assert listing.notes == {}
    assert listing.unread == [("", "No such file or directory")]


# --- paths -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x.md", "a/../../x.md", "a/./b.md", "a//b.md", "C:\\x.md", "c:/x.md", "\\\\s\\x.md",
     ".git/config", "a/.obsidian/x.md", ".hidden.md", "out/x.md"],
)  # fmt: skip
def test_n3_no_path_leaves_the_vault(store: Store, root: Path, tmp_path: Path, path: str) -> None:
    put(tmp_path, "outside/x.md", "secret")
    (root / "out").symlink_to(tmp_path / "outside")
    before = snapshot(tmp_path)
    with pytest.raises(OutsideVault):
        store.read(path)
    with pytest.raises(OutsideVault):
        store.create(path, b"x")
    with pytest.raises(OutsideVault):
        store.replace(path, b"x", expect=note_version(b"secret"))
    with pytest.raises(OutsideVault):
        store.remove(path)
    assert snapshot(tmp_path) == before


def test_n3_a_note_that_is_a_link_is_not_read(store: Store, root: Path, tmp_path: Path) -> None:
    put(tmp_path, "secret.md", "secret")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(NotFound):
        store.read("link.md")


@pytest.mark.parametrize(
    "path", ["a:b.md", "CON.md", "x /y.md", "a?.md", "n\x07.md", "[x].md", "x..md"]
)
def test_n1_unsafe_names_are_not_created(store: Store, path: str) -> None:
    with pytest.raises(InvalidInput):
        store.create(path, b"x")


@pytest.mark.parametrize("path", ["", "a\0b.md", pytest.param("a\ud800.md", id="surrogate")])
def test_what_is_no_path_is_refused(store: Store, path: str) -> None:
    with pytest.raises(InvalidInput):
        store.read(path)


@pytest.mark.parametrize("path", ["foo.exe", "Templates/x.md", "Cafe\u0301.md", "x" * 130 + ".md"])
def test_n1_only_notes_with_good_names_are_created(store: Store, path: str) -> None:
    with pytest.raises(InvalidInput):
        store.create(path, b"x")


def test_n3_a_trash_that_leads_elsewhere_is_not_used(
    store: Store, root: Path, tmp_path: Path
) -> None:
    put(root, "a.md")
    (tmp_path / "elsewhere").mkdir()
    (root / ".trash").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutsideVault):
        store.remove("a.md")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (root / "a.md").exists()


def test_a_state_folder_that_cannot_be_used_is_told(store: Store, root: Path) -> None:
    put(root, "a.md", "old")
    (store.local() / "write.lock").make()
    (store.local() / "recent-writes").make()
    assert store.read("a.md").raw == b"old"
    with pytest.raises(VaultmemError):
        store.update("a.md", lambda note: b"new")
    assert (root / "a.md").read_bytes() == b"old"


def test_a_note_that_cannot_leave_its_folder_is_not_in_the_trash_either(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(root, "a.md", "old")
    real = os.unlink

    def refuse(path: object, *args: object, **kwargs: object) -> None:
        if str(path) == str(file):
            raise PermissionError(13, "Permission denied")
        real(path, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(ReadOnly):
        store.remove("a.md")
    assert file.stat().st_nlink == 1
    assert list((root / ".trash").iterdir()) == []


def test_s4_a_note_being_typed_in_is_not_removed_under_the_typist(root: Path) -> None:
    put(root, "a.md", "typed")
    store = make_store(root, typing__quiet_seconds=60.0, typing__wait_seconds=0.1)
    with pytest.raises(Busy):
        store.remove("a.md")
    assert (root / "a.md").exists()


def test_an_odd_name_that_exists_can_be_read(store: Store, root: Path) -> None:
    put(root, "What: why?.md", "x")
    assert store.read("What: why?.md").raw == b"x"


def test_a_folder_or_pipe_named_like_a_note_is_not_read(store: Store, root: Path) -> None:
    (root / "folder.md").mkdir()
    os.mkfifo(root / "pipe.md")
    for path in ("folder.md", "pipe.md"):
        with pytest.raises(NotFound):
            store.read(path)


# --- creating ----------------------------------------------------------------------------


def test_s1_a_new_note_never_replaces_one(store: Store, root: Path) -> None:
    stored = store.create("Memories/Atlas/New.md", b"one")
    assert (root / "Memories/Atlas/New.md").read_bytes() == b"one"
    assert stored.version == note_version(b"one")
    for clash in ("Memories/Atlas/New.md", "Memories/Atlas/NEW.md"):
        with pytest.raises(AlreadyExists, match=r"Memories/Atlas/New\.md"):
            store.create(clash, b"two")
    put(root, unicodedata.normalize("NFD", "Caf\u00e9.md"))
    with pytest.raises(AlreadyExists):
        store.create("Caf\u00e9.md", b"y")
    with pytest.raises(AlreadyExists, match="Memories"):
        store.create("memories/Other.md", b"y")
    assert not store.walk().temporaries


def test_the_first_write_makes_the_state_folder_and_hides_it_from_git(root: Path) -> None:
    make_store(root).create("a.md", b"x")
    assert (root / ".vaultmem" / ".gitignore").read_text().startswith("*\n")


# --- replacing ---------------------------------------------------------------------------


def test_s1_replacing_needs_the_right_version(store: Store, root: Path) -> None:
    put(root, "a.md", "old")
    with pytest.raises(Conflict) as caught:
        store.replace("a.md", b"new", expect=note_version(b"older"))
    assert caught.value.text == "old"
    assert caught.value.version == note_version(b"old")
    assert store.replace("a.md", b"new", expect=note_version(b"old")).raw == b"new"
    assert (root / "a.md").read_bytes() == b"new"


def test_s2_mode_bits_stay_and_time_moves_on(store: Store, root: Path) -> None:
    file = put(root, "a.md", "old")
    file.chmod(0o640)
    os.utime(file, (1, 1))
    store.replace("a.md", b"new", expect=note_version(b"old"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.stat().st_mtime > time.time() - 60


def test_nothing_is_written_when_nothing_changed(store: Store, root: Path) -> None:
    put(root, "a.md", "same")
    before = snapshot(root)["a.md"], (root / "a.md").stat().st_ino
    store.replace("a.md", b"same", expect=note_version(b"same"))
    store.update("a.md", lambda note: note.raw)
    assert (snapshot(root)["a.md"], (root / "a.md").stat().st_ino) == before


def test_a_write_protected_note_is_respected(store: Store, root: Path) -> None:
    put(root, "a.md", "old").chmod(0o444)
    with pytest.raises(ReadOnly):
        store.replace("a.md", b"new", expect=note_version(b"old"))
    assert (root / "a.md").read_bytes() == b"old"


def test_a_read_only_vault_refuses_every_write(root: Path) -> None:
    put(root, "a.md", "old")
    store = make_store(root, read_only=True)
    before = snapshot(root)
    for write in (
        lambda: store.create("b.md", b"x"),
        lambda: store.replace("a.md", b"x", expect=note_version(b"old")),
        lambda: store.update("a.md", lambda note: b"x"),
        lambda: store.remove("a.md"),
    ):
        with pytest.raises(ReadOnly, match="--read-only"):
            write()
    assert snapshot(root) == before


def test_s1_an_edit_is_done_again_on_the_new_text(store: Store, root: Path) -> None:
    file = put(root, "a.md", "---\na: 1\n---\nbody\n")
    seen = []

    def change(note: object) -> bytes:
        seen.append(note)
        if len(seen) == 1:  # a person saves while the agent thinks
            file.write_bytes(b"---\na: 1\nb: 2\n---\nbody\n")
        return edit_note(note, SetProperty("a", 9))  # type: ignore[arg-type]

    store.update("a.md", change)
    assert len(seen) == 2
    assert file.read_bytes() == b"---\na: 9\nb: 2\n---\nbody\n"


def test_s1_with_an_expected_version_it_is_a_conflict_instead(store: Store, root: Path) -> None:
    file = put(root, "a.md", "old")

    def change(note: object) -> bytes:
        file.write_bytes(b"a person's text")
        return b"agent"

    with pytest.raises(Conflict) as caught:
        store.update("a.md", change, expect=note_version(b"old"))
    assert caught.value.text == "a person's text"
    assert file.read_bytes() == b"a person's text"


WRITER = """
import pathlib, sys
from vaultmem import config
from vaultmem.notes.edit import AddItems, edit_note
from vaultmem.storage.store import Store
root = pathlib.Path(sys.argv[1])
store = Store(root, config.load(root, {"typing.quiet_seconds": 0.0}))
for i in range(40):
    store.update("a.md", lambda note: edit_note(note, AddItems("tags", (f"{sys.argv[2]}{i}",))))
"""


def test_s1_three_processes_editing_one_note_lose_nothing(root: Path) -> None:
    put(root, "a.md", "---\ntags: []\n---\n")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(root), n]) for n in "xyz"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    tags = make_store(root).note("a.md").tags
    assert sorted(tags) == sorted(f"{n}{i}" for n in "xyz" for i in range(40))
    assert not make_store(root).walk().temporaries


def test_two_writers_with_one_version_one_wins(root: Path) -> None:
    put(root, "a.md", "old")
    results: list[str] = []

    def write(text: str) -> None:
        try:
            make_store(root).replace("a.md", text.encode(), expect=note_version(b"old"))
            results.append("won")
        except Conflict as conflict:
            results.append(conflict.text)

    threads = [threading.Thread(target=write, args=(f"by {n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner = (root / "a.md").read_text()
    assert sorted(results) == sorted(["won", *[winner] * 5])


# --- beside a person -----------------------------------------------------------------------


def test_s3_an_emptied_file_is_read_again_until_it_is_full(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(root, "a.md", "before")
    file.write_bytes(b"")  # Obsidian truncates first …
    monkeypatch.setattr(time, "sleep", lambda _: file.write_bytes(b"after"))  # … then writes
    assert store.read("a.md").raw == b"after"


def test_s3_an_empty_note_is_read_as_empty(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(put(root, "a.md", ""), (1, 1))
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it was waited for"))
    assert store.read("a.md").raw == b""


def test_s4_a_note_being_typed_in_is_waited_for(root: Path) -> None:
    put(root, "a.md", "typed")
    store = make_store(root, typing__quiet_seconds=0.4, typing__wait_seconds=60.0)
    typed = (root / "a.md").stat().st_mtime
    store.replace("a.md", b"agent", expect=note_version(b"typed"))
    assert time.time() - typed > 0.39


def test_s4_an_agents_own_write_is_not_typing_in_any_process(root: Path) -> None:
    put(root, "a.md", "---\na: 1\n---\n")
    os.utime(root / "a.md", (1, 1))
    for number in range(2, 6):  # a new process knows only the disk, and would be refused at once
        store = make_store(root, typing__quiet_seconds=600.0, typing__wait_seconds=0.0)
        store.update("a.md", lambda note, n=number: edit_note(note, SetProperty("a", n)))  # type: ignore[misc]


def test_s4_waiting_ends_with_busy_and_nothing_written(root: Path) -> None:
    file = put(root, "a.md", "typed")
    store = make_store(root, typing__quiet_seconds=60.0, typing__wait_seconds=0.2)
    with pytest.raises(Busy, match=r"a\.md") as caught:
        store.replace("a.md", b"agent", expect=note_version(b"typed"))
    assert caught.value.retry_possible
    assert file.read_bytes() == b"typed"


def test_s4_a_clock_that_runs_ahead_does_not_block(root: Path) -> None:
    file = put(root, "a.md", "typed")
    os.utime(file, (time.time() + 9999,) * 2)
    store = make_store(root, typing__quiet_seconds=60.0, typing__wait_seconds=0.2)
    assert store.replace("a.md", b"agent", expect=note_version(b"typed")).raw == b"agent"


# --- removing ----------------------------------------------------------------------------


def test_s5_removing_moves_to_the_trash(store: Store, root: Path) -> None:
    for number in range(3):
        put(root, f"f{number}/Note.md", f"{number}")
    assert store.remove("f0/Note.md", expect=note_version(b"0")) == ".trash/Note.md"
    assert store.remove("f1/Note.md") == ".trash/Note 2.md"
    with pytest.raises(Conflict):
        store.remove("f2/Note.md", expect=note_version(b"other"))
    assert (root / ".trash" / "Note 2.md").read_bytes() == b"1"
    assert list(store.walk().notes) == ["f2/Note.md"]
    with pytest.raises(NotFound):
        store.remove("f0/Note.md")


def test_indexing_never_writes(store: Store, root: Path) -> None:
    put(root, "a.md", "---\ntags: a\n---\n")
    put(root, "b/c.md", "x")
    before = snapshot(root)
    for path in store.walk().notes:
        store.note(path)
    assert snapshot(root) == before


def test_adding_items_beside_a_person(store: Store, root: Path) -> None:
    put(root, "a.md", "---\r\ntags: [a] # mine\r\n---\r\nx")
    store.update("a.md", lambda note: edit_note(note, AddItems("tags", ("b",))))
    assert (root / "a.md").read_bytes() == b"---\r\ntags: [a, b] # mine\r\n---\r\nx"
