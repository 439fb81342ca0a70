"""Every hostile text, a megabyte long, through every function that reads texts.

scripts/bench/run hostile [--size N] [--limit SECONDS] [--pairs] [--reader NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[3])]

from tests import hostile
from tests.notes.test_hostile_texts import Worker


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--size", type=int, default=1_000_000, help="characters of a text")
    options.add_argument("--limit", type=float, default=10, help="seconds a text may take")
    options.add_argument("--pairs", action="store_true", help="every two marks side by side too")
    options.add_argument("--reader", action="append", default=[], help="only those so named")
    given = options.parse_args()
    chosen = [n for n in hostile.readers() if not given.reader or any(r in n for r in given.reader)]
    shapes = [*hostile.texts(), *(dict(hostile.pairs()) if given.pairs else ())]
    print(f"{len(chosen)} readers, {len(shapes)} texts of {given.size:,} characters\n")
    print("| | slowest, s | of | slower than the limit |\n|---|---|---|---|")
    slow = sum(_try(name, shapes, given.size, given.limit) for name in chosen)
    print(f"\n{len(chosen) * len(shapes):,} trials, {slow} slower than {given.limit:g} s")
    return 1 if slow else 0


def _try(reader: str, shapes: list[str], size: int, limit: float) -> int:
    worker, worst, slow, started = Worker(), (0.0, ""), [], time.monotonic()
    for shape in shapes:
        took = worker.seconds(reader, shape, size, 6 * limit)
        worst = max(worst, (took, shape))
        if took > limit:
            slow.append(shape)
        if not worker.process.is_alive():
            worker = Worker()
    worker.process.kill()
    print(f"| {reader} | {worst[0]:.2f} | `{worst[1]}` | {', '.join(slow[:9])} |", flush=True)
    print(f"{reader}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return len(slow)


if __name__ == "__main__":
    sys.exit(main())
