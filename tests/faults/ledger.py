"""What must be true of the vault: every text that was acknowledged or saved, and where it may be."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

WORD: Final = re.compile(r"word\d{6}")
_WHOLE: Final = re.compile(r"word\d{6} by [a-z0-9 ]+\.")


@dataclass
class Ledger:
    """Each text has one word of its own; a word in here must be in a note of the vault."""

    live: dict[str, str] = field(default_factory=dict)  # word -> who wrote it
    retired: dict[str, str] = field(default_factory=dict)  # word -> who had the right to remove it
    doubtful: set[str] = field(default_factory=set)  # never acknowledged: there or not
    _count: int = 0

    def word(self) -> str:
        self._count += 1
        word = f"word{self._count:06d}"
        self.doubtful.add(word)
        return word

    def keep(self, word: str, who: str) -> None:
        self.doubtful.discard(word)
        self.live[word] = who

    def retire(self, word: str, by: str) -> None:
        if self.live.pop(word, None):
            self.retired[word] = by

    def lost(self, root: Path) -> list[str]:
        there = {word for text in texts(root).values() for word in WORD.findall(text)}
        return [f"{word}, by {who}" for word, who in self.live.items() if word not in there]


def line(word: str, who: str) -> str:
    """One line that shows whether it was written to its end."""
    return f"{word} by {who}."


def texts(root: Path) -> dict[str, str]:
    """Every note that a person sees."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in files if name.endswith(".md")):
            file = Path(folder, name)
            if not name.startswith(".") and not file.is_symlink():
                inside = file.relative_to(root)
                found[inside.as_posix()] = file.read_text(encoding="utf-8")
    return found


def halves(root: Path) -> list[str]:
    """Notes in which a line was cut."""
    return [
        path
        for path, text in texts(root).items()
        if len(WORD.findall(text)) != len(_WHOLE.findall(text))
    ]
