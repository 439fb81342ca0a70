"""Whatever a note is, it can only spoil itself: it is found, or listed with the reason."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests import odd_notes
from tests.world import World
from vaultmem.base.file_stamps import file_stamp
from vaultmem.embedding import embedder as embed
from vaultmem.errors import Unavailable
from vaultmem.notes.file_names import escaped_name

ROUGHLY = 20.0  # seconds of work for the worst of notes


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Of this process's own time: others may be at work on this machine."""
    started = time.process_time()
    yield
    assert time.process_time() - started < seconds


def check(world: World) -> None:
    """All ordinary notes are found, all others found or accounted for."""
    assert len([p for p in world.find("apple") if p.startswith("ordinary")]) == odd_notes.ORDINARY
    for number in range(odd_notes.ORDINARY):
        assert f"ordinary {number}.md" in world.find(f"number{number}")
    known, skipped = world.index.inventory.known(), dict(world.index.status().skipped)
    listing = world.store.walk()
    for path in listing.notes:
        assert path in known or skipped.get(path), path
    for path in (*listing.refused, *(escaped_name(path) for path, _ in listing.unread)):
        assert skipped.get(path), path
    assert known.keys() <= listing.notes.keys()


def test_everything_that_a_note_can_be(world: World) -> None:
    odd_notes.everything(world.root)
    with within(60):
        world.sync.everything()
    check(world)
    assert len(world.find("zebra")) > len(odd_notes.NAMES) + len(odd_notes.SECONDS)
    revision = world.index.revision
    with within(10):
        assert not world.sync.everything().touched
    assert world.index.revision == revision, "what is left out is not tried again and again"
    assert world.contents() == world.rebuilt()


@pytest.mark.parametrize("seconds", odd_notes.SECONDS)
def test_a_time_of_any_year_is_a_stamp(world: World, seconds: int) -> None:
    file = world.put("a.md", "alpha")
    os.utime(file, ns=(seconds * 10**9, seconds * 10**9))
    assert world.sync.everything().added == ["a.md"]
    assert not world.sync.everything().touched
    assert world.find("alpha") == ["a.md"]


@pytest.mark.parametrize("inode", [0, 2**63 - 1, 2**63, 2**64 - 1, 2**128 - 1])
def test_a_file_number_of_any_size_is_a_stamp(inode: int) -> None:
    """Of 128 bits on some file systems, where Python says so."""
    found = SimpleNamespace(st_ino=inode, st_size=1, st_mtime_ns=2, st_ctime_ns=3)
    assert 0 <= file_stamp(cast("os.stat_result", found)).inode < 2**63


# --- too much of something ---------------------------------------------------------------------

WORDS = b"some words of a passage, and a few more of them.\n\n" * 40_000
MUCH = {
    "one line": b"zebra " + b"x" * 50_000_000,
    "headings": b"# h\n" * 1_000_000,
    "a long heading over many passages": b"# " + b"h" * 1_000_000 + b"\n\n" + WORDS,
    "tags over many passages": b" ".join(b"#tag%d" % n for n in range(100_000)) + b"\n\n" + WORDS,
    "aliases over many passages": b"---\naliases: ["
    + b",".join(b"alias%d" % n for n in range(9_000)) + b"]\n---\n" + WORDS,
    "links": b" ".join(b"[[link%d]]" % n for n in range(100_000)),
    "facts": b"## Facts\n\n" + b"".join(b"- p%d:: x ^f-%d\n" % (n, n) for n in range(50_000)),
    "a log": b"## Log\n\n" + b"".join(b"- **09:00:00** note: x ^k%d\n" % n for n in range(50_000)),
    "a deep tag": b"zebra #" + b"a/" * 100_000 + b"\n\n" + WORDS,
}  # fmt: skip


@pytest.mark.parametrize("what", MUCH)
def test_much_of_anything_takes_its_time_and_no_more(world: World, what: str) -> None:
    odd_notes.ordinary(world.root)
    world.put("odd.md", MUCH[what])
    with within(ROUGHLY):
        world.sync.everything()
    check(world)
    assert "odd.md" in world.index.inventory.known()
    if what.startswith("tags"):
        assert "500 tags" in dict(world.index.status().skipped)["odd.md"]


def test_a_note_that_is_too_large_is_told_and_comes_back(world: World) -> None:
    odd_notes.ordinary(world.root)
    world.put("odd.md", "small zebra")
    world.sync.everything()
    with (world.root / "odd.md").open("r+b") as file:
        file.truncate(100_000_000)
    with within(5):
        assert world.sync.these(["odd.md"]).removed == ["odd.md"]
    check(world)
    assert world.find("zebra") == []
    assert "64 MB" in dict(world.index.status().skipped)["odd.md"]
    world.put("odd.md", "small zebra")
    assert world.sync.these(["odd.md"]).added == ["odd.md"]
    assert world.index.status().skipped == ()


def test_many_notes_of_a_folder_move_at_once(world: World) -> None:
    for number in range(1000):
        world.put(f"old/n{number}.md", f"number{number}")
    world.sync.everything()
    (world.root / "old").rename(world.root / "new")
    with within(ROUGHLY):
        assert len(world.sync.everything().moved) == 1000


# --- what the index does not take --------------------------------------------------------------


@contextmanager
def refusing(world: World, longest: int) -> Iterator[None]:
    """SQLite itself refuses what is longer than its limit."""
    db = world.index.catalog.db
    usual = db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    yield
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, usual)


CULPRITS = ("ordinary 3.md", "odd 1.md", "odd 2.md")


def test_what_the_index_refuses_is_left_out_and_tried_again_when_it_changes(world: World) -> None:
    odd_notes.ordinary(world.root)
    world.sync.everything()
    for name in CULPRITS:
        world.put(name, f"---\nkey: {'k' * 50_000}\n---\nculprit apple")
    for number in range(40):
        world.put(f"more {number}.md", f"good{number}")
    os.utime(world.root / "ordinary 1.md", (1, 1))
    with refusing(world, 20_000):
        report = world.sync.everything()
        assert len(report.added) == 40 and report.removed == ["ordinary 3.md"]
        skipped = dict(world.index.status().skipped)
        assert skipped.keys() == set(CULPRITS)
        assert "string or blob too big" in skipped["odd 1.md"]
        revision = world.index.revision
        assert not world.sync.everything().touched
        assert world.index.revision == revision
    for number in (0, 1, 2, 4):
        assert world.find(f"number{number}") == [f"ordinary {number}.md"]
    for number in range(40):
        assert world.find(f"good{number}") == [f"more {number}.md"]
    for name in CULPRITS:
        os.utime(world.root / name, (2, 2))
    world.sync.everything()
    assert world.index.status().skipped == ()
    assert len(world.find("culprit")) == 3
    assert world.contents() == world.rebuilt()


def test_an_index_in_trouble_blames_no_note(world: World) -> None:
    odd_notes.ordinary(world.root)
    world.sync.everything()
    world.put("new.md", "kiwi")
    db = world.index.catalog.db
    db.execute("PRAGMA query_only = ON")
    with pytest.raises(Unavailable):
        world.sync.everything()
    db.execute("PRAGMA query_only = OFF")
    assert world.index.status().skipped == ()
    check_later = world.sync.everything()
    assert check_later.added == ["new.md"]
    check(world)


def test_one_note_without_vectors_does_not_keep_the_others_waiting(world: World) -> None:
    odd_notes.ordinary(world.root)
    world.sync.everything()
    sql = "UPDATE passage SET hash = x'00' WHERE note = (SELECT note FROM note WHERE path = ?)"
    with world.index.files.writing(5), world.index.catalog.transaction() as db:
        db.execute(sql, ("ordinary 2.md",))  # as after a program's change of how notes are cut
    embedder = embed.load_embedder("", world.state / "models")
    assert embedder is not None
    made = [world.sync.embed_some(embedder, 1) for _ in range(odd_notes.ORDINARY + 1)]
    assert made == [1] * odd_notes.ORDINARY + [0]
    assert world.index.vectors.notes_without_vectors(embedder.identity, 9) == ["ordinary 2.md"]


@pytest.mark.skipif(os.name == "nt", reason="files have no such rights there")
def test_a_note_that_may_not_be_read_is_told_and_comes_back(world: World) -> None:
    """Run as somebody else where the tests run as root, who may read everything."""
    odd_notes.ordinary(world.root)
    locked = world.put("locked.md", "zebra")
    world.state.mkdir(exist_ok=True)
    for folder in (world.root, *world.root.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    place = world.state / "another's"
    place.mkdir()
    place.chmod(0o777)
    for mode, skipped, found in ((0o000, ["locked.md"], []), (0o644, [], ["locked.md"])):
        locked.chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", _AS_ANOTHER, str(world.root), str(place)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"skipped": skipped, "zebra": found, "apple": 5}


_AS_ANOTHER = """if 1:
    import json, os, pathlib, sys
    from tests.world import World
    root, place = map(pathlib.Path, sys.argv[1:])
    if os.getuid() == 0:
        os.setuid(65534)
    world = World(root, place)
    world.sync.everything()
    skipped = [path for path, reason in world.index.status().skipped if "cannot be read" in reason]
    found = {"zebra": world.find("zebra"), "apple": len(world.find("apple"))}
    print(json.dumps({"skipped": skipped, **found}))
"""
