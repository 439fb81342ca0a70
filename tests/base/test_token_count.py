from __future__ import annotations

import pytest
from tokenizers import Tokenizer

from tests.conftest import ROOT, TEMPLATE
from vaultmem.base.token_count import token_count
from vaultmem.embedding import embedder

TEXTS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "vaultmem").rglob("*.py")),
    *sorted(TEMPLATE.rglob("*.md")),
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """The default model's own, which cuts English as most language models do."""
    model = embedder.load_embedder("", tmp_path_factory.mktemp("models"))
    assert model is not None
    whole = Tokenizer.from_file(str(model.model.folder / "tokenizer.json"))
    whole.no_truncation()
    whole.no_padding()
    return whole


def test_the_count_is_within_a_tenth_of_a_real_one(tokenizer: Tokenizer) -> None:
    off = []
    for file in TEXTS:
        text = " ".join(file.read_text(encoding="utf-8").split())  # as lines of a block are
        if len(text) > 400:
            off.append(
                token_count(text) / len(tokenizer.encode(text, add_special_tokens=False).ids)
            )
    off.sort()
    assert len(off) > 60
    assert 0.93 < sum(off) / len(off) < 1.07
    assert off[len(off) // 10] > 0.9 and off[-len(off) // 10] < 1.1


def test_small_counts() -> None:
    assert token_count("") == 0
    assert token_count("word") == 1
    assert token_count("one two\n") >= 3
    assert token_count("记忆系统") >= 4
