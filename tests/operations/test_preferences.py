"""What is a preference, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultmem.vault import Vault

SAID_BY_PROPERTIES = [
    ("Memories/Tea.md", "---\npreference: true\n---\nTea at four.\n"),
    ("Memories/Tea.md", "---\nkind: preference\n---\nTea at four.\n"),
    ("Tea.md", "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\ntype: procedural\nscope: user\n---\nTea, then work.\n"),
    ("Tea.md", "---\ntags: [preference]\n---\nTea at four.\n"),
    ("Tea.md", "---\ntags: [style/code]\n---\nTabs.\n"),
    ("Tea.md", "Tabs, four wide. #rule\n"),
    ("Me.md", "---\ntags: [identity]\n---\nA gardener who programs.\n"),
]  # fmt: skip
SAID_BY_PLACE = [
    ("Preferences/Editor.md", "Dark, large font.\n"),
    ("Notes/Vorlieben/Editor.md", "Dunkel, große Schrift.\n"),
    ("How Ada likes her code.md", "Small functions.\n"),
    ("Always ask before a release.md", "It went wrong once.\n"),
    ("Never on Fridays.md", "Releases wait.\n"),
    ("Atlas conventions.md", "Names in English.\n"),
    ("Wie Ada ihren Code mag.md", "Kleine Funktionen.\n"),
]
SAID_IN_WORDS = [
    ("Editor.md", "I prefer tabs, and a dark screen.\n"),
    ("Editor.md", "The user prefers short answers.\n"),
    ("Work.md", "Ada likes her code without comments.\n"),
    ("Work.md", "Always run the linter. Never push to main.\n"),
    ("Work.md", "Don't touch the live database.\n"),
    ("Work.md", "Please answer in Portuguese.\n"),
    ("Work.md", "Use uv instead of pip.\n"),
    ("Work.md", "Ask before deleting anything.\n"),
    ("Arbeit.md", "Ich bevorzuge kurze Sätze.\n"),
    ("Arbeit.md", "Niemals direkt auf main schieben.\n"),
    ("Trabalho.md", "Prefiro respostas curtas.\n"),
    ("Trabalho.md", "Nunca enviar sem perguntar.\n"),
    ("Travail.md", "Je préfère des réponses courtes.\n"),
    ("Trabajo.md", "Prefiero respuestas cortas.\n"),
]
PLAIN = [
    ("Gauge.md", "The gauge at the bridge sleeps for half an hour.\n"),
    ("Tax dates.md", "---\ntype: procedural\nscope: user\n---\nVAT is due on the 20th.\n"),
    ("Soup.md", "Soak the beans overnight. Cook them slowly with a bay leaf. Never boil hard. Salt at the end.\n"),
    ("Release checklist.md", "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\ntype: procedural\nscope: user\n---\n1. Test\n2. Tag\n"),
    ("Reading.md", "> I prefer not to, says Bartleby.\n\nA story about a clerk.\n"),
    ("Code.md", "```\n# never the real one\nalways = 1\n```\n"),
    ("How to adjust brakes.md", "Loosen the nut, centre the shoe.\n"),
    ("2026-03-01.md", "Met Bo. She never came to the meeting, the train was late, so we talked by phone.\n"),
    ("Likes.md", "People who gave the post a thumb: Bo, Cy.\n"),
    ("Likely causes.md", "A loose cable, or the fuse.\n"),
]  # fmt: skip


def preferences(vault: Vault) -> str:
    return vault.context(sections=["preferences"]).context_block


def written(root: Path, path: str, text: str) -> str:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return f"[[{file.stem}]]"


@pytest.mark.parametrize(("path", "text"), SAID_BY_PROPERTIES + SAID_BY_PLACE + SAID_IN_WORDS)
def test_what_says_so_is_a_preference(vault: Vault, root: Path, path: str, text: str) -> None:
    name = written(root, path, text)
    assert name in preferences(vault)


@pytest.mark.parametrize(("path", "text"), PLAIN)
def test_a_plain_note_is_none(vault: Vault, root: Path, path: str, text: str) -> None:
    written(root, path, text)
    assert preferences(vault) == ""


def test_what_was_replaced_is_no_preference_any_more(vault: Vault, root: Path) -> None:
    written(root, "Old.md", '---\ntags: [preference]\nsuperseded_by: "[[New]]"\n---\nLong mails.\n')
    written(root, "New.md", "---\ntags: [preference]\n---\nShort mails.\n")
    written(root, "Older.md", "---\ntags: [preference]\nstatus: superseded\n---\nNo mails.\n")
    said = preferences(vault)
    assert "Short mails" in said and "Long mails" not in said and "No mails" not in said
