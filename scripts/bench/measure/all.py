"""Everything, beside the peers, in one run; the tables and plots in docs/ come from it.

    scripts/bench/run all [--sizes 1000,10000,100000] [--corpus DIR] [--peers a,b|none]
                          [--quick] [--work DIR] [--report]

Each part is written to the work folder as soon as it is done, and a second run takes up what is
there. `--report` measures nothing and writes docs/benchmarks.md from what was measured; what
`--quick` measures is never written there.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

import peers.vaultmem
from report import page
from report.results import Results

from measure import corpus, floor, machine, one_system, vaultmem_alone, windows

WORK = machine.ROOT / ".bench"
MOST_FOR_WINDOWS, ROUNDS_OF_WINDOWS = 10_000, 7  # notes of a vault that an engine serves; turns
# Of ourselves we want to know more than of the others.
OURS: dict[str, Any] = {"pulls": (500, 5000), "processes": (1, 4, 16), "fill_seconds": 24 * 3600}


def main() -> None:
    given = _arguments()
    work = (given.work or (WORK / "quick" if given.quick else WORK)).resolve()
    results = Results(work / "results", again=given.again)
    if not given.report:
        _measure(given, work, results)
    page.write(results, given.page or (work / "page.md" if given.quick else page.PAGE))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench/run all", description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of notes")
    parser.add_argument("--corpus", type=Path, help="a real vault, instead of generated notes")
    parser.add_argument("--peers", default="all", help="names with commas between, all, or none")
    parser.add_argument("--quick", action="store_true", help="a few of everything, to see it work")
    parser.add_argument("--work", type=Path, help="vaults, environments, results; else .bench")
    parser.add_argument("--fill-minutes", type=float, default=45, help="most time to index, each")
    parser.add_argument("--report", action="store_true", help="only write the tables")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    parser.add_argument("--page", type=Path, help="where the tables go; else docs/benchmarks.md")
    return parser.parse_args()


def _measure(given: argparse.Namespace, work: Path, results: Results) -> None:
    sizes = [int(size) for size in given.sizes.split(",")]
    bounds = (
        one_system.QUICK if given.quick else one_system.Bounds(fill_seconds=given.fill_minutes * 60)
    )
    results.part("machine", machine.about)
    wanted = ["vaultmem", *_wanted(given.peers)]
    which = given.corpus.resolve().name if given.corpus else page.GENERATED
    for size in sizes:
        vault = corpus.lay_out(work, size, given.corpus)
        if vault.count < size:
            raise SystemExit(f"The corpus has {vault.count} notes: no run with {size}.")
        parts = partial(floor.of_parts, vault, work, quick=given.quick)
        results.part("limits", parts)
        results.part(f"{which}/{size}/vault", partial(corpus.describe, vault))
        results.part(f"{which}/{size}/limits", partial(floor.of_vault, vault, work))
        for name in wanted:
            run = _Run(work, results, which, vault, bounds, given.quick)
            results.part(f"{which}/{size}/{name}", partial(run.measure, name))
    most = min(max(sizes), MOST_FOR_WINDOWS)
    rounds = 1 if given.quick else ROUNDS_OF_WINDOWS
    engine = partial(windows.measured, most, rounds, work / "windows")
    results.part(f"windows/{most}", engine)


def _wanted(told: str) -> list[str]:
    others = [name for name in peers.NAMES if name != "vaultmem"]
    if told in ("all", "none"):
        return others if told == "all" else []
    named = [name.strip().replace("-", "_") for name in told.split(",")]
    for name in named:
        if name not in others:
            raise SystemExit(f"There is no peer {name!r}; there are {', '.join(others)}.")
    return named


@dataclass(frozen=True)
class _Run:
    """Systems on one vault."""

    work: Path
    results: Results
    which: str
    vault: corpus.Notes
    bounds: one_system.Bounds
    quick: bool

    def measure(self, name: str) -> dict[str, Any]:
        peer = peers.load(name)
        if reason := self._too_slow(name, peer):
            return {"name": peer.name, "notes": self.vault.count, "cannot": reason}
        place = self.work / "places" / f"{name}-{self.vault.count}"
        bounds, more = self.bounds, None
        if isinstance(peer, peers.vaultmem.Adapter):
            more = vaultmem_alone.steps(peer, quick=self.quick)
            peer.all_real = 0 if self.quick else peer.all_real
            bounds = bounds if self.quick else replace(bounds, **OURS)
        return one_system.measure(peer, self.vault, self.work / "env" / name, place, bounds, more)

    def _too_slow(self, name: str, peer: peers.Peer) -> str:
        """A peer that would not be done in time is not started, and the reader is told."""
        known = self._smaller(name)
        if known is None or name == "vaultmem":
            return ""
        if "fill" not in known:
            return str(known.get("cannot", ""))
        steps, times = known["fill"]["seconds"], self.vault.count / known["notes"]
        most = self.bounds.fill_seconds / times
        if sum(steps.values()) <= most:
            return ""
        if steps.get("text", most + 1) <= most and peer.leave_out_vectors():
            return ""
        taken = sum(steps.values())
        hours = taken * times / 3600
        return (
            f"not run with {self.vault.count:,} notes: filling it at {known['notes'] / taken:.1f} "
            f"notes/s would take {hours:.1f} h"
        )

    def _smaller(self, name: str) -> dict[str, Any] | None:
        """What is known of it from the largest smaller vault that it was filled with."""
        sizes = [size for size in self._sizes() if size < self.vault.count]
        told = [self.results.read(f"{self.which}/{size}/{name}") for size in reversed(sizes)]
        known = [each for each in told if each]
        return next((each for each in known if "fill" in each), known[0] if known else None)

    def _sizes(self) -> list[int]:
        names = [name.split("/") for name in self.results.all()]
        return sorted({int(part[1]) for part in names if part[0] == self.which and len(part) == 3})


if __name__ == "__main__":
    main()
