"""A person's vault: what is put before an agent for a task, and silence where nothing is known."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.asking import Keeping, embed_all
from evaluation.measures import Figure, mean_figure, share_figure
from vaultmem import Vault
from vaultmem.base.token_count import token_count
from vaultmem.hooks import answer

BUDGET = 2000
TODAY = dt.datetime(2026, 10, 30, 12)  # when the questions were asked
_NAMED = re.compile(r"\[\[([^\]|#]+)\]\]\)?$", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    text: str
    project: str
    files: tuple[str, ...]
    notes: frozenset[str]  # that belong into its context
    noise: frozenset[str]  # that would embarrass there


@dataclass(frozen=True)
class LifeQuestion:
    kind: str
    text: str
    notes: frozenset[str]  # that are right
    outdated: frozenset[str]  # that must not come before them


@dataclass(frozen=True)
class Life:
    name: str
    notes: Path
    tasks: tuple[Task, ...]
    nothing: tuple[str, ...]  # prompts about which the vault knows nothing
    asked: tuple[LifeQuestion, ...]  # about which it does

    @property
    def questions(self) -> list[str]:
        return [each.text for each in self.asked]

    @property
    def answers(self) -> list[tuple[str, frozenset[str]]]:
        return [(each.text, each.notes) for each in self.asked]


def names_in(folder: Path) -> list[str]:
    return sorted(place.parent.name for place in folder.glob("*/tasks.jsonl"))


def read(folder: Path) -> Life:
    return Life(
        folder.name,
        folder / "notes",
        tuple(map(_task, _rows(folder / "tasks.jsonl"))),
        tuple(row["question"] for row in _rows(folder / "nothing.jsonl")),
        tuple(map(_question, _rows(folder / "questions.jsonl"))),
    )


def _question(row: dict[str, Any]) -> LifeQuestion:
    right, outdated = frozenset(row["notes"]), frozenset(row.get("not", ()))
    return LifeQuestion(row.get("kind", ""), row["question"], right, outdated)


def _task(row: dict[str, Any]) -> Task:
    return Task(
        row["task"],
        row.get("project", ""),
        tuple(row.get("files", ())),
        frozenset(row["notes"]),
        frozenset(row.get("noise", ())),
    )


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


# --- asking ---------------------------------------------------------------------------------


class LifeVault:
    """A copy of the notes, indexed, and its three entrances for what nobody asked for."""

    def __init__(self, life: Life, root: Path, kept: Path, *, vectors: bool) -> None:
        shutil.copytree(life.notes, root, dirs_exist_ok=True)
        (root / ".vaultmem").mkdir(exist_ok=True)
        self.vault = Vault.open(str(root), {"exclude": ""} if vectors else {"model": "off"})
        parts = self.vault.parts
        parts.recall.now = lambda: TODAY
        parts.bring_up_to_date()
        embedder = parts.embedder()
        if embedder is not None:
            embed_all(parts.reconciler, Keeping(embedder, kept))
        self._titles = {
            path.stem: path.relative_to(root).as_posix()
            for path in sorted(root.rglob("*.md"))
            if ".vaultmem" not in path.parts
        }
        self._asked = 0

    def context(self, task: Task) -> str:
        return self.vault.context(
            task.text, files=task.files, project=task.project or None, max_tokens=BUDGET
        ).context_block

    def hook(self, prompt: str, project: str = "") -> str:
        """Each prompt is a session of its own, so that nothing counts as shown before."""
        self._asked += 1
        event = {"session_id": f"asked-{self._asked}", "prompt": prompt, "project": project}
        said = answer.to_event(self.vault, {"event": "UserPromptSubmit", "payload": event})
        return str(said.get("context", ""))

    def recall(self, prompt: str) -> str:
        return "\n".join(self.found(prompt))

    def found(self, prompt: str, strategy: str = "hybrid") -> list[str]:
        hits = self.vault.recall(prompt, strategy=strategy, counted=False).memories
        return list(dict.fromkeys(hit.path for hit in hits))

    def named(self, block: str) -> list[str]:
        """The notes that a block quotes, each once, in order."""
        found = (self._titles.get(title) for title in _NAMED.findall(block))
        return list(dict.fromkeys(path for path in found if path))

    def close(self) -> None:
        self.vault.close()


# --- measuring ------------------------------------------------------------------------------


def figures(life: Life, vault: LifeVault) -> Iterator[Figure]:
    for strategy in ("keyword", "vector", "hybrid"):
        yield from _of_questions(strategy, life.asked, vault)
    yield from _of_context("context", life.tasks, vault, vault.context)
    yield from _of_context(
        "hook", life.tasks, vault, lambda task: vault.hook(task.text, task.project)
    )
    tasks = [task.text for task in life.tasks]
    for entrance, said in (
        ("context", lambda prompt: vault.context(Task(prompt, "", (), frozenset(), frozenset()))),
        ("hook", vault.hook),
        ("recall", vault.recall),
    ):
        yield _spoken(f"{entrance}: speaks of nothing", life.nothing, said, wrong=True)
        yield _spoken(f"{entrance}: silent on a task", tasks, said, wrong=False)
        yield _spoken(f"{entrance}: silent on a question", life.questions, said, wrong=False)


def _of_questions(
    strategy: str, asked: Sequence[LifeQuestion], vault: LifeVault
) -> Iterator[Figure]:
    ranks = {each: _ranks(each, vault.found(each.text, strategy)) for each in asked}
    kinds = sorted({each.kind for each in asked}) if strategy == "hybrid" else []
    for kind in ("", *kinds):
        some = [rank for each, (rank, _) in ranks.items() if kind in ("", each.kind)]
        name = f"{strategy}: {kind or 'all questions'}"
        yield share_figure(f"{name}, first", (rank == 1 for rank in some))
        yield share_figure(f"{name}, in five", (0 < rank <= 5 for rank in some))
        if not kind:
            yield mean_figure(f"{name}, MRR", [1 / rank if rank else 0.0 for rank in some])
    if replaced := [pair for each, pair in ranks.items() if each.outdated]:
        too_early = (0 < old < (right or 99) for right, old in replaced)
        yield share_figure(f"{strategy}: outdated before right", too_early)


def _ranks(question: LifeQuestion, found: Sequence[str]) -> tuple[int, int]:
    """Where the first right note stands, and the first outdated one; 0 for nowhere."""
    places = ({path: rank for rank, path in reversed(list(enumerate(found, 1)))}).get
    right = min((places(path) or 99 for path in question.notes), default=99)
    old = min((places(path) or 99 for path in question.outdated), default=99)
    return right % 99, old % 99


def _of_context(
    entrance: str, tasks: Sequence[Task], vault: LifeVault, said: Callable[[Task], str]
) -> Iterator[Figure]:
    blocks = [said(task) for task in tasks]
    shown = [set(vault.named(block)) for block in blocks]
    both = list(zip(tasks, shown, strict=True))
    every = [(task, path) for task, paths in both for path in paths]
    yield share_figure(
        f"{entrance}: names a note that belongs", (bool(p & t.notes) for t, p in both)
    )
    yield mean_figure(
        f"{entrance}: recall of notes", [len(p & t.notes) / len(t.notes) for t, p in both]
    )
    yield share_figure(f"{entrance}: precision", (path in t.notes for t, path in every))
    yield share_figure(
        f"{entrance}: noise among the notes shown", (path in t.noise for t, path in every)
    )
    yield share_figure(
        f"{entrance}: shows something embarrassing", (bool(p & t.noise) for t, p in both)
    )
    yield mean_figure(f"{entrance}: tokens", [token_count(block) for block in blocks])


def _spoken(
    name: str, prompts: Iterable[str], said: Callable[[str], str], *, wrong: bool
) -> Figure:
    return share_figure(name, (bool(said(prompt)) == wrong for prompt in prompts))
