"""A person who moves in, and out again, on the command line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.transfer import exports
from tests.transfer.test_sources import notes
from vaultmem import vault
from vaultmem.base.own_program import command_to_type
from vaultmem.transfer import SOURCES


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    root = tmp_path / "Brain"
    vault.make_vault(vault.plan_vault(str(root), git=False, examples=False), git=False)
    return root


def test_without_anything_it_says_what_there_is(run: Run) -> None:
    done = run("import")
    assert done.code == 0
    assert [line.split("\t")[0] for line in done.out.splitlines()] == list(SOURCES)
    assert run("import", "--json").json == {"sources": SOURCES}
    assert run("import", "mem0").code == 2


def test_a_move_from_chatgpt(run: Run, brain: Path, away: Path) -> None:
    path = str(exports.chatgpt(away / "conversations.json"))
    planned = run("import", "chatgpt", path, "--dry-run", cwd=brain)
    assert planned.code == 0
    assert planned.out.startswith("+ 3 would be added")
    assert "+ Sessions/2024/2024-05-01 1100 Choosing a database 1.md" in planned.out
    assert "Nothing was written" in planned.err
    assert not (brain / "Sessions" / "2024").exists()
    plan = run("import", "chatgpt", path, "--dry-run", "--json", cwd=brain).json
    assert (plan["added"], plan["dry_run"], len(plan["notes"])) == (3, True, 3)
    done = run("import", "chatgpt", path, cwd=brain)
    assert (done.code, done.out.splitlines()[0][:9]) == (0, "+ 3 added")
    found = run("search", "which database for metrics", "--json", cwd=brain).json
    assert found["memories"][0]["content"].startswith("Which database for metrics?")
    again = run("import", "chatgpt", path, cwd=brain)
    assert again.out.startswith("= 3 here already")


def test_mistakes_are_answered_with_what_to_do(run: Run, brain: Path, away: Path) -> None:
    path = str(exports.chatgpt(away / "conversations.json"))
    wrong = run("import", "mem0", path, cwd=brain)
    assert wrong.code == 2
    assert f"try: {command_to_type(f'import chatgpt {path}')}" in wrong.err
    missing = run("import", "mem0", str(away / "none.json"), cwd=brain)
    assert (missing.code, "There is no file or folder" in missing.err) == (1, True)
    refused = run("import", "mem0", path, cwd=brain, env={"VAULTMEM_READ_ONLY": "true"})
    assert (refused.code, "read-only" in refused.err) == (2, True)
    inside = run("export", "zip", "all.zip", cwd=brain)
    assert (inside.code, "in the vault itself" in inside.err) == (2, True)
    assert run("export", "zip", "-", cwd=brain).code == 2
    for done in (wrong, missing, refused, inside):
        assert "Traceback" not in done.err


def test_what_needs_a_person_ends_with_one(run: Run, brain: Path, away: Path) -> None:
    run("add", "Another memory", cwd=brain)
    path = exports.mem0(away / "m.json", [exports.mem0_record(1, "It rains")])
    run("import", "mem0", str(path), cwd=brain)
    note = brain / "Memories/It rains.md"
    note.write_bytes(note.read_bytes() + b"Mine.\n")
    exports.mem0(path, [exports.mem0_record(1, "It snows")])
    done = run("import", "mem0", str(path), cwd=brain)
    assert done.code == 1
    assert "! Memories/It rains.md: yours is different; it was left as it is" in done.out
    note.unlink()
    gone = run("import", "mem0", str(path), cwd=brain)
    assert (gone.code, "--again" in gone.err) == (0, True)
    assert run("import", "mem0", str(path), "--again", cwd=brain).out.startswith("+ 1 added")


def test_out_and_in_again(run: Run, brain: Path, away: Path) -> None:
    run("add", "Tokens rotate daily", "--tag", "auth", cwd=brain)
    run("add", "Ship on Monday", "--project", "Atlas", cwd=brain)
    piped = run("export", "jsonl", "-", "--project", "Atlas", cwd=brain)
    assert [json.loads(line)["content"] for line in piped.out.splitlines()] == ["Ship on Monday"]
    lines = run("export", "jsonl", str(away / "all.jsonl"), cwd=brain)
    assert lines.out.startswith("2 notes in ")
    done = run("export", "zip", str(away / "all.zip"), "--json", cwd=brain).json
    assert (done["notes"], done["target"]) == (2, "zip")
    with zipfile.ZipFile(away / "all.zip") as archive:
        archive.extractall(away / "Copy")
    assert notes(away / "Copy") == notes(brain)
    found = run("search", "tokens", "--json", cwd=away / "Copy").json
    assert found["memories"][0]["content"] == "Tokens rotate daily"
    (away / "Empty" / ".vaultmem").mkdir(parents=True)
    run("import", "jsonl", str(away / "all.jsonl"), cwd=away / "Empty")
    memories = {path: raw for path, raw in notes(brain).items() if path.startswith("Memories/")}
    assert notes(away / "Empty") == memories


def test_a_vault_moves_from_basic_memory(run: Run, brain: Path, away: Path) -> None:
    source = exports.folder(away / "main", exports.BASIC_MEMORY)
    done = run("import", "basic-memory", str(source), "--into", "Memories/Atlas", cwd=brain)
    assert done.code == 0
    assert (brain / "Memories/Atlas/specs/Auth flow.md").exists()
    found = run("search", "RS256", "--project", "Atlas", "--json", cwd=brain).json
    assert found["memories"][0]["project"] == "Atlas"
