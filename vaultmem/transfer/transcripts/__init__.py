"""Transcripts that agents' programs keep of their sessions, told as the journals of a vault."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vaultmem import config

TRANSCRIPTS: Final = ("claude-code", "codex")


def usual_transcripts(source: str) -> Path:
    """Where the program keeps them on this machine."""
    places = config.places()
    if source == "codex":
        return places.moved.get("CODEX_HOME", places.home / ".codex") / "sessions"
    return places.moved.get("CLAUDE_CONFIG_DIR", places.home / ".claude") / "projects"
