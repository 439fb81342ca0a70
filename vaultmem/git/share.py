"""`vaultmem sync`: commit what is here, merge what is there, share both.

Each step leaves a repository that git itself calls whole, so the process may die between
any two of them. Local work is committed by explicit path, writes of agents and edits of
people apart. The merge is worked out in git's object store and becomes a commit before any
file is touched; then the branch moves forward to it in one step, in which git overwrites
nothing that is not committed. Only when people must choose between two texts, and are
there to do so, is an unfinished merge left in the files.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vaultmem.base import durable
from vaultmem.config import STATE
from vaultmem.errors import InvalidInput, OutsideVault, Unavailable, VaultmemError
from vaultmem.git import commit_messages, own_state
from vaultmem.git.merge_tree import FileOutcome, Lost, MergePlan, TreeMerge, drivers, is_note
from vaultmem.git.remote import Remote
from vaultmem.git.repo import DIFF, Change, Repo, Upstream, driver_command, message_file
from vaultmem.git.trust import require_plain
from vaultmem.notes.note import parse
from vaultmem.storage.history import History, Write
from vaultmem.storage.store import Store
from vaultmem.storage.trash import TRASH

QUIET_SECONDS: Final = 30.0  # the longest wait for someone who is typing
_MANY_GONE: Final = 20  # notes; fewer than that anyone may delete at a stroke
_EMPTIED: Final = "most notes are gone at once; if that is meant, commit it yourself: git commit -a"
ATTEMPTS: Final = 5  # to merge and push while others push too


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
class SyncReport:
    """What a sync did. `status`: done, conflicts (a person must choose), waiting or offline."""

    status: str = "done"
    branch: str = ""
    remote: str | None = None
    committed: list[Committed] = field(default_factory=list)
    pulled: list[str] = field(default_factory=list)  # notes and files that came or changed
    pushed: bool = False
    conflicts: list[str] = field(default_factory=list)
    answers: list[FileOutcome] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    left: list[SkippedFile] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    indexed: int = 0
    dry_run: bool = False


class Share:
    def __init__(
        self,
        repo: Repo,
        store: Store,
        history: History,
        *,
        leave_conflicts: bool = True,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self.repo = repo
        self.store = store
        self.history = history
        self.leave_conflicts = leave_conflicts
        self.quiet_seconds = quiet_seconds
        self.report = SyncReport()
        self._quiet_until = 0.0
        self._trouble = ""
        self._mark = store.local() / "git-merge"  # names the merge that we left unfinished

    def run(self) -> SyncReport:
        report = self.report
        report.branch = self.repo.require_ready()
        own_state.require_plain_ignore(self.repo)
        start = self.repo.head
        if not self._finished_merge():
            return report
        self._quiet_until = time.monotonic() + self.quiet_seconds
        upstream = self.repo.upstream(report.branch)
        report.remote = upstream.remote if upstream else None
        if upstream:
            Remote(self.repo, upstream).require_harmless()
        self._commit_local()
        if upstream is None:
            report.messages.append(
                "There is no remote, so the notes are committed here alone. "
                "Name one with: git remote add origin ADDRESS"
            )
        elif self._fetched(upstream):
            self._share(upstream)
        if start != self.repo.head and report.status != "conflicts":
            report.pulled = self._pulled(start)
        return report

    def _pulled(self, start: str) -> list[str]:
        """What others changed: everything that differs now, less what was committed here."""
        mine = {path for commit in self.report.committed for path in commit.paths}
        return [p for p in self.repo.changed_between(start, self.repo.head) if p not in mine]

    # --- committing ------------------------------------------------------------------------

    def _commit_local(self) -> None:
        for attempt in range(3):
            try:
                return self._commit_changes()
            except Unavailable:  # a file went away meanwhile, say
                if attempt == 2:
                    raise
        return None

    def _commit_changes(self) -> None:
        changes = self._settled_changes()
        written = self.history.writes()
        writes: dict[str, list[Write]] = defaultdict(list)
        for write in written:
            writes[write.path].append(write)
        groups: dict[str | None, list[Change]] = defaultdict(list)
        for change in changes:
            groups[self._writer(change, writes[change.path])].append(change)
        for client in sorted(groups, key=lambda name: (name is None, name or "")):
            self._commit(client, groups[client], writes)
        paths = {change.path for change in changes}
        if done := {write for write in written if write.path in paths}:
            self.history.keep_writes([w for w in self.history.writes() if w not in done])

    def _writer(self, change: Change, writes: Sequence[Write]) -> str | None:
        """The agent whose write this is, as it left it; None for a person's edit."""
        if not writes or writes[-1].version != self._version(change):
            return None
        return writes[-1].client or "vaultmem"

    def _version(self, change: Change) -> str:
        try:
            return "" if change.gone else self.store.read(change.path).version
        except VaultmemError:
            return ""

    def _settled_changes(self) -> list[Change]:
        """What can be committed now; nothing that is being typed, staged or half merged."""
        while busy := self._being_typed(self.repo.changes()):
            if time.monotonic() >= self._quiet_until:
                break
            time.sleep(0.1)
        found = []
        self.report.left.clear()
        changes = [change for change in self.repo.changes() if not _is_local(change)]
        emptied = self._looks_emptied(changes)
        for change in changes:
            if emptied and change.gone:
                self.report.left.append(SkippedFile(change.path, _EMPTIED))
            elif reason := self._reason_to_leave(change, busy):
                self.report.left.append(SkippedFile(change.path, reason))
            else:
                found.append(change)
        return found

    def _looks_emptied(self, changes: list[Change]) -> bool:
        """Most notes gone at once: a folder that is not there now, more likely than a wish."""
        gone = sum(change.gone and is_note(change.path) for change in changes)
        if gone < _MANY_GONE:
            return False
        listed = self.repo.git("ls-files", "-z", "--", self.repo.prefix or ".").names
        return gone * 2 > sum(map(is_note, listed))

    def _reason_to_leave(self, change: Change, busy: set[str]) -> str:
        if change.staged:
            return "you staged it; commit it yourself"
        if change.path in busy:
            return "someone is typing in it"
        if not change.gone and is_note(change.path):
            try:
                note = parse(self.store.read(change.path).raw, change.path)
            except OutsideVault:
                return ""  # in a hidden folder: no note, just a file
            except VaultmemError as error:
                return str(error)
            if any(problem.kind == "conflict-markers" for problem in note.problems):
                return "it has conflict markers; vaultmem resolve, or edit it"
        return ""

    def _being_typed(self, changes: list[Change]) -> set[str]:
        quiet = self.store.settings["typing.quiet_seconds"]
        ours = {write.version for write in self.history.writes()}
        found = set()
        for change in changes:
            stamp = None if change.gone else self.store.stat(change.path)
            if stamp and 0 <= time.time() - stamp.mtime_ns / 1e9 < quiet:
                if self._version(change) not in ours:
                    found.add(change.path)
        return found

    def _commit(
        self, client: str | None, changes: list[Change], writes: dict[str, list[Write]]
    ) -> None:
        paths = _listed(self.repo.theirs(change.path) for change in changes)
        subject = commit_messages.subject(client, changes, writes)
        new = [self.repo.theirs(change.path) for change in changes if change.new]
        author = (
            [f"--author={commit_messages.author(client)}"]
            if client not in (None, "vaultmem")
            else []
        )
        with (
            self.store.writing(),
            message_file(commit_messages.message(subject, changes, writes)) as file,
        ):
            if new:  # only their names: what a person staged stays what it is
                self.repo.act("add", "--intent-to-add", *_FROM_STDIN, input=_listed(new))
            asked = ["commit", "--quiet", "--only", "--file", file, "--no-edit", *author]
            self.repo.act(*asked, *_FROM_STDIN, input=paths)
            # git reads each file twice; one that was saved in between would look staged.
            if self.repo.git(*DIFF, "--cached", "--quiet", check=False).code:
                kept = _listed(self.repo.theirs(c.path) for c in changes if not c.gone)
                self.repo.act("restore", "--staged", *_FROM_STDIN, input=kept, check=False)
        done = tuple(change.path for change in changes)
        self.report.committed.append(Committed(subject, done, client))

    # --- sharing ---------------------------------------------------------------------------

    def _fetched(self, upstream: Upstream) -> bool:
        done = Remote(self.repo, upstream).fetch()
        if done.code == 0:
            return True
        self._is_offline(done.why())
        return False

    def _is_offline(self, why: str) -> None:
        self.report.status = "offline"
        self.report.messages.append(
            f"The remote did not answer as hoped ({why}). What is here is committed; "
            "the next sync shares it."
        )

    def _share(self, upstream: Upstream) -> None:
        """Merge and push until both sides are the same, or somebody must be asked."""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, 0.2 * attempt))
                self._commit_local()
                if not self._fetched(upstream):
                    return
            if not self._merged(upstream):
                if self.report.status != "waiting":
                    return
            elif self._pushed(upstream):
                self.report.status = "done"
                return
            if self.report.status == "offline":
                return
        self.report.status = "waiting"
        others = "Others were faster each time; sync again in a moment."
        self.report.messages.append(self._trouble or others)

    def _merged(self, upstream: Upstream) -> bool:
        theirs, ours = self.repo.oid(upstream.tracking), self.repo.head
        if not theirs or theirs == ours or self._contains(ours, theirs):
            return True
        own_state.refuse(self.repo, ours, theirs)
        if not ours or self._contains(theirs, ours):
            return self._moved_on(theirs)
        plan = TreeMerge(self.repo, ours, theirs, self.store.settings.properties).merge_plan()
        if plan.clashes:
            self._clashed(plan, theirs)
            return False
        self._told(plan)
        message = commit_messages.merge_message(upstream, plan)
        signed = ["-S"] if self.repo.setting("commit.gpgSign") == "true" else []
        asked = ["commit-tree", plan.tree, "-p", ours, "-p", theirs, *signed, "-F", "-"]
        commit = self.repo.act(*asked, input=message.encode("utf-8", "replace"))
        return self._moved_on(commit.text)

    def _contains(self, commit: str, other: str) -> bool:
        asked = self.repo.git("merge-base", "--is-ancestor", other, commit, check=False)
        return asked.code == 0

    def _moved_on(self, commit: str) -> bool:
        """Move the branch forward, and the files with it; our own writers wait meanwhile."""
        with self.store.writing():
            asked = ["merge", "--ff-only", "--quiet", "--no-edit", commit]
            done = self.repo.act(*asked, check=False, settings=self._merge_settings())
        self.report.status = "waiting" if done.code else "done"
        self._trouble = (
            f"Files that are not committed stand in the way, so nothing was overwritten: "
            f"{_in_the_way(done.err)}"
            if done.code
            else ""
        )
        return done.code == 0

    def _merge_settings(self) -> dict[str, str]:
        """Ours, and no options of the branch's own: what is merged and how is decided."""
        options = f"branch.{self.report.branch}.mergeOptions"
        return drivers(driver_command()) | {options: ""}

    def _told(self, plan: MergePlan) -> None:
        for answer in plan.answers:
            path = self.repo.ours(answer.path)
            if path is not None and replace(answer, path=path) not in self.report.answers:
                self.report.answers.append(replace(answer, path=path))
        for lost in plan.lost:
            path = self.repo.ours(lost.path)
            if path is not None and replace(lost, path=path) not in self.report.lost:
                self.report.lost.append(replace(lost, path=path))

    def _pushed(self, upstream: Upstream) -> bool:
        head = self.repo.head
        if head and head == self.repo.oid(upstream.tracking):
            return True
        if not head:
            return True  # an empty vault: there is nothing to share yet
        done = Remote(self.repo, upstream).push()
        if done.code == 0:
            self.report.pushed = True
            return True
        if not any(said in done.err for said in _FASTER):
            self._is_offline(done.why())
        return False

    # --- when a person must choose ---------------------------------------------------------

    def _clashed(self, plan: MergePlan, theirs: str) -> None:
        """Leave git's own unfinished merge, in which everything else is answered already."""
        self.report.status = "conflicts"
        self.report.conflicts = [self.repo.ours(path) or path for path in plan.clashes]
        if not self.leave_conflicts:
            self.report.messages.append(
                "Nothing was merged, because someone must choose. Have the two texts put into "
                "the notes with: vaultmem sync"
            )
            return
        self._mark.write(theirs.encode("ascii"))
        with self.store.writing():
            asked = ["merge", "--no-commit", "--no-ff", "--quiet", theirs]
            done = self.repo.act(*asked, check=False, settings=self._merge_settings())
            if not self.repo.place("MERGE_HEAD").exists():
                self._mark.remove()
                raise Unavailable(
                    f"git merge said: {done.why()}. Nothing was merged; commit or put back what "
                    "is staged, then sync again."
                )
            self._answer(plan)
        self._told(plan)
        changed = self.repo.changed_between(self.repo.head, plan.tree)
        self.report.pulled = [path for path in changed if path not in self.report.conflicts]

    def _answer(self, plan: MergePlan) -> None:
        """Put into the unfinished merge what the plan has an answer for."""
        staged = self.repo.staged(plan.put)
        wanted = {path for path, (_, oid) in plan.put.items() if staged.get(path) != oid}
        wanted = (wanted | {*self.repo.unmerged()}) - {*plan.clashes}
        if wanted:
            asked = ["restore", f"--source={plan.tree}", "--staged", "--worktree"]
            self.repo.act(*asked, *_FROM_STDIN, input=_listed(sorted(wanted)))

    def _finished_merge(self) -> bool:
        """Bring a merge to its end that we left to a person, or that we died in."""
        head = self.repo.place("MERGE_HEAD")
        if not head.exists():
            self._mark.remove()
            return True
        theirs = head.read_text(encoding="ascii").split()[0]
        require_plain(theirs, "merge under way")
        if not self._mark.stat() or self._mark.read() != theirs.encode("ascii"):
            raise InvalidInput(
                "A merge is under way here that vaultmem did not start. Finish it with git commit "
                "(vaultmem conflicts shows what is open), or undo it with git merge --abort"
            )
        properties = self.store.settings.properties
        plan = TreeMerge(self.repo, self.repo.head, theirs, properties).merge_plan()
        if {*self.repo.unmerged()} - {*plan.clashes}:
            with self.store.writing():
                self._answer(plan)
        settled = [path for path in self.repo.unmerged() if self._is_settled(path)]
        if settled:
            self.repo.act("add", *_FROM_STDIN, input=_listed(settled))
        if left := [self.repo.ours(path) or path for path in self.repo.unmerged()]:
            self.report.status = "conflicts"
            self.report.conflicts = left
            return False
        self.repo.act("commit", "--quiet", "--no-edit")
        self._mark.remove()
        self.report.messages.append("The merge that was waiting for you is finished.")
        return True

    def _is_settled(self, name: str) -> bool:
        """Whether a person took the markers out of a note; of other files only git can tell."""
        path = self.repo.ours(name)
        if path is None or not is_note(path):
            return False
        try:
            raw = self.store.read(path).raw
        except VaultmemError:
            return False
        lines = raw.splitlines()
        return not any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in lines)

    # --- looking only ----------------------------------------------------------------------

    def look(self) -> SyncReport:
        """What a sync would do now; asks the remote, and changes nothing here."""
        report = self.report
        report.dry_run = True
        report.branch = self.repo.require_ready()
        if unmerged := self.repo.unmerged():
            report.status, report.conflicts = "conflicts", [*unmerged]
            return report
        upstream = self.repo.upstream(report.branch)
        report.remote = upstream.remote if upstream else None
        if upstream:
            Remote(self.repo, upstream).require_harmless()
        changes = self._settled_changes()
        if changes:
            subject = commit_messages.count(changes, "to be committed")
            report.committed.append(Committed(subject, tuple(c.path for c in changes)))
        if upstream and self._fetched(upstream):
            theirs, ours = self.repo.oid(upstream.tracking), self.repo.head
            if theirs and ours and not self._contains(ours, theirs):
                plan = TreeMerge(
                    self.repo, ours, theirs, self.store.settings.properties
                ).merge_plan()
                report.pulled = self.repo.changed_between(ours, plan.tree)
                report.conflicts = [self.repo.ours(path) or path for path in plan.clashes]
                report.status = "conflicts" if plan.clashes else "done"
                self._told(plan)
        return report


# --- paths ----------------------------------------------------------------------------------

_FROM_STDIN: Final = ("--pathspec-from-file=-", "--pathspec-file-nul")


def _listed(paths: Iterable[str]) -> bytes:
    return "\0".join(paths).encode("utf-8", "surrogateescape")


# What a push says when someone else pushed first; other refusals are not cured by trying again.
_FASTER: Final = ("(fetch first)", "(non-fast-forward)", "cannot lock ref", "failed to update ref")
_LOCAL: Final = (f"{STATE}/", f"{TRASH}/", ".obsidian/workspace")


def _is_local(change: Change) -> bool:
    """What belongs to this machine, also in a vault that does not tell git so."""
    name = change.path.rpartition("/")[2]
    if durable.is_temporary(name):
        return True
    if not change.new:
        return False
    shared = change.path in (f"{STATE}/config.toml", f"{STATE}/.gitignore")
    return change.path.startswith(_LOCAL) and not shared


def _in_the_way(said: str) -> str:
    """The files that git names, one to a line, behind a tab."""
    files = [line.strip() for line in said.splitlines() if line.startswith("\t")]
    return ", ".join(files[:5]) or said.strip().replace("\n", " ")
