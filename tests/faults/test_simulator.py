"""A thousand steps of agents, people and faults; hours of them by `scripts/bench/run simulate`.

They are four runs, which two workers share. One that failed names its seed, and is tried again
with `python -m tests.faults.simulator --seed N --steps 250`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults import plan
from tests.faults.simulator import Simulator

STEPS = 250

if sys.platform == "win32":
    pytest.skip("sockets cannot be handed to a process there", allow_module_level=True)


@pytest.mark.parametrize("seed", range(1000 // STEPS))
def test_nothing_is_lost_whatever_happens(tmp_path: Path, seed: int) -> None:
    simulator = Simulator(tmp_path, seed, STEPS)
    simulator.run()
    assert simulator.counts["acknowledged"] > STEPS // 5


def test_a_seed_is_the_whole_of_a_plan() -> None:
    assert plan.steps(7, 500) == plan.steps(7, 500)
    assert plan.steps(7, 500)[:200] == plan.steps(7, 200)
    assert plan.steps(7, 500) != plan.steps(8, 500)


def test_every_action_and_every_fault_has_its_turn() -> None:
    taken = [step for seed in range(1000 // STEPS) for step in plan.steps(seed, STEPS)]
    assert {step.action for step in taken} == {
        action for _, actions in plan.ACTIONS.values() for action in actions
    }
    assert {step.fault.kind for step in taken if step.fault} == set(plan.FAULTS)
