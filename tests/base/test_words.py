"""Words: what is one, and which are forms of the same."""

from __future__ import annotations

from vaultmem.base import words
from vaultmem.operations.agent_work import prompt_words


def test_scripts_without_blanks_are_read_by_pairs_everywhere() -> None:
    text = "令牌轮换 時々 the 𠀀𠀁 木"
    pairs = ["令牌", "牌轮", "轮换", "時々", "𠀀𠀁", "木"]
    assert list(words.pairs_of_signs(text)) == pairs
    assert words.topic_words(text) == pairs
    assert list(prompt_words.content_words(text)) == pairs


def test_words_that_say_nothing_are_told_apart_by_their_use() -> None:
    assert words.topic_words("please explain the file among us") == ["please", "explain", "file"]
    assert list(prompt_words.content_words("please explain the file among us")) == ["among"]


def test_a_stem_is_for_comparing_and_a_singular_for_showing() -> None:
    assert {words.word_stem(word) for word in ("rotates", "rotating", "rotated")} == {"rotat"}
    assert [words.singular_word(word) for word in ("policies", "tokens", "class", "status")] == [
        *("policy", "token", "class", "status")
    ]
    assert [words.word_beginning(word) for word in ("key", "token", "rotation")] == [
        *("key", "toke", "rotat")
    ]
