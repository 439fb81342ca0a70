"""What tells a question about somebody's own things from others."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vaultmem.recall import prompt_kind
from vaultmem.recall.evidence import evidence_of
from vaultmem.recall.prompt_kind import own_by_vector, own_by_words, prompt_words


def test_words_tell_the_kinds_apart() -> None:
    own = ["what did we decide about our staging server", "when is my rent due"]
    other = ["translate this sentence", "who invented the telephone", "why do cats purr"]
    assert min(map(own_by_words, own)) > 0 > max(map(own_by_words, other))


def test_a_word_counts_once_and_the_first_ones_count_as_such() -> None:
    assert list(prompt_words("Run run it")) == ["run", "it", "^ run", "^ run run"]
    assert list(prompt_words("")) == []


def test_a_model_that_was_not_learned_with_says_nothing() -> None:
    assert own_by_vector(np.ones(384, np.float32), "another-model") is None
    learned = json.loads(prompt_kind._FILE.read_text())["vector"]
    said = own_by_vector(np.zeros(384, np.float32), learned["model"])
    assert said == pytest.approx(max(-3, learned["bias"]))


@pytest.mark.parametrize("prompt", ["", "\0", "a" * 100_000, "？" * 500, "' ’ '"])
def test_any_prompt_has_a_kind(prompt: str) -> None:
    assert -3 <= own_by_words(prompt) <= 3


def test_the_more_a_question_is_ones_own_the_sooner_it_is_answered() -> None:
    def known(own: float) -> float:
        return evidence_of("which one", [], {1: 0.3}, {1: 0.1}, 0.6, own_vector=own).known

    assert known(-3) < known(0) < known(3)
