"""The graph of a large vault finds what comparing all would find, with the same scores."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.index.conftest import World
from vaultmem.index import Filters, nearest

IDENTITY = "fake@1"


def vectors(count: int, seed: int) -> np.ndarray:
    """Clustered, as embeddings are: random ones are all equally far from each other."""
    source = np.random.default_rng(seed)
    centres = source.normal(size=(40, 32))
    made = centres[source.integers(0, 40, count)] + 0.4 * source.normal(size=(count, 32))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def large(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    for number in range(1500):
        world.put(f"n{number}.md", f"---\ntags: [t{number % 5}]\n---\nword{number}")
    world.sync.everything()
    add_missing(world, 1)
    monkeypatch.setattr(nearest, "LARGE", 1000)
    return world


def add_missing(world: World, seed: int) -> None:
    db = world.index._catalog.db
    keys = {bytes(row[0]) for row in db.execute("SELECT hash FROM passage")}
    missing = sorted(world.index.missing_vectors(IDENTITY, keys))
    world.index.add_vectors(IDENTITY, missing, vectors(len(missing), seed))


def both(world: World, question: np.ndarray, filters: Filters) -> tuple[list, list]:  # type: ignore[type-arg]
    approximate = world.index.search_vectors(question, IDENTITY, filters, 10)
    mapped = world.index._meaning._mapped(IDENTITY)
    exact = mapped.nearest(question, 10, *world.index._selection(filters))
    return approximate, exact


def test_it_agrees_with_the_exact_search(large: World) -> None:
    assert large.index._meaning._large(IDENTITY) is None, "until it is built, all are compared"
    assert large.index.build_nearest(IDENTITY)
    assert not large.index.build_nearest(IDENTITY), "a fresh graph is not built again"
    assert large.index._meaning._large(IDENTITY) is not None
    shared = 0
    for question in vectors(30, 2):
        approximate, exact = both(large, question, Filters())
        shared += len({p for _, p, _ in approximate} & {p for _, p, _ in exact})
        known = {p: score for _, p, score in exact}
        for _, passage, score in approximate:
            assert abs(known.get(passage, score) - score) < 1e-3
    assert shared >= 0.97 * 300


def test_what_came_later_is_found_and_filters_hold(large: World) -> None:
    large.index.build_nearest(IDENTITY)
    for number in range(1500, 1560):
        large.put(f"n{number}.md", f"---\ntags: [late]\n---\nword{number}")
    large.sync.everything()
    add_missing(large, 3)
    for question in vectors(10, 3):
        approximate, exact = both(large, question, Filters(tags=("late",)))
        assert approximate[:5] == exact[:5]
    (large.root / "n1500.md").unlink()
    large.sync.everything()
    hits = large.index.search_vectors(vectors(1, 3)[0], IDENTITY, Filters(tags=("late",)), 100)
    rows = large.index.rows(note for note, _, _ in hits)
    assert len(rows) == 59


@pytest.mark.parametrize("first", ["nearest.graph_class()", "import numkong"])
def test_the_model_can_still_be_loaded_after_the_vectors(first: str) -> None:
    code = f"from vaultmem.index import nearest\n{first}\nimport onnxruntime"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
