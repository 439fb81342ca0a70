"""The floor: what an agent finds with a plain text search over the files."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from peers import CannotRun, Found, Peer, Place, node_environment

_WORD = re.compile(r"\w{3,}")
_USUAL = frozenset(["what", "did", "note", "about", "and", "how", "come", "the", "for", "with"])


class Adapter(Peer):
    name = "ripgrep"
    note = "a process for each question, all words of it; notes with most of its words first"
    modes = ("keyword",)
    follows_files = True
    indexed = False
    writes = False

    def __init__(self) -> None:
        self._place: Place | None = None

    def install(self, env: Path) -> str:
        version = node_environment(env, "@vscode/ripgrep@1.18.0")
        if not _programs(env):
            raise CannotRun("its program is not in the package here")
        told = subprocess.run([_programs(env)[0], "--version"], capture_output=True, text=True)
        return told.stdout.split()[1] if told.stdout else version

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        return {}

    def learn(self, place: Place) -> None:
        self._place = place

    def open(self, place: Place) -> Any:
        return None

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        words = sorted({w.lower() for w in _WORD.findall(query)} - _USUAL)
        place = self._place
        asked = [part for word in words for part in ("-e", word)]
        command = [str(_programs(place.env)[0]), "-oiwF", "--no-heading", "-N", *asked, "."]
        started = time.perf_counter()
        done = subprocess.run(command, cwd=place.notes, capture_output=True, text=True)
        lines = (line.rpartition(":") for line in done.stdout.splitlines())
        seen = {(path, word.lower()) for path, _, word in lines}
        best = [path for path, _ in Counter(path for path, _ in seen).most_common(limit)]
        taken = time.perf_counter() - started
        return Found([place.path_of(path) for path in best], taken, sum(map(len, best)))


def _programs(env: Path) -> list[Path]:
    return sorted(env.glob("node_modules/@vscode/ripgrep*/bin/rg*"))
