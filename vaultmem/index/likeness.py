"""The vectors of whole notes, for comparing each with each."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from vaultmem.index.attached import THESE
from vaultmem.index.relations import Relations

if TYPE_CHECKING:
    import numpy as np

MOST_PASSAGES: Final = 4  # the mean of many says of every note on a subject the same
_PASSAGES: Final = (
    f"SELECT note, count(*) FROM passage WHERE note IN {THESE} GROUP BY note HAVING count(*) <= ?"
)
_VECTORS: Final = (
    "SELECT note, vector FROM passage JOIN v.vector USING (hash) JOIN v.model USING (model) "
    f"WHERE identity = ? AND note IN {THESE}"
)


def note_vectors(
    relations: Relations, identity: str, notes: Collection[int]
) -> dict[int, np.ndarray]:
    """The mean of a short note's vectors, of length one; for those that have them all."""
    import numpy as np

    if not identity or not relations.attach_vectors():
        return {}
    wanted = json.dumps(list(notes))
    passages = dict(relations.db.execute(_PASSAGES, (wanted, MOST_PASSAGES)).fetchall())
    parts: dict[int, list[np.ndarray]] = {}
    for note, vector in relations.db.execute(_VECTORS, (identity, json.dumps(list(passages)))):
        parts.setdefault(note, []).append(np.frombuffer(vector, np.float16).astype(np.float32))
    means = {note: np.mean(some, axis=0) for note, some in parts.items()}
    return {
        note: mean / max(float(np.linalg.norm(mean)), 1e-9)
        for note, mean in means.items()
        if len(parts[note]) == passages[note]
    }
