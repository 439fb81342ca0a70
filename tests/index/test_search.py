"""What is found: languages, hostile questions, filters, stale notes, degraded lanes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import TEMPLATE
from tests.world import World
from vaultmem.config import CHOICES
from vaultmem.errors import InvalidInput
from vaultmem.index import Filters
from vaultmem.index.embedded.text.fulltext import FullText
from vaultmem.recall.recall import Recall, query_words, snippet

DOCS = {
    "1.md": "记忆系统保存在本地的知识库中，使用向量检索。",
    "2.md": "系统的记忆力很好，但是检索很慢。",
    "3.md": "東京都に住んでいる友人のメモ。",
    "4.md": "京都の旅行メモ、紅葉がきれい。",
    "5.md": "用户喜欢Python编程，running tests每天",
    "6.md": "한국어 메모 시스템 기억",
    "7.md": "data running in memory 知识图谱",
    "8.md": "Der schnelle Café-Besuch; naïve résumé",
}


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("记忆系统", ["1.md", "2.md"]),
        ("慢", ["2.md"]),
        ("检索", ["1.md", "2.md"]),
        ("京都", ["3.md", "4.md"]),
        ("紅葉", ["4.md"]),
        ("メモ", ["3.md", "4.md"]),
        ("Python编程", ["5.md"]),
        ("run 知识图谱", ["1.md", "5.md", "7.md"]),
        ("기억", ["6.md"]),
        ("什么是记忆？", ["1.md", "2.md"]),
        ("runs", ["5.md", "7.md"]),
        ("cafe resume", ["8.md"]),
        ("CAFÉ", ["8.md"]),
    ],
)
def test_languages(world: World, query: str, paths: list[str]) -> None:
    for path, text in DOCS.items():
        world.put(path, text)
    world.sync.everything()
    assert world.find(query) == paths


def test_one_rare_word_says_more_than_two_common_ones(world: World) -> None:
    for number in range(4):
        world.put(f"deploy{number}.md", "We deploy it on a quiet Friday")
        world.put(f"server{number}.md", "The server is in the quiet cellar")
    world.put("common.md", "They deploy to that server by hand")
    world.put("rare.md", "They moved to that Keychain by hand")
    world.sync.everything()
    hits = world.index.search_text("deploy server keychain", Filters(), 5)
    rows = world.index.lookup.rows([note for note, _ in hits.notes])
    assert [rows[note].path for note, _ in hits.notes][:2] == ["rare.md", "common.md"]


def test_words_that_only_ask_are_not_looked_for(world: World) -> None:
    world.put("format.md", "Any other way to write some more of the others")
    world.put("file.md", "A file is opened here")
    world.sync.everything()
    assert world.find("any other file") == ["file.md"]
    assert world.find("some others") == ["format.md"]


HOSTILE = ["", " ", "it's", "foo:bar", "C:\\Users\\x", '"unbalanced', "AND OR NOT", "[[link]]", "- [ ] x",
           "(" * 5000, "a" * 100_000, "*", "~", "^2", "\0", "\ud800", "body:*", "a:b:c", "{}", "1 TO 2",
           "字" * 5000, "word " * 5000]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=lambda q: repr(q[:10]))
def test_any_string_is_a_valid_question(world: World, query: str) -> None:
    world.put("a.md", "it's foo:bar at C:\\Users\\x word")
    world.sync.everything()
    recall = Recall(world.store, world.index, lambda: None)
    answer = recall.ask(query, strategy="keyword")
    assert answer.total >= 0
    if query in ("it's", "foo:bar", "C:\\Users\\x"):
        assert answer.hits


@given(st.text(max_size=60))
def test_any_text_makes_a_query_and_a_snippet(text: str) -> None:
    assert isinstance(snippet(text + " word", query_words(text)), str)


@pytest.fixture
def filled(world: World) -> World:
    world.copy(TEMPLATE)
    world.sync.everything()
    return world


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (Filters(), 10),
        (Filters(forgotten=True), 11),
        (Filters(types=("entity",)), 4),
        (Filters(types=("Entity", "session")), 5),
        (Filters(scopes=("project",)), 2),
        (Filters(projects=("atlas",)), 2),
        (Filters(tags=("auth",)), 6),
        (Filters(tags=("#auth/tokens",)), 2),
        (Filters(tags=("question",)), 1),
        (Filters(tags=("nope",)), 0),
        (Filters(folder="Memories/Atlas"), 1),
        (Filters(min_importance=0.8), 2),
        (Filters(after=1_767_225_600), 6),  # 2026-01-01; one has no date, and its file was made now
        (Filters(before=1_767_225_600), 4),
        (Filters(user="someone"), 9),
        (Filters(user="me"), 10),
    ],
)
def test_filters_say_the_same_in_both_lanes(filled: World, filters: Filters, count: int) -> None:
    import numpy as np

    words = "the a of and to in on is was for from with memory release token commit atlas it"
    hits = filled.index.search_text(words, filters, 100)
    by_text = {note for note, _ in hits.notes}
    vectors = np.ones((200, 4), dtype=np.float32) / 2
    db = filled.index.catalog.db
    hashes = [bytes(row[0]) for row in db.execute("SELECT DISTINCT hash FROM passage")]
    filled.index.vectors.add("fake@1", hashes, vectors[: len(hashes)])
    near = filled.index.vectors.search(vectors[0], "fake@1", filters, 1000)
    by_vector = {note for note, _, _ in near}
    assert by_text <= by_vector
    assert len(by_vector) == count
    assert hits.total == len(hits.memories)


def test_a_stale_hit_shows_the_files_text(filled: World) -> None:
    path = "Memories/Release checklist.md"
    filled.put(path, "Entirely new words about a checklist and gardening.")
    recall = Recall(filled.store, filled.index, lambda: None)
    answer = recall.ask("checklist", strategy="keyword")
    assert path in answer.stale
    hit = next(hit for hit in answer.hits if hit.row.path == path)
    assert "gardening" in hit.passage
    (filled.root / path).unlink()
    answer = recall.ask("checklist", strategy="keyword")
    assert path not in [hit.row.path for hit in answer.hits]


def test_no_model_means_words_and_says_so(filled: World) -> None:
    recall = Recall(filled.store, filled.index, lambda: None)
    answer = recall.ask("checklist")
    assert answer.strategy == "keyword"
    assert answer.hits
    assert "no model" in answer.warnings[0]


def test_paging_and_order_are_stable(filled: World) -> None:
    recall = Recall(filled.store, filled.index, lambda: None)
    whole = [h.row.path for h in recall.ask("auth token release", strategy="keyword", limit=9).hits]
    pages = [
        h.row.path
        for offset in range(0, 9, 3)
        for h in recall.ask("auth token release", strategy="keyword", limit=3, offset=offset).hits
    ]
    assert pages == whole


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": 5000}, {"offset": -1}, {"strategy": "x"}]
)
def test_wrong_arguments_are_told(filled: World, wrong: dict[str, object]) -> None:
    recall = Recall(filled.store, filled.index, lambda: None)
    with pytest.raises(InvalidInput):
        recall.ask("x", **wrong)  # type: ignore[arg-type]


def test_the_match_is_marked() -> None:
    text = "One. " * 60 + "The tokens rotate daily. " + "End. " * 60
    marked = snippet(text, query_words("rotating token"))
    assert "**tokens** **rotate**" in marked
    assert marked.startswith("…")
    assert marked.endswith("…")
    assert len(marked) < 320
    assert "**记忆**" in snippet("我的记忆系统", query_words("记忆"))


@pytest.mark.parametrize("language", CHOICES["language"])
def test_the_engine_knows_every_language_of_the_settings(language: str, tmp_path: Path) -> None:
    assert FullText(tmp_path / "text", language, new=True).search("x", Filters(), 5).total == 0
