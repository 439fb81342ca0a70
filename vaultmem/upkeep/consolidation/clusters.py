"""Groups of texts that are alike, by their words or by their vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from vaultmem.base.words import topic_words
from vaultmem.errors import VaultmemError
from vaultmem.notes.passages import passage_hash
from vaultmem.upkeep import duplicates
from vaultmem.upkeep.consolidation.drafts import SourceMemory

if TYPE_CHECKING:
    from vaultmem.embedding.embedder import Embedder
    from vaultmem.operations.view import View

Matrix = NDArray[np.float32]


_TEXT: Final = 2000  # characters of a source that a model reads
_MOST_EMBEDDED: Final = 500  # texts that nobody embedded yet; with more, words must do
_MOST: Final = 500  # texts that are compared with each other
_SHARED: Final = 2  # words, where there are more texts than that
# Likeness that makes one group, measured with two models on short work notes: unrelated ones
# reached 0.39, related ones began at 0.44. By words alone unrelated texts share next to nothing.
_ALIKE: Final = 0.43
_SAME: Final = 0.55  # the same habit in other words; of one subject are also those below
_ALIKE_WORDS: Final = 0.1
# What all texts have in common for a model is taken off first, or it would drown the rest.
_UNRELATED: Final = (
    "The train to the coast leaves at nine in the morning.",
    "Add two eggs and a cup of flour, then stir until smooth.",
    "The function returns an empty list when the file is missing.",
    "The roses along the garden wall were planted last spring.",
    "Revenue grew by four percent in the third quarter.",
    "The museum shows paintings from the sixteenth century.",
    "Press the button twice to restart the machine.",
    "Heavy rain is expected in the north tomorrow.",
)


def cluster_by_subject(view: View, sources: Sequence[SourceMemory]) -> list[list[int]]:
    """Groups of sources of one subject: by their vectors, or where there are none by words."""
    vectors = _vectors_to_cluster(view, [source.text[:_TEXT] for source in sources])
    tagged = [" ".join((source.text, *source.tags)) for source in sources]
    if vectors is None:
        return clusters_by_words(tagged, _ALIKE_WORDS)
    return clusters_by_vectors(vectors, tagged, _ALIKE)


def cluster_by_meaning(view: View, sources: Sequence[SourceMemory]) -> list[list[int]]:
    """Groups of sources that say nearly the same in whatever words; none where no model is."""
    vectors = _vectors_to_cluster(view, [source.text[:_TEXT] for source in sources])
    if vectors is None:
        return []
    return clusters_by_vectors(vectors, [source.text for source in sources], _SAME)


def _vectors_to_cluster(view: View, texts: Sequence[str]) -> Matrix | None:
    """The texts' vectors, without what all texts share; None where there is no model."""
    try:
        embedder = view.parts.embedder()
        if embedder is None or len(texts) < 2:
            return None
        found = _embedded_to_cluster(view, embedder, [*_UNRELATED, *texts])
    except VaultmemError:
        return None
    if found is None:
        return None
    centre = found[: len(_UNRELATED)].mean(axis=0)
    result: Matrix = found[len(_UNRELATED) :] - centre
    return result


def _embedded_to_cluster(view: View, embedder: Embedder, texts: Sequence[str]) -> Matrix | None:
    """Each text is embedded once and kept with the other vectors."""
    keys = {passage_hash(text): text for text in texts}
    known = view.index.vectors.of_texts(embedder.identity, keys)
    missing = [key for key in keys if key not in known]
    if len(missing) > _MOST_EMBEDDED:
        return None
    if missing:
        vectors = embedder.embed([keys[key] for key in missing])
        view.index.vectors.add(embedder.identity, missing, vectors)
        known |= dict(zip(missing, vectors, strict=True))
    return np.stack([known[passage_hash(text)] for text in texts])


# --- by likeness --------------------------------------------------------------------------


def likeness_of_words(texts: Sequence[str]) -> Matrix:
    """Cosine between all texts by their words, rare ones counting more."""
    bags = [Counter(topic_words(text)) for text in texts]
    seen = Counter(word for bag in bags for word in bag)
    weights = {word: math.log(1 + len(bags) / count) for word, count in seen.items()}
    columns = {word: i for i, word in enumerate(word for word in seen if seen[word] > 1)}
    matrix = np.zeros((len(bags), max(1, len(columns))), np.float32)
    for row, bag in enumerate(bags):
        said = {word: (1 + math.log(count)) * weights[word] for word, count in bag.items()}
        length = math.sqrt(sum(weight * weight for weight in said.values())) or 1.0
        for word, weight in said.items():
            if word in columns:  # what only one says is like nothing
                matrix[row, columns[word]] = weight / length
    result: Matrix = matrix @ matrix.T
    return result


def likeness_of_vectors(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-9)
    result: Matrix = unit @ unit.T
    return result


def clusters(likeness: Matrix, threshold: float) -> list[list[int]]:
    """Groups of what is alike, by average link: the two groups most alike are joined until
    none are alike enough, so a long chain of small steps does not become one group."""
    alike, size = likeness.copy(), len(likeness)
    groups = [[i] for i in range(size)]
    alike.flat[:: size + 1] = -1
    nearest = alike.argmax(axis=1) if size else np.zeros(0, int)
    while size:
        best = alike[np.arange(size), nearest]
        i = int(best.argmax())
        if best[i] < threshold:
            break
        i, j = sorted((i, int(nearest[i])))
        a, b = len(groups[i]), len(groups[j])
        alike[i] = alike[:, i] = (a * alike[i] + b * alike[j]) / (a + b)
        alike[i, i] = -1
        alike[j] = alike[:, j] = -1
        groups[i] += groups[j]
        groups[j] = []
        changed = (nearest == i) | (nearest == j) | (alike[:, i] > best)
        changed[i] = True
        nearest[changed] = alike[changed].argmax(axis=1)
    return [sorted(group) for group in groups if group]


def clusters_by_words(texts: Sequence[str], threshold: float) -> list[list[int]]:
    return _clusters_in_parts(
        texts, lambda part: clusters(likeness_of_words([texts[n] for n in part]), threshold)
    )


def clusters_by_vectors(vectors: Matrix, texts: Sequence[str], threshold: float) -> list[list[int]]:
    return _clusters_in_parts(
        texts, lambda part: clusters(likeness_of_vectors(vectors[list(part)]), threshold)
    )


def _clusters_in_parts(
    texts: Sequence[str], grouped: Callable[[Sequence[int]], list[list[int]]]
) -> list[list[int]]:
    """Groups among texts that can be alike at all, so that not all need to be compared."""
    found: list[list[int]] = []
    for part in _parts_to_cluster(texts):
        found += [[part[n] for n in group] for group in grouped(part)]
    return sorted(found)


def _parts_to_cluster(texts: Sequence[str]) -> Iterator[list[int]]:
    """Texts that share words with one another, directly or by way of others; long chains are cut
    by age."""
    if len(texts) <= _MOST:
        yield list(range(len(texts)))
        return
    first = list(range(len(texts)))

    def root(n: int) -> int:
        while first[n] != n:
            first[n] = n = first[first[n]]
        return n

    for a, b in duplicates.near_duplicates(
        [frozenset(topic_words(text)) for text in texts], _SHARED
    ):
        one, other = sorted((root(a), root(b)))
        first[other] = one
    parts: dict[int, list[int]] = {}
    for n in range(len(texts)):
        parts.setdefault(root(n), []).append(n)
    for part in parts.values():
        yield from (part[start : start + _MOST] for start in range(0, len(part), _MOST))
