"""The installation of a clone: stopped at any moment, without venv, without room, without leave.

The clones here need two small packages of their own instead of the real ones.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import importlib.util
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT, clean_environment

FILES = 300  # in each package: unpacking takes a moment, in which one can be stopped


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in ("apple", "pear"):
        wheel(folder, name)
    return folder


def wheel(folder: Path, name: str) -> None:
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    info = {
        "METADATA": about,
        "WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    files = {f"{name}-1.dist-info/{key}": text for key, text in info.items()}
    files |= {f"{name}/m{number}.py": "x = 1\n" * 50 for number in range(FILES)}
    files[f"{name}/__init__.py"] = "def main():\n    print('here')\n"
    files[f"{name}-1.dist-info/RECORD"] = "".join(f"{path},,\n" for path in [*files, "RECORD"])
    with zipfile.ZipFile(folder / f"{name}-1-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.fixture
def clone(tmp_path: Path, wheels: Path) -> Path:
    root = tmp_path / "a clone"
    (root / "scripts" / "locked").mkdir(parents=True)
    for name in ("vaultmem", "python", "bootstrap.py"):
        shutil.copy2(ROOT / "scripts" / name, root / "scripts" / name)
    lock = "".join(
        f"{file.name.split('-')[0]}==1 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"
        for file in sorted(wheels.glob("*.whl"))
    )
    (root / "scripts" / "locked" / "run.txt").write_text(lock)
    (root / "vaultmem").mkdir()
    (root / "vaultmem" / "__init__.py").touch()
    (root / "vaultmem" / "__main__.py").write_text(
        "import apple.m299, pear.m299, sys\ndef run():\n    print('runs', *sys.argv[1:])\n"
    )
    return root


def outside(clone: Path, wheels: Path, path: str = "") -> dict[str, str]:
    """No package but those two, and only the programs of this Python and of the system."""
    found = path or f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    clean = {k: v for k, v in clean_environment(clone).items() if not k.startswith("PYTHON")}
    return clean | pip | {"PATH": found, "TMPDIR": str(clone.parent)}


def run(clone: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(clone / "scripts" / "vaultmem"), "word"], env=environment, cwd=clone.parent,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def require_whole(clone: Path) -> None:
    """Every file that a package's list names is there, and nothing is left beside."""
    (packages,) = (clone / ".venv").glob("lib/python*/site-packages")
    for record in packages.glob("*.dist-info/RECORD"):
        with open(record, newline="") as lines:
            for path, *_ in csv.reader(lines):
                assert path == "RECORD" or (packages / path).exists(), path
    assert {each.name for each in clone.glob(".venv*")} == {".venv", ".venv.lock"}
    said = subprocess.run([str(clone / ".venv" / "bin" / "apple")], capture_output=True, text=True)
    assert said.stdout == "here\n", said.stderr


def test_in_a_pipe_it_says_plain_lines(clone: Path, wheels: Path) -> None:
    done = run(clone, outside(clone, wheels))
    assert (done.returncode, done.stdout) == (0, "runs word\n"), done.stderr
    first, fetched, last = done.stderr.splitlines()
    assert first == "vaultmem: installing itself, once; this takes a minute …"
    assert fetched == "vaultmem: 2 packages are fetched; installing them …"
    assert last.startswith("vaultmem: installed in ")
    require_whole(clone)


def test_on_a_terminal_a_line_moves(clone: Path, wheels: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [str(clone / "scripts" / "vaultmem"), "word"], env=outside(clone, wheels),
        stdout=subprocess.PIPE, stderr=theirs, text=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        painted = b""
        try:
            while piece := os.read(ours, 4096):
                painted += piece
        except OSError:  # the other end is closed
            pass
        assert process.stdout is not None and process.stdout.read() == "runs word\n"
    os.close(ours)
    lines = {line.strip() for line in painted.decode().split("\r")}
    assert sum("vaultmem installs itself [" in line for line in lines) > 2, lines


# The shell and what it started; only the Python that installs; and Ctrl-C, which goes to all.
WAYS = ((signal.SIGKILL, True), (signal.SIGKILL, False), (signal.SIGINT, True))


@pytest.mark.parametrize(("number", "all_of_them"), WAYS)
def test_stopped_at_any_moment_the_next_run_completes_it(
    clone: Path, wheels: Path, number: signal.Signals, all_of_them: bool
) -> None:
    environment = outside(clone, wheels)
    moments = [float(m) for m in os.environ.get("MOMENTS", "0.3 2.0 3.5").split()]
    for moment in moments:
        process = subprocess.Popen(
            [str(clone / "scripts" / "vaultmem"), "word"], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        time.sleep(moment)
        if all_of_them:
            os.killpg(process.pid, number)
        else:
            kill_installer(process.pid, number)
        process.wait()
    done = run(clone, environment)
    assert (done.returncode, done.stdout) == (0, "runs word\n"), done.stderr
    require_whole(clone)


def kill_installer(shell: int, number: signal.Signals) -> None:
    """Its own children go on, until they find nobody who listens."""
    children = Path(f"/proc/{shell}/task/{shell}/children")
    if not children.exists():
        pytest.skip("the children of a process are not told here")
    for child in children.read_text().split():
        os.kill(int(child), number)


def test_a_new_list_of_packages_replaces_the_environment(clone: Path, wheels: Path) -> None:
    environment = outside(clone, wheels)
    assert run(clone, environment).returncode == 0
    lock = clone / "scripts" / "locked" / "run.txt"
    lock.write_text(lock.read_text() + "# another\n")
    os.utime(lock, (time.time() + 5, time.time() + 5))
    (clone / ".venv" / "of-the-old-one").touch()
    done = run(clone, environment)
    assert done.returncode == 0 and "installed in" in done.stderr
    assert not (clone / ".venv" / "of-the-old-one").exists()
    require_whole(clone)


def test_a_clone_that_was_moved_or_copied_works_in_its_new_place(clone: Path, wheels: Path) -> None:
    assert run(clone, outside(clone, wheels)).returncode == 0
    moved = clone.rename(clone.with_name("elsewhere"))
    done = run(moved, outside(moved, wheels))
    assert (done.returncode, done.stdout) == (0, "runs word\n"), done.stderr
    assert "installed in" in done.stderr, "it knew the old place alone"
    require_whole(moved)
    assert run(moved, outside(moved, wheels)).stderr == ""
    copied = shutil.copytree(moved, clone, symlinks=True)
    (moved / "vaultmem" / "__main__.py").write_text("print('the other clone')\n")
    assert run(copied, outside(copied, wheels)).stdout == "runs word\n"


def test_a_link_to_another_environment_is_replaced_not_followed(clone: Path, wheels: Path) -> None:
    other = clone.parent / "other"
    other.mkdir()
    (other / "file").touch()
    (clone / ".venv").symlink_to(other)
    assert run(clone, outside(clone, wheels)).returncode == 0
    assert (other / "file").exists() and not (clone / ".venv").is_symlink()


# --- without venv --------------------------------------------------------------------------


def python_without_ensurepip(folder: Path) -> None:
    """As Debian's without python3-venv: the module venv is there, what it needs is not."""
    hidden = folder / "hidden"
    hidden.mkdir(parents=True)
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['ensurepip'] = None\n")
    stub = folder / "python3"
    stub.write_text(f'#!/bin/sh\nPYTHONPATH={hidden} exec {sys.executable} "$@"\n')
    stub.chmod(0o755)
    for name in ("sh", "dirname", "readlink", "env"):
        (folder / name).symlink_to(shutil.which(name) or name)


def test_without_ensurepip_the_missing_package_is_named(clone: Path, wheels: Path) -> None:
    python_without_ensurepip(clone.parent / "bin")
    done = run(clone, outside(clone, wheels, str(clone.parent / "bin")))
    assert (done.returncode, done.stdout) == (3, "")
    assert "apt install python3-venv" in done.stderr and "Traceback" not in done.stderr
    assert not (clone / ".venv").exists() and not (clone / ".venv.new").exists()


@pytest.mark.parametrize("name", ["uv", "virtualenv"])
def test_without_ensurepip_another_program_makes_it(clone: Path, wheels: Path, name: str) -> None:
    """What stands for uv and virtualenv is called as they are, and does it with venv and pip."""
    folder = clone.parent / "bin"
    python_without_ensurepip(folder)
    stub = folder / name
    called = clone.parent / "called"
    stub.write_text(
        f"#!{sys.executable}\nimport os, subprocess, sys\n"
        "del os.environ['PYTHONPATH'], sys.modules['ensurepip']\n"
        f"words = sys.argv[1:]\nopen({str(called)!r}, 'a').write(words[0] + ' ')\n"
        "run = [sys.executable, '-m', 'venv', words[-1]]\n"
        "if words[0] == 'pip':\n"
        "    at = words.index('--python')\n"
        "    run = [words[at + 1], '-m', 'pip', 'install', *words[at + 3:]]\n"
        "note = os.path.join(os.path.dirname(words[-1]), '.venv')\n"  # where it made one
        "if words[0] == '--python' and not os.path.exists(note):\n"
        "    open(note, 'w').write('.venv.new')\n"
        "sys.exit(subprocess.run(run).returncode)\n"
    )
    stub.chmod(0o755)
    lock = clone / "scripts" / "locked" / "run.txt"
    for _ in range(2):  # the second time there is one already, and the list is another one
        lock.write_text(f"{lock.read_text()}#\n")
        os.utime(lock, (time.time() + 5, time.time() + 5))
        done = run(clone, outside(clone, wheels, str(folder)))
        assert (done.returncode, done.stdout) == (0, "runs word\n"), done.stderr
        require_whole(clone)
    assert called.read_text() == ("venv pip " if name == "uv" else "--python ") * 2


# --- without leave, without room -----------------------------------------------------------


@pytest.fixture
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space is left"),
        (errno.EROFS, "You may not write in"),
        (errno.EACCES, "You may not write in"),
        (errno.EIO, "could not be installed"),
    ],
)
def test_what_the_system_refuses_is_a_sentence(
    bootstrap: ModuleType, number: int, words: str
) -> None:
    assert words in bootstrap.sentence_of(OSError(number, os.strerror(number), "file"))


def test_a_clone_that_may_not_be_written_is_told(clone: Path, wheels: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    clone.chmod(0o555)
    try:
        done = run(clone, outside(clone, wheels))
    finally:
        clone.chmod(0o755)
    assert done.returncode == 3 and "You may not write in" in done.stderr


def test_a_package_that_is_not_to_be_had_is_told(clone: Path, tmp_path: Path) -> None:
    done = run(clone, outside(clone, tmp_path / "nothing"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "could not be fetched" in done.stderr and "Traceback" not in done.stderr
    assert {each.name for each in clone.glob(".venv*")} == {".venv.lock"}
