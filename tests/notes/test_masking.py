"""One function decides what is private: in whatever shape it is marked, and in code it is text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes import journal, masking
from vaultmem.notes.masking import (
    mask_private,
    private_spans,
    public_part,
    public_value,
    text_without_comments,
    visible_text,
    without_private,
)
from vaultmem.notes.note import parse
from vaultmem.notes.passages import passages
from vaultmem.operations.results import content_of

OPENINGS = (
    *(
        "<private>",
        "<PRIVATE>",
        "<private >",
        "<private\n>",
        '<private class="x">',
        "<private a=b>",
    ),
    *("<private a='b > c'>", "<private/>", "<private />", "<private hidden>", "<private key"),
)
ENDINGS = ("</private>", "</PRIVATE>", "</private >", "</private\n>", "</private x>")


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_spelling_of_the_tags_is_known(opening: str, ending: str) -> None:
    text = f"before {opening} canary {ending} after"
    for kept in (
        without_private(text),
        mask_private(text),
        public_part(text),
        text_without_comments(text),
        visible_text(text),
    ):
        assert "canary" not in kept
        assert kept.split() == ["before", "after"] or "a='b" in opening
    assert len(mask_private(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "a <private>canary <private>x</private> canary</private> b",
        "a <private>never closed canary\n\n## Heading\n\ncanary",
        "a <private>\n\n## A canary\n\n- canary\n\n</private> b",
        "<!-- <private> --> canary",
        "<!-- <private>canary</private> --> b",
        "<private> <!-- </private> --> canary </private> b",
        "%% <private>canary</private> %% b",
        "<private> the `</private>` tag, canary </private> b",
        "<private>\n```\n</private>\n```\ncanary\n</private> b",
        "```\nnever closed\n\n<private>canary</private>",
        "> ```\n> never closed\n\n<private>canary</private>",
        "- ```\n  never closed\n\n<private>canary</private>",
        "a ` b <private>canary</private> c",
        "a `` b <private>canary</private> ` c",
        "a \\` b <private>canary</private> \\` c",
        "    <private>canary</private>",
        "$$ <private>canary</private> $$",
        "| a | <private>canary</private> |",
        "<div><private>canary</private></div>",
        "<<<<<<< a\n<private>canary\n=======\nx</private>\n>>>>>>> b",
        "a <pri<private>x</private>vate>canary</private> b",
        "`<private>` <private>canary</private>",
        "`<private>canary</private>` b",
        "```\nkey: <private>canary</private>\n```\nb",
        "<private>a ```\n<private>canary</private>\n``` canary</private>",
    ],
)
def test_nothing_private_is_left(text: str) -> None:
    assert "canary" not in without_private(text)
    if "<pri<" not in text:  # two halves make no tag for a reader, but must not be written as one
        for kept in (
            text_without_comments(text),
            visible_text(text),
            mask_private(text),
            public_part(text),
        ):
            assert "canary" not in kept, kept


@pytest.mark.parametrize(
    "text",
    [
        "Mark it with `<private>` and nobody reads on.",
        "Mark it with ``<private>`` and `</private>`, or `<private>…</private>`.",
        "```\n<private>\n```\nafter",
        "~~~html\n<private>...</private>\n~~~\nafter",
        "> ```\n> <private>\n> ```\n\nafter",
        "- ```\n  <private>\n  ```\n\nafter",
        "ssh -i <private key> host, and after",
        "<privateer> after </privateer>",
        "a </private> b",
        "&lt;private&gt; after",
        "1 <private 2 and after",
    ],
)
def test_what_merely_speaks_of_the_tag_stays_as_it_is(text: str) -> None:
    assert without_private(text) == mask_private(text) == public_part(text) == text
    assert text_without_comments(text) == text


def test_a_long_nest_of_halves_ends_soon_and_leaves_nothing() -> None:
    text = "a" + "<pri" * 3000 + "<private>x</private>" + "vate>x</private>" * 3000 + " canary"
    assert without_private(text).count("<private>") == 0


MARKS = st.sampled_from(
    [
        *OPENINGS,
        *ENDINGS,
        "`",
        "``",
        "```\n",
        "\n```\n",
        "~~~\n",
        "<!--",
        "-->",
        "%%",
        "a ",
        "\n",
        "> ",
    ]
)


@given(st.lists(MARKS, max_size=12), st.lists(MARKS, max_size=12))
def test_nothing_is_private_in_what_is_kept(before: list[str], after: list[str]) -> None:
    text = "".join([*before, "<private>canary</private>", *after])
    assert private_spans(without_private(text)) == []
    spans = private_spans(text)
    assert spans == sorted(spans) and all(a.end <= b.start for a, b in pairwise(spans))
    at = text.index("<private>canary")
    hidden_here = any(span.start <= at < span.end for span in spans)
    assert hidden_here == ("canary" not in mask_private(text))
    assert len(mask_private(text)) == len(text)


NOTE = b"""---
id: 01KE6Q8Z4R9M2N4P6R7S8T9VWX
type: session
source: "<private>canary1</private> kept"
user: "<private>canary2</private>"
tags: [a, "<private>canary3</private>", b]
aliases:
  - One
  - "<private>canary4"
  - "canary5</private>"
  - Two
about: ["[[<private>canary6</private>]]", "[[Keychain]]"]
mood: |
  one
  <private>canary7
  canary8</private>
more: "\\u003cprivate>canary9</private>"
---
## Log

- **09:12:04** note: seen <private>canary10</private> ^01ke6nz8a0b1c2d3e4f5g6h7jk

## Summary

It went well. <private>canary11</private>
"""


def test_a_note_shows_nothing_private_and_keeps_every_byte() -> None:
    note = parse(NOTE, "A.md")
    said = [
        note.shown, note.tags, note.aliases, note.links, note.headings, note.blocks,
        note.facts, note.observations, note.relations, note.string("source"),
        content_of(note), passages(note), journal.journal_summary(note), note.get("mood"),
    ]  # fmt: skip
    assert "canary" not in repr(said)
    assert note.tags == ("a", "b") and note.aliases == ("One", "Two")
    assert note.string("source") == "kept" and note.get("mood").strip() == "one"
    assert journal.journal_summary(note) == "It went well."
    assert note.raw == NOTE and "canary1" in str(note.properties)


def test_a_problem_quotes_nothing_private() -> None:
    note = parse(b"---\na: <private>*canary\nb: *canary\n---\n")
    assert note.problems and "canary" not in repr(note.problems)


def test_a_value_is_cut_as_one_text() -> None:
    assert public_value(["a <private>b", "c", "d</private> e"]) == ["a ", "", " e"]
    assert public_value({"x": ["<private>y"], "z": "w"}) == {"x": [""], "": ""}
    assert public_value("`<private>`") == "`<private>`" and public_value(3) == 3


def test_an_edit_that_lays_something_open_is_seen() -> None:
    before = "a\n\n<private>canary</private>\n\nb"
    assert not masking.exposes_private(before, before + " and more")
    assert masking.exposes_private(before, before.replace("<private>", "`<private>`"))
    assert masking.exposes_private(before, "a b")
