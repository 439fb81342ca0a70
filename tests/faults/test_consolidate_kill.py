"""kill -9 in the middle of a consolidation: run again, it goes on, and nothing is there twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests import nursery
from tests.conftest import ROOT, Open, clean_environment
from vaultmem.notes.note import parse

# Carries out the plan, and dies at the n-th call that touches the disk.
DRIVER = """
import os, signal, sys
from vaultmem.vault import Vault
root, point = sys.argv[1], int(sys.argv[2])
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
    vault.consolidate()
    print(calls)
    sys.stdout.flush()
    os._exit(0)
"""
TEXTS = {
    "Logs": "Logs are kept for 30 days.",
    "Logs in Loki": "Logs are kept for 30 days in Loki.",
    "Vite": "The web client is built with Vite.",
    "With Vite": "The web client gets built with Vite.",
    "Slow": "The limit is 100 requests per minute.",
    "Fast": "The limit is 250 requests per minute.",
}
EVENTS = {
    "One": "The certificate of the gateway expired on the first host.",
    "Two": "The certificate of the gateway expired on the second host.",
}


def make(root: Path) -> Path:
    (root / ".vaultmem").mkdir(parents=True)
    for number, (title, text) in enumerate((TEXTS | EVENTS).items()):
        kind = "episodic" if title in EVENTS else "semantic"
        head = f"id: 01KE6Q8Z4R9M2N4P6R7S8T{number:04d}\ntype: {kind}\nscope: user"
        file = root / "Memories" / f"{title}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"---\n{head}\ncreated: 2026-01-0{number + 1}T09:00:00\n---\n{text}\n")
    return root


def attempt(root: Path, point: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", DRIVER, str(root), str(point)]
    env = clean_environment(root.parent)
    return nursery.run(command, capture_output=True, text=True, env=env, cwd=ROOT, timeout=60)


def said(root: Path) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """What every memory says, is replaced by and was drawn from."""
    notes = [parse(f.read_bytes(), f.name) for f in sorted((root / "Memories").rglob("*.md"))]
    return {n.path: (n.body, n.string("superseded_by"), n.strings("derived_from")) for n in notes}


def test_killed_at_any_point_it_goes_on(open_vault: Open, tmp_path: Path) -> None:
    whole = make(tmp_path / "whole")
    done = attempt(whole, 0)
    assert done.returncode == 0, done.stderr
    calls, expected = int(done.stdout), said(whole)
    assert len(expected) == len(TEXTS) + len(EVENTS) + 1
    assert sum(bool(replaced) for _, replaced, _ in expected.values()) == 2
    for point in range(2, calls, max(1, calls // 6)):
        root = make(tmp_path / f"killed at {point}")
        assert attempt(root, point).returncode == -signal.SIGKILL
        for path, (body, _, _) in said(root).items():
            assert body == expected[path][0]  # nothing is half written
        vault = open_vault(at=root)
        vault.consolidate()
        assert said(root) == expected
        assert vault.consolidate().consolidated_memories == ()
        assert len(vault.review_items()) == 1
