"""Files that get another name, canvases that name them, and the last renaming, to be undone."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from vaultmem.base import durable
from vaultmem.errors import Busy, VaultmemError
from vaultmem.notes.file_names import name_key
from vaultmem.storage.store import Store, StoredNote


@dataclass
class RenameRecord:
    """A renaming: what it changed is noted before it happens, so that it can be completed by the
    same call and undone by another, wherever it was stopped."""

    old: str
    new: str
    changes: list[tuple[str, str, str]] = field(default_factory=list)  # path, version before, after


class Renames:
    def __init__(self, store: Store) -> None:
        self._store = store

    def move(self, old: str, new: str) -> StoredNote:
        """Give a note's file another name in its folder, which no other file has."""
        self._store.require_writable()
        paths = self._store.paths
        paths.require_changeable(old)
        file, target = paths.locate(old), paths.new_file(new)
        with self._store.writing(), durable.disk_errors_explained(f"Renaming {old}"):
            if name_key(old) != name_key(new):  # else only its case is another
                paths.refuse_clash(new, target)
            os.rename(file, target)
            durable.flush_folder(target.parent)
        self._store.home.add(new)
        return self._store.read(new)

    def canvas_bytes(self, path: str) -> bytes:
        return self._store.paths.locate(path).read_bytes()

    def rewrite_canvas(self, path: str, change: Callable[[bytes], bytes]) -> bytes:
        """The one thing that is ever changed in a canvas: where it names a renamed note."""
        self._store.require_writable()
        file = self._store.paths.locate(path)
        for _ in range(5):
            with self._store.writing(), durable.disk_errors_explained(f"Writing {path}"):
                raw = file.read_bytes()
                after = change(raw)
                if after == raw or durable.replace_durably(file, after, raw):
                    return after
        raise Busy(f"{path} is being changed again and again; try again in a moment.")

    # --- the last one --------------------------------------------------------------------

    def keep(self, record: RenameRecord | None) -> None:
        place = self._store.local() / "last-rename.json"
        place.write(json.dumps(asdict(record) if record else None).encode())

    def last(self) -> RenameRecord | None:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, VaultmemError):
            found = json.loads((self._store.local() / "last-rename.json").read())
            changes = [(str(path), str(old), str(new)) for path, old, new in found["changes"]]
            return RenameRecord(str(found["old"]), str(found["new"]), changes)
        return None
