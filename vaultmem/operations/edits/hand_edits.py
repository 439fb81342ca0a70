"""A note as a person edits it outside of an editor of files: its text, its project."""

from __future__ import annotations

from vaultmem.base.differences.text_difference import with_line_ends_of
from vaultmem.errors import Conflict, InvalidInput
from vaultmem.limits import OURS, bounded
from vaultmem.notes.edit import NoteEdit, RemoveProperty, SetProperty
from vaultmem.notes.note import note_version, printable
from vaultmem.operations.input import Input
from vaultmem.operations.memories import Memories
from vaultmem.operations.results import Updated, note_identity
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing


class HandEdits:
    def __init__(self, view: View, writing: Writing, input: Input, memories: Memories) -> None:
        self._view = view
        self._writing = writing
        self._input = input
        self._memories = memories

    @bounded(text=OURS)
    def edit_text(self, memory_id: str, text: str, expected_version: str) -> Updated:
        """The whole text as a field of a page left it, which knows one kind of line end: lines
        that were not touched keep theirs, byte for byte."""
        source = self._memories.source(memory_id, to_change=True)
        if source.version != expected_version:
            raise Conflict(
                f"{source.path} was changed while you edited it, so nothing was saved.",
                text=source.text,
                version=source.version,
            )
        if not can_be_edited_as_text(source.text):
            raise InvalidInput(
                f"{source.path} has bytes that a page cannot show. Edit it in your editor."
            )
        return self._memories.rewrite(
            memory_id, with_line_ends_of(source.text, text), expected_version
        )

    @bounded()
    def assign_project(
        self, memory_id: str, project: str, *, expected_version: str | None = None
    ) -> Updated:
        """Say whose project a note belongs to; an empty one: to none. The file stays where it is."""
        note = self._writing.note_to_change(memory_id)
        name = self._view.own_project(self._input.property_line(project, "project", 100))
        changes: list[NoteEdit]
        if name:
            changes = [SetProperty("project", name)]
            if note.string("scope") in ("", "user"):
                changes.append(SetProperty("scope", "project"))
        else:
            changes = [RemoveProperty("project")] if note.key_of("project") is not None else []
            if note.string("scope") == "project":
                changes.append(SetProperty("scope", "user"))
        if not changes:
            return Updated(note_identity(note), note.path, (), False, note_version(note.raw))
        written = self._writing.edit_note(note, "update", *changes, expect=expected_version)
        return Updated(note_identity(note), written.path, ("project",), False, written.version)


def can_be_edited_as_text(text: str) -> bool:
    """Whether a field of a page gives back what it was given."""
    return printable(text) == text and "\0" not in text
