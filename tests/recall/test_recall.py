"""How memories are ranked: lanes together, pages, filters, profiles, and what is said about it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import TEMPLATE
from tests.world import World
from vaultmem.errors import InvalidInput
from vaultmem.index import (
    Filters,
    NoteSignals,
    Replaced,
    Successor,
    TextHits,
    passes_filters,
)
from vaultmem.notes.attributes import attributes_of
from vaultmem.recall import fusion
from vaultmem.recall.fusion import LaneScore, MemoryKey, Ranking
from vaultmem.recall.languages import reads
from vaultmem.recall.recall import Answer, Recall

SCORES = st.floats(0.01, 30, allow_nan=False)
MEMORIES = st.builds(MemoryKey, st.integers(1, 9), st.sampled_from([0, 0, 0, 7]))
LANES = st.dictionaries(MEMORIES, SCORES, min_size=1, max_size=9).map(
    lambda found: {memory: LaneScore(score, 1, score) for memory, score in found.items()}
)
WEIGHTS = {"keyword": 1.0, "vector": 0.45, "graph": 0.5}


# --- fusion, without an index -----------------------------------------------------------------


@given(LANES, LANES)
def test_what_both_lanes_put_first_is_first(words: fusion.Ranked, meaning: fusion.Ranked) -> None:
    best = MemoryKey(99)
    top = LaneScore(31.0, 1, 31.0)
    ranking = fusion.fused(
        {"keyword": {**words, best: top}, "vector": {**meaning, best: top}}, WEIGHTS
    )
    assert ranking[0].memory == best
    assert ranking[0].score == pytest.approx(1.0)
    assert all(0 <= each.score <= 1.0001 for each in ranking)


@given(LANES, LANES)
def test_a_ranking_is_of_all_memories_in_one_order(
    words: fusion.Ranked, meaning: fusion.Ranked
) -> None:
    lanes = {"keyword": words, "vector": meaning}
    ranking = fusion.fused(lanes, WEIGHTS)
    assert {each.memory for each in ranking} == {*words, *meaning}
    turned = {name: dict(reversed(found.items())) for name, found in reversed(lanes.items())}
    assert [each.memory for each in fusion.fused(turned, WEIGHTS)] == [
        each.memory for each in ranking
    ]


@given(LANES)
def test_one_lane_alone_keeps_its_order(found: fusion.Ranked) -> None:
    ranking = fusion.fused({"keyword": found}, WEIGHTS)
    scores = [found[each.memory].score for each in ranking]
    assert scores == sorted(scores, reverse=True)
    assert [each.lanes[0].rank for each in ranking] == list(range(1, len(found) + 1))


def test_further_passages_and_the_whole_text_count_less() -> None:
    text = TextHits(3, ((1, 0, 10, 4.0), (2, 0, 20, 4.0), (2, 0, 21, 1.0), (3, 31, 31, 4.0)),
                    ((1, 0, 1.0), (2, 0, 1.0), (3, 31, 9.0)))  # fmt: skip
    found = fusion.by_words(text)
    one, two, alone = found[MemoryKey(1)], found[MemoryKey(2)], found[MemoryKey(3, 31)]
    assert one.score < two.score < one.score + 1
    assert (one.passage, two.passage) == (10, 20)
    assert alone.score > two.score  # as one text it is the better match


def test_an_observation_does_not_win_by_its_length() -> None:
    parts = tuple((1, 10, 10 + part, 4.0 - part / 10) for part in range(5))
    found = fusion.by_words(TextHits(2, (*parts, (1, 20, 20, 4.1)), ((1, 10, 1.0), (1, 20, 1.0))))
    assert found[MemoryKey(1, 20)].score > found[MemoryKey(1, 10)].score


@pytest.mark.parametrize("memory", [MemoryKey(1), MemoryKey(1, 10)])
def test_of_two_with_equal_best_passages_the_more_similar_on_average_is_nearer(
    memory: MemoryKey,
) -> None:
    one, two = (memory.observation, 20 if memory.observation else 0)
    hits = [(1, 10, 0.9), (2, 20, 0.9), (2, 21, 0.8), (1, 11, 0.5), (3, 30, 0.2)]
    found = fusion.by_meaning(hits, {10: one, 11: one, 20: two, 21: two, 30: 0}, 0.4)
    assert found[MemoryKey(2, two)].score > found[memory].score > 0
    assert found[memory].passage == 10
    assert found[memory].raw == 0.9


def test_only_what_is_more_than_usually_similar_counts() -> None:
    found = fusion.by_meaning(
        [(1, 10, 0.8), (2, 20, 0.6), (1, 11, 0.5), (3, 30, 0.3), (4, 40, 0.7)],
        {10: 0, 11: 0, 20: 0, 30: 30},
        0.5,
    )
    assert MemoryKey(4) not in found, "it was deleted since"
    assert found[MemoryKey(1)].raw == 0.8
    assert found[MemoryKey(3, 30)].score == 0.0
    assert found[MemoryKey(1)].score > found[MemoryKey(2)].score > 0


@pytest.mark.parametrize(
    ("query", "model", "counts"),
    [
        ("tokens", "granite-embedding-30m-english", True),
        ("Über die Größe", "granite-embedding-30m-english", True),
        ("记忆系统", "granite-embedding-30m-english", False),
        ("Python 编程的记忆系统设计", "all-MiniLM-L6-v2", False),
        ("记忆系统", "universal-sentence-encoder-multilingual", True),
        ("123", "granite-embedding-30m-english", True),
    ],
)
def test_a_model_of_english_has_no_say_about_other_scripts(
    query: str, model: str, counts: bool
) -> None:
    assert reads(model, query, {}) == counts


# --- profiles -----------------------------------------------------------------------------------


def _equal(count: int) -> Ranking:
    found = {MemoryKey(note): LaneScore(0.8, 1, 0.8) for note in range(1, count + 1)}
    return fusion.fused({"keyword": found}, WEIGHTS)


def test_what_was_replaced_or_consolidated_steps_back() -> None:
    order = _equal(3)
    fusion.step_back(order, Replaced({1: Successor(0)}, frozenset({2})))
    assert [each.memory.note for each in order] == [3, 1, 2]
    assert order[1].boosts == (("superseded", 0.9),)


def test_what_holds_now_gets_the_place_of_what_it_replaced() -> None:
    order = _equal(3)
    fusion.step_back(order, Replaced({1: Successor(9)}, frozenset()))
    assert [each.memory.note for each in order] == [2, 3, 9, 1]
    assert order[2].boosts == (("replaces", 1.0),)


def test_whoever_names_the_year_of_the_old_one_wants_that_one() -> None:
    for question, first in (("the rates of 2025", 1), ("my rates", 2)):
        order = _equal(2)
        order.set_score(MemoryKey(1), 1.1)
        fusion.step_back(order, Replaced({1: Successor(2, "2025")}, frozenset()), question)
        assert order[0].memory.note == first


def test_what_is_about_the_days_that_are_meant_comes_first_and_hides_nothing() -> None:
    order = _equal(3)
    fusion.prefer_days(order, {3: 1.0, 7: 0.5}, 0.5)
    assert [each.memory.note for each in order] == [3, 1, 2, 7]
    assert order[0].boosts == (("time", 0.5),)


def test_the_seeds_profile_counts_importance_and_age() -> None:
    now = time.time()
    signals = {
        1: NoteSignals(0.5, int(now) - 400 * 86_400),
        2: NoteSignals(0.5, int(now)),
        3: NoteSignals(1.0, int(now)),
    }
    order = _equal(3)
    every = {each.memory for each in order}
    fusion.weigh_as_seed(order, signals, now, every)
    assert [each.memory.note for each in order] == [3, 2, 1]
    assert order[0].score == pytest.approx(0.6 + 0.2 + 0.2)
    order = _equal(3)
    fusion.weigh_as_seed(order, signals, now, {key for key in every if key.note == 1})
    assert [each.memory.note for each in order] == [1, 2, 3], "what is not relevant is behind"
    assert order[0].score > order[1].score > 0


# --- with an index ------------------------------------------------------------------------------


@pytest.fixture
def filled(world: World) -> Iterator[World]:
    world.copy(TEMPLATE)
    world.sync.everything()
    yield world


def recall(world: World) -> Recall:
    return Recall(world.store, world.index, lambda: None)


def ask(world: World, query: str, **more: object) -> Answer:
    return recall(world).ask(query, **{"strategy": "keyword", **more})  # type: ignore[arg-type]


def names(answer: Answer) -> list[tuple[str, str]]:
    return [(hit.row.path, hit.block) for hit in answer.hits]


def test_a_page_goes_on_where_the_one_before_ended(world: World) -> None:
    for i in range(260):
        world.put(f"{i:03}.md", "apples " * (i % 7 + 1) + "pears " * (i % 3))
    world.sync.everything()
    whole = names(ask(world, "apples pears", limit=260))
    assert len(whole) == len(set(whole)) == 260
    for size in (7, 40):
        pages = [ask(world, "apples pears", limit=size, offset=o) for o in range(0, 280, size)]
        assert [each for page in pages for each in names(page)] == whole
        assert {page.total for page in pages} == {260}


@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(types=("entity",)),
        Filters(tags=("auth",)),
        Filters(projects=("atlas",)),
        Filters(forgotten=True, min_importance=0.6),
        Filters(after=1_767_225_600),
        Filters(folder="Entities"),
        Filters(user="someone"),
    ],
)
def test_filters_let_pass_what_a_look_at_the_files_would(filled: World, filters: Filters) -> None:
    words = "token auth release commit atlas memory keychain session rotate refresh"
    found = {hit.row.path for hit in ask(filled, words, filters=filters, limit=100).hits}
    expected = set()
    for path in filled.store.walk().notes:
        stored = filled.store.read(path)
        note = filled.store.parse(stored)
        made = filled.store.births.creation(note, stored.stat).seconds
        if passes_filters(note, attributes_of(note, filled.store.settings), filters, made):
            expected.add(path)
    assert found <= expected
    everything = {
        hit.row.path for hit in ask(filled, words, filters=Filters(forgotten=True), limit=100).hits
    }
    assert found == everything & expected


def test_each_observation_is_a_memory_of_its_own(world: World) -> None:
    world.put(
        "Sessions/2026/J.md",
        "---\ntype: session\n---\n## Summary\n\nAbout tea.\n\n## Log\n\n"
        "- **09:00:00** note: Green tea is brewed at eighty degrees. ^o1\n"
        "- **09:00:05** note: Black tea takes boiling water. ^o2\n"
        "- **09:00:09** note: Nothing else today. ^o3\n",
    )
    world.sync.everything()
    answer = ask(world, "tea")
    assert set(names(answer)) == {("Sessions/2026/J.md", block) for block in ("", "o1", "o2", "o3")}
    assert ask(world, "boiling black").hits[0].block == "o2"
    assert answer.total == 4  # as many as there are pages for: the third stands near the word


def test_an_unknown_tag_is_told_with_near_ones(filled: World) -> None:
    answer = ask(filled, "token", filters=Filters(tags=("autth",)))
    assert not answer.hits
    assert "#autth" in answer.warnings[0] and "#auth" in answer.warnings[0]
    assert not ask(filled, "zebra", filters=Filters(tags=("auth",))).warnings


def test_an_empty_question_is_answered_with_a_sentence(filled: World) -> None:
    for empty in ("", " \n\t"):
        answer = ask(filled, empty, strategy="hybrid")
        assert not answer.hits and "empty" in answer.warnings[0]


def test_a_question_of_small_words_alone_is_still_asked(world: World) -> None:
    world.put("a.md", "Who are they, and what was it?")
    world.sync.everything()
    assert ask(world, "who was it").total == 1


def test_the_graph_finds_what_is_linked_with_what_the_question_names(world: World) -> None:
    world.put(
        "Entities/AuthService.md",
        "---\ntype: entity\n---\n## Facts\n\n- uses:: [[Keychain]] ^f-1\n",
    )
    world.put("Memories/One.md", "The [[AuthService]] signs in people.")
    world.put("Memories/Two.md", "The [[Keychain]] was opened.")
    world.put("Memories/Three.md", "Nothing about it.")
    world.sync.everything()
    found = [path for path, _ in names(ask(world, "What does AuthService do?", strategy="graph"))]
    assert found[:2] == ["Entities/AuthService.md", "Memories/One.md"]
    assert "Memories/Two.md" in found and "Memories/Three.md" not in found
    nothing = ask(world, "What about people?", strategy="graph")
    assert nothing.strategy == "keyword" and "no entity" in nothing.warnings[0]


def test_an_unknown_profile_is_told(filled: World) -> None:
    with pytest.raises(InvalidInput, match="relevance, seed"):
        ask(filled, "token", profile="magic")


def test_a_hit_says_how_it_got_its_place(world: World) -> None:
    world.put("Old.md", "---\nsuperseded_by: '[[New]]'\n---\nThe port is 8080 at present.")
    world.put("New.md", "The port is 9090 at present.")
    world.sync.everything()
    first, second = ask(world, "port").hits
    assert (first.row.title, second.row.title) == ("New", "Old")
    assert second.why == f"keyword #{second.lanes[0].rank}, superseded 0.90"
    assert second.lanes[0].share > 0
