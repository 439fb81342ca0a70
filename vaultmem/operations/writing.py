"""What every operation works with: the parts of one open vault, and for whom they work."""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from ulid_transform import ulid_now

from vaultmem import finding, hidden
from vaultmem.attributes import attributes_of
from vaultmem.config import Settings
from vaultmem.errors import AlreadyExists, Busy, InvalidInput, NotFound, ReadOnly
from vaultmem.history import History, Write
from vaultmem.index import TROUBLE, Filters, Index
from vaultmem.names import name_key, safe_name, unique_name
from vaultmem.note import Note, moment, parse, version
from vaultmem.properties import Writable
from vaultmem.store import VOLATILE, Store, Stored
from vaultmem.usage import Usage

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from vaultmem.edit import Change
    from vaultmem.index import IndexStatus
    from vaultmem.index.embed import Embedder, ModelState
    from vaultmem.recall import Recall
    from vaultmem.sync import Sync
    from vaultmem.views import Freshness
    from vaultmem.volatile import Volatile

log = logging.getLogger("vaultmem")

TYPES: Final = ("episodic", "semantic", "procedural")
SCOPES: Final = ("session", "project", "user")
MOST_BYTES: Final = 1_000_000  # of one memory's text
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SHORT: Final = 6_000  # bytes; more would keep the writer waiting
_EMBEDDED_AT_ONCE: Final = 4  # passages


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. What is pinned here no argument of a call can widen."""

    user: str = ""  # sees shared notes and this user's
    project: str = ""  # sees notes without a project and this project's
    default_project: str = ""  # of what is written without one; no pin
    session: str = ""  # session-scope notes of other sessions do not exist; a person has none
    client: str = ""  # the source of what is written without one
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Written(Stored):
    """A note that was just written, and why the index does not have it yet, if so."""

    behind: str = ""
    embedded: Future[bool] | None = None  # whether it can be found by meaning, all of it


class Parts(Protocol):
    """What the composition root offers: each part is made when it is first asked for."""

    settings: Settings
    store: Store
    opened_at: dt.datetime
    on_write: list[Callable[[Sequence[str]], None]]

    @property
    def index(self) -> Index: ...
    @property
    def sync(self) -> Sync: ...
    @property
    def recall(self) -> Recall: ...
    @property
    def history(self) -> History: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def volatile(self) -> Volatile: ...
    @property
    def aside(self) -> ThreadPoolExecutor: ...
    def embedder(self) -> Embedder | None: ...
    def loaded_embedder(self) -> Embedder | None: ...
    def catch_up(self) -> str: ...
    def freshness(self) -> Freshness: ...
    def health(self) -> tuple[IndexStatus, ModelState, str]: ...


class Desk:
    def __init__(self, parts: Parts, caller: Caller) -> None:
        self._parts = parts
        self.caller = caller

    @property
    def settings(self) -> Settings:
        return self._parts.settings

    @property
    def store(self) -> Store:
        return self._parts.store

    @property
    def index(self) -> Index:
        return self._parts.index

    # --- finding -------------------------------------------------------------------------

    def _note(self, ref: str) -> Note:
        """The one note behind a reference that this caller may see."""
        try:
            self._parts.catch_up()
            index: Index | None = self.index
        except TROUBLE:
            index = None  # no index to be had: the files will do
        try:
            return finding.find(self.store, index, ref, self._visible)
        except NotFound as error:
            raise NotFound(f"{error} {self._advice(index, ref)}") from None

    def _advice(self, index: Index | None, ref: str) -> str:
        close: list[str] = []
        if index is not None:
            try:
                close = finding.near(index, finding.plain_ref(ref), self._filters())
            except TROUBLE:
                close = []
        if close:
            return f"Near it are: {', '.join(close)}."
        return "Recall or list memories to see which there are."

    def _visible(self, note: Note) -> bool:
        return self._sees(attributes_of(note, self.settings))

    def _sees(self, attributes: Mapping[str, str]) -> bool:
        for name, pinned in (("user", self.caller.user), ("project", self.caller.project)):
            owner = attributes[name].casefold()
            if pinned and owner and owner != pinned.casefold():
                return False
        session = self.caller.session.casefold()
        bound = attributes["scope"].casefold() == "session"
        return not (session and bound and attributes["session"].casefold() != session)

    def _filters(
        self,
        *,
        scope: str | Sequence[str] | None = (),
        type: str | Sequence[str] | None = (),
        tags: str | Sequence[str] | None = (),
        project: str | None = None,
        room: str | Sequence[str] | None = None,
        kind: str | None = None,
        folder: str | None = None,
        after: str | None = None,
        before: str | None = None,
        min_importance: float | None = None,
        include_forgotten: bool = False,
    ) -> Filters:
        """What was asked for, within what this caller may see."""
        first, last = _seconds(after, "after"), _seconds(before, "before", whole_day=True)
        if first is not None and last is not None and first > last:
            raise InvalidInput(f"The time range runs backwards: {after} is later than {before}.")
        if min_importance is not None:
            require_share(min_importance, "min_importance")
        return Filters(
            types=several(type),
            scopes=several(scope),
            tags=several(tags),
            projects=several(project),
            rooms=several(room),
            kinds=several(kind),
            folder=folder or "",
            after=first,
            before=last,
            min_importance=min_importance or None,
            forgotten=include_forgotten,
            user=self.caller.user,
            home=self.caller.project,
            session=self.caller.session,
        )

    # --- writing -------------------------------------------------------------------------

    def _require_writable(self) -> None:
        if self.caller.read_only:
            raise ReadOnly("This vault is open for reading only; nothing was changed.")
        if self.settings["read_only"]:
            origin = self.settings.values["read_only"].origin
            raise ReadOnly(f"This vault is read-only ({origin}); nothing was changed.")

    def _create(
        self, folder: str, title: str, values: Mapping[str, Writable], body: str
    ) -> Written:
        """A new note whose name no other note of the vault has."""
        self._require_writable()
        from vaultmem.edit import new_note

        names = self.settings.properties
        kept = {names.get(k, k): v for k, v in values.items() if v not in (None, "", [], ())}
        return self._place(folder, title, new_note(kept, body))

    def _place(self, folder: str, title: str, raw: bytes, *, instead_of: str = "") -> Written:
        """Give bytes a place in the vault; the volatile note they replace goes away."""
        self._hold(folder)
        taken = _TakenNames(self, instead_of)
        for _ in range(100):
            path = f"{folder.rstrip('/')}/{unique_name(title, taken)}.md".lstrip("/")
            try:
                stored = self.store.create(path, raw)
            except AlreadyExists:
                taken.also.add(name_key(path.rpartition("/")[2].removesuffix(".md")))
                continue
            if instead_of:
                self.store.discard(instead_of)
            self._noted(stored.path, raw, "add")
            return self._written(stored, instead_of)
        raise Busy(f"No free name could be found for {title!r}; try another title.")

    def _change(
        self, note: Note, action: str, *changes: Change, expect: str | None = None
    ) -> Written:
        """Edit a note as a splice; its old bytes are kept before anything is written."""
        from vaultmem.edit import edit

        return self._rewrite(note, action, lambda current: edit(current, *changes), expect)

    def _edited(
        self, note: Note, action: str, *changes: Change, expect: str | None = None
    ) -> Written:
        """`_change` that also sets `updated`, on notes of ours."""
        from vaultmem.edit import SetProperty, edit

        def change(current: Note) -> bytes:
            raw = edit(current, *changes)
            if raw == current.raw or not (current.id or current.get("updated")):
                return raw
            after = parse(raw, current.path, current.names)
            return edit(after, SetProperty("updated", self._now()))

        return self._rewrite(note, action, change, expect)

    def _rewrite(
        self, note: Note, action: str, change: Callable[[Note], bytes], expect: str | None = None
    ) -> Written:
        self._require_writable()
        self._hold(note.path.rpartition("/")[0])
        wrote = False

        def remembered(current: Note) -> bytes:
            nonlocal wrote
            raw = change(current)
            wrote = raw != current.raw
            if wrote:
                self._parts.history.take(current, action)
            return raw

        stored = self.store.update(note.path, remembered, expect=expect)
        if wrote:
            self._noted(stored.path, stored.raw, action)
        return self._written(stored)

    def _noted(self, path: str, raw: bytes | None, action: str, known: str = "") -> None:
        """Let the next commit say who wrote this, and what for."""
        if path.startswith(VOLATILE):
            return
        made = version(raw) if raw is not None else ""
        found = parse(raw, path, self.settings.properties).id if raw is not None else known
        self._parts.history.wrote(Write(path, made, action, found, self.caller.client))

    def _written(self, stored: Stored, *gone: str) -> Written:
        embedded = self._to_vectors(stored)
        behind = self._wrote([stored.path, *filter(None, gone)])
        return Written(stored.path, stored.raw, stored.stat, behind, embedded)

    def _to_vectors(self, stored: Stored) -> Future[bool] | None:
        """A short note gets its vectors while the index takes in its words."""
        embedder = self._parts.loaded_embedder()
        if embedder is None or len(stored.raw) > _SHORT:
            return None
        embed = self._parts.sync.embed_note
        return self._parts.aside.submit(embed, embedder, stored.path, _EMBEDDED_AT_ONCE)

    def _trash(self, note: Note, action: str, expect: str | None = None) -> str:
        """Move a note to the trash (a volatile one is deleted); its bytes are kept first."""
        self._require_writable()
        self._parts.history.take(note, action)
        place = ""
        if note.path.startswith(VOLATILE):
            self.store.discard(note.path)
        else:
            place = self.store.remove(note.path, expect=expect)
            self._parts.history.trashed(note, place)
            self._noted(note.path, None, action, note.id)
        self._wrote([note.path])
        return place

    def _hold(self, folder: str) -> None:
        """While this process works in a session's folder nobody takes the session for dead."""
        if folder.startswith(VOLATILE):
            self._parts.volatile.hold(folder.removeprefix(VOLATILE))

    def _drop_volatile(self, session: str) -> int:
        """Delete what was meant to last for this session only, as far as the caller sees it."""
        self._require_writable()
        self._parts.volatile.let_go(safe_name(session))
        kept = self.store.volatile(safe_name(session))
        gone = [path for path in kept if self._visible(self.store.note(path))]
        for path in gone:
            self.store.discard(path)
        if gone:
            self._wrote(gone)
        return len(gone)

    def _wrote(self, paths: Sequence[str]) -> str:
        """Bring what was written into the index at once; the notes are safe either way."""
        behind = ""
        try:
            self._parts.sync.these(paths)
        except TROUBLE as error:
            behind = f"index_behind: {error}"
        for listener in self._parts.on_write:
            listener(paths)
        return behind

    def _searchable(self, written: Written) -> str:
        """How a note just written can be found: by meaning too, by its words, or soon."""
        if written.behind:
            return "soon"
        try:
            whole = written.embedded is not None and written.embedded.result()
        except Exception:  # whatever the model does: the note is written
            log.warning("embedding %s failed; it will be tried again", written.path)
            return "text"
        return "now" if whole else "text"

    # --- words ---------------------------------------------------------------------------

    def _clean(self, text: str, what: str = "The content") -> str:
        """Text fit for a note: without private passages, bounded, and plain."""
        if len(text.encode(errors="replace")) > MOST_BYTES:
            raise InvalidInput(
                f"{what} has more than {MOST_BYTES:,} bytes; a memory is a note, not a file. "
                "Store what matters in it, and name the file as its source."
            )
        if found := _CONTROL.search(text):
            raise InvalidInput(
                f"{what} has the control character U+{ord(found[0]):04X} in it, "
                "perhaps a terminal's colours. Remove such characters and try again."
            )
        text = self._redacted(hidden.without_private(text))
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{what} has half a character (a lone surrogate) in it.") from None
        return text

    def _redacted(self, text: str) -> str:
        if not self.settings["privacy.redact"]:
            return text
        from vaultmem import secrets

        return secrets.redacted(text, self.settings["privacy.patterns"])[0]

    def _redactions(self, given: str, kept: str) -> tuple[str, ...]:
        """What a receipt says about secrets that did not go into the note."""
        from vaultmem import secrets

        kinds = secrets.replaced(given, kept)
        named = (f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" for kind in kinds)
        return tuple(f"secret_redacted: {kind} was replaced" for kind in named)

    def _line(self, text: str, what: str, most: int = 500) -> str:
        """Text for a property: one line, not long."""
        text = " ".join(self._clean(text, what).split())
        if len(text) > most:
            raise InvalidInput(f"{what} has more than {most} characters; make it shorter.")
        return text

    def _now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC).replace(microsecond=0)

    def _new_id(self) -> str:
        return ulid_now()


class _TakenNames:
    """The names of all notes in the vault, asked for one at a time."""

    def __init__(self, desk: Desk, apart_from: str) -> None:
        self.also: set[str] = set()
        self._desk = desk
        self._apart_from = apart_from

    def __contains__(self, key: object) -> bool:
        if key in self.also:
            return True
        try:
            paths = self._desk.index.lookup.paths_named(str(key))
            return any(path != self._apart_from for path in paths)
        except TROUBLE:
            return False  # without an index the store refuses at least a clash in one folder


def several(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _seconds(text: str | None, name: str, *, whole_day: bool = False) -> int | None:
    if not text:
        return None
    found = moment(text)
    if found is None:
        raise InvalidInput(f"{name} must be a date like 2026-01-31, not {text!r}.")
    seconds = int(found.timestamp())
    return seconds + 86_399 if whole_day and len(text) <= 10 else seconds


def require_share(value: Any, name: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {value!r}.")


def require_one_of(value: str, allowed: Sequence[str], name: str) -> str:
    if value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value
