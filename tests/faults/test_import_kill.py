"""kill -9 in the middle of an import: run again, it goes on, and nothing is there twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import nursery
from tests.conftest import ROOT, Open, clean_environment
from tests.transfer import exports
from tests.transfer.test_sources import notes

# Imports in small batches, and dies at the n-th call that touches the disk.
DRIVER = """
import os, signal, sys
from vaultmem.transfer import importing
from vaultmem.vault import Vault
root, source, path, point = *sys.argv[1:4], int(sys.argv[4])
importing._BATCH = 4
calls = 0

def dying(real):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == point:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    return call

with Vault.open(root, {"model": "off", "typing.quiet_seconds": 0.0}) as vault:
    vault.index_now()
    for name in ("fsync", "link", "replace", "unlink"):
        setattr(os, name, dying(getattr(os, name)))
    done = vault.import_(source, path)
    print(calls, done.added)
    sys.stdout.flush()
    os._exit(0)
"""


def attempt(root: Path, source: str, path: Path, point: int) -> subprocess.CompletedProcess[str]:
    (root / ".vaultmem").mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", DRIVER, str(root), source, str(path), str(point)]
    env = clean_environment(root.parent)
    return nursery.run(command, capture_output=True, text=True, env=env, cwd=ROOT, timeout=60)


@pytest.mark.parametrize(
    ("source", "points"), [("mem0", 5), ("folder", 3), ("chatgpt", 2), ("server-memory", 2)]
)
def test_killed_at_any_point_it_goes_on(
    source: str, points: int, open_vault: Open, tmp_path: Path, away: Path
) -> None:
    path = make(source, away)
    whole = attempt(tmp_path / "whole", source, path, 0)
    assert whole.returncode == 0, whole.stderr
    calls, added = map(int, whole.stdout.split())
    assert added == 10
    assert calls > 20
    expected = notes(tmp_path / "whole")
    for point in range(2, calls, calls // points):
        root = tmp_path / f"killed at {point}"
        assert attempt(root, source, path, point).returncode == -signal.SIGKILL
        before = len(notes(root))
        done = open_vault(at=root).import_(source, path)
        assert (done.added, done.updated, done.kept, done.gone) == (10 - before, 0, 0, 0)
        assert notes(root) == expected
        assert open_vault(at=root).import_(source, path).here == 10


def make(source: str, away: Path) -> Path:
    if source == "mem0":
        return exports.mem0(away / "m.json", [exports.mem0_record(n) for n in range(10)])
    if source == "chatgpt":
        chats = [exports.chatgpt_ordinary(n) for n in range(10)]
        return exports.chatgpt(away / "conversations.json", chats)
    if source == "folder":
        return exports.folder(away / "n", {f"{n % 3}/{n}.md": f"{n}\n".encode() for n in range(10)})
    things = [exports.entity(f"Thing {n}", "x", [f"is {n}"]) for n in range(10)]
    return exports.lines(away / "memory.jsonl", things)


def test_killed_by_the_clock_as_a_person_would_see_it(
    open_vault: Open, root: Path, tmp_path: Path, away: Path
) -> None:
    """The command itself, killed again and again until it comes to its end."""
    path = exports.mem0(away / "m.json", [exports.mem0_record(n) for n in range(800)])
    open_vault().close()
    command = [sys.executable, "-m", "vaultmem", "import", "mem0", str(path), "--vault", str(root)]
    env = clean_environment(tmp_path)
    stopped = 0
    for patience in (1.0, 2.0, 300.0):
        process = subprocess.Popen(
            command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        before = len(notes(root))
        limit = time.monotonic() + patience
        while process.poll() is None and time.monotonic() < limit:
            if patience < 300 and len(notes(root)) > before + 250:
                break  # something came in: now is the moment
            time.sleep(0.02)
        if process.poll() is None:
            process.kill()
            stopped += 1
        process.communicate()
    assert stopped
    assert process.returncode == 0
    assert len(notes(root)) == 800
    vault = open_vault()
    assert vault.import_("mem0", path).here == 800
    assert vault.list(limit=1).total == 800
