"""Of two notes that say much the same the later one comes first, by vectors given here."""

from __future__ import annotations

import numpy as np
import pytest

from tests.index.test_vector_graph import IDENTITY
from tests.world import World
from vaultmem.index import Filters, Replaced
from vaultmem.recall import fusion
from vaultmem.recall.fusion import LaneScore, MemoryKey, Ranking
from vaultmem.recall.recency.newer_notes import NewerNotes, asks_about_past

DIMENSION = 384
_CHANCE = np.random.default_rng(3)
_SUBJECT = _CHANCE.normal(size=DIMENSION)


def _vector(share: float) -> np.ndarray:
    """So much of the subject, and chance."""
    mixed = share * _SUBJECT / np.linalg.norm(_SUBJECT) + (1 - share) * _unit()
    found: np.ndarray = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    return found


def _unit() -> np.ndarray:
    chance = _CHANCE.normal(size=DIMENSION)
    unit: np.ndarray = chance / np.linalg.norm(chance)
    return unit


@pytest.fixture
def limits(world: World) -> World:
    world.put("Work/Limits.md", "---\ndate: 2025-09-12\n---\nEight seconds at most.")
    world.put("Work/More limits.md", "---\ndate: 2026-08-20\n---\nTwenty seconds at most.")
    world.put("Work/Solver.md", "---\ndate: 2026-09-01\n---\nIt finds routes.")
    world.put("Home/Limits.md", "---\ndate: 2026-09-01\n---\nNine seconds at most.")
    for number in range(20):
        world.put(f"Other/{number}.md", f"Something else, {number}.")
    world.sync.everything()
    paths = dict(world.index.catalog.db.execute("SELECT note, path FROM note"))
    rows = world.index.catalog.db.execute("SELECT note, hash FROM passage").fetchall()
    alike = {"Work/Limits.md", "Work/More limits.md", "Home/Limits.md"}
    vectors = [_vector(0.9 if paths[note] in alike else 0.0) for note, _ in rows]
    world.index.vectors.add(IDENTITY, [key for _, key in rows], np.array(vectors))
    return world


def _ranked(world: World, **scores: float) -> Ranking:
    db = world.index.catalog.db
    passages = dict(db.execute("SELECT path, passage FROM passage JOIN note USING (note)"))
    notes = dict(db.execute("SELECT path, note FROM note"))
    found = {
        MemoryKey(notes[path]): LaneScore(score, passages[path], score)
        for path, score in scores.items()
    }
    return fusion.fused({"keyword": found}, {"keyword": 1.0})


def _order(world: World, ranking: Ranking) -> list[str]:
    paths = dict(world.index.catalog.db.execute("SELECT note, path FROM note"))
    return [paths[each.memory.note] for each in ranking]


def test_the_later_one_comes_first(limits: World) -> None:
    ranking = _ranked(limits, **{"Work/Limits.md": 1.0, "Work/More limits.md": 0.8})
    NewerNotes(limits.index, IDENTITY).prefer(ranking)
    assert _order(limits, ranking) == ["Work/More limits.md", "Work/Limits.md"]
    assert ranking[0].boosts == (("newer", 1.0),)


@pytest.mark.parametrize(
    ("other", "score"),
    [
        ("Work/Solver.md", 0.9),  # later, about something else
        ("Home/Limits.md", 0.9),  # of another part of life
        ("Work/More limits.md", 0.3),  # hardly an answer
    ],
)
def test_no_other_note_takes_its_place(limits: World, other: str, score: float) -> None:
    ranking = _ranked(limits, **{"Work/Limits.md": 1.0, other: score})
    NewerNotes(limits.index, IDENTITY).prefer(ranking)
    assert _order(limits, ranking)[0] == "Work/Limits.md"


def test_the_first_stays_first_where_it_is_the_later_one(limits: World) -> None:
    ranking = _ranked(limits, **{"Work/More limits.md": 1.0, "Work/Limits.md": 0.9})
    NewerNotes(limits.index, IDENTITY).prefer(ranking)
    assert _order(limits, ranking) == ["Work/More limits.md", "Work/Limits.md"]


def test_of_three_that_are_alike_the_latest_comes_first(limits: World) -> None:
    limits.put("Work/Middle limits.md", "---\ndate: 2026-01-10\n---\nTwelve seconds at most.")
    limits.sync.everything()
    db = limits.index.catalog.db
    sql = "SELECT hash FROM passage JOIN note USING (note) WHERE path = 'Work/Middle limits.md'"
    for (key,) in db.execute(sql).fetchall():
        limits.index.vectors.add(IDENTITY, [key], np.array([_vector(0.9)]))
    found = {"Work/Limits.md": 1.0, "Work/More limits.md": 0.9, "Work/Middle limits.md": 0.8}
    ranking = _ranked(limits, **found, **{"Work/Solver.md": 0.1})
    NewerNotes(limits.index, IDENTITY).prefer(ranking)
    assert _order(limits, ranking)[:3] == [
        "Work/More limits.md",
        "Work/Middle limits.md",
        "Work/Limits.md",
    ]


def test_what_is_known_otherwise_stays_where_it_is(limits: World) -> None:
    ranking = _ranked(limits, **{"Work/Limits.md": 1.0, "Work/More limits.md": 0.8})
    notes = dict(limits.index.catalog.db.execute("SELECT path, note FROM note"))
    sign = (notes["Work/Limits.md"], "replaced by", "nobody", "")
    with limits.index.files.writing(5), limits.index.catalog.transaction() as db:
        db.execute("INSERT INTO replacement VALUES (?, ?, ?, ?)", sign)
        limits.index.catalog.next_revision()
    NewerNotes(limits.index, IDENTITY).prefer(ranking)
    assert _order(limits, ranking)[0] == "Work/Limits.md"


def test_vectors_that_cannot_be_read_change_nothing(limits: World) -> None:
    ranking = _ranked(limits, **{"Work/Limits.md": 1.0, "Work/More limits.md": 0.8})
    limits.index.vectors.open_store().db.execute("DROP TABLE vector")
    NewerNotes(limits.index, IDENTITY).prefer(ranking)
    assert _order(limits, ranking)[0] == "Work/Limits.md"


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("what time limit does the solver get?", False),
        ("where do I live?", False),
        ("what did we decide about limits?", True),
        ("what was the limit before?", True),
        ("wie war das damals?", True),
    ],
)
def test_questions_about_the_past(question: str, past: bool) -> None:
    assert asks_about_past(question) == past


def _all_replaced(world: World) -> Replaced:
    """Whoever asks of one note is told the same as who asks of all."""
    notes = world.index.catalog.column("SELECT note FROM note")
    everything = world.index.lookup.replaced(notes)
    for note in notes:
        alone = world.index.lookup.replaced([note])
        assert alone.by == {n: by for n, by in everything.by.items() if n == note}
        assert alone.later == everything.later & {note}
        assert alone.consolidated == everything.consolidated & {note}
    return everything


def test_signs_of_different_strength_about_one_note(world: World) -> None:
    world.put("Work/Rota.md", "---\nsuperseded_by: '[[Duties]]'\n---\nWeekends by three.")
    world.put("Work/Rota from April.md", "Weekends by two.")
    world.put("Work/Rota from September.md", "Weekends by four.")
    world.put("Work/Duties.md", "Replaces [[Rota from September]].")
    world.put("Work/Summary.md", "---\nderived_from: ['[[Duties]]']\n---\nAll of it.")
    world.sync.everything()
    paths = dict(world.index.catalog.db.execute("SELECT note, path FROM note"))
    found = _all_replaced(world)
    assert {paths[old]: paths[by.note] for old, by in found.by.items()} == {
        "Work/Rota.md": "Work/Duties.md",
        "Work/Rota from April.md": "Work/Rota from September.md",
        "Work/Rota from September.md": "Work/Duties.md",
    }
    assert {paths[note] for note in found.later} == {
        "Work/Duties.md",
        "Work/Rota from September.md",
    }
    assert {paths[note] for note in found.consolidated} == {"Work/Duties.md"}


def test_names_and_bare_names_in_one_folder(world: World) -> None:
    texts = {
        "Work/Rota.md": "Weekends are shared by three.",
        "Work/Rota from April.md": "Weekends are shared by two.",
        "Work/Rota from September.md": "Weekends are shared by four.",
        "Home/Rota from May.md": "Dishes.",
        "Runbooks/Failover.md": "On virtual machines.",
        "Runbooks/Failover v2.md": "In the cluster.",
        "Plans/Diet 2025.md": "No sugar.",
        "Plans/Diet.md": "Little sugar.",
        "Plans/Sport spring.md": "Run.",
        "Plans/Sport autumn.md": "Row.",
    }
    for path, text in texts.items():
        world.put(path, text)
    world.sync.everything()
    paths = dict(world.index.catalog.db.execute("SELECT note, path FROM note"))
    replaced = _all_replaced(world).by
    assert {paths[old]: paths[by.note] for old, by in replaced.items()} == {
        "Work/Rota.md": "Work/Rota from September.md",
        "Work/Rota from April.md": "Work/Rota from September.md",
        "Runbooks/Failover.md": "Runbooks/Failover v2.md",
        "Plans/Diet 2025.md": "Plans/Diet.md",
        "Plans/Sport spring.md": "Plans/Sport autumn.md",
    }
    assert all(by.by_name for by in replaced.values())


def test_a_name_that_only_looks_later_must_say_it_as_well(world: World) -> None:
    world.put("Plans/Sport spring.md", "Pool opens at seven, lanes three and four.")
    world.put("Plans/Sport autumn.md", "Rowing on the lake.")
    world.sync.everything()
    notes = dict(world.index.catalog.db.execute("SELECT path, note FROM note"))
    old, new = (MemoryKey(notes[f"Plans/Sport {when}.md"]) for when in ("spring", "autumn"))
    replaced = _all_replaced(world)
    for score, first in ((0.1, old), (0.8, new)):
        ranking = fusion.fused(
            {"keyword": {old: LaneScore(1.0, 1, 1.0), new: LaneScore(score, 2, score)}},
            {"keyword": 1.0},
        )
        fusion.step_back(ranking, replaced, "when does the pool open")
        assert ranking[0].memory == first
    assert world.index.search_text("pool", Filters(), 5).total == 1


def test_a_note_that_says_it_is_over_is_over_whatever_its_name(world: World) -> None:
    world.put("Work/Rota.md", "---\nstatus: superseded\n---\nWeekends are shared by three.")
    world.put("Work/Rota from September.md", "Weekends are shared by four.")
    world.sync.everything()
    (by,) = _all_replaced(world).by.values()
    assert by.note and by.in_own_words and not by.doubtful and not by.by_name


@pytest.mark.parametrize(
    ("question", "mark", "named"),
    [
        ("deploy guide version 1", "v1", True),
        ("deploy guide v1", "v1", True),
        ("deploy guide v10", "v1", False),
        ("the rates of 2025", "2025", True),
        ("rota 2024", "since 2024", True),
        ("she marches on", "March", False),
        ("the plan of march", "March", True),
        ("anything", "", False),
    ],
)
def test_whether_a_question_names_what_is_in_a_title(question: str, mark: str, named: bool) -> None:
    assert fusion.names_mark(question, mark) == named
