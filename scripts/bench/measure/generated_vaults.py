"""Generated vaults for measuring: notes with the sizes, links, tags and headings people have."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

_SYLLABLES = [
    "ka",
    "re",
    "mo",
    "ti",
    "lan",
    "ver",
    "sol",
    "dun",
    "pre",
    "qua",
    "bis",
    "tor",
    "men",
    "ali",
    "gra",
    "shu",
    "fel",
    "nor",
    "ped",
    "ost",
]
_TOPICS = [
    "auth",
    "deploy",
    "index",
    "merge",
    "cache",
    "parser",
    "billing",
    "search",
    "vector",
    "schema",
    "queue",
    "login",
]
_KINDS = ("semantic", "episodic", "procedural")


class NoteMaker:
    """Deterministic: the same seed gives the same vault on every machine."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        words = {
            "".join(self.random.choices(_SYLLABLES, k=self.random.randint(1, 4)))
            for _ in range(6000)
        }
        self.words = sorted(words) + _TOPICS * 40
        self.weights = [1 / (rank + 8) for rank in range(len(self.words))]
        self.cumulative = list(
            itertools.accumulate(self.weights)
        )  # choices() would add up each time

    def sentence(self) -> str:
        count = self.random.randint(6, 18)
        words = self.random.choices(self.words, cum_weights=self.cumulative, k=count)
        return " ".join(words).capitalize() + "."

    def paragraph(self, titles: list[str]) -> str:
        text = " ".join(self.sentence() for _ in range(self.random.randint(2, 5)))
        if self.random.random() < 0.5:
            text += f" See [[{self.random.choice(titles)}]]."
        if self.random.random() < 0.25:
            text += f" #{self.random.choice(_TOPICS)}/{self.random.choice(self.words)}"
        return text

    def section(self, titles: list[str]) -> str:
        parts = [f"## {' '.join(self.random.choices(self.words, k=3)).title()}"]
        parts += [self.paragraph(titles) for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.4:
            parts.append(
                "\n".join(f"- {self.sentence()}" for _ in range(self.random.randint(2, 5)))
            )
        if self.random.random() < 0.15:
            parts.append(f"```python\n# not a tag\nprint({self.random.random()})\n```")
        return "\n\n".join(parts)

    def note(self, number: int, titles: list[str]) -> str:
        day = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:15:00"
        tags = "\n".join(f"  - {tag}" for tag in self.random.sample(_TOPICS, 2))
        head = (
            f"---\nid: 01{number:024}\ntype: {self.random.choice(_KINDS)}\nscope: project\n"
            f"project: P{number % 20}\nimportance: {self.random.randint(1, 9) / 10}\n"
            f'tags:\n{tags}\nabout:\n  - "[[{self.random.choice(titles)}]]"\n'
            f"created: {day}\nupdated: {day}\n---\n"
        )
        count = min(12, int(self.random.lognormvariate(0.6, 0.6)) + 1)
        return head + "\n\n".join(self.section(titles) for _ in range(count)) + "\n"


def make_vault(folder: Path, notes: int, seed: int = 7) -> None:
    maker = NoteMaker(seed)
    titles = [
        f"{' '.join(maker.random.choices(maker.words, k=4)).capitalize()} {n}" for n in range(notes)
    ]
    for number, title in enumerate(titles):
        place = folder / "Memories" / f"P{number % 20}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{title}.md").write_text(
            maker.note(number, titles), encoding="utf-8", newline="\n"
        )
