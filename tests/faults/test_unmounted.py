"""Real drives that are mounted late, unmounted under a server and mounted again."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.faults.test_vanished import (
    assert_away,
    assert_refused,
    files,
    paths,
    recalled,
    started,
    stored,
    told,
    until,
)
from tests.surfaces.mcp.harness import new_vault
from vaultmem.storage import drives


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """A vault that is seen at its mount point only while it is mounted."""
    vault = new_vault(tmp_path / "drive")
    place = tmp_path / "place"
    place.mkdir()
    if not mounted(vault, place):
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], capture_output=True)


def mounted(source: Path, place: Path) -> bool:
    return not subprocess.run(["mount", "--bind", source, place], capture_output=True).returncode


def unmount(place: Path) -> None:
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_drive_is_unmounted_and_mounted_again(tmp_path: Path, drive: Path) -> None:
    with started(tmp_path, drive) as server:
        kept = stored(server, "The grace period lasts five minutes.")
        until(server, lambda answer: kept["path"] in paths(answer), "grace period")
        unmount(drive)
        assert_away(server, kept["memory_id"])
        answer = recalled(server, "grace period")
        assert paths(answer) == {kept["path"]} and answer["warnings"]
        time.sleep(2.5)
        assert files(drive) == set(), "the mount point stays empty"
        (tmp_path / "drive" / "Memories" / "By hand.md").write_text("Halyards are ropes.\n")
        assert mounted(tmp_path / "drive", drive)
        assert "error" not in stored(server, "The grace period is over.")
        until(server, lambda answer: "Memories/By hand.md" in paths(answer), "halyards")
        assert server.end() == 0
        assert "Traceback" not in server.errors()


def test_another_file_system_with_the_same_notes(tmp_path: Path, drive: Path) -> None:
    """As a network drive that gives new numbers with each mount."""
    with started(tmp_path, drive) as server:
        kept = stored(server, "The grace period lasts five minutes.")
        until(server, lambda answer: kept["path"] in paths(answer), "grace period")
        unmount(drive)
        assert_refused(stored(server, "Written to nowhere."))
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(drive)], check=True)
        assert_refused(stored(server, "Written to an empty drive."))
        shutil.copytree(tmp_path / "drive", drive, dirs_exist_ok=True)
        again = stored(server, "The grace period is over.")
        assert (drive / again["path"]).exists()
        (drive / "Memories" / "Later.md").write_text("Sheets are ropes, too.\n")
        until(server, lambda answer: "Memories/Later.md" in paths(answer), "sheets")
        assert server.end() == 0


@pytest.fixture
def place_for_drives() -> Iterator[Path]:
    place = Path(f"/mnt/vaultmem-test-{os.getpid()}")
    try:
        place.mkdir()
    except OSError:
        pytest.skip("nothing can be made where drives are mounted")
    yield place
    subprocess.run(["umount", "-l", str(place)], capture_output=True)
    place.rmdir()


@pytest.mark.parametrize("folder", ["", "vault"])
def test_a_server_that_starts_before_its_drive(
    tmp_path: Path, place_for_drives: Path, run: Run, folder: str
) -> None:
    place = place_for_drives
    if os.path.ismount("/mnt"):
        pytest.skip("a drive is mounted at /mnt itself")
    vault = place / folder
    source = tmp_path / "drive"
    real = new_vault(source / folder)
    (real / "Memories" / "Grace.md").parent.mkdir(exist_ok=True)
    (real / "Memories" / "Grace.md").write_text("The grace period lasts five minutes.\n")
    (real / ".vaultmem" / "config.toml").write_text("project = 'Atlas'\n")
    with started(tmp_path, vault) as server:
        assert_refused(stored(server, "Written to nowhere."))
        assert_refused(recalled(server, "grace period"))
        assert run("add", "Nothing.", "--vault", str(vault)).code in (1, 3)
        assert files(place) == set()
        if not mounted(source, place):
            pytest.skip("nothing can be mounted here")
        until(server, lambda answer: "Memories/Grace.md" in paths(answer), "grace period")
        kept = told(
            server, "store_memory", content="Halyards are ropes.", type="semantic", scope="project"
        )
        assert "project: Atlas" in (vault / kept["path"]).read_text(), "with the vault's settings"
        assert server.end() == 0


def test_where_drives_belong(tmp_path: Path) -> None:
    table = f"# drives\nUUID=1 {tmp_path}/my\\040drive ext4 noauto 0 0\n/dev/x none swap\n/dev/r / ext4\n"
    assert drives.is_drive_awaited(tmp_path / "my drive", table)
    assert drives.is_drive_awaited(tmp_path / "my drive" / "vault", table)
    assert not drives.is_drive_awaited(tmp_path / "vault", table)
    assert not drives.is_drive_awaited(tmp_path, "")
    assert drives.is_drive_awaited(Path("/media/somebody/nothing here/vault"), "")
    assert drives.is_drive_awaited(Path("/Volumes/nothing here"), "")
