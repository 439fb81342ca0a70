"""What a session's journal tells of the work: asked for, changed, failed, left, ended.

A few lines that grow and a summary that follows them, so that the note reads well whenever the
session stops being told about. Texts come from programs' outputs and from models: they are
cleaned whole, and only then cut and quoted.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from vaultmem.base.local_time import look_up_zone
from vaultmem.errors import NotFound
from vaultmem.notes import journal
from vaultmem.notes.journal_text import work_lines
from vaultmem.notes.note import Note
from vaultmem.operations.agent_work.work_telling import LineMaker, WorkTelling
from vaultmem.operations.sessions import LoggedObservation
from vaultmem.operations.writing import WritingGroup

if TYPE_CHECKING:
    from vaultmem.operations.input import Input
    from vaultmem.operations.sessions import Sessions
    from vaultmem.operations.view import View
    from vaultmem.operations.writing import Writing


class SessionWork(WritingGroup, WorkTelling):
    def __init__(self, view: View, writing: Writing, input: Input, sessions: Sessions) -> None:
        super().__init__(view, writing, input)
        self._sessions = sessions

    def has_journal(self, session: str) -> bool:
        return self._sessions.has_journal(session)

    def write_line(
        self, session: str, make: LineMaker, *, begin: bool = True
    ) -> LoggedObservation | None:
        """The line in the journal, as it is when nobody else writes in it; none where there is
        nothing new to say, or no journal and no reason to begin one."""
        self._writing.require_writable()
        block = said = ""

        def change(note: Note) -> Note | bytes:
            nonlocal block, said
            line = make(journal.journal_entries(note))
            if line is None:
                block = ""
                return note
            block, after = _with_line(note, line)
            said = line.text
            return journal.note_with_fresh_summary(note, after)

        for again in (False, True):
            if not begin and not self.has_journal(session):
                return None
            if again:  # moved or deleted by a person a moment ago
                self._view.parts.reconciler.everything()
            try:
                path, behind = self._sessions.change_journal(
                    self._sessions.open_journal(session), change, lambda: said
                )
            except NotFound:
                continue
            warnings = (behind,) if behind else ()
            return LoggedObservation(block, session, path, warnings) if block else None
        return None


def _with_line(note: Note, line: work_lines.WorkLine) -> tuple[str, Note]:
    """The entry's id, and the journal with the line in the entry's place or at the log's end."""
    from vaultmem.notes.note import parse

    if line.instead_of:
        changed = journal.journal_with_entry_text(note, line.instead_of, line.text)
        if changed is not None:
            return line.instead_of, changed
    now = dt.datetime.now(dt.UTC)
    look_up_zone()
    block = journal.new_entry_id(now)
    entry = journal.journal_entry(now, line.kind, line.text, (), block)
    raw = journal.append_journal_entry(note, entry)
    return block, parse(raw, note.path, note.names)
