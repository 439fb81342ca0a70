"""The vault's `.trash/`, as Obsidian has it: what is removed lies there under a name of its own."""

from __future__ import annotations

import contextlib
import os
import posixpath
from pathlib import Path
from typing import Final

from vaultmem.base import durable
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import VaultmemError
from vaultmem.notes import file_names

TRASH: Final = ".trash"


class Trash:
    def __init__(self, place: OwnPath) -> None:
        self.place = place

    def take_in(self, file: Path) -> str:
        """Move a file here; returns its place."""
        trashed = os.listdir(self.place.make())
        taken = {file_names.name_key(posixpath.splitext(name)[0]) for name in trashed}
        stem, suffix = posixpath.splitext(file.name)
        target = self.place / (file_names.numbered_name(stem, taken) + suffix)
        target.take_in(file)
        durable.flush_folder(file.parent)
        return f"{TRASH}/{target.name}"

    def clear(self, place: str, raw: bytes) -> None:
        """Take out what was put back from elsewhere, if it is still the same."""
        trashed = self.place / posixpath.basename(place)
        with contextlib.suppress(OSError, VaultmemError):
            if trashed.read() == raw:
                trashed.remove()
