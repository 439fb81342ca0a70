"""Make or refresh the checkout's own environment, and print its Python on stdout.

bootstrap.py [--dev] [--into FOLDER]: FOLDER instead of `.venv`, for tests with several Pythons.

Needs nothing but Python. Everything else is said on stderr, because the caller's
stdout may already be a protocol. Several first runs at once wait for one another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
if "--into" in sys.argv:
    ENVIRONMENT = Path(sys.argv[sys.argv.index("--into") + 1]).absolute()


def main() -> int:
    wanted = "dev" if "--dev" in sys.argv else "run"
    ENVIRONMENT.mkdir(parents=True, exist_ok=True)
    with _only_one():
        if not _is_ready(wanted):
            _install(wanted)
    print(_python())
    return 0


def _python() -> Path:
    return ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _locked(which: str) -> Path:
    return ROOT / "scripts" / "locked" / f"{which}.txt"


def _stamp(which: str) -> Path:
    return ENVIRONMENT / f"installed-{which}"


def _fingerprint(which: str) -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return f"{hashlib.sha256(_locked(which).read_bytes()).hexdigest()} {version} {ROOT}"


def _is_ready(which: str) -> bool:
    stamp = _stamp(which)
    ready = stamp.exists() and stamp.read_text() == _fingerprint(which) and _python().exists()
    if ready:
        stamp.touch()  # newer than the lock file: the launcher asks no more
    return ready


def _install(which: str) -> None:
    print("vaultmem: installing itself, once; this takes a moment …", file=sys.stderr)
    for stamp in ENVIRONMENT.glob("installed-*"):
        stamp.unlink()
    venv.EnvBuilder(with_pip=True, clear=False, symlinks=os.name != "nt").create(ENVIRONMENT)
    pip = [str(_python()), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    command = [*pip, "--require-hashes", "--no-deps", "-r", str(_locked(which))]
    if subprocess.run(command, stdout=sys.stderr).returncode:
        print("vaultmem: the installation failed; see above.", file=sys.stderr)
        raise SystemExit(3)
    paths = sysconfig.get_paths("venv", {"base": str(ENVIRONMENT), "platbase": str(ENVIRONMENT)})
    Path(paths["purelib"], "vaultmem.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    for name in {"run", which}:  # the development set contains the other
        _stamp(name).write_text(_fingerprint(name))


@contextlib.contextmanager
def _only_one() -> Iterator[None]:
    with open(ENVIRONMENT / "installing.lock", "w") as handle:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
