"""The cases with real git: two clones, the registered driver, by merge and by rebase."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, clean_environment
from tests.git.cases import CASES, ID, NOTE, Case, changed
from tests.git.conftest import Clones, Machine
from tests.git.test_merge import frontmatter_is_valid
from vaultmem.git.merge import merge_notes
from vaultmem.notes.note import parse


def prepared(clones: Clones, cases: list[Case]) -> tuple[Machine, Machine]:
    """Many cases as notes of one vault, changed on both sides: one merge does them all."""
    a, b = clones({f"{n}.md": case.base for n, case in enumerate(cases)}, driver=True)
    for machine, side in ((a, "ours"), (b, "theirs")):
        for n, case in enumerate(cases):
            machine.save(f"{n}.md", getattr(case, side))
        machine.commit(side)
    return a, b


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_the_cases_with_git(clones: Clones, way: str) -> None:
    a, b = prepared(clones, CASES)
    a.git("push", "-q", "origin", "main")
    pull = ["pull", "--quiet", "--no-edit", "--rebase" if way == "rebase" else "--no-rebase"]
    b.git(*pull, check=False)
    results = {n: b.text_bytes(f"{n}.md") for n in range(len(CASES))}
    clashing = {line.split("\t")[1] for line in b.git("ls-files", "-u").splitlines()}
    for n, case in enumerate(CASES):
        raw = results[n]
        pure = merge_notes(case.base.encode(), case.ours.encode(), case.theirs.encode())
        assert raw == pure.raw, f"{case.name}: git's {way} and the pure merge differ"
        assert frontmatter_is_valid(raw), case.name
        assert case.check(parse(raw)), case.name
        assert (f"{n}.md" in clashing) == case.clash, case.name


def test_both_directions_give_the_same_bytes(clones: Clones) -> None:
    cases = CASES[::4]  # the pure merge is tried both ways with all of them
    a, b = prepared(clones, cases)
    a.git("push", "-q", "origin", "main:from-a")
    b.git("push", "-q", "origin", "main:from-b")
    for machine, other in ((a, "from-b"), (b, "from-a")):
        machine.git("fetch", "-q")
        machine.git("merge", "-q", "--no-edit", f"origin/{other}", check=False)
    for n, case in enumerate(cases):
        assert a.text_bytes(f"{n}.md") == b.text_bytes(f"{n}.md"), case.name


def test_a_renamed_note_and_an_edited_one(clones: Clones) -> None:
    """Cases 21 and 22 of the experiments: git follows the rename, the driver merges."""
    a, b = clones(
        {"Old.md": NOTE, "Memories/Moved.md": NOTE.replace(ID, ID[:-1] + "Y")}, driver=True
    )
    a.git("mv", "Old.md", "New.md")
    (a.root / "Forgotten").mkdir()
    a.git("mv", "Memories/Moved.md", "Forgotten/Moved.md")
    a.edit("New.md", "importance: 0.5", "importance: 0.9")
    a.commit()
    a.git("push", "-q")
    b.edit("Old.md", "five", "ten")
    b.edit("Old.md", "  - tokens\n", "  - tokens\n  - new\n")
    b.edit("Memories/Moved.md", "five", "ten")
    b.commit()
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    assert not (b.root / "Old.md").exists()
    assert "ten minutes" in b.text("New.md")
    assert "importance: 0.9" in b.text("New.md")
    assert "ten minutes" in b.text("Forgotten/Moved.md")


def test_two_notes_of_one_name_are_left_alone(clones: Clones) -> None:
    """Case 19: the driver says so, and blends nothing."""
    a, b = clones({}, driver=True)
    a.save("Same.md", NOTE)
    a.commit()
    a.git("push", "-q")
    mine = NOTE.replace(ID, ID[:-1] + "Z").replace("Refresh", "Other")
    b.save("Same.md", mine)
    b.commit()
    said = b.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    assert "two different notes have this name" in said
    assert b.text("Same.md") == mine


def test_the_loser_is_told_on_stderr(clones: Clones) -> None:
    a, b = clones({"N.md": NOTE}, driver=True)
    for machine, value in ((a, "0.7"), (b, "0.9")):
        machine.edit("N.md", "importance: 0.5", f"importance: {value}")
        machine.commit()
    a.git("push", "-q")
    said = b.git("pull", "--no-rebase", "--no-edit", check=False)
    assert "N.md: importance: kept 0.9, not 0.7" in said


def drive(folder: Path, *texts: bytes | str, name: str = "Note.md") -> tuple[int, bytes, str]:
    files = [folder / part for part in ("base", "ours", "theirs")]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    command = [sys.executable, "-m", "vaultmem", "merge-driver", *map(str, files), "7", name]
    done = subprocess.run(command, capture_output=True, cwd=folder, env=clean_environment(folder))
    return done.returncode, files[1].read_bytes(), done.stderr.decode()


def test_exit_codes(tmp_path: Path) -> None:
    clean = changed(NOTE, "24", "12"), changed(NOTE, "five", "ten")
    assert drive(tmp_path, NOTE, *clean)[0] == 0
    assert drive(tmp_path, NOTE, changed(NOTE, "24", "12"), changed(NOTE, "24", "48"))[0] == 1
    assert drive(tmp_path, "", NOTE, NOTE.replace(ID, ID[:-1] + "Z"))[0] == 1


def test_other_files_are_merged_as_git_would(tmp_path: Path) -> None:
    code, raw, _ = drive(tmp_path, "1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", name="x.canvas")
    assert (code, raw) == (0, b"one\n2\nthree\n")
    assert drive(tmp_path, b"\0a", b"\0b", b"\0c", name="x.png")[:2] == (1, b"\0b")


def test_renamed_properties_are_known(tmp_path: Path) -> None:
    """The vault's settings may call `updated` something else; the newest still counts."""
    (tmp_path / ".vaultmem").mkdir()
    (tmp_path / ".vaultmem" / "config.toml").write_text('[properties]\nupdated = "changed"\n')
    base = "---\nmood: a\nchanged: 2026-01-01T00:00:00\n---\n"
    ours = "---\nmood: b\nchanged: 2026-03-01T00:00:00\n---\n"
    theirs = "---\nmood: c\nchanged: 2026-02-01T00:00:00\n---\n"
    code, raw, said = drive(tmp_path, base, ours, theirs)
    assert (code, raw.decode()) == (0, ours)
    assert "mood: kept b, not c" in said


def test_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, runpy\n"
        "sys.argv = ['vaultmem', 'merge-driver']\n"
        "try: runpy.run_module('vaultmem', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "import vaultmem.git.merge\n"
        "heavy = {'click', 'mcp', 'tantivy', 'numpy', 'fastembed', 'sqlite3', 'watchdog',"
        " 'subprocess', 'vaultmem.index', 'vaultmem.storage.store'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
