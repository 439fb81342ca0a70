"""Agents, people and a failing disk on one vault, seed after seed, for as long as one likes.

    scripts/bench/run simulate [--minutes 60] [--steps 1000] [--seed 1000]

A run that failed is tried again with `python -m tests.faults.simulator --seed N --steps K`, which
takes the same actions and faults in the same order. Ends with 1 when one did.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[3])]

from tests.faults.simulator import Simulator


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench/run simulate", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1000, help="the first one")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    counts: collections.Counter[str] = collections.Counter()
    failed, seed = [], given.seed
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="vaultmem-simulate-") as folder:
            simulator = Simulator(Path(folder), seed, given.steps)
            try:
                simulator.run()
            except Exception:
                traceback.print_exc()
                failed.append(seed)
            counts += simulator.counts
        print(f"seed {seed}: {'FAILED' if seed in failed else 'whole'}", file=sys.stderr)
        seed += 1
    for name, count in sorted(counts.items()):
        print(f"{count:7,} {name}")
    print(f"{seed - given.seed} runs of {given.steps} steps, failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
