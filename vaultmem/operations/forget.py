"""Looking after memories: forgetting, promoting, pruning, and taking any of it back."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vaultmem import finding
from vaultmem.attributes import attributes_of
from vaultmem.desk import SCOPES, TYPES, Written, require_one_of
from vaultmem.edit import Change, RemoveProperty, SetProperty, edit
from vaultmem.errors import Conflict, InvalidInput, NotFound
from vaultmem.history import Commit, Snapshot, key_of
from vaultmem.index import Row
from vaultmem.note import Note, moment, parse, version
from vaultmem.remember import Remembering
from vaultmem.store import VOLATILE
from vaultmem.views import (
    Forgotten,
    Promoted,
    Pruned,
    PrunedNote,
    Removed,
    Restored,
    Version,
    Versions,
    identity,
    row_moment,
)

_DURATION: Final = re.compile(r"(\d{1,5})\s*(h|d|w)(?:ours?|ays?|eeks?)?\Z", re.IGNORECASE)
_HOURS: Final = {"h": 1, "d": 24, "w": 168}


class Curating(Remembering):
    def forget(
        self, memory_id: str, *, reason: str | None = None, expected_version: str | None = None
    ) -> Forgotten:
        """Leave a memory out of recall; the note stays, and `restore` takes it back."""
        self._require_writable()
        note = self._note(memory_id)
        why = self._line(reason or "", "reason")
        if note.flag("forgotten") and expected_version in (None, version(note.raw)):
            told = note.string("forgotten_reason") or None
            return Forgotten(identity(note), note.path, "forgotten", version(note.raw), told)
        changes: list[Change] = [
            SetProperty("forgotten", True),
            SetProperty("forgotten_at", self._now()),
        ]
        if why:
            changes.append(SetProperty("forgotten_reason", why))
        written = self._edited(note, "forget", *changes, expect=expected_version)
        return Forgotten(identity(note), written.path, "forgotten", written.version, why or None)

    def promote(
        self,
        memory_id: str,
        target_scope: str,
        *,
        reason: str | None = None,
        expected_version: str | None = None,
    ) -> Promoted:
        """From a session to its project, or to all of the user's work."""
        self._require_writable()
        require_one_of(target_scope, ("project", "user"), "target_scope")
        note = self._note(memory_id)
        known = attributes_of(note, self.settings)
        before = known["scope"]
        rank = {name: i for i, name in enumerate(SCOPES)}
        if rank.get(before, 0) >= rank[target_scope]:
            raise InvalidInput(
                f"This memory has scope {before} already; promote it to a broader one, or leave it."
            )
        changes: list[Change] = [SetProperty("scope", target_scope)]
        own = known["project"] or None
        project = self._project(target_scope, own) if target_scope == "project" else ""
        if project:
            changes.append(SetProperty("project", project))
        drop = () if target_scope == "project" else ("project",)
        gone = [name for name in ("session", *drop) if note.key_of(name) is not None]
        changes += [
            RemoveProperty(name) for name in gone if before == "session" or name != "session"
        ]
        if note.path.startswith(VOLATILE):
            written = self._settle(note, changes, project, expected_version)
        else:
            written = self._edited(note, "promote", *changes, expect=expected_version)
        why = self._line(reason or "", "reason") or None
        return Promoted(identity(note), written.path, before, target_scope, written.version, why)

    def _settle(
        self, note: Note, changes: Sequence[Change], project: str, expect: str | None
    ) -> Written:
        """Give a volatile note a place in the vault; it keeps its id."""
        if expect is not None and version(note.raw) != expect:
            raise Conflict(
                f"{note.path} was changed meanwhile.", text=note.text, version=version(note.raw)
            )
        self._parts.history.take(note, "promote")
        raw = edit(note, *changes)
        folder = self._folder({"scope": "project", "project": project, "session": ""})
        return self._place(folder, note.title, raw, instead_of=note.path)

    # --- taking back ---------------------------------------------------------------------

    def history(self, memory_id: str, *, git: bool = False) -> Versions:
        """The texts a memory had before each change by an agent, newest first; with `git`
        also those of its commits, from before it was renamed too."""
        note, key, path = self._past(memory_id)
        kept = self._parts.history.snapshots(key)
        versions = [
            Version(s.version, s.taken_at, s.action, s.file.stat().st_size, False) for s in kept
        ]
        if git:
            versions = self._with_commits(path, versions)
        if note is not None:
            stamp = self.store.stat(note.path)
            saved = dt.datetime.fromtimestamp(stamp.mtime_ns / 1e9 if stamp else 0, dt.UTC)
            now = Version(version(note.raw), saved, "current", len(note.raw), True)
            if versions and versions[0].commit and versions[0].version == now.version:
                now = replace(versions.pop(0), action="current", current=True)
            versions.insert(0, now)
        number = self._parts.history.count(key) + (note is not None)
        return Versions(identity(note) if note else key, path, tuple(versions), number)

    def _with_commits(self, path: str, kept: list[Version]) -> list[Version]:
        """Snapshots and commits in one line; a text that git has is shown as a commit."""
        commits = self._commits(path)
        known = {commit.version for commit in commits}
        found = [
            Version(c.version, c.when, c.action, len(c.raw), False, c.commit, c.author, c.subject)
            for c in commits
        ]
        found += [old for old in kept if old.version not in known]
        second = dt.timedelta(seconds=1)  # git counts in whole ones: a commit is at its end
        return sorted(found, key=lambda v: v.taken_at + second * bool(v.commit), reverse=True)

    def _commits(self, path: str) -> list[Commit]:
        """What git has of a note, for a vault that knows git."""
        return []

    def version_text(self, memory_id: str, wanted: str) -> str:
        note, key, path = self._past(memory_id)
        if note is not None and len(wanted) >= 4 and version(note.raw).startswith(wanted.lower()):
            return note.text
        return self._kept(key, path, wanted).raw.decode("utf-8", "surrogateescape")

    def _kept(self, key: str, path: str, wanted: str) -> Snapshot | Commit:
        """An earlier version, by its name or by that of its commit."""
        try:
            return self._parts.history.snapshot(key, wanted)
        except NotFound:
            for commit in self._commits(path):
                names = commit.version, commit.commit
                if len(wanted) >= 4 and any(name.startswith(wanted.lower()) for name in names):
                    return commit
            raise

    def restore(self, memory_id: str, version: str | None = None) -> Restored:
        """Undo the last change by an agent, or go back to the version named."""
        self._require_writable()
        note, key, path = self._past(memory_id)
        history = self._parts.history
        if version:
            return self._put_back(note, path, self._kept(key, path, version))
        kept = [s for s in history.snapshots(key) if note is None or s.raw != note.raw]
        if kept:
            return self._put_back(note, path, kept[0])
        if note is not None and note.flag("forgotten"):
            names = ("forgotten", "forgotten_at", "forgotten_reason")
            changes = [RemoveProperty(n) for n in names if note.key_of(n) is not None]
            written = self._edited(note, "restore", *changes)
            return Restored(identity(note), written.path, written.version, "forget")
        raise NotFound(f"{path} has no earlier version: no agent has changed it on this machine.")

    def _put_back(self, note: Note | None, path: str, snapshot: Snapshot | Commit) -> Restored:
        raw = snapshot.raw
        if note is not None:
            written = self._rewrite(note, "restore", lambda current: raw)
        else:
            folder, _, name = path.rpartition("/")
            written = self._place(folder, name.removesuffix(".md"), raw)
            place = self._parts.history.place(key_of(parse(raw, path)))
            if place and place.trashed:
                self.store.clear_trashed(place.trashed, raw)
        after = self.store.parse(written)
        return Restored(identity(after), written.path, written.version, snapshot.action)

    def _past(self, ref: str) -> tuple[Note | None, str, str]:
        """A note, or what is known of one that was pruned: its history and where it was."""
        try:
            note = self._note(ref)
            return note, key_of(note), note.path
        except NotFound:
            wanted = finding.plain_ref(ref)
            for key in self._parts.history.notes():
                place = self._parts.history.place(key)
                if place is None or (wanted.upper() != key and wanted not in _names_of(place.path)):
                    continue
                kept = self._parts.history.snapshots(key)
                lost = kept and parse(kept[0].raw, place.path, self.settings.properties)
                if lost and self._visible(lost):
                    return None, key, place.path
            raise

    # --- clearing up ---------------------------------------------------------------------

    def remove(self, memory_id: str, *, expected_version: str | None = None) -> Removed:
        """Move one memory to the trash."""
        note = self._note(memory_id)
        self._trash(note, "remove", expected_version)
        return Removed(identity(note), note.path, f"restore_memory {identity(note)}")

    def prune(
        self,
        scope: str,
        *,
        key: str | None = None,
        older_than: str | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Move memories that agents wrote to the trash; notes that people wrote are never pruned."""
        require_one_of(scope, SCOPES, "scope")
        if not dry_run:
            self._require_writable()
        if scope != "session" and not (key or older_than or tags or project):
            raise InvalidInput(
                f"Pruning all memories of scope {scope} at once is refused; narrow it with key, "
                "older_than, tags or project."
            )
        limit = _cutoff(older_than, self._now())
        filters = self._filters(scope=scope, type=TYPES, project=project, include_forgotten=True)
        self._parts.catch_up()
        rows, _ = self.index.lookup.select(filters, "created")
        wanted = {tag.lstrip("#").casefold() for tag in tags}
        chosen = [
            row
            for row in rows
            if row.id
            and (not key or key == (row.key or row.id))
            and wanted <= {tag.casefold() for tag in row.tags}
            and (limit is None or row_moment(row) < limit)
        ]
        gone = [self._pruned(row, dry_run=dry_run) for row in chosen]
        return Pruned(len(gone), tuple(gone), dry_run)

    def _pruned(self, row: Row, *, dry_run: bool) -> PrunedNote:
        if dry_run:
            return PrunedNote(row.id, row.path, row.title)
        self._trash(self.store.note(row.path), "prune")
        return PrunedNote(row.id, row.path, row.title, f"restore_memory {row.id}")


def _names_of(path: str) -> tuple[str, ...]:
    return path, path.removesuffix(".md"), path.rpartition("/")[2].removesuffix(".md")


def _cutoff(older_than: str | None, now: dt.datetime) -> dt.datetime | None:
    if not older_than:
        return None
    if match := _DURATION.match(older_than.strip()):
        return now - dt.timedelta(hours=int(match[1]) * _HOURS[match[2].lower()])
    if found := moment(older_than):
        return found
    raise InvalidInput(
        f"older_than must be a date like 2026-01-31 or an age like 30d, not {older_than!r}."
    )
