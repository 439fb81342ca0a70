"""A person's vault as Obsidian and its plugins keep it, and what agents find of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, clean_environment, snapshot

MODELS = {"VAULTMEM_MODEL": ""}
FILES: dict[str, Any] = {
    ".obsidian/app.json": {
        "userIgnoreFilters": ["Archive/", r"/\.draft\.md$/"],
        "useMarkdownLinks": True,
        "newLinkFormat": "relative",
        "attachmentFolderPath": "Files",
        "trashOption": "system",
    },
    ".obsidian/core-plugins.json": {"templates": True, "daily-notes": True},
    ".obsidian/community-plugins.json": ["templater-obsidian", "dataview"],
    ".obsidian/templates.json": {"folder": "Meta/Core templates"},
    ".obsidian/daily-notes.json": {"folder": "Journal", "template": "Meta/Day"},
    ".obsidian/plugins/templater-obsidian/data.json": {"templates_folder": "Meta/Templater"},
    ".obsidian/plugins/dataview/data.json": {"renderNullAs": "-"},
    ".obsidian/workspace.json": {"main": {}},
    "Meta/Core templates/Meeting.md": "# {{title}}\nzanzibar template\n",
    "Meta/Templater/Person.md": "<% tp.file.title %> zanzibar template\n",
    "Meta/Day.md": "zanzibar template of a day\n",
    "Templates/Letters.md": "Letters to zanzibar that went well.\n",
    "Archive/Old plan.md": "The zanzibar plan of 2019.\n",
    "Essay.draft.md": "A zanzibar draft.\n",
    "Home.md": "# My home\n\nThe zanzibar page of mine.\n",
    "AGENTS.md": "My own zanzibar rules for agents.\n",
    "README.md": "What this zanzibar vault is.\n",
    "People/Mira Sol.md": (
        "---\naliases:\n  - The Wizard\ntags: [person]\nrole: SRE\nattendees:\n  - Dana Koch\n---\n"
        "Met at the conference in Lisbon. Likes tea, see [Garden](../Garden.md) and [[Unwritten]].\n"
    ),
    "Garden.md": "Roses.\n\n> [!warning] Mind the hydrangea\n> Poisonous to cats.\n",
    "Board.canvas": {
        "nodes": [
            {"id": "1", "type": "text", "text": "Paint the shed", "x": 0, "y": 0, "width": 9, "height": 9}
        ],
        "edges": [],
    },
}  # fmt: skip
FOUND = {"Templates/Letters.md", "Home.md", "AGENTS.md", "README.md"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "Mine"
    for path, content in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Mine"]):
        subprocess.run(["git", *command], cwd=root, check=True, env=clean_environment(tmp_path))
    return root


def changed(root: Path) -> list[str]:
    told = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True,
        env=clean_environment(root.parent),
    )  # fmt: skip
    return told.stdout.splitlines()


def test_a_vault_of_a_person_gets_one_folder_and_is_searched(run: Run, vault: Path) -> None:
    before = snapshot(vault)
    assert run("init", str(vault), "--yes").code == 0
    assert changed(vault) == ["?? .vaultmem/"]

    def search(*query: str) -> list[dict[str, Any]]:
        ran = run("search", *query, "--json", "--vault", str(vault), "--strategy", "keyword")
        found: list[dict[str, Any]] = ran.json["memories"] if ran.code == 0 else []
        return found

    assert {m["path"] for m in search("zanzibar", "--limit", "20")} == FOUND
    assert "role: SRE" in search("SRE")[0]["content"]
    assert "Dana Koch" in search("Dana Koch")[0]["content"]
    assert search("the wizard")[0]["content"].startswith("aliases: The Wizard\n\nMet at")
    assert "[!warning] Mind the hydrangea" in search("hydrangea")[0]["content"]
    assert search("paint shed")[0]["path"] == "Board.canvas"
    doctor = run("doctor", "--vault", str(vault))
    assert doctor.code == 0 and "1 link to notes that are not there yet" in doctor.out
    assert run("add", "Tea is at four", "--vault", str(vault)).code == 0
    after = snapshot(vault)
    assert {path: after[path] for path in before if not path.startswith(".git/")} == {
        path: before[path] for path in before if not path.startswith(".git/")
    }
    assert changed(vault) == ["?? .vaultmem/", "?? Memories/"]


def test_properties_and_callouts_are_found_by_meaning(run: Run, vault: Path) -> None:
    assert run("index", "--vectors", "--vault", str(vault), env=MODELS).code == 0

    def best(query: str) -> str:
        found = run(
            "search", query, "--json", "--vault", str(vault), "--strategy", "hybrid", env=MODELS
        )
        content: str = found.json["memories"][0]["content"]
        return content

    assert "role: SRE" in best("who is a site reliability engineer, an SRE?")
    assert "hydrangea" in best("which plant is dangerous for pets?")


def test_broken_settings_of_obsidian_hinder_nothing_and_are_told(run: Run, vault: Path) -> None:
    (vault / ".obsidian" / "app.json").write_text("<<<<<<< HEAD\n{}")
    assert run("search", "zanzibar", "--vault", str(vault)).code == 0
    doctor = run("doctor", "--vault", str(vault))
    assert doctor.code == 1 and ".obsidian/app.json" in doctor.out
