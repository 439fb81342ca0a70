"""What tells a question about somebody's own things from others."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from tests.conftest import Open
from vaultmem.index import AskedWord
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


@pytest.mark.parametrize(
    ("question", "known", "speaks"),
    [
        ("what does E-GEO-17 mean", ("geo", "17"), True),
        ("what does E-GEO-18 mean", ("geo",), False),
        ("default of retry_limit", ("retri", "limit"), True),
        ("what is 17 of 2340", ("17", "2340"), False),
        ("what are 10 ways to use an A100 gpu", ("10",), False),
    ],
)
def test_an_identifier_that_stands_here_is_known(
    question: str, known: tuple[str, ...], speaks: bool
) -> None:
    words = [AskedWord(word, 0.1, True) for word in known]
    evidence = evidence_of(question, words, {1: 0.1}, {1: 0.02}, 0.5, own_vector=-1.0)
    assert (evidence.known >= evidence.floor) == speaks


def test_small_talk_is_nothing_whatever_stands_in_a_memory() -> None:
    words = [AskedWord("morn", 1.0, True)]
    evidence = evidence_of("morning! how are you", words, {1: 1.0}, {1: 0.05}, 0.5, own_vector=-2.0)
    assert evidence.known < evidence.floor
    asked = [AskedWord("hing", 0.5, True), AskedWord("side", 0.5, True)]
    short = evidence_of("hinge side", asked, {1: 1.0}, {1: 0.05}, 0.5, own_vector=-3.0)
    assert short.known >= short.floor


def test_it_was_learned_with_the_model_that_comes_along(open_vault: Open) -> None:
    """Else no vault would be silent, and nobody would know."""
    learned = json.loads(prompt_kind._FILE.read_text())["vector"]
    assert open_vault({"model": ""}).parts.model_state().identity == learned["model"]


def test_a_hostile_question_takes_no_time() -> None:
    started = time.process_time()
    for text in ("a_" * 5_000 + "-", "A1-" * 3_000, "_" * 10_000, "aA" * 5_000):
        evidence_of(text, [AskedWord("a", 1.0, True)], {}, None, 0.0)
    assert time.process_time() - started < 1
