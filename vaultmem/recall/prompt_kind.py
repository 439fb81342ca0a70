"""Whether a prompt asks for what only somebody's own notes can say, or for what is on the screen
or known to all the world: "how long do customers get to pay?", "run it again", "why do cats purr?".

Told by its words and, where the model is one that this was learned with, by its vector. The
figures are in `prompt_kind.json`; `scripts/run learn-prompts` makes them from some six thousand
prompts of both kinds (`scripts/evaluation/prompts`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

_FILE: Final = Path(__file__).with_name("prompt_kind.json")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_READ: Final = 400  # characters of a prompt
_MOST: Final = 3.0  # neither sign outweighs everything else


def own_by_words(prompt: str) -> float:
    """Above nothing: about somebody's own things; below: about anything else."""
    learned = _learned()["words"]
    return _bounded(learned[""] + sum(learned.get(each, 0.0) for each in prompt_words(prompt)))


def own_by_vector(vector: np.ndarray, model: str) -> float | None:
    """The same by its vector; None for a model that this was not learned with."""
    learned = _learned()["vector"]
    if learned["model"] != model:
        return None
    return _bounded(learned["bias"] + float(_direction() @ vector))


def prompt_words(prompt: str) -> Iterator[str]:
    """Each word once, and the first one and the first two as such."""
    words = [each.casefold().replace("’", "'") for each in _WORD.findall(prompt[:_READ])]
    yield from dict.fromkeys(words)
    yield from (f"^ {' '.join(words[:many])}" for many in (1, 2) if len(words) >= many)


def _bounded(logit: float) -> float:
    return max(-_MOST, min(_MOST, logit))


@cache
def _learned() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found


@cache
def _direction() -> np.ndarray:
    import numpy as np

    return np.array(_learned()["vector"]["direction"], np.float32)
