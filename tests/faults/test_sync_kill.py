"""kill -9 before every call of git, and at every file that sync itself writes: what is left is
whole or says what to do, and the next sync finishes."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git.cases import NOTE
from tests.git.conftest import Clones, Machine
from tests.git.test_sync import OTHER, sync
from vaultmem.git import repo, share
from vaultmem.notes.note import parse

if sys.platform == "win32":
    pytest.skip("there is no fork on Windows", allow_module_level=True)


def in_child(work: Callable[[], None]) -> int:
    """The exit code of a process of its own that does this; a negative one for a signal."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(machine: Machine, point: int) -> int:
    """Sync, and die before the n-th step."""
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def stepping(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            step()
            return real(*args, **kwargs)

        return call

    def work() -> None:
        repo.Repo._run_git = stepping(repo.Repo._run_git)  # type: ignore[method-assign,assignment]
        share.History.keep_writes = stepping(share.History.keep_writes)  # type: ignore[method-assign,assignment]
        Path.write_text = stepping(Path.write_text)  # type: ignore[method-assign,assignment]
        Path.unlink = stepping(Path.unlink)  # type: ignore[method-assign,assignment]
        sync(machine)

    return in_child(work)


def copied(machines: list[Machine], to: Path) -> list[Machine]:
    """The same hub and clones in another folder; clones name the hub by a relative path."""
    shutil.copytree(machines[0].home / "hub.git", to / "hub.git")
    found = []
    for machine in machines:
        shutil.copytree(machine.root, to / machine.root.name)
        found.append(Machine(to / machine.root.name, machine.home))
    return found


def prepared(clones: Clones, *, clash: bool) -> list[Machine]:
    a, b = clones({"N.md": NOTE, "Moved.md": OTHER, "Gone.md": "gone\n"})
    for machine in (a, b):
        machine.git("remote", "set-url", "origin", "../hub.git")
    a.edit("N.md", "24 hours", "12 hours")
    a.save("New.md", "from a\n")
    a.save("Twin.md", NOTE.replace("T9VWX", "T9VWA"))
    (a.root / "Gone.md").unlink()
    a.commit("on a")
    a.git("push", "-q")
    b.edit("N.md", "24 hours" if clash else "five", "48 hours" if clash else "ten")
    b.save("Mine.md", "from b\n")
    b.save("Twin.md", NOTE.replace("T9VWX", "T9VWB"))
    os.rename(b.root / "Moved.md", b.root / "Elsewhere.md")
    return [a, b]


def finish(b: Machine) -> None:
    report = sync(b)
    if report.status == "conflicts":
        text = b.text("N.md")
        assert "<<<<<<<" in text
        assert "12 hours" in text
        assert "48 hours" in text
        b.save("N.md", NOTE.replace("24 hours", "36 hours"))
        report = sync(b)
    assert report.status == "done", report


@pytest.mark.parametrize("clash", [False, True], ids=["clean", "clash"])
def test_killed_at_every_step(clones: Clones, tmp_path: Path, clash: bool) -> None:
    original = prepared(clones, clash=clash)
    points, stride = 0, 1 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 4
    for point in range(2 if clash else 1, 200, stride):
        folder = tmp_path / f"point-{point}"
        folder.mkdir()
        a, b = copied(original, folder)
        code = killed_at(b, point)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        points += 1
        b.git("fsck", "--no-dangling", "--no-progress")
        marked = (b.root / ".vaultmem" / "local" / "git-merge").exists()
        assert marked or not b.under_way(), "a merge that nobody would finish"
        assert in_child(lambda b=b: finish(b)) == 0, f"step {point}"  # type: ignore[misc]
        assert not b.under_way()
        assert b.is_clean(), b.git("status", "--porcelain")
        a.git("pull", "-q", "--ff-only")
        assert a.files() == b.files()
        files = b.files()
        assert {"New.md", "Mine.md", "Elsewhere.md", "Twin.md", "Twin 2.md"} <= files.keys()
        assert {"Gone.md", "Moved.md"}.isdisjoint(files)
        assert ("36 hours" if clash else "ten minutes") in files["N.md"].decode()
        assert {parse(files[p]).id[-1] for p in ("Twin.md", "Twin 2.md")} == {"A", "B"}
        shutil.rmtree(folder)
    assert points * stride > 20
