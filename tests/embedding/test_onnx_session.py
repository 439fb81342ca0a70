"""A model read without fastembed gives fastembed's own vectors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaultmem.embedding import embedder, fastembed_session, models, onnx_session
from vaultmem.embedding.models import Model

ROOT = Path(__file__).parent.parent.parent
TEXTS = [
    "where did I put the wifi password",
    "",
    " \n\t ",
    "数据库的密码在哪里",
    "🧠🗒️👩‍👩‍👧 naïve café",
    "a\x00b\x1b[31m\x07",
    "The router's credentials are on a note under the desk. " * 3,
    " ".join(f"word{number}" for number in range(900)),  # longer than any model reads
]


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("direct") / "models"


def model_of(setting: str, models_dir: Path) -> Model:
    found = embedder.load_embedder(setting, models_dir)
    assert found is not None
    return found.model


def copy_of(model: Model, place: Path) -> Model:
    """With a folder of its own, to change something in."""
    shutil.copytree(model.folder, place)
    return replace(model, folder=place)


def assert_as_fastembed(model: Model, texts: list[str]) -> None:
    direct = onnx_session.open_original(model)
    theirs = fastembed_session.open_fastembed_session(model)
    for text in texts:
        expected = next(iter(theirs.embed([text], batch_size=1)))
        vector = direct.embed_text(text)
        assert vector.dtype == np.float32
        assert np.abs(vector - expected / np.linalg.norm(expected)).max() <= 1e-6, text[:30]


@pytest.mark.parametrize("setting", ["granite", "minilm"])
def test_vectors_are_those_of_fastembed(setting: str, models_dir: Path) -> None:
    assert_as_fastembed(model_of(setting, models_dir), TEXTS)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_so_they_are_with_another_pooling(pooling: str, models_dir: Path, tmp_path: Path) -> None:
    model = copy_of(model_of("minilm", models_dir), tmp_path / "model")
    assert_as_fastembed(replace(model, pooling=pooling, name=f"a-{pooling}"), TEXTS)


CHANGES: dict[str, Any] = {
    "cut on the left": ("tokenizer_config.json", {"truncation_side": "left"}),
    "padded in steps": (
        "tokenizer.json",
        {
            "padding": {
                "strategy": {"Fixed": 128},
                "direction": "Right",
                "pad_to_multiple_of": 8,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            }
        },
    ),
    "padded to a length": (
        "tokenizer.json",
        {
            "padding": {
                "strategy": {"Fixed": 128},
                "direction": "Left",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            }
        },
    ),
    "tokens of its own": (
        "special_tokens_map.json",
        {"additional_special_tokens": ["##word", "password"], "sep_token": {"content": "[SEP]"}},
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_the_tokenizer_is_set_as_fastembed_sets_it(
    what: str, models_dir: Path, tmp_path: Path
) -> None:
    model = copy_of(model_of("minilm", models_dir), tmp_path / "model")
    name, changes = CHANGES[what]
    file = model.folder / name
    known = json.loads(file.read_text()) if file.exists() else {}
    file.unlink(missing_ok=True)  # it may be another's too
    file.write_text(json.dumps({**known, **changes}))
    assert_as_fastembed(replace(model, name=what), TEXTS)


def test_no_question_needs_fastembed(models_dir: Path) -> None:
    embedder.embedder_state("", models_dir)
    script = (
        "import sys; from pathlib import Path; from vaultmem.embedding import embedder\n"
        "found = embedder.load_embedder('', Path(sys.argv[1]))\n"
        "assert found.embed(['one', 'two']).shape == (2, 384)\n"
        "heavy = {'fastembed', 'huggingface_hub', 'requests', 'loguru', 'PIL'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    command = [sys.executable, "-c", script, str(models_dir)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def pulled(name: str, models_dir: Path, place: Path, graph: str = "model.onnx") -> Model:
    """As if it had been downloaded by that name: its files are those of a model that is here."""
    folder = place / ".building"
    shutil.copytree(model_of("minilm", models_dir).folder, folder)
    (folder / graph).parent.mkdir(exist_ok=True)
    (folder / "model.onnx").rename(folder / graph)
    models._install_model(name, "pulled", ("",), folder, place)
    (model,) = models.added_models(place)
    return model


def test_what_was_pulled_is_read_without_fastembed_too(models_dir: Path, tmp_path: Path) -> None:
    name = "nomic-ai/nomic-embed-text-v1.5"  # its graph lies deeper
    model = pulled(name, models_dir, tmp_path, "onnx/model.onnx")
    assert (model.pooling, model.graph) == ("mean", "onnx/model.onnx")
    mine, original = (
        embedder.OnnxEmbedder(model),
        embedder.OnnxEmbedder(model_of("minilm", models_dir)),
    )
    assert np.array_equal(mine.embed(TEXTS), original.embed(TEXTS))


def test_what_only_fastembed_can_read_is_left_to_it(models_dir: Path, tmp_path: Path) -> None:
    name = "Qwen/Qwen3-Embedding-0.6B"  # the last token stands for the text
    model = pulled(name, models_dir, tmp_path, "onnx/model.onnx")
    assert model.pooling == ""
    mine = embedder.OnnxEmbedder(model)
    assert isinstance(mine._opened_embedder_library(), fastembed_session.FastembedTextSession)
    theirs = fastembed_session.open_fastembed_session(model)
    for text in TEXTS:
        expected = next(iter(theirs.embed([text], batch_size=1)))
        assert mine.embed_query(text) @ (expected / np.linalg.norm(expected)) > 0.99999


def test_an_older_vaultmem_reads_the_manifest_of_a_usual_model(models_dir: Path) -> None:
    folder = model_of("granite", models_dir).folder
    assert "graph" not in json.loads((folder / "model.json").read_text())
