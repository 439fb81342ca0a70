"""Sessions: a journal of what an agent saw and decided, in one note for each session."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ulid_transform import ulid_now

from vaultmem.base import lock
from vaultmem.base.local_time import local_time, look_up_zone
from vaultmem.errors import InvalidInput, NotFound, VaultmemError
from vaultmem.index import CatalogRow
from vaultmem.limits import COUNT, WORD, bounded
from vaultmem.notes import journal, sentences
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.file_names import safe_name
from vaultmem.notes.journal_text.plain_line import first_line_of_note, shortened
from vaultmem.notes.markdown import Observation
from vaultmem.notes.naming.derived_titles import short_title
from vaultmem.notes.note import Note, note_body, one_line, parse, printable
from vaultmem.operations.context.notebook import Notebook
from vaultmem.operations.input import now_utc
from vaultmem.operations.writing import WritingGroup

_AROUND: Final = 10  # observations before and after one, unless told
_MOST: Final = 1000  # in one answer
_TOPICS: Final = 5
_BLOCK: Final = re.compile(r"[a-z0-9-]+")
_REQUEST: Final = 400  # characters of it as a journal's first line
_TELLING: Final = 12  # bytes of a sentence that is more than a greeting


@dataclass(frozen=True, slots=True)
class StartedSession:
    session_id: str
    path: str


@dataclass(frozen=True, slots=True)
class LoggedObservation:
    observation_id: str
    session_id: str
    path: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EndedSession:
    session_id: str
    summary: str
    path: str | None  # none where nothing was logged
    memories_removed: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservationView:
    id: str
    session_id: str
    time: dt.datetime
    type: str
    content: str
    path: str
    block: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    observations: tuple[ObservationView, ...]
    warnings: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    session_id: str
    memories_stored: int
    stored_by_type: Mapping[str, int]
    queries: int
    memories_served: int
    observations: int
    topics: tuple[str, ...]
    started_at: dt.datetime | None = None
    path: str | None = None
    project: str | None = None
    summary: str | None = None

    @property
    def text(self) -> str:
        """As a person or an agent reads it."""
        started = (
            f" | Started: {local_time(self.started_at):%Y-%m-%d %H:%M}" if self.started_at else ""
        )
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.stored_by_type.items())
        recalled = f"{self.queries} queries, {self.memories_served} unique memories served"
        lines = [
            "## Session Memory Summary",
            f"**Session:** {self.session_id or 'none'}{started}",
            f"**Memories stored:** {self.memories_stored}" + (f" ({kinds})" if kinds else ""),
            f"**Memories recalled:** {recalled}",
            f"**Observations logged:** {self.observations}",
            f"**Key topics:** {', '.join(self.topics) or 'none yet'}",
        ]
        summary = ["", self.summary] if self.summary else []
        return "\n".join([*map(one_line, lines), *summary]) + "\n"


class Sessions(WritingGroup):
    _own_session = ""  # begun here by a caller who has none

    @bounded()
    def start_session(
        self,
        *,
        project: str | None = None,
        title: str | None = None,
        session_id: str | None = None,
    ) -> StartedSession:
        """Open the session's journal; one that is open already goes on."""
        self._writing.require_writable()
        session = self.session_of(session_id)
        if not session or (not session_id and not self._view.caller.session):
            session = self._new_session()
        path = self.open_journal(session, self._session_project(project), title)
        return StartedSession(session, path)

    @bounded(type=WORD)
    def log(
        self,
        content: str,
        *,
        session_id: str | None = None,
        type: str | None = None,
        tags: Sequence[str] = (),
    ) -> LoggedObservation:
        """Add an observation to the session's journal, which is made if there is none yet."""
        self._writing.require_writable()
        text = self._input.clean_text(content, "The observation")
        if not text.strip():
            raise InvalidInput("There is nothing to log: the content is empty.")
        kind = self._session_entry_kind(type)
        names = self._input.clean_tags(tags)
        session = self.session_of(session_id) or self._new_session()
        now = dt.datetime.now(dt.UTC)
        look_up_zone()
        block = journal.new_entry_id(now)
        lines = journal.journal_entry(now, kind, text, names, block)

        def add(note: Note) -> bytes:
            return journal.append_journal_entry(note, lines)

        try:
            path, *behind = self.change_journal(
                self.open_journal(session, about=text), add, lambda: lines
            )
        except NotFound:  # moved or deleted by a person a moment ago
            self._view.parts.reconciler.everything()
            path, *behind = self.change_journal(
                self.open_journal(session, about=text), add, lambda: lines
            )
        warnings = (*filter(None, behind), *self._input.redaction_warnings(content, text))
        return LoggedObservation(block, session, path, warnings)

    @bounded()
    def end_session(
        self,
        *,
        session_id: str | None = None,
        summary: str | None = None,
        keep: bool | None = None,
    ) -> EndedSession:
        """Sum the session up in its journal and drop what was to last for it alone.

        `keep` drops nothing: the session may go on another time. By default the settings say.
        """
        self._writing.require_writable()
        session = self.session_of(session_id)
        if not session:
            raise NotFound("There is no session to end: start one first, or give session_id.")
        clean = self._input.clean_text(summary or "", "The summary")
        given = journal.with_smaller_headings(clean)
        warnings = self._input.redaction_warnings(summary or "", clean)
        notes = self._session_journals(session)
        if not notes:
            self._view.gaps.warnings()
            notes = self._session_journals(session)
        if not notes and session != self.session_of(None):
            self.require_known(session)
        if not notes and given:
            notes = [self._view.store.note(self.open_journal(session))]
        path, said = None, "Nothing was logged in this session, so it has no journal."
        if notes:
            path, said = self._sum_up_session_journal(notes[-1], given)
        removed = self._end_session_notes(session, keep)
        if session == self._own_session:
            self._own_session = ""
        return EndedSession(session, said, path, removed, warnings)

    def clear_session(self) -> int:
        """Delete what was stored for the caller's session alone."""
        session = self._view.caller.session
        return self._writing.drop_session_notes(session) if session else 0

    def _end_session_notes(self, session: str, keep: bool | None) -> int:
        if not (self._view.settings["sessions.keep"] if keep is None else keep):
            return self._writing.drop_session_notes(session)
        self._view.parts.session_folders.keep(safe_name(session))
        return 0

    # --- looking back --------------------------------------------------------------------

    @bounded(before=COUNT, after=COUNT)
    def timeline(
        self,
        *,
        observation_id: str | None = None,
        session_id: str | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Timeline:
        """What was observed around an observation, in a session, or lately, in order of time."""
        lacks = self._view.gaps.look()
        session = self.session_of(session_id) if session_id else ""
        if observation_id:
            found = self._session_entries_around(observation_id, session, before, after)
            return Timeline(tuple(found), lacks())
        if session:
            found = self._session_observations(self._session_journals(session))
            if not found:
                self.require_known(session)
        else:
            journals, many = (
                self._view.filters(type="session"),
                _session_timeline_length(before, after),
            )
            rows = self._view.index.journals.latest(journals, many)
            found = self._session_observations(self.notes_at(row.path for row in rows))
        if session and before is None and after is not None:
            return Timeline(tuple(found[:after]), lacks())  # from its start
        many = _MOST if session and before is None else _session_timeline_length(before, after)
        return Timeline(tuple(found[-many:] if many else ()), lacks())

    @bounded()
    def observation(self, id: str) -> ObservationView | None:
        """One observation by its id, in any case of letters; None when this caller has none such."""
        block = id.strip().removeprefix("memory:").removeprefix("^").lower()
        if not _BLOCK.fullmatch(block):
            return None
        for path in self._view.gaps.with_observation(block, self._view.filters()):
            for found in self._session_observations(self.notes_at([path])):
                if found.id.lower() == block:
                    return found
        return None

    @bounded()
    def session_summary(self, session_id: str | None = None) -> SessionSummary:
        """What a session stored, asked for and was about; by default the present one."""
        self._view.gaps.warnings()
        session = self.session_of(session_id)
        notes = self._session_journals(session) if session else []
        mine = self._view.filters(type=MEMORY_TYPES)
        stored = self._view.gaps.of_session(session, mine) if session else []
        if session_id and not notes and not stored:
            self.require_known(session)
        seen, kinds = self._session_observations(notes), Counter(row.type for row in stored)
        tags = [*(t for row in stored for t in row.tags), *(t for o in seen for t in o.tags)]
        queries, served = self._view.parts.usage.in_session(session) if session else (0, 0)
        return SessionSummary(
            session_id=session,
            memories_stored=len(stored),
            stored_by_type={kind: kinds[kind] for kind in MEMORY_TYPES if kinds[kind]},
            queries=queries,
            memories_served=served,
            observations=len(seen),
            topics=sentences.topics_of_texts(tags, [o.content for o in seen], _TOPICS),
            started_at=_session_start(notes, stored),
            path=notes[-1].path if notes else None,
            project=(notes[-1].string("project") or None) if notes else None,
            summary=(printable(journal.journal_summary(notes[-1])) or None) if notes else None,
        )

    # --- which session -------------------------------------------------------------------

    def session_of(self, given: str | None) -> str:
        if given and (session := self._input.property_line(given, "session_id", 200)):
            return session.removeprefix("session:")
        return self._view.caller.session or self._own_session

    def _new_session(self) -> str:
        self._own_session = ulid_now().lower()
        return self._own_session

    def require_known(self, session: str) -> None:
        """A session that left any trace this caller may see, if only memories."""
        filters = self._view.filters(include_forgotten=True)
        if not self._view.gaps.of_session(session, filters):
            raise NotFound(
                f"There is no session {session!r}. Start one, or look at the timeline for those "
                "there are."
            )

    # --- journals ------------------------------------------------------------------------

    def _session_journals(self, session: str) -> list[Note]:
        """The session's journals, oldest first: one, unless two machines shared a session."""
        return list(self.notes_at(self._session_journal_paths(session)))

    def _session_journal_paths(self, session: str) -> list[str]:
        rows = self._view.gaps.of_session(session, self._view.filters(type="session"))
        return [row.path for row in rows]

    def has_journal(self, session: str) -> bool:
        return bool(self._session_journal_paths(session))

    def notes_at(self, paths: Iterable[str]) -> Iterator[Note]:
        for path in paths:
            try:
                note = self._view.store.note(path)
            except VaultmemError:
                continue
            if self._view.is_visible(note):
                yield note

    def open_journal(
        self,
        session: str,
        project: str | None = None,
        title: str | None = None,
        about: str = "",
    ) -> str:
        """The journal to write in. Two processes that need a new one take turns. A new one is
        named by its title, else by what the person first asked for, else by what it is `about`."""
        if found := self._session_journal_paths(session):
            return found[-1]
        file = self._view.store.local() / "journals.lock"
        with lock.locked(file, timeout=10, what="opening a journal"):
            self._view.gaps.warnings()
            if found := self._session_journal_paths(session):
                return found[-1]
            return self._new_session_journal(session, project, title, about)

    def _new_session_journal(
        self, session: str, project: str | None, title: str | None, about: str
    ) -> str:
        now = now_utc()
        clock = local_time(now)
        project = self._session_project(None) if project is None else project
        request = Notebook(self._view.parts, session).request
        name = self._input.property_line(title or "", "title", 300)
        name = name or session_name(request) or session_name(about) or "Session"
        values = {
            "id": ulid_now(),
            "type": "session",
            "scope": "project" if project else "user",
            "project": project,
            "session": session,
            "user": self._view.caller.user,
            "source": self._view.caller.client,
            "created": now,
        }
        folder = f"{self._view.settings['folders.sessions'].strip('/')}/{clock:%Y}"
        title = f"{clock:%Y-%m-%d %H%M} {name}"
        first = first_line_of_note(request, _REQUEST)
        body = "\n\n".join(filter(None, (first, f"## {journal.JOURNAL_LOG}\n")))
        return self._writing.create_note(folder, title, values, body).path

    def _session_project(self, given: str | None) -> str:
        return self._view.own_project(self._input.property_line(given or "", "project", 100))

    def change_journal(
        self, path: str, change: Callable[[Note], Note | bytes], added: Callable[[], str]
    ) -> tuple[str, str]:
        """`added` says afterwards what came to it. Returns where it stands, and why the index lacks it.

        No snapshot is kept: adding a line loses nothing, and journals grow line by line.
        """
        grown: Note | None = None

        def changed(note: Note) -> bytes:
            nonlocal grown
            made = change(self._view.require_visible(note))
            after = made if isinstance(made, Note) else parse(made, path, note.names)
            if journal.journal_summary(note):
                after = journal.note_with_fresh_summary(note, after)
            grown = after if after.raw != note.raw else None
            return after.raw

        stored = self._view.store.update(path, changed)
        if grown is None:
            return stored.path, ""
        made = (stored.path, stored.version, "log", grown.id)
        self._writing.record_write(*made, added=added(), grown=grown)
        return stored.path, self._writing.index_written(stored, note_body(stored.raw))[0]

    def _sum_up_session_journal(self, note: Note, given: str) -> tuple[str, str]:
        """Where the summary stands, and what it says."""
        now, known = now_utc(), self._view.parts.authorship

        def change(current: Note) -> Note:
            new = journal.journal_with_summary(current, given, now, known.is_written)
            after = journal.journal_summary(new)
            if after in (given, journal.verbatim_entry(given)) or not given:
                known.write(after)
            return new

        written = self._writing.rewrite_note(note, "end-session", change)
        said = given or printable(journal.journal_summary(written.note))
        return written.path, said or "Nothing was logged in this session."

    # --- observations --------------------------------------------------------------------

    def _session_observations(self, notes: Iterable[Note]) -> list[ObservationView]:
        found = [
            (journal.time_of_entry(seen, note), _session_entry_view(seen, note))
            for note in notes
            for seen in journal.journal_entries(note)
        ]
        return [view for _, view in sorted(found, key=lambda pair: pair[0])]

    def _session_entries_around(
        self, wanted: str, session: str, before: int | None, after: int | None
    ) -> list[ObservationView]:
        middle = self.observation(wanted)
        of_another = session and middle and middle.session_id.casefold() != session.casefold()
        if middle is None or of_another:
            raise NotFound(
                f"There is no observation {wanted!r}"
                + (f" in the session {session!r}." if session else ".")
                + " The timeline without an id lists the latest."
            )
        notes = self._session_journals(middle.session_id) if middle.session_id else []
        found = self._session_observations(notes or [self._view.store.note(middle.path)])
        at = next((i for i, view in enumerate(found) if view.id == middle.id), 0)
        first = max(0, at - (_AROUND if before is None else before))
        return found[first : at + 1 + (_AROUND if after is None else after)]

    def _session_entry_kind(self, given: str | None) -> str:
        kind = self._input.property_line(given or "", "The type") or journal.USUAL_KIND
        if not journal.is_entry_kind(kind) or len(kind) > 50:
            raise InvalidInput(
                f"{kind!r} cannot be a type of observation: it is one word, like decision or bug."
            )
        return kind


def session_name(said: str) -> str:
    """Its first sentence that says something, cut where a title may end; empty where there is nothing that a
    file could be named by."""
    parts = re.split(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])", said.strip()[:1_000])
    part = next((part for part in parts if len(part.encode()) >= _TELLING), said)
    name = short_title(shortened(part, 200).removesuffix(" …"))
    return safe_name(name) if any(map(str.isalnum, name)) else ""


def _session_entry_view(seen: Observation, note: Note) -> ObservationView:
    return ObservationView(
        id=seen.block,
        session_id=printable(note.string("session")),
        time=journal.time_of_entry(seen, note).replace(microsecond=0),
        type=seen.category or journal.USUAL_KIND,
        content=printable(seen.content),
        path=note.path,
        block=seen.block,
        tags=seen.tags,
    )


def _session_timeline_length(before: int | None, after: int | None) -> int:
    return 2 * _AROUND if before is None and after is None else (before or 0) + (after or 0)


def _session_start(notes: Sequence[Note], stored: Sequence[CatalogRow]) -> dt.datetime | None:
    moments = [note.created for note in notes if note.created]
    moments += [dt.datetime.fromtimestamp(row.created, dt.UTC) for row in stored if row.created]
    return min(moments, default=None)
