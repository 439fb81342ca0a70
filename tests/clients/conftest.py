"""The Claude Code that `install` finds: none, unless a test says which."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ClaudeSays = Callable[[str], Path]


@pytest.fixture(autouse=True)
def claude_says(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> ClaudeSays:
    """What `claude --version` says; in the beginning it fails, whatever this machine has."""
    folder = tmp_path_factory.mktemp("programs")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    program = folder / "claude"

    def say(answer: str) -> Path:
        program.write_text(f"#!/bin/sh\n{answer}\n")
        program.chmod(0o755)
        return program

    say("exit 1")
    return say
