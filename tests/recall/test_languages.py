"""Notes in many languages are found by the words that people ask with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.recall.vaults_of_languages import VAULTS
from vaultmem.base.text_language import text_language
from vaultmem.recall.languages import meaning_gap, reads
from vaultmem.vault import Vault

OTHERS = [name for name in VAULTS if name != "english"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "vault" / ".vaultmem").mkdir(parents=True)
    return tmp_path / "vault"


def fill(root: Path, languages: Sequence[str]) -> None:
    """Under names that say nothing."""
    for language in languages:
        (root / language).mkdir()
        for number, text in enumerate(VAULTS[language].notes.values()):
            (root / language / f"{number}.md").write_text(f"{text}\n", encoding="utf-8")


def wrong_answers(vault: Vault, language: str) -> Iterator[str]:
    """Questions whose first note in this language is not the right one."""
    names = list(VAULTS[language].notes)
    for question, right in VAULTS[language].questions:
        paths = [memory.path for memory in vault.recall(question).memories]
        found = [names[int(Path(p).stem)] for p in paths if p.startswith(f"{language}/")]
        if found[:1] != [right]:
            yield f"{question}: {right}, not {found}"


def test_there_are_many_of_them() -> None:
    assert len(VAULTS) > 12
    assert sum(len(vault.questions) for vault in VAULTS.values()) > 120


@pytest.mark.parametrize("language", VAULTS)
def test_the_right_note_comes_first(language: str, root: Path) -> None:
    fill(root, [language])
    with Vault.open(root, {"model": "off"}) as vault:
        vault.index_now()
        assert list(wrong_answers(vault, language)) == []


@pytest.mark.parametrize("language", OTHERS)
def test_beside_notes_in_english_too(language: str, root: Path) -> None:
    fill(root, [language, "english"])
    with Vault.open(root, {"model": "off"}) as vault:
        vault.index_now()
        assert list(wrong_answers(vault, language)) == []
        assert list(wrong_answers(vault, "english")) == []


@pytest.mark.parametrize("language", ["german", "spanish", "russian"])
def test_a_vault_that_is_set_to_its_language(language: str, root: Path) -> None:
    """Then what is alike in its stem is one word: `Kosten`, and what something `kostet`."""
    fill(root, [language, "english"])
    (root / ".vaultmem" / "config.toml").write_text(f'language = "{language}"\n')
    with Vault.open(root, {"model": "off"}) as vault:
        vault.index_now()
        wrong = list(wrong_answers(vault, language))
        assert wrong == [] or wrong == ["Kosten: reisekosten, not ['haftpflicht', 'reisekosten']"]
        assert list(wrong_answers(vault, "english")) == []


@pytest.mark.parametrize("language", VAULTS)
def test_a_text_is_known_by_its_language(language: str) -> None:
    texts = VAULTS[language].notes.values()
    known = [text_language(text, language) for text in texts]
    assert known.count(language) >= 0.6 * len(texts)
    assert text_language(" ".join(texts), language) == language


@pytest.mark.parametrize(
    "text", ["", "SELECT 1;", "Zoë, Jürgen, Łukasz", "192.168.0.1", "TODO", "x = y[0]"]
)
def test_what_tells_nothing_is_in_no_language(text: str) -> None:
    assert text_language(text) == ""


def test_an_english_note_with_foreign_names_is_english() -> None:
    text = "We meet Jürgen from 北京大学 in the café on Straße 5, and then we go to Łódź."
    assert text_language(text) == "english"


@pytest.mark.parametrize(
    ("question", "languages", "counts"),
    [
        ("Wo liegt der Schlüssel?", {"german": 9, "english": 1}, False),
        ("Schlüssel", {"german": 9, "english": 1}, False),
        ("Where is the key?", {"german": 9, "english": 1}, True),
        ("key", {"english": 9, "german": 1}, True),
        ("Wo liegt der Schlüssel?", {"english": 9, "german": 1}, True),
    ],
)
def test_a_model_of_english_has_no_say_about_notes_in_another_language(
    question: str, languages: dict[str, int], counts: bool
) -> None:
    assert reads("granite-embedding-30m-english", question, languages) == counts
    assert reads("universal-sentence-encoder-multilingual-3", question, languages)


def test_a_vault_that_is_not_mostly_english_is_said(root: Path) -> None:
    fill(root, ["german", "english"])
    with Vault.open(root, {"model": "off"}) as vault:
        vault.index_now()
        languages = vault.parts.index.languages()
    assert dict(languages) == {"german": 19, "english": 7}
    model = "granite-embedding-30m-english"
    assert meaning_gap(model, languages, 26, "CHANGE").endswith(
        "19 of 26 notes here are in German; this changes it: CHANGE"
    )
    assert meaning_gap(model, {"english": 90, "german": 10}, 100, "") == ""
    assert meaning_gap(model, {"german": 2}, 2, "") == "", "too few to say anything"
    assert meaning_gap("universal-sentence-encoder-multilingual-3", languages, 26, "") == ""


def test_what_is_forgotten_or_changed_counts_as_it_is_now(root: Path) -> None:
    fill(root, ["german"])
    with Vault.open(root, {"model": "off"}) as vault:
        vault.index_now()
        for file in (root / "german").iterdir():
            file.write_text("It is now all about the keys of the cabin.\n")
        vault.index_now()
        assert dict(vault.parts.index.languages()) == {"english": 19}
