"""Renaming a note as Obsidian does: its file, and every link that leads to it. People ask for it;
agents never do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem.errors import InvalidInput, NoteMalformed, NotFound, VaultmemError
from vaultmem.limits import bounded
from vaultmem.notes.edit import AddItems, edited_note
from vaultmem.notes.file_names import is_canvas, name_key, safe_name, why_name_is_unsafe
from vaultmem.notes.links import LinkMap
from vaultmem.notes.naming.renamed_links import canvas_with_renamed_links, with_renamed_links
from vaultmem.notes.note import Note, note_bytes, note_title, note_version, parse
from vaultmem.operations.results import note_identity
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.local_state.history import history_key
from vaultmem.storage.paths import VOLATILE
from vaultmem.storage.renames import RenameRecord, Renames

_BROKEN: Final = ("conflict-markers", "binary")


@dataclass(frozen=True, slots=True)
class Renamed:
    memory_id: str
    path: str  # what it is now, or would be
    old_path: str
    linking: tuple[str, ...]  # other files whose links were changed
    done: bool = True  # False: it is only planned


class Renaming:
    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing
        self._renames = Renames(view.store)

    @bounded()
    def rename(
        self,
        memory_id: str,
        title: str | None = None,
        *,
        alias: bool = False,
        dry_run: bool = False,
    ) -> Renamed:
        """Give a note another name, by default its text's own first words, and change all links
        to it. Its old name becomes an alias where that is asked for."""
        self._require_may_rename()
        note = self._writing.note_to_change(memory_id)
        new = self._new_path(note, title)
        with self._writing.key_lock():
            linking = self._linking(note.path, new)
            if not dry_run:
                self._carry_out(note, new, linking, alias=alias)
        others = tuple(path for path in linking if path != note.path)
        return Renamed(note_identity(note), new, note.path, others, done=not dry_run)

    def undo_rename(self) -> Renamed:
        """Take the last renaming back. A file that was changed since keeps what is new in it."""
        self._require_may_rename()
        self._writing.require_writable()
        with self._writing.key_lock():
            last = self._renames.last()
            if last is None:
                raise NotFound("Nothing was renamed on this machine, or it was undone already.")
            store = self._view.store
            moved = store.stat(last.new) is not None and store.stat(last.old) is None
            if not moved and store.stat(last.old) is None:
                raise NotFound(f"{last.new} is not there any more, so its name cannot be undone.")
            meant = self._meaning(last.new if moved else last.old, last)
            changed = [self._undo_change(change, last, meant) for change in last.changes]
            note = self._move(last.new, last.old) if moved else store.note(last.old)
            self._index(last, changed)
            self._renames.keep(None)
        others = tuple(path for path in changed if path not in (last.old, last.new))
        return Renamed(note_identity(note), last.old, last.new, others)

    def _require_may_rename(self) -> None:
        if self._view.is_bound():
            raise InvalidInput(
                "A renaming changes the links of all notes; this caller may not see all of them."
            )

    def _new_path(self, note: Note, title: str | None) -> str:
        if note.path.startswith(VOLATILE):
            raise InvalidInput("A session's memory goes with its session; promote it first.")
        if title is None:
            title = safe_name(note.shown_title)
            if title == note.title:
                raise InvalidInput(f"{note.title!r} is what its text says; give the new title.")
        title = title.strip().removesuffix(".md")
        if not title or title != safe_name(title):
            why = why_name_is_unsafe(title) if title else "it is empty"
            better = f" {safe_name(title)!r} would do." if title else ""
            raise InvalidInput(
                f"{title!r} cannot be the name of a note: {why or 'it is too long'}.{better}"
            )
        folder = note.path.rpartition("/")[0]
        new = f"{folder}/{title}.md".lstrip("/")
        if new == note.path:
            raise InvalidInput(f"{note.path} has this name already.")
        return new

    # --- what links to it ----------------------------------------------------------------

    def _linking(self, old: str, new: str) -> list[str]:
        """The files with links to the note, itself among them; refuses what is not clear."""
        listing = self._view.store.walk()
        key, stem = name_key(note_title(new)), name_key(note_title(old))
        for path in listing.files:
            if path != old and path.lower().endswith(".md"):
                if name_key(note_title(path)) == key:
                    raise InvalidInput(f"{path} has this name; links could not tell the two apart.")
        links, found = LinkMap(listing.files), []
        for path in sorted(listing.notes):
            try:
                note = self._view.store.note(path)
            except VaultmemError:
                continue
            targets = {link.target for link in note.links if link.target}
            named = [
                t for t in targets if name_key(t.rpartition("/")[2]).removesuffix(".md") == stem
            ]
            if not named and not (is_canvas(path) and stem in name_key(note.text)):
                if "private" not in note.text or stem not in name_key(note.text):
                    continue
            if self._is_linking(note, old, new, named, links):
                found.append(path)
        return found

    def _is_linking(
        self, note: Note, old: str, new: str, named: Sequence[str], links: LinkMap
    ) -> bool:
        for target in named:
            paths = links.resolve(target, note.path).paths
            if old in paths and len(paths) > 1:
                raise InvalidInput(
                    f"[[{target}]] in {note.path} could be {' or '.join(paths)}. Write the path "
                    "into the link first."
                )
        meant = self._meaning(old, None, links)
        raw = self._file_bytes(note)
        after = self._renamed(note.path, raw, (old, new), meant)
        if after == raw:
            return False
        if broken := [p for p in note.problems if p.kind in _BROKEN]:
            raise NoteMalformed(
                f"{note.path} links to it, and cannot be changed: {broken[0].message}"
            )
        return True

    def _meaning(
        self, path: str, last: RenameRecord | None, links: LinkMap | None = None
    ) -> Callable[[str, str], bool]:
        """Whether a target, in a file, means the note at this path."""
        known = links or LinkMap(self._view.store.walk().files)
        names = {path, last.new, last.old} if last else {path}
        stems = {name_key(note_title(name)) for name in names}

        def meant(target: str, source: str) -> bool:
            if name_key(target.rpartition("/")[2]).removesuffix(".md") not in stems:
                return False
            return known.resolve(target, source).paths == (path,)

        return meant

    def _file_bytes(self, note: Note) -> bytes:
        return self._renames.canvas_bytes(note.path) if is_canvas(note.path) else note.raw

    def _renamed(
        self, path: str, raw: bytes, names: tuple[str, str], meant: Callable[[str, str], bool]
    ) -> bytes:
        old, new = names
        here = functools.partial(_meant_from, meant, path)
        if is_canvas(path):
            text = raw.decode("utf-8", "surrogateescape")
            return note_bytes(canvas_with_renamed_links(text, old, new, here))
        note = parse(raw, path, self._view.settings.properties)
        after = parse(note_bytes(with_renamed_links(note, here, note_title(new))), path, note.names)
        if len(after.links) != len(note.links) or len(after.problems) > len(note.problems):
            raise NoteMalformed(f"{path} links to it in a way that cannot be changed safely.")
        return after.raw

    # --- carrying it out -----------------------------------------------------------------

    def _carry_out(self, note: Note, new: str, linking: list[str], *, alias: bool) -> None:
        """Links first: whoever stops it leaves a note that has its old name, and the same call
        completes it."""
        last, meant = self._renames.last(), self._meaning(note.path, None)
        record = RenameRecord(note.path, new)
        if last and (last.old, last.new) == (record.old, record.new):
            record = last
        paths = [*(path for path in linking if path != note.path), note.path]
        for path in paths:
            raw = self._file_bytes(self._view.store.note(path))
            after = self._renamed(path, raw, (note.path, new), meant)
            if path == note.path and alias:
                changed = AddItems("aliases", (note.title,))
                after = edited_note(parse(after, path, note.names), changed).raw
            if after != raw:
                record.changes.append((path, note_version(raw), note_version(after)))
                self._renames.keep(record)
                self._write(path, raw, after)
        self._renames.keep(record)
        self._move(note.path, new)
        self._index(record, paths)

    def _write(self, path: str, before: bytes, after: bytes) -> None:
        """Unless somebody changed it meanwhile: then the renaming is asked for once more."""
        if not is_canvas(path):
            note = self._view.store.note(path)
            self._writing.rewrite_note(note, "rename", lambda _: after, note_version(before))
            return
        text = before.decode("utf-8", "surrogateescape")
        self._view.parts.history.take(_canvas_as_note(path, text), "rename")
        self._renames.rewrite_canvas(path, lambda raw: after if raw == before else raw)

    def _move(self, old: str, new: str) -> Note:
        store, history = self._view.store, self._view.parts.history
        note = store.note(old)
        stored = self._renames.move(old, new)
        after = store.parse(stored)
        if history_key(note) != history_key(after):
            history.renamed(note, after)
        self._writing.record_write(old, "", "rename", note.id)
        self._writing.record_write(new, stored.version, "rename", note.id)
        return after

    def _index(self, record: RenameRecord, changed: Sequence[str]) -> None:
        self._writing.index_paths(list(dict.fromkeys([record.new, record.old, *changed])))

    def _undo_change(
        self,
        change: tuple[str, str, str],
        last: RenameRecord,
        meant: Callable[[str, str], bool],
    ) -> str:
        written, before, after = change
        path = written
        if written == last.old and self._view.store.stat(last.old) is None:
            path = last.new
        try:
            note = self._view.store.note(path)
        except VaultmemError:
            return path
        raw = self._file_bytes(note)
        former = self._former_bytes(note, before) if note_version(raw) == after else None
        if former is None:
            former = self._renamed(path, raw, (last.new, last.old), meant)
        if former != raw:
            self._write(path, raw, former)
        return path

    def _former_bytes(self, note: Note, version: str) -> bytes | None:
        kept = self._view.parts.history.snapshots(history_key(note))
        return next((each.raw for each in kept if each.version == version), None)


def _meant_from(meant: Callable[[str, str], bool], source: str, target: str) -> bool:
    return meant(target, source)


def _canvas_as_note(path: str, text: str) -> Note:
    """A canvas's file, to be kept byte for byte."""
    return Note(path, text, None, 0, {}, text, (), (), (), (), (), (), (), (), {})
