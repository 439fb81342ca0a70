"""How to start this program again: for us, for another program, for a person who types it."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import vaultmem
from vaultmem.base import small_files

PROGRAM: Final = "vaultmem"
DISTRIBUTION: Final = "vaultmem-mcp"
PROGRAM_FILES: Final = (PROGRAM, f"{PROGRAM}.exe", f"{PROGRAM}.cmd")
_LARGEST_STARTER: Final = 1_000_000  # bytes; what starts a Python program is far smaller


def own_command(*arguments: str) -> list[str]:
    """With the same Python: for what this process starts, or a clone on this machine."""
    return [sys.executable, "-P", "-m", PROGRAM, *arguments]


def own_module(name: str) -> list[str]:
    """One of our modules that is a program of its own."""
    return [sys.executable, "-P", "-m", name]


def own_command_from_anywhere(*arguments: str) -> list[str]:
    """For another program's settings: a client has neither our PATH nor our folder."""
    if launcher := clone_launcher():
        return [str(launcher), *arguments]
    python = Path(sys.executable).absolute()  # not resolved: its environment goes by the link
    installed = python.with_name(PROGRAM_FILES[1] if sys.platform == "win32" else PROGRAM)
    if installed.is_file():
        return [str(installed), *arguments]
    return [str(python), "-P", "-m", PROGRAM, *arguments]


def command_to_type(arguments: str = "") -> str:
    """A command line for a person, as it works for this installation: by name where a shell
    would find this one by it, else by its place. The arguments are written as they are."""
    return f"{_program_to_type()} {arguments}".rstrip()


def installer_of_packages() -> list[str] | None:
    """What installs into the environment of this Python."""
    import shutil
    from importlib.util import find_spec

    if find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip", "install"]
    uv = shutil.which("uv")
    return [uv, "pip", "install", "--python", sys.executable] if uv else None


def command_to_add(requirement: str) -> str:
    """A command line for a person that adds a package to this installation; pipx keeps to itself
    what its environments hold."""
    if "pipx" in Path(sys.prefix).parts:
        return shell_line(["pipx", "inject", DISTRIBUTION, requirement])
    return shell_line([*(installer_of_packages() or ["pip", "install"]), requirement])


def is_own_program(file: Path) -> bool:
    """Whether a program of our name is this installation, and not another one."""
    started_by = Path(sys.argv[0])
    try:
        if (launcher := clone_launcher()) and file.resolve() == launcher.resolve():
            return True
        if started_by.is_file() and file.samefile(started_by):
            return True
        starter = small_files.read_small_file(file, _LARGEST_STARTER, follow=True)
    except OSError:
        return False
    named = [sys.executable, *([str(launcher)] if launcher else [])]
    return any(os.fsencode(place) in starter for place in named if place)


def clone_launcher() -> Path | None:
    """The script that starts a clone; Windows cannot run it."""
    launcher = Path(vaultmem.__file__).resolve().parents[1] / "scripts" / PROGRAM
    runs = sys.platform != "win32" and launcher.is_file() and os.access(launcher, os.X_OK)
    return launcher if runs else None


@functools.cache
def _program_to_type() -> str:
    import shutil

    found = shutil.which(PROGRAM)
    if found and is_own_program(Path(found)):
        return PROGRAM
    words = own_command_from_anywhere()
    return shell_line(words)


def shell_line(words: Sequence[str]) -> str:
    """Words as one types them into this system's shell."""
    if sys.platform != "win32":
        return shlex.join(words)
    import subprocess

    return subprocess.list2cmdline(words)
