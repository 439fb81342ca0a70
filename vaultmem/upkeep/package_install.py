"""A package for this installation, wherever that is: a clone's `.venv`, an environment of `venv`, uv
or pipx.

One version with one hash, without anything that it would bring along, by whichever installer is at
hand, and with the person's own settings for it. Nothing is asked.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vaultmem.base.own_program import installer_of_packages, shell_line
from vaultmem.errors import Unavailable

_AWAY: Final = re.compile(
    r"No matching distribution|not find a version|Connection|name resolution|Max retries|[Nn]etwork"
    r"|dns error|timed out|error sending request|not found in the package registry|No solution found"
)
_FULL: Final = re.compile(r"No space left|Errno 28|Disk quota exceeded|os error 28")
_REFUSED: Final = re.compile(
    r"Permission denied|Errno 13|externally[- ]managed|Read-only file system"
)


def install_package(requirement: str, sha256: str) -> None:
    """Install `name==version` from a wheel with this hash; Unavailable says what to do instead."""
    installer = installer_of_packages()
    options = (
        ["--no-input", "--disable-pip-version-check"] if installer and "-m" in installer else []
    )
    by_hand = shell_line([*(installer or ["pip", "install"]), "--no-deps", requirement])
    if installer is None:
        raise Unavailable(
            f"This installation has neither pip nor uv. Where there is one: {by_hand} "
            f"(for {sys.executable})"
        )
    with _requirements_file(f"{requirement} --hash=sha256:{sha256}\n") as file:
        words = [*installer, *options, "--no-deps", "--require-hashes", "-r", str(file)]
        said, code = _run_installer(words)
    importlib.invalidate_caches()
    if code:
        raise Unavailable(_why_it_was_not_installed(requirement, said, by_hand))


@contextlib.contextmanager
def _requirements_file(text: str) -> Iterator[Path]:
    """Hashes can only be given in a file."""
    with tempfile.TemporaryDirectory(prefix="vaultmem-") as folder:
        file = Path(folder, "requirements.txt")
        file.write_text(text, encoding="utf-8")
        yield file


def _run_installer(words: list[str]) -> tuple[str, int]:
    """It ends when we are stopped; what it had not finished, the next run installs anew."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        return str(error), 1
    return done.stdout, done.returncode


def _why_it_was_not_installed(requirement: str, said: str, by_hand: str) -> str:
    if _FULL.search(said):
        return f"No space is left to install {requirement}. Make some room and run it again."
    if _REFUSED.search(said):
        return (
            f"{requirement} may not be installed into {sys.prefix}. Whoever may write there: "
            f"{by_hand}"
        )
    if _AWAY.search(said):
        return (
            f"{requirement} could not be fetched. Is there a network? Run it again, or: {by_hand}"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "")
    return f"{requirement} could not be installed: {last} By hand: {by_hand}"
