"""Writing notes for a caller: kept before they change, taken into the index, told to whoever listens."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vaultmem.base import lock
from vaultmem.errors import AlreadyExists, Busy, Conflict, InvalidInput, NoteMalformed, ReadOnly
from vaultmem.index import INDEX_FAILURES
from vaultmem.notes import masking
from vaultmem.notes.file_names import name_key, safe_name, unique_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.note import Note, note_bytes, note_version, parse, printable
from vaultmem.operations.input import Input, now_utc
from vaultmem.operations.view import View
from vaultmem.storage.local_state.history import WriteRecord
from vaultmem.storage.paths import VOLATILE
from vaultmem.storage.store import StoredNote

if TYPE_CHECKING:
    from concurrent.futures import Future

    from vaultmem.notes.edit import NoteEdit

log = logging.getLogger("vaultmem")

_BY_HAND: Final = ("edit", "restore", "rename")  # what a person did, or asked for
_SHORT: Final = 6_000  # bytes; more would keep the writer waiting
_EMBEDDED_AT_ONCE: Final = 4  # passages
WAYS_TO_CHANGE: Final = (
    "Change a part with old_text and new_text, or add to it with append. To replace all of it, "
    "read it with get_memories and give the version from there as expected_version."
)


@dataclass(frozen=True, slots=True)
class Written(StoredNote):
    """A note that was just written, and why the index does not have it yet, if so."""

    note: Note  # as it reads now
    behind: str = ""
    embedded: Future[bool] | None = None  # whether it can be found by meaning, all of it


class TakenNames:
    """The names of all notes in the vault, asked for one at a time, and those spoken for."""

    def __init__(self, paths_named: Callable[[str], list[str]], apart_from: str = "") -> None:
        self.also: set[str] = set()
        self._paths_named = paths_named
        self._apart_from = apart_from

    def __contains__(self, key: object) -> bool:
        if key in self.also:
            return True
        try:
            return any(path != self._apart_from for path in self._paths_named(str(key)))
        except INDEX_FAILURES:
            return False  # without an index the store refuses at least a clash in one folder


class Writing:
    def __init__(self, view: View) -> None:
        self._view = view

    def require_writable(self) -> None:
        if self._view.caller.read_only:
            raise ReadOnly("This vault is open for reading only; nothing was changed.")
        if self._view.settings["read_only"]:
            origin = self._view.settings.values["read_only"].origin
            raise ReadOnly(f"This vault is read-only ({origin}); nothing was changed.")
        self._view.store.require_writable()

    # --- new notes -------------------------------------------------------------------------

    def memory_folder(self, scope: str, project: str, session: str = "") -> str:
        """Where a memory's note is put."""
        if scope == "session":
            return VOLATILE + safe_name(session)
        folder: str = self._view.settings["folders.memories"].strip("/")
        return f"{folder}/{safe_name(project)}" if project else folder

    def key_lock(self) -> contextlib.AbstractContextManager[None]:
        """Two callers with one new key take turns, so that only one makes the note."""
        file = self._view.store.local() / "keys.lock"
        return lock.locked(file, timeout=10, what="storing by key")

    def text_lock(self, words: bytes) -> contextlib.AbstractContextManager[None]:
        """Two callers with one new text take turns; with others only now and then."""
        file = self._view.store.local() / f"same-text-{words[0] % 16:x}.lock"
        return lock.locked(file, timeout=10, what="storing a text")

    def create_note(
        self,
        folder: str,
        title: str,
        values: Mapping[str, WritableValue],
        body: str,
        *,
        as_author: bool = False,
    ) -> Written:
        """A new note whose name no other note of the vault has; its author knows all of it."""
        self.require_writable()
        from vaultmem.notes.edit import note_from_nothing

        kept = {name: v for name, v in values.items() if v not in (None, "", [], ())}
        names = self._view.settings.properties
        made = note_from_nothing(kept, body, names=names)
        return self.place_note(folder, title, made, as_author=as_author)

    def place_note(
        self,
        folder: str,
        title: str,
        note: Note,
        *,
        instead_of: str = "",
        as_author: bool = False,
        action: str = "add",
    ) -> Written:
        """Give a note a place in the vault; the volatile note that it replaces goes away."""
        self.hold_folder(folder)
        taken, raw = TakenNames(self._view.gaps.paths_named, instead_of), note.raw
        for _ in range(100):
            path = f"{folder.rstrip('/')}/{unique_name(title, taken)}.md".lstrip("/")
            try:
                stored = self._view.store.create(path, raw)
            except AlreadyExists:
                taken.also.add(name_key(path.rpartition("/")[2].removesuffix(".md")))
                continue
            if instead_of:
                self._view.store.discard(instead_of)
            placed = replace(note, path=stored.path)
            self.record_write(stored.path, stored.version, action, note.id, after=placed)
            if as_author:
                self._mark_written_author(stored.path, note.body, stored.version)
            return self._written_note(stored, placed, instead_of)
        raise Busy(f"No free name could be found for {title!r}; try another title.")

    def make_note(self, before: Note, after: Note, action: str) -> Written:
        """A note at the path that it is given, with its first change; going back leads to what
        it was before that."""
        self.require_writable()
        stored = self._view.store.create(after.path, after.raw)
        self._view.parts.history.take(before, action)
        self.record_write(stored.path, stored.version, "add", after.id, before, after)
        if not before.text.strip():
            self._mark_written_author(stored.path, after.body, stored.version)
        return self._written_note(stored, after)

    # --- changes ---------------------------------------------------------------------------

    def note_to_change(self, ref: str) -> Note:
        """The note behind a reference, if this caller may change it."""
        self.require_writable()
        note = self._view.visible_note(ref)
        self._view.store.paths.require_changeable(note.path)
        return note

    def edit_note(
        self, note: Note, action: str, *changes: NoteEdit, expect: str | None = None
    ) -> Written:
        """Edit a note as splices, and say when; its old bytes are kept before it is written."""
        from vaultmem.notes.edit import edited_note, stamped_note

        def change(current: Note) -> Note:
            return stamped_note(current, edited_note(current, *changes), now_utc())

        return self.rewrite_note(note, action, change, expect)

    def rewrite_note(
        self,
        note: Note,
        action: str,
        change: Callable[[Note], Note | bytes],
        expect: str | None = None,
        *,
        of_its_own: bool = True,
    ) -> Written:
        """A change of the caller's own making: who knew all of the text still does."""
        self.require_writable()
        self.hold_folder(note.path.rpartition("/")[0])
        wrote = known = False
        before = after = note

        def remembered(current: Note) -> bytes:
            nonlocal wrote, known, before, after
            before = current
            made = change(self._view.require_visible(current))
            after = made if isinstance(made, Note) else parse(made, note.path, note.names)
            raw = after.raw if isinstance(made, Note) else made
            known = self.has_seen_whole(current.path, current.body)
            wrote = raw != current.raw
            if wrote and action not in _BY_HAND:
                _require_private_rewritten(current, raw)
            if wrote:
                self._view.parts.history.take(current, action)
            return raw

        try:
            stored = self._view.store.update(note.path, remembered, expect=expect)
        except Conflict as error:
            current = self._view.require_visible(
                parse(note_bytes(error.text), note.path, note.names)
            )
            self._mark_written_seen(note.path, current.body, error.version)
            raise
        if wrote:
            self.record_write(stored.path, stored.version, action, after.id, before, after)
        if known and of_its_own:
            self._mark_written_seen(stored.path, after.body, stored.version)
        return self._written_note(stored, after)

    def trash_note(self, note: Note, action: str, expect: str | None = None) -> str:
        """Move a note to the trash (a volatile one is deleted); its bytes are kept first."""
        self.require_writable()
        self._view.store.paths.require_changeable(note.path)
        self._view.parts.history.take(self._view.require_visible(note), action)
        place = ""
        if note.path.startswith(VOLATILE):
            self._view.store.discard(note.path)
        else:
            place = self._view.store.remove(note.path, expect=expect)
            self._view.parts.authorship.drop(note)
            self._view.parts.history.trashed(note, place)
            self.record_write(note.path, "", action, note.id, before=note)
        self.index_paths([note.path])
        return place

    def hold_folder(self, folder: str) -> None:
        """While this process works in a session's folder nobody takes the session for dead."""
        if folder.startswith(VOLATILE):
            self._view.parts.session_folders.hold(folder.removeprefix(VOLATILE))

    def drop_session_notes(self, session: str) -> int:
        """Delete what was meant to last for this session only, as far as the caller sees it."""
        self.require_writable()
        self._view.parts.session_folders.let_go(safe_name(session))
        kept = self._view.store.volatile(safe_name(session))
        gone = [path for path in kept if self._view.is_visible(self._view.store.note(path))]
        for path in gone:
            self._view.store.discard(path)
        if gone:
            self.index_paths(gone)
        return len(gone)

    def record_write(
        self,
        path: str,
        made: str,
        action: str,
        id: str,
        before: Note | None = None,
        after: Note | None = None,
        *,
        added: str = "",
        grown: Note | None = None,
    ) -> None:
        """Let the next commit, and whoever asks what happened, know who wrote this version and
        what for. Of one that has only `grown`, `added` is what came to it."""
        if path.startswith(VOLATILE):
            return
        client = self._view.caller.client
        self._view.parts.history.wrote(WriteRecord(path, made, action, id, client))
        if self._view.store.paths.is_memory(path):
            from vaultmem.operations.happened.happenings import put_down_write

            put_down_write(self._view, path, made, action, id, before, after, added, grown)

    # --- what the caller knows of a text ---------------------------------------------------

    def has_seen_whole(self, path: str, body: str) -> bool:
        return self._view.parts.authorship.has_seen(self._view.caller, path, body)

    def _mark_written_seen(self, path: str, body: str, made: str) -> None:
        self._view.parts.authorship.show(self._view.caller, path, body, made)

    def _mark_written_author(self, path: str, body: str, made: str) -> None:
        self._mark_written_seen(path, body, made)
        self._view.parts.authorship.write(body)

    def mark_seen_whole(self, written: Written, *, as_author: bool = False) -> None:
        """The caller has seen all of this text; as its author, it wrote all of it."""
        mark = self._mark_written_author if as_author else self._mark_written_seen
        mark(written.path, written.note.body, written.version)

    def require_no_private_passages(self, note: Note) -> None:
        """Whoever replaces all of a text has not seen what is private in it."""
        if masking.private_spans(note.body):
            raise InvalidInput(
                f"{note.path} has private passages, which a new content would delete. Change "
                "what you mean with old_text and new_text, or add to it with append."
            )

    def require_no_part_seen(self, note: Note, expected: str) -> None:
        """Refuses a version that came with a part of the note; another one is a conflict."""
        known, caller = self._view.parts.authorship, self._view.caller
        current = expected == note_version(note.raw)
        if current and not self.has_seen_whole(note.path, note.body):
            if known.was_told(caller, note.path, expected):
                raise InvalidInput(
                    "This expected_version came with a part of the note, not with all of it. "
                    f"{WAYS_TO_CHANGE}"
                )

    def unread_conflict(self, note: Note, said: str, how: str) -> Conflict:
        """The text goes with the refusal, so that the next try can know all of it."""
        made = note_version(note.raw)
        self._mark_written_seen(note.path, note.body, made)
        advice = f"try again with old_text and new_text, or with {how} and expected_version {made}"
        message = f"{said} Its text is given here: look at it, and {advice}."
        return Conflict(message, text=printable(note.text), version=made)

    # --- into the index --------------------------------------------------------------------

    def _written_note(self, stored: StoredNote, note: Note, *gone: str) -> Written:
        behind, embedded = self.index_written(stored, note.body, *gone)
        return Written(stored.path, stored.raw, stored.stat, note, behind, embedded)

    def index_written(
        self, stored: StoredNote, body: str, *gone: str
    ) -> tuple[str, Future[bool] | None]:
        """Why the index does not have it yet, if so, and whether it is being embedded."""
        embedded = self.embed_written(stored)
        behind = self.index_paths([stored.path, *filter(None, gone)])
        if not self.has_seen_whole(stored.path, body):
            self._view.parts.authorship.tell(self._view.caller, stored.path, stored.version)
        return behind, embedded

    def embed_written(self, stored: StoredNote) -> Future[bool] | None:
        """A short note gets its vectors while the index takes in its words."""
        embedder = self._view.parts.loaded_embedder()
        if embedder is None or len(stored.raw) > _SHORT:
            return None
        embed = self._view.parts.reconciler.embed_note
        return self._view.parts.aside.submit(embed, embedder, stored.path, _EMBEDDED_AT_ONCE)

    def index_paths(self, paths: Sequence[str]) -> str:
        """Bring what was written into the index at once; the notes are safe either way."""
        behind = ""
        try:
            self._view.parts.reconciler.these(paths, written=True)
        except INDEX_FAILURES as error:
            behind = f"index_behind: {error}"
            self._view.parts.fell_behind(paths)
        for listener in self._view.parts.on_write:
            listener(paths)
        return behind

    def searchability(self, written: Written) -> str:
        """How a note just written can be found: by meaning too, by its words, or soon."""
        if written.behind:
            return "soon"
        try:
            whole = written.embedded is not None and written.embedded.result()
        except Exception:  # whatever the model does: the note is written
            log.warning("embedding %s failed; it will be tried again", written.path)
            return "text"
        return "now" if whole else "text"


class WritingGroup:
    """A group of operations that write what callers give."""

    def __init__(self, view: View, writing: Writing, input: Input) -> None:
        self._view = view
        self._writing = writing
        self._input = input


def _require_private_rewritten(note: Note, raw: bytes) -> None:
    """An edit that hides the tags of a private passage would show it to the next reader."""
    if masking.exposes_private(note.text, raw.decode("utf-8", "surrogateescape")):
        raise NoteMalformed(
            f"{note.path} has a private passage that would not be private afterwards, or would be "
            "gone. Nothing was written; change it in an editor."
        )
