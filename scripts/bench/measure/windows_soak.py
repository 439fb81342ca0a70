"""Windows that come and go on one engine, then on engines that are killed: does anything grow?

    scripts/bench/run windows_soak [--minutes 60] [--seed 1]

The first half keeps one engine, and looks at its memory, open files and threads all the time. The
second kills, hangs and stops engines and windows at any step. At the end everything that was
acknowledged must be in the vault once, and no process may be left. Ends with 1 when something
grew or is left.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[3])]

from tests.surfaces.engine.machine import Machine, machine_in
from tests.surfaces.engine.storm import Storm
from tests.waiting import until

LOOK_SECONDS = 2.0
MOST_GROWTH = {"memory": 1.15, "files": 1.2, "threads": 1.2}  # last third against the second
# Threads, and the files that each of them has open, come and go with the windows of the moment:
# what is never given back shows when there are fewest of them.
LEVEL = {"memory": statistics.median, "files": min, "threads": min}


class Sample(NamedTuple):
    memory: float  # MB
    files: int
    threads: int


class Peace(Storm):
    """Nothing is killed but windows."""

    def steps(self) -> dict[str, int]:
        return {n: w for n, w in super().steps().items() if not n.endswith("_engine")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    seconds = given.minutes * 30
    with tempfile.TemporaryDirectory() as home, machine_in(Path(home), idle_minutes=0) as machine:
        grown = _look_for_growth(machine, Peace(machine, given.seed), seconds)
        storm = Storm(machine, given.seed + 1)
        _until(seconds, storm.step)
        storm.end()
        print(f"killed: {dict(storm.done)}, {len(storm.promised)} acknowledged, all there once")
        until(lambda: not machine.engines())
        print("no engine is left")
    return 1 if grown else 0


def _look_for_growth(machine: Machine, peace: Storm, seconds: float) -> bool:
    always = machine.window()
    always.greet()
    always.titles("bird")
    (engine,) = machine.engines()
    samples: list[Sample] = []
    looked = 0.0

    def step() -> None:
        nonlocal looked
        peace.step()
        if time.monotonic() - looked > LOOK_SECONDS:
            looked = time.monotonic()
            samples.append(_sample(engine))

    _until(seconds, step)
    peace.end()
    assert machine.engines() == [engine], "the engine was another one in the end"
    assert always.end() == 0
    until(lambda: not machine.engines())
    print(f"in peace: {dict(peace.done)}, {len(peace.promised)} acknowledged, all there once")
    return _tell(samples)


def _tell(samples: list[Sample]) -> bool:
    third = max(1, len(samples) // 3)
    grown = False
    for name, most in MOST_GROWTH.items():
        first, last = (
            LEVEL[name]([getattr(each, name) for each in part])
            for part in (samples[third : 2 * third] or samples, samples[-third:])
        )
        grown |= last > first * most
        print(f"  {name:8} {first:8.1f} in the second third, {last:8.1f} in the last")
    return grown


def _sample(process: int) -> Sample:
    folder = Path(f"/proc/{process}")
    told = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    files = len(list((folder / "fd").iterdir()))
    return Sample(int(told["VmRSS"].split()[0]) / 1024, files, int(told["Threads"]))


def _until(seconds: float, step: object) -> None:
    assert callable(step)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        step()


if __name__ == "__main__":
    raise SystemExit(main())
