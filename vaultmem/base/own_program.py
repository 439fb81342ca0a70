"""How to start this program again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import vaultmem

PROGRAM: Final = "vaultmem"
PROGRAM_FILES: Final = (PROGRAM, f"{PROGRAM}.exe", f"{PROGRAM}.cmd")


def own_command(*arguments: str) -> list[str]:
    """With the same Python: for what this process starts, or a clone on this machine."""
    return [sys.executable, "-P", "-m", PROGRAM, *arguments]


def own_command_from_anywhere(*arguments: str) -> list[str]:
    """For another program's settings: a client has neither our PATH nor our folder."""
    launcher = Path(vaultmem.__file__).resolve().parents[1] / "scripts" / PROGRAM
    if sys.platform != "win32" and os.access(launcher, os.X_OK) and launcher.is_file():
        return [str(launcher), *arguments]
    python = Path(sys.executable).absolute()  # not resolved: its environment goes by the link
    installed = python.with_name(PROGRAM_FILES[1] if sys.platform == "win32" else PROGRAM)
    if installed.is_file():
        return [str(installed), *arguments]
    return [str(python), "-P", "-m", PROGRAM, *arguments]
