"""What goes into a session's journal of all that a program tells of it, and what is kept in mind
until there is one: of a session that goes on, or of one that is long over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from vaultmem.notes.journal_text.work_lines import is_question_left, question_left
from vaultmem.operations.agent_work.actions import (
    Action,
    Ask,
    CommandEnd,
    FileChange,
    Reply,
    Stopped,
    TodoItem,
    TodoList,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultmem.operations.agent_work.findings import SpokenFinding
    from vaultmem.operations.agent_work.work_telling import WorkTelling
    from vaultmem.operations.context.notebook import SessionMind
    from vaultmem.operations.input import Input
    from vaultmem.operations.sessions import LoggedObservation

_PROMPT: Final = 20_000  # characters of a prompt that are looked at, and of it that are kept
_REQUEST: Final = 400
_ITEM: Final = 160
_MOST_ITEMS: Final = 50
_MOST_FINDINGS: Final = 10  # kept in mind until there is a note
_CONVERSATION: Final = 3  # answers that make a session worth a note where nothing was done
# What clients put around a person's words.
_OF_CLIENT: Final = re.compile(
    r"<((?:ide|system|local|command|task|bash|user)[-_][\w-]{1,40})\b[^>]{0,200}>.*?</\1>"
    r"|\[(?:Image|Pasted text) #\d+[^\]]{0,60}\]",
    re.DOTALL,
)
# To its end, or to that of what is looked at.
_PASTED: Final = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)

_OUTPUT: Final = re.compile(
    r"\s+(?:at |File |[\w.]+\()|\s{4}|Traceback \(|(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b: "
    r"|\[?\d{4}-\d\d-\d\d[T ]|(?:INFO|WARN|ERROR|DEBUG)\b|[$>] "
)


class JournalKeeping:
    def __init__(self, cleaning: Input, work: WorkTelling, seen: SessionMind, session: str) -> None:
        self._cleaning = cleaning
        self._work = work
        self._seen = seen
        self._session = session

    def take(self, action: Action, folder: str) -> dict[str, Any]:
        """Carry out what concerns the journal; returns where a line of it stands."""
        if not self._seen.folder and folder:
            self._seen.folder = self._cleaning.cleaned_line(folder, 1_000)
        logged = self._taken(action)
        if logged and self._seen.findings:
            self._tell_earlier_findings()
        if logged is None:
            return {}
        return {"observation_id": logged.observation_id, "session_id": self._session}

    def leave(self) -> None:
        """The session ends; a prompt that nobody answered is left."""
        if self._seen.unanswered:
            items = [*self._open_items(), question_left(self._seen.unanswered)]
            self._work.note_left(self._session, items, begin=False)

    def _taken(self, action: Action) -> LoggedObservation | None:
        match action:
            case Ask():
                self._asked(action)
            case Reply():
                self._replied()
            case FileChange(path, new):
                return self._changed(path, new)
            case CommandEnd():
                return self._ran(action)
            case TodoList(items):
                self._seen.todo = [self._cleaned_item(item) for item in items[:_MOST_ITEMS]]
                self._left(begin=False)
            case TodoItem():
                self._task(action)
            case Stopped():
                return self._stopped(action)
        return None

    def _asked(self, asked: Ask) -> None:
        self._replied()
        own = own_words(asked.prompt)
        said = self._cleaning.cleaned_line(own, _REQUEST)
        if not said:
            return
        if asked.findings and self._seen.request:  # the first is what the note begins with
            from vaultmem.operations.agent_work.findings import findings_of_prompt

            self._found(findings_of_prompt(self._cleaning.cleaned_text(own)))
        self._seen.request = self._seen.request or said
        self._seen.unanswered = self._cleaning.cleaned_line(said, _ITEM)
        self._seen.save()

    def _replied(self) -> None:
        steps = [step for step in self._seen.steps if not is_question_left(step)]
        if steps != self._seen.steps:
            self._seen.steps = steps
            self._left(begin=False)

    def _changed(self, path: str, new: bool) -> LoggedObservation | None:
        counted = self._seen.has_line(f"changed {path}")
        if counted and self._seen.has_line("journal"):
            return None
        for mark in (f"changed {path}", "journal"):
            if not self._seen.has_line(mark):
                self._seen.add_line(mark)
        logged = self._work.note_change(self._session, path, new=new, counted=counted)
        self._seen.save()
        return logged

    def _ran(self, ran: CommandEnd) -> LoggedObservation | None:
        from vaultmem.notes.journal_text.work_lines import CommandRun

        mark = f"failed {ran.command}"
        if ran.failed and not self._seen.has_line(mark):
            self._seen.add_line(mark)
        if not ran.failed and not ran.telling and not self._seen.has_line(mark):
            return None  # it says nothing, and mends nothing
        run = CommandRun(ran.command, ran.failed, ran.told, of_tests=ran.kind == "test")
        logged = self._work.note_command(self._session, ran.kind, run, telling=ran.telling)
        self._seen.save()
        return logged

    def _task(self, task: TodoItem) -> None:
        tasks = self._seen.tasks
        if task.done:
            tasks.pop(task.number, None)
        elif task.text and (task.number in tasks or len(tasks) < _MOST_ITEMS):
            tasks[task.number] = self._cleaned_item(task.text)
        else:
            return
        self._left(begin=False)

    def _stopped(self, stopped: Stopped) -> LoggedObservation | None:
        from vaultmem.operations.agent_work.last_answer import ending_of, left_to_do

        answer = self._cleaning.cleaned_text(stopped.answer)
        self._seen.exchanges += bool(self._seen.unanswered and answer)
        self._seen.unanswered = ""
        begin = self._seen.exchanges >= _CONVERSATION
        self._seen.steps = [self._cleaned_item(step) for step in left_to_do(answer)]
        logged = None
        found: list[SpokenFinding] = []
        if stopped.findings:
            from vaultmem.operations.agent_work.findings import findings_of_answer

            found = findings_of_answer(answer)
            self._found(found)
        if stopped.ending and (said := ending_of(answer, [each.text for each in found])):
            logged = self._work.note_ending(self._session, said, begin=begin)
        if stopped.open:
            self._left(begin=False)
        self._seen.save()
        return logged

    def _found(self, findings: Sequence[SpokenFinding]) -> None:
        """What is said alone begins no note; it is told once there is one."""
        for each in findings:
            if self._work.has_journal(self._session):
                self._work.note_finding(self._session, each.kind, each.text)
            elif len(self._seen.findings) < _MOST_FINDINGS:
                said = self._cleaning.cleaned_line(each.text, _REQUEST)
                self._seen.findings.append(f"{each.kind} {said}")

    def _tell_earlier_findings(self) -> None:
        for earlier in self._seen.findings:
            kind, _, said = earlier.partition(" ")
            self._work.note_finding(self._session, kind, said)
        self._seen.findings = []
        self._seen.save()

    # --- what is left --------------------------------------------------------------------

    def _left(self, *, begin: bool) -> None:
        self._work.note_left(self._session, self._open_items(), begin=begin)
        self._seen.save()

    def _open_items(self) -> list[str]:
        return [*self._seen.todo, *self._seen.tasks.values(), *self._seen.steps]

    def _cleaned_item(self, text: str) -> str:
        return self._cleaning.cleaned_line(text, _ITEM)


def own_words(prompt: str) -> str:
    """What the person wrote, without what a client or a clipboard put there, if that leaves
    anything."""
    text = _OF_CLIENT.sub(" ", prompt[:_PROMPT])
    plain = _PASTED.sub(" ", text)
    spoken = "\n\n".join(p for p in re.split(r"\n[ \t]*\n", plain) if not _is_output(p))
    return next((each for each in (spoken, plain, text) if each.strip()), "")


def _is_output(paragraph: str) -> bool:
    """Whether it reads like a stack trace or a log that was pasted without a fence."""
    lines = [line for line in paragraph.split("\n") if line.strip()]
    return len(lines) > 1 and 2 * sum(bool(_OUTPUT.match(line)) for line in lines) >= len(lines)
