"""What is found by a file that is mapped is what is found without one, whatever happened to the
notes, to the databases or to the file, in whichever process."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.index.test_vector_graph import IDENTITY, add_missing, vectors
from tests.world import World
from vaultmem.base.own_path import OwnPath
from vaultmem.index import Filters
from vaultmem.index.embedded.mapped import passage_map, vector_file
from vaultmem.index.embedded.mapped.passage_map import PassageMap
from vaultmem.index.embedded.mapped.vector_file import VectorFile

ROOT = Path(__file__).parent.parent.parent
FEW = 8  # what is put into a file here
Hits = list[tuple[int, int, float]]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_map, "FEW_UNKEPT", FEW)


@pytest.fixture
def filled(world: World) -> Iterator[World]:
    for number in range(60):
        world.put(f"n{number}.md", text(number))
    world.sync.everything()
    add_missing(world, 1)
    yield world
    world.close()


def text(number: int, more: str = "") -> str:
    return f"---\ntags: [t{number % 3}]\n---\nword{number} {more}"


def without(world: World, question: np.ndarray, filters: Filters, limit: int) -> Hits:
    """The answer of the databases alone."""
    index, store = world.index, world.index.vectors.open_store()
    nowhere = OwnPath.of(world.state / "nowhere")
    plain = PassageMap(nowhere, index.catalog, store, store.model(IDENTITY))
    plain._keep_after = float("inf")
    return plain.up_to_date().nearest_passage_rows(
        question, limit, *index.vectors.selection(filters)
    )


def with_file(world: World, question: np.ndarray, filters: Filters, limit: int) -> Hits:
    return world.index.vectors.search(question, IDENTITY, filters, limit)


def assert_same(world: World, seed: int = 1) -> None:
    for question in vectors(2, seed):
        for filters in (Filters(), Filters(tags=("t1",))):
            for limit in (3, 200):
                mine = with_file(world, question, filters, limit)
                assert mine == without(world, question, filters, limit)
    hits = {passage for _, passage, _ in mine}
    there = {row[0] for row in world.index.catalog.db.execute("SELECT passage FROM passage")}
    assert hits <= there


def files(world: World) -> list[Path]:
    return sorted(world.index.folder.glob("vectors-*.map"))


def is_mapped(world: World) -> bool:
    mapping = world.index.vectors._map
    return bool(mapping and mapping._rows and mapping._rows.matrix.mapped)


def reopened(world: World) -> World:
    world.close()
    world.open()
    return world


# --- what is used, and how far ----------------------------------------------------------------


def test_the_second_process_maps_what_the_first_has_read(filled: World) -> None:
    assert not files(filled)
    assert_same(filled)
    assert is_mapped(filled), "the first goes on with it, too"
    assert len(files(filled)) == 1
    before = files(filled)
    assert_same(reopened(filled))
    assert is_mapped(filled) and files(filled) == before


def test_a_little_more_is_read_on_and_much_more_is_put_into_a_new_one(filled: World) -> None:
    assert_same(filled)
    before = files(filled)
    for number in range(100, 100 + FEW - 1):
        filled.put(f"n{number}.md", text(number))
    filled.sync.everything()
    add_missing(filled, 2)
    assert_same(filled, 2)
    assert files(filled) == before
    assert_same(reopened(filled), 2)
    assert files(filled) == before
    filled.put("n200.md", text(200))
    filled.sync.everything()
    add_missing(filled, 3)
    assert_same(filled, 3)
    assert len(files(filled)) == 1 and files(filled) != before
    assert_same(reopened(filled), 3)
    assert is_mapped(filled)


def test_nothing_is_read_from_the_table_but_what_came_since(
    filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same(filled)
    store = reopened(filled).index.vectors.open_store()
    asked: list[str] = []
    store.db.set_trace_callback(asked.append)
    with_file(filled, vectors(1, 1)[0], Filters(), 10)
    newer = [sql for sql in asked if "number >" in sql]
    assert newer and all(" number > 60 " in sql for sql in newer)


def test_whoever_has_time_makes_it(filled: World) -> None:
    filled.index.vectors.prepare_search(IDENTITY)
    assert len(files(filled)) == 1
    assert filled.index.vectors._map is None, "and keeps nothing in memory that nobody asked for"
    assert_same(filled)


def test_what_is_usual_is_the_same_with_and_without(filled: World) -> None:
    assert_same(filled)
    filled.put("late.md", "late")
    filled.sync.everything()
    add_missing(filled, 4)
    question = vectors(1, 5)[0]
    mine = filled.index.vectors.usual_similarity(question, IDENTITY)
    shutil.rmtree(filled.state / "nowhere", ignore_errors=True)
    for file in files(filled):
        file.unlink()
    assert reopened(filled).index.vectors.usual_similarity(question, IDENTITY) == mine


# --- whatever happens to the notes ------------------------------------------------------------

Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "put",
                "edit",
                "delete",
                "move",
                "embed",
                "forget",
                "rebuild",
                "reopen",
                "other",
                "spoil",
                "drop",
                "older",
                "ask",
            ]
        ),
        st.integers(0, 80),
    ),
    min_size=4,
    max_size=25,
)


def take(world: World, other: World, kept: Path, step: Step) -> None:
    what, number = step
    notes = sorted(world.root.glob("*.md"))
    note = notes[number % len(notes)] if notes else world.put("first.md")
    if what == "put":
        for each in range(number % 12):
            world.put(f"m{number}-{each}.md", text(each, f"more {number}"))
    elif what == "edit":
        note.write_text(text(number, f"edited {time.time_ns()}\n\n## Another\n\npart {number}"))
    elif what == "delete":
        for each in notes[number % len(notes) :: 3] if notes else ():
            each.unlink()
    elif what == "move":
        note.rename(note.with_name(f"moved{time.time_ns()}.md"))
    elif what == "embed":
        add_missing(world, number)
    elif what == "forget":
        world.index.forget([note.name])
        note.unlink(missing_ok=True)
    elif what == "rebuild":
        world.index.rebuild()
    elif what == "reopen":
        reopened(world)
    elif what == "other":
        assert_same(other, number)
    elif what == "drop":
        store = world.index.vectors.open_store()
        store.drop_stored_vectors([number, number + 1, number + 2])
    elif what == "older":
        for file in kept.glob("*.map"):
            shutil.copy2(file, world.index.folder / file.name)
    elif what == "spoil":
        for file in files(world):
            SPOILT[list(SPOILT)[number % len(SPOILT)]](file)
    if what in ("put", "edit", "delete", "move", "forget", "rebuild"):
        world.sync.everything(told=True)


@settings(max_examples=15, phases=[Phase.generate])  # each step costs more than it tells
@given(steps=STEPS)
def test_answers_are_those_of_the_databases(
    steps: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    (folder / "vault").mkdir()
    (folder / "kept").mkdir()
    world = World(folder / "vault", folder / "sidecar")
    for number in range(20):
        world.put(f"n{number}.md", text(number))
    world.sync.everything()
    add_missing(world, 1)
    other = World(world.root, world.state)
    try:
        for step in steps:
            take(world, other, folder / "kept", step)
            for file in files(world):
                shutil.copy2(file, folder / "kept" / file.name)
            assert_same(world, step[1])
        assert_same(other, 99)
        assert_same(reopened(world), 99)
        assert len(files(world)) <= 1
    finally:
        world.close()
        other.close()
        shutil.rmtree(folder)


def test_what_was_deleted_is_left_out_however_far_one_looks(
    filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind those that are scored exactly, too, and without a new file."""
    for number in range(100, 500):
        filled.put(f"n{number}.md", text(number))
    filled.sync.everything()
    add_missing(filled, 2)
    assert_same(filled)
    before = files(filled)
    for number in (*range(100, 110), *range(200, 420, 2)):
        (filled.root / f"n{number}.md").unlink()
        if number in (100, 109, 300):
            filled.sync.everything(told=True)
            assert_same(filled, number)
    filled.sync.everything(told=True)
    assert_same(filled, 3)
    assert_same(reopened(filled), 3)
    assert files(filled) == before and is_mapped(filled)


def test_a_passage_is_not_shown_for_a_note_that_it_is_none_of(filled: World) -> None:
    assert_same(filled)
    db = filled.index.catalog.db
    ((passage, note),) = db.execute("SELECT passage, note FROM passage LIMIT 1").fetchall()
    db.execute("UPDATE passage SET note = 1000000 + note WHERE passage = ?", (passage,))
    hits = with_file(filled, vectors(1, 1)[0], Filters(), 200)
    assert (note, passage) not in {hit[:2] for hit in hits}


# --- whatever happens to the file -------------------------------------------------------------


def overwrite(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        stream.write(b"\xa5" * 200)


def swap_numbers(file: Path) -> None:
    """A file that says other things, made with care by somebody else."""
    raw = bytearray(file.read_bytes())
    place = raw.find(b'"reach"')
    raw[place : place + 7] = b'"react"'
    file.write_bytes(raw)


SPOILT: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "empty": lambda file: os.truncate(file, 0),
    "longer": lambda file: os.truncate(file, file.stat().st_size + 4096),
    "overwritten": overwrite,
    "garbage": lambda file: file.write_bytes(os.urandom(5000)),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "another head": swap_numbers,
    "gone": lambda file: file.unlink(),
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("moment", ["at rest", "open"])
def test_a_spoilt_file_changes_no_answer(how: str, moment: str, filled: World) -> None:
    assert_same(filled)
    (file,) = files(filled)
    if moment == "at rest":
        filled.close()
    SPOILT[how](file)
    if moment == "at rest":
        filled.open()
    assert_same(filled)
    assert_same(reopened(filled))
    assert is_mapped(filled), "it is made anew"
    assert len(files(filled)) == 1 and files(filled) != [file]


def test_a_link_in_its_place_is_not_followed(filled: World, tmp_path: Path) -> None:
    assert_same(filled)
    (file,) = files(filled)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert_same(reopened(filled))
    assert (tmp_path / "elsewhere").exists()


# --- whatever happens to the databases --------------------------------------------------------


def test_vectors_put_back_from_a_copy(filled: World) -> None:
    """Their numbers are given again, to other texts."""
    filled.close()
    shutil.copytree(filled.index.folder, filled.state / "copy")
    filled.open()
    for number in range(100, 130):
        filled.put(f"n{number}.md", text(number))
    filled.sync.everything()
    add_missing(filled, 2)
    assert_same(filled)
    (file,) = files(filled)
    filled.close()
    for ending in ("", "-wal", "-shm"):
        (filled.index.folder / f"vectors.db{ending}").unlink(missing_ok=True)
    shutil.copy2(filled.state / "copy" / "vectors.db", filled.index.folder / "vectors.db")
    filled.open()
    add_missing(filled, 3)
    assert files(filled) == [file]
    assert_same(filled, 3)


def test_vectors_of_another_vault(filled: World, tmp_path: Path) -> None:
    assert_same(filled)
    (tmp_path / "second").mkdir()
    other = World(tmp_path / "second", tmp_path / "second-state")
    for number in range(60):
        other.put(f"n{number}.md", text(number))
    other.sync.everything()
    add_missing(other, 7)
    for file in files(filled):
        shutil.copy2(file, other.index.folder / file.name)
    assert_same(other)
    other.close()


def test_a_store_that_lost_its_origin_is_no_obstacle(filled: World) -> None:
    """As an older vaultmem would write it, and a trigger taken away."""
    assert_same(filled)
    filled.close()
    db = sqlite3.connect(filled.index.folder / "vectors.db")
    db.executescript(
        "DROP TRIGGER vector_dropped; DROP TABLE origin; PRAGMA user_version=4;"
        "DELETE FROM vector WHERE number < 10;"
    )
    db.close()
    filled.open()
    assert_same(filled)


# --- what is to be known no more --------------------------------------------------------------


def test_what_is_forgotten_is_in_no_file_and_no_answer(filled: World) -> None:
    other = World(filled.root, filled.state)
    assert_same(filled)
    assert_same(other)
    assert len(files(filled)) == 1
    secret = [row[0] for row in filled.index.catalog.db.execute(OF_NOTE, ("n7.md",))]
    raw = bytes_of(filled, secret)
    assert raw in files(filled)[0].read_bytes()
    (filled.root / "n7.md").unlink()
    filled.index.forget(["n7.md"])
    assert not files(filled), "its vectors lie nowhere"
    for world in (other, filled):
        assert_same(world)
        hits = with_file(world, vectors(1, 1)[0], Filters(), 1000)
        assert not {passage for _, passage, _ in hits} & set(secret)
        assert all(raw not in file.read_bytes() for file in files(world))
    other.close()


OF_NOTE = "SELECT passage FROM passage JOIN note USING (note) WHERE path = ?"


def bytes_of(world: World, passages: list[int]) -> bytes:
    """The vector of the first, as it stands in the file."""
    mapping = world.index.vectors._map
    assert mapping is not None and mapping._rows is not None
    mapped = mapping._rows.matrix.mapped
    assert mapped is not None
    (place,) = np.flatnonzero(mapped.passages == passages[0])
    return bytes(mapped.rows_of_bytes[mapped.rows[place]].tobytes())


def test_a_file_from_before_it_was_forgotten_is_taken_away(filled: World, tmp_path: Path) -> None:
    assert_same(filled)
    (file,) = files(filled)
    shutil.copy2(file, tmp_path / file.name)
    (filled.root / "n7.md").unlink()
    filled.index.forget(["n7.md"])
    shutil.copy2(tmp_path / file.name, file)  # a backup, or a process that was just writing it
    assert_same(filled)
    assert file not in files(filled)


def test_a_note_that_a_filter_hides_does_not_come_back(filled: World) -> None:
    """What it may be asked of is the catalog's to say, not the file's."""
    assert_same(filled)
    seen = Filters(tags=("t1",))
    (filled.root / "n1.md").write_text("---\ntags: [elsewhere]\n---\nword1 ")  # the same passage
    filled.sync.everything()
    for world in (filled, reopened(filled)):
        notes = {note for note, _, _ in with_file(world, vectors(1, 2)[0], seen, 200)}
        paths = {row.path for row in world.index.lookup.rows(notes).values()}
        assert "n1.md" not in paths and "n4.md" in paths
        assert_same(world)


# --- processes --------------------------------------------------------------------------------

CHILD = """
import json, sys
from pathlib import Path
import numpy as np
from tests.index.test_vector_graph import IDENTITY, vectors
from tests.world import World
from vaultmem.index import Filters
from vaultmem.index.embedded.mapped import passage_map
passage_map.FEW_UNKEPT = int(sys.argv[3])
world = World(Path(sys.argv[1]), Path(sys.argv[2]))
print("ready", flush=True)
for line in sys.stdin:
    hits = world.index.vectors.search(vectors(1, int(line))[0], IDENTITY, Filters(), 200)
    print(json.dumps(hits), flush=True)
"""


class Child:
    def __init__(self, world: World) -> None:
        command = [sys.executable, "-c", CHILD, str(world.root), str(world.state), str(FEW)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.line() == "ready\n"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ask(self, seed: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        return [tuple(hit) for hit in json.loads(self.line())]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def test_processes_agree_while_the_file_is_made_anew(filled: World) -> None:
    children = [Child(filled) for _ in range(3)]
    try:
        for turn in range(6):
            for number in range(3 * turn):
                filled.put(f"p{turn}-{number}.md", text(number, f"turn {turn}"))
            for note in sorted(filled.root.glob("*.md"))[turn :: 9 + turn]:
                note.unlink()
            filled.sync.everything(told=True)
            add_missing(filled, turn)
            if turn == 4:
                filled.index.forget([min(filled.root.glob("*.md")).name])
            for child in children:  # all at once
                child.ask(turn)
            expected = without(filled, vectors(1, turn)[0], Filters(), 200)
            assert [child.answer() for child in children] == [expected] * 3
            assert len(files(filled)) <= 2
    finally:
        for child in children:
            child.kill()


def test_killed_while_it_writes_it_leaves_nothing_wrong(filled: World) -> None:
    chance = random.Random(3)
    for turn in range(6):
        for file in files(filled):
            file.unlink()
        child = Child(filled)
        child.ask(turn)
        time.sleep(chance.uniform(0, 0.06))
        child.kill()
        assert_same(reopened(filled), turn)
    assert len(files(filled)) == 1 and is_mapped(filled)
    (filled.index.folder / f"vectors-1-{0:026}.building").write_bytes(b"half")
    for number in range(100, 120):
        filled.put(f"n{number}.md", text(number))
    filled.sync.everything()
    add_missing(filled, 2)
    assert_same(filled)
    assert not list(filled.index.folder.glob("*.building"))


# --- where it cannot be written ---------------------------------------------------------------


def test_a_disk_that_is_nearly_full_is_left_alone(
    filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        vector_file.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1)
    )
    assert_same(filled)
    assert not files(filled) and not list(filled.index.folder.glob("*.building"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit for files")
def test_a_disk_that_is_full_at_once(filled: World) -> None:
    import resource

    assert filled.index.vectors.open_store()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    filled.index.vectors.prepare_search("nothing@1")  # the lock's file is there now
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        hits = with_file(filled, vectors(1, 1)[0], Filters(), 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert hits == without(filled, vectors(1, 1)[0], Filters(), 10)
    assert not files(filled) and not list(filled.index.folder.glob("*.building"))


def test_a_lock_that_somebody_has_is_not_waited_for(filled: World) -> None:
    from vaultmem.base import lock

    held = lock.try_to_lock(filled.index.place / "vectors.lock")
    assert held is not None
    assert_same(filled)
    assert not files(filled)
    held.release()
    assert_same(reopened(filled))
    assert len(files(filled)) == 1


def test_a_file_without_rows_is_a_file(tmp_path: Path) -> None:
    origin, reach = vector_file.VectorOrigin("s", 0, 1, "c"), vector_file.VectorReach(0, 0, {})
    kinds = {"steps": np.float32, "rows_of_bytes": np.int8, "total": np.float64, "rows": np.int32}
    empty = {name: [np.empty(0, kinds.get(name, np.int64))] for name in vector_file._COLUMNS}
    empty["rows_of_bytes"] = [np.empty((0, 32), np.int8)]
    file = VectorFile(OwnPath.of(tmp_path), 1)
    assert file.write(origin, reach, empty)
    mapped = file.open()
    assert mapped is not None and mapped.origin == origin and mapped.reach == reach
    assert len(mapped.numbers) == 0
