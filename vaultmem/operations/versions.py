"""What memories were before: their earlier texts, and going back to one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

from vaultmem.errors import NotFound
from vaultmem.limits import bounded
from vaultmem.notes.edit import RemoveProperty
from vaultmem.notes.file_names import is_canvas, is_pdf
from vaultmem.notes.note import Note, note_version, parse
from vaultmem.operations import references
from vaultmem.operations.references import ULID
from vaultmem.operations.results import (
    PastVersion,
    Restored,
    Version,
    Versions,
    content_of,
    note_identity,
)
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.local_state.history import GitVersion, Snapshot, history_key
from vaultmem.storage.no_memories import lies_kept_away


class VersionHistory:
    """`commits` tells what git has of a note."""

    def __init__(
        self, view: View, writing: Writing, commits: Callable[[str], list[GitVersion]]
    ) -> None:
        self._view = view
        self._writing = writing
        self._commits = commits

    @bounded()
    def history(self, memory_id: str, *, git: bool = False) -> Versions:
        """The texts a memory had before each change by an agent, newest first; with `git`
        also those of its commits, from before it was renamed too."""
        note, key, path = self._note_or_past_versions(memory_id)
        kept = self._visible_kept_versions(key, path)
        versions = [Version(s.version, s.taken_at, s.action, s.size, False) for s in kept]
        if git:
            versions = self._versions_with_commits(path, versions)
        if note is not None:
            stamp = self._view.store.stat(note.path)
            saved = dt.datetime.fromtimestamp(stamp.mtime_ns / 1e9 if stamp else 0, dt.UTC)
            now = Version(note_version(note.raw), saved, "current", len(note.raw), True)
            if versions and versions[0].commit and versions[0].version == now.version:
                now = replace(versions.pop(0), action="current", current=True)
            versions.insert(0, now)
        changes = (
            len(kept) if self._view.is_bound() else self._view.parts.history.count_in_history(key)
        )
        number = changes + (note is not None)
        return Versions(note_identity(note) if note else key, path, tuple(versions), number)

    def _versions_with_commits(self, path: str, kept: list[Version]) -> list[Version]:
        """Snapshots and commits in one line; a text that git has is shown as a commit."""
        commits = self._visible_commit_versions(path)
        known = {commit.version for commit in commits}
        found = [
            Version(c.version, c.when, c.action, len(c.raw), False, c.commit, c.author, c.subject)
            for c in commits
        ]
        found += [old for old in kept if old.version not in known]
        second = dt.timedelta(seconds=1)  # git counts in whole ones: a commit is at its end
        return sorted(found, key=lambda v: v.taken_at + second * bool(v.commit), reverse=True)

    def _visible_commit_versions(self, path: str) -> list[GitVersion]:
        commits = (_commit_as_read(commit) for commit in self._commits(path))
        return [c for c in commits if self._was_version_visible(c, c.path)]

    def _visible_kept_versions(self, key: str, path: str) -> list[Snapshot]:
        return [
            s for s in self._view.parts.history.snapshots(key) if self._was_version_visible(s, path)
        ]

    def _was_version_visible(self, kept: Snapshot | GitVersion, path: str) -> bool:
        """A text from a time when the note was another's stays theirs."""
        if not self._view.is_bound():
            return True
        return self._view.is_visible(parse(kept.raw, path, self._view.settings.properties))

    @bounded()
    def version_text(self, memory_id: str, wanted: str) -> str:
        note, key, path = self._note_or_past_versions(memory_id)
        if note is not None and _is_version(wanted, note_version(note.raw)):
            return note.text
        return self._kept_version(key, path, wanted).raw.decode("utf-8", "surrogateescape")

    @bounded()
    def past(self, memory_id: str, wanted: str) -> PastVersion:
        """A memory as it was in an earlier version, without what is private."""
        note, key, path = self._note_or_past_versions(memory_id)
        if note is not None and _is_version(wanted, note_version(note.raw)):
            then, version = note, note_version(note.raw)
        else:
            kept = self._kept_version(key, path, wanted)
            then = parse(kept.raw, path, self._view.settings.properties)
            version = kept.version
        return PastVersion(key, path, version, content_of(then), then.tags)

    def _kept_version(self, key: str, path: str, wanted: str) -> Snapshot | GitVersion:
        """An earlier version, by its name or by that of its commit."""
        for snapshot in self._visible_kept_versions(key, path):
            if _is_version(wanted, snapshot.version):
                return snapshot
        for commit in self._visible_commit_versions(path):
            if _is_version(wanted, commit.version, commit.commit):
                return commit
        raise NotFound(
            f"There is no version {wanted!r} of this memory; its history lists the ones there are."
        )

    @bounded()
    def restore(self, memory_id: str, version: str | None = None) -> Restored:
        """Undo the last change by an agent, or go back to the version named."""
        self._writing.require_writable()
        note, key, path = self._note_or_past_versions(memory_id)
        self._view.store.paths.require_changeable(path)
        if version:
            return self._restore_version(note, path, self._kept_version(key, path, version))
        kept = [
            s for s in self._visible_kept_versions(key, path) if note is None or s.raw != note.raw
        ]
        if kept:
            return self._restore_version(note, path, kept[0])
        if note is not None and note.flag("forgotten"):
            names = ("forgotten", "forgotten_at", "forgotten_reason")
            changes = [RemoveProperty(n) for n in names if note.key_of(n) is not None]
            written = self._writing.edit_note(note, "restore", *changes)
            return Restored(note_identity(note), written.path, written.version, "forget")
        raise NotFound(f"{path} has no earlier version: no agent has changed it on this machine.")

    def _restore_version(
        self, note: Note | None, path: str, snapshot: Snapshot | GitVersion
    ) -> Restored:
        raw = snapshot.raw
        if note is not None:
            return self._restore_version_over(note, raw, snapshot.action)
        folder, _, name = path.rpartition("/")
        note = parse(raw, path, self._view.settings.properties)
        name = name.removesuffix(".md")
        written = self._writing.place_note(folder, name, note, action="restore")
        place = self._view.parts.history.last_place_in_history(history_key(note))
        if place and place.trashed:
            self._view.store.trash.clear(place.trashed, raw)
        return Restored(note_identity(written.note), written.path, written.version, snapshot.action)

    def _restore_version_over(self, note: Note, raw: bytes, action: str) -> Restored:
        """The text that stood there is kept, and the receipt says where if it was a person's."""
        before = ""

        def change(current: Note) -> bytes:
            nonlocal before
            before = note_version(current.raw)
            return raw

        foreign = not self._view.store.wrote(note_version(note.raw))
        written = self._writing.rewrite_note(note, "restore", change, of_its_own=False)
        told = (
            f"newer_text_replaced: it had been changed by hand since. That text is kept as version "
            f"{before}; restore_memory with this version brings it back."
        )
        changed = written.version != before
        return Restored(
            note_identity(written.note),
            written.path,
            written.version,
            action,
            before if changed else None,
            (told,) if changed and foreign else (),
        )

    def _note_or_past_versions(self, ref: str) -> tuple[Note | None, str, str]:
        """A note, or what is known of one that was pruned: its history and where it was."""
        try:
            note = self._view.visible_note(ref)
            return note, history_key(note), note.path
        except NotFound:
            wanted = references.plain_reference(ref)
            for key in self._view.parts.history.notes():
                place = self._view.parts.history.last_place_in_history(key)
                if place is None or (
                    wanted.upper() != key and wanted not in _references_to_versions(place.path)
                ):
                    continue
                if self._are_versions_pruned(key, place.path):
                    return None, key, place.path
            raise

    def _are_versions_pruned(self, key: str, path: str) -> bool:
        """Whether there was such a note of this caller's and is none any more: one that became
        someone else's is there, and was not lost."""
        kept = self._view.parts.history.snapshots(key)
        if not kept or not self._was_version_visible(kept[0], path):
            return False
        if not self._view.store.paths.is_memory(path):
            return False
        if not ULID.match(key):
            return self._view.store.stat(path) is None
        if lies_kept_away(self._view.store, key):
            return False
        try:
            references.find_referenced_note(
                self._view.store, self._view.index, key, lambda note: True
            )
        except NotFound:
            return True
        return False


def _is_version(wanted: str, *names: str) -> bool:
    return len(wanted) >= 4 and any(name.startswith(wanted.lower()) for name in names)


def _references_to_versions(path: str) -> tuple[str, ...]:
    return path, path.removesuffix(".md"), path.rpartition("/")[2].removesuffix(".md")


def _commit_as_read(commit: GitVersion) -> GitVersion:
    if is_pdf(commit.path):
        return commit._replace(raw=b"")  # of older ones no text is kept
    if not is_canvas(commit.path):
        return commit
    from vaultmem.notes.canvas import read_canvas

    return commit._replace(raw=read_canvas(commit.raw).raw)
