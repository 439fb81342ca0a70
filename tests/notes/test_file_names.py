"""Names and links: rules N1, N2, T2."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes.file_names import (
    MOST_NAME_BYTES,
    name_key,
    name_of_conflict_original,
    safe_name,
    unique_name,
    why_name_is_unsafe,
)
from vaultmem.notes.links import LinkMap


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Plain title", "Plain title"),
        ('a*b"c\\d/e<f>g:h|i?j#k^l[m]n', "a b c d e f g h i j k l m n"),
        ("  .hidden. ", "hidden"),
        ("CON", "CON note"),
        ("com1.txt", "Note com1.txt"),
        ("", "Untitled"),
        ("...", "Untitled"),
        ("a\u00a0b\u202fc\n\td", "a b c d"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("../../etc/passwd", "etc passwd"),
        ("\ud800x", "x"),
    ],
)
def test_n1_a_title_becomes_a_safe_name(title: str, name: str) -> None:
    assert safe_name(title) == name


@given(st.text(max_size=200))
def test_n1_any_title_becomes_a_safe_name(title: str) -> None:
    name = safe_name(title)
    assert why_name_is_unsafe(name) is None
    assert 0 < len(name.encode()) <= MOST_NAME_BYTES
    assert name == unicodedata.normalize("NFC", name)
    assert safe_name(name) == name


@given(st.lists(st.text(max_size=130), min_size=1, max_size=6))
def test_n1_names_never_clash(titles: list[str]) -> None:
    taken: set[str] = set()
    for title in titles + titles:
        name = unique_name(title, taken)
        assert name_key(name) not in taken
        assert why_name_is_unsafe(name) is None
        assert len(name.encode()) <= MOST_NAME_BYTES
        taken.add(name_key(name))


def test_n1_a_second_note_of_a_name_is_numbered() -> None:
    assert unique_name("Note", {name_key("note")}) == "Note 2"
    assert unique_name("Note", {name_key("NOTE"), name_key("Note 2")}) == "Note 3"


def test_n1_keys_fold_case_and_normal_form() -> None:
    assert name_key("Caf\u00e9") == name_key("CAFE\u0301")
    assert name_key("STRASSE") == name_key("straße")


@pytest.mark.parametrize("name", ["a:b", "a?", ".x", "x ", "x.", "nul", "LPT1.md", "a\x07", "[x]"])
def test_n1_unsafe_names_are_told(name: str) -> None:
    assert why_name_is_unsafe(name)


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("Note (Conflicted copy Laptop 202601051200)", "Note"),
        ("Note (Conflicted copy)", "Note"),
        ("Note.sync-conflict-20260105-120000-ABCDEFG", "Note"),
        ("Note (Laptop's conflicted copy 2026-01-05)", "Note"),
        ("Note 2", None),
        ("Note (copy)", None),
        ("Plain", None),
    ],
)
def test_n2_conflict_copies_are_known_by_name(name: str, original: str | None) -> None:
    assert name_of_conflict_original(name) == original


FILES = [
    "Home.md",
    "A/Note.md",
    "B/Note.md",
    "A/Only.md",
    "C/Caf\u00e9.md",
    "pic.png",
    "B/Deep/X.md",
]


@pytest.mark.parametrize(
    ("target", "source", "paths"),
    [
        ("Only", "", ("A/Only.md",)),
        ("only", "", ("A/Only.md",)),
        ("Only.md", "", ("A/Only.md",)),
        ("A/Only", "", ("A/Only.md",)),
        ("Note", "", ("A/Note.md", "B/Note.md")),
        ("A/Note", "", ("A/Note.md",)),
        ("CAFE\u0301", "", ("C/Caf\u00e9.md",)),
        ("pic.png", "", ("pic.png",)),
        ("Nowhere", "", ()),
        ("Deep/X", "", ("B/Deep/X.md",)),
        ("../A/Only.md", "B/Note.md", ("A/Only.md",)),
        ("", "A/Only.md", ("A/Only.md",)),
        ("/Home", "", ("Home.md",)),
    ],
)
def test_t2_links_resolve_by_name_then_path(
    target: str, source: str, paths: tuple[str, ...]
) -> None:
    assert LinkMap(FILES).resolve(target, source).paths == paths
