"""One table of filters and notes: every evaluation of them says the same."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.world import World
from vaultmem.index import LOOKUP_ORDERS, Filters, passes_filters
from vaultmem.index.filters import (
    filters_as_sql,
    filters_on_rows,
    left_out_by_filters,
    passes_binding_filters,
)
from vaultmem.notes.attributes import attributes_of

EVEN_OLDER = 1_500_000_000
OLD, NEW = 1_600_000_000, 1_700_000_000  # 2020-09-13T12:26:40Z and 2023-11-14T22:13:20Z
NOTES = {
    "plain.md": "",
    "Typed/how.md": "type: procedural\nscope: project\nproject: Atlas\nroom: Plans\nkind: tool",
    "Typed/Deep/episodic.md": "type: Episodic\nscope: user\nuser: Anna\nimportance: 0.9",
    "Typed-not/low.md": "importance: -1\ntags: [authority]",
    "old.md": "created: 2020-09-13T12:26:40Z\ntags: [Auth]",
    "new.md": "created: 2023-11-14T22:13:20Z\ntags: [auth/tokens, other]",
    "gone.md": "forgotten: true\ntags: [auth]\nproject: atlas",
    "mine.md": "scope: session\nsession: S1",
    "theirs.md": "scope: Session\nsession: s2",
    "spelt.md": "scope: SESSION\nsession: Straße",
    "left.md": "scope: user\nsession: s2",
    "unclear.md": "user: [Anna, Ben]\nproject: atlas",
    "twice.md": "user: Ben\nproject: Ärger",
}
ALL = set(NOTES) - {"gone.md"}
BOUND = {"mine.md", "theirs.md", "spelt.md"}
OWNED = {"Typed/Deep/episodic.md", "unclear.md", "twice.md"}
ATLAS = {"Typed/how.md", "unclear.md"}
CASES: list[tuple[Filters, set[str]]] = [
    (Filters(), ALL),
    (Filters(forgotten=True), {*ALL, "gone.md"}),
    (Filters(types=("procedural",)), {"Typed/how.md"}),
    (Filters(types=("PROCEDURAL", "episodic")), {"Typed/how.md", "Typed/Deep/episodic.md"}),
    (Filters(types=("nothing",)), set()),
    (Filters(scopes=("session",)), BOUND),
    (Filters(projects=("atlas",)), ATLAS),
    (Filters(projects=("atlas",), forgotten=True), {*ATLAS, "gone.md"}),
    (Filters(projects=("ärger", "atlas")), {*ATLAS, "twice.md"}),
    (Filters(projects=("",)), ALL - ATLAS - {"twice.md"}),
    (Filters(rooms=("plans",)), {"Typed/how.md"}),
    (Filters(kinds=("Tool",)), {"Typed/how.md"}),
    (Filters(tags=("auth",)), {"old.md", "new.md"}),
    (Filters(tags=("#AUTH/tokens",)), {"new.md"}),
    (Filters(tags=("authority", "other")), {"Typed-not/low.md", "new.md"}),
    (Filters(tags=("aut",)), set()),
    (Filters(tags=("#",)), set()),
    (Filters(folder="Typed"), {"Typed/how.md", "Typed/Deep/episodic.md"}),
    (Filters(folder="/Typed/Deep/"), {"Typed/Deep/episodic.md"}),
    (Filters(folder="typed"), set()),
    (Filters(folder="/"), set()),
    (Filters(roots=("Typed/Deep", "Typed-not")), {"Typed/Deep/episodic.md", "Typed-not/low.md"}),
    (Filters(roots=("/Typed/",), types=("procedural",)), {"Typed/how.md"}),
    (Filters(roots=("typed",)), set()),
    (Filters(after=OLD), {"old.md", "new.md"}),
    (Filters(after=OLD + 1), {"new.md"}),
    (Filters(before=OLD), ALL - {"new.md"}),
    (Filters(after=OLD, before=NEW - 1), {"old.md"}),
    (Filters(min_importance=0.5), ALL - {"Typed-not/low.md"}),
    (Filters(min_importance=0.6), {"Typed/Deep/episodic.md"}),
    (Filters(min_importance=0.0), ALL - {"Typed-not/low.md"}),
    (Filters(user="anna"), ALL - OWNED | {"Typed/Deep/episodic.md"}),
    (Filters(user="nobody"), ALL - OWNED),
    (Filters(home="ATLAS"), ALL - {"unclear.md", "twice.md"}),
    (Filters(home="ärger"), ALL - ATLAS),
    (Filters(session="s1"), ALL - BOUND | {"mine.md"}),
    (Filters(session="S2"), ALL - BOUND | {"theirs.md"}),
    (Filters(session="STRASSE"), ALL - BOUND | {"spelt.md"}),
    (Filters(session="s1", forgotten=True), ALL - BOUND | {"mine.md", "gone.md"}),
    (Filters(user="anna", home="atlas", session="s1", tags=("auth",)), {"old.md", "new.md"}),
    (Filters(types=("procedural",), home="other"), set()),
]

FILTERS = [filters for filters, _ in CASES]


def _told(filters: Filters) -> str:
    plain = Filters._field_defaults
    given = {k: v for k, v in filters._asdict().items() if v != plain[k]}
    return ", ".join(f"{name} {value}" for name, value in given.items()) or "none"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("vault"), tmp_path_factory.mktemp("state"))
    for path, properties in NOTES.items():
        made.put(path, f"---\n{properties}\n---\nquince\n" if properties else "quince\n")
        os.utime(made.root / path, (EVEN_OLDER, EVEN_OLDER))  # when those without a date were made
    made.sync.everything()
    return made


def by_words(world: World, filters: Filters) -> set[str]:
    hits = world.index.search_text("quince", filters, 100)
    return {row.path for row in world.index.lookup.rows(note for note, _ in hits.notes).values()}


def by_rows(world: World, filters: Filters) -> set[str]:
    condition, values = filters_as_sql(filters)
    sql = f"SELECT path FROM note WHERE {condition}"
    return {row[0] for row in world.index.catalog.db.execute(sql, values)}


def by_rows_found_otherwise(world: World, filters: Filters) -> set[str]:
    condition, values = filters_on_rows(filters)
    sql = f"SELECT path FROM note WHERE path > '' AND {condition}"
    return {row[0] for row in world.index.catalog.db.execute(sql, values)}


def by_list(world: World, filters: Filters) -> set[str]:
    """However the page is found, the whole of it and each note of it, and how many there are."""
    lookup = world.index.lookup
    for order in LOOKUP_ORDERS:
        rows, total = lookup.select(filters, order)
        assert total == len(rows) == lookup.count(filters)
        pages = (lookup.select(filters, order, 1, place)[0] for place in range(total))
        assert [row.path for page in pages for row in page] == [row.path for row in rows]
    return {row.path for row in rows}


def by_vectors(world: World, filters: Filters) -> set[str]:
    """As the vectors are searched: of some filters, by what is left out."""
    notes, keep = world.index.vectors.selection(filters)
    paths = {row.path for row in world.index.lookup.rows(notes).values()}
    return paths if keep else set(NOTES) - paths


def by_files(world: World, filters: Filters) -> set[str]:
    found = set()
    for path in NOTES:
        stored = world.store.read(path)
        note = world.store.parse(stored)
        made = world.store.births.creation(note, stored.stat).seconds
        if passes_filters(note, attributes_of(note, world.store.settings), filters, made):
            found.add(path)
    return found


@pytest.mark.parametrize(
    "evaluation", [by_words, by_rows, by_rows_found_otherwise, by_list, by_vectors, by_files]
)
@pytest.mark.parametrize(("filters", "expected"), CASES, ids=map(_told, FILTERS))
def test_every_evaluation_says_the_same(
    world: World,
    evaluation: Callable[[World, Filters], set[str]],
    filters: Filters,
    expected: set[str],
) -> None:
    assert evaluation(world, filters) == expected


def test_a_bound_caller_sees_the_same_of_rows_and_of_notes(world: World) -> None:
    for filters, expected in CASES:
        pins = Filters(user=filters.user, home=filters.home, session=filters.session)
        if filters._replace(forgotten=False) == pins:
            rows = world.index.lookup.at(list(NOTES)).values()
            seen = {row.path for row in rows if passes_binding_filters(row.belonging, pins)}
            assert seen - {"gone.md"} == expected - {"gone.md"}


def test_the_table_has_every_filter_and_both_ways_of_asking_for_rows() -> None:
    for name in Filters._fields:
        default = Filters._field_defaults[name]
        assert any(getattr(filters, name) != default for filters in FILTERS), name
    quick = [left_out_by_filters(filters) is not None for filters in FILTERS]
    assert any(quick) and not all(quick)
