"""Embedding beside fastembed's plain `embed()`: the same model, texts and threads, in turns.

scripts/bench/run embed [--texts 60]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

from measure.generated_vaults import NoteMaker
from vaultmem.embedding import embedder, fastembed_session


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=60)
    count = options.parse_args().texts
    maker, chance = NoteMaker(3), random.Random(3)
    texts = [" ".join(maker.sentence() for _ in range(chance.randint(2, 20))) for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        ours = embedder.load_embedder("", Path(folder))
        assert ours is not None
        plain = fastembed_session.open_fastembed_session(ours.model)
        ways = {"ours": lambda: ours.embed(texts), "plain": lambda: list(plain.embed(texts))}
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(3):
            for name, way in ways.items():
                started = time.perf_counter()
                way()
                best[name] = min(best[name], time.perf_counter() - started)
    print(
        f"{count} texts of 2 to 20 sentences, best of three rounds in turns\n\n| | texts/s |\n|---|---|"
    )
    print(f"| vaultmem | {count / best['ours']:.1f} |")
    print(f"| fastembed `embed()`, its default batch | {count / best['plain']:.1f} |")
    print(f"\nRatio {best['plain'] / best['ours']:.2f}")


if __name__ == "__main__":
    main()
