"""A catalog of 300,000 notes: no question meets SQLite's limit of variables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultmem.base.database import SQL_LIST, SQL_LIST_OF_BYTES, Database, sql_list
from vaultmem.index import Filters, Index
from vaultmem.index.embedded.batch import CatalogWriter
from vaultmem.index.embedded.mapped.passage_map import PassageMap
from vaultmem.storage.local_state.usage import Usage

MANY = 300_000
NUMBERS = range(1, MANY + 1)
VARIABLES = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER
IDENTITY = "fake@1"
PACKAGE = Path(__file__).parents[2] / "vaultmem"
SHELF = """
INSERT INTO shelf (shelf, type, scope, project, user, room, kind, session, unclear, forgotten, pdf,
  type_key, scope_key, project_key, user_key, room_key, kind_key, session_key, notes)
VALUES (1, 'semantic', 'user', '', '', '', '', '', '', 0, 0, 'semantic', 'user', '', '', '', '', '',
  300000)
"""
NOTE = """
INSERT INTO note SELECT value, 'n' || value || '.md', 0, 0, 0, 0, '', 'ID' || value, '', 'N' || value,
  'semantic', 'user', '', '', '', '', '', '', NULL, NULL, NULL, 0, '{}', NULL, x'', 0,
  'n' || value, '', 1, 1, 1
FROM generate
"""
PASSAGE = """
INSERT INTO passage SELECT value, value, randomblob(16), '', '', '', 0, 1, -1 FROM generate
"""
ROWS = (
    "WITH RECURSIVE generate(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generate LIMIT ?)"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index(tmp_path_factory.mktemp("large") / "index")
    with made.files.writing(5), made.catalog.transaction() as db:
        db.execute(SHELF)
        for sql in (
            NOTE,
            PASSAGE,
            "INSERT INTO tag SELECT value, 't' || value, 't' || value FROM generate",
            "INSERT INTO name SELECT value, 'n' || value, 'title' FROM generate",
            "INSERT INTO link SELECT value, 'n1', 'n1', 'links_to' FROM generate",
        ):
            head, _, tail = sql.strip().partition(" SELECT")
            db.execute(f"{head} {ROWS} SELECT{tail}", (MANY,))
    return made


SOME = range(1, 1001)  # with a limit that is far lower
PATHS = [f"n{number}.md" for number in NUMBERS]
TEXTS = [number.to_bytes(16) for number in NUMBERS]


def map_of(index: Index) -> PassageMap:
    return PassageMap(index.vectors.folder, index.catalog, index.vectors.open_store(), 1)


QUESTIONS: dict[str, Callable[[Index], object]] = {
    "known": lambda i: i.inventory.known(PATHS[:1000]),
    "skips": lambda i: i.inventory.skips(PATHS[:1000]),
    "twins": lambda i: i.inventory.twins([f"ID{number}" for number in SOME]),
    "rows": lambda i: i.lookup.rows(SOME),
    "at": lambda i: i.lookup.at(PATHS[:1000]),
    "select": lambda i: i.lookup.select(Filters(), limit=1000),
    "places": lambda i: i.lookup.places(SOME),
    "observations": lambda i: i.lookup.observations(SOME),
    "signals": lambda i: i.lookup.signals(SOME),
    "first passages": lambda i: i.lookup.first_passages(SOME),
    "names": lambda i: i.lookup.named_or_linked(PATHS[:1000]),
    "filters": lambda i: i.lookup.select(Filters(types=("x",) * 1000), limit=1),
    "tags": lambda i: i.lookup.select(Filters(tags=tuple(f"t{n}" for n in SOME)), limit=1),
    "journals": lambda i: i.journals.derived("superseded_by"),
    "nodes": lambda i: i.relations.nodes(SOME, Filters()),
    "facts": lambda i: i.relations.facts(Filters(), SOME),
    "passages": lambda i: i.vectors.passage_hashes(SOME),
    "vectors": lambda i: i.vectors.of_notes(IDENTITY, SOME),
    "texts": lambda i: i.vectors.of_texts(IDENTITY, TEXTS[:1000]),
    "missing": lambda i: i.vectors.hashes_without_vectors(IDENTITY, TEXTS[:1000]),
    "vectors of passages": lambda i: map_of(i)._vectors_of(SOME),
    "notes of passages": lambda i: map_of(i)._notes_of(SOME),
    "marks": lambda i: i.vectors.open_store().marks_of_stored_vectors(1, SOME),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_any_number_may_be_asked_for_at_once(index: Index, question: str) -> None:
    databases = (index.catalog, index.vectors.open_store())
    before = [each.db.setlimit(VARIABLES, 20) for each in databases]
    try:
        QUESTIONS[question](index)
    finally:
        for each, limit in zip(databases, before, strict=True):
            each.db.setlimit(VARIABLES, limit)


def test_all_may_be_asked_for_at_once(index: Index) -> None:
    assert len(index.lookup.rows(NUMBERS)) == MANY == len(index.lookup.places(NUMBERS))
    assert index.inventory.known(PATHS).keys() == set(PATHS)
    assert index.lookup.select(Filters(tags=("t7", "t8")))[1] == 2
    assert len(index.lookup.select(Filters(), limit=1000)[0]) == 1000
    assert index.vectors.hashes_without_vectors(IDENTITY, TEXTS) == set(TEXTS)
    with index.files.writing(5):
        CatalogWriter(index.catalog).mark_batch_pending(PATHS)
        index.catalog.next_revision()


def test_usage_of_any_number_of_memories(tmp_path: Path) -> None:
    assert Usage(tmp_path / "usage.db").of(PATHS) == {}


def test_lists_keep_their_values(tmp_path: Path) -> None:
    database = Database(tmp_path / "some.db")
    for marks, values in (
        (SQL_LIST, [1, "a'\"\\ü", ""]),
        (SQL_LIST_OF_BYTES, [b"", b"\0\xff", b"a"]),
    ):
        rows = database.db.execute(f"SELECT * FROM {marks}", (sql_list(values),))
        assert [row[0] for row in rows] == values


def test_no_statement_counts_its_variables() -> None:
    """A list that grows with the vault is given as one value."""
    for file in PACKAGE.rglob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"\bIN \((?:\{|\?)", line), f"{file}: {line}"
