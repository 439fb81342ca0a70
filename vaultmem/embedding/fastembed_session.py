"""A fastembed session on a model's folder. Here alone fastembed is opened."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fastembed import TextEmbedding


class SessionModel(Protocol):
    @property
    def identity(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def pooling(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def folder(self) -> Path: ...


def open_fastembed_session(model: SessionModel) -> TextEmbedding:
    """fastembed on a folder of ours; given the folder, it looks nowhere else."""
    from fastembed import TextEmbedding
    from loguru import logger

    logger.disable("fastembed")  # it would write to stderr
    load_onnx_runtime()
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
    # The C library keeps what opening a model needed in passing: 130 MB, twice its size.
    with contextlib.suppress(OSError, AttributeError, TypeError):  # only glibc can give it back
        ctypes.CDLL(None).malloc_trim(0)
    return opened


def load_onnx_runtime() -> None:
    """onnxruntime, and nothing that it would tell its maker. `telemetry` has told it so before
    the import; this is for Windows, where the system collects, and for a program that had
    imported it before us."""
    importlib.import_module("onnxruntime").disable_telemetry_events()


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


def _register_with_fastembed(name: str, model: SessionModel) -> None:
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
