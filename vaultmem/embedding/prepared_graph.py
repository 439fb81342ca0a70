"""A model's graph as onnxruntime has worked it out, kept beside the model for every later process.

Opening a model means to fold its weights anew, which takes a tenth of a second and, in passing,
130 MB. What comes of it is saved once: the graph, and beside it the weights, which all processes
map and share. A folder is named by all it depends on (the model's files by their hash, the version
of onnxruntime, the processor, our options), so a change of any of them is another folder. What was
copied, cut or written to since is not used: the model is then opened as it came.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import json
import logging
import os
import platform
import shutil
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ulid_transform import ulid_now

from vaultmem.base import lock, small_files
from vaultmem.base.own_path import OwnPath
from vaultmem.embedding.onnx_session import (
    OnnxTextSession,
    load_onnx_runtime,
    open_graph,
    session_options,
)
from vaultmem.errors import Busy, VaultmemError

if TYPE_CHECKING:
    from vaultmem.embedding.models import Model

log = logging.getLogger("vaultmem")

_FOLDER: Final = "prepared"  # in the model's
_GRAPH, _WEIGHTS, _MADE = "model.onnx", "weights", "made.json"
_MAKING: Final = ".making-"
_OPENED: Final = ".opened"
_OFTEN: Final = 3  # times that a model is opened as it came, before that is made quicker
_NEEDED: Final = 1_000_000_000  # bytes free on a disk that something is put on merely to save time
_DAY: Final = 86_400.0
_PROBES: Final = ("A question?", "Where the billing service keeps its keys. " * 12, "数据库 🗒️")
_NEAR: Final = 1e-6
_SAVING: Final = {
    "optimized_model_external_initializers_file_name": _WEIGHTS,
    "optimized_model_external_initializers_min_size_in_bytes": "1024",
    # As the processor wants them: else every process would lay them out anew, in its own memory.
    "save_external_prepacked_constant_initializers": "1",
}


class _FileLook(NamedTuple):
    size: int
    mtime_ns: int
    inode: int  # a copy has another, and so has what came with a vault from elsewhere

    @classmethod
    def of(cls, found: os.stat_result) -> _FileLook:
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


class PreparedSession(OnnxTextSession):
    """Its weights are mapped from a file, so that is looked at before each use."""

    def __init__(self, model: Model, folder: Path, tokenizer: Any = None) -> None:
        self._weights = os.open(folder / _WEIGHTS, os.O_RDONLY)
        weakref.finalize(self, os.close, self._weights)
        self._look = _FileLook.of(os.fstat(self._weights))
        super().__init__(model, open_graph(folder / _GRAPH, session_options()), tokenizer)

    def is_sound(self) -> bool:
        """False once somebody cut or overwrote what is mapped. A file that was deleted stays."""
        return _FileLook.of(os.fstat(self._weights)) == self._look


class PreparedGraph:
    """Where a model's prepared graph is or would be."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._top = OwnPath.of(model.folder) / _FOLDER
        self._stamp = _stamp_of_model(model)
        self.place = self._top / self._stamp

    def open_prepared(self, tokenizer: Any = None) -> PreparedSession | None:
        """None where there is none, or not as it was made."""
        with contextlib.suppress(Exception):  # whatever onnxruntime raises of a file
            if self._is_as_made():
                session = PreparedSession(self._model, self.place.path, tokenizer)
                self._note_use()
                return session
        return None

    def is_often_opened(self) -> bool:
        """Whether the model was opened so often that preparing it is worth while. Counts."""
        with contextlib.suppress(OSError, VaultmemError):
            return (self._top / f"{self._stamp}{_OPENED}").append(b".") > _OFTEN
        return False

    def prepare(self, original: OnnxTextSession) -> PreparedSession | None:
        """Made beside, compared with the original, put in place whole. None where that cannot be:
        another process is at it, or the disk is full, or not ours to write."""
        try:
            if shutil.disk_usage(self._model.folder).free < _NEEDED:
                return None
            with lock.locked(self._top / ".lock", timeout=0.0, what="preparing a model"):
                if not self._is_as_made():
                    self._clear_up()
                    self._make(original)
        except Busy:
            return None
        except Exception as error:  # whatever onnxruntime raises
            log.debug("the graph of %s is not prepared: %s", self._model.name, error)
            return None
        return self.open_prepared(original.tokenizer)

    # --- making one ----------------------------------------------------------------------

    def _make(self, original: OnnxTextSession) -> None:
        folder = self._top / f"{_MAKING}{ulid_now()}"
        try:
            folder.make()
            files = (_GRAPH, _WEIGHTS) if self._saved(folder, original) else ()
            looks = {}
            for name in files:
                _flush(folder.path / name)
                looks[name] = _FileLook.of(os.stat(folder.path / name))
            (folder / _MADE).create(json.dumps(looks).encode())
            self.place.remove_tree()
            os.rename(folder.path, self.place.path)
        finally:
            folder.remove_tree()

    def _saved(self, folder: OwnPath, original: OnnxTextSession) -> bool:
        """Whether what was saved there gives the original's vectors."""
        import numpy as np

        options = session_options()
        options.optimized_model_filepath = str(folder.path / _GRAPH)
        for name, value in _SAVING.items():
            options.add_session_config_entry(f"session.{name}", value)
        open_graph(self._model.folder / self._model.graph, options)
        if not (folder / _WEIGHTS).stat():
            return False
        made = PreparedSession(self._model, folder.path, original.tokenizer)
        return all(
            np.abs(made.embed_text(text) - original.embed_text(text)).max() <= _NEAR
            for text in _PROBES
        )

    def _clear_up(self) -> None:
        """What was left half made, and all but the one that was used last: another version of
        vaultmem may have made it. The caller holds the lock."""
        folders = sorted(self._top.folders(), key=_time_of_use)
        made = [folder for folder in folders if not folder.name.startswith(_MAKING)]
        for folder in folders:
            if folder not in made[-1:]:
                folder.remove_tree()
        for file in self._top.files():
            if file.name.endswith(_OPENED):
                (self._top / file.name).remove()

    # --- what is there -------------------------------------------------------------------

    def _is_as_made(self) -> bool:
        looks = self._looks() or {}
        try:
            found = {name: os.stat(self.place.path / name, follow_symlinks=False) for name in looks}
            return bool(looks) and all(
                _FileLook.of(found[name]) == _FileLook(*look) for name, look in looks.items()
            )
        except (OSError, TypeError):
            return False

    def is_refused(self) -> bool:
        """Whether it was made once and did not give the same vectors."""
        return self._looks() == {}

    def _looks(self) -> dict[str, list[int]] | None:
        with contextlib.suppress(OSError, ValueError, VaultmemError):
            looks = small_files.parse_json((self.place / _MADE).read(small_files.MOST_BYTES))
            return looks if isinstance(looks, dict) else None
        return None

    def _note_use(self) -> None:
        with contextlib.suppress(OSError, VaultmemError):
            if time.time() - _time_of_use(self.place) > _DAY:
                (self.place / _MADE).touch()


def _stamp_of_model(model: Model) -> str:
    """Of everything that the prepared graph depends on."""
    graph = model.folder / model.graph
    told = {
        "model": {k: str(v) for k, v in dataclasses.asdict(model).items() if k != "folder"},
        "graph": model.sha256 if model.graph == model.weights else _hash_of_file(graph),
        "onnxruntime": load_onnx_runtime().__version__,
        "processor": _processor(),
        "saving": _SAVING,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:24]


def _hash_of_file(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@functools.cache
def _processor() -> str:
    """What the processor can do: what was laid out for one may not run on another."""
    about = [platform.system(), platform.machine()]
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as file:
        first = file.read(8192).partition(b"\n\n")[0].decode("ascii", "replace")
        kinds = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU part")
        about += [line for line in first.splitlines() if line.partition(":")[0].strip() in kinds]
    if len(about) == 2:
        about.append(platform.processor())
        with contextlib.suppress(ImportError, AttributeError):
            numpy_core = importlib.import_module("numpy._core._multiarray_umath")
            about.append(json.dumps(numpy_core.__cpu_features__, sort_keys=True))
    return "\n".join(about)


def _time_of_use(folder: OwnPath) -> float:
    try:
        found = (folder / _MADE).stat()
    except (OSError, VaultmemError):
        return 0.0
    return found.st_mtime if found else 0.0


def _flush(file: Path) -> None:
    """To disk, so that a power cut leaves no file of the right size with nothing in it."""
    fd = os.open(file, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
