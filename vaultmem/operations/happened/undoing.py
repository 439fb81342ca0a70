"""Taking back what was done last to a note, by whomever it was done."""

from __future__ import annotations

from dataclasses import dataclass

from vaultmem.errors import Conflict, NotFound
from vaultmem.limits import bounded
from vaultmem.notes.note import note_version
from vaultmem.operations.forget import Forgetting
from vaultmem.operations.versions import VersionHistory
from vaultmem.operations.view import View


@dataclass(frozen=True, slots=True)
class Undone:
    memory_id: str
    path: str
    action: str  # what was taken back
    version: str | None  # of the note as it is now; None where it lies in the trash
    again: str | None  # the version that `restore` goes back to, should this be regretted


class Undoing:
    def __init__(self, view: View, versions: VersionHistory, forgetting: Forgetting) -> None:
        self._view = view
        self._versions = versions
        self._forgetting = forgetting

    @bounded()
    def undo(self, memory_id: str, version: str | None = None) -> Undone:
        """What made this version is taken back, as long as nothing came after it. A memory that
        was new goes to the trash, one that was removed comes back."""
        try:
            note = self._view.visible_note(memory_id)
        except NotFound:
            done = self._versions.restore(memory_id)
            return Undone(done.memory_id, done.path, done.action, done.version, None)
        present = note_version(note.raw)
        if version and version != present:
            raise Conflict(
                f"{note.path} was changed since. Its history has every version; go back to one.",
                text=note.text,
                version=present,
            )
        if note.id and len(self._versions.history(memory_id).versions) == 1:
            gone = self._forgetting.remove(memory_id, expected_version=present)
            return Undone(gone.memory_id, gone.path, "add", None, present)
        back = self._versions.restore(memory_id)
        return Undone(back.memory_id, back.path, back.action, back.version, present)
