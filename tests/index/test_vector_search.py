"""Vectors compared in memory, a byte for each dimension, give the answers of the exact search;
and how many passages lack one is known without counting them all."""

from __future__ import annotations

import shutil
import time

import numpy as np
import pytest

from tests.index.test_vector_graph import IDENTITY, add_missing, vectors
from tests.world import World
from vaultmem.index import Filters
from vaultmem.index.embedded import vectors as vectors_module
from vaultmem.index.embedded.vector_matrix import EXACT
from vaultmem.index.embedded.vector_store import vectors_from_halves


@pytest.fixture
def filled(world: World) -> World:
    for number in range(900):
        world.put(f"n{number}.md", f"---\ntags: [t{number % 5}]\n---\nword{number % 880}")
    world.sync.everything()
    add_missing(world, 1)
    return world


def exactly(world: World, question: np.ndarray, notes: set[int]) -> list[tuple[int, int, float]]:
    """All passages of these notes compared one by one, as the table has their vectors."""
    store = world.index.vectors.open_store()
    rows = dict(store.db.execute("SELECT hash, vector FROM vector"))
    found = []
    for passage, note, key in world.index.vectors.passage_hashes(sorted(notes)):
        found.append((note, passage, float((vectors_from_halves([rows[key]]) @ question)[0])))
    return sorted(found, key=lambda hit: (-hit[2], hit[1]))


def assert_same(found: list, expected: list) -> None:  # type: ignore[type-arg]
    """The first hits are those of the exact search; behind them a byte more or less may decide."""
    first = slice(EXACT)
    assert [hit[1] for hit in found[first]] == [hit[1] for hit in expected[first]]
    assert [hit[2] for hit in found[first]] == pytest.approx(
        [h[2] for h in expected[first]], abs=1e-5
    )
    assert len(found) == len(expected)
    assert [hit[2] for hit in found] == pytest.approx([hit[2] for hit in expected], abs=0.01)


def notes(world: World, sql: str = "SELECT note FROM note") -> set[int]:
    return {row[0] for row in world.index.catalog.db.execute(sql)}


@pytest.mark.parametrize("limit", [1, 10, 300])
def test_the_order_is_that_of_the_exact_search(filled: World, limit: int) -> None:
    for question in vectors(20, 2):
        found = filled.index.vectors.search(question, IDENTITY, Filters(), limit)
        assert_same(found, exactly(filled, question, notes(filled))[:limit])


def test_filters_keep_exactly_their_notes(filled: World) -> None:
    tagged = notes(filled, "SELECT note FROM tag WHERE folded = 't3'")
    for question in vectors(5, 3):
        found = filled.index.vectors.search(question, IDENTITY, Filters(tags=("t3",)), 1000)
        assert_same(found, exactly(filled, question, tagged))
    assert not filled.index.vectors.search(vectors(1, 3)[0], IDENTITY, Filters(tags=("no",)), 10)


def test_what_comes_later_is_found_whichever_comes_first(filled: World) -> None:
    question = vectors(1, 4)[0]
    filled.index.vectors.search(question, IDENTITY, Filters(), 10)
    for number in range(900, 930):
        filled.put(f"n{number}.md", f"word{number}")
    filled.put("sub/n7.md", "word7")  # the same text under the same title: its vector is there
    filled.sync.everything()
    twin = notes(filled, "SELECT note FROM note WHERE path = 'sub/n7.md'")
    found = filled.index.vectors.search(question, IDENTITY, Filters(), 1000)
    assert twin < {note for note, _, _ in found}
    assert len(found) == 901
    add_missing(filled, 5)
    found = filled.index.vectors.search(question, IDENTITY, Filters(), 1000)
    assert_same(found, exactly(filled, question, notes(filled)))
    assert len(found) == 931


def test_another_process_sees_new_vectors(filled: World) -> None:
    other = World(filled.root, filled.state)
    question = vectors(1, 4)[0]
    assert len(other.index.vectors.search(question, IDENTITY, Filters(), 2000)) == 900
    filled.put("later.md", "later")
    filled.sync.everything()
    add_missing(filled, 6)
    assert len(other.index.vectors.search(question, IDENTITY, Filters(), 2000)) == 901
    other.close()


def test_an_index_deleted_under_us_is_begun_again(filled: World) -> None:
    question = vectors(1, 4)[0]
    assert filled.index.vectors.search(question, IDENTITY, Filters(), 10)
    shutil.rmtree(filled.index.folder)
    time.sleep(0.03)  # one look lasts for a few milliseconds
    assert not filled.index.vectors.search(question, IDENTITY, Filters(), 10)
    filled.sync.everything(told=True)
    add_missing(filled, 1)
    assert len(filled.index.vectors.search(question, IDENTITY, Filters(), 10)) == 10
    assert filled.index.status(IDENTITY).embedded == 900


# --- counting ----------------------------------------------------------------------------------


def test_what_is_usual_is_the_mean_of_all(filled: World) -> None:
    question = vectors(1, 3)[0]
    hits = filled.index.vectors.search(question, IDENTITY, Filters(), 1000)
    mean = sum(score for _, _, score in hits) / len(hits)
    assert filled.index.vectors.usual_similarity(question, IDENTITY) == pytest.approx(
        mean, abs=0.01
    )


def counted(world: World) -> int:
    """Passages with a vector, each looked up."""
    store = world.index.vectors.open_store()
    keys = {row[0] for row in store.db.execute("SELECT hash FROM vector")}
    hashes = world.index.catalog.db.execute("SELECT hash FROM passage")
    return sum(row[0] in keys for row in hashes)


def whole(world: World) -> int:
    store = world.index.vectors.open_store()
    return store.counts_kept_in_vector_store(
        store.model(IDENTITY), world.index.catalog.state().uuid
    )[1]


def test_the_count_stays_right_whatever_happens(
    filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_module, "MANY_PASSAGES", 1)

    def check(embedded: int, passages: int) -> None:
        status = filled.index.status(IDENTITY)
        assert (status.embedded, status.passages) == (embedded, passages)
        assert status.embedded == counted(filled)

    check(900, 900)
    assert whole(filled) == filled.index.catalog.last_passage(), "nothing is counted twice"
    filled.put("n5.md", "quite new text")
    (filled.root / "n6.md").unlink()
    filled.sync.everything()
    check(898, 899)
    assert filled.index.vectors.notes_without_vectors(IDENTITY, 10) == ["n5.md"]
    add_missing(filled, 7)
    check(899, 899)
    assert filled.index.vectors.notes_without_vectors(IDENTITY, 10) == []
    filled.index.rebuild()
    filled.sync.everything(told=True)
    check(899, 899)
    assert filled.index.status("another@1").embedded == 0
    assert len(filled.index.vectors.notes_without_vectors("another@1", 2000)) == 899


def test_vectors_thrown_away_are_missed_again(filled: World) -> None:
    assert filled.index.status(IDENTITY).embedded == 900
    filled.close()
    for file in filled.index.folder.glob("vectors.db*"):
        file.unlink()
    filled.open()
    assert filled.index.status(IDENTITY).embedded == 0
    assert len(filled.index.vectors.notes_without_vectors(IDENTITY, 2000)) == 900
