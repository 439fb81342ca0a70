"""What changed, in words that can be read."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from vaultmem.base.differences.word_difference import WordChange, word_changes

LINES = st.lists(st.text("ab c", max_size=12), max_size=8)


def test_words_and_not_whole_lines() -> None:
    before = ["Tokens live for 24 hours, the old one for 5 minutes.", "same"]
    after = ["Tokens live for 12 hours, the old one for 5 minutes.", "same", "And more."]
    assert word_changes(before, after) == [WordChange("24", "12"), WordChange("", "And more.")]


def test_pieces_of_one_sentence_are_told_together() -> None:
    found = word_changes(["one two three four"], ["ONE two THREE four"])
    assert found == [WordChange("one two three", "ONE two THREE")]


def test_a_sign_is_told_with_what_it_stands_before() -> None:
    before = ["- [ ] Send the contract", "- [ ] Call Ada"]
    after = ["- [x] Send the contract", "- [ ] Call Ada"]
    found = word_changes(before, after)
    assert found == [WordChange("[ ] Send the contract", "[x] Send the contract")]
    both = word_changes(before, [after[0], "- [/] Call Ada"])
    assert [change.added for change in both] == ["[x] Send the contract", "[/] Call Ada"]


@given(LINES, LINES)
def test_nothing_is_told_where_the_words_are_the_same(one: list[str], other: list[str]) -> None:
    words = [" ".join(lines).split() for lines in (one, other)]
    assert not word_changes(one, one)
    if words[0] != words[1]:
        assert word_changes(one, other)


def test_it_is_short_and_soon_there_whatever_was_written() -> None:
    began = time.process_time()
    for text in ("a " * 200_000, "\n".join(f"line {n}" for n in range(100_000))):
        found = word_changes(text.split("\n"), text.replace("a", "b").upper().split("\n"))
        assert len(found) <= 8
        assert sum(len(side) for change in found for side in change) < 700
    assert time.process_time() - began < 20
