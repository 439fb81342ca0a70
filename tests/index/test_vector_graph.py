"""The graph of a large vault finds what comparing all would find, with the same scores."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.world import World
from vaultmem.index import Filters
from vaultmem.index.embedded import vector_graph

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
    monkeypatch.setattr(vector_graph, "LARGE_VAULT", 1000)
    return world


def add_missing(world: World, seed: int) -> None:
    db = world.index.catalog.db
    keys = {bytes(row[0]) for row in db.execute("SELECT hash FROM passage")}
    missing = sorted(world.index.vectors.hashes_without_vectors(IDENTITY, keys))
    world.index.vectors.add(IDENTITY, missing, vectors(len(missing), seed))


def both(world: World, question: np.ndarray, filters: Filters) -> tuple[list, list]:  # type: ignore[type-arg]
    approximate = world.index.vectors.search(question, IDENTITY, filters, 10)
    mapped = world.index.vectors._passages_mapped_to_vectors(IDENTITY)
    exact = mapped.nearest_passage_rows(question, 10, *world.index.vectors.selection(filters))
    return approximate, exact


def test_it_agrees_with_the_exact_search(large: World) -> None:
    assert large.index.vectors._graph_of_many_vectors(IDENTITY) is None, (
        "until it is built, all are compared"
    )
    large.index.vectors.prepare_search(IDENTITY)
    assert list(large.index.folder.glob("vectors-*.map"))
    assert large.index.vectors.build_graph(IDENTITY)
    assert not list(large.index.folder.glob("vectors-*.map")), "nobody compares all any more"
    assert not large.index.vectors.build_graph(IDENTITY), "a fresh graph is not built again"
    assert large.index.vectors._graph_of_many_vectors(IDENTITY) is not None
    shared = 0
    for question in vectors(30, 2):
        approximate, exact = both(large, question, Filters())
        shared += len({p for _, p, _ in approximate} & {p for _, p, _ in exact})
        known = {p: score for _, p, score in exact}
        for _, passage, score in approximate:
            assert abs(known.get(passage, score) - score) < 1e-3
    assert shared >= 0.97 * 300


def test_what_came_later_is_found_and_filters_hold(large: World) -> None:
    large.index.vectors.build_graph(IDENTITY)
    for number in range(1500, 1560):
        large.put(f"n{number}.md", f"---\ntags: [late]\n---\nword{number}")
    large.sync.everything()
    add_missing(large, 3)
    for question in vectors(10, 3):
        approximate, exact = both(large, question, Filters(tags=("late",)))
        assert approximate[:5] == exact[:5]
    (large.root / "n1500.md").unlink()
    large.sync.everything()
    hits = large.index.vectors.search(vectors(1, 3)[0], IDENTITY, Filters(tags=("late",)), 100)
    rows = large.index.lookup.rows(note for note, _, _ in hits)
    assert len(rows) == 59


@pytest.mark.parametrize("first", ["vector_graph.vector_graph_class()", "import numkong"])
def test_the_model_can_still_be_loaded_after_the_vectors(first: str) -> None:
    code = f"from vaultmem.index.embedded import vector_graph\n{first}\nimport onnxruntime"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
