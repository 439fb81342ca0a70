"""What of a passage is shown, and which words of it are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.base.token_count import token_count
from vaultmem.recall.snippets import cut_passage, query_words, snippet

LONG = "One. " * 60 + "The tokens rotate daily. " + "End. " * 60


def test_words_that_say_nothing_are_not_marked() -> None:
    marked = snippet("The end of the road and the bend", query_words("end of the road and all"))
    assert marked == "The **end** of the **road** and the bend"


def test_whole_words_are_marked_and_only_forms_of_the_question_s() -> None:
    marked = snippet("Tokens rotate; a portfolio, a port.", query_words("rotating token port"))
    assert marked == "**Tokens** **rotate**; a portfolio, a **port**."
    assert "the**" not in snippet("a therapist", query_words("is there a therapist"))
    assert snippet("bei der Überweisung", query_words("Überweisungen")) == "bei der **Überweisung**"


@pytest.mark.parametrize("code", ["`rotate`", "```\nrotate\n```", "    rotate"])
def test_nothing_is_marked_in_code(code: str) -> None:
    assert "**" not in snippet(f"Run this:\n\n{code}\n\nthen wait.", query_words("rotate"))


def test_a_snippet_is_where_most_of_the_words_are() -> None:
    text = f"Keys are metal. {'Filler is here. ' * 60} Keys rotate every spring."
    assert "**Keys** **rotate**" in snippet(text, query_words("rotate keys"))


def test_a_long_passage_is_cut_around_the_sentence_that_matches() -> None:
    cut = cut_passage(LONG, query_words("rotating token"), 30, token_count)
    assert "The tokens rotate daily." in cut and cut.startswith("… ") and cut.endswith(" …")
    assert cut_passage("Short.", [], 30, token_count) == "Short."


@given(st.text(max_size=2_000), st.text(max_size=40), st.integers(20, 200))
def test_what_is_left_is_within_the_cost_and_stands_so_in_the_passage(
    text: str, question: str, most: int
) -> None:
    cut = cut_passage(text, query_words(question), most, token_count)
    assert token_count(cut) <= most + 2
    assert cut.removeprefix("… ").removesuffix(" …").strip() in text
