"""A note that is replaced keeps what it was, and no save of a person is lost in the moment of it."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultmem.base import durable, system_calls
from vaultmem.notes.note import note_version
from vaultmem.storage.store import Store

SAVES = int(os.environ.get("SAVES", "300"))
linux = pytest.mark.skipif(sys.platform != "linux", reason="as Linux does it")


# --- what stays ----------------------------------------------------------------------------


def test_all_names_of_a_note_stay_one_file(store: Store, root: Path) -> None:
    note, other = root / "a.md", root / "other.md"
    for old, new in (
        (b"old text", b"new"),
        (b"new", b"a longer text\n"),
        (b"a longer text\n", b""),
    ):
        note.write_bytes(old)
        if not other.exists():
            os.link(note, other)
        store.replace("a.md", new, expect=note_version(old))
        assert note.read_bytes() == other.read_bytes() == new
        assert note.stat().st_ino == other.stat().st_ino


@linux
def test_a_note_of_several_names_is_whole_when_the_disk_is_full(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.md").write_bytes(b"old text")
    os.link(root / "a.md", root / "b.md")
    real, calls = os.pwrite, itertools.count()

    def full(fd: int, data: bytes, place: int) -> int:
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        return real(fd, bytes(data)[:5], place)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(Exception, match="disk is full"):
        store.replace("a.md", b"a text that is much longer", expect=note_version(b"old text"))
    assert (root / "a.md").read_bytes() == b"old text"


@linux
def test_owner_mode_attributes_and_access_list_stay(store: Store, root: Path) -> None:
    note = root / "a.md"
    note.write_bytes(b"old")
    note.chmod(0o640)
    if os.getuid() == 0:
        os.chown(note, 65534, 65533)
    try:
        os.setxattr(note, "user.tag", b"red")
    except OSError:
        pytest.skip("no extended attributes here")
    acl = shutil.which("setfacl")
    if acl:
        subprocess.run([acl, "-m", "u:65532:r", str(note)], check=True)
    before = note.stat(), {name: os.getxattr(note, name) for name in os.listxattr(note)}
    store.replace("a.md", b"new", expect=note_version(b"old"))
    after = note.stat(), {name: os.getxattr(note, name) for name in os.listxattr(note)}
    assert after[1] == before[1]
    for name in ("st_mode", "st_uid", "st_gid", "st_nlink"):
        assert getattr(after[0], name) == getattr(before[0], name)
    assert os.listdir(root).count("a.md") == 1
    assert store.walk().temporaries == []


# --- the last moment -----------------------------------------------------------------------


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    """In memory where that can be had: the disk would make everybody slow, and races rare."""
    shared = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.mark.skipif(not system_calls._system_call_in_c("renameat2"), reason="needs an exchange")
@pytest.mark.parametrize("again", [0, 1, 2])
def test_saves_in_the_moment_of_the_exchange_win(
    fast: Path, monkeypatch: pytest.MonkeyPatch, again: int
) -> None:
    """A person saves between the last look and the exchange, and so often again right behind."""
    note = fast / "a.md"
    note.write_bytes(b"old")
    real, saves = system_calls.exchange_files, iter(range(again + 1))

    def late(one: Path, other: Path) -> bool:
        if (number := next(saves, None)) is not None:
            (fast / "x").write_bytes(b"person %d" % number)
            os.replace(fast / "x", note)
        return real(one, other)

    monkeypatch.setattr(system_calls, "exchange_files", late)
    assert durable.replace_durably(note, b"new", b"old") is False
    assert note.read_bytes() == b"person %d" % again
    assert os.listdir(fast) == ["a.md"]


@linux
def test_who_has_the_note_open_writes_into_the_note(fast: Path) -> None:
    """An editor opened the file before the exchange and writes only afterwards."""
    note = fast / "a.md"
    note.write_bytes(b"old")
    with open(note, "r+b") as editor:
        assert durable.replace_durably(note, b"new", b"old") is False
        editor.write(b"theirs")
    assert note.read_bytes() == b"theirs"
    assert durable.replace_durably(note, b"new", b"theirs") is True
    assert note.read_bytes() == b"new"


def test_a_note_that_was_deleted_does_not_come_back(fast: Path) -> None:
    (fast / "a.md").write_bytes(b"old")
    (fast / "a.md").unlink()
    assert durable.replace_durably(fast / "a.md", b"new", b"old") is False
    assert os.listdir(fast) == []


def in_place(note: Path, raw: bytes) -> None:
    note.write_bytes(raw)


def by_name(note: Path, raw: bytes) -> None:
    beside = note.with_name("beside")
    beside.write_bytes(raw)
    os.replace(beside, note)


def held_open(note: Path, raw: bytes) -> None:
    with open(note, "r+b", buffering=0) as file:
        os.sched_yield()
        file.write(raw)
        file.truncate()


@linux
@pytest.mark.parametrize("save", [in_place, by_name, held_open])
def test_no_save_of_a_person_is_lost_beside_an_agent(
    fast: Path, save: Callable[[Path, bytes], None]
) -> None:
    """A person saves as fast as they can while an agent edits. After each save some edits of the
    agent's are awaited: the note must still be the person's last one, with the agent's line."""
    note = fast / "a.md"
    note.write_bytes(b"person 0\nend\n")
    stop = threading.Event()
    edits = [0, 0]  # tried, done

    def agent() -> None:
        while not stop.is_set():
            old = note.read_bytes()
            if old.endswith(b"end\n"):  # not in the middle of a save
                first = old.partition(b"\n")[0]
                new = first + b"\nagent %d\nend\n" % edits[0]
                edits[1] += durable.replace_durably(note, new, old)
            edits[0] += 1

    thread = threading.Thread(target=agent)
    thread.start()
    lost = []
    try:
        for number in range(1, SAVES + 1):
            save(note, b"person %d\nend\n" % number)
            seen = edits[0]
            while edits[0] < seen + 2:
                os.sched_yield()
            if not (found := note.read_bytes()).startswith(b"person %d\n" % number):
                lost.append((number, found))
    finally:
        stop.set()
        thread.join()
    assert lost == []
    assert edits[1] > 0
    assert os.listdir(fast) == ["a.md"]


def test_a_clock_set_back_does_not_reorder_history(root: Path) -> None:
    """The last text is the one that was there last, whatever the clock said then."""
    from vaultmem.notes.note import parse
    from vaultmem.storage.local_state.history import History

    history = History(root / "history")
    note = parse(b"first", "a.md")
    history.take(note, "update")
    (taken,) = history.snapshots(history.notes()[0])
    future = "29990101T000000000000" + taken.file.name[len("20260101T000000000000") :]
    os.rename(taken.file.path, taken.file.path.with_name(future))
    (
        root / "history" / history.notes()[0] / "99999999T999999999999 x 00000000000000000000.md"
    ).touch()
    for text in (b"second", b"third"):
        history.take(parse(text, "a.md"), "update")
    kept = [snapshot.raw for snapshot in history.snapshots(history.notes()[0])]
    assert kept == [b"third", b"second", b"first"]
