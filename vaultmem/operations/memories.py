"""What one can do with memories: recall, read, list and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vaultmem.base.file_stamps import UNSETTLED_STAMP, FileStamp
from vaultmem.base.local_time import local_now
from vaultmem.config import PROPERTIES
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.index import INDEX_FAILURES
from vaultmem.limits import OURS, SHOWN, TASK, bounded
from vaultmem.notes.edit import (
    AddItems,
    AddTask,
    AppendText,
    MarkTask,
    NoteEdit,
    RemoveItems,
    RemoveProperty,
    ReplaceBody,
    ReplaceText,
    SetProperty,
    edited_note,
    stamped_note,
    task_change,
)
from vaultmem.notes.note import Note, note_bytes, note_version, printable
from vaultmem.notes.passages import is_one_passage
from vaultmem.notes.tags import bare_tag
from vaultmem.operations import references
from vaultmem.operations.edits.daily_notes import DailyNotes
from vaultmem.operations.edits.text_change import TextChange
from vaultmem.operations.input import Input, now_utc, require_share
from vaultmem.operations.new_memories.remember import EntityRef, Remembering, entity_name
from vaultmem.operations.references import ULID
from vaultmem.operations.results import (
    FetchedMemories,
    Memory,
    NoteSource,
    Tagged,
    Updated,
    memory_of_note,
    note_identity,
)
from vaultmem.operations.sessions import Sessions
from vaultmem.operations.view import View
from vaultmem.operations.writing import WAYS_TO_CHANGE, Writing, WritingGroup, Written

_TASK_REPEATS: Final = (
    "task_repeats: the Tasks plugin makes the next one only where it is checked in Obsidian"
)


class Memories(WritingGroup):
    def __init__(
        self,
        view: View,
        writing: Writing,
        input: Input,
        sessions: Sessions,
        remembering: Remembering,
        daily: DailyNotes,
    ) -> None:
        super().__init__(view, writing, input)
        self._daily = daily
        self._sessions = sessions
        self._remembering = remembering

    @bounded()
    def get(
        self,
        ids: Sequence[str],
        *,
        counted: bool = True,
        offset: int = 0,
        max_tokens: int | None = None,
    ) -> FetchedMemories:
        """Memories in full, by id, path, key or title; observations by their id.

        Within `max_tokens`, a long one is a page from `offset` on. Not `counted` as used where
        they are read in answer to a question that counted them.
        """
        if offset and len(ids) != 1:
            raise InvalidInput("offset goes with one id: each memory has pages of its own.")
        found: list[tuple[Memory, Note | None]] = []
        missing: list[str] = []
        for ref in ids:
            try:
                found.append(self._memory_by_reference(ref))
            except NotFound:
                missing.append(ref)
        memories = self._pages_of_memories(found, offset, max_tokens)
        if counted:
            self._view.parts.usage.note(
                (m.id for m in memories),
                self._view.caller.session,
                question=False,
                client=self._view.caller.client,
                way="read",
            )
        return FetchedMemories(tuple(memories), tuple(missing))

    def _memory_by_reference(self, ref: str) -> tuple[Memory, Note | None]:
        """With its note, unless it is an observation, which is no more than itself."""
        if ULID.match(references.plain_reference(ref)) and (
            seen := self._observation_as_memory(references.plain_reference(ref))
        ):
            return seen, None
        note = self._view.visible_note(ref)
        stamp = self._view.store.stat(note.path)
        used = self._view.parts.usage.of([note_identity(note)]).get(note_identity(note))
        count = used.count if used else 0
        return self._memory_of_note(note, stamp or UNSETTLED_STAMP, count), note

    def _memory_of_note(self, note: Note, stamp: FileStamp, count: int = 0) -> Memory:
        made = self._view.store.births.creation(note, stamp).seconds
        return memory_of_note(note, self._view.settings, stamp.mtime_ns, count, made)

    def _pages_of_memories(
        self, found: Sequence[tuple[Memory, Note | None]], offset: int, tokens: int | None
    ) -> list[Memory]:
        """What is shown of each, and that the caller has now seen it."""
        memories = [memory for memory, _ in found]
        room = SHOWN // 2 // max(1, len(found))  # for each, so that no surface has to cut it
        if tokens or offset:
            from vaultmem.operations.pages import pages_within

            memories = pages_within(memories, offset, tokens or SHOWN // 4)
        for place, (_, note) in enumerate(found):
            if note is not None and self._is_memory_all_read(note, memories[place], room):
                made = note_version(note.raw)
                self._view.parts.authorship.show(self._view.caller, note.path, note.body, made)
                memories[place] = replace(memories[place], version=made)
        return memories

    def _is_memory_all_read(self, note: Note, page: Memory, room: int) -> bool:
        """Whether the caller has now seen all of it, this page and those before."""
        if page.characters is None:
            return len(note.body) <= room
        start = page.offset or 0
        end = self._view.parts.authorship.read(
            self._view.caller, note.path, note_version(note.raw), start, start + len(page.content)
        )
        return end >= page.characters

    def _observation_as_memory(self, ref: str) -> Memory | None:
        """An observation of a journal as a memory of its own."""
        try:
            seen = self._sessions.observation(ref)
        except INDEX_FAILURES:
            seen = None
        if seen is None:
            return None
        note = self._view.require_visible(self._view.store.note(seen.path))
        journal = self._memory_of_note(note, UNSETTLED_STAMP)
        return replace(
            journal,
            id=seen.id,
            content=seen.content,
            type="episodic",
            tags=seen.tags,
            created_at=seen.time,
            updated_at=seen.time,
            kind=seen.type,
            block=seen.block,
            version=note_version(seen.content.encode(errors="surrogateescape")),
            observations=None,
            facts=None,
        )

    @bounded()
    def source(self, memory_id: str, *, to_change: bool = False) -> NoteSource:
        """A note as it is on disk; for an editor, if it may be changed."""
        found = self._writing.note_to_change if to_change else self._view.visible_note
        note = found(memory_id)
        text = self._view.store.file_text(note)
        return NoteSource(note_identity(note), note.path, text, note_version(note.raw))

    # --- changing ------------------------------------------------------------------------

    @bounded(task=TASK)
    def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        old_text: str | None = None,
        new_text: str | None = None,
        append: str | None = None,
        section: str | None = None,
        task: str | None = None,
        done: bool | None = None,
        importance: float | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        add_entities: Sequence[EntityRef] = (),
        remove_entities: Sequence[str] = (),
        expected_version: str | None = None,
        shown_whole: bool = False,
    ) -> Updated:
        """Change what is named and nothing else.

        Of the text that is `old_text`, which must stand there once, or its end (`append`), or
        a `task` line, added or, with `done`, checked or unchecked, or all of it (`content`),
        where the caller has seen all of it. A surface that shows no parts of memories says so:
        `shown_whole`. The daily note of today, `@today`, is made if it is not there.
        """
        draft = self._daily.draft(memory_id, expected_version)
        note = draft.note if draft else self._writing.note_to_change(memory_id)
        words = TextChange.of(content, old_text, new_text, append, section, task, done)
        if words is not None and words.whole and draft:
            raise InvalidInput(f"There is no {note.path} yet to be replaced; append to it.")
        if words is not None and words.whole:
            self._writing.require_no_private_passages(note)
            expected_version = self._whole_memory_reading(note, expected_version, shown_whole)
        task_edit = self._memory_task_change(words)
        fields: dict[str, Sequence[NoteEdit]] = {
            "content": (task_edit,) if task_edit else self._memory_text_changes(note, words),
            "importance": _memory_importance_changes(importance),
            "tags": self._memory_tag_changes(add_tags, remove_tags),
            "metadata": self._memory_metadata_changes(note, metadata or {}),
            "related_entities": self._memory_entity_changes(note, add_entities, remove_entities),
        }
        given = {name: changes for name, changes in fields.items() if changes}
        if not given:
            raise InvalidInput(
                "Nothing to change was given; give old_text and new_text, append, task, content, "
                "importance, tags, metadata or related_entities."
            )
        changed: list[str] = []
        change = self._updated_memory_fields(given, changed)
        line = task_change(note, task_edit) if task_edit else None
        made = self._daily.make(draft, change) if draft else None
        written = made or self._writing.rewrite_note(note, "update", change, expected_version)
        self._remembering.ensure_typed_entities(add_entities)
        if words is not None and words.whole:
            self._writing.mark_seen_whole(written, as_author=True)
        said = words.said if words is not None else ""
        warnings = (
            *self._input.redaction_warnings(said, self._input.clean_text(said)),
            *((_TASK_REPEATS,) if line and line.comes_again else ()),
            *self._daily.warnings(memory_id, draft if made else None, written.note),
        )
        return Updated(
            **self._receipt_of_update(note, written, changed, warnings),
            task=printable(line.line) if line else None,
            created=True if made else None,
        )

    def _receipt_of_update(
        self, note: Note, written: Written, changed: Sequence[str], warnings: tuple[str, ...]
    ) -> dict[str, Any]:
        searchable = self._writing.searchability(written) if changed else "text"
        return {
            "memory_id": note_identity(note),
            "path": written.path,
            "updated_fields": tuple(changed),
            "re_embedded": "content" in changed and searchable == "now",
            "version": written.version,
            "warnings": (*((written.behind,) if written.behind else ()), *warnings),
        }

    def _updated_memory_fields(
        self, given: Mapping[str, Sequence[NoteEdit]], changed: list[str]
    ) -> Callable[[Note], Note]:
        """Make the changes field by field, and say which of them made a difference."""

        def change(current: Note) -> Note:
            changed.clear()
            note = current
            for name, changes in given.items():
                after = edited_note(note, *changes)
                if after.text != note.text:
                    changed.append(name)
                note = after
            return stamped_note(current, note, now_utc())

        return change

    def _memory_text_changes(self, note: Note, words: TextChange | None) -> Sequence[NoteEdit]:
        if words is None:
            return ()
        self._require_no_memory_secrets(note.body if words.whole else words.old, words.new)
        if words.old:
            return (ReplaceText(words.old, self._input.clean_text(words.new, "new_text")),)
        text = self._remembering.memory_text(words.new)
        return (ReplaceBody(text + "\n") if words.whole else AppendText(text, words.section),)

    def _memory_task_change(self, words: TextChange | None) -> AddTask | MarkTask | None:
        if words is None or not words.is_task:
            return None
        if words.way == "new task":
            return AddTask(self._input.clean_text(words.new, "The task"), words.section)
        return MarkTask(words.new, words.done, local_now().date(), words.section)

    def _whole_memory_reading(self, note: Note, expected: str | None, shown_whole: bool) -> str:
        """The version of which the caller has seen all; refuses where it may not have."""
        known, path, body = self._view.parts.authorship, note.path, note.body
        if expected:
            self._writing.require_no_part_seen(note, expected)
            return expected
        seen = self._writing.has_seen_whole(path, body)
        short = shown_whole or is_one_passage(note)
        seen_another = not seen and known.has_seen_another(self._view.caller, path)
        if short and (seen or (known.is_written(body) and (shown_whole or not seen_another))):
            return note_version(note.raw)
        if not short and not seen_another:
            raise InvalidInput(
                f"{path} has more text than one passage ({len(note_bytes(body)):,} bytes), and "
                f"content would replace all of it. {WAYS_TO_CHANGE}"
            )
        unseen = f"{path} is not as you last saw it, or you have not read it."
        raise self._writing.unread_conflict(note, unseen, "content")

    def _require_no_memory_secrets(self, old: str, new: str) -> None:
        """A person's own secret would be redacted on its way back into the note."""
        if not self._view.settings["privacy.redact"]:
            return
        from vaultmem.base import redaction

        found = redaction.find_secrets(old, self._view.settings["privacy.patterns"])
        if any(old[secret.start : secret.end] in new for secret in found):
            raise InvalidInput(
                "The text has a key or password in it that its owner wrote there, and it would be "
                "redacted. Quote less of the note in old_text, so that it is not part of that."
            )

    @bounded(text=OURS)
    def rewrite(self, memory_id: str, text: str, expected_version: str) -> Updated:
        """A note's whole text, as a person left it in an editor."""
        note = self._writing.note_to_change(memory_id)
        raw = text.encode("utf-8", "surrogateescape")
        written = self._writing.rewrite_note(note, "edit", lambda current: raw, expected_version)
        self._writing.mark_seen_whole(written)
        fields = ("content",) if written.version != note_version(note.raw) else ()
        return Updated(note_identity(note), written.path, fields, False, written.version)

    def _memory_tag_changes(self, add: Sequence[str], remove: Sequence[str]) -> Sequence[NoteEdit]:
        changes: list[NoteEdit] = []
        if remove:
            changes.append(RemoveItems("tags", tuple(map(bare_tag, remove))))
        if new := self._input.clean_tags(add):
            changes.append(AddItems("tags", new))
        return changes

    def _memory_metadata_changes(
        self, note: Note, metadata: Mapping[str, Any]
    ) -> Sequence[NoteEdit]:
        changes: list[NoteEdit] = []
        for given, value in metadata.items():
            name = self._input.property_line(given, "A property's name", 100)
            if name.casefold() in (*PROPERTIES, "tag", "alias"):
                raise InvalidInput(
                    f"{name!r} is one of vaultmem's own properties; it is changed by its own "
                    "argument or tool, not by metadata."
                )
            if value is not None:
                changes.append(SetProperty(name, self._memory_metadata_value(name, value)))
            elif note.key_of(name) is not None:
                changes.append(RemoveProperty(name))
        return changes

    def _memory_metadata_value(self, name: str, value: Any) -> Any:
        items = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(item, (Mapping, list, tuple)) for item in items):
            raise InvalidInput(
                f"The property {name!r} cannot hold an object or a list of lists; properties "
                "are texts, numbers, true or false, or lists of those."
            )
        clean = [
            self._input.clean_text(i, f"The property {name!r}") if isinstance(i, str) else i
            for i in items
        ]
        return clean if items is value else clean[0]

    def _memory_entity_changes(
        self, note: Note, add: Sequence[EntityRef], remove: Sequence[str]
    ) -> Sequence[NoteEdit]:
        changes: list[NoteEdit] = []
        for gone in map(entity_name, remove):
            for name, value in note.properties.items():
                held = (
                    [i for i in value if _is_memory_entity_link(i, gone)]
                    if isinstance(value, list)
                    else []
                )
                if held:
                    changes.append(RemoveItems(name, tuple(held)))
        edges = self._remembering.entity_link_lists(add)
        return [*changes, *(AddItems(name, tuple(items)) for name, items in edges.items())]  # type: ignore[arg-type]

    @bounded()
    def tag(
        self,
        memory_id: str,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        expected_version: str | None = None,
    ) -> Tagged:
        if not add and not remove:
            raise InvalidInput("Say which tags to add or to remove.")
        note = self._writing.note_to_change(memory_id)
        changes = self._memory_tag_changes(add, remove)
        written = self._writing.edit_note(note, "tag", *changes, expect=expected_version)
        return Tagged(note_identity(note), written.path, written.note.tags, written.version)


def _memory_importance_changes(importance: float | None) -> Sequence[NoteEdit]:
    if importance is None:
        return ()
    require_share(importance, "importance")
    return (SetProperty("importance", importance),)


def _is_memory_entity_link(item: Any, name: str) -> bool:
    return (
        isinstance(item, str) and item.strip("[]").partition("|")[0].casefold() == name.casefold()
    )
