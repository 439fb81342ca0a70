"""A disk that fills up, a folder without permission, leftovers of a killed process."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import make_store, snapshot
from vaultmem.base import system_calls
from vaultmem.errors import AlreadyExists, StorageFull
from vaultmem.notes.note import note_version
from vaultmem.storage.store import Store

BIG = b"x" * 400_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 300 kB where mounting is allowed, a file size limit elsewhere."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode == 0:
        yield disk
        subprocess.run(["umount", "-l", str(disk)], check=True)
    else:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
        yield disk
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_old_note_whole(small_disk: Path) -> None:
    (small_disk / "a.md").write_bytes(b"old")
    store = make_store(small_disk)
    store.create("warm-up.md", b"x")
    before = {k: v for k, v in snapshot(small_disk).items() if not k.startswith(".vaultmem")}
    with pytest.raises(StorageFull, match="disk is full"):
        store.replace("a.md", BIG, expect=note_version(b"old"))
    with pytest.raises(StorageFull):
        store.create("Memories/New/b.md", BIG)
    after = {k: v for k, v in snapshot(small_disk).items() if not k.startswith(".vaultmem")}
    assert after == before
    assert not (small_disk / "Memories").exists()
    assert store.walk().temporaries == []
    assert store.replace("a.md", b"smaller", expect=note_version(b"old")).raw == b"smaller"


@pytest.mark.parametrize("call", ["write", "fsync", "exchange_files", "replace", "link", "open"])
def test_a_fault_at_any_call_leaves_the_old_note_whole(
    store: Store, root: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.md").write_bytes(b"old")
    store.create("warm-up.md", b"x")
    real = getattr(os, call, None)

    def full(*args: object, **kwargs: object) -> object:
        if call == "open" and not (isinstance(args[1], int) and args[1] & os.O_CREAT):
            return real(*args, **kwargs)
        raise OSError(errno.ENOSPC, "No space left on device")

    if call == "replace":  # where names cannot be exchanged
        monkeypatch.setattr(system_calls, "exchange_files", lambda one, other: False)
    monkeypatch.setattr(system_calls if call == "exchange_files" else os, call, full)
    with pytest.raises(StorageFull):
        store.replace(
            "a.md", b"new", expect=note_version(b"old")
        ) if call != "link" else store.create("b.md", b"new")
    monkeypatch.undo()
    assert (root / "a.md").read_bytes() == b"old"
    assert not (root / "b.md").exists()
    assert store.walk().temporaries == []


@pytest.fixture
def open_root() -> Iterator[Path]:
    """A vault that everybody can reach: pytest closes its own folders to others, again and again."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


def test_a_folder_without_permission_is_told(open_root: Path) -> None:
    root = open_root
    (root / "a.md").write_bytes(b"old")
    code = f"""if 1:
        import os, pathlib
        root = pathlib.Path({str(root)!r})
        from vaultmem import config
        from vaultmem.errors import ReadOnly
        from vaultmem.storage.store import Store
        store = Store(root, config.load(root, {{"typing.quiet_seconds": 0.0}}))
        store.local()
        os.chmod(root / ".vaultmem" / "local", 0o777)
        os.chmod(root, 0o555)
        if os.getuid() == 0: os.setuid(65534)
        for write in (lambda: store.create("b.md", b"x"), lambda: store.remove("a.md")):
            try:
                write()
            except ReadOnly as error:
                assert "permission" in str(error), error
            else:
                raise SystemExit("written all the same")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (root / "a.md").read_bytes() == b"old"


def test_without_hard_links_a_name_is_still_taken_only_once(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store.create("a.md", b"one")
    assert (root / "a.md").read_bytes() == b"one"
    (root / "b.md").write_bytes(b"theirs")
    monkeypatch.setattr(os, "listdir", lambda *args: [])  # a file that appeared this instant
    with pytest.raises(AlreadyExists):
        store.create("b.md", b"ours")
    assert (root / "b.md").read_bytes() == b"theirs"
    assert store.remove("a.md") == ".trash/a.md"


def test_leftovers_are_swept_only_when_old(store: Store, root: Path) -> None:
    old, fresh = root / ".vm-01OLD.tmp", root / ".vm-01NEW.tmp"
    old.write_bytes(b"")
    fresh.write_bytes(b"")
    os.utime(old, (1, 1))
    assert [store.sweep(path) for path in sorted(store.walk().temporaries)] == [False, True]
    assert fresh.exists()
    assert not old.exists()
