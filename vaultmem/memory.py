"""What one can do with memories."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final

from vaultmem.errors import InvalidInput, NotFound, OutsideVault, VaultmemError
from vaultmem.names import copy_rank, name_key
from vaultmem.note import Note
from vaultmem.store import Store, Stored

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
        aliased = (store.parse(stored) for stored in _readable(store, notes))
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
    """The note with this id; of several, the one that is not named like a copy."""
    needle = wanted.upper().encode()
    likely = (s for s in _readable(store, paths) if needle in s.raw[:4096].upper())
    found = [note for note in map(store.parse, likely) if note.id.upper() == wanted.upper()]
    return min(found, key=lambda note: (copy_rank(note.title), note.path), default=None)


def _readable(store: Store, paths: Iterable[str]) -> Iterator[Stored]:
    """The notes that can be read; one that cannot does not hide the others."""
    for path in paths:
        with contextlib.suppress(VaultmemError):
            yield store.read(path)


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
