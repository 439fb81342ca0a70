"""The note behind an id, a vault path, a key, a title or an alias; never a guess between two."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from vaultmem.errors import InvalidInput, NotFound, VaultmemError
from vaultmem.index import Filters, Index
from vaultmem.notes.file_names import (
    copy_rank_of_name,
    escaped_name,
    is_readable_name,
    is_unicode_name,
    name_key,
)
from vaultmem.notes.note import Note, note_title
from vaultmem.storage.store import Store, StoredNote

ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z", re.IGNORECASE)
_LIKE_AN_ID: Final = re.compile(r"[0-7][0-9A-Z]{22,28}\Z", re.IGNORECASE)  # letters may be wrong
Visible = Callable[[Note], bool]
_COMPARED: Final = 3_000  # titles, letter by letter
_FOLDERS: Final = 1_000  # that are looked into
TODAY: Final = "@today"  # the daily note


def plain_reference(ref: str) -> str:
    ref = ref.strip().removeprefix("memory:").strip()
    if ref.startswith("[[") and ref.endswith("]]"):
        ref = ref[2:-2].partition("|")[0].partition("#")[0].strip()
    if not is_unicode_name(ref):
        raise NotFound(f"{escaped_name(ref)} is not UTF-8, and no memory has such a name.")
    if not ref:
        raise InvalidInput("Name a memory by its id, its path in the vault or its title.")
    return ref


def is_id_of_ours(id: str) -> bool:
    """Whether we gave it: people number their own notes in other ways, if they do."""
    return ULID.match(id) is not None


def names_today(ref: str) -> bool:
    """Whether the daily note is meant; a note that is called Today goes before, without the @."""
    return ref.strip().casefold() in (TODAY, TODAY[1:])


def find_referenced_note(store: Store, index: Index | None, ref: str, visible: Visible) -> Note:
    """By the index where there is one, else by looking through the files.

    The index only proposes: the file decides whether it is the one.
    """
    given, ref = ref, plain_reference(ref)
    if given != ref and store.stat(given) is not None:  # a name may begin or end with a blank
        ref = given
    if "/" in ref or "\\" in ref or is_readable_name(ref):
        if found := _note_at_reference(store, ref, visible):
            return found
    elif index is None:
        return _one_referenced_note(_notes_referenced_in_files(store, ref), ref, visible)
    proposed = index.lookup.find(ref) if index else []
    notes = [note for note in _readable_references(store, proposed) if _is_referenced_by(note, ref)]
    if not any(map(visible, notes)) and not ULID.match(ref):
        # The index may be behind.
        notes += _readable_references(store, _paths_beside_index(store, index, ref))
    return _one_referenced_note(notes, ref, visible)


def _note_at_reference(store: Store, ref: str, visible: Visible) -> Note | None:
    for path in (ref, ref + ".md"):
        if store.is_there(path):
            with contextlib.suppress(NotFound):
                note = store.note(path)
                return note if visible(note) else None
    store.paths.locate(ref)  # says what is wrong with a path that leads out of the vault
    name = ref if is_readable_name(ref) else f"{ref}.md"
    if not store.paths.is_memory(name):  # and never whether there is such a file
        raise NotFound(
            f"{ref} is no memory: it is a template, or the settings exclude it, or Obsidian's do."
        )
    return None


def _one_referenced_note(notes: Iterable[Note], ref: str, visible: Visible) -> Note:
    seen = {note.path: note for note in notes if visible(note)}
    if not seen:
        raise NotFound(f"There is no memory with the id, path, key, title or alias {ref!r}.")
    if len(seen) > 1 and not all(note.id.upper() == ref.upper() for note in seen.values()):
        places = ", ".join(sorted(seen))
        raise InvalidInput(f"{ref!r} could be any of these notes; name one by its path: {places}")
    return min(seen.values(), key=lambda note: (copy_rank_of_name(note.title), note.path))


def _is_referenced_by(note: Note, ref: str) -> bool:
    named = {name_key(name) for name in (note.title, *note.aliases, note.shown_title)}
    return ref.upper() == note.id.upper() or ref == note.string("key") or name_key(ref) in named


def _paths_beside_index(store: Store, index: Index | None, ref: str) -> list[str]:
    """Notes with this title: of a small vault all, of a large one those just so in a folder that
    the index knows."""
    if index is None or index.size <= _COMPARED:
        return _paths_titled_by_reference(store, ref)
    paths = (f"{folder}{ref}.md" for folder in ("", *index.lookup.folders()[:_FOLDERS]))
    return [path for path in paths if store.stat(path) is not None]


def _paths_titled_by_reference(store: Store, ref: str) -> list[str]:
    wanted = name_key(ref)
    return [path for path in store.walk().notes if name_key(note_title(path)) == wanted]


def _notes_referenced_in_files(store: Store, ref: str) -> list[Note]:
    """Without any index: titles first, then every note's id, key and aliases."""
    if named := list(_readable_references(store, _paths_titled_by_reference(store, ref))):
        return named
    needle = ref.upper().encode()
    likely = (s for s in _stored_references(store, store.walk().notes) if needle in s.raw.upper())
    return [note for note in map(store.parse, likely) if _is_referenced_by(note, ref)]


def _readable_references(store: Store, paths: Iterable[str]) -> Iterator[Note]:
    return (store.parse(stored) for stored in _stored_references(store, paths))


def _stored_references(store: Store, paths: Iterable[str]) -> Iterator[StoredNote]:
    """The notes that can be read; one that cannot does not hide the others."""
    for path in paths:
        with contextlib.suppress(VaultmemError):
            yield store.read(path)


def titles_near_reference(index: Index, ref: str, filters: Filters) -> list[str]:
    """Titles of a few notes that the reference may have meant."""
    from vaultmem.base.differences.line_difference import close_names

    if _LIKE_AN_ID.match(ref):
        return index.lookup.titles_near_id(ref, filters)
    close = close_names(ref, index.lookup.titles(filters, _COMPARED), 3, 0.6)
    if not close:
        hits = index.search_text(ref, filters, 3)
        rows = index.lookup.rows([note for note, _ in hits.notes])
        close = [rows[note].title for note, _ in hits.notes if note in rows]
    return list(dict.fromkeys(close))
