"""What merging two commits comes to, worked out without touching a file.

git finds what both sides changed, renames included; each such note is then merged here.
Where git has no answer but notes do, one is given: of two memories with one name both stay,
a note that one side deleted and the other changed stays, and a note that both renamed gets
one of the names. What only a person can decide is left as a clash.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultmem.errors import VaultmemError
from vaultmem.git import joining, merge
from vaultmem.git.repo import DIFF, Repo, merge_driver_command
from vaultmem.notes import file_names
from vaultmem.notes.edit import AddItems, edit_note
from vaultmem.notes.note import parse, printable

REFUSE = "exit 1"  # as a driver: tells git to leave what both sides changed to us


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What was decided about a file, or which of its values gave way to a newer one."""

    path: str
    what: str


@dataclass
class MergePlan:
    tree: str = ""
    put: dict[str, tuple[str, str]] = field(default_factory=dict)  # path -> mode and object
    gone: set[str] = field(default_factory=set)
    clashes: list[str] = field(default_factory=list)
    answers: list[FileOutcome] = field(default_factory=list)
    lost: list[FileOutcome] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # notes that both sides changed


class _TreeFile(NamedTuple):
    mode: str
    oid: str


class TreeMerge:
    def __init__(
        self,
        repo: Repo,
        ours: str,
        theirs: str,
        properties: Mapping[str, str],
        *,
        apart: bool = False,
    ) -> None:
        """`apart`: the two have no commit in common."""
        self.repo = repo
        self.apart = apart
        self.commits = (ours, theirs)
        self.names = properties
        self.plan = MergePlan()
        self._taken: set[str] | None = None

    def merge_plan(self) -> MergePlan:
        tree, files, renamed = self._ask_merge_tree()
        for old, one, other in renamed:
            self._merge_file_renamed_in_tree(files, old, one, other)
        for path in sorted(files):
            if stages := files.get(path):
                self._decide_path_in_tree(path, stages)
        plan = self.plan
        plan.tree = self.repo.write_tree_with(tree, plan.put, plan.gone - plan.put.keys())
        return plan

    def _ask_merge_tree(
        self,
    ) -> tuple[str, dict[str, dict[int, _TreeFile]], list[tuple[str, str, str]]]:
        settings = merge_driver_settings(REFUSE)
        done = self.repo.git(
            *("merge-tree", "--write-tree", "-z"),
            *(["--allow-unrelated-histories"] if self.apart else []),
            *self.commits,
            check=False,
            settings=settings,
            timeout=None,
        )
        if done.code > 1 or done.code < 0:
            raise VaultmemError(f"git merge-tree said: {done.git_reason()}")
        fields = done.out.decode("utf-8", "surrogateescape").split("\0")
        files: dict[str, dict[int, _TreeFile]] = {}
        at = 1
        while at < len(fields) and fields[at]:
            info, _, path = fields[at].partition("\t")
            mode, oid, stage = info.split(" ")
            files.setdefault(path, {})[int(stage)] = _TreeFile(mode, oid)
            at += 1
        return fields[0], files, list(_both_renames_in_tree(fields[at + 1 :]))

    # --- deciding --------------------------------------------------------------------------

    def _decide_path_in_tree(self, path: str, stages: dict[int, _TreeFile]) -> None:
        base, ours, theirs = (stages.get(stage) for stage in (1, 2, 3))
        if not all(file is None or file.mode.startswith("100") for file in (base, ours, theirs)):
            self.plan.clashes.append(path)  # a link or a repository of its own
        elif ours and theirs:
            self._merge_file_in_tree(path, base, ours, theirs)
        elif base and (ours or theirs):
            self._keep_edited_file_in_tree(path, base, ours, theirs)
        elif ours or theirs:
            self.plan.clashes.append(path)  # a file where the other side has a folder

    def _merge_file_in_tree(
        self, path: str, base: _TreeFile | None, ours: _TreeFile, theirs: _TreeFile
    ) -> None:
        if base is None and self.apart:
            if oid := joining.version_of_both(self.repo, path, *self.commits):
                base = _TreeFile(ours.mode, oid)
            elif not is_note(path):
                self._keep_both_files_in_tree(path, ours, theirs)
                return
        raw = None if base is None else self.repo.blob_bytes(base.oid)
        versions = raw, self.repo.blob_bytes(ours.oid), self.repo.blob_bytes(theirs.oid)
        if not is_note(path):
            done = merge.merge_by_git(*versions)
        else:
            done = merge.merge_notes(*versions, names=self.names)
            self.plan.merged.append(path)
        if not done.blended:
            self._keep_both_notes_in_tree(path, versions, ours, theirs)
            return
        mode = max(ours.mode, theirs.mode)
        self.plan.put[path] = (mode, self.repo.write_blob(done.raw))
        self.plan.lost += [FileOutcome(path, what) for what in done.lost]
        if not done.clean:
            self.plan.clashes.append(path)

    def _keep_both_notes_in_tree(
        self,
        path: str,
        versions: tuple[bytes | None, bytes, bytes],
        ours: _TreeFile,
        theirs: _TreeFile,
    ) -> None:
        """Two memories with one name: the elder keeps it, whoever merges."""
        base, *sides = versions
        old = parse(base).id if base else ""
        ids = [parse(raw, names=self.names).id.upper() for raw in sides]
        elder = 0 if (ids[0] != old.upper(), ids[0]) < (ids[1] != old.upper(), ids[1]) else 1
        first, second = (ours, theirs) if elder == 0 else (theirs, ours)
        name = self._free_path_in_merged_tree(path)
        self.plan.put |= {path: (first.mode, first.oid), name: (second.mode, second.oid)}
        self.plan.answers.append(
            FileOutcome(
                path, f"two notes had this name; the younger is {posixpath.basename(name)} now"
            )
        )

    def _keep_both_files_in_tree(self, path: str, ours: _TreeFile, theirs: _TreeFile) -> None:
        """Two files of one name and no common past, which are no notes: the remote's stays, as
        others have it already; this machine's lies beside it, or among its commits."""
        self.plan.put[path] = (theirs.mode, theirs.oid)
        if joining.is_hidden(path):
            kept = f"git show {self.commits[0][:10]}:{path}"
            self.plan.lost.append(FileOutcome(path, f"the remote's is used; yours: {kept}"))
            return
        name = joining.name_beside(path, self._names_in_merged_tree() | self.plan.put.keys())
        self.plan.put[name] = (ours.mode, ours.oid)
        yours = posixpath.basename(name)
        self.plan.answers.append(
            FileOutcome(path, f"two files had this name; yours is {yours} now")
        )

    def _keep_edited_file_in_tree(
        self, path: str, base: _TreeFile, ours: _TreeFile | None, theirs: _TreeFile | None
    ) -> None:
        """Deleted on one side, changed on the other: it stays, where the other side put it."""
        edited = ours or theirs
        assert edited is not None
        where = self._path_renamed_in_tree(
            self.repo.blob_bytes(base.oid), deleted_by=1 if ours else 0
        )
        if where is None:
            self.plan.put[path] = (edited.mode, edited.oid)
            self.plan.answers.append(
                FileOutcome(path, "deleted on one side, changed on the other: kept")
            )
            return
        place, file = where
        self.plan.gone.add(path)
        self._merge_file_in_tree(place, base, *((edited, file) if ours else (file, edited)))
        self.plan.answers.append(
            FileOutcome(place, f"changed on one side, renamed from {path}: both")
        )

    def _path_renamed_in_tree(self, raw: bytes, deleted_by: int) -> tuple[str, _TreeFile] | None:
        """Where a note went that git no longer knew again: identity is the id."""
        wanted = parse(raw, names=self.names).id.upper()
        if not wanted:
            return None
        base = self.repo.git("merge-base", *self.commits, check=False).text.split("\n")[0]
        asked = [*DIFF, "--diff-filter=A", "--raw", "--no-abbrev", "-z", base]
        fields = self.repo.git(*asked, self.commits[deleted_by], check=False).names
        for info, path in zip(fields[::2], fields[1::2], strict=False):
            _, mode, _, oid, _ = info.split(" ")
            if is_note(path):
                if parse(self.repo.blob_bytes(oid), names=self.names).id.upper() == wanted:
                    return path, _TreeFile(mode, oid)
        return None

    def _merge_file_renamed_in_tree(
        self, files: dict[str, dict[int, _TreeFile]], old: str, one: str, other: str
    ) -> None:
        """Each side gave the note another name: the first of them stays, the other is an alias."""
        base, ours, theirs = (
            files.get(path, {}).get(stage) for path, stage in ((old, 1), (one, 2), (other, 3))
        )
        if not (base and ours and theirs and all(map(is_note, (old, one, other)))):
            return
        for path in (old, one, other):
            files.pop(path, None)
        kept, dropped = sorted((one, other))
        self.plan.gone |= {old, dropped}
        self._merge_file_in_tree(kept, base, ours, theirs)
        if kept not in self.plan.clashes and kept in self.plan.put:
            mode, oid = self.plan.put[kept]
            raw = _tree_note_with_alias(
                self.repo.blob_bytes(oid), _title_in_tree(dropped), self.names
            )
            self.plan.put[kept] = (mode, self.repo.write_blob(raw))
        self.plan.answers.append(FileOutcome(kept, f"renamed on both sides; it was also {dropped}"))

    # --- names and contents ----------------------------------------------------------------

    def _free_path_in_merged_tree(self, path: str) -> str:
        """A name that no file of either side has, nor one given just now."""
        if self._taken is None:
            self._taken = {
                file_names.name_key(_title_in_tree(name))
                for name in self._names_in_merged_tree()
                if is_note(name)
            }
        title = file_names.unique_name(_title_in_tree(path), self._taken)
        self._taken.add(file_names.name_key(title))
        return posixpath.join(posixpath.dirname(path), title + ".md")

    def _names_in_merged_tree(self) -> set[str]:
        return {
            name
            for commit in self.commits
            for name in self.repo.git("ls-tree", "-r", "-z", "--name-only", commit).names
        }


def merge_driver_settings(outer: str) -> dict[str, str]:
    """git's settings for a merge: this driver, and the real one where git merges two bases."""
    return {
        "merge.default": "vaultmem",
        "merge.vaultmem.driver": outer,
        "merge.vaultmem.recursive": "vaultmem-base",
        "merge.vaultmem-base.driver": merge_driver_command(),
        "merge.directoryRenames": "false",  # a new note stays where it was put
        "merge.renames": "true",
        "merge.autoStash": "false",
        "rerere.enabled": "false",
    }


def is_note(path: str) -> bool:
    return path.lower().endswith(".md")


def _title_in_tree(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _both_renames_in_tree(messages: list[str]) -> Iterator[tuple[str, str, str]]:
    """What git says about notes that both sides renamed: the old name, and each new one."""
    at = 0
    while at < len(messages) and messages[at].isdigit():
        count = int(messages[at])
        paths, kind = messages[at + 1 : at + 1 + count], messages[at + 1 + count]
        if "rename/rename" in kind and count == 3:
            yield paths[0], paths[1], paths[2]
        at += count + 3


def _tree_note_with_alias(raw: bytes, title: str, properties: Mapping[str, str]) -> bytes:
    try:
        return edit_note(parse(raw, names=properties), AddItems("aliases", (printable(title),)))
    except VaultmemError:
        return raw  # its properties are not to be touched
