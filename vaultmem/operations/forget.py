"""Looking after memories: forgetting, promoting, pruning, and taking any of it back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vaultmem.base.local_time import moment_since
from vaultmem.errors import Conflict, InvalidInput
from vaultmem.index import CatalogRow
from vaultmem.limits import WORD, bounded
from vaultmem.notes.attributes import MEMORY_SCOPES, MEMORY_TYPES, attributes_of
from vaultmem.notes.edit import NoteEdit, RemoveProperty, SetProperty, edited_note
from vaultmem.notes.note import Note, note_version
from vaultmem.notes.tags import tag_key
from vaultmem.operations.input import now_utc, require_one_of
from vaultmem.operations.references import is_id_of_ours
from vaultmem.operations.results import (
    Forgotten,
    Promoted,
    Pruned,
    PrunedNote,
    Removed,
    note_identity,
    row_moment,
)
from vaultmem.operations.writing import WritingGroup, Written
from vaultmem.storage.paths import VOLATILE


class Forgetting(WritingGroup):
    @bounded()
    def forget(
        self, memory_id: str, *, reason: str | None = None, expected_version: str | None = None
    ) -> Forgotten:
        """Leave a memory out of recall; the note stays, and `restore` takes it back."""
        note = self._writing.note_to_change(memory_id)
        why = self._input.property_line(reason or "", "reason")
        if note.flag("forgotten") and expected_version in (None, note_version(note.raw)):
            told = note.string("forgotten_reason") or None
            version = note_version(note.raw)
            return Forgotten(note_identity(note), note.path, "forgotten", version, told)
        changes: list[NoteEdit] = [
            SetProperty("forgotten", True),
            SetProperty("forgotten_at", now_utc()),
        ]
        if why:
            changes.append(SetProperty("forgotten_reason", why))
        written = self._writing.edit_note(note, "forget", *changes, expect=expected_version)
        path, version = written.path, written.version
        return Forgotten(note_identity(note), path, "forgotten", version, why or None)

    @bounded()
    def promote(
        self,
        memory_id: str,
        target_scope: str,
        *,
        reason: str | None = None,
        expected_version: str | None = None,
    ) -> Promoted:
        """From a session to its project, or to all of the user's work."""
        require_one_of(target_scope, ("project", "user"), "target_scope")
        note = self._writing.note_to_change(memory_id)
        known = attributes_of(note, self._view.settings)
        before = known["scope"]
        rank = {name: i for i, name in enumerate(MEMORY_SCOPES)}
        if rank.get(before, 0) >= rank[target_scope]:
            raise InvalidInput(
                f"This memory has scope {before} already; promote it to a broader one, or leave it."
            )
        why = self._input.property_line(reason or "", "reason") or None
        changes: list[NoteEdit] = [SetProperty("scope", target_scope)]
        if why:
            changes.append(SetProperty("promoted_reason", why))
        project = ""
        if target_scope == "project":
            named = self._input.property_line(known["project"], "project", 100)
            project = self._view.own_project(named)
        if project:
            changes.append(SetProperty("project", project))
        drop = () if target_scope == "project" else ("project",)
        gone = [name for name in ("session", *drop) if note.key_of(name) is not None]
        kept = () if before == "session" else ("session",)
        changes += [RemoveProperty(name) for name in gone if name not in kept]
        if note.path.startswith(VOLATILE):
            written = self._settle_promoted(note, changes, project, expected_version)
        else:
            written = self._writing.edit_note(note, "promote", *changes, expect=expected_version)
        path, version = written.path, written.version
        return Promoted(note_identity(note), path, before, target_scope, version, why)

    def _settle_promoted(
        self, note: Note, changes: Sequence[NoteEdit], project: str, expect: str | None
    ) -> Written:
        """Give a volatile note a place in the vault; it keeps its id."""
        if expect is not None and note_version(note.raw) != expect:
            changed, version = f"{note.path} was changed meanwhile.", note_version(note.raw)
            raise Conflict(changed, text=note.text, version=version)
        self._view.parts.history.take(note, "promote")
        after = edited_note(note, *changes)
        folder = self._writing.memory_folder("project", project)
        return self._writing.place_note(
            folder, note.title, after, instead_of=note.path, action="promote"
        )

    # --- clearing up ---------------------------------------------------------------------

    @bounded()
    def remove(self, memory_id: str, *, expected_version: str | None = None) -> Removed:
        """Move one memory to the trash."""
        note = self._writing.note_to_change(memory_id)
        self._writing.trash_note(note, "remove", expected_version)
        return Removed(note_identity(note), note.path, f"restore_memory {note_identity(note)}")

    @bounded(scope=WORD)
    def prune(
        self,
        scope: str,
        *,
        key: str | None = None,
        older_than: str | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Move memories that agents wrote to the trash; notes that people wrote are never pruned."""
        require_one_of(scope, MEMORY_SCOPES, "scope")
        if not dry_run:
            self._writing.require_writable()
        if scope != "session" and not (key or older_than or tags or project):
            raise InvalidInput(
                f"Pruning all memories of scope {scope} at once is refused; narrow it with key, "
                "older_than, tags or project."
            )
        limit = _prune_cutoff(older_than, now_utc())
        filters = self._view.filters(
            scope=scope, type=MEMORY_TYPES, project=project, include_forgotten=True
        )
        self._view.gaps.warnings()
        rows, _ = self._view.gaps.select(filters, "created")
        wanted = set(map(tag_key, tags))
        chosen = [
            row
            for row in rows
            if is_id_of_ours(row.id)
            and (not key or key == (row.key or row.id))
            and wanted <= {tag.casefold() for tag in row.tags}
            and (limit is None or row_moment(row) < limit)
        ]
        gone = [self._prune_row(row, dry_run=dry_run) for row in chosen]
        return Pruned(len(gone), tuple(gone), dry_run)

    def _prune_row(self, row: CatalogRow, *, dry_run: bool) -> PrunedNote:
        if dry_run:
            return PrunedNote(row.id, row.path, row.title)
        self._writing.trash_note(self._view.store.note(row.path), "prune")
        return PrunedNote(row.id, row.path, row.title, f"restore_memory {row.id}")


def _prune_cutoff(older_than: str | None, now: dt.datetime) -> dt.datetime | None:
    if not older_than:
        return None
    found = None if older_than.strip().isalpha() else moment_since(older_than, now)
    if found:  # an age or a date: what is deleted is not left to a word
        return found
    raise InvalidInput(
        f"older_than must be a date like 2026-01-31 or an age like 30d, not {older_than!r}."
    )
