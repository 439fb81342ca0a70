"""The order in which a batch goes into the catalog and the full text, and what it is for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from tests.world import World
from vaultmem.errors import VaultmemError
from vaultmem.index import Batch, Index, IndexEntry, SkippedNote


def entry(world: World, path: str, text: str) -> IndexEntry:
    world.put(path, text)
    return world.sync.entry(world.store.read(path))


def numbers(world: World) -> dict[str, int]:
    rows = world.index.lookup.at(list(world.index.inventory.known()))
    return {path: row.note for path, row in rows.items()}


def pending_for_others(world: World) -> list[str]:
    """As another process sees it."""
    with sqlite3.connect(world.index.catalog.file) as other:
        return [row[0] for row in other.execute("SELECT path FROM pending ORDER BY 1")]


def test_a_moved_note_keeps_its_number_though_its_old_path_is_removed(world: World) -> None:
    world.index.apply(Batch(["old.md"], [entry(world, "old.md", "quince")]))
    before = numbers(world)["old.md"]
    (world.root / "old.md").unlink()
    moved = entry(world, "new.md", "quince")
    world.index.apply(
        Batch(["old.md", "new.md"], [moved], moved={"new.md": "old.md"}, removed=["old.md"])
    )
    assert numbers(world) == {"new.md": before}
    assert world.find("quince") == ["new.md"]


def test_what_is_put_may_fill_the_other_lists(world: World) -> None:
    world.index.apply(Batch(["gone.md"], [entry(world, "gone.md", "quince")]))
    batch = Batch(["gone.md", "a.md", "b.md"])

    def put() -> Iterator[IndexEntry]:
        yield entry(world, "a.md", "medlar")
        batch.removed.append("gone.md")
        batch.skipped.append(SkippedNote("b.md", "a reason"))

    batch.put = put()
    world.index.apply(batch)
    assert set(numbers(world)) == {"a.md"}
    assert set(world.index.inventory.skips()) == {"b.md"}


def test_a_path_that_is_skipped_for_another_reason_stays_skipped(world: World) -> None:
    world.index.apply(Batch([], skipped=[SkippedNote("a.md", "old")]))
    world.index.apply(Batch([], skipped=[SkippedNote("a.md", "new")], unskipped=["a.md"]))
    assert [skip.reason for skip in world.index.inventory.skips().values()] == ["new"]


def test_paths_are_pending_before_anything_is_put(world: World) -> None:
    seen: list[list[str]] = []

    def put() -> Iterator[IndexEntry]:
        seen.append(pending_for_others(world))
        yield entry(world, "a.md", "quince")
        seen.append(pending_for_others(world))

    world.index.apply(Batch(["a.md", "b.md"], put()))
    assert seen == [["a.md", "b.md"]] * 2
    assert pending_for_others(world) == []


def test_a_batch_that_ends_early_is_nowhere_and_is_done_again(world: World) -> None:
    def put() -> Iterator[IndexEntry]:
        yield entry(world, "a.md", "quince")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        world.index.apply(Batch(["a.md"], put()))
    assert pending_for_others(world) == ["a.md"] and numbers(world) == {}
    assert world.find("quince") == []
    world.index.apply(Batch(["b.md"], [entry(world, "b.md", "medlar")]))
    assert pending_for_others(world) == [], "whoever comes next clears up first"
    world.sync.everything()
    assert world.find("quince") == ["a.md"]
    assert world.contents() == world.rebuilt()


def test_the_catalog_says_nothing_that_only_the_full_text_has(world: World) -> None:
    """The full text is committed, and then the catalog cannot be."""
    world.index.apply(Batch(["a.md"], [entry(world, "a.md", "quince")]))
    alter(
        world.index, "CREATE TRIGGER no BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    with pytest.raises(VaultmemError):
        world.index.apply(
            Batch(["a.md", "b.md"], [entry(world, "b.md", "medlar")], removed=["a.md"])
        )
    assert set(numbers(world)) == {"a.md"} and pending_for_others(world) == ["a.md", "b.md"]
    alter(world.index, "DROP TRIGGER no")
    world.sync.everything()
    assert world.find("quince") == ["a.md"] and world.find("medlar") == ["b.md"]
    assert world.contents() == world.rebuilt()


def alter(index: Index, sql: str) -> None:
    with index.files.writing(5):
        index.catalog.db.execute(sql)
