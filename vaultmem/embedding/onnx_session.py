"""A model's folder opened directly: a graph, a tokenizer, and the way from tokens to one vector.

What fastembed does for a text, without all that comes with it: importing it takes longer than
everything here. Tests hold this to fastembed's own vectors.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from vaultmem.base import small_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_JSON: Final = 10_000_000  # bytes; the tokenizer itself is not read here
_ERRORS_ONLY: Final = 3


class OnnxModel(Protocol):
    @property
    def folder(self) -> Path: ...
    @property
    def graph(self) -> str: ...
    @property
    def pooling(self) -> str: ...
    @property
    def max_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """An `OnnxModel` and nothing else of it."""

    folder: Path
    graph: str
    pooling: str
    max_tokens: int


class OnnxTextSession:
    """A graph that runs, and the tokenizer before it. Threads may share it."""

    def __init__(self, model: OnnxModel, graph: Any, tokenizer: Any = None) -> None:
        self.graph = graph
        self.tokenizer = tokenizer or open_tokenizer(model)
        self._pooling = model.pooling
        self._inputs = {node.name for node in graph.get_inputs()}

    def is_sound(self) -> bool:
        """Whether it can still be used."""
        return True

    def embed_text(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        encoded = self.tokenizer.encode(text)
        ids = np.array([encoded.ids], np.int64)
        mask = np.array([encoded.attention_mask], np.int64)
        known = {"attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {name: known[name] for name in known.keys() & self._inputs}
        out = self.graph.run(None, {"input_ids": ids, **given})[0]
        return _of_length_one(_pooled(out, mask, self._pooling)).astype(np.float32)


def _pooled(out: NDArray[Any], mask: NDArray[np.int64], pooling: str) -> NDArray[Any]:
    import numpy as np

    if pooling == "cls":
        vector: NDArray[Any] = out[0, 0]
    elif pooling == "mean":  # of sixteen digits, so that many tokens add up to no error
        read = mask[0, :, np.newaxis].astype(bool)
        vector = np.asarray(np.sum(out[0], axis=0, where=read, dtype=np.float64))
        vector /= max(int(mask.sum()), 1e-9)
    elif out.ndim != 2:
        raise ValueError(f"the model gives {out.ndim} dimensions and not a vector for each text")
    else:
        vector = out[0]
    return vector.astype(np.float32) if vector.dtype == np.float16 else vector


def _of_length_one(vector: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    lengths = np.linalg.norm(vector[np.newaxis], axis=1, keepdims=True)
    result: NDArray[Any] = (vector[np.newaxis] / np.maximum(lengths, 1e-12))[0]
    return result


# --- the graph ---------------------------------------------------------------------------------


def load_onnx_runtime() -> Any:
    """onnxruntime, and nothing that it would tell its maker. `telemetry` has told it so before
    the import; this is for Windows, where the system collects, and for a program that had
    imported it before us."""
    library = importlib.import_module("onnxruntime")
    library.disable_telemetry_events()
    return library


def session_options() -> Any:
    library = load_onnx_runtime()
    options = library.SessionOptions()
    options.graph_optimization_level = library.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = 1  # two wait for each other at every step, and may wait long
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it never gives back what the largest text needed
    options.log_severity_level = _ERRORS_ONLY
    # Threads that spin after a run make what follows a question's embedding twice as slow.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return options


def open_original(model: OnnxModel) -> OnnxTextSession:
    """As it came."""
    return OnnxTextSession(model, open_graph(model.folder / model.graph, session_options()))


def open_graph(file: Path, options: Any) -> Any:
    library = load_onnx_runtime()
    return library.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def give_back_memory() -> None:
    """The C library keeps what opening a model needed in passing: 130 MB, twice its size."""
    import contextlib
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):  # only glibc can give it back
        ctypes.CDLL(None).malloc_trim(0)


# --- the tokenizer -----------------------------------------------------------------------------


def open_tokenizer(model: OnnxModel) -> Any:
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    settings = _settings_beside_tokenizer(model.folder, "tokenizer_config")
    side = (tokenizer.truncation or {}).get("direction", "right")
    side = settings.get("truncation_side") or side
    tokenizer.enable_truncation(max_length=min(model.max_tokens, sys.maxsize), direction=side)
    for token in _special_tokens(model.folder):
        tokenizer.add_special_tokens([AddedToken(**token) if isinstance(token, dict) else token])
    padding = tokenizer.padding or {}
    if padding.get("pad_to_multiple_of"):
        side = settings.get("padding_side") or padding.get("direction", "right")
        tokenizer.enable_padding(**{**padding, "direction": side, "length": None})
    else:
        tokenizer.no_padding()  # a text alone is as long as the longest beside it
    return tokenizer


def _special_tokens(folder: Path) -> list[str | dict[str, Any]]:
    found: list[str | dict[str, Any]] = []
    for value in _settings_beside_tokenizer(folder, "special_tokens_map").values():
        found += value if isinstance(value, list) else [value]
    return [token for token in found if isinstance(token, str | dict)]


def _settings_beside_tokenizer(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"{name}.json"
    if not file.exists():
        return {}
    data = small_files.parse_json(small_files.read_small_file(file, _LARGEST_JSON, follow=True))
    return data if isinstance(data, dict) else {}
