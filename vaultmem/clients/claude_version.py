"""Which Claude Code is on this machine, and whether its hooks can ask a connected server.

A version that does not know this kind of hook ignores the whole settings file it stands in, so it
is written only where the program itself says that it is new enough.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from vaultmem.base import small_files
from vaultmem.clients import settings_file
from vaultmem.config import Places
from vaultmem.errors import VaultmemError

# 2.1.118 knows it. This one is the first that waits for a server that is still connecting; before
# it the first prompt of a session was let go by.
ASKS_SERVERS: Final = (2, 1, 282)
_SECONDS: Final = 10
_VERSION: Final = re.compile(r"\b(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b")
_PLACES: Final = (".local/bin/claude", ".claude/local/claude")

# Where it notes which versions ran here.
_NOTED: Final = ("firstStartVersion", "lastOnboardingVersion", "lastReleaseNotesSeen")

Version = tuple[int, int, int]


def claude_version(places: Places, settings: Path) -> Version | None:
    """As the program says; where none is found, as in an editor's extension, the latest that its
    settings know to have run here. None where neither tells."""
    program = _claude_program(places)
    return _version_in(_said_by(program)) if program else _noted_version(settings)


def _claude_program(places: Places) -> str | None:
    usual = (shutil.which(str(places.home / place)) for place in _PLACES)
    return shutil.which("claude") or next(filter(None, usual), None)


def _said_by(program: str) -> str:
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _noted_version(settings: Path) -> Version | None:
    try:
        noted = small_files.parse_json(settings_file.read_settings_file(settings) or b"{}")
    except (ValueError, VaultmemError):
        return None
    texts = (noted.get(name) for name in _NOTED) if isinstance(noted, dict) else ()
    found = (_version_in(text) for text in texts if isinstance(text, str))
    return max(filter(None, found), default=None)


def _version_in(text: str) -> Version | None:
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
