"""What happened to the notes, by whom, and which words changed: today, or since some moment.

Three witnesses are heard. This machine's log has what was written or seen here. Commits that came
from other machines tell what was done there, and the log's lines about their arrival give way to
them. A note that an agent made and neither knows of tells by its own id and source.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vaultmem.errors import InvalidInput
from vaultmem.index import INDEX_FAILURES, lies_in_roots
from vaultmem.indexing.changed_words import changed_words, note_owner, readable_lines
from vaultmem.limits import bounded
from vaultmem.notes.note import Note, note_title, parse, printable
from vaultmem.operations.happened.happenings import DEEDS
from vaultmem.operations.happened.periods import beginning_of, local_moment
from vaultmem.operations.references import ULID
from vaultmem.operations.results import Result, source_value
from vaultmem.operations.view import View
from vaultmem.storage.local_state.activity import DistantChange, DistantChanges, NoteEvent, Owner
from vaultmem.storage.paths import VOLATILE

BY: Final = ("agent", "person")
USUAL_SINCE: Final = dt.timedelta(days=30)
_ARRIVING: Final = 7 * 86_400  # seconds that a commit may be older than its arrival here
_MOST_READ: Final = 500  # distant changes of which the texts are read to tell whose they are
_LONGEST: Final = 600  # characters of what several log lines said
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_REMOVED: Final = ("trashed", "pruned")
_MADE: Final = ("stored", "started", "merged")
_OWNED_BY: Final = ("user", "project", "scope", "session", "unclear")


@dataclass(eq=False, repr=False)
class ChangedWords(Result):
    removed: str | None = None
    added: str | None = None


@dataclass(eq=False, repr=False)
class Happening(Result):
    """What somebody did to a note."""

    at: str  # local time, with its distance from UTC
    by: str  # "agent" or "person"
    what: str  # "stored", "changed", "forgotten", "restored", "logged", …
    path: str
    title: str
    changes: tuple[ChangedWords, ...] | None = None  # None where it is not known what was there
    id: str | None = None
    client: str | None = None  # of an agent
    session: str | None = None
    machine: str | None = None  # another one: who commits there, or "another"
    person: str | None = None  # by name, where a commit tells it
    project: str | None = None
    times: int | None = None  # where it was done again and again
    moved_from: str | None = None
    version: str | None = None  # of the note, that it made
    undo: str | None = None  # what would take it back: "restore" or "remove"


@dataclass(eq=False, repr=False)
class Activity(Result):
    """What happened to the notes, newest first."""

    activity: tuple[Happening, ...]
    total: int
    since: str
    next_offset: int | None = None
    message: str | None = None  # where there is nothing to show


class _Deed(NamedTuple):
    """An event, and what else is known of who did it."""

    event: NoteEvent
    agent: bool
    machine: str = ""
    person: str = ""
    distant: DistantChange | None = None  # whose texts are not read yet
    times: int = 1


class HappenedHere:
    """`distant` tells what came from other machines since two moments."""

    def __init__(self, view: View, distant: Callable[[float, float], DistantChanges]) -> None:
        self._view = view
        self._distant = distant

    @bounded()
    def activity(
        self,
        *,
        by: str | None = None,
        since: str | None = None,
        project: str | None = None,
        folder: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Activity:
        """What agents (`agent`, or one by its name) or people (`person`) did to the notes."""
        begin = beginning_of(since) if since else _usual_beginning()
        self._view.gaps.warnings()
        elsewhere = self._distant(begin.timestamp(), begin.timestamp() - _ARRIVING)
        deeds = self._deeds(begin.timestamp(), elsewhere)
        if project or self._view.is_bound():
            deeds = self._with_texts(deeds[:_MOST_READ], elsewhere)
        deeds = self._visible(deeds)
        wanted = _in_folder(_of_project(deeds, project or ""), folder or "")
        found = _joined(_by(wanted, by or ""))
        shown = self._with_texts(found[offset : offset + limit], elsewhere)
        more = offset + len(shown)
        return Activity(
            self._told(shown),
            len(found),
            local_moment(begin.timestamp()),
            more if more < len(found) else None,
            None if found else _nothing(by or "", begin, wanted),
        )

    def _told(self, deeds: Sequence[_Deed]) -> tuple[Happening, ...]:
        """What was the last that happened to a note can be taken back as a whole."""
        try:
            there = self._view.index.lookup.at(list({deed.event.path for deed in deeds}))
        except INDEX_FAILURES:
            there = None
        told: set[str] = set()
        found = []
        for deed in deeds:
            event, last = deed.event, deed.event.path not in told
            told.add(event.path)
            undo = None
            if there is not None and last and event.client is not None and not deed.machine:
                row = there.get(event.path)
                undo = _way_back(event, row.version if row else None)
            found.append(_happening(deed, undo))
        return tuple(found)

    # --- the witnesses -----------------------------------------------------------------------

    def _deeds(self, since: float, elsewhere: DistantChanges) -> list[_Deed]:
        """Newest first."""
        seen = self._view.parts.activity.since(since)
        made = {event.id for event in seen if event.id and event.client is not None}
        deeds = [_deed_in_log(event, made) for event in seen if not _came_by_git(event, elsewhere)]
        deeds += [_deed_in_commit(change) for change in elsewhere.changes]
        told = {deed.event.path for deed in deeds} | {deed.event.id for deed in deeds}
        deeds += self._deeds_in_notes(since, told)
        return sorted(deeds, key=lambda deed: -deed.event.at)

    def _deeds_in_notes(self, since: float, told: set[str]) -> Iterator[_Deed]:
        """Notes that agents made and no log knows of: their ids say when, their source who."""
        try:
            rows = self._view.index.lookup.made_since(_first_ulid(since))
        except INDEX_FAILURES:
            return
        for row in rows:
            client = _client_of(row.more.get("source", ""))
            if row.path in told or row.id in told or row.path.startswith(VOLATILE) or not client:
                continue
            at = min(_ulid_seconds(row.id), time.time())
            event = NoteEvent(
                at,
                "stored",
                row.path,
                row.title,
                client,
                row.id,
                row.session,
                owners=(row.belonging,),
            )
            yield _Deed(event, agent=True)

    # --- what a caller may know ----------------------------------------------------------------

    def _visible(self, deeds: Sequence[_Deed]) -> list[_Deed]:
        """What is no memory, or somebody else's now or then, did not happen for this caller."""
        paths = self._view.store.paths
        kept = [
            deed
            for deed in deeds
            if paths.is_memory(deed.event.path)
            and lies_in_roots(deed.event.path, self._view.caller.folders)
            and not (deed.event.moved_from and not paths.is_memory(deed.event.moved_from))
            and all(self._view.sees_attributes(_whole(owner)) for owner in deed.event.owners)
        ]
        if not self._view.is_bound():
            return kept
        try:
            there = self._view.index.lookup.at(list({deed.event.path for deed in kept}))
        except INDEX_FAILURES:
            return []
        return [
            deed
            for deed in kept
            if (row := there.get(deed.event.path)) is None
            or self._view.sees_attributes(row.belonging)
        ]

    # --- texts of other machines ---------------------------------------------------------------

    def _with_texts(self, deeds: Sequence[_Deed], elsewhere: DistantChanges) -> list[_Deed]:
        """Who a change from elsewhere concerned, and its words, are in the texts that git has."""
        names = [
            name
            for deed in deeds
            if deed.distant
            for name in (deed.distant.before, deed.distant.after)
            if name
        ]
        raws = dict(zip(names, elsewhere.read(names), strict=True)) if names else {}
        return [
            self._read_deed(deed, raws.get(deed.distant.before), raws.get(deed.distant.after))
            if deed.distant
            else deed
            for deed in deeds
        ]

    def _read_deed(self, deed: _Deed, before: bytes | None, after: bytes | None) -> _Deed:
        change, settings = deed.distant, self._view.settings
        assert change is not None
        notes = [self._distant_note(change.path, raw) for raw in (before, after)]
        lines = [readable_lines(note) if note else ([], 0) for note in notes]
        new, body_at = lines[1]
        gone = notes[1] is None
        words = changed_words(lines[0][0], new if notes[0] else new[body_at:], settings)
        known = next((note.id for note in notes[::-1] if note), "")
        deeds = dict(change.deeds)
        event = replace(
            deed.event,
            id=known,
            what=DEEDS.get(deeds.get(known, ""), deed.event.what),
            owners=tuple(note_owner(note, settings) for note in notes if note),
            changes=() if gone else words,
        )
        return deed._replace(event=event, distant=None)

    def _distant_note(self, path: str, raw: bytes | None) -> Note | None:
        if raw is None:
            return None
        if path.endswith(".canvas"):
            from vaultmem.notes.canvas import read_canvas

            raw = read_canvas(raw).raw
        return parse(raw, path, self._view.settings.properties)


def _deed_in_log(event: NoteEvent, made: set[str]) -> _Deed:
    """What was only seen in the files was a person's doing, unless it bears an agent's marks: then
    an agent did it on another machine, and a synchronisation without git brought it."""
    if event.client is not None:
        return _Deed(event, agent=bool(event.client))
    client = _client_of(event.source)
    if event.what == "created" and client and ULID.match(event.id) and event.id not in made:
        at = min(_ulid_seconds(event.id) or event.at, event.at)
        return _Deed(replace(event, at=at, what="stored", client=client), True, "another")
    if event.stamped:
        return _Deed(event, True, "another")
    return _Deed(event, agent=False)


def _deed_in_commit(change: DistantChange) -> _Deed:
    what = "changed" if change.before and change.after else "deleted"
    if change.after and not change.before:
        what = "stored" if change.client else "created"
    elif change.moved_from:
        what = "moved"
    event = NoteEvent(
        change.at,
        what,
        change.path,
        note_title(change.path),
        change.client,
        blob=change.after,
        moved_from=change.moved_from,
    )
    machine = change.committer or "another"
    return _Deed(
        event, bool(change.client), machine, "" if change.client else change.author, change
    )


def _came_by_git(event: NoteEvent, elsewhere: DistantChanges) -> bool:
    return event.client is None and (event.path, event.blob) in elsewhere.brought


def _client_of(source: str) -> str:
    """The agent that a note's source names."""
    told = source_value(source)
    client = told.get("tool", "") if isinstance(told, dict) else told or ""
    return " ".join(str(client).split())[:100]


# --- choosing -----------------------------------------------------------------------------------


def _of_project(deeds: Iterable[_Deed], project: str) -> list[_Deed]:
    wanted = project.casefold()
    return [d for d in deeds if not wanted or wanted in map(str.casefold, _projects(d.event))]


def _in_folder(deeds: Iterable[_Deed], folder: str) -> list[_Deed]:
    wanted = folder.strip("/").casefold()
    return [d for d in deeds if not wanted or d.event.path.casefold().startswith(f"{wanted}/")]


def _by(deeds: Iterable[_Deed], by: str) -> list[_Deed]:
    """Of agents, of people, or of the agents whose name begins so."""
    who = by.strip().casefold()
    if who in BY:
        return [deed for deed in deeds if deed.agent == (who == "agent")]
    if by and not who:
        raise InvalidInput("by must be agent, person or the name of a client like claude-code.")
    return [d for d in deeds if not who or (d.agent and _agent(d).casefold().startswith(who))]


def _agent(deed: _Deed) -> str:
    return deed.event.client or ""


def _projects(event: NoteEvent) -> list[str]:
    return [owner["project"] for owner in event.owners[::-1] if owner.get("project")]


def _joined(deeds: Sequence[_Deed]) -> list[_Deed]:
    """Lines that followed each other into one journal are one; a journal grows line by line."""
    found: list[_Deed] = []
    for deed in deeds:
        last = found[-1] if found else None
        if last and last.event.what == deed.event.what == "logged" and _are_one(last, deed):
            words = (*(deed.event.changes or ()), *(last.event.changes or ()))
            kept, length = [], 0
            for change in words[::-1]:
                length += len(change.added)
                if length <= _LONGEST:
                    kept.append(change)
            event = replace(last.event, changes=tuple(kept[::-1]))
            found[-1] = last._replace(event=event, times=last.times + deed.times)
        else:
            found.append(deed)
    return found


def _are_one(one: _Deed, other: _Deed) -> bool:
    return (one.event.path, one.event.client, one.machine) == (
        other.event.path,
        other.event.client,
        other.machine,
    )


# --- showing ------------------------------------------------------------------------------------


def _way_back(event: NoteEvent, present: str | None) -> str | None:
    if event.what in _REMOVED:
        return "restore" if present is None else None
    if not event.version or event.version != present:
        return None
    return "remove" if event.what in _MADE else "restore"


def _happening(deed: _Deed, undo: str | None = None) -> Happening:
    event = deed.event
    changes = None
    if event.changes is not None:
        changes = tuple(
            ChangedWords(change.removed or None, change.added or None) for change in event.changes
        )
    return Happening(
        at=local_moment(event.at),
        by="agent" if deed.agent else "person",
        what=event.what,
        path=printable(event.path),
        title=printable(event.title),
        changes=changes,
        id=event.id or None,
        client=_agent(deed) or None,
        session=event.session or None,
        machine=deed.machine or None,
        person=deed.person or None,
        project=next(iter(_projects(event)), None),
        times=deed.times if deed.times > 1 else None,
        moved_from=event.moved_from or None,
        version=event.version or None,
        undo=undo,
    )


def _nothing(by: str, begin: dt.datetime, others: Sequence[_Deed]) -> str:
    since = f"since {begin:%Y-%m-%d %H:%M}"
    names = sorted({_agent(deed) for deed in others if deed.agent and _agent(deed)})
    if by and by.casefold() not in BY and names:
        return f"Nothing by {printable(by)} {since}. Agents that wrote: {', '.join(names[:10])}."
    whom = {"agent": " by an agent", "person": " by a person"}.get(by.casefold(), "")
    return f"Nothing happened{whom} {since}."


def _whole(owner: Owner) -> dict[str, str]:
    return {name: owner.get(name, "") for name in _OWNED_BY}


def _usual_beginning() -> dt.datetime:
    return dt.datetime.now().astimezone() - USUAL_SINCE


def _first_ulid(seconds: float) -> str:
    left, letters = int(max(seconds, 0) * 1000), ""
    for _ in range(10):
        left, digit = divmod(left, 32)
        letters = _ALPHABET[digit] + letters
    return letters


def _ulid_seconds(id: str) -> float:
    number = 0
    for letter in id[:10].upper():
        place = _ALPHABET.find(letter)
        if place < 0:
            return 0.0
        number = number * 32 + place
    return number / 1000
