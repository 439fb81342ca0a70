"""Writing notes for a caller: kept before they change, taken into the index, told to whoever listens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vaultmem.errors import AlreadyExists, Busy, Conflict, NoteMalformed, ReadOnly
from vaultmem.index import TROUBLE
from vaultmem.notes import masking
from vaultmem.notes.file_names import name_key, safe_name, unique_name
from vaultmem.notes.frontmatter import Writable
from vaultmem.notes.note import Note, body_of, encode, parse, version
from vaultmem.operations import references
from vaultmem.operations.input import now_utc
from vaultmem.operations.view import View
from vaultmem.storage.history import Write
from vaultmem.storage.paths import VOLATILE
from vaultmem.storage.store import Stored

if TYPE_CHECKING:
    from concurrent.futures import Future

    from vaultmem.notes.edit import Change

log = logging.getLogger("vaultmem")

_BY_HAND: Final = ("edit", "restore")  # what a person did, or asked for
_SHORT: Final = 6_000  # bytes; more would keep the writer waiting
_EMBEDDED_AT_ONCE: Final = 4  # passages


@dataclass(frozen=True, slots=True)
class Written(Stored):
    """A note that was just written, and why the index does not have it yet, if so."""

    note: Note | None = None  # as it reads now, where that is known
    behind: str = ""
    embedded: Future[bool] | None = None  # whether it can be found by meaning, all of it


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

    def create(self, folder: str, title: str, values: Mapping[str, Writable], body: str) -> Written:
        """A new note whose name no other note of the vault has."""
        self.require_writable()
        from vaultmem.notes.edit import made_note

        kept = {name: v for name, v in values.items() if v not in (None, "", [], ())}
        made = made_note(kept, body, names=self._view.settings.properties)
        return self.place(folder, title, made.raw, id=made.id)

    def place(
        self, folder: str, title: str, raw: bytes, *, id: str | None = None, instead_of: str = ""
    ) -> Written:
        """Give bytes a place in the vault; the volatile note they replace goes away."""
        self._hold(folder)
        taken = references.TakenNames(self._view.gaps.paths_named, instead_of)
        for _ in range(100):
            path = f"{folder.rstrip('/')}/{unique_name(title, taken)}.md".lstrip("/")
            try:
                stored = self._view.store.create(path, raw)
            except AlreadyExists:
                taken.also.add(name_key(path.rpartition("/")[2].removesuffix(".md")))
                continue
            if instead_of:
                self._view.store.discard(instead_of)
            self.noted(stored.path, raw, "add", id)
            return self.written(stored, instead_of)
        raise Busy(f"No free name could be found for {title!r}; try another title.")

    def edited(
        self, note: Note, action: str, *changes: Change, expect: str | None = None
    ) -> Written:
        """Edit a note as splices, and say when; its old bytes are kept before it is written."""
        from vaultmem.notes.edit import edited, stamped

        def change(current: Note) -> Note:
            return stamped(current, edited(current, *changes), now_utc())

        return self.rewrite(note, action, change, expect)

    def rewrite(
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
        self._hold(note.path.rpartition("/")[0])
        wrote = known = False
        after = note

        def remembered(current: Note) -> bytes:
            nonlocal wrote, known, after
            made = change(self._view.still_visible(current))
            after = made if isinstance(made, Note) else parse(made, note.path, note.names)
            raw = after.raw if isinstance(made, Note) else made
            known = self.has_seen(current.path, current.body)
            wrote = raw != current.raw
            if wrote and action not in _BY_HAND:
                _require_private_kept(current, raw)
            if wrote:
                self._view.parts.history.take(current, action)
            return raw

        try:
            stored = self._view.store.update(note.path, remembered, expect=expect)
        except Conflict as error:
            current = self._view.still_visible(parse(encode(error.text), note.path, note.names))
            shown = self._view.parts.authorship.show
            shown(self._view.caller, note.path, current.body, error.version)
            raise
        if wrote:
            self.noted(stored.path, stored.raw, action, after.id)
        if known and of_its_own:
            self.shown(stored)
        return replace(self.written(stored), note=after)

    def has_seen(self, path: str, body: str) -> bool:
        return self._view.parts.authorship.has_seen(self._view.caller, path, body)

    def shown(self, stored: Stored) -> None:
        """The caller has seen all of this text, or written it."""
        body = body_of(stored.raw)
        self._view.parts.authorship.show(self._view.caller, stored.path, body, stored.version)

    def noted(self, path: str, raw: bytes | None, action: str, id: str | None = None) -> None:
        """Let the next commit say who wrote this, and what for."""
        if path.startswith(VOLATILE):
            return
        made = version(raw) if raw is not None else ""
        names = self._view.settings.properties
        known = parse(raw or b"", path, names).id if id is None else id
        self._view.parts.history.wrote(Write(path, made, action, known, self._view.caller.client))

    def written(self, stored: Stored, *gone: str) -> Written:
        embedded = self.to_vectors(stored)
        behind = self.wrote([stored.path, *filter(None, gone)])
        if not self.has_seen(stored.path, body_of(stored.raw)):
            self._view.parts.authorship.tell(self._view.caller, stored.path, stored.version)
        return Written(stored.path, stored.raw, stored.stat, behind=behind, embedded=embedded)

    def note(self, written: Written) -> Note:
        return written.note or self._view.store.parse(written)

    def to_vectors(self, stored: Stored) -> Future[bool] | None:
        """A short note gets its vectors while the index takes in its words."""
        embedder = self._view.parts.loaded_embedder()
        if embedder is None or len(stored.raw) > _SHORT:
            return None
        embed = self._view.parts.reconciler.embed_note
        return self._view.parts.aside.submit(embed, embedder, stored.path, _EMBEDDED_AT_ONCE)

    def trash(self, note: Note, action: str, expect: str | None = None) -> str:
        """Move a note to the trash (a volatile one is deleted); its bytes are kept first."""
        self.require_writable()
        self._view.parts.history.take(self._view.still_visible(note), action)
        place = ""
        if note.path.startswith(VOLATILE):
            self._view.store.discard(note.path)
        else:
            place = self._view.store.remove(note.path, expect=expect)
            self._view.parts.authorship.drop(note)
            self._view.parts.history.trashed(note, place)
            self.noted(note.path, None, action, note.id)
        self.wrote([note.path])
        return place

    def _hold(self, folder: str) -> None:
        """While this process works in a session's folder nobody takes the session for dead."""
        if folder.startswith(VOLATILE):
            self._view.parts.session_folders.hold(folder.removeprefix(VOLATILE))

    def drop_volatile(self, session: str) -> int:
        """Delete what was meant to last for this session only, as far as the caller sees it."""
        self.require_writable()
        self._view.parts.session_folders.let_go(safe_name(session))
        kept = self._view.store.volatile(safe_name(session))
        gone = [path for path in kept if self._view.visible(self._view.store.note(path))]
        for path in gone:
            self._view.store.discard(path)
        if gone:
            self.wrote(gone)
        return len(gone)

    def wrote(self, paths: Sequence[str]) -> str:
        """Bring what was written into the index at once; the notes are safe either way."""
        behind = ""
        try:
            self._view.parts.reconciler.these(paths, written=True)
        except TROUBLE as error:
            behind = f"index_behind: {error}"
            self._view.parts.fell_behind(paths)
        for listener in self._view.parts.on_write:
            listener(paths)
        return behind

    def searchable(self, written: Written) -> str:
        """How a note just written can be found: by meaning too, by its words, or soon."""
        if written.behind:
            return "soon"
        try:
            whole = written.embedded is not None and written.embedded.result()
        except Exception:  # whatever the model does: the note is written
            log.warning("embedding %s failed; it will be tried again", written.path)
            return "text"
        return "now" if whole else "text"


def _require_private_kept(note: Note, raw: bytes) -> None:
    """An edit that hides the tags of a private passage would show it to the next reader."""
    if masking.exposes(note.text, raw.decode("utf-8", "surrogateescape")):
        raise NoteMalformed(
            f"{note.path} has a private passage that would not be private afterwards, or would be "
            "gone. Nothing was written; change it in an editor."
        )
