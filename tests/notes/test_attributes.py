"""Whose a note is, and what happens where that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultmem import config
from vaultmem.notes.attributes import attributes_of, belongs_to_caller
from vaultmem.notes.note import parse

SETTINGS = config.load(Path("/nowhere"), {})
VOLATILE = ".vaultmem/local/volatile/s-1/Note.md"


def seen(raw: bytes, path: str = "Memories/Plan.md", **pins: str) -> bool:
    return belongs_to_caller(attributes_of(parse(raw, path), SETTINGS), **pins)


UNCLEAR = {
    "doubled": b"---\nuser: bob\nuser: alice\n---\nText.\n",
    "doubled in two spellings": b"---\nuser: alice\nUser: bob\n---\nText.\n",
    "doubled project": b"---\nproject: Zeus\nProject: Apollo\n---\nText.\n",
    "half a quotation": b'---\nuser: "bob\n---\nText.\n',
    "half a list": b"---\nuser: [bob\n---\nText.\n",
    "garbage behind it": b"---\nproject: Atl\nas\n---\nText.\n",
    "no value yet": b"---\nuser:\n---\nText.\n",
    "quotes with nothing in them": b'---\nuser: ""\n---\nText.\n',
    "no project yet": b"---\nproject: \n---\nText.\n",
    "a list of owners": b"---\nuser: [bob, carol]\n---\nText.\n",
    "a link that is a list": b"---\nproject: [[Zeus]]\n---\nText.\n",
    "an empty link": b'---\nproject: "[[]]"\n---\nText.\n',
    "not closed": b"---\nuser: bob\nText.\n",
    "not closed, behind a comment": b"---\n# mine\nuser: bob\nText.\n",
    "half a closing fence": b"---\nuser: bob\n--\nText.\n",
    "half an opening fence": b"--\nuser: bob\n---\nText.\n",
    "a fence too long": b"----\nuser: bob\n---\nText.\n",
    "a fence turned into a dash": "\u2014\nuser: bob\n\u2014\nText.\n".encode(),
    "no opening fence": b"user: bob\n---\nText.\n",
    "a blank line before": b"\n---\nuser: bob\n---\nText.\n",
    "a line before": b"x\n---\nuser: bob\n---\nText.\n",
    "a heading before": b"# Plan\n---\nuser: bob\n---\nText.\n",
    "a blank before": b" ---\nuser: bob\n---\nText.\n",
    "a second block": b"---\ntype: semantic\n---\n---\nuser: bob\n---\nText.\n",
    "a merge in the properties": b"---\n<<<<<<< a\nuser: alice\n=======\nuser: bob\n>>>>>>> b\n---\n",
    "a merge of it all": b"<<<<<<< a\n---\nuser: alice\n=======\nuser: bob\n>>>>>>> b\n---\nText.\n",
    "other bytes": b"---\nus\xffer: bob\n---\nText.\n",
    "utf-16": "---\nuser: bob\n---\nText.\n".encode("utf-16"),
    "nothing": b"",
    "nothing but blanks": b"\n \n",
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_cannot_be_read_is_nobodys_who_is_bound(name: str) -> None:
    raw = UNCLEAR[name]
    for pins in ({"user": "alice"}, {"user": "bob"}, {"project": "Apollo"}, {"project": "Zeus"}):
        assert not seen(raw, **pins), pins
    assert seen(raw), "a caller who is not bound sees every note"
    assert seen(raw, session="s-1"), "a session is no owner"
    assert not seen(raw, VOLATILE, session="s-2"), "but what lasts for one is of that one alone"


@pytest.mark.parametrize(
    "raw",
    [
        b"A plain note.\n",
        b"# Plan\n\nProject: Zeus was mentioned.\n",
        b"The user: she likes tea.\n\nMore.\n",
        b"---\n\nA line at the top is a line.\n",
        b"---\ntype: semantic\n---\nText.\n\n---\nuser: nobody\n",
        b"---\ntype: semantic\nTags: [a]\ntags: [b]\n---\nText.\n",
        b"---\ntype: semantic\n---\n<<<<<<< a\nText.\n=======\nOther.\n>>>>>>> b\n",
    ],
)
def test_what_names_no_owner_is_everybodys(raw: bytes) -> None:
    for pins in ({}, {"user": "alice"}, {"project": "Apollo"}):
        assert seen(raw, **pins)


def test_a_renamed_property_is_looked_at_under_its_name() -> None:
    names = {"user": "owner"}

    def bound(raw: bytes) -> bool:
        attributes = attributes_of(parse(raw, "Plan.md", names), SETTINGS)
        return belongs_to_caller(attributes, user="alice")

    assert not bound(b"---\nowner: alice\nOwner: bob\n---\n")
    assert not bound(b"--\nowner: bob\n---\nText.\n")
    assert bound(b"---\nuser: bob\n---\nText.\n"), "that is someone else's property"


# --- while it is being typed ------------------------------------------------------------------

HEAD = ["id: 01KE6Q8Z4R9M2N4P6R7S8T9VWX", "type: semantic", "scope: user", "user: bob", "tags: [a]"]
junk = st.text(st.sampled_from("-: \"'[]{}#&*!|>\n\tauser\u00e9\u2014,%@`"), max_size=8)


@given(
    lines=st.permutations(HEAD),
    project=st.booleans(),
    at=st.integers(0, 200),
    gone=st.integers(0, 12),
    typed=junk,
    newline=st.sampled_from(["\n", "\r\n"]),
)
@example(HEAD, False, 0, 1, "", "\n")
@example(HEAD, False, 0, 0, "#", "\n")
def test_typing_in_the_properties_shows_the_note_to_nobody_else(
    lines: list[str], project: bool, at: int, gone: int, typed: str, newline: str
) -> None:
    """As long as the file still says somewhere above its text whose it is."""
    head = [*lines, "project: Zeus"] if project else lines
    text = "\n".join(["---", *head, "---", "The text."]) + "\n"
    start = min(at, text.index("The text."))
    end = min(start + gone, text.index("The text."))
    changed = (text[:start] + typed + text[end:]).replace("\n", newline)
    kept = [line.strip() for line in changed.partition("The text.")[0].splitlines()]
    if "user: bob" in kept:
        assert not seen(changed.encode(), user="alice")
    if "project: Zeus" in kept:
        assert not seen(changed.encode(), project="Apollo")
