"""The daily note of today: where it is, and what it begins with where it is not there yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vaultmem.base.local_time import local_now
from vaultmem.errors import AlreadyExists, InvalidInput, NotFound, VaultmemError
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.daily.template import TemplateValues, filled_template, has_foreign_commands
from vaultmem.notes.file_names import name_key
from vaultmem.notes.note import Note, note_bytes, note_title, parse
from vaultmem.operations import references
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing, Written
from vaultmem.storage.no_memories import template_text
from vaultmem.storage.vault_settings.daily_notes import DailyNoteSettings, daily_note_settings


class DailyDraft(NamedTuple):
    """A daily note as its template has it, before anything is written."""

    note: Note
    warnings: tuple[str, ...]


class DailyNotes:
    """The day is that of this machine's clock, where a person would look at it."""

    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    def draft(self, ref: str, expected_version: str | None) -> DailyDraft | None:
        """What today's note would begin with; None where it is there, or another one is meant."""
        if not references.names_today(ref):
            return None
        self._writing.require_writable()
        if self._view.is_note_of_today_there(ref):
            return None
        settings = daily_note_settings(self._view.root)
        path = settings.note_path(local_now())
        try:
            self._view.store.paths.new_file(path)
        except VaultmemError as error:
            raise type(error)(f"{error} {_said_by(settings)} Nothing was written.") from None
        if expected_version:
            raise NotFound(f"There is no {path} yet, so it has no version; leave that out.")
        text, warnings = self._template_text(settings, path)
        return DailyDraft(parse(note_bytes(text), path, self._view.settings.properties), warnings)

    def _template_text(self, settings: DailyNoteSettings, path: str) -> tuple[str, tuple[str, ...]]:
        if not settings.template:
            return "", ()
        place = "/".join(step for step in settings.template.split("/") if step)
        place = place if name_key(place).endswith(".md") else f"{place}.md"
        try:
            raw = template_text(self._view.store, place)
        except VaultmemError as error:
            told = f"template_missing: {str(error).rstrip('.')}; the note was made without it"
            return "", (told,)
        values = TemplateValues(
            local_now(),
            note_title(path),
            settings.date_format,
            settings.time_format,
            settings.other_days,
        )
        text = filled_template(raw.decode("utf-8", "surrogateescape"), values)
        told = (
            f"template_commands: those in {place} are for Templater, which alone carries them out"
        )
        return text, (told,) if has_foreign_commands(text) else ()

    def make(self, draft: DailyDraft, change: Callable[[Note], Note]) -> Written | None:
        """Make the note with its first change; None where somebody else has made it meanwhile."""
        after = change(draft.note)
        if not self._view.is_visible(after):
            raise InvalidInput(
                f"The daily note {after.path} would belong to another project or user than this "
                "server is bound to, so it was not made."
            )
        try:
            return self._writing.make_note(draft.note, after, "update")
        except AlreadyExists:
            if self._view.store.stat(draft.note.path) is None:
                raise  # under nearly the same name, or a link
            return None

    def warnings(self, ref: str, draft: DailyDraft | None, note: Note) -> tuple[str, ...]:
        """What a receipt says of the template, and of who else reads the note."""
        told = draft.warnings if draft else ()
        if not references.names_today(ref) or not self._view.is_bound():
            return told
        whose = attributes_of(note, self._view.settings)
        if whose["project"] or whose["user"]:
            return told
        shared = f"shared_note: {note.path} belongs to no project or user; all who share the vault"
        return (*told, f"{shared} can read it")


def _said_by(settings: DailyNoteSettings) -> str:
    if not settings.origin:
        return "That is where Obsidian keeps daily notes without a setting."
    return f"That is where {settings.origin} has daily notes."
