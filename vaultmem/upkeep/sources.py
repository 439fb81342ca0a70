"""Which memories and observations others can be drawn from, of all sessions, oldest first."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ulid_transform import ulid_to_timestamp

from vaultmem.base.local_time import local_time
from vaultmem.errors import VaultmemError
from vaultmem.index import CatalogRow
from vaultmem.notes import journal
from vaultmem.notes.attributes import MEMORY_TYPES, attributes_of
from vaultmem.notes.file_names import is_only_read, name_key, safe_name
from vaultmem.notes.markdown import text_without_comments
from vaultmem.notes.note import (
    Note,
    note_body,
    note_title,
    one_line,
    printable,
    property_links,
)
from vaultmem.operations.results import note_identity
from vaultmem.operations.view import View
from vaultmem.upkeep.consolidation.comparison import Disagreement
from vaultmem.upkeep.consolidation.drafts import EPOCH, SourceMemory

_MOST: Final = 20_000  # the latest ones are looked at
_MOST_JOURNALS: Final = 1_000
_NO_LINK: Final = re.compile(r"[\[\]|#^]")


class Sources:
    def __init__(self, view: View) -> None:
        """Memories of sessions that ended are seen too: whoever had them is gone."""
        self._pinned = view
        self._view = View(view.parts, replace(view.caller, session=""))
        self._held: dict[str, bool] = {}

    def all_sources(self) -> list[SourceMemory]:
        """What this caller may see, without what has no name that a link could carry."""
        derived = dict(self._origins_of_sources())
        used = {name for names in derived.values() for name in names}
        rows = {row.path: row for row in self._rows_of_sources()}
        found = [
            source
            for row in rows.values()
            if one_line(row.path) == row.path and not _NO_LINK.search(row.path)
            if not is_only_read(row.path)  # nothing could be marked in it as drawn from
            for source in self._sources_of_row(row, derived.get(row.path), used)
        ]
        return sorted(found, key=lambda source: (source.moment, source.id))

    def _rows_of_sources(self) -> list[CatalogRow]:
        """Elsewhere than among the memories any note of a person counts as semantic."""
        view, folder = self._view, self._view.settings["folders.memories"]
        wanted = (
            view.filters(type="episodic"),
            view.filters(type=MEMORY_TYPES, folder=folder),
            view.filters(type=MEMORY_TYPES, scope="session"),
        )
        rows = [row for f in wanted for row in view.index.lookup.select(f, "created", _MOST)[0]]
        return rows + view.index.journals.latest(view.filters(type="session"), _MOST_JOURNALS)

    def _sources_of_row(
        self, row: CatalogRow, origins: tuple[str, ...] | None, used: set[str]
    ) -> Iterator[SourceMemory]:
        """What the catalog knows of a memory need not be read from it, as long as it is the same."""
        try:
            stored = self._view.store.read(row.path)
            same = stored.version == row.version and row.type.casefold() != "session"
            note = None if same else self._view.store.parse(stored)
        except VaultmemError:
            return
        if note is not None and self._view.is_visible(note) and self._is_source_free(row):
            yield from self._sources_in_note(note, used)
        elif note is None and self._is_source_free(row):
            yield _source_of_row(row, note_body(stored.raw), origins, used)

    def _is_source_free(self, row: CatalogRow) -> bool:
        """Whether nobody else is working with it: what lasts for a session belongs to it."""
        own, session = self._pinned.caller.session, row.session
        if not own or row.scope.casefold() != "session" or session.casefold() == own.casefold():
            return True
        if session not in self._held:
            self._held[session] = self._view.parts.session_folders.is_held(safe_name(session))
        return not self._held[session]

    def _sources_in_note(self, note: Note, used: set[str]) -> Iterator[SourceMemory]:
        """A memory is one source, a journal as many as it has entries."""
        kept = attributes_of(note, self._view.settings)
        started = note.created or EPOCH
        session = kept["session"].casefold()
        whole = SourceMemory(
            id=note_identity(note),
            text=_source_text(note.body),
            type=kept["type"],
            scope=kept["scope"],
            project=kept["project"],
            user=kept["user"],
            occasion=session or f"{local_time(started):%Y-%m-%d}",
            tags=note.tags,
            importance=note.number("importance"),
            used=_is_source_used(note.path, "", used),
            origins=_source_origins(note),
            replaced=note.get("superseded_by") is not None,
            path=note.path,
            title=note.title,
            moment=max(_exact_source_moment(started, note.id), note.updated or started),
        )
        if whole.type != "session":
            yield whole
            return
        for seen in journal.journal_entries(note):
            if seen.block and seen.content.strip():
                yield replace(
                    whole,
                    id=seen.block,
                    text=_source_text(seen.content),
                    type="episodic",
                    occasion=session or note.path,
                    tags=seen.tags,
                    used=_is_source_used(note.path, f"#^{seen.block}", used),
                    title="",
                    block=seen.block,
                    moment=journal.time_of_entry(seen, note),
                )

    def linked_source(self, source: SourceMemory) -> SourceMemory:
        """With its link: the title, or where two notes share it the path."""
        title = note_title(source.path)
        alone = len(self._view.index.lookup.find(title)) <= 1
        name = title if alone else source.path.removesuffix(".md")
        anchor = f"#^{source.block}" if source.block else ""
        return replace(source, link=f"[[{name}{anchor}]]")

    def linked_disagreement(self, conflict: Disagreement) -> Disagreement:
        older, newer = map(self.linked_source, (conflict.older, conflict.newer))
        return conflict._replace(older=older, newer=newer)

    def _origins_of_sources(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """What every memory that was drawn from others was drawn from, forgotten ones included:
        who rejects one does not want it again."""
        name = self._view.settings.properties.get("derived_from", "derived_from")
        for row in self._view.index.journals.derived(name):
            try:
                yield row.path, _source_origins(self._view.store.note(row.path)) or ()
            except VaultmemError:
                continue


def _source_of_row(
    row: CatalogRow, body: str, origins: tuple[str, ...] | None, used: set[str]
) -> SourceMemory:
    started = EPOCH if row.created is None else dt.datetime.fromtimestamp(row.created, dt.UTC)
    changed = started if row.updated is None else dt.datetime.fromtimestamp(row.updated, dt.UTC)
    return SourceMemory(
        id=row.id or row.path,
        text=_source_text(body),
        type=row.type,
        scope=row.scope,
        project=row.project,
        user=row.user,
        occasion=row.session.casefold() or f"{local_time(started):%Y-%m-%d}",
        tags=row.tags,
        importance=row.importance,
        used=_is_source_used(row.path, "", used),
        origins=origins,
        replaced=bool(row.more.get("superseded_by")),
        path=row.path,
        title=row.title,
        moment=max(_exact_source_moment(started, row.id), changed),
    )


def _source_text(body: str) -> str:
    return printable(text_without_comments(body)).strip()


def _source_origins(note: Note) -> tuple[str, ...] | None:
    value = note.get("derived_from")
    if value is None:
        return None
    links = property_links({"derived_from": value})
    anchors = ((link, f"#{link.anchor}" if link.anchor else "") for link in links)
    return tuple(name_key(link.target.removesuffix(".md") + anchor) for link, anchor in anchors)


def _is_source_used(path: str, anchor: str, used: set[str]) -> bool:
    if not used:
        return False
    whole = path.removesuffix(".md") + anchor
    return any(name_key(name) in used for name in (whole, whole.rpartition("/")[2]))


def _exact_source_moment(created: dt.datetime, id: str) -> dt.datetime:
    """The moment within the second, which the id of a note of ours knows."""
    try:
        made = dt.datetime.fromtimestamp(ulid_to_timestamp(id) / 1000, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return created
    return made if abs((made - created).total_seconds()) < 2 else created
