"""A text that is stored although it is known: the same text is one note."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from vaultmem.base.words import PLAIN_WORD
from vaultmem.notes.edit import AddItems, NoteEdit, RemoveProperty, SetProperty
from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.naming.title_origin import is_derived
from vaultmem.notes.note import Note, note_version, words_digest
from vaultmem.operations.results import Remembered, Similar, note_identity
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.paths import VOLATILE

if TYPE_CHECKING:
    from concurrent.futures import Future

    from vaultmem.index import CatalogRow

_FORGOTTEN: Final = ("forgotten", "forgotten_at", "forgotten_reason")
_NO_MEMORIES: Final = ("entity", "session")


class KnownTexts:
    """Finds the note that has exactly this text, for the same user, project, session and room, and
    adds to it what came with the text the second time."""

    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    def find(
        self, text: str, words: bytes, values: Mapping[str, WritableValue], title: str
    ) -> Note | None:
        filters = self._view.filters(scope=str(values["scope"]), include_forgotten=True)
        first = PLAIN_WORD.search(text)
        rows = self._view.gaps.with_words(words, first[0] if first else "", filters)
        for row in rows:
            if not self._is_at_home(row, values) or not self._stays(row.path):
                continue
            note = self._view.store.note(row.path)
            if note.get("superseded_by") is not None:
                continue  # what was replaced, and is said again, holds again: it is news
            if not self._view.is_visible(note) or words_digest(note.body) != words:
                continue
            if not title or _has_title(note, title) or is_derived(note.id, note.title):
                return note
        return None

    def _stays(self, path: str) -> bool:
        """A session's note is held before it is told as stored, as if it had been written: else it
        goes with the process that did write it."""
        if not path.startswith(VOLATILE):
            return True
        self._writing.hold_folder(posixpath.dirname(path))
        return self._view.store.is_there(path)

    def _is_at_home(self, row: CatalogRow, values: Mapping[str, WritableValue]) -> bool:
        pairs = (
            (row.project, values["project"]),
            (row.user, self._view.caller.user),
            (row.room, values["room"]),
            (row.session if row.scope == "session" else "", _session_of(values)),
        )
        same = all(one.casefold() == str(other or "").casefold() for one, other in pairs)
        return same and row.type not in _NO_MEMORIES

    def again(
        self,
        note: Note,
        values: Mapping[str, WritableValue],
        title: str,
        similar: Future[tuple[Similar, ...]],
    ) -> Remembered:
        """The receipt; written is only what is new, and into a person's own note nothing."""
        forgotten = note.flag("forgotten")
        changes = list(_what_is_new(note, values, title))
        warnings: tuple[str, ...] = ()
        path, version, after = note.path, note_version(note.raw), note
        if changes and not note.id and not forgotten:
            warnings = (f"own_note: {path} is a person's own note; its properties were left.",)
        elif changes:
            written = self._writing.edit_note(note, "update", *changes)
            path, version, after = written.path, written.version, written.note
            warnings = (written.behind,) if written.behind else ()
        if str(values["type"]) != after.string("type") and note.id:
            said = after.string("type") or "semantic"
            warnings += (f"known_type: it is {said} there; its type was left.",)
        self._view.parts.authorship.show(self._view.caller, path, after.body, version)
        embedded = self._view.parts.loaded_embedder() is not None
        return Remembered(
            memory_id=note_identity(after),
            path=path,
            title=after.shown_title,
            type=after.string("type") or str(values["type"]),
            scope=str(values["scope"]),
            version=version,
            embedding_generated=False,
            graph_edges_created=0,
            searchable="now" if embedded else "text",
            similar=tuple(each for each in similar.result() if each.path != path)[:3],
            created=False,
            status="revived" if forgotten else "known",
            project=str(values["project"] or "") or None,
            warnings=warnings,
        )


def _session_of(values: Mapping[str, WritableValue]) -> WritableValue:
    return values["session"] if values["scope"] == "session" else ""


def _has_title(note: Note, title: str) -> bool:
    names = {name_key(name) for name in (note.title, *note.aliases)}
    return bool(names & {name_key(title), name_key(safe_name(title))})


def _what_is_new(note: Note, values: Mapping[str, WritableValue], title: str) -> list[NoteEdit]:
    found: list[NoteEdit] = [
        SetProperty(name, values[name])
        for name in ("importance", "confidence")
        if values[name] is not None and values[name] != note.number(name)
    ]
    given = tuple(cast("list[str]", values["tags"] or []))
    if {tag.casefold() for tag in given} - {tag.casefold() for tag in note.tags}:
        found.append(AddItems("tags", given))
    for name, links in remembered_links(values):
        if set(map(str, links)) - set(note.strings(name)):
            found.append(AddItems(name, links))
    if title and not _has_title(note, title):
        found.append(AddItems("aliases", (title,)))
    return found + [RemoveProperty(n) for n in _FORGOTTEN if note.key_of(n) is not None]


def remembered_links(
    values: Mapping[str, WritableValue],
) -> list[tuple[str, tuple[WritableValue, ...]]]:
    """The lists of links to entities among the properties, each with its relationship."""
    return [
        (name, tuple(value))
        for name, value in values.items()
        if isinstance(value, list) and value and str(value[0]).startswith("[[")
    ]
