"""Small logistic models of plain signs, learned so that every set counts the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_STEPS = 60


@dataclass(frozen=True)
class Case:
    """One thing to be judged: its signs, what is true of it, and what it belongs to."""

    signs: Mapping[str, float]
    truth: bool
    group: str  # left out together
    weight: float = 1.0
    kind: str = ""  # within a group, every kind counts the same


@dataclass(frozen=True)
class Model:
    weights: dict[str, float]  # by sign; what is added to all under ""

    def probability(self, signs: Mapping[str, float]) -> float:
        logit = self.weights[""] + sum(
            weight * float(signs[name]) for name, weight in self.weights.items() if name
        )
        return float(1 / (1 + np.exp(-np.clip(logit, -30, 30))))


def learn(cases: Sequence[Case], names: Sequence[str], hold: float = 0.003) -> Model:
    """Newton's method; `hold` keeps weights small where there is little to learn from."""
    signs = np.array([[float(case.signs[name]) for name in names] for case in cases])
    mean, spread = signs.mean(0), signs.std(0) + 1e-9
    inputs = np.c_[np.ones(len(cases)), (signs - mean) / spread]
    truth = np.array([case.truth for case in cases], float)
    weight = _balanced(cases)
    found = np.zeros(inputs.shape[1])
    kept = hold * np.diag([0.0, *np.ones(len(names))]) * 2
    for _ in range(_STEPS):
        guess = 1 / (1 + np.exp(-np.clip(inputs @ found, -30, 30)))
        slope = inputs.T @ (weight * (guess - truth)) + kept @ found
        curve = (inputs.T * (weight * guess * (1 - guess) + 1e-9)) @ inputs + kept
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(found)), slope)
        found -= step
        if np.abs(step).max() < 1e-7:
            break
    plain = found[1:] / spread
    rounded = {name: round(float(value), 3) for name, value in zip(names, plain, strict=True)}
    return Model({"": round(float(found[0] - plain @ mean), 3), **rounded})


def judged_by_others(cases: Sequence[Case], names: Sequence[str]) -> list[float]:
    """What is said of each case by a model that has not seen its group."""
    models = {
        group: learn([case for case in cases if case.group != group], names)
        for group in {case.group for case in cases}
    }
    return [models[case.group].probability(case.signs) for case in cases]


def _balanced(cases: Sequence[Case]) -> np.ndarray:
    """Every group counts the same, and in it every kind."""
    totals: dict[tuple[str, str], float] = {}
    for case in cases:
        key = case.group, case.kind
        totals[key] = totals.get(key, 0.0) + case.weight
    weight = np.array([case.weight / totals[case.group, case.kind] for case in cases])
    return weight / weight.sum()
