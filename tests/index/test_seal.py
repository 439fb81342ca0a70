"""A segment never changes. Whoever knew one notices that it does, whatever writers do meanwhile:
an engine that reads a mapped file that was cut dies with its process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world import World
from vaultmem.base.own_path import OwnPath
from vaultmem.index import Filters, Index
from vaultmem.index.embedded.files import JUST_NOW
from vaultmem.index.embedded.seal import Seal
from vaultmem.index.embedded.text.fulltext_files import is_segment_file

timed = pytest.mark.skipif(sys.platform == "win32", reason="sizes alone are compared there")


@pytest.fixture
def reader(world: World) -> Iterator[Index]:
    """Another process's door to the same index."""
    world.put("heron.md", "A grey heron.")
    world.sync.everything()
    index = Index(world.index.folder)
    yield index
    index.close()


def _segments(index: Index) -> list[Path]:
    return [file for file in index.folder.glob("fulltext-*/*") if is_segment_file(file.name)]


def _touch(file: Path) -> None:
    """It looks otherwise, and can still be read: a test should not die."""
    os.utime(file, ns=(1, 1))


@timed
def test_whoever_lost_the_seal_to_a_killed_writer_still_knows_the_segments(
    reader: Index, world: World
) -> None:
    known = _segments(reader)
    world.put("ibis.md", "A white ibis.")
    world.sync.everything()
    (world.index.folder / "seal.json").unlink()
    assert reader.state().is_whole
    time.sleep(0.03)  # a look lasts for less
    assert reader.is_whole
    _touch(known[0])
    time.sleep(0.03)
    assert not reader.is_whole


def test_whoever_looked_beside_a_writer_takes_up_its_seal(reader: Index, world: World) -> None:
    with world.index.files.writing(1.0):
        reader.files._seal.load_seal()
        assert not reader.files._seal.is_known
    time.sleep(0.03)
    assert reader.is_whole
    assert reader.files._seal.is_known


def test_a_segment_that_was_joined_to_others_is_not_missed(reader: Index, world: World) -> None:
    (world.index.folder / "seal.json").unlink()
    reader.files._seal.load_seal()
    for number in range(12):  # the engine joins eight and more
        world.put(f"n{number}.md", f"word{number}")
        world.sync.everything()
        (world.index.folder / "seal.json").unlink()
    assert reader.is_whole
    assert reader.search_text("heron", Filters(), 5).total == 1


@timed
def test_the_files_are_looked_at_before_the_engine_reads_them(reader: Index) -> None:
    """Not only before the question, which may have been a while ago."""
    assert reader.search_text("heron", Filters(), 5).total == 1
    _touch(_segments(reader)[0])
    time.sleep(2 * JUST_NOW)
    assert reader.search_text("heron", Filters(), 5).total == 0  # begun anew, which it says
    assert not reader.is_whole


def test_the_engine_reads_nothing_of_its_own_accord(reader: Index, world: World) -> None:
    """In a thread of its own, before anybody has looked at the files."""
    text = reader.files.text
    assert text is not None
    world.put("ibis.md", "A white ibis.")
    world.sync.everything()
    time.sleep(1.2)  # it would look twice a second
    assert text._index.searcher().num_docs == text.documents
    assert reader.search_text("ibis", Filters(), 5).total == 1


def test_damage_beside_a_writer_is_not_sealed(tmp_path: Path) -> None:
    names = [f"fulltext/{'a' * 32}.term", "fulltext/meta.json"]
    (tmp_path / "fulltext").mkdir()
    for name in names:
        (tmp_path / name).write_bytes(bytes(100))
    seal = Seal(OwnPath.of(tmp_path))
    seal.set_seal(names, 1)
    seal.open_seal()
    for name in names:
        os.truncate(tmp_path / name, 50)
    seal.set_seal(names, 2)
    assert seal.changed_since_seal() == names[:1]
    again = Seal(OwnPath.of(tmp_path))
    again.load_seal()
    assert again.changed_since_seal() == names[:1]
