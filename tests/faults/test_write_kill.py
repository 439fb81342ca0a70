"""kill -9 at every step of a write: the note is whole, old or new, and nothing else is visible."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests import nursery
from tests.conftest import make_store

# Dies just before or just after the n-th call that touches the disk.
DRIVER = """
import os, pathlib, signal, sys
root, action, point, when = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
from vaultmem import config
from vaultmem.base import system_calls
from vaultmem.storage.store import Store
from vaultmem.notes.note import note_version
store = Store(root, config.load(root, {"typing.quiet_seconds": 0.0}))
calls = 0

def dying(real):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == point and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return real(*args, **kwargs)
        finally:
            if calls == point:
                os.kill(os.getpid(), signal.SIGKILL)
    return call

for name in ("fsync", "link", "replace", "rename", "unlink", "write", "open", "mkdir", "chmod"):
    setattr(os, name, dying(getattr(os, name)))
system_calls.exchange_files = dying(system_calls.exchange_files)
if action == "create":
    store.create("Memories/New.md", b"new " * 1000)
elif action == "replace":
    store.replace("Old.md", b"new " * 1000, expect=note_version(b"old " * 1000))
else:
    store.remove("Old.md")
print(calls)
"""
OLD, NEW = b"old " * 1000, b"new " * 1000


def attempt(root: Path, action: str, point: int, when: str) -> int:
    """The exit code of a process that was to die there."""
    root.mkdir()
    (root / "Old.md").write_bytes(OLD)
    command = [sys.executable, "-c", DRIVER, str(root), action, str(point), when]
    return nursery.run(command, capture_output=True).returncode


@pytest.mark.parametrize("action", ["create", "replace", "remove"])
def test_a_killed_write_leaves_the_old_note_or_the_new_one(tmp_path: Path, action: str) -> None:
    killed = 0
    for point in range(1, 100):
        for when in ("before", "after"):
            root = tmp_path / f"{point}{when}"
            code = attempt(root, action, point, when)
            if code == 0:
                assert killed > 10, f"only {killed} points were hit"
                return
            assert code == -signal.SIGKILL
            killed += 1
            _assert_whole(root, action)
    pytest.fail("the write never finished")


def _assert_whole(root: Path, action: str) -> None:
    listing = make_store(root).walk()
    visible = {path: (root / path).read_bytes() for path in listing.files}
    trashed = [file.read_bytes() for file in (root / ".trash").glob("*")]
    if action == "create":
        assert visible.pop("Old.md") == OLD
        assert visible in ({}, {"Memories/New.md": NEW})
    elif action == "replace":
        assert visible in ({"Old.md": OLD}, {"Old.md": NEW})
    else:
        assert visible == {"Old.md": OLD} or trashed == [OLD]
        assert set(visible) <= {"Old.md"}
    # The next write works, whatever was left behind.
    store = make_store(root)
    assert store.create("Next.md", b"x").raw == b"x"
