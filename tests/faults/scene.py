"""The vault of a simulation, what is in it, and what must stay in it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import snapshot
from tests.faults import plan
from tests.faults.ledger import WORD, Ledger, texts
from tests.faults.plan import Step
from tests.faults.weather import Weather
from tests.surfaces.mcp.harness import new_vault


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.weather = Weather(folder)
        self.root = self.weather.root
        self.ledger = Ledger()
        self.own = {number: f"Notes/Note {number}.md" for number in range(plan.OWN_NOTES)}
        self.memories: dict[int, str] = {}  # the ids of what agents stored, by their number
        self.home, self.outside = folder / "home", folder / "outside"
        self._lay_out()

    def _lay_out(self) -> None:
        self.home.mkdir()
        self.outside.mkdir()
        diary = self.outside / "Diary.md"
        diary.write_text("---\nscope: session\n---\nNot part of the vault.\n", encoding="utf-8")
        os.utime(diary, (1, 1))
        self._outside_before = snapshot(self.outside)
        new_vault(self.root)
        (self.root / "Notes").mkdir()
        (self.root / "Elsewhere").symlink_to(self.outside)
        for number in self.own:
            self.make_own(number)

    def make_own(self, number: int) -> None:
        file = self.root / self.own[number]
        file.write_text(f"# Note {number}\n\nSee [[Note 1]]. #own\n", encoding="utf-8")

    def outside_is_untouched(self) -> bool:
        """The home has nothing but the state of a vault that cannot be written."""
        files = [file for file in self.home.rglob("*") if not file.is_dir()]
        own = self.home / ".local" / "state" / "vaultmem"
        is_own = all(own in file.parents for file in files)
        return snapshot(self.outside) == self._outside_before and is_own

    # --- which note a step is about --------------------------------------------------------

    def memory(self, step: Step) -> str:
        return self.memories.get(step.note % plan.MEMORIES, "")

    def chosen(self, step: Step) -> str:
        """A person's note, or an agent's where there is one of that number."""
        path = self.path(self.memory(step)) if step.note >= plan.OWN_NOTES else ""
        return path or self.own[step.note % plan.OWN_NOTES]

    def path(self, id_: str) -> str:
        if not id_ or not self.weather.fair:
            return ""
        notes = texts(self.root).items()
        return next((path for path, text in notes if f"id: {id_}" in text), "")

    def words(self, id_: str) -> list[str]:
        """Those of a memory, in the order of its text."""
        path = self.path(id_)
        return WORD.findall(texts(self.root)[path]) if path else []
