"""What a look at the files found changed that vaultmem did not write here: a person did, or a
synchronisation brought it. It goes into this machine's log of what happened."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaultmem.base.file_stamps import FileStamp
from vaultmem.indexing.changed_words import changed_words, note_owner, readable_lines
from vaultmem.notes.note import note_title
from vaultmem.storage.local_state.activity import ActivityLog, NoteEvent, SeenText
from vaultmem.storage.paths import VOLATILE

if TYPE_CHECKING:
    from vaultmem.index import IndexEntry
    from vaultmem.storage.store import Store


@dataclass(frozen=True, slots=True)
class FoundNote:
    """What is remembered of a note that a look found, and where it was before."""

    text: SeenText
    title: str
    id: str
    source: str
    blob: str
    stat: FileStamp
    known: bool  # to the index, at this place or another
    moved_from: str = ""

    @property
    def path(self) -> str:
        return self.text.path


class SeenChanges:
    """Puts down what looks find. While the index is being filled (`first`) all notes are new to
    it, and only those count that were seen before in another version."""

    def __init__(self, store: Store, log: ActivityLog) -> None:
        self._store = store
        self._log = log

    def look_at(self, entry: IndexEntry, *, known: bool, moved_from: str) -> Iterator[FoundNote]:
        """Nothing of notes that last for a session only."""
        note = entry.note
        if note.path.startswith(VOLATILE):
            return
        owner = note_owner(note, self._store.settings)
        stamp = {"updated": note.string("updated")} if note.key_of("updated") else {}
        lines, body_at = readable_lines(note)
        text = SeenText(note.path, entry.version, lines, {**owner, **stamp}, body_at)
        source, blob = note.string("source"), git_name_of_bytes(note.raw)
        yield FoundNote(text, note.title, note.id, source, blob, entry.stat, known, moved_from)

    def put_down(self, found: list[FoundNote], removed: Iterable[str], *, first: bool) -> None:
        gone = [path for path in removed if not path.startswith(VOLATILE)]
        before = self._log.last_seen([*(each.moved_from or each.path for each in found), *gone])
        events = list(self._changes_seen(found, before, first=first))
        events += self._deletions_seen(() if first else gone, before)
        if events or found:
            self._log.saw(events, [each.text for each in found])

    def _changes_seen(
        self, notes: list[FoundNote], before: Mapping[str, SeenText], *, first: bool
    ) -> Iterator[NoteEvent]:
        for found in notes:
            old = before.get(found.moved_from or found.path)
            same = old is not None and old.version == found.text.version and not found.moved_from
            if not same and not (first and old is None):
                yield self._change_seen(found, old)

    def _change_seen(self, found: FoundNote, old: SeenText | None) -> NoteEvent:
        is_new = old is None and not found.known
        what = "moved" if found.moved_from else "created" if is_new else "changed"
        settings, text = self._store.settings, found.text
        changes = None
        if is_new:
            changes = changed_words([], text.lines[text.body_at :], settings)
        elif old is not None:
            changes = changed_words(old.lines, text.lines, settings)
        moment = found.stat.mtime_ns if what == "changed" else found.stat.ctime_ns
        stamp = text.owner.get("updated", "")
        return NoteEvent(
            at=min(moment / 1e9, time.time()),
            what=what,
            path=found.path,
            title=found.title,
            client=None,
            id=found.id,
            version=text.version,
            blob=found.blob,
            owners=tuple(each.owner for each in (old, text) if each is not None),
            changes=changes,
            moved_from=found.moved_from,
            source=found.source,
            stamped=bool(stamp) and old is not None and old.owner.get("updated", "") != stamp,
        )

    def _deletions_seen(
        self, gone: Iterable[str], before: Mapping[str, SeenText]
    ) -> Iterator[NoteEvent]:
        """What a setting keeps away now was not deleted: of that nothing is kept at all."""
        gone = list(gone)
        away = [path for path in gone if not self._store.paths.is_memory(path)]
        if away:
            self._log.drop(lambda path: not self._store.paths.is_memory(path))
        for path in gone:
            if path not in away:
                owners = (before[path].owner,) if path in before else ()
                yield NoteEvent(
                    time.time(), "deleted", path, note_title(path), client=None, owners=owners
                )


def git_name_of_bytes(raw: bytes) -> str:
    """What git calls a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
