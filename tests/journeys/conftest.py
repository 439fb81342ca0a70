from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean home with an empty folder `Brain`, for commands that run in this process."""
    for name in list(os.environ):
        if name.startswith(("VAULTMEM_", "XDG_", "CLAUDE_", "CODEX_", "GEMINI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Brain").mkdir()
    return tmp_path
