"""Learn what tells prompts apart, into vaultmem/recall/prompt_kind.json: scripts/run learn-prompts DATA"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import numpy as np
from evaluation import prompts, sets
from evaluation.prompts import Prompt

from vaultmem import Vault

FILE = Path(__file__).parents[2] / "vaultmem" / "recall" / "prompt_kind.json"
SETS = ("locomo-session", "realtalk-session", "prefeval", "madial-en", "beam100k")
EACH, SHARE = 200, 0.05


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/run learn-prompts", description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with one folder for each set")
    parser.add_argument("--judged", type=Path, help="also write what models say of unseen prompts")
    given = parser.parse_args()
    written, asked = prompts.written_prompts(), _asked(given.data)
    model, vectors = _embedded([*written, *asked])
    words = prompts.words_learned(written)
    bias, direction = prompts.direction_learned(vectors, [*written, *asked])
    learned = {"words": words, "vector": {"model": model, "bias": bias, "direction": direction}}
    FILE.write_text(_readable(learned), encoding="utf-8")
    print(f"{len(words) - 1} words and {len(direction)} numbers in {FILE.name}")
    judged = _judged_by_others(written, asked, vectors)
    _show(written, judged)
    if given.judged:
        given.judged.write_text(
            json.dumps({p.text: j for p, j in zip(written, judged, strict=True)})
        )


def _asked(data: Path) -> list[Prompt]:
    chance, found = random.Random(1), []
    for name in SETS:
        texts = [each.text for each in sets.read(data / name).questions]
        found.append(chance.sample(texts, min(len(texts), EACH)))
    return prompts.asked_prompts(found, SHARE)


def _embedded(some: list[Prompt]) -> tuple[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as folder, Vault.open(folder) as vault:
        embedder = vault.parts.embedder()
        assert embedder is not None, "There is no model."
        return embedder.identity, embedder.embed([each.text for each in some])


def _judged_by_others(
    written: list[Prompt], asked: list[Prompt], vectors: np.ndarray
) -> list[tuple[float, float]]:
    """By words and by vector, each from what has not seen the prompt."""
    everything, said = [*written, *asked], {}
    for fold in {prompts.fold_of(each.text) for each in written}:
        own = prompts.without_fold(written, fold)
        every = prompts.without_fold(everything, fold)
        words = prompts.words_learned([written[i] for i in own])
        bias, weights = prompts.direction_learned(vectors[every], [everything[i] for i in every])
        for place in set(range(len(written))) - set(own):
            told = sum(words.get(w, 0.0) for w in prompts.prompt_words(written[place].text))
            near = bias + float(np.array(weights) @ vectors[place])
            said[place] = (words[""] + told, near)
    return [said[place] for place in range(len(written))]


def _show(written: list[Prompt], judged: list[tuple[float, float]]) -> None:
    for name, column in (("words", 0), ("vector", 1)):
        right = [(pair[column] > 0) == each.own for each, pair in zip(written, judged, strict=True)]
        print(f"by {name}: {sum(right) / len(right):.3f} of {len(right)} told rightly unseen")


def _readable(learned: dict[str, dict[str, object]]) -> str:
    """A word to a line."""
    text = json.dumps(learned, ensure_ascii=False, indent=1, sort_keys=True)
    before, _, numbers = text.partition('"direction": [')
    numbers, _, after = numbers.partition("]")
    return f'{before}"direction": [{" ".join(numbers.split())}]{after}\n'


if __name__ == "__main__":
    main()
