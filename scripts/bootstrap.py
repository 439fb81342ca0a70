"""Make or refresh the checkout's own environment, and print its Python on stdout.

bootstrap.py [--dev] [--into FOLDER]: FOLDER instead of `.venv`, for tests with several Pythons.

Needs nothing but Python. Everything else is said on stderr, because the caller's stdout may
already be a protocol. Several first runs at once wait for one another.

The environment is made beside its place, marked as complete, and only then moved there: what a
run leaves that was stopped half-way is thrown away by the next. What an environment knows of its
own place are some lines of the programs in `bin`, which are put right before the move.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
if "--into" in sys.argv:
    ENVIRONMENT = Path(sys.argv[sys.argv.index("--into") + 1]).absolute()
ASIDE = ENVIRONMENT.with_name(ENVIRONMENT.name + ".new")
FORMER = ENVIRONMENT.with_name(ENVIRONMENT.name + ".old")
LOCK = ENVIRONMENT.with_name(ENVIRONMENT.name + ".lock")

NEEDED: Final = "about 500 MB"
_FULL: Final = re.compile(r"No space left|Errno 28|Disk quota exceeded|os error 28")
_AWAY: Final = re.compile(
    r"No matching distribution|Connection|name resolution|Max retries|Network|dns error|timed out"
)
_LINES_OF_A_FAILURE: Final = 12


class Failure(Exception):
    """A sentence for a person."""


def main() -> int:
    wanted = "dev" if "--dev" in sys.argv else "run"
    signal.signal(signal.SIGTERM, _stop)
    try:
        if not _is_ready(ENVIRONMENT, wanted):
            _make_ready(wanted)
    except KeyboardInterrupt:
        return _fail("Stopped; the next run installs it.")
    except Failure as failure:
        return _fail(str(failure))
    except OSError as error:
        return _fail(sentence_of(error))
    print(_python(ENVIRONMENT))
    return 0


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _fail(sentence: str) -> int:
    print(f"vaultmem: {sentence}", file=sys.stderr)
    return 3


def sentence_of(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"No space is left for the installation, which takes {NEEDED} in {ROOT}. "
            "Make some room and run it again."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"You may not write in {ENVIRONMENT.parent}, where vaultmem would install itself. "
            "Clone it into a folder of your own, or have its owner run it once."
        )
    return f"It could not be installed: {error}."


# --- what is there -------------------------------------------------------------------------


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _packages(environment: Path) -> Path:
    places = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", "venv", places))


def _locked(which: str) -> Path:
    return ROOT / "scripts" / "locked" / f"{which}.txt"


def _stamp(environment: Path, which: str) -> Path:
    return environment / f"installed-{which}"


def _fingerprint(which: str) -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return f"{hashlib.sha256(_locked(which).read_bytes()).hexdigest()} {version} {ROOT}"


def _is_ready(environment: Path, which: str) -> bool:
    stamp = _stamp(environment, which)
    with contextlib.suppress(OSError):
        if stamp.read_text() == _fingerprint(which) and _python(environment).exists():
            with contextlib.suppress(OSError):  # somebody else's, to read only
                stamp.touch()  # newer than the lock file: the launcher asks no more
            return True
    return False


# --- from nothing to an environment --------------------------------------------------------


def _make_ready(which: str) -> None:
    ENVIRONMENT.parent.mkdir(parents=True, exist_ok=True)
    with _only_one() as lock:
        if _is_ready(ENVIRONMENT, which):
            return
        if not _is_ready(ASIDE, which):
            try:
                _install_aside(which, lock)
            except BaseException:
                _remove(ASIDE)
                raise
        _move_into_place()
        _remove(FORMER)


def _install_aside(which: str, lock: int) -> None:
    began = time.monotonic()
    _remove(ASIDE)
    with _Progress(_packages(ASIDE), _number_of_packages(which)) as progress:
        pip = _make_environment(lambda command: _run(command, lock, progress))
        command = [*pip, "--require-hashes", "--no-deps", "-r", str(_locked(which))]
        code, said = _run(command, lock, progress)
    if code:
        raise Failure(_why_it_failed(said))
    (_packages(ASIDE) / "vaultmem.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    _put_paths_right(_python(ASIDE).parent)
    for name in {"run", which}:  # the development set contains the other
        _stamp(ASIDE, name).write_text(_fingerprint(name))
    print(f"vaultmem: installed in {time.monotonic() - began:.0f} s.", file=sys.stderr)


def _make_environment(run: Callable[[list[str]], tuple[int, str]]) -> list[str]:
    """Made by the first that can; returns how packages are installed into it."""
    python, said = str(_python(ASIDE)), ""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]
    uv, virtualenv = shutil.which("uv"), shutil.which("virtualenv")
    ways: list[tuple[list[str], list[str]]] = []
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        ways += [([sys.executable, "-m", "venv"], pip)]
    if uv:
        installed = [uv, "pip", "install", "--python", python, "--compile-bytecode"]
        ways += [([uv, "venv", "--python", sys.executable], installed)]
    if virtualenv:
        ways += [([virtualenv, "--python", sys.executable], pip)]
    for make, install in ways:
        code, said = run([*make, str(ASIDE)])
        if not code:
            return install
        _remove(ASIDE)
    if said and "ensurepip" not in said:
        raise Failure(_why_it_failed(said))
    version = f"python3.{sys.version_info[1]}"
    raise Failure(
        f"This Python ({sys.executable}) cannot make an environment. On Debian and Ubuntu: "
        f"apt install python3-venv (or {version}-venv). With uv or virtualenv on the PATH it "
        "works without. Then run it again."
    )


def _why_it_failed(said: str) -> str:
    if _FULL.search(said):
        return sentence_of(OSError(errno.ENOSPC, ""))
    last = "\n".join(f"  {line}" for line in said.splitlines()[-_LINES_OF_A_FAILURE:])
    if _AWAY.search(said):
        return f"A package could not be fetched. Is there a network? Run it again.\n{last}"
    return f"The installation failed; nothing is left of it.\n{last}"


def _number_of_packages(which: str) -> int:
    """Those for this system and others' alike: the installer says how many it takes."""
    return len(re.findall(r"^[A-Za-z0-9][^\s;]*==", _locked(which).read_text(), re.MULTILINE))


def _put_paths_right(programs: Path) -> None:
    """What the programs of the environment know of its place, before it is moved there."""
    for file in programs.iterdir():
        if file.is_file() and not file.is_symlink() and file.suffix != ".exe":
            text = file.read_bytes()
            right = text.replace(os.fsencode(ASIDE), os.fsencode(ENVIRONMENT))
            if right != text:
                file.write_bytes(right)


def _move_into_place() -> None:
    _remove(FORMER)
    with contextlib.suppress(FileNotFoundError):
        ENVIRONMENT.rename(FORMER)
    ASIDE.rename(ENVIRONMENT)


def _remove(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():  # a link, or virtualenv's note of what it made
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder, ignore_errors=folder == FORMER)


# --- other programs ------------------------------------------------------------------------


def _run(command: list[str], lock: int, progress: _Progress) -> tuple[int, str]:
    """The exit code, and what was said. The child holds the lock too: should only we be killed,
    the next run waits until it has ended, which it does when it finds nobody listening."""
    kept = () if os.name == "nt" else (lock,)
    settings = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", pass_fds=kept, env=settings, cwd=ROOT,
    ) as process:  # fmt: skip
        said = []
        try:
            assert process.stdout is not None
            for line in process.stdout:
                said.append(line)
                progress.hear(line)
        except BaseException:
            process.kill()
            raise
    return process.returncode, "".join(said)


@contextlib.contextmanager
def _only_one() -> Iterator[int]:
    with open(LOCK, "w") as handle:
        if not _is_locked_at_once(handle):
            print("vaultmem: another run installs it; waiting for that …", file=sys.stderr)
            _wait_for_lock(handle)
        yield handle.fileno()


def _is_locked_at_once(handle: IO[str]) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_lock(handle: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)


# --- what a person sees --------------------------------------------------------------------


class _Progress:
    """On a terminal one line that moves; elsewhere a line where something begins."""

    _BAR: Final = 24

    def __init__(self, packages: Path, total: int) -> None:
        self._packages = packages
        self._total = total
        self._fetched = 0
        self._tools = 0  # packages that the environment began with: pip, setuptools
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._moves = sys.stderr.isatty()
        self._painter = threading.Thread(target=self._paint, daemon=True)

    def __enter__(self) -> _Progress:
        if self._moves:
            self._painter.start()
        else:
            self._say("installing itself, once; this takes a minute …")
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._moves:
            self._painter.join()
            sys.stderr.write("\r" + " " * self._width() + "\r")
            sys.stderr.flush()

    def hear(self, line: str) -> None:
        """What pip says while it works."""
        if line.startswith("Collecting "):
            self._tools = self._tools or self._number_unpacked()
            self._fetched += 1
        elif line.startswith("Installing collected packages: "):
            self._fetched = self._total = line.count(",") + 1
            if not self._moves:
                self._say(f"{self._total} packages are fetched; installing them …")

    def _say(self, text: str) -> None:
        print(f"vaultmem: {text}", file=sys.stderr, flush=True)

    def _paint(self) -> None:
        while not self._ended.wait(0.2):
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write("\r" + self._line()[: self._width()].ljust(self._width()))
                sys.stderr.flush()

    def _line(self) -> str:
        """Fetching and unpacking take about as long."""
        unpacked = max(0, min(self._total, self._number_unpacked() - self._tools))
        filled = self._BAR * (min(self._fetched, self._total) + unpacked) // (2 * self._total or 1)
        bar = "#" * filled + "-" * (self._BAR - filled)
        doing = f"{unpacked} of {self._total} packages" if self._fetched else "preparing"
        if self._fetched and not unpacked:
            doing = f"fetching {self._fetched} of {self._total}"
        passed = time.monotonic() - self._began
        return f"vaultmem installs itself [{bar}] {doing}, {passed:.0f} s"

    def _number_unpacked(self) -> int:
        return sum(1 for _ in self._packages.glob("*.dist-info"))

    @staticmethod
    def _width() -> int:
        return max(20, shutil.get_terminal_size().columns - 1)


if __name__ == "__main__":
    sys.exit(main())
