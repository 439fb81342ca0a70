"""For whom something is done: another process may have asked this one to do it.

A window or a command hands its own surroundings over, and what is done for it in this thread or
task sees these instead of the process's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


class Asker(NamedTuple):
    """The process that asked, as far as the answer depends on it."""

    environment: Mapping[str, str]
    folder: str = os.sep  # the one it stands in
    columns: int = 80  # of its terminal


_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


@contextlib.contextmanager
def working_for(asker: Asker | None) -> Iterator[None]:
    """None stands for this process itself."""
    token = _asker.set(asker)
    try:
        yield
    finally:
        _asker.reset(token)


def environment() -> Mapping[str, str]:
    """Of the process that asked for what is done here; mostly that is this one."""
    asker = _asker.get()
    return asker.environment if asker else os.environ


def is_asked_by_another() -> bool:
    return _asker.get() is not None


def folder_of_asker() -> Path:
    asker = _asker.get()
    return Path(asker.folder) if asker else Path.cwd()


def columns_of_asker() -> int:
    asker = _asker.get()
    return asker.columns if asker else shutil.get_terminal_size().columns
