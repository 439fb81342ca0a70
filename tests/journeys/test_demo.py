"""The tour: real from end to end, and afterwards as if it had never been."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT, clean_environment, snapshot
from tests.waiting import until
from vaultmem import vault


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Of someone whose git signs and whose vault must stay as it is."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".gitconfig").write_text(
        "[user]\n\tname = Somebody\n[commit]\n\tgpgsign = true\n[core]\n\thooksPath = /nowhere\n"
    )
    vault.make_vault(vault.plan_vault(str(folder / "Mine"), git=False, examples=False), git=False)
    (folder / "Mine" / "Note.md").write_text("mine")
    (tmp_path / "tmp").mkdir()
    return folder


def environment(home: Path, **more: str) -> dict[str, str]:
    person = {k: v for k, v in clean_environment(home).items() if not k.startswith("GIT_")}
    return person | {"TMPDIR": str(home.parent / "tmp"), "COLUMNS": "80"} | more


def demo(home: Path, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vaultmem", "demo", *options], cwd=home, text=True, timeout=120,
        env=environment(home, **more), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_the_whole_tour_touches_nothing_of_the_person(home: Path) -> None:
    before = snapshot(home)
    mine = {"VAULTMEM_VAULT": str(home / "Mine"), "VAULTMEM_READ_ONLY": "1"}
    done = demo(home, **mine)
    assert done.returncode == 0, done.stdout
    assert snapshot(home) == before
    assert list((home.parent / "tmp").iterdir()) == [], "nothing is left behind"
    said = done.stdout
    steps = [said.index(f"\n{number}. ") for number in range(1, 8)]
    assert steps == sorted(steps)
    stored, edited, recalled, fact, synced, undone = (
        said[start:end] for start, end in zip(steps[1:], [*steps[2:], len(said)], strict=True)
    )
    assert "tags:\n    - auth" in stored, "the file itself is shown"
    assert "+ Refresh tokens rotate every 24 hours. The old one works 10 minutes longer." in edited
    assert recalled.count("10 minutes") >= 2, "as the human wrote it, for the agent and for you"
    assert "signs_with  RS256  since 2026-02-01" in fact
    assert "signs_with  HS256  2025-03-01 → 2026-02-01" in fact
    assert "#security" in synced[synced.index("has both") :]
    assert "every 12 hours" in synced[synced.index("has both") :]
    assert "Restored" in undone
    assert "every 12 hours" in undone[undone.index("Restored") :]
    assert "\x1b" not in said


def test_it_can_be_kept_and_does_without_git(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "tour"
    done = demo(home, "--fast", "--keep", str(kept), PATH=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "Git is not installed" in done.stdout
    note = kept / "laptop" / "Memories" / "Refresh tokens rotate every 24 hours.md"
    assert "10 minutes longer" in note.read_text(encoding="utf-8")
    assert not (kept / "desktop").exists()
    again = demo(home, "--fast", "--keep", str(kept))
    assert again.returncode == 2
    assert "not empty" in again.stdout


def test_it_can_be_stopped(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "vaultmem", "demo"], cwd=home, env=environment(home), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as tour:  # fmt: skip
        assert tour.stdout is not None
        for line in tour.stdout:
            if line.startswith("2. "):
                break
        os.killpg(tour.pid, signal.SIGINT)  # as Ctrl-C does: to everyone at the terminal
        rest = tour.stdout.read()
    assert tour.returncode == 3, rest
    assert "Stopped." in rest
    assert "Traceback" not in rest
    until(lambda: not list((home.parent / "tmp").iterdir()))


# --- the recording -------------------------------------------------------------------------


def test_the_recording_is_of_this_tour() -> None:
    raw = (ROOT / "docs" / "recording.svg").read_bytes()
    assert len(raw) < 60_000
    drawing = ElementTree.fromstring(raw)
    lines = ["".join(line.itertext()) for line in drawing.iter("{http://www.w3.org/2000/svg}text")]
    source = (ROOT / "vaultmem" / "surfaces" / "cli" / "tour.py").read_text(encoding="utf-8")
    titles = re.findall(r'self\.print_tour_title\("(.+)"\)', source)
    assert [line for line in lines if re.match(r"\d\. ", line)] == [
        f"{number}. {title}" for number, title in enumerate(titles, 1)
    ], "record it anew: scripts/run make-recording"
    assert not any(word in raw for word in (b"/tmp", b"/home", b"/root", b"Traceback"))


def test_a_terminal_is_drawn_as_it_looks() -> None:
    code = """
import make_recording as recording
screen = recording.Screen()
screen.write("Waiting\\r\\x1b[32mDone\\x1b[0m <b>  \\r\\nNext", 1.0)
print([recording._line(row, line) for row, line in enumerate(screen.lines)])
"""
    done = subprocess.run(
        [sys.executable, "-c", code.replace("\\\\", "\\")], cwd=ROOT / "scripts" / "tasks",
        capture_output=True, text=True, env=clean_environment(ROOT) | {"PYTHONPATH": "."},
    )  # fmt: skip
    assert '<tspan class="g">Done</tspan> &lt;b&gt;  </text>' in done.stdout, done.stderr
    assert ">Next</text>" in done.stdout
