"""The template is a vault a person can open, and the first fixture."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import TEMPLATE, make_store
from vaultmem.config import PROPERTIES
from vaultmem.notes.edit import new_note_bytes
from vaultmem.notes.note import parse
from vaultmem.upkeep import doctor

FILES = [file for file in sorted(TEMPLATE.rglob("*")) if file.is_file()]
EXAMPLES = [
    file
    for folder in ("Memories", "Entities", "Sessions")
    for file in sorted((TEMPLATE / folder).rglob("*.md"))
]


def test_nothing_is_wrong_with_it() -> None:
    assert doctor.examine_vault(make_store(TEMPLATE)) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_its_files_are_plain(file: Path) -> None:
    raw = file.read_bytes()
    raw.decode()
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    assert not raw.endswith(b"\n\n")
    if file.suffix == ".json":
        json.loads(raw)
    if file.suffix == ".base":
        assert yaml.safe_load(raw)["views"]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_is_what_we_would_have_written(file: Path) -> None:
    note = parse(file.read_bytes(), file.name)
    assert not note.problems
    if not note.properties:
        return
    assert list(note.properties) == [name for name in PROPERTIES if name in note.properties]
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", note.id)
    dated = {
        name: (note.moment(name) if name in ("created", "updated", "forgotten_at") else value)
        for name, value in note.properties.items()
    }
    if "review" in dated:
        dated["review"] = note.moment("review").date()  # type: ignore[union-attr]
    assert new_note_bytes(dated, note.body) == note.raw


def test_the_examples_show_every_feature_of_the_format() -> None:
    notes = [parse(file.read_bytes(), file.name) for file in EXAMPLES]
    used = {name for note in notes for name in note.properties}
    assert used == set(PROPERTIES)
    assert {note.string("type") for note in notes} == {
        *("episodic", "semantic", "procedural", "entity", "session", "")
    }
    facts = [fact for note in notes for fact in note.facts]
    assert any(fact.valid_to for fact in facts)
    assert any(not fact.valid_to and fact.confidence and fact.provenance for fact in facts)
    assert any(note.relations for note in notes)
    assert any(o.time and "\n" in o.content for note in notes for o in note.observations)
    assert any(not o.time for note in notes for o in note.observations)
    assert any("%%" in note.body for note in notes)


def test_obsidian_knows_the_type_of_every_property() -> None:
    types = json.loads((TEMPLATE / ".obsidian" / "types.json").read_text())["types"]
    assert set(PROPERTIES) <= set(types)


def test_t4_its_templates_are_neither_memories_nor_errors() -> None:
    listing = make_store(TEMPLATE).walk()
    assert any(path.startswith("Templates/") for path in listing.files)
    assert not any(path.startswith("Templates/") for path in listing.notes)
    for file in (TEMPLATE / "Templates").glob("*.md"):
        assert not parse(file.read_bytes()).problems
