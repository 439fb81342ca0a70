"""Installing as people do: on a terminal, with Debian's own Python, as somebody who may not write,
and from a wheel in an environment of its own."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, clean_environment
from tests.journeys.test_bootstrap import clone, outside, python_without_ensurepip, require_whole
from tests.journeys.test_bootstrap import run as run_clone
from tests.journeys.test_bootstrap import wheels as wheels  # the fixtures of two small packages
from vaultmem import __version__

__all__ = ["clone", "wheels"]

SYSTEM = Path("/usr/bin/python3")
_ASKED = "import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))"


@pytest.fixture
def system_python() -> Path:
    """The system's own Python, as on Debian: not the one of these tests."""
    if not SYSTEM.exists() or subprocess.run([SYSTEM, "-c", _ASKED], stderr=-1).returncode:
        pytest.skip("the system has no Python that will do")
    return SYSTEM


def typed(clone: Path, environment: dict[str, str], wait_for: str, key: bytes) -> tuple[int, str]:
    """Run it on a terminal of its own, press a key when it says something; what it painted."""
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may ignore it
        os.environ.clear()
        os.environ.update(environment)
        os.execv(clone / "scripts" / "vaultmem", ["vaultmem", "word"])
    painted, pressed = b"", False
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        painted += piece
        if not pressed and wait_for in painted.decode(errors="replace"):
            os.write(terminal, key)
            pressed = True
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert pressed, painted
    return os.waitstatus_to_exitcode(status), painted.decode()


def test_ctrl_c_on_a_terminal_is_answered_and_the_next_run_completes_it(
    clone: Path, wheels: Path
) -> None:
    environment = outside(clone, wheels) | {"TERM": "xterm", "COLUMNS": "100"}
    code, said = typed(clone, environment, "of 2 packages", b"\x03")
    assert code != 0 and "runs word" not in said
    assert "Stopped; the next run installs it." in said and "Traceback" not in said, said
    assert not (clone / ".venv").exists() and not (clone / ".venv.new").exists()
    done = run_clone(clone, environment)
    assert (done.returncode, done.stdout) == (0, "runs word\n"), done.stderr
    require_whole(clone)


def test_the_systems_python_installs_it(clone: Path, wheels: Path, system_python: Path) -> None:
    done = run_clone(clone, outside(clone, wheels, "/usr/bin:/bin"))
    assert (done.returncode, done.stdout) == (0, "runs word\n"), done.stderr
    require_whole(clone)
    assert (clone / ".venv" / "bin" / "python").resolve() == system_python.resolve()


def test_the_systems_python_without_ensurepip_names_the_package(
    clone: Path, wheels: Path, system_python: Path
) -> None:
    folder = clone.parent / "bin"
    python_without_ensurepip(folder)
    stub = folder / "python3"
    stub.write_text(stub.read_text().replace(sys.executable, str(system_python)))
    done = run_clone(clone, outside(clone, wheels, str(folder)))
    assert (done.returncode, done.stdout) == (3, "")
    assert str(system_python.resolve()) in done.stderr or str(system_python) in done.stderr
    assert "apt install python3-venv" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that everybody may enter."""
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def test_who_may_not_write_in_the_clone_is_told(
    clone: Path, wheels: Path, system_python: Path, open_place: Path
) -> None:
    """Somebody else's clone; root may write everywhere, and so becomes nobody here."""
    theirs = shutil.copytree(clone, open_place / "clone", symlinks=True)
    theirs.chmod(0o555)
    nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [str(theirs / "scripts" / "vaultmem"), "word"], cwd="/",
        env=outside(clone, wheels, "/usr/bin:/bin") | {"HOME": "/nonexistent", "TMPDIR": "/tmp"},
        capture_output=True, text=True, timeout=300, extra_groups=[] if nobody else None, **nobody,
    )  # fmt: skip
    theirs.chmod(0o755)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert f"You may not write in {theirs}" in done.stderr and "Traceback" not in done.stderr


def test_the_wheel_in_an_environment_of_its_own_brings_the_command(tmp_path: Path) -> None:
    """What pipx, `uv tool install` and pip do with vaultmem-mcp. The packages that it needs are
    those of the tests, so that nothing is fetched."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("vaultmem_mcp-*.whl")
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    programs = place / "bin"
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), *install]
    subprocess.run(pip, check=True, capture_output=True)
    (packages,) = place.glob("lib/python*/site-packages")
    ours = Path(sysconfig.get_path("purelib"))
    for each in ours.iterdir():  # not our own checkout's
        if not each.name.startswith(("vaultmem", "__pycache__")) and each.suffix != ".pth":
            (packages / each.name).symlink_to(each)

    def vaultmem(*arguments: str) -> str:
        done = subprocess.run(
            [str(programs / "vaultmem"), *arguments], cwd=tmp_path,
            env=clean_environment(tmp_path) | {"PATH": f"{programs}:/usr/bin:/bin"},
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert vaultmem("--version") == f"vaultmem {__version__}\n"
    vaultmem("init", "Brain")
    vaultmem("add", "The spare key hangs in the shed", "--vault", "Brain")
    assert "shed" in vaultmem("search", "spare key", "--vault", "Brain")
    assert "vaultmem" in vaultmem("install", "claude-code", "--dry-run", "--vault", "Brain")
    link = tmp_path / ".local" / "bin" / "vaultmem"  # as uv makes it, beside its receipt
    link.parent.mkdir(parents=True)
    link.symlink_to(programs / "vaultmem")
    (place / "uv-receipt.toml").touch()
    with pytest.raises(AssertionError, match="uv tool uninstall vaultmem-mcp"):
        vaultmem("path", "--remove")
    assert link.exists()
    (place / "uv-receipt.toml").unlink()
    vaultmem("path", "--remove")
    assert not link.is_symlink()
