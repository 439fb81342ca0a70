"""Tasks in notes, and the small edits that a person asks for by name."""

from __future__ import annotations

from dataclasses import dataclass

from vaultmem.limits import TASK, bounded
from vaultmem.notes import quotation
from vaultmem.notes.daily.tasks import tasks_in
from vaultmem.operations.memories import Memories
from vaultmem.operations.results import Result, Updated, note_identity
from vaultmem.operations.view import View


@dataclass(eq=False, repr=False)
class NoteTask(Result):
    text: str
    mark: str  # what stands in its box
    line: int  # of the text below the properties


@dataclass(eq=False, repr=False)
class NoteTasks(Result):
    memory_id: str
    path: str
    tasks: tuple[NoteTask, ...]


class NoteEdits:
    """Each is one way of `Memories.update`, which has them all."""

    def __init__(self, view: View, memories: Memories) -> None:
        self._view = view
        self._memories = memories

    @bounded()
    def append(
        self,
        memory_id: str,
        append: str,
        *,
        section: str | None = None,
        expected_version: str | None = None,
    ) -> Updated:
        """Put text at the end of a note, or of the text under one of its headings."""
        return self._memories.update(
            memory_id, append=append, section=section, expected_version=expected_version
        )

    @bounded()
    def replace(
        self,
        memory_id: str,
        old_text: str,
        new_text: str,
        *,
        expected_version: str | None = None,
    ) -> Updated:
        """Put other words in place of those that stand in a note exactly once."""
        return self._memories.update(
            memory_id, old_text=old_text, new_text=new_text, expected_version=expected_version
        )

    @bounded(task=TASK)
    def add_task(
        self,
        memory_id: str,
        task: str,
        *,
        section: str | None = None,
        expected_version: str | None = None,
    ) -> Updated:
        """Add an open task: in the section, else behind those under a heading for tasks, else
        behind the tasks that are there, else under such a heading, else at the end."""
        return self._memories.update(
            memory_id, task=task, section=section, expected_version=expected_version
        )

    @bounded(task=TASK)
    def check_task(
        self,
        memory_id: str,
        task: str,
        *,
        done: bool = True,
        section: str | None = None,
        expected_version: str | None = None,
    ) -> Updated:
        """Check the task of this text, or of which this is a part; uncheck it if not `done`."""
        return self._memories.update(
            memory_id,
            task=task,
            done=done,
            section=section,
            expected_version=expected_version,
        )

    @bounded()
    def tasks(self, memory_id: str, *, section: str | None = None) -> NoteTasks:
        """The tasks of a note, in their order."""
        note = self._view.visible_note(memory_id)
        start, end = 0, len(note.body)
        if section:
            start, end = quotation.section_text(note.body, section, whole=True)
        found = (task for task in tasks_in(note.body) if start <= task.start < end)
        shown = tuple(NoteTask(task.text, task.mark, task.line) for task in found)
        return NoteTasks(note_identity(note), note.path, shown)
