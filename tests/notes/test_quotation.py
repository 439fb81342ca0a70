"""Changes that quote what they are about: nothing else of a note differs afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.errors import InvalidInput, NoteMalformed
from vaultmem.notes.edit import AppendText, ReplaceText, edit_note
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, parse

NOTE = b"""---
type: semantic
---
# Auth

Tokens rotate every 24 hours. <private>The root key is 1234.</private> They are signed.

## Tokens

- the first
- the second

```sh
rotate --now
```

## Keys

Keys rotate every 90 days.

### Tokens

Another section of that name.
"""


def replaced(raw: bytes, old: str, new: str) -> bytes:
    return edit_note(parse(raw), ReplaceText(old, new))


def appended(raw: bytes, text: str, section: str = "") -> bytes:
    return edit_note(parse(raw), AppendText(text, section))


def refused(raw: bytes, old: str, new: str = "x") -> str:
    with pytest.raises((InvalidInput, NoteMalformed)) as error:
        replaced(raw, old, new)
    assert "1234" not in str(error.value)
    return str(error.value)


# --- replacing --------------------------------------------------------------------------------


def test_one_passage_is_corrected_and_all_else_stays() -> None:
    after = replaced(NOTE, "rotate every 24 hours", "rotate every 12 hours")
    assert after == NOTE.replace(b"24 hours", b"12 hours")
    assert replaced(NOTE, "- the first\n- the second", "- one") == NOTE.replace(
        b"- the first\n- the second", b"- one"
    )
    assert replaced(NOTE, " They are signed.", "") == NOTE.replace(b" They are signed.", b"")


def test_the_callers_line_ends_are_the_notes() -> None:
    crlf = NOTE.replace(b"\n", b"\r\n")
    after = replaced(crlf, "- the first\n- the second", "- a\n- b")
    assert after == crlf.replace(b"- the first\r\n- the second", b"- a\r\n- b")
    assert replaced(NOTE, "- the first\r\n- the second", "- one").count(b"\r") == 0


def test_no_line_end_is_torn_apart() -> None:
    crlf = NOTE.replace(b"\n", b"\r\n")
    assert "other blanks or line breaks" in refused(crlf, "- the first\r", "x")
    after = replaced(crlf, "\n- the first", "\n- one")
    assert after == crlf.replace(b"- the first", b"- one"), "it stands there once"


def test_what_stands_there_twice_is_shown_with_where_it_stands() -> None:
    told = refused(NOTE, "rotate every")
    assert "2 times" in told
    assert "line 3, under Auth: Tokens rotate every 24 hours." in told
    assert "under Auth › Keys: " in told and "Keys rotate every 90 days." in told
    assert "more than 4 times" in refused(b"ha ha ha ha ha ha", "ha")
    assert "2 times" in refused(b"aaa", "aa"), "they may overlap"


def test_what_is_nowhere_is_answered_with_what_comes_near() -> None:
    told = refused(NOTE, "Keys rotate every 30 days.")
    assert "line 16, under Auth › Keys: " in told and "Keys rotate every 90 days." in told
    assert "get_memories" in refused(NOTE, "zebra")
    assert "other blanks or line breaks" in refused(NOTE, "- the first - the second")
    assert "is empty" in refused(NOTE, " \n")
    assert "below the properties" in refused(NOTE, "type: semantic")


def test_what_is_private_is_neither_found_nor_crossed() -> None:
    for old in ("The root key", "1234", "<private>", "root key is 1234."):
        assert "is not in the note's text" in refused(NOTE, old)
    assert "keeps private" in refused(NOTE, "24 hours.  They")
    assert "keeps private" in refused(b"a < b\n<private>c</private>\n", "a < b", "a <private> b")
    raw = b"the code\n<private>the code</private>\nno more\n"
    assert replaced(raw, "the code", "a word") == raw.replace(b"the code\n", b"a word\n", 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("90 days.", "90 days.\n```"),
        ("rotate --now\n```", "rotate --now"),
        ("They are signed.", "They are %% signed."),
        ("They are signed.", "They are <!-- signed."),
    ],
)
def test_nothing_opens_or_closes_over_the_rest(old: str, new: str) -> None:
    raw = NOTE + b"\n%% a comment %% and <!-- one more -->\n"
    assert "read in another way" in refused(raw, old, new)


def test_properties_cannot_be_made_from_text() -> None:
    assert "read as properties" in refused(b"First.\n---\n", "First.", "---\nuser: bob")


# --- adding -----------------------------------------------------------------------------------


def test_text_is_added_at_the_end_of_a_note() -> None:
    assert appended(NOTE, "More.") == NOTE + b"\nMore.\n"
    assert appended(b"", "More.") == b"More.\n"
    assert appended(b"a", "More.") == b"a\n\nMore.\n"
    assert appended(b"- a\n", "- b\n") == b"- a\n- b\n"
    assert appended(b"- a\n  more of a  \n\n\n", "- b") == b"- a\n  more of a  \n- b\n\n\n"
    assert appended(b"a\r\nb\r\n", "c\nd") == b"a\r\nb\r\n\r\nc\r\nd\r\n"
    assert appended(b"a\n", "## New\n\nText.") == b"a\n\n## New\n\nText.\n"


def test_text_is_added_to_a_note_that_ends_with_its_properties() -> None:
    assert appended(b"---\nx: 1\n---", "More.") == b"---\nx: 1\n---\nMore.\n"
    assert appended(b"---\r\nx: 1\r\n---", "a\nb") == b"---\r\nx: 1\r\n---\r\na\r\nb\r\n"
    assert appended(b"---\nx: 1\n---  ", "- [ ] a") == b"---\nx: 1\n---  \n- [ ] a\n"


def test_text_is_added_to_a_section() -> None:
    for name in ("Keys", "## Keys", "Auth › Keys", "auth > keys", "**Keys**:"):
        after = appended(NOTE, "They are long.", name)
        assert after == NOTE.replace(b"90 days.\n", b"90 days.\n\nThey are long.\n"), name
    bare = b"## A\n\n## B\n"
    assert appended(bare, "x", "A") == b"## A\n\nx\n\n## B\n"
    assert appended(bare, "x", "B") == b"## A\n\n## B\n\nx\n"
    assert appended(b"## A\n\n## a\n", "x", "a") == b"## A\n\n## a\n\nx\n"
    assert appended(b"## A\n- 1\n## B\n", "- 2", "A") == b"## A\n- 1\n- 2\n## B\n"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("| a |\n|---|\n| 1 |\n", "| 2 |", "| a |\n|---|\n| 1 |\n| 2 |\n"),
        ("> [!note] T\n> one\n", "> two", "> [!note] T\n> one\n> two\n"),
        ("> [!note] T\n> one\n", "> [!tip] U", "> [!note] T\n> one\n\n> [!tip] U\n"),
        ("| a |\n|---|\n", "words", "| a |\n|---|\n\nwords\n"),
        ("words\n", "| 2 |", "words\n\n| 2 |\n"),
    ],
)
def test_rows_and_quotations_go_on(before: str, text: str, after: str) -> None:
    assert appended(before.encode(), text) == after.encode()


@pytest.mark.parametrize("named", ["Big Plan with Ann", "**Big** `Plan` with [[People/Ann|Ann]]"])
def test_a_section_is_named_as_its_heading_is_shown(named: str) -> None:
    raw = b"# **Big** `Plan` with [[People/Ann|Ann]]\n\none\n"
    assert appended(raw, "two", named) == raw + b"\ntwo\n"


def test_a_section_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(InvalidInput) as error:
        appended(NOTE, "x", "Tokenz")
    assert "Auth (line 1); Auth › Tokens (line 5); Auth › Keys" in str(error.value)
    with pytest.raises(InvalidInput, match="could be any of these sections"):
        appended(NOTE, "x", "Tokens")
    assert appended(NOTE, "x", "Keys › Tokens").endswith(b"that name.\n\nx\n")
    with pytest.raises(InvalidInput, match="has no sections"):
        appended(b"a\n", "x", "B")
    with pytest.raises(InvalidInput, match="heading of the rank"):
        appended(NOTE, "## Y", "Keys")


@pytest.mark.parametrize("raw", [b"a\n```\ncode\n", b"a\n<private>\nb\n"])
def test_nothing_is_added_to_what_is_not_closed(raw: bytes) -> None:
    with pytest.raises(InvalidInput, match="not closed"):
        appended(raw, "More.")


# --- whatever the note is ---------------------------------------------------------------------

PIECES = [
    *("Tokens rotate.", "## Tokens", "# Auth", "- an item ^id", "- uses:: [[X]] ^f-1", "Text."),
    *("```", "~~~", "%%", "<!--", "-->", "`", "$$", "<private>", "</private>", "secret", ""),
    *("===", "---", "> quoted", "    code", "<private>secret</private>", "[[link]] #tag"),
]
bodies = st.lists(st.sampled_from(PIECES), max_size=12)
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(" ".join)


@given(
    lines=bodies,
    newline=st.sampled_from(["\n", "\r\n"]),
    head=st.sampled_from(["", "---\ntype: semantic\n---\n"]),
    old=texts,
    new=texts,
    section=st.sampled_from(["", "Tokens", "Auth"]),
)
def test_bytes_outside_of_what_is_named_stay(
    lines: list[str], newline: str, head: str, old: str, new: str, section: str
) -> None:
    raw = (head + "\n".join(lines) + "\n").replace("\n", newline).encode()
    before = parse(raw)
    for change in (ReplaceText(old, new), AppendText(new, section)):
        try:
            after = parse(edit_note(before, change))
        except (InvalidInput, NoteMalformed) as error:
            assert "secret" not in str(error) or "secret" in f"{old} {without_private(before.body)}"
            continue
        assert after.text[: after.body_start] == before.text[: before.body_start]
        assert _unseen(after.body) == _unseen(before.body)
        if isinstance(change, ReplaceText):
            assert any(
                _spliced(before.body, i, old, new) == after.body for i in _starts(before, old)
            )
        else:
            more = len(after.body) - len(before.body)
            assert any(
                after.body[:i] + after.body[i + more :] == before.body
                and after.body[i : i + more].strip() == new.strip()
                for i in range(len(before.body) + 1)
            )


def _spliced(body: str, at: int, old: str, new: str) -> str:
    return body[:at] + new + body[at + len(old) :]


def _starts(note: Note, text: str) -> list[int]:
    return [i for i in range(len(note.body)) if note.body.startswith(text, i)]


def _unseen(body: str) -> int:
    return body.count("secret") - without_private(body).count("secret")
