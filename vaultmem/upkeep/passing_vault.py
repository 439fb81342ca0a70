"""A vault that is gone when the process that made it ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vaultmem.base import lock
from vaultmem.upkeep import template

_BEGINS: Final = "vaultmem-passing-"
_HELD: Final = ".held"
_MEMORY: Final = Path("/dev/shm")  # a disk in memory, where a system has one


class PassingVault:
    """Made in memory where the system has a disk there, else among its temporary files."""

    def __init__(self) -> None:
        base = _passing_base()
        _clear_abandoned(base)
        self.folder = Path(tempfile.mkdtemp(prefix=_BEGINS, dir=base))  # nobody else's
        self._held = lock.try_to_lock(self.folder / _HELD)
        self.root = self.folder / "vault"
        plan = template.plan_vault_files(self.root, git=False, examples=False)
        template.make_planned_vault(plan)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._held:
            self._held.release()


def _passing_base() -> Path:
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK):
        return _MEMORY
    return Path(tempfile.gettempdir())


def _clear_abandoned(base: Path) -> None:
    """Of processes that were killed: nobody holds their lock any more."""
    for folder in _abandoned_passing_vaults(base):
        shutil.rmtree(folder, ignore_errors=True)


def _abandoned_passing_vaults(base: Path) -> Iterator[Path]:
    for folder in base.glob(f"{_BEGINS}*"):
        with contextlib.suppress(OSError):
            mine = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
            held = folder / _HELD
            if mine and not folder.is_symlink() and held.is_file() and not lock.is_locked(held):
                yield folder
