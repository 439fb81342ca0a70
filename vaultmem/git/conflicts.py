"""What two sides could not agree on: found, shown, and settled."""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vaultmem.base.differences import line_difference
from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.own_path import OwnPath
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import InvalidInput, NotFound, Unavailable, VaultmemError
from vaultmem.git import merge
from vaultmem.git.merge_tree import is_note
from vaultmem.git.repo import Repo
from vaultmem.limits import bounded
from vaultmem.notes import file_names
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import (
    Note,
    note_bytes,
    note_title,
    note_version,
    one_line,
    parse,
    printable,
)
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.listing import Listing, original_of_copies

SIDES: Final = (merge.OURS, merge.THEIRS, merge.BOTH)


@dataclass(frozen=True)
class ConflictView:
    """`problem`: conflict-markers, unmerged, conflict-copy or duplicate-id."""

    path: str
    problem: str
    message: str
    fix: str
    original: str | None = None  # what a copy was made from
    diff: str | None = None  # from ours to theirs, or from the original to its copy
    ancestor: bool | None = None  # a version that both were made from is in the history


@dataclass(frozen=True)
class Conflicts:
    conflicts: tuple[ConflictView, ...]


@dataclass(frozen=True)
class Resolved:
    path: str
    side: str
    version: str
    clean: bool  # False: some lines of both sides now stand behind one another
    left: int  # conflicts that are still open
    trashed: str | None = None  # where the copy went
    next: str | None = None  # what finishes the merge


class Settlement:
    """The work behind `conflicts` and `resolve`."""

    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    # --- looking ---------------------------------------------------------------------------

    @bounded()
    def conflicts(self, *, diffs: bool = True) -> Conflicts:
        """Everything that waits for a person: unfinished merges and sync services' copies."""
        repo = self._repo_with_conflicts()
        found = [*self._unmerged_conflicts(repo, diffs), *self._other_conflicts(repo, diffs)]
        seen: dict[str, ConflictView] = {}
        for view in found:
            seen.setdefault(view.path, view)
        return Conflicts(tuple(view for view in seen.values() if self._may_see_conflict(view)))

    def _repo_with_conflicts(self) -> Repo | None:
        try:
            return Repo(self._view.store.root)
        except (InvalidInput, Unavailable):
            return None

    def _may_see_conflict(self, view: ConflictView) -> bool:
        """Also the note that a copy was made from must be this caller's to see."""
        if not self._view.is_bound() or view.problem == "unmerged":  # whose sides were looked at
            return True
        try:
            notes = [self._view.store.note(path) for path in (view.path, view.original) if path]
        except VaultmemError:
            return False
        return all(map(self._view.is_visible, notes))

    def _may_see_sides_of_conflict(self, path: str, *sides: bytes | None) -> bool:
        if not self._view.is_bound():
            return True
        notes = (
            parse(raw, path, self._view.settings.properties) for raw in sides if raw is not None
        )
        return all(map(self._view.is_visible, notes))

    def _unmerged_conflicts(self, repo: Repo | None, diffs: bool) -> Iterator[ConflictView]:
        if repo is None:
            return
        for name, stages in repo.unmerged_stages().items():
            path = repo.vault_path(name)
            if path is None:
                continue
            ours, theirs = _sides_of_conflict(repo, stages)
            if not self._may_see_sides_of_conflict(path, ours, theirs):
                continue
            message = "Both sides changed the same lines."
            if ours is None or theirs is None:
                message = "One side deleted it, the other changed it."
            elif merge.different_notes(None, ours, theirs) and is_note(path):
                message = "Two different notes have this name."
            texts = ours or b"", theirs or b""
            diff = _conflict_diff(path, path, *texts, ("ours", "theirs")) if diffs else None
            yield ConflictView(path, "unmerged", message, _conflict_command(path), diff=diff)

    def _other_conflicts(self, repo: Repo | None, diffs: bool) -> Iterator[ConflictView]:
        listing = self._view.store.walk()
        by_id: dict[str, list[Note]] = defaultdict(list)
        named: list[Note] = []
        for path in listing.notes:
            try:
                note = self._view.store.note(path)
            except VaultmemError:
                continue
            if any(problem.kind == "conflict-markers" for problem in note.problems):
                message = "It has git's conflict markers in it."
                yield ConflictView(path, "conflict-markers", message, _conflict_command(path))
            if note.id:
                by_id[note.id.upper()].append(note)
            if file_names.name_of_conflict_original(note.title):
                named.append(note)
        copies = {c.path for same in by_id.values() for c, _ in _conflict_copies(same, listing)}
        for same in by_id.values():
            for copy, original in _conflict_copies(same, listing):
                yield self._conflict_of_copy(repo, copy, original, diffs)
        for copy in named:
            if copy.path not in copies:
                yield self._conflict_of_copy(repo, copy, self._conflict_original(copy), diffs)

    def _conflict_original(self, copy: Note) -> Note | str:
        name = file_names.name_of_conflict_original(copy.title) or ""
        path = posixpath.join(posixpath.dirname(copy.path), name + ".md")
        return self._view.store.note(path) if self._view.store.stat(path) else name

    def _conflict_of_copy(
        self, repo: Repo | None, copy: Note, original: Note | str, diffs: bool
    ) -> ConflictView:
        problem = (
            "conflict-copy" if file_names.name_of_conflict_original(copy.title) else "duplicate-id"
        )
        if isinstance(original, str):
            message = f"A sync service's copy of {original!r}, which is not there."
            return ConflictView(copy.path, problem, message, "Rename it, or delete it.")
        message = f"A copy of {original.path}."
        if problem == "duplicate-id":
            message = f"It has the same id as {original.path}."
        diff = ancestor = None
        if diffs:
            diff = _conflict_diff(original.path, copy.path, original.raw, copy.raw, ("", ""))
            ancestor = self._conflict_ancestor(repo, original, copy) is not None
        return ConflictView(
            copy.path, problem, message, _conflict_command(copy.path), original.path, diff, ancestor
        )

    def _conflict_ancestor(self, repo: Repo | None, original: Note, copy: Note) -> bytes | None:
        """The version in the history that the copy is nearest to: it was made from that one."""
        if repo is None:
            return None
        wanted = copy.text.splitlines()
        best: tuple[int, bytes] | None = None
        for commit in repo.note_commits(original.path):
            if copy.id and parse(commit.raw, names=copy.names).id.upper() != copy.id.upper():
                continue
            far = _conflict_distance(
                commit.raw.decode("utf-8", "surrogateescape").splitlines(), wanted
            )
            if best is None or far < best[0]:
                best = far, commit.raw
        return best[1] if best else None

    # --- settling --------------------------------------------------------------------------

    @bounded()
    def resolve(self, note: str, side: str) -> Resolved:
        """Settle one conflict: `ours` is this machine's (or a copy's original), `theirs` the
        other, `both` keeps the lines of both."""
        self._writing.require_writable()
        if side not in SIDES:
            raise InvalidInput(f"The side must be one of {', '.join(SIDES)}, not {side!r}.")
        repo = self._repo_with_conflicts()
        path = self._conflict_named(note)
        unmerged = repo.unmerged_stages() if repo else {}
        if repo and repo.repo_path(path) in unmerged:
            return self._settle_conflict(repo, path, unmerged[repo.repo_path(path)], side)
        found = self._view.store.note(path)
        if any(problem.kind == "conflict-markers" for problem in found.problems):
            # Markers that git knows nothing of any more: ours is what stands above.
            raw = note_bytes(resolve_markers(found.text, side))
            written = self._writing.rewrite_note(found, "resolve", lambda current: raw)
            left = len(self.conflicts(diffs=False).conflicts)
            return Resolved(path, side, written.version, side != merge.BOTH, left)
        return self._resolve_conflict_copy(repo, found, side)

    def _conflict_named(self, ref: str) -> str:
        """The conflict that a path, a title or an id means."""
        known = self.conflicts(diffs=False).conflicts
        wanted = ref.strip().removeprefix("memory:")
        key = file_names.name_key(posixpath.basename(wanted).removesuffix(".md"))
        for view in known:
            if wanted in (view.path, view.path.removesuffix(".md")):
                return view.path
        near = [v.path for v in known if _is_conflict_titled(v.path, key)]
        near = near or [
            v.path for v in known if v.original and _is_conflict_titled(v.original, key)
        ]
        near = near or [v.path for v in known if self._id_in_conflict(v.path) == wanted.upper()]
        if len(near) == 1:
            return near[0]
        if near:
            raise InvalidInput(f"{ref!r} could be any of these: {', '.join(near)}")
        raise NotFound(
            f"{ref!r} is in no conflict. Those there are: {command_to_type('conflicts')}"
        )

    def _id_in_conflict(self, path: str) -> str:
        try:
            return self._view.store.note(path).id.upper()
        except VaultmemError:
            return ""

    def _settle_conflict(
        self, repo: Repo, path: str, stages: dict[int, str], side: str
    ) -> Resolved:
        repo.trust.require_trusted()  # before a note is touched
        base = repo.blob_bytes(stages[1]) if 1 in stages else None
        ours, theirs = _sides_of_conflict(repo, stages)
        clean = True
        if ours is None or theirs is None:
            raw = {merge.OURS: ours, merge.THEIRS: theirs}.get(side, ours or theirs)
        elif side == merge.BOTH and not is_note(path):
            raise InvalidInput(f"{path} is no note; keep one side: --ours or --theirs.")
        elif merge.different_notes(base, ours, theirs) and is_note(path):
            raw = theirs if side == merge.THEIRS else ours
            if side == merge.BOTH:
                folder, _, name = path.rpartition("/")
                note = parse(theirs, path, self._view.settings.properties)
                written = self._writing.place_note(folder, name.removesuffix(".md"), note)
                repo.act("add", "--", repo.repo_path(written.path))
        elif not is_note(path):
            raw = ours if side == merge.OURS else theirs
        else:
            names_ = self._view.settings.properties
            done = merge.merge_notes(base, ours, theirs, names=names_, favour=side)
            raw, clean = done.raw, done.clean
        self._write_resolved_conflict(path, raw)
        repo.act("add", "--all", "--", repo.repo_path(path))
        left = len(repo.unmerged_stages())
        made = note_version(raw) if raw is not None else ""
        return Resolved(path, side, made, clean, left, next=self._how_to_end_conflicts(repo, left))

    def _how_to_end_conflicts(self, repo: Repo, left: int) -> str | None:
        if left:
            return f"{command_to_type('conflicts')} shows the other {left}"
        if (self._view.store.local() / "git-merge").stat():
            return f"{command_to_type('sync')} finishes the merge"
        if repo.is_rebasing:
            return "git rebase --continue finishes the rebase"
        return "git commit finishes the merge"

    def _write_resolved_conflict(self, path: str, raw: bytes | None) -> None:
        """The decision, as the note or file it is about; its last text is kept first."""
        if not is_note(path):
            file = self._view.store.paths.locate(path)
            if raw is None:
                file.unlink(missing_ok=True)
            else:
                place = OwnPath(self._view.store.root, tuple(path.split("/")))
                fd = place.open(os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # never through a link
                with open(fd, "wb") as opened:
                    opened.write(raw)
        elif self._view.store.stat(path) is None and raw is not None:
            self._view.store.create(path, raw)
            self._writing.index_paths([path])
        elif raw is None and self._view.store.stat(path) is not None:
            self._writing.trash_note(self._view.store.note(path), "resolve")
        elif raw is not None:
            self._writing.rewrite_note(self._view.store.note(path), "resolve", lambda current: raw)

    def _resolve_conflict_copy(self, repo: Repo | None, copy: Note, side: str) -> Resolved:
        view = next(v for v in self.conflicts(diffs=False).conflicts if v.path == copy.path)
        if view.original is None:
            raise InvalidInput(f"{view.message} {view.fix}")
        original = self._view.store.note(view.original)
        raw, clean = {merge.OURS: original.raw, merge.THEIRS: copy.raw}.get(side), True
        if raw is None:
            base = self._conflict_ancestor(repo, original, copy)
            marked = merge.merge_notes(base, original.raw, copy.raw, names=copy.names)
            done = merge.merge_notes(
                base, original.raw, copy.raw, names=copy.names, favour=merge.BOTH
            )
            raw, clean = done.raw, marked.clean
        wanted = raw
        written = self._writing.rewrite_note(original, "resolve", lambda current: wanted)
        place = self._writing.trash_note(copy, "resolve")
        self._writing.index_paths([original.path, copy.path])
        left = len(self.conflicts(diffs=False).conflicts)
        return Resolved(original.path, side, written.version, clean, left, trashed=place)


# --- sides and texts ------------------------------------------------------------------------


def _sides_of_conflict(repo: Repo, stages: dict[int, str]) -> tuple[bytes | None, bytes | None]:
    """What is this machine's, and what is not; in a rebase git calls them the other way round."""
    ours, theirs = (repo.blob_bytes(stages[s]) if s in stages else None for s in (2, 3))
    return (theirs, ours) if repo.is_rebasing else (ours, theirs)


def _conflict_copies(notes: list[Note], listing: Listing) -> Iterator[tuple[Note, Note]]:
    """Of notes with one id: each copy, and what it was made from."""
    first = original_of_copies(notes, listing)
    return ((note, first) for note in notes if note is not first)


def resolve_markers(text: str, side: str) -> str:
    """The text with one side, or both, of each pair of markers."""
    kept: list[str] = []
    part = ""  # where we are: outside, in ours, in the base, in theirs
    for line in text.splitlines(keepends=True):
        mark = line.rstrip("\r\n")
        if mark.startswith("<<<<<<< ") and not part:
            part = merge.OURS
        elif mark.startswith("||||||| ") and part == merge.OURS:
            part = "base"
        elif mark == "=======" and part in (merge.OURS, "base"):
            part = merge.THEIRS
        elif mark.startswith(">>>>>>> ") and part == merge.THEIRS:
            part = ""
        elif not part or part == side or (side == merge.BOTH and part != "base"):
            kept.append(line)
    return "".join(kept)


def _conflict_distance(a: list[str], b: list[str]) -> int:
    return len(a) + len(b) - 2 * sum(block.size for block in line_difference.equal_lines(a, b))


def _conflict_diff(old: str, new: str, ours: bytes, theirs: bytes, labels: tuple[str, str]) -> str:
    """Without private passages: agents read this too, and a person has the files."""
    before, after = (
        with_unix_line_ends(
            printable(without_private(raw.decode("utf-8", "surrogateescape")))
        ).split("\n")
        for raw in (ours, theirs)
    )
    one, other = (
        one_line(f"{path} ({label})".removesuffix(" ()"))
        for path, label in zip((old, new), labels, strict=True)
    )
    return "\n".join(line_difference.unified_difference(before, after, (one, other)))


def _conflict_command(path: str) -> str:
    return f"{command_to_type('resolve')} {path!r} --ours, --theirs or --both"


def _is_conflict_titled(path: str, key: str) -> bool:
    return file_names.name_key(note_title(path)) == key
