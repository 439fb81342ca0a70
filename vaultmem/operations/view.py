"""An open vault as one caller sees it: what every operation works with."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.base.local_time import end_of_day, local_time, moment
from vaultmem.config import Settings
from vaultmem.errors import InvalidInput, NotFound, VaultmemError
from vaultmem.index import (
    INDEX_FAILURES,
    CatalogRow,
    Filters,
    Index,
    IndexDamaged,
    lies_in_roots,
)
from vaultmem.notes.attributes import attributes_of, belongs_to_caller
from vaultmem.notes.note import Note, note_body, printable
from vaultmem.operations import references
from vaultmem.operations.caller import Caller
from vaultmem.operations.input import require_share
from vaultmem.recall.gaps import Gaps
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from vaultmem.parts import Parts


class NoNoteToday(NotFound):
    """The daily note was not made yet."""


class View:
    def __init__(self, parts: Parts, caller: Caller) -> None:
        self.parts = parts
        self.caller = caller
        self.settings: Settings = parts.settings
        self.store: Store = parts.store
        self.gaps = Gaps(parts)

    @property
    def index(self) -> Index:
        return self.parts.index

    @property
    def root(self) -> Path:
        return self.store.root

    def visible_note(self, ref: str) -> Note:
        """The one note behind a reference that this caller may see."""
        return self._note_of_today(ref) if references.names_today(ref) else self._note_named(ref)

    def is_note_of_today_there(self, ref: str) -> bool:
        try:
            return bool(self._note_of_today(ref))
        except NoNoteToday:
            return False

    def _note_of_today(self, ref: str) -> Note:
        if ref.strip().casefold() != references.TODAY:
            with contextlib.suppress(NotFound):
                return self._note_named(ref)
        from vaultmem.base.local_time import local_now
        from vaultmem.storage.vault_settings.daily_notes import daily_note_settings

        path = daily_note_settings(self.root).note_path(local_now())
        if not self.store.is_there(path):
            raise NoNoteToday(
                f"There is no daily note of today yet. What is appended to {references.TODAY} "
                f"makes it: {path}."
            )
        return self.require_visible(self.store.note(path))

    def _note_named(self, ref: str) -> Note:
        index: Index | None
        try:
            self.parts.catch_up()
            index, begun = self.index, self.index.identity
        except INDEX_FAILURES:
            index, begun = None, ""  # no index to be had: the files will do
        try:
            return references.find_referenced_note(self.store, index, ref, self.is_visible)
        except (NotFound, IndexDamaged) as error:
            self.store.home.require()
            if index is not None and self.gaps.since(begun):
                return references.find_referenced_note(self.store, None, ref, self.is_visible)
            if not isinstance(error, NotFound):
                raise
            raise NotFound(f"{error} {self._titles_near_in_view(index, ref)}") from None

    def _titles_near_in_view(self, index: Index | None, ref: str) -> str:
        close: list[str] = []
        if index is not None:
            with contextlib.suppress(*INDEX_FAILURES):
                name = references.plain_reference(ref)
                close = references.titles_near_reference(index, name, self.filters())
        if close:
            return f"Near it are: {', '.join(close)}."
        return "Recall or list memories to see which there are."

    def is_visible(self, note: Note) -> bool:
        in_reach = lies_in_roots(note.path, self.caller.folders)
        return in_reach and self.sees_attributes(attributes_of(note, self.settings))

    def is_bound(self) -> bool:
        """Whether there may be notes that this caller must not know of."""
        return bool(self.caller.user or self.caller.project or self.caller.folders)

    def own_project(self, wanted: str) -> str:
        """Where what this caller writes belongs, if it belongs to a project."""
        bound = self.caller.project
        if self.caller.is_bound_to_another(wanted):
            raise InvalidInput(f"This server is bound to the project {bound!r}; leave project out.")
        return bound or wanted or self.caller.default_project

    def visible_body(self, row: CatalogRow) -> str | None:
        """The text of a note that the index named, as it is now; None where it is gone, or has
        become someone else's since it was indexed."""
        try:
            stored = self.store.read(row.path)
        except VaultmemError:
            return None
        if stored.version != row.version and not self.is_visible(self.store.parse(stored)):
            return None
        return note_body(stored.raw)

    def require_visible(self, note: Note) -> Note:
        """Before it is changed: meanwhile it may have become someone else's."""
        if not self.is_visible(note):
            raise NotFound(f"There is no memory {note.path}.")
        return note

    def sees_attributes(self, attributes: Mapping[str, str]) -> bool:
        who = self.caller
        return belongs_to_caller(
            attributes, user=who.user, project=who.project, session=who.session
        )

    def filters(
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
        first, last = (
            _view_filter_seconds(after, "after"),
            _view_filter_seconds(before, "before", whole_day=True),
        )
        if first is not None and last is not None and first > last:
            raise InvalidInput(f"The time range runs backwards: {after} is later than {before}.")
        if min_importance is not None:
            require_share(min_importance, "min_importance")
        return Filters(
            types=_view_filter_texts(type),
            scopes=_view_filter_texts(scope),
            tags=_view_filter_texts(tags),
            projects=_view_filter_texts(project),
            rooms=_view_filter_texts(room),
            kinds=_view_filter_texts(kind),
            folder=printable(folder or ""),
            after=first,
            before=last,
            min_importance=min_importance or None,
            forgotten=include_forgotten,
            user=self.caller.user,
            home=self.caller.project,
            session=self.caller.session,
            roots=self.caller.folders,
        )


def _view_filter_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if not value:
        return ()
    return tuple(map(printable, (value,) if isinstance(value, str) else value))


def _view_filter_seconds(text: str | None, name: str, *, whole_day: bool = False) -> int | None:
    """Days are this machine's; `before` a day means until its end."""
    if not text:
        return None
    found = moment(text)
    if found is None:
        raise InvalidInput(f"{name} must be a date like 2026-01-31, not {text!r}.")
    if whole_day and len(text) <= 10:
        found = end_of_day(local_time(found).date())
    return int(found.timestamp())
