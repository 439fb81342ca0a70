"""What is not committed yet, and the commits that become of it: agents' and people's apart."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem.base import durable
from vaultmem.base.own_program import command_to_type
from vaultmem.config import STATE
from vaultmem.errors import OutsideVault, Unavailable, VaultmemError
from vaultmem.git.merge_tree import MergePlan, is_note
from vaultmem.git.repo import DIFF, Change, Repo, Upstream, commit_message_file
from vaultmem.notes.note import parse, printable
from vaultmem.storage.local_state.history import History, WriteRecord
from vaultmem.storage.no_memories import shared_file
from vaultmem.storage.store import TRASH, Store

_MANY_GONE: Final = 20  # notes; fewer than that anyone may delete at a stroke
_EMPTIED: Final = "most notes are gone at once; if that is meant, commit it yourself: git commit -a"
_MACHINE_LOCAL: Final = (f"{STATE}/", f"{TRASH}/", ".obsidian/workspace")
FROM_STDIN: Final = ("--pathspec-from-file=-", "--pathspec-file-nul")
AGENT_ADDRESS: Final = "agent@vaultmem.invalid"
OF_AGENTS: Final = " (vaultmem)"  # after an agent's name
_NAMED, _TOLD = 10, 200  # files, and writes, that a commit message names


@dataclass(frozen=True, slots=True)
class SkippedFile:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Committed:
    subject: str
    paths: tuple[str, ...]
    client: str | None = None  # of an agent


@dataclass
class LocalCommits:
    """Adds to the lists what it committed, and what it left."""

    _repo: Repo
    _store: Store
    _history: History
    _committed: list[Committed]
    _left: list[SkippedFile]
    quiet_until = 0.0  # when to stop waiting for someone who is typing

    def commit_local_changes(self) -> None:
        for attempt in range(3):
            try:
                return self._commit_changes()
            except Unavailable:  # a file went away meanwhile, say
                if attempt == 2:
                    raise
        return None

    def _commit_changes(self) -> None:
        changes = self.changes_to_commit()
        written = self._history.writes()
        writes: dict[str, list[WriteRecord]] = defaultdict(list)
        for write in written:
            writes[write.path].append(write)
        groups: dict[str | None, list[Change]] = defaultdict(list)
        for change in changes:
            groups[self._writer_of_change(change, writes[change.path])].append(change)
        for client in sorted(groups, key=lambda name: (name is None, name or "")):
            self._commit_group(client, groups[client], writes)
        paths = {change.path for change in changes}
        if done := {write for write in written if write.path in paths}:
            self._history.keep_writes([w for w in self._history.writes() if w not in done])

    def _writer_of_change(self, change: Change, writes: Sequence[WriteRecord]) -> str | None:
        """The agent whose write this is, as it left it; None for a person's edit."""
        if not writes or writes[-1].version != self._version_on_disk_to_commit(change):
            return None
        return writes[-1].client or "vaultmem"

    def _version_on_disk_to_commit(self, change: Change) -> str:
        try:
            return "" if change.gone else shared_file(self._store, change.path).version
        except VaultmemError:
            return ""

    def changes_to_commit(self) -> list[Change]:
        """What can be committed now; nothing that is being typed, staged or half merged."""
        while busy := self._paths_typed_too_late_to_commit(self._repo.uncommitted_changes()):
            if time.monotonic() >= self.quiet_until:
                break
            time.sleep(0.1)
        found = []
        self._left.clear()
        changes = [
            change
            for change in self._repo.uncommitted_changes()
            if not _is_change_never_committed(change)
        ]
        emptied = self._would_commits_empty_vault(changes)
        for change in changes:
            if emptied and change.gone:
                self._left.append(SkippedFile(change.path, _EMPTIED))
            elif reason := self._reason_to_leave_uncommitted(change, busy):
                self._left.append(SkippedFile(change.path, reason))
            else:
                found.append(change)
        return found

    def _would_commits_empty_vault(self, changes: list[Change]) -> bool:
        """Most notes gone at once: a folder that is not there now, more likely than a wish."""
        gone = sum(change.gone and is_note(change.path) for change in changes)
        if gone < _MANY_GONE:
            return False
        listed = self._repo.git("ls-files", "-z", "--", self._repo.prefix or ".").names
        return gone * 2 > sum(map(is_note, listed))

    def _reason_to_leave_uncommitted(self, change: Change, busy: set[str]) -> str:
        if change.staged:
            return "you staged it; commit it yourself"
        if change.path in busy:
            return "someone is typing in it"
        if not change.gone and is_note(change.path):
            try:
                note = parse(shared_file(self._store, change.path).raw, change.path)
            except OutsideVault:
                return ""  # in a hidden folder: no note, just a file
            except VaultmemError as error:
                return str(error)
            if any(problem.kind == "conflict-markers" for problem in note.problems):
                return f"it has conflict markers; {command_to_type('resolve')}, or edit it"
        return ""

    def _paths_typed_too_late_to_commit(self, changes: list[Change]) -> set[str]:
        quiet = self._store.settings["typing.quiet_seconds"]
        ours = {write.version for write in self._history.writes()}
        found = set()
        for change in changes:
            told = not change.gone and is_note(change.path)
            stamp = self._store.stat(change.path) if told else None
            if stamp and 0 <= time.time() - stamp.mtime_ns / 1e9 < quiet:
                if self._version_on_disk_to_commit(change) not in ours:
                    found.add(change.path)
        return found

    def _commit_group(
        self, client: str | None, changes: list[Change], writes: dict[str, list[WriteRecord]]
    ) -> None:
        paths = pathspec_bytes(self._repo.repo_path(change.path) for change in changes)
        subject = commit_subject(client, changes, writes)
        new = [self._repo.repo_path(change.path) for change in changes if change.new]
        is_agents = client not in (None, "vaultmem")
        author = [f"--author={commit_author(client)}"] if is_agents else []
        with (
            self._store.writing(),
            commit_message_file(commit_message(subject, changes, writes)) as file,
        ):
            if new:  # only their names: what a person staged stays what it is
                self._repo.act("add", "--intent-to-add", *FROM_STDIN, input=pathspec_bytes(new))
            asked = ["commit", "--quiet", "--only", "--file", file, "--no-edit", *author]
            self._repo.act(*asked, *FROM_STDIN, input=paths)
            # git reads each file twice; one that was saved in between would look staged.
            if self._repo.git(*DIFF, "--cached", "--quiet", check=False).code:
                kept = pathspec_bytes(self._repo.repo_path(c.path) for c in changes if not c.gone)
                self._repo.act("restore", "--staged", *FROM_STDIN, input=kept, check=False)
        done = tuple(change.path for change in changes)
        self._committed.append(Committed(subject, done, client))


def _is_change_never_committed(change: Change) -> bool:
    """What belongs to this machine, also in a vault that does not tell git so."""
    name = change.path.rpartition("/")[2]
    if durable.is_temporary_name(name):
        return True
    if not change.new:
        return False
    shared = change.path in (f"{STATE}/config.toml", f"{STATE}/.gitignore")
    return change.path.startswith(_MACHINE_LOCAL) and not shared


def pathspec_bytes(paths: Iterable[str]) -> bytes:
    return "\0".join(paths).encode("utf-8", "surrogateescape")


# --- messages -------------------------------------------------------------------------------


def commit_author(client: str | None) -> str:
    name = " ".join(printable(client or "").replace("<", "").replace(">", "").split())
    return f"{name or 'agent'}{OF_AGENTS} <{AGENT_ADDRESS}>"


def commit_subject(
    client: str | None, changes: Sequence[Change], writes: dict[str, list[WriteRecord]]
) -> str:
    if client is None:
        verbs = {"added" if c.new else "deleted" if c.gone else "edited" for c in changes}
        verb = verbs.pop() if len(verbs) == 1 else "changed"
        return f"vault: {counted_changes(changes, verb)}"
    if len(changes) == 1:
        done = writes[changes[0].path][-1].action
        return f"memory: {done} {_one_line_for_commit(changes[0].path.rpartition('/')[2].removesuffix('.md'))}"
    return f"memory: {counted_changes(changes, f'by {_one_line_for_commit(client)}')}"


def counted_changes(changes: Sequence[Change], what: str) -> str:
    word = "note" if all(is_note(change.path) for change in changes) else "file"
    return f"{len(changes)} {word}{'' if len(changes) == 1 else 's'} {what}"


def commit_message(
    title: str, changes: Sequence[Change], writes: dict[str, list[WriteRecord]]
) -> str:
    lines = [f"- {_one_line_for_commit(change.path)}" for change in changes[:_NAMED]]
    if len(changes) > _NAMED:
        lines.append(f"- and {len(changes) - _NAMED} more")
    trailers = []
    told = [write for change in changes for write in writes[change.path]]
    for write in told[:_TOLD]:
        trailers.append(f"Vaultmem-Op: {_one_line_for_commit(write.action)}")
        trailers += [f"Vaultmem-Id: {_one_line_for_commit(write.id)}"] if write.id else []
        trailers.append(f"Vaultmem-Client: {_one_line_for_commit(write.client or 'vaultmem')}")
    body = "\n".join(lines)
    return f"{title}\n\n{body}\n" + ("\n" + "\n".join(trailers) + "\n" if trailers else "")


def merge_message(upstream: Upstream, plan: MergePlan) -> str:
    where = upstream.tracking.removeprefix("refs/remotes/")
    lines = [f"Merge the memory of {where}", ""]
    lines += [
        f"- {_one_line_for_commit(answer.path)}: {_one_line_for_commit(answer.what)}"
        for answer in plan.answers[:50]
    ]
    lines += [""] if plan.answers and plan.lost else []
    lines += [
        f"Vaultmem-Lost: {_one_line_for_commit(lost.path)}: {_one_line_for_commit(lost.what)}"
        for lost in plan.lost[:50]
    ]
    return "\n".join(lines) + "\n"


def _one_line_for_commit(text: str) -> str:
    return " ".join(printable(text).split())
