"""What one can do with memories."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Final

from vaultmem.errors import InvalidInput, NotFound, OutsideVault
from vaultmem.names import name_key
from vaultmem.note import Note
from vaultmem.vault import Store

_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z", re.IGNORECASE)


def find(store: Store, ref: str) -> Note:
    """The note behind an id, a vault path, a title or an alias; never a guess between two."""
    ref = ref.strip().removeprefix("memory:")
    if not ref:
        raise InvalidInput("Name a note by its id, its path in the vault or its title.")
    if "/" in ref or "\\" in ref or ref.lower().endswith(".md"):
        return _by_path(store, ref)
    notes = store.walk().notes
    if _ULID.match(ref) and (found := _by_id(store, notes, ref)):
        return found
    named = [path for path in notes if name_key(_stem(path)) == name_key(ref)]
    if not named:
        wanted = name_key(ref)
        aliased = (store.note(path) for path in notes)
        named = [n.path for n in aliased if wanted in map(name_key, (*n.aliases, n.string("key")))]
    if len(named) > 1:
        places = ", ".join(sorted(named))
        raise InvalidInput(f"{ref!r} could be any of these notes; name one by its path: {places}")
    if not named:
        raise NotFound(f"There is no note with the id, path, title or alias {ref!r}.")
    return store.note(named[0])


def _by_path(store: Store, ref: str) -> Note:
    try:
        return store.note(ref)
    except (NotFound, OutsideVault):
        if ref.lower().endswith(".md"):
            raise
        return store.note(ref + ".md")


def _by_id(store: Store, paths: Iterable[str], wanted: str) -> Note | None:
    needle = wanted.upper().encode()
    for path in paths:
        stored = store.read(path)
        if needle in stored.raw[:4096].upper():
            note = store.parse(stored)
            if note.id.upper() == wanted.upper():
                return note
    return None


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
