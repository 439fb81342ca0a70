"""A vault that was cloned from somebody, with links in the places of our own files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests import nursery
from tests.conftest import Run, clean_environment, snapshot

START = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}
PLACES = {
    ".vaultmem/local/hooks": "a.json",
    ".vaultmem/local/volatile": "s0/Diary.md",
    ".vaultmem/index": "fulltext-1/meta.json",
    ".vaultmem/local/recent-writes": "",
    ".vaultmem": "local/hooks/a.json",
}


@pytest.mark.parametrize("place", PLACES)
def test_its_links_lead_nowhere(run: Run, tmp_path: Path, place: str) -> None:
    documents = tmp_path / "Documents"
    files = [documents / PLACES[place], documents / "catalog.db", documents / "letter.odt"]
    for file in files if PLACES[place] else [documents]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("---\nscope: session\n---\nA letter.\n")
        os.utime(file, (1_000_000_000, 1_000_000_000))
    root = tmp_path / "vault"
    (root / place).parent.mkdir(parents=True)
    (root / "Note.md").write_text("Refresh tokens rotate every day.\n")
    (root / place).symlink_to(documents)
    before = snapshot(tmp_path / "Documents") or documents.read_bytes()
    vault = ("--vault", str(root))
    for command in (
        ("search", "tokens", *vault),
        ("add", "The gate opens at nine.", *vault),
        ("index", "--rebuild", *vault),
        ("status", *vault),
    ):
        done = run(*command)
        assert "Traceback" not in done.err, done.err
        assert done.code == 0 or len(done.err + done.out) > 20
    hook = nursery.run(
        [sys.executable, "-m", "vaultmem", "hook", *vault],
        input=json.dumps({**START, "cwd": str(root)}).encode(),
        env=clean_environment(tmp_path),
        capture_output=True,
        timeout=60,
    )
    assert hook.returncode == 0
    assert b"Traceback" not in hook.stderr
    told = run("doctor", "--json", *vault).json
    assert place in [finding["path"] for finding in told if finding["problem"] == "symlink"]
    assert (snapshot(tmp_path / "Documents") or documents.read_bytes()) == before


def test_a_state_folder_that_the_person_named_may_be_a_link(run: Run, tmp_path: Path) -> None:
    root, disk = tmp_path / "vault", tmp_path / "disk"
    (root / ".vaultmem").mkdir(parents=True)
    disk.mkdir()
    (tmp_path / "state").symlink_to(disk)
    named = {"VAULTMEM_STATE_DIR": str(tmp_path / "state")}
    assert run("add", "The gate opens at nine.", "--vault", str(root), env=named).code == 0
    found = run("search", "gate", "--vault", str(root), "--json", env=named)
    assert found.json["memories"]
    assert [folder.name for folder in next(disk.iterdir()).iterdir()]
    assert not (root / ".vaultmem" / "index").exists()
