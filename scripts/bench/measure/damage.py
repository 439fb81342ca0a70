"""Damage the index in hundreds of ways while servers and commands ask, and count what happens.

scripts/bench/run damage --trials 300
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.index.damage import HOW, MOMENTS, Place, Trial


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", action="store_true", help="with the real model and vectors")
    parser.add_argument("--notes", type=int, default=11)
    parser.add_argument("--bound", type=float, default=30, help="seconds to be well again in")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), model=given.model, notes=given.notes, bound=given.bound)
        place.start()
        place.keep_older()
        done = []
        for number in range(given.trials):
            seed, moment, how = (
                given.seed * 10_000 + number,
                chance.choice(MOMENTS),
                chance.choice(HOW),
            )
            trial = place.trial(seed, moment, how)
            done.append(trial)
            print(f"{seed} {trial.seconds:5.1f} s  {dict(trial.asked)}  {trial}", flush=True)
        place.stop()
    _report(done)


def _report(done: list[Trial]) -> None:
    asked: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for trial in done:
        asked += trial.asked
        faults.update(fault.split(" ")[0] for fault in trial.faults)
    seconds = sorted(trial.seconds for trial in done)
    print(f"{len(done)} trials, {sum(bool(t.faults) for t in done)} with a fault: {dict(faults)}")
    print(f"answers: {dict(asked)}; well after {seconds[len(seconds) // 2]:.1f} s (median), "
          f"{seconds[-1]:.1f} s at most")  # fmt: skip


if __name__ == "__main__":
    main()
