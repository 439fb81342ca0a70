"""Notes that are no memories, for what they are read nevertheless: no answer has their text."""

from __future__ import annotations

import contextlib

from vaultmem.errors import NotFound, VaultmemError
from vaultmem.storage.store import Store, StoredNote


def template_text(store: Store, path: str) -> bytes:
    """What a new note begins with, where Obsidian's settings name a template for it."""
    file = store.paths.readable(path)
    if not store.paths.may_begin_notes(path):
        raise NotFound(f"{path} is kept away by the settings.")
    return store.read_settled(path, file).raw


def shared_file(store: Store, path: str) -> StoredNote:
    """A note as git shares it with the person's other machines, whether it is a memory or not;
    nothing of its text may be told."""
    return store.read_settled(path, store.paths.readable(path))


def lies_kept_away(store: Store, id: str) -> bool:
    """Whether a note that the settings keep away has this id: one that was moved there is not
    lost. Nothing else is read of it, and only when somebody asks for what is not there."""
    wanted = id.upper().encode()
    away = (path for path in store.walk().files if not store.paths.is_memory(path))
    for path in (path for path in away if path.endswith(".md")):
        with contextlib.suppress(VaultmemError):
            if wanted in store.read_settled(path, store.paths.readable(path)).raw.upper():
                return True
    return False
