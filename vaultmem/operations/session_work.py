"""What a session's journal tells of the work: asked for, changed, failed, left, ended.

A few lines that grow and a summary that follows them, so that the note reads well whenever the
session stops being told about. Texts come from programs' outputs and from models: they are
cleaned whole, and only then cut and quoted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base.local_time import look_up_zone
from vaultmem.errors import NotFound
from vaultmem.notes import journal
from vaultmem.notes.journal_text import work_lines
from vaultmem.notes.journal_text.plain_line import code_in_line, plain_line
from vaultmem.notes.markdown import Observation
from vaultmem.notes.note import Note
from vaultmem.operations.sessions import LoggedObservation
from vaultmem.operations.writing import WritingGroup

if TYPE_CHECKING:
    from vaultmem.operations.input import Input
    from vaultmem.operations.sessions import Sessions
    from vaultmem.operations.view import View
    from vaultmem.operations.writing import Writing

_COMMAND: Final = 120  # characters of a command, of a line of its output, and of an answer
_TOLD: Final = 200
_ENDING: Final = 320
LineMaker = Callable[[Sequence[Observation]], work_lines.WorkLine | None]


class SessionWork(WritingGroup):
    def __init__(self, view: View, writing: Writing, input: Input, sessions: Sessions) -> None:
        super().__init__(view, writing, input)
        self._sessions = sessions

    def note_change(
        self, session: str, path: str, *, new: bool, counted: bool
    ) -> LoggedObservation | None:
        """`counted` says that the file is known, whether it is named or not."""
        name = code_in_line(self._input.cleaned_line(path, _TOLD), _TOLD)
        if not name:
            return None
        return self._written(
            session, lambda said: work_lines.change_line(said, name, new=new, counted=counted)
        )

    def note_command(
        self, session: str, kind: str, run: work_lines.CommandRun, *, telling: bool
    ) -> LoggedObservation | None:
        command = code_in_line(self._input.cleaned_line(run.command, _COMMAND), _COMMAND)
        if not command:
            return None
        told = plain_line(self._input.cleaned_line(run.told, _TOLD), 2 * _TOLD)
        plain = run._replace(command=command, told=told)
        return self._written(
            session,
            lambda said: work_lines.command_line(said, kind, plain, telling=telling),
            begin=run.failed or telling,
        )

    def note_left(self, session: str, items: Sequence[str], *, begin: bool) -> None:
        """What is left to do now. Nothing begins a journal because of what an answer proposes."""
        if items or self._sessions.has_journal(session):
            self._written(session, lambda said: work_lines.open_line(said, items), begin=begin)

    def has_note(self, session: str) -> bool:
        return self._sessions.has_journal(session)

    def note_finding(self, session: str, kind: str, text: str) -> LoggedObservation | None:
        """What was decided or found out, once; it begins no journal."""
        said = plain_line(self._input.cleaned_line(text, _ENDING), 2 * _ENDING)
        if not said:
            return None
        return self._written(
            session, lambda entries: work_lines.finding_line(entries, kind, said), begin=False
        )

    def note_ending(self, session: str, text: str, *, begin: bool) -> LoggedObservation | None:
        said = plain_line(self._input.cleaned_line(text, _ENDING), 2 * _ENDING)
        if not said:
            return None
        return self._written(
            session, lambda entries: work_lines.ending_line(entries, said), begin=begin
        )

    def _written(
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
            if not begin and not self._sessions.has_journal(session):
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
