"""What agents would store, where a person wants to see it first: found by nobody until accepted.

A proposed memory is a note in a folder that is no memory. Whoever accepts it gives it its place,
with the id that the agent was told. One that was rejected stays there and says so, so the same
text is not proposed again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vaultmem import config
from vaultmem.base.local_time import moment
from vaultmem.base.own_program import command_to_type
from vaultmem.config import PROPOSED
from vaultmem.errors import NotFound, VaultmemError
from vaultmem.limits import bounded
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.edit import RemoveProperty, SetProperty, edited_note, note_from_nothing
from vaultmem.notes.file_names import name_key, unique_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.naming.title_origin import new_id
from vaultmem.notes.note import Note, words_digest
from vaultmem.operations.input import now_utc
from vaultmem.operations.results import Remembered, Result, Similar, content_of
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.store import Store

_WAITS = "proposed: it waits for a person to accept it ({}). Until then nobody finds it."
_REJECTED = "rejected: a person has rejected this text before, so it was not proposed again."


@dataclass(eq=False, repr=False)
class ProposedMemory(Result):
    id: str
    path: str
    title: str
    content: str
    type: str
    tags: tuple[str, ...]
    version: str
    proposed_at: dt.datetime | None = None
    source: str | None = None
    project: str | None = None


@dataclass(eq=False, repr=False)
class Decided(Result):
    memory_id: str
    path: str
    decision: str  # "accepted", "rejected" or "proposed" again
    version: str


class Proposals:
    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    def are_wanted(self, scope: str, project: str) -> bool:
        """Of an agent's memories, unless they end with their session."""
        settings, client = self._view.settings, self._view.caller.client
        if not settings["review.new"] or scope == "session":
            return False
        if not (client or config.surroundings().session):
            return False
        projects, clients = settings["review.projects"], settings["review.clients"]
        if not projects and not clients:
            return True
        return project.casefold() in map(str.casefold, projects) or any(
            client.casefold().startswith(each.casefold()) for each in clients
        )

    def propose(
        self,
        name: str,
        text: str,
        values: Mapping[str, WritableValue],
        similar: tuple[Similar, ...],
    ) -> Remembered:
        """The same text, or another one under the same key, stays one proposal."""
        self._writing.require_writable()
        known = self._known(text, str(values["key"] or ""))
        if known is not None:
            note = known
            if not _is_rejected(note) and words_digest(note.body) != words_digest(text):
                note = self._changed(note, text)
            return self._receipt(note, values, similar)
        properties = {"id": new_id(name), **values, "created": now_utc()}
        kept = {key: value for key, value in properties.items() if value not in (None, "", [], ())}
        made = note_from_nothing(kept, text + "\n", names=self._view.settings.properties)
        stored = self._store().create(f"{PROPOSED}/{self._free_name(name)}.md", made.raw)
        self._writing.record_write(stored.path, stored.version, "propose", str(kept["id"]))
        return self._receipt(self._store().note(stored.path), values, similar)

    def proposed(self) -> tuple[ProposedMemory, ...]:
        """What waits, the oldest first, as far as it is this caller's."""
        found = [_shown(note) for note in self._notes() if not _is_rejected(note)]
        return tuple(sorted(found, key=lambda each: (str(each.proposed_at), each.path)))

    @bounded()
    def accept(self, item: str) -> Decided:
        """From now on it is a memory, and is found."""
        note = self._note(item)
        gone = [n for n in ("rejected", "rejected_at", "rejected_reason") if note.key_of(n)]
        after = edited_note(note, *map(RemoveProperty, gone)) if gone else note
        known = attributes_of(note, self._view.settings)
        folder = self._writing.memory_folder(known["scope"], known["project"])
        written = self._writing.place_note(folder, note.title, after)
        self._store().remove(note.path)
        return Decided(note.id, written.path, "accepted", written.version)

    @bounded()
    def reject(self, item: str, *, reason: str | None = None) -> Decided:
        """It stays where it is, and the same text is not proposed again."""
        why = [SetProperty("rejected_reason", reason.strip())] if reason and reason.strip() else []
        stamps = (SetProperty("rejected", True), SetProperty("rejected_at", now_utc()))
        return self._decided(self._note(item), "rejected", *stamps, *why)

    @bounded()
    def reconsider(self, item: str) -> Decided:
        """Take back that it was rejected, or accepted."""
        try:
            note = self._note(item)
        except NotFound:
            return self._proposed_again(self._writing.note_to_change(item))
        names = ("rejected", "rejected_at", "rejected_reason")
        return self._decided(
            note, "proposed", *(RemoveProperty(n) for n in names if note.key_of(n))
        )

    def _proposed_again(self, note: Note) -> Decided:
        """A memory becomes what it was before it was accepted."""
        stored = self._store().create(f"{PROPOSED}/{self._free_name(note.title)}.md", note.raw)
        self._writing.trash_note(note, "remove")
        self._writing.record_write(stored.path, stored.version, "propose", note.id)
        return Decided(note.id, stored.path, "proposed", stored.version)

    def _decided(
        self, note: Note, decision: str, *changes: SetProperty | RemoveProperty
    ) -> Decided:
        self._writing.require_writable()

        def change(current: Note) -> bytes:
            self._view.parts.history.take(current, decision)
            return edited_note(self._view.require_visible(current), *changes).raw

        stored = self._store().update(note.path, change)
        self._writing.record_write(note.path, stored.version, decision, note.id)
        return Decided(note.id, note.path, decision, stored.version)

    def _changed(self, note: Note, text: str) -> Note:
        from vaultmem.notes.edit import ReplaceBody

        def change(current: Note) -> bytes:
            self._view.parts.history.take(current, "propose")
            return edited_note(current, ReplaceBody(text + "\n")).raw

        return self._store().note(self._store().update(note.path, change).path)

    def _receipt(
        self, note: Note, values: Mapping[str, WritableValue], similar: tuple[Similar, ...]
    ) -> Remembered:
        rejected = _is_rejected(note)
        return Remembered(
            memory_id=note.id,
            path=note.path,
            title=note.shown_title,
            type=str(values["type"]),
            scope=str(values["scope"]),
            version=_shown(note).version,
            embedding_generated=False,
            graph_edges_created=0,
            searchable="soon",
            similar=similar,
            created=not rejected,
            status="rejected" if rejected else "proposed",
            project=str(values["project"] or "") or None,
            warnings=(_REJECTED if rejected else _WAITS.format(command_to_type("review")),),
        )

    # --- the folder ------------------------------------------------------------------------

    def _store(self) -> Store:
        """The vault's own leaves the folder out, as it has no memories."""
        return Store(self._view.store.root, self._view.settings)

    def _notes(self) -> Iterator[Note]:
        store = self._store()
        for file in sorted(self._folder().glob("*.md")):
            try:
                note = store.note(f"{PROPOSED}/{file.name}")
            except VaultmemError:
                continue
            if note.id and self._view.is_visible(note):
                yield note

    def _note(self, item: str) -> Note:
        self._writing.require_writable()
        wanted = item.strip().upper()
        for note in self._notes():
            if note.id.upper() == wanted:
                return note
        raise NotFound(f"Nothing is proposed under {item!r} any more.")

    def _known(self, text: str, key: str) -> Note | None:
        digest = words_digest(text)
        for note in self._notes():
            if words_digest(note.body) == digest or (key and note.string("key") == key):
                if not (_is_rejected(note) and words_digest(note.body) != digest):
                    return note
        return None

    def _free_name(self, name: str) -> str:
        return unique_name(name, {name_key(path.stem) for path in self._folder().glob("*.md")})

    def _folder(self) -> Path:
        return self._view.store.root / PROPOSED


def _is_rejected(note: Note) -> bool:
    return note.flag("rejected")


def _shown(note: Note) -> ProposedMemory:
    from vaultmem.notes.note import note_version

    return ProposedMemory(
        note.id,
        note.path,
        note.shown_title,
        content_of(note),
        note.string("type"),
        note.tags,
        note_version(note.raw),
        moment(note.string("created")) if note.string("created") else None,
        note.string("source") or None,
        note.string("project") or None,
    )
