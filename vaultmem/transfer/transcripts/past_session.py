"""A session that is over, told in the lines that hooks would have kept of it while it went on,
and the person's prompts besides. Nothing of a transcript stays but these lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from vaultmem.config import Settings
from vaultmem.notes.journal_text.plain_line import plain_line
from vaultmem.notes.journal_text.session_summary import summary_of_entries
from vaultmem.notes.markdown import Observation
from vaultmem.operations.agent_work.actions import Ask, FileChange, Log, Reply, Stopped
from vaultmem.operations.agent_work.journal_keeping import JournalKeeping, own_words
from vaultmem.operations.agent_work.payload import Event, last_part, one_line
from vaultmem.operations.agent_work.prompt_words import content_words
from vaultmem.operations.agent_work.tool_use import tool_action
from vaultmem.operations.agent_work.work_telling import LineMaker, WorkTelling
from vaultmem.operations.context.notebook import SessionMind
from vaultmem.operations.input import Input
from vaultmem.operations.sessions import session_name
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import TalkRecord, TalkTurn

_KEPT: Final = ("request", "finding", "edit", "failure", "outcome", "open", "ending")
_PROMPT: Final = 1_000  # characters of a prompt
_REQUEST: Final = 390  # of the first, up to which it stands whole above the log
_MOST_PROMPTS: Final = 2_000
_NEEDED: Final = frozenset(
    [
        "file_path",
        "filePath",
        "path",
        "notebook_path",
        "target_file",
        "command",
        "cmd",
        "todos",
        "plan",
        "items",
        "taskId",
        "task_id",
        "subject",
        "description",
        "status",
    ]
)


def kept_of_call(given: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a tool was given, that by which it can be told: not what it wrote."""
    return {name: value for name, value in given.items() if name in _NEEDED}


class PastInput(Input):
    """Counts the texts in which secrets were replaced, each once however often it is looked at."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._redacted: set[int] = set()

    def redact_text(self, text: str) -> str:
        kept = super().redact_text(text)
        if kept != text:
            self._redacted.add(hash(text))
        return kept

    def tell_redacted(self, reading: OpenedExport) -> None:
        if self._redacted:
            reading.remarks.append(
                f"secret_redacted: {len(self._redacted):,} texts had keys, tokens or passwords in "
                "them, which were replaced."
            )


class PastWork(WorkTelling):
    """The lines, each at the moment that it tells of."""

    def __init__(self, input: Input) -> None:
        self._input = input
        self.now: dt.datetime | None = None
        self.prompts: list[tuple[int, TalkTurn]] = []
        self._entries: list[Observation] = []
        self._places: list[tuple[int, dt.datetime | None]] = []

    def has_journal(self, session: str) -> bool:
        return True

    def write_line(self, session: str, make: LineMaker, *, begin: bool = True) -> None:
        if (line := make(self._entries)) is None:
            return
        if line.instead_of:
            at = int(line.instead_of)
            self._entries[at] = replace(self._entries[at], content=line.text)
            return
        seen = Observation(line.text, line.kind, block=str(len(self._entries)))
        self._entries.append(seen)
        self._places.append((self._next_place(), self.now))

    def write_prompt(self, said: str) -> None:
        if len(self.prompts) < _MOST_PROMPTS:
            turn = TalkTurn("", "prompt", said, self.now)
            self.prompts.append((self._next_place(), turn))

    def _next_place(self) -> int:
        return len(self._places) + len(self.prompts)

    def told_in_order(self) -> list[TalkTurn]:
        work = (
            (place, TalkTurn("", seen.category, seen.content, at))
            for seen, (place, at) in zip(self._entries, self._places, strict=True)
        )
        return [turn for _, turn in sorted([*self.prompts, *work], key=lambda each: each[0])]


class PastSession:
    def __init__(self, cleaning: Input, id: str) -> None:
        self.id = id
        self.folder = ""
        self.first: dt.datetime | None = None
        self.last: dt.datetime | None = None
        self._cleaning = cleaning
        self._work = PastWork(cleaning)
        self._mind = SessionMind()
        self._keeping = JournalKeeping(cleaning, self._work, self._mind, id)
        self._answer = ""
        self._answered: dt.datetime | None = None

    def be_at(self, moment: dt.datetime | None, folder: str) -> None:
        self.folder = self.folder or folder
        self._work.now = moment or self._work.now
        self.first = self.first or moment
        self.last = moment or self.last

    def hear_prompt(self, prompt: str) -> None:
        self.end_turn()
        if not content_words(prompt):
            if prompt.strip():
                self._keeping.take(Reply(), self.folder)
            return
        said = plain_line(self._cleaning.cleaned_line(own_words(prompt), _PROMPT), 2 * _PROMPT)
        if said and (self._mind.request or len(said) > _REQUEST):  # a short first begins the note
            self._work.write_prompt(said)
        self._keeping.take(Ask(prompt), self.folder)

    def hear_answer(self, text: str) -> None:
        """The last one counts: what is said before a tool is used is no answer."""
        self._answer, self._answered = text, self._work.now

    def see_tool(self, name: str, given: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        """How a call of a tool ended: `told` is what an event says of it."""
        details = {"tool_name": name, "tool_input": given, **told}
        failed = "error" in told
        event = Event(
            "PostToolUseFailure" if failed else "PostToolUse", self.id, self.folder, details=details
        )
        action = tool_action(event, _KEPT)
        if action is not None and not isinstance(action, Log):
            self._keeping.take(action, self.folder)

    def see_change(self, path: str, *, new: bool) -> None:
        folder = self.folder.rstrip("/")
        inside = bool(folder) and path.startswith(f"{folder}/")
        name = one_line(path[len(folder) + 1 :] if inside else path, 200)
        self._keeping.take(FileChange(name, new), self.folder)

    def end_turn(self, *, last: bool = False) -> None:
        """Only of the last answer is it told how it ended; of all what was decided and found."""
        if self._answer:
            now, self._work.now = self._work.now, self._answered
            self._keeping.take(Stopped(self._answer, ending=last), self.folder)
            self._answer, self._work.now = "", now

    def as_record(self, source: str, root: str) -> TalkRecord | None:
        """None where nothing was asked and nothing was done."""
        self.end_turn(last=True)
        self._keeping.leave()
        told = self._work.told_in_order()
        request = self._mind.request
        if not told and not request:
            return None
        entries = [Observation(turn.text, turn.kind, time="0") for turn in told]
        first = next((turn.text for turn in told), "")
        inside = self.folder.rstrip("/\\") == root
        return TalkRecord(
            id=self.id,
            title=session_name(request) or session_name(first) or "Session",
            said=tuple(told),
            summary=summary_of_entries(entries),
            project="" if inside else one_line(last_part(self.folder), 100),
            source=source,
            created=self.first,
            session=self.id,
            request=request,
        )
