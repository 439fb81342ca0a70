"""Which preferences a task brings up by the kind of work it is."""

from __future__ import annotations

import pytest

from vaultmem.notes.note import parse
from vaultmem.operations.context.kinds_of_work import kinds_of_preference, kinds_of_task


@pytest.mark.parametrize(
    ("task", "files", "kinds"),
    [
        ("Fix the time stamps", ("mare/levels.py",), {"code", "python"}),
        ("Fix it", ("cmd/main.go", "Dockerfile"), {"code", "go"}),
        ("Write the letter to the landlord", (), {"letters"}),
        ("Reply to Anna about the invoice", (), {"letters"}),
        ("Schreib der Raumverwaltung noch einmal", (), {"letters"}),
        ("Open a pull request for the importer", (), {"code"}),
        ("Rewrite the loader in Rust, tidy the branch", (), {"code", "rust"}),
        ("Plan the bathroom weeks", (), set()),
        ("Let's go through the R's of recycling", (), set()),
        ("Plan", ("notes.txt",), set()),
    ],
)
def test_kinds_of_tasks(task: str, files: tuple[str, ...], kinds: set[str]) -> None:
    assert kinds_of_task(task, files) == kinds


@pytest.mark.parametrize(
    ("title", "tags", "kinds"),
    [
        ("Go style", "", {"go"}),
        ("R habits", "", {"r"}),
        ("Git rules for agents", "", {"code"}),
        ("How agents work in the site repo", "", {"code"}),
        ("Tone of mails", "", {"letters"}),
        ("Languages", "", {"letters"}),
        ("Never at night", "writing", {"letters"}),
        ("Things to avoid", "", set()),
    ],
)
def test_kinds_of_preferences(title: str, tags: str, kinds: set[str]) -> None:
    text = f"---\ntags: [{tags}]\n---\nText." if tags else "Text."
    assert kinds_of_preference(parse(text.encode(), f"{title}.md")) == kinds
