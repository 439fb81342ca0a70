"""Our own files are reached without following a link, whatever is planted where and when."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import snapshot
from vaultmem.base import lock, own_path
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import OutsideVault, Unavailable, VaultmemError

ACTIONS: dict[str, Callable[[OwnPath], object]] = {
    "make": lambda place: place.make(),
    "is_folder": lambda place: place.is_folder(),
    "files": lambda place: place.files(),
    "folders": lambda place: place.folders(),
    "checked_folder": lambda place: place.checked_folder(),
    "remove_tree": lambda place: place.remove_tree(),
    "remove_folder": lambda place: place.remove_folder(),
    "stat": lambda place: place.stat(),
    "checked": lambda place: place.checked("-wal"),
    "read": lambda place: place.read(),
    "append": lambda place: place.append(b"more"),
    "write": lambda place: place.write(b"new"),
    "create": lambda place: place.create(b"new"),
    "touch": lambda place: place.touch(),
    "remove": lambda place: place.remove(),
    "lock": lock.is_locked,
}


@pytest.fixture(params=["step by step", "by whole paths"])
def outside(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Files of the person's that nobody may touch, seen from a system with and without openat."""
    monkeypatch.setattr(own_path, "_STEPS", request.param == "step by step")
    folder = tmp_path / "Documents"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.json", "file", "file-wal", "deep/file"):
        (folder / name).write_bytes(b"precious")
        os.utime(folder / name, (1, 1))
    return folder


def kept(folder: Path) -> object:
    return snapshot(folder), sorted(os.listdir(folder)), folder.lstat().st_mtime_ns


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("linked", ["anchor/x", "anchor/x/y", "anchor/x/y/file"])
@pytest.mark.parametrize("target", ["folder", "file", "nothing"])
def test_no_link_is_followed(
    tmp_path: Path, outside: Path, action: str, linked: str, target: str
) -> None:
    link = tmp_path / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(
        {"folder": outside, "file": outside / "file", "nothing": outside / "new"}[target]
    )
    before = kept(outside)
    place = OwnPath(tmp_path / "anchor", ("x", "y", "file"))
    try:
        ACTIONS[action](place)
    except (FileNotFoundError, FileExistsError):
        pass
    except VaultmemError as error:
        assert isinstance(error, OutsideVault)
        assert str(link) in str(error)
        assert "Remove the link" in str(error)
    assert kept(outside) == before
    assert link.is_symlink() or action in ("remove", "remove_tree")


@pytest.mark.parametrize("action", sorted(ACTIONS))
@pytest.mark.parametrize("kind", ["folder", "pipe", "socket"])
def test_what_is_no_file_is_refused_and_nothing_hangs(
    tmp_path: Path, outside: Path, action: str, kind: str
) -> None:
    place = OwnPath(tmp_path, ("x", "file"))
    (tmp_path / "x").mkdir()
    if kind == "folder":
        place.path.mkdir()
        (place.path / "kept").write_bytes(b"precious")
    elif kind == "pipe":
        os.mkfifo(place.path)
    else:
        os.mknod(place.path, 0o140644)
    done = threading.Event()

    def act() -> None:
        with contextlib.suppress(OSError, Unavailable):
            ACTIONS[action](place)
        done.set()

    threading.Thread(target=act, daemon=True).start()
    assert done.wait(5)
    if kind == "folder" and action != "remove_tree":
        assert (place.path / "kept").read_bytes() == b"precious"


def test_above_its_anchor_a_link_is_the_persons_own(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "state").symlink_to(outside)
    place = OwnPath(tmp_path / "state", ("key", "file"))
    place.write(b"ours")
    assert (outside / "key" / "file").read_bytes() == b"ours"
    assert place.read() == b"ours"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_a_name_is_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutsideVault):
        OwnPath(tmp_path) / name


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs renameat2")
def test_a_link_made_while_we_look_is_not_followed(tmp_path: Path) -> None:
    """Somebody swaps a folder and a link, as fast as they can, while we write and delete in it:
    everything lands in the real folder, or is refused."""
    outside, real, link = tmp_path / "outside", tmp_path / "a" / "x", tmp_path / "a" / "link"
    for folder in (outside, real):
        folder.mkdir(parents=True)
    link.symlink_to(outside)
    for number in range(20):
        (outside / f"{number}.json").write_bytes(b"precious")
    before = snapshot(outside)
    stop = threading.Event()
    swap = ctypes.CDLL(None).renameat2

    def swap_all_the_time() -> None:
        while not stop.is_set():
            assert swap(-100, bytes(real), -100, bytes(link), 2) == 0

    swapper = threading.Thread(target=swap_all_the_time)
    swapper.start()
    folder = OwnPath(tmp_path, ("a", "x"))
    written = refused = 0
    try:
        for number in range(2000):
            place = folder / f"{number % 20}.json"
            for action in ("write", "append", "remove"):
                try:
                    ACTIONS[action](place)
                    written += 1
                except OutsideVault:
                    refused += 1
                except OSError:  # it was a link a moment ago, and is none any more
                    pass
    finally:
        stop.set()
        swapper.join()
    assert snapshot(outside) == before
    assert written
    assert refused


def test_other_names_of_a_file_keep_what_it_was(tmp_path: Path) -> None:
    """A backup that shares its files with the vault is not written through."""
    place, backup = OwnPath(tmp_path, ("x", "file")), tmp_path / "backup"
    place.write(b"one")
    os.link(place.path, backup)
    place.write(b"two")
    assert backup.read_bytes() == b"one"
