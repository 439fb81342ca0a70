"""Vectors of single sentences: made behind those of passages, and what they are good for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Open
from tests.index.test_vector_graph import IDENTITY
from tests.world import World
from vaultmem.index.embedded.vector_store import nearest_in_bytes, vectors_from_bytes
from vaultmem.indexing import embed_sentences
from vaultmem.notes.note import parse
from vaultmem.notes.passages import passage_sentences, passages
from vaultmem.recall import fusion
from vaultmem.vault import Vault

DIMENSION = 384


class Counting:
    """A vector for each text, and which texts were asked for."""

    identity = IDENTITY

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray:
        self.texts += texts
        return np.array([_chance(text) for text in texts], np.float32)


def _chance(text: str) -> np.ndarray:
    vector = np.random.default_rng(abs(hash(text))).normal(size=DIMENSION)
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def _said(text: str) -> list[str]:
    note = parse(text.encode(), "Home/Boiler.md")
    return [each for passage in passages(note) for each in passage_sentences(note, passage)]


def test_the_sentences_of_a_passage_stand_below_its_name() -> None:
    text = "The boiler is serviced in May. Ring Jones, not the shop.\n\n- [ ] buy filters soon\n"
    assert _said(text) == [
        "Boiler: The boiler is serviced in May.",
        "Boiler: Ring Jones, not the shop.",
        "Boiler: buy filters soon",
    ]


@pytest.mark.parametrize(
    "text", ["One sentence alone.", "", "Yes. No. Ok.", "```\na = 1.\nb = 2.\n```"]
)
def test_what_says_a_single_thing_has_none(text: str) -> None:
    assert _said(text) == []


def test_private_and_commented_sentences_are_none() -> None:
    text = (
        "Pay on Friday please. <private>The code is 4711.</private> Then call her. %%not this one%%"
    )
    assert "4711" not in " ".join(_said(text)) and "not this one" not in " ".join(_said(text))


def test_each_sentence_is_embedded_once_and_a_change_only_what_changed(world: World) -> None:
    world.put("A.md", "First thing said here. Second thing said here.")
    world.put("B.md", "One thing alone.")
    world.sync.everything()
    model = Counting()
    assert world.sync.sentences.embed_some(model) == 2  # type: ignore[arg-type]
    assert world.sync.sentences.embed_some(model) == 0  # type: ignore[arg-type]
    world.put("A.md", "First thing said here. Second thing, but changed.")
    world.put("C.md", "Third thing said here. Fourth thing said here.")
    world.sync.everything()
    while world.sync.sentences.embed_some(model):  # type: ignore[arg-type]
        pass
    assert len(model.texts) == 6
    fresh = type(world.sync)(world.store, world.index)
    assert fresh.sentences.embed_some(model) == 0  # type: ignore[arg-type]


def test_of_a_changed_note_only_new_passages_are_embedded_a_few_at_a_time(world: World) -> None:
    sections = [
        f"## Part {n}\n\n" + f"Some thing number {n} is said here. " * 20 for n in range(12)
    ]
    world.put("A.md", "\n\n".join(sections))
    world.sync.everything()
    model = Counting()
    made = [0]
    while some := world.sync.sentences.embed_some(model):  # type: ignore[arg-type]
        made.append(some)
    assert max(made) <= embed_sentences.MOST_TEXTS and sum(made) > embed_sentences.MOST_TEXTS
    before = len(model.texts)
    world.put("A.md", "\n\n".join([*sections[:-1], sections[-1] + " One more thing is said."]))
    world.sync.everything()
    while world.sync.sentences.embed_some(model):  # type: ignore[arg-type]
        pass
    assert 0 < len(model.texts) - before <= 24


def test_what_failed_is_tried_again(world: World) -> None:
    world.put("A.md", "First thing said here. Second thing said here.")
    world.sync.everything()

    class Failing(Counting):
        def embed(self, texts: list[str]) -> np.ndarray:
            raise sqlite3.OperationalError("database is locked")

    with pytest.raises(sqlite3.OperationalError):
        world.sync.sentences.embed_some(Failing())  # type: ignore[arg-type]
    assert world.sync.sentences.embed_some(Counting()) == 2  # type: ignore[arg-type]


def test_a_damaged_row_is_left_out_and_a_failed_write_leaves_no_lock(world: World) -> None:
    store = world.index.vectors.open_store()
    with pytest.raises(TypeError):
        store.add_sentences(store.model(IDENTITY), {b"x": ["no vector"]})  # type: ignore[list-item]
    assert not store.db.in_transaction
    good = np.eye(4, dtype=np.float32)
    rows = [(1, b"abc"), (2, b""), (3, bytes([127, 0, 0, 0]))]
    assert nearest_in_bytes(rows, good[0]) == {3: pytest.approx(1.0)}


def test_a_note_that_is_gone_keeps_no_other_waiting(world: World) -> None:
    world.put("A.md", "First thing said here. Second thing said here.")
    world.put("B.md", "Third thing said here. Fourth thing said here.")
    world.sync.everything()
    (world.root / "A.md").unlink()
    model = Counting()
    while world.sync.sentences.embed_some(model):  # type: ignore[arg-type]
        pass
    assert model.texts == ["B: Third thing said here.", "B: Fourth thing said here."]


def test_a_very_large_vault_has_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_sentences, "MOST_PASSAGES", 1)
    world.put("A.md", "First thing said here. Second thing said here.")
    world.put("B.md", "Third thing said here. Fourth thing said here.")
    world.sync.everything()
    assert world.sync.sentences.embed_some(Counting()) == 0  # type: ignore[arg-type]


def test_bytes_keep_the_direction(world: World) -> None:
    store = world.index.vectors.open_store()
    some = [_chance("a"), _chance("b")]
    store.add_sentences(store.model(IDENTITY), {b"x": some})
    (raw,) = store.db.execute("SELECT vectors FROM sentences").fetchone()
    back = vectors_from_bytes(raw, DIMENSION)
    assert np.diag(back @ np.array(some).T) == pytest.approx([1, 1], abs=0.001)


def test_a_sentence_that_is_nearer_than_usual_moves_its_passage() -> None:
    hits = [(1, 10, 0.70), (2, 20, 0.69), (3, 30, 0.68), (4, 40, 0.10)]
    best = {10: 0.72, 20: 0.85, 30: 0.70}
    assert [each[1] for each in fusion.with_sentences(hits, best)] == [20, 10, 30, 40]
    assert fusion.with_sentences(hits, {}) == hits
    assert fusion.with_sentences([], {}) == []


def test_what_one_sentence_says_is_found_in_other_words(open_vault: Open, root: Path) -> None:
    vault: Vault = open_vault({"model": ""})
    letter = (
        "We pay the rent on the third. The garden is ours to look after. Noise ends at ten. "
        "Two keys for the cellar hang behind the door. The roof was done in 2019."
    )
    (root / "Flat.md").write_text(letter)
    (root / "Garden.md").write_text("Plant beans in May. Water the roses in the evening.")
    for number in range(24):
        (root / f"Note {number}.md").write_text(f"Meeting {number} about invoices and lists.")
    vault.index_now()
    assert vault.embed_all() == 26
    found = vault.parts.recall.ask("when must it be quiet?", floor=False).hits
    assert found[0].row.path == "Flat.md"
