"""Groups of texts that are alike, by their words or by their vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vaultmem.base.words import topic_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


def likeness_of_words(texts: Sequence[str]) -> Matrix:
    """Cosine between all texts by their words, rare ones counting more."""
    import numpy as np

    bags = [Counter(topic_words(text)) for text in texts]
    weights = _weights(bags)
    columns = {word: i for i, word in enumerate(weights)}
    matrix = np.zeros((len(bags), max(1, len(columns))), np.float32)
    for row, bag in enumerate(bags):
        for word, count in bag.items():
            matrix[row, columns[word]] = (1 + math.log(count)) * weights[word]
    return likeness_of_vectors(matrix)


def likeness_of_vectors(vectors: Matrix) -> Matrix:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-9)
    result: Matrix = unit @ unit.T
    return result


def _weights(bags: Sequence[Mapping[str, int]]) -> dict[str, float]:
    seen = Counter(word for bag in bags for word in bag)
    return {word: math.log(1 + len(bags) / count) for word, count in seen.items()}


def clusters(likeness: Matrix, threshold: float) -> list[list[int]]:
    """Groups of what is alike, by average link: the two groups most alike are joined until
    none are alike enough, so a long chain of small steps does not become one group."""
    alike = likeness.copy()
    size = len(alike)
    groups = [[i] for i in range(size)]
    if size:
        alike.flat[:: size + 1] = -1
    while size:
        i, j = sorted(divmod(int(alike.argmax()), size))
        if alike[i, j] < threshold:
            break
        a, b = len(groups[i]), len(groups[j])
        alike[i] = (a * alike[i] + b * alike[j]) / (a + b)
        alike[:, i] = alike[i]
        alike[i, i] = -1
        alike[j] = alike[:, j] = -1
        groups[i] += groups[j]
        groups[j] = []
    return [sorted(group) for group in groups if group]
