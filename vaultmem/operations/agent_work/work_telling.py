"""What a journal tells of the work: changed, failed, found out, left, ended, each as a line.

Texts come from programs' outputs and from models: they are cleaned whole, and only then cut and
quoted. Where the lines go is the matter of those who write them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.notes.journal_text import work_lines
from vaultmem.notes.journal_text.plain_line import code_in_line, plain_line
from vaultmem.notes.markdown import Observation

if TYPE_CHECKING:
    from vaultmem.operations.input import Input
    from vaultmem.operations.sessions import LoggedObservation

_COMMAND: Final = 120  # characters of a command, of a line of its output, and of an answer
_TOLD: Final = 200
_ENDING: Final = 320
LineMaker = Callable[[Sequence[Observation]], work_lines.WorkLine | None]


class WorkTelling(ABC):
    _input: Input

    @abstractmethod
    def has_journal(self, session: str) -> bool: ...

    @abstractmethod
    def write_line(
        self, session: str, make: LineMaker, *, begin: bool = True
    ) -> LoggedObservation | None:
        """The line in the journal; none where there is nothing new to say, or no journal and no
        reason to begin one."""

    def note_change(
        self, session: str, path: str, *, new: bool, counted: bool
    ) -> LoggedObservation | None:
        """`counted` says that the file is known, whether it is named or not."""
        name = code_in_line(self._input.cleaned_line(path, _TOLD), _TOLD)
        if not name:
            return None
        return self.write_line(
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
        return self.write_line(
            session,
            lambda said: work_lines.command_line(said, kind, plain, telling=telling),
            begin=run.failed or telling,
        )

    def note_left(self, session: str, items: Sequence[str], *, begin: bool) -> None:
        """What is left to do now. Nothing begins a journal because of what an answer proposes."""
        if items or self.has_journal(session):
            self.write_line(session, lambda said: work_lines.open_line(said, items), begin=begin)

    def note_finding(self, session: str, kind: str, text: str) -> LoggedObservation | None:
        """What was decided or found out, once; it begins no journal."""
        said = plain_line(self._input.cleaned_line(text, _ENDING), 2 * _ENDING)
        if not said:
            return None
        return self.write_line(
            session, lambda entries: work_lines.finding_line(entries, kind, said), begin=False
        )

    def note_ending(self, session: str, text: str, *, begin: bool) -> LoggedObservation | None:
        said = plain_line(self._input.cleaned_line(text, _ENDING), 2 * _ENDING)
        if not said:
            return None
        return self.write_line(
            session, lambda entries: work_lines.ending_line(entries, said), begin=begin
        )
