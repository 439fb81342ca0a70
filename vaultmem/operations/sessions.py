"""Sessions: a journal of what an agent saw and decided, in one note for each session."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem import journal, lock, themes
from vaultmem.desk import TYPES, Desk, Written
from vaultmem.errors import InvalidInput, NotFound, VaultmemError
from vaultmem.index import Row
from vaultmem.markdown import Observation, is_tag
from vaultmem.names import safe_name
from vaultmem.note import Note, printable

_AROUND: Final = 10  # observations before and after one, unless told
_MOST: Final = 1000  # in one answer
_TOPICS: Final = 5
_BLOCK: Final = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Started:
    session_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Logged:
    observation_id: str
    session_id: str
    path: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
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
        started = f" | Started: {self.started_at:%Y-%m-%d %H:%M}" if self.started_at else ""
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
        return "\n".join([*lines, *(["", self.summary] if self.summary else [])]) + "\n"


class Sessions(Desk):
    _own_session = ""  # begun here by a caller who has none

    def start_session(
        self,
        *,
        project: str | None = None,
        title: str | None = None,
        session_id: str | None = None,
    ) -> Started:
        """Open the session's journal; one that is open already goes on."""
        self._require_writable()
        session = self._session_of(session_id)
        if not session or (not session_id and not self.caller.session):
            session = self._new_session()
        return Started(session, self._journal_of(session, self._journal_project(project), title))

    def log(
        self,
        content: str,
        *,
        session_id: str | None = None,
        type: str | None = None,
        tags: Sequence[str] = (),
    ) -> Logged:
        """Add an observation to the session's journal, which is made if there is none yet."""
        self._require_writable()
        text, kind, names = self._said(content), self._kind_of(type), self._tag_names(tags)
        session = self._session_of(session_id) or self._new_session()
        now = dt.datetime.now(dt.UTC)
        block = journal.new_block(now)
        lines = journal.entry(now, kind, text, names, block)
        try:
            written = self._append(self._journal_of(session), lines)
        except NotFound:  # moved or deleted by a person a moment ago
            self._parts.sync.everything()
            written = self._append(self._journal_of(session), lines)
        behind = (written.behind,) if written.behind else ()
        return Logged(block, session, written.path, (*behind, *self._redactions(content, text)))

    def end_session(
        self,
        *,
        session_id: str | None = None,
        summary: str | None = None,
        keep: bool | None = None,
    ) -> Ended:
        """Sum the session up in its journal and drop what was to last for it alone.

        `keep` drops nothing: the session may go on another time. By default the settings say.
        """
        self._require_writable()
        session = self._session_of(session_id)
        if not session:
            raise NotFound("There is no session to end: start one first, or give session_id.")
        clean = self._clean(summary or "", "The summary")
        given, warnings = journal.below_heading(clean), self._redactions(summary or "", clean)
        notes = self._journals(session)
        if not notes:
            self._parts.catch_up()
            notes = self._journals(session)
        if not notes and session != self._session_of(None):
            self._require_known(session)
        if not notes and given:
            notes = [self.store.note(self._journal_of(session))]
        path, said = None, "Nothing was logged in this session, so it has no journal."
        if notes:
            path, said = self._sum_up(notes[-1], given)
        removed = self._end_volatile(session, keep)
        if session == self._own_session:
            self._own_session = ""
        return Ended(session, said, path, removed, warnings)

    def _end_volatile(self, session: str, keep: bool | None) -> int:
        if not (self.settings["sessions.keep"] if keep is None else keep):
            return self._drop_volatile(session)
        self._parts.volatile.keep(safe_name(session))
        return 0

    # --- looking back --------------------------------------------------------------------

    def timeline(
        self,
        *,
        observation_id: str | None = None,
        session_id: str | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Timeline:
        """What was observed around an observation, in a session, or lately, in order of time."""
        _require_counts(before, after)
        self._parts.catch_up()
        session = self._session_of(session_id) if session_id else ""
        if observation_id:
            return Timeline(self._around(observation_id, session, before, after))
        if session:
            found = self._observations(self._journals(session))
            if not found:
                self._require_known(session)
        else:
            rows = self.index.journals.latest(self._filters(type="session"), _count(before, after))
            found = self._observations(self._notes_at(row.path for row in rows))
        if session and before is None and after is not None:
            return Timeline(tuple(found[:after]))  # from its start
        many = _MOST if session and before is None else _count(before, after)
        return Timeline(tuple(found[-many:] if many else ()))

    def observation(self, id: str) -> ObservationView | None:
        """One observation by its id, in any case of letters; None when this caller has none such."""
        block = id.strip().removeprefix("memory:").removeprefix("^").lower()
        if not _BLOCK.fullmatch(block):
            return None
        for row in self.index.journals.with_observation(block, self._filters()):
            for found in self._observations(self._notes_at([row.path])):
                if found.id.lower() == block:
                    return found
        return None

    def session_summary(self, session_id: str | None = None) -> SessionSummary:
        """What a session stored, asked for and was about; by default the present one."""
        self._parts.catch_up()
        session = self._session_of(session_id)
        notes = self._journals(session) if session else []
        stored = (
            self.index.journals.of_session(session, self._filters(type=TYPES)) if session else []
        )
        if session_id and not notes and not stored:
            self._require_known(session)
        seen = self._observations(notes)
        tags = [*(t for row in stored for t in row.tags), *(t for o in seen for t in o.tags)]
        queries, served = self._parts.usage.in_session(session) if session else (0, 0)
        return SessionSummary(
            session_id=session,
            memories_stored=len(stored),
            stored_by_type=_by_type(stored),
            queries=queries,
            memories_served=served,
            observations=len(seen),
            topics=themes.topics(tags, [o.content for o in seen], _TOPICS),
            started_at=_first_moment(notes, stored),
            path=notes[-1].path if notes else None,
            project=(notes[-1].string("project") or None) if notes else None,
            summary=(printable(journal.summary_in(notes[-1])) or None) if notes else None,
        )

    # --- which session -------------------------------------------------------------------

    def _session_of(self, given: str | None) -> str:
        if given and (session := self._line(given, "session_id", 200)):
            return session.removeprefix("session:")
        return self.caller.session or self._own_session

    def _new_session(self) -> str:
        self._own_session = self._new_id().lower()
        return self._own_session

    def _require_known(self, session: str) -> None:
        """A session that left any trace this caller may see, if only memories."""
        filters = self._filters(include_forgotten=True)
        if not self.index.journals.of_session(session, filters):
            raise NotFound(
                f"There is no session {session!r}. Start one, or look at the timeline for those "
                "there are."
            )

    # --- journals ------------------------------------------------------------------------

    def _journals(self, session: str) -> list[Note]:
        """The session's journals, oldest first: one, unless two machines shared a session."""
        return list(self._notes_at(self._journal_paths(session)))

    def _journal_paths(self, session: str) -> list[str]:
        try:
            rows = self.index.journals.of_session(session, self._filters(type="session"))
        except VaultmemError:  # no index to be had: the files will do
            folder = self.settings["folders.sessions"].strip("/") + "/"
            paths = [path for path in self.store.walk().notes if path.startswith(folder)]
            return [note.path for note in self._notes_at(paths) if _is_of(note, session)]
        return [row.path for row in rows]

    def _notes_at(self, paths: Iterable[str]) -> Iterator[Note]:
        for path in paths:
            try:
                note = self.store.note(path)
            except VaultmemError:
                continue
            if self._visible(note):
                yield note

    def _journal_of(
        self, session: str, project: str | None = None, title: str | None = None
    ) -> str:
        """The journal to write in. Two processes that need a new one take turns."""
        if found := self._journal_paths(session):
            return found[-1]
        file = self.store.local() / "journals.lock"
        with lock.held(file, timeout=10, what="opening a journal"):
            self._parts.catch_up()
            if found := self._journal_paths(session):
                return found[-1]
            return self._new_journal(session, project, title)

    def _new_journal(self, session: str, project: str | None, title: str | None) -> str:
        now = self._now()
        project = self._journal_project(None) if project is None else project
        name = self._line(title or "", "title", 300) or "Session"
        values = {
            "id": self._new_id(),
            "type": "session",
            "scope": "project" if project else "user",
            "project": project,
            "session": session,
            "user": self.caller.user,
            "source": self.caller.client,
            "created": now,
        }
        folder = f"{self.settings['folders.sessions'].strip('/')}/{now:%Y}"
        title = f"{now:%Y-%m-%d %H%M} {name}"
        return self._create(folder, title, values, f"## {journal.LOG}\n").path

    def _journal_project(self, given: str | None) -> str:
        wanted, pinned = self._line(given or "", "project", 100), self.caller.project
        if wanted and pinned and wanted.casefold() != pinned.casefold():
            raise InvalidInput(
                f"This server is bound to the project {pinned!r}; leave project out."
            )
        return pinned or wanted or self.caller.default_project

    def _append(self, path: str, lines: str) -> Written:
        """No snapshot is kept: adding a line loses nothing, and journals grow line by line."""
        return self._written(self.store.update(path, lambda note: journal.append(note, lines)))

    def _sum_up(self, note: Note, given: str) -> tuple[str, str]:
        """Where the summary stands, and what it says."""
        now = self._now()
        written = self._rewrite(
            note, "end-session", lambda current: journal.summed_up(current, given, now)
        )
        said = given or printable(journal.summary_in(self.store.parse(written)))
        return written.path, said or "Nothing was logged in this session."

    # --- observations --------------------------------------------------------------------

    def _observations(self, notes: Iterable[Note]) -> list[ObservationView]:
        found = [
            (journal.time_of(seen, note), _view(seen, note))
            for note in notes
            for seen in journal.entries_of(note)
        ]
        return [view for _, view in sorted(found, key=lambda pair: pair[0])]

    def _around(
        self, wanted: str, session: str, before: int | None, after: int | None
    ) -> tuple[ObservationView, ...]:
        middle = self.observation(wanted)
        of_another = session and middle and middle.session_id.casefold() != session.casefold()
        if middle is None or of_another:
            raise NotFound(
                f"There is no observation {wanted!r}"
                + (f" in the session {session!r}." if session else ".")
                + " The timeline without an id lists the latest."
            )
        notes = self._journals(middle.session_id) if middle.session_id else []
        found = self._observations(notes or [self.store.note(middle.path)])
        at = next((i for i, view in enumerate(found) if view.id == middle.id), 0)
        first = max(0, at - (_AROUND if before is None else before))
        return tuple(found[first : at + 1 + (_AROUND if after is None else after)])

    def _said(self, content: str) -> str:
        text = self._clean(content, "The observation")
        if not text.strip():
            raise InvalidInput("There is nothing to log: the content is empty.")
        return text

    def _kind_of(self, given: str | None) -> str:
        kind = (given or "").strip() or journal.KIND
        if not journal.is_kind(kind) or len(kind) > 50:
            raise InvalidInput(
                f"{given!r} cannot be a type of observation: it is one word, like decision or bug."
            )
        return kind

    def _tag_names(self, tags: Sequence[str]) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for given in [tags] if isinstance(tags, str) else tags:
            tag = re.sub(r"\s+", "-", self._line(given, "A tag", 100).lstrip("#"))
            if not is_tag(tag):
                raise InvalidInput(
                    f"{given!r} cannot be a tag: use letters, digits, - _ and /, not digits alone."
                )
            names[tag] = None
        return tuple(names)


def _is_of(note: Note, session: str) -> bool:
    return note.string("session").casefold() == session.casefold()


def _view(seen: Observation, note: Note) -> ObservationView:
    return ObservationView(
        id=seen.block,
        session_id=printable(note.string("session")),
        time=journal.time_of(seen, note).replace(microsecond=0),
        type=seen.category or journal.KIND,
        content=printable(seen.content),
        path=note.path,
        block=seen.block,
        tags=seen.tags,
    )


def _require_counts(*counts: int | None) -> None:
    for count in counts:
        if count is not None and not 0 <= count <= _MOST:
            raise InvalidInput(f"before and after are counts from 0 to {_MOST}, not {count}.")


def _count(before: int | None, after: int | None) -> int:
    return 2 * _AROUND if before is None and after is None else (before or 0) + (after or 0)


def _by_type(rows: Sequence[Row]) -> dict[str, int]:
    return {kind: count for kind in TYPES if (count := sum(row.type == kind for row in rows))}


def _first_moment(notes: Sequence[Note], stored: Sequence[Row]) -> dt.datetime | None:
    moments = [note.created for note in notes if note.created]
    moments += [dt.datetime.fromtimestamp(row.created, dt.UTC) for row in stored if row.created]
    return min(moments, default=None)
