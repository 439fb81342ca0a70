"""Prompts about somebody's own things and prompts about nothing of theirs: what tells them apart."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vaultmem.recall.prompt_kind import prompt_words

_FOLDER = Path(__file__).with_name("prompts")
_OFTEN = 8  # prompts that have a word
_HOLD = 1e-4  # keeps weights small
_FOLDS = 5
_STEPS = 30


class Prompt(NamedTuple):
    text: str
    own: bool
    weight: float


def prompts_about_nothing() -> list[str]:
    return _lines("about_nothing.txt")


def written_prompts() -> list[Prompt]:
    """Those of both kinds that were written for this; both count the same."""
    own, other = _lines("for_memory.txt"), prompts_about_nothing()
    return [
        Prompt(text, kind, 1 / len(some))
        for some, kind in ((own, True), (other, False))
        for text in some
    ]


def asked_prompts(questions: Iterable[Sequence[str]], share: float) -> list[Prompt]:
    """Questions of sets, which are all somebody's own."""
    return [Prompt(text, True, share / len(some)) for some in questions for text in some]


def _lines(name: str) -> list[str]:
    return [
        line for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def fold_of(text: str) -> int:
    return hashlib.blake2b(text.encode(), digest_size=1).digest()[0] % _FOLDS


def without_fold(prompts: Sequence[Prompt], fold: int) -> list[int]:
    """The places of those that are not of this fold; all of them for none."""
    return [place for place, each in enumerate(prompts) if fold < 0 or fold_of(each.text) != fold]


def words_learned(prompts: Sequence[Prompt]) -> dict[str, float]:
    """A weight for each word that is in several prompts; what is added to all under ""."""
    found = [set(prompt_words(each.text)) for each in prompts]
    counted = Counter(word for words in found for word in words)
    names = sorted(word for word, many in counted.items() if many >= _OFTEN)
    places = {word: place for place, word in enumerate(names)}
    inputs = np.zeros((len(prompts), len(names)), np.float32)
    for row, words in enumerate(found):
        inputs[row, [places[word] for word in words if word in places]] = 1.0
    bias, weights = _fitted(inputs, prompts)
    told = {word: round(float(weight), 2) for word, weight in zip(names, weights, strict=True)}
    return {"": round(bias, 2), **{word: weight for word, weight in told.items() if weight}}


def direction_learned(vectors: np.ndarray, prompts: Sequence[Prompt]) -> tuple[float, list[float]]:
    bias, weights = _fitted(vectors, prompts)
    return round(bias, 3), [round(float(weight), 2) for weight in weights]


def _fitted(inputs: np.ndarray, prompts: Sequence[Prompt]) -> tuple[float, np.ndarray]:
    """Logistic regression by Newton's method."""
    rows = np.c_[np.ones(len(prompts)), inputs].astype(np.float64)
    truth = np.array([each.own for each in prompts], float)
    weight = np.array([each.weight for each in prompts])
    for kind in (0.0, 1.0):
        weight[truth == kind] /= 2 * weight[truth == kind].sum()
    found = np.zeros(rows.shape[1])
    kept = _HOLD * np.eye(rows.shape[1])
    kept[0, 0] = 0.0
    for _ in range(_STEPS):
        guess = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weight * (guess - truth)) + kept @ found
        curve = (rows.T * (weight * guess * (1 - guess))) @ rows + kept + 1e-9 * np.eye(len(found))
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-4:
            break
    return float(found[0]), found[1:]
