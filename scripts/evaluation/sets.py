"""The retrieval sets: documents, questions, and which document answers which question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# R@5 / R@10 / MRR of plain BM25 over whole documents, as the sets' own description gives them.
FLOORS = {
    "locomo-session": (0.859, 0.939, 0.766),
    "locomo-turn": (0.510, 0.593, 0.435),
    "beam100k": (0.340, 0.417, 0.378),
    "anchor-obsidian-help-en": (0.844, 0.927, 0.676),
    "anchor-obsidian-help-zh": (0.822, 0.967, 0.550),
    "cmrc2018-zh": (0.991, 0.993, 0.974),
    "cranfield": (0.291, 0.394, 0.506),
    "devbench": (0.958, 1.0, 0.635),
}


@dataclass(frozen=True)
class Document:
    id: str
    haystack: str
    session: str
    timestamp: str
    speaker: str
    text: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    id: str
    haystack: str
    text: str
    category: str
    gold: dict[str, int] = field(default_factory=dict)  # document -> how good an answer it is


@dataclass(frozen=True)
class Set:
    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @property
    def is_of_turns(self) -> bool:
        """Whether a document is a part of a session, and so an observation in its journal."""
        return any(document.session not in ("", document.id) for document in self.documents)

    @property
    def haystacks(self) -> list[str]:
        return sorted({document.haystack for document in self.documents})


def read(folder: Path, key: str = "qrels.tsv") -> Set:
    gold = _gold(folder / key)
    documents = tuple(_document(row) for row in _rows(folder / "corpus.jsonl"))
    questions = tuple(
        Question(row["id"], row["haystack"], row["text"], row["category"], gold[row["id"]])
        for row in _rows(folder / "queries.jsonl")
        if row["id"] in gold  # some questions are meant to have no answer
    )
    return Set(folder.name, documents, questions)


def names_in(folder: Path) -> list[str]:
    return sorted(place.parent.name for place in folder.glob("*/corpus.jsonl"))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _document(row: dict[str, Any]) -> Document:
    return Document(
        **{
            name: row[name]
            for name in ("id", "haystack", "session", "timestamp", "speaker", "text")
        },
        title=row.get("title", ""),
        aliases=tuple(row.get("aliases", ())),
        tags=tuple(row.get("tags", ())),
    )


def _gold(file: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        question, document, score = line.split("\t")
        if int(score) > 0:
            found.setdefault(question, {})[document] = int(score)
    return found
