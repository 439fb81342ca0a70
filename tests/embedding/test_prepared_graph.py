"""The prepared graph gives the model's own vectors, or is not used."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaultmem.embedding import embedder, onnx_session, prepared_graph
from vaultmem.embedding.models import Model
from vaultmem.embedding.prepared_graph import PreparedGraph, PreparedSession

ROOT = Path(__file__).parent.parent.parent
TEXTS = ["one", "where did I put the wifi password", "a longer one, with commas. " * 30, "数据库"]


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models, to be copied and not used."""
    place = tmp_path_factory.mktemp("prepared") / "models"
    embedder.embedder_state("", place)
    return place


@pytest.fixture
def models_dir(origin: Path, tmp_path: Path) -> Path:
    shutil.copytree(origin, tmp_path / "models", copy_function=os.link)
    return tmp_path / "models"


@pytest.fixture
def model(models_dir: Path) -> Model:
    found = embedder.load_embedder("", models_dir)
    assert found is not None and found.model.folder.parent == models_dir
    return found.model


@pytest.fixture(scope="session")
def expected(origin: Path) -> Any:
    found = embedder.load_embedder("", origin)
    assert found is not None
    session = onnx_session.open_original(found.model)
    return [session.embed_text(text) for text in TEXTS]


def prepare(model: Model) -> PreparedGraph:
    graph = PreparedGraph(model)
    assert graph.prepare(onnx_session.open_original(model)) is not None
    return graph


def opened(model: Model) -> Any:
    """What a process of its own would have opened."""
    return embedder.OnnxEmbedder(model)._opened_embedder_library()


def is_prepared(model: Model) -> bool:
    return isinstance(opened(model), PreparedSession)


def test_it_gives_the_same_vectors(model: Model, expected: Any) -> None:
    session = prepare(model).open_prepared()
    assert session is not None
    for text, vector in zip(TEXTS, expected, strict=True):
        assert np.abs(session.embed_text(text) - vector).max() <= 1e-6


def test_a_process_that_embeds_much_prepares_it(model: Model, expected: Any) -> None:
    mine = embedder.OnnxEmbedder(model)
    mine.embed([f"text {number}" for number in range(embedder._WORTH_PREPARING - 1)])
    assert not isinstance(mine._library, PreparedSession)
    mine.embed(["and the last"])
    assert isinstance(mine._library, PreparedSession), "it has let go of the larger one"
    assert is_prepared(model)
    assert np.allclose(mine.embed(TEXTS), expected, rtol=0, atol=1e-6)


def test_so_does_whoever_opens_it_once_too_often(model: Model) -> None:
    assert [is_prepared(model) for _ in range(5)] == [False, False, False, True, True]
    assert sorted(f.name[-7:] for f in (model.folder / "prepared").iterdir() if f.is_file()) == [
        ".lock"
    ]


def overwrite(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        stream.write(b"\xa5" * 200)


def copied(file: Path) -> None:
    """As a vault from elsewhere would bring it: the same bytes and times."""
    shutil.copy2(file, file.with_name("copy"))
    file.with_name("copy").replace(file)


def linked(place: Path) -> None:
    place.rename(place.with_name("aside"))
    place.symlink_to("aside")


SPOILT: dict[str, Callable[[Path], object]] = {
    "cut weights": lambda place: os.truncate(place / "weights", 1_000_000),
    "no weights": lambda place: (place / "weights").unlink(),
    "other weights": lambda place: overwrite(place / "weights"),
    "copied weights": lambda place: copied(place / "weights"),
    "empty graph": lambda place: (place / "model.onnx").write_bytes(b""),
    "other graph": lambda place: overwrite(place / "model.onnx"),
    "no look": lambda place: (place / "made.json").unlink(),
    "odd look": lambda place: (place / "made.json").write_text('{"weights": "x"}'),
    "half a look": lambda place: (place / "made.json").write_text('{"weights": [1'),
    "a link": linked,
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_is_not_as_it_was_made_is_not_used(how: str, model: Model, expected: Any) -> None:
    place = prepare(model).place.path
    SPOILT[how](place)
    mine = embedder.OnnxEmbedder(model)
    assert np.allclose(mine.embed(TEXTS), expected, rtol=0, atol=1e-7)
    assert not isinstance(mine._library, PreparedSession)
    if how == "a link":
        place.unlink()
    assert [is_prepared(model) for _ in range(3)] == [False, False, True], "it is made anew"


@pytest.mark.parametrize("how", ["cut weights", "other weights"])
def test_damage_under_an_open_one_is_noticed(how: str, model: Model, expected: Any) -> None:
    place = prepare(model).place.path
    mine = embedder.OnnxEmbedder(model)
    mine.embed(TEXTS)
    SPOILT[how](place)
    assert np.allclose(mine.embed(TEXTS), expected, rtol=0, atol=1e-7)
    assert not isinstance(mine._library, PreparedSession)


def test_an_open_one_outlives_its_files(model: Model, expected: Any) -> None:
    prepare(model)
    mine = embedder.OnnxEmbedder(model)
    mine.embed(TEXTS)
    shutil.rmtree(model.folder)
    assert np.allclose(mine.embed(TEXTS), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("what", ["library", "processor", "model"])
def test_another_of_what_it_depends_on_is_another_one(
    what: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    first = prepare(model)
    if what == "library":
        monkeypatch.setattr(onnxruntime, "__version__", "99.0")
    elif what == "processor":
        monkeypatch.setattr(prepared_graph, "_processor", lambda: "another")
    else:
        graph = model.folder / "model.onnx"
        raw = graph.read_bytes()
        graph.unlink()  # it is a name of another's file
        graph.write_bytes(raw + b"\x32\x00")
    assert PreparedGraph(model).place != first.place
    assert not is_prepared(model)


def test_old_ones_do_not_pile_up(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    left = model.folder / "prepared" / ".making-01KFOO"
    left.mkdir(parents=True)
    (left / "weights").write_bytes(b"half")
    for version in ("97.0", "98.0", "99.0"):
        monkeypatch.setattr(onnxruntime, "__version__", version)
        last = prepare(model)
        assert len(list((model.folder / "prepared").iterdir())) <= 3
    folders = [each for each in (model.folder / "prepared").iterdir() if each.is_dir()]
    assert len(folders) == 2 and last.place.path in folders, "another version may use the other"


def test_where_nothing_can_be_written_the_model_works(model: Model, expected: Any) -> None:
    (model.folder / "prepared").write_text("a file, not a folder")
    for _ in range(5):
        mine = embedder.OnnxEmbedder(model)
        assert np.allclose(mine.embed(TEXTS), expected, rtol=0, atol=1e-7)
    assert (model.folder / "prepared").read_text() == "a file, not a folder"


def test_a_full_disk_is_left_alone(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        prepared_graph.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1)
    )
    assert [is_prepared(model) for _ in range(5)] == [False] * 5
    assert not [each for each in (model.folder / "prepared").iterdir() if each.is_dir()]


def test_other_vectors_are_refused_for_good(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_graph, "_NEAR", -1.0)
    assert PreparedGraph(model).prepare(onnx_session.open_original(model)) is None
    assert PreparedGraph(model).is_refused()
    assert [is_prepared(model) for _ in range(5)] == [False] * 5
    (made,) = [each for each in (model.folder / "prepared").iterdir() if each.is_dir()]
    assert json.loads((made / "made.json").read_text()) == {}


OPEN = """
import sys
from pathlib import Path
from vaultmem.embedding import embedder
found = embedder.load_embedder("", Path(sys.argv[1]))
print("begun", flush=True)
vectors = found.embed(["one"])
print(float(vectors[0, 0]), type(found._library).__name__, flush=True)
"""


def process(models_dir: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OPEN, str(models_dir)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def mark_as_often_opened(model: Model) -> None:
    graph = PreparedGraph(model)
    (model.folder / "prepared").mkdir(exist_ok=True)
    (model.folder / "prepared" / f"{graph.place.name}.opened").write_bytes(b"." * 10)


def test_processes_prepare_at_once(model: Model, models_dir: Path) -> None:
    mark_as_often_opened(model)
    running = [process(models_dir) for _ in range(4)]
    said = [each.communicate(timeout=120) for each in running]
    assert {err for _, err in said} == {""}
    numbers = {round(float(out.split()[1]), 6) for out, _ in said}
    assert len(numbers) == 1
    assert any("PreparedSession" in out for out, _ in said)
    assert is_prepared(model)
    assert len([each for each in (model.folder / "prepared").iterdir() if each.is_dir()]) == 1


def test_killed_at_any_moment_it_leaves_nothing_wrong(
    model: Model, models_dir: Path, expected: Any
) -> None:
    chance = random.Random(5)
    for _ in range(8):
        mark_as_often_opened(model)
        running = process(models_dir)
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(chance.uniform(0.0, 1.2))
        running.kill()
        running.communicate()
        session = PreparedGraph(model).open_prepared()
        if session is not None:
            assert np.allclose(session.embed_text(TEXTS[0]), expected[0], rtol=0, atol=1e-6)
            shutil.rmtree(model.folder / "prepared")
    prepare(model)
    assert is_prepared(model)
    assert not list((model.folder / "prepared").glob(".making-*"))
