"""A fastembed session on a model's folder: how a model is made ready, and how one is read that
only fastembed knows. Importing it takes longer than all that a question needs, so what can be
read without it is (`onnx_session`). Here alone fastembed is opened."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from vaultmem.embedding import onnx_session

if TYPE_CHECKING:
    import numpy as np
    from fastembed import TextEmbedding
    from numpy.typing import NDArray


_PROBES = ("A first text.", "And another one, which is longer than the first and says more.")
_NEAR = 1e-6


class FastembedModel(onnx_session.OnnxModel, Protocol):
    @property
    def identity(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...


class FastembedTextSession:
    def __init__(self, model: FastembedModel) -> None:
        self._session = open_fastembed_session(model)

    def is_sound(self) -> bool:
        return True

    def embed_text(self, text: str) -> NDArray[np.float32]:
        return _embedded(self._session, text)


def open_fastembed_session(model: FastembedModel) -> TextEmbedding:
    """fastembed on a folder of ours; given the folder, it looks nowhere else."""
    from fastembed import TextEmbedding
    from loguru import logger

    logger.disable("fastembed")  # it would write to stderr
    onnx_session.load_onnx_runtime()
    _let_onnx_threads_sleep()
    name = f"vaultmem/{model.identity}/{model.pooling}" if model.pooling else model.name
    if model.pooling:
        _register_with_fastembed(name, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a static model has no use for threads, and says so
        opened = TextEmbedding(
            name,
            cache_dir=str(model.folder),
            threads=1,  # two wait for each other at every step, and on a busy machine for long
            providers=["CPUExecutionProvider"],
            specific_model_path=str(model.folder),
            local_files_only=True,
            enable_cpu_mem_arena=False,  # it never gives back what the largest batch needed
        )
    onnx_session.give_back_memory()
    return opened


def _embedded(session: TextEmbedding, text: str) -> NDArray[np.float32]:
    (vector,) = session.embed([text], batch_size=1)
    return vector.astype("float32", copy=False)


def reading_without_fastembed(
    model: FastembedModel, session: TextEmbedding
) -> onnx_session.OnnxFolder | None:
    """How `onnx_session` has to read the folder to give fastembed's own vectors."""
    import numpy as np

    graph = getattr(getattr(session.model, "model_description", None), "model_file", model.graph)
    expected = [_embedded(session, text) for text in _PROBES]
    for pooling in ("cls", "mean", "none"):
        reading = onnx_session.OnnxFolder(model.folder, graph, pooling, model.max_tokens)
        with contextlib.suppress(Exception):  # whatever onnxruntime and tokenizers raise
            opened = onnx_session.open_original(reading)
            if all(
                np.allclose(opened.embed_text(text), vector / np.linalg.norm(vector), atol=_NEAR)
                for text, vector in zip(_PROBES, expected, strict=True)
            ):
                return reading
    return None


def _let_onnx_threads_sleep() -> None:
    """onnxruntime's threads spin for a while after each run, which made everything that
    follows a query's embedding twice as slow here. fastembed does not expose the option."""
    from fastembed.common.onnx_model import OnnxModel

    expose = OnnxModel.add_extra_session_options.__func__  # type: ignore[attr-defined]
    if getattr(expose, "sleeps", False):
        return

    def calm(cls: type, session: Any, extra: dict[str, Any]) -> None:
        session.add_session_config_entry("session.force_spinning_stop", "1")
        expose(cls, session, extra)

    calm.sleeps = True  # type: ignore[attr-defined]
    OnnxModel.add_extra_session_options = classmethod(calm)  # type: ignore[assignment]


def _register_with_fastembed(name: str, model: FastembedModel) -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    pooling = {"cls": PoolingType.CLS, "mean": PoolingType.MEAN, "none": PoolingType.DISABLED}
    with contextlib.suppress(ValueError):  # it is registered already
        TextEmbedding.add_custom_model(
            model=name,
            pooling=pooling[model.pooling],
            normalization=True,
            sources=ModelSource(hf=name),  # has to be something, is not looked at
            dim=model.dimension,
            model_file="model.onnx",
        )
