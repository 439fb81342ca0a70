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
from dataclasses import dataclass, field, replace
from typing import Final

from vaultmem.base import lock
from vaultmem.base.own_path import OwnPath
from vaultmem.base.own_program import command_to_type
from vaultmem.config import STATE
from vaultmem.errors import InvalidInput, Unavailable, VaultmemError
from vaultmem.git import commits, joining
from vaultmem.git.commits import (
    FROM_STDIN,
    Committed,
    LocalCommits,
    SkippedFile,
    pathspec_bytes,
)
from vaultmem.git.merge_tree import (
    FileOutcome,
    MergePlan,
    TreeMerge,
    is_note,
    merge_driver_settings,
)
from vaultmem.git.remote import HEADS, Remote, RemoteBranches, RemoteTrouble
from vaultmem.git.repo import Repo, merge_driver_command
from vaultmem.git.trust import require_plain_name
from vaultmem.index import INDEX_FAILURES
from vaultmem.limits import bounded
from vaultmem.notes.file_names import is_readable_name
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.storage.local_state.history import History
from vaultmem.storage.no_memories import shared_file
from vaultmem.storage.store import TRASH, Store

QUIET_SECONDS: Final = 30.0  # the longest wait for someone who is typing
_LOCK_SECONDS: Final = 5.0
_MANY: Final = 1000  # changed files; beyond it the whole vault is looked at
_SHARED: Final = (f"{STATE}/config.toml", f"{STATE}/.gitignore")
_PLAIN: Final = ("100644", "100755")
ATTEMPTS: Final = 5  # to merge and push while others push too


@dataclass
class SyncReport:
    """What a sync did. `status`: done, conflicts (a person must choose), waiting, offline, or
    refused (the remote takes no push)."""

    status: str = "done"
    branch: str = ""
    remote: str | None = None
    shared: bool = False  # the remote has all that is committed here, seen just now
    committed: list[Committed] = field(default_factory=list)
    pulled: list[str] = field(default_factory=list)  # notes and files that came or changed
    pushed: bool = False
    conflicts: list[str] = field(default_factory=list)
    answers: list[FileOutcome] = field(default_factory=list)
    lost: list[FileOutcome] = field(default_factory=list)
    left: list[SkippedFile] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    indexed: int = 0
    dry_run: bool = False


class Sharing:
    """The work behind `sync`."""

    def __init__(self, view: View, writing: Writing) -> None:
        self._view = view
        self._writing = writing

    @bounded()
    def sync(
        self,
        *,
        dry_run: bool = False,
        leave_conflicts: bool = True,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> SyncReport:
        """Commit what is here, merge what others did, share both, and index what changed.

        Without `leave_conflicts` nothing is merged where a person must choose; so long may
        it take, in seconds, until nobody is typing.
        """
        self._writing.require_writable()
        store = self._view.store
        with lock.locked(
            store.local() / "git.lock", timeout=_LOCK_SECONDS, what="syncing this vault"
        ):
            flow = Share(
                Repo(store.root),
                store,
                self._view.parts.history,
                leave_conflicts=leave_conflicts,
                quiet_seconds=quiet_seconds,
            )
            report = flow.preview_sync() if dry_run else flow.run_sync()
        if not dry_run:
            self._index_synced(report)
        return report

    def _index_synced(self, report: SyncReport) -> None:
        """One reconcile for everything that came; a server's own would find nothing left."""
        own = (path for commit in report.committed for path in commit.paths)
        paths = [p for p in (*report.pulled, *own, *report.conflicts) if is_readable_name(p)]
        if not paths:
            return
        try:
            reconciler = self._view.parts.reconciler
            done = reconciler.everything() if len(paths) > _MANY else reconciler.these(paths)
            report.indexed = len(done.touched)
        except INDEX_FAILURES as error:
            report.messages.append(f"The index is behind: {error}")


class Share:
    def __init__(
        self,
        repo: Repo,
        store: Store,
        history: History,
        *,
        leave_conflicts: bool,
        quiet_seconds: float,
    ) -> None:
        self.repo = repo
        self.store = store
        self.leave_conflicts = leave_conflicts
        self.quiet_seconds = quiet_seconds
        self.report = SyncReport()
        self.commits = LocalCommits(repo, store, history, self.report.committed, self.report.left)
        self._trouble = ""
        self._mark = store.local() / "git-merge"  # names the merge that we left unfinished

    def run_sync(self) -> SyncReport:
        report = self.report
        report.branch = self.repo.require_syncable()
        OwnPath(self.repo.root, (STATE, ".gitignore")).stat()  # no pipe: git would wait for ever
        start = self.repo.head
        if not self._finish_merge_left_by_share():
            return report
        self.commits.quiet_until = time.monotonic() + self.quiet_seconds
        remote = self._harmless_remote_to_share()
        self.commits.commit_local_changes()
        if remote is None:
            report.messages.append(
                "There is no remote, so the notes are committed here alone. "
                "Name one with: git remote add origin ADDRESS"
            )
        else:
            self._merge_and_push_to_share(remote)
            self.report.shared = report.status == "done" and bool(self.repo.head)
        if start != self.repo.head and report.status != "conflicts":
            report.pulled = self._paths_pulled_by_share(start)
        return report

    def _harmless_remote_to_share(self) -> Remote | None:
        upstream = self.repo.branch_upstream(self.report.branch)
        if upstream is None:
            return None
        self.report.remote = upstream.remote
        remote = Remote(self.repo, upstream)
        remote.require_harmless_remote()
        return remote

    def _plan_of_shared_merge(self, ours: str, theirs: str) -> MergePlan:
        apart = joining.are_apart(self.repo, ours, theirs)
        if apart:
            joining.require_joinable(self.repo, theirs, self.report.remote or "")
        names = self.store.settings.properties
        return TreeMerge(self.repo, ours, theirs, names, apart=apart).merge_plan()

    def _paths_pulled_by_share(self, start: str) -> list[str]:
        """What others changed: everything that differs now, less what was committed here."""
        mine = {path for commit in self.report.committed for path in commit.paths}
        return [p for p in self.repo.paths_changed_between(start, self.repo.head) if p not in mine]

    # --- sharing ---------------------------------------------------------------------------

    def _fetch_to_share(self, remote: Remote) -> str | None:
        """The commit that the remote has now, and we too; empty where it has no such branch."""
        done, branches = remote.look_at_remote()
        if done.code == 0:
            self._take_branch_of_remote(remote, branches)
            theirs = branches.commits.get(remote.upstream.ref, "")
            if not theirs or self.repo.commit_oid(remote.upstream.tracking) == theirs:
                return theirs
            done = remote.fetch_remote()
            if done.code == 0:
                return self.repo.commit_oid(remote.upstream.tracking)
        self._report_share_failed("offline", remote.why_remote_failed(done))
        return None

    def _take_branch_of_remote(self, remote: Remote, branches: RemoteBranches) -> None:
        """A branch whose name nobody chose is shared with the one that others use, however git
        named that: else each machine would keep a history of its own. What git writes itself
        when an empty remote is cloned, or one whose own branch is not there, is no choice."""
        upstream, main = remote.upstream, branches.main
        was_shared = upstream.configured and self.repo.commit_oid(upstream.tracking)
        if was_shared or upstream.ref in branches.commits or not main:
            return
        named = {"main", "master", self.repo.git_setting("init.defaultBranch")}
        if {self.report.branch, upstream.ref.removeprefix(HEADS)} <= named:
            name = main.removeprefix(HEADS)
            tracking = f"refs/remotes/{upstream.remote}/{name}"
            remote.upstream = replace(upstream, ref=main, tracking=tracking, configured=False)
            told = f"The remote's branch is {name}; {self.report.branch} here is shared with it."
            self.report.messages.append(told)

    def _report_share_failed(self, status: str, trouble: RemoteTrouble) -> None:
        self.report.status = status
        kept = "What is here is committed" if self.repo.head else "Nothing was lost"
        told = f"{trouble.what} {kept}; the next sync shares it. {trouble.cure}"
        self.report.messages.append(told.rstrip())

    def _merge_and_push_to_share(self, remote: Remote) -> None:
        """Merge and push until both sides are the same, or somebody must be asked."""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, 0.2 * attempt))
                self.commits.commit_local_changes()
            if (theirs := self._fetch_to_share(remote)) is None:
                return
            if not self._merge_fetched_to_share(remote, theirs):
                if self.report.status != "waiting":
                    return
            elif self._push_shared_head(remote, theirs):
                self.report.status = "done"
                return
            if self.report.status in ("offline", "refused"):
                return
        self.report.status = "waiting"
        others = "Others were faster each time; sync again in a moment."
        self.report.messages.append(self._trouble or others)

    def _merge_fetched_to_share(self, remote: Remote, theirs: str) -> bool:
        ours = self.repo.head
        if not theirs or theirs == ours or self._does_shared_commit_contain(ours, theirs):
            return True
        refuse_own_state(self.repo, ours, theirs)
        if not ours or self._does_shared_commit_contain(theirs, ours):
            return self._fast_forward_to_shared(theirs)
        plan = self._plan_of_shared_merge(ours, theirs)
        if self._says_nothing_of_its_own(plan, ours, theirs):
            return self._take_shared_history(theirs)
        if plan.clashes:
            self._leave_clashes_of_share(plan, theirs)
            return False
        self._report_plan_of_share(plan)
        message = commits.merge_message(remote.upstream, plan)
        signed = ["-S"] if self.repo.git_setting("commit.gpgSign") == "true" else []
        asked = ["commit-tree", plan.tree, "-p", ours, "-p", theirs, *signed, "-F", "-"]
        commit = self.repo.act(*asked, input=message.encode("utf-8", "replace"))
        return self._fast_forward_to_shared(commit.text)

    def _says_nothing_of_its_own(self, plan: MergePlan, ours: str, theirs: str) -> bool:
        """Whether a history of our own came to nothing that the remote lacks."""
        if plan.clashes or plan.lost or plan.tree != self.repo.tree_oid(theirs):
            return False
        return joining.are_apart(self.repo, ours, theirs)

    def _take_shared_history(self, theirs: str) -> bool:
        """Begin where the others are, instead of with a first commit that says the same."""
        with self.store.writing():
            asked = ["checkout", "--quiet", "--no-track", "-B", self.report.branch, theirs, "--"]
            done = self.repo.act(*asked, check=False)
        self.report.status = "waiting" if done.code else "done"
        self._trouble = _files_in_the_way_of_share(done.err) if done.code else ""
        return done.code == 0

    def _does_shared_commit_contain(self, commit: str, other: str) -> bool:
        asked = self.repo.git("merge-base", "--is-ancestor", other, commit, check=False)
        return asked.code == 0

    def _fast_forward_to_shared(self, commit: str) -> bool:
        """Move the branch forward, and the files with it; our own writers wait meanwhile."""
        with self.store.writing():
            asked = ["merge", "--ff-only", "--quiet", "--no-edit", commit]
            done = self.repo.act(*asked, check=False, settings=self._settings_of_shared_merge())
        self.report.status = "waiting" if done.code else "done"
        self._trouble = _files_in_the_way_of_share(done.err) if done.code else ""
        return done.code == 0

    def _settings_of_shared_merge(self) -> dict[str, str]:
        """Ours, and no options of the branch's own: what is merged and how is decided."""
        options = f"branch.{self.report.branch}.mergeOptions"
        return merge_driver_settings(merge_driver_command()) | {options: ""}

    def _report_plan_of_share(self, plan: MergePlan) -> None:
        for outcomes, told in ((plan.answers, self.report.answers), (plan.lost, self.report.lost)):
            for outcome in outcomes:
                path = self.repo.vault_path(outcome.path)
                if path is not None and replace(outcome, path=path) not in told:
                    told.append(replace(outcome, path=path))

    def _push_shared_head(self, remote: Remote, theirs: str) -> bool:
        head = self.repo.head
        if not head:
            self.report.messages.append("Nothing is committed yet, so there is nothing to share.")
            return True
        if head == theirs:
            remote.keep_branch_of_remote()
            return True
        done = remote.push_remote()
        if done.code == 0:
            self.report.pushed = True
            return True
        if any(said in done.err for said in _PUSH_RACES):
            return False
        if refused := remote.why_remote_refused(done):
            self._report_share_failed("refused", refused)
        else:
            self._report_share_failed("offline", remote.why_remote_failed(done))
        return False

    # --- when a person must choose ---------------------------------------------------------

    def _leave_clashes_of_share(self, plan: MergePlan, theirs: str) -> None:
        """Leave git's own unfinished merge, in which everything else is answered already."""
        self.report.status = "conflicts"
        self.report.conflicts = [self.repo.vault_path(path) or path for path in plan.clashes]
        if not self.leave_conflicts:
            self.report.messages.append(
                "Nothing was merged, because someone must choose. Have the two texts put into "
                f"the notes with: {command_to_type('sync')}"
            )
            return
        self._mark.write(theirs.encode("ascii"))
        with self.store.writing():
            asked = ["merge", "--no-commit", "--no-ff", "--quiet", "--allow-unrelated-histories"]
            asked.append(theirs)
            done = self.repo.act(*asked, check=False, settings=self._settings_of_shared_merge())
            if not self.repo.git_file("MERGE_HEAD").exists():
                self._mark.remove()
                raise Unavailable(
                    f"git merge said: {done.git_reason()}. Nothing was merged; commit or put back what "
                    "is staged, then sync again."
                )
            self._stage_answers_of_share(plan)
        self._report_plan_of_share(plan)
        changed = self.repo.paths_changed_between(self.repo.head, plan.tree)
        self.report.pulled = [path for path in changed if path not in self.report.conflicts]

    def _stage_answers_of_share(self, plan: MergePlan) -> None:
        """Put into the unfinished merge what the plan has an answer for."""
        staged = self.repo.staged_objects(plan.put)
        wanted = {path for path, (_, oid) in plan.put.items() if staged.get(path) != oid}
        wanted = (wanted | {*self.repo.unmerged_stages()}) - {*plan.clashes}
        if wanted:
            asked = ["restore", f"--source={plan.tree}", "--staged", "--worktree"]
            self.repo.act(*asked, *FROM_STDIN, input=pathspec_bytes(sorted(wanted)))

    def _finish_merge_left_by_share(self) -> bool:
        """Bring a merge to its end that we left to a person, or that we died in."""
        head = self.repo.git_file("MERGE_HEAD")
        if not head.exists():
            self._mark.remove()
            return True
        theirs = head.read_text(encoding="ascii").split()[0]
        require_plain_name(theirs, "merge under way")
        if not self._mark.stat() or self._mark.read() != theirs.encode("ascii"):
            raise InvalidInput(
                "A merge is under way here that vaultmem did not start. Finish it with git commit "
                f"({command_to_type('conflicts')} shows what is open), or undo it with git merge --abort"
            )
        plan = self._plan_of_shared_merge(self.repo.head, theirs)
        if {*self.repo.unmerged_stages()} - {*plan.clashes}:
            with self.store.writing():
                self._stage_answers_of_share(plan)
        settled = [
            path for path in self.repo.unmerged_stages() if self._has_shared_file_no_markers(path)
        ]
        if settled:
            self.repo.act("add", *FROM_STDIN, input=pathspec_bytes(settled))
        if left := [self.repo.vault_path(path) or path for path in self.repo.unmerged_stages()]:
            self.report.status = "conflicts"
            self.report.conflicts = left
            return False
        self.repo.act("commit", "--quiet", "--no-edit")
        self._mark.remove()
        self.report.messages.append("The merge that was waiting for you is finished.")
        return True

    def _has_shared_file_no_markers(self, name: str) -> bool:
        """Whether a person took the markers out of a note; of other files only git can tell."""
        path = self.repo.vault_path(name)
        if path is None or not is_note(path):
            return False
        try:
            raw = shared_file(self.store, path).raw
        except VaultmemError:
            return False
        lines = raw.splitlines()
        return not any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in lines)

    # --- looking only ----------------------------------------------------------------------

    def preview_sync(self) -> SyncReport:
        """What a sync would do now; asks the remote, and changes nothing here."""
        report = self.report
        report.dry_run = True
        report.branch = self.repo.require_syncable()
        if unmerged := self.repo.unmerged_stages():
            report.status, report.conflicts = "conflicts", [*unmerged]
            return report
        remote = self._harmless_remote_to_share()
        changes = self.commits.changes_to_commit()
        if changes:
            subject = commits.counted_changes(changes, "to be committed")
            report.committed.append(Committed(subject, tuple(c.path for c in changes)))
        if remote and (theirs := self._fetch_to_share(remote)):
            ours = self.repo.head
            if ours and not self._does_shared_commit_contain(ours, theirs):
                plan = self._plan_of_shared_merge(ours, theirs)
                report.pulled = self.repo.paths_changed_between(ours, plan.tree)
                report.conflicts = [self.repo.vault_path(path) or path for path in plan.clashes]
                report.status = "conflicts" if plan.clashes else "done"
                self._report_plan_of_share(plan)
        return report


# What a push says when someone else pushed first; other refusals are not cured by trying again.
_PUSH_RACES: Final = (
    "(fetch first)",
    "(non-fast-forward)",
    "cannot lock ref",
    "failed to update ref",
)


def _files_in_the_way_of_share(said: str) -> str:
    """With the files that git names, one to a line, behind a tab."""
    files = [line.strip() for line in said.splitlines() if line.startswith("\t")]
    named = ", ".join(files[:5]) or said.strip().replace("\n", " ")
    return f"Files that are not committed stand in the way, so nothing was overwritten: {named}"


# --- what belongs to one machine ---------------------------------------------------------


def refuse_own_state(repo: Repo, ours: str, theirs: str) -> None:
    """Refuse a commit that would put something in the place of this machine's own state.

    A commit may hold `.vaultmem/local` as a file or a link. Git takes what is ignored for
    expendable: merging that commit would silently delete the history that this machine keeps.
    """
    known = _own_state_in_shared_commit(repo, ours) if ours else {}
    for path, (mode, oid) in _own_state_in_shared_commit(repo, theirs).items():
        place = repo.vault_path(path) or path
        shared = mode in _PLAIN and (place in _SHARED or place.startswith(f"{TRASH}/"))
        if not shared and known.get(path) != (mode, oid):
            raise InvalidInput(
                f"A commit of the remote has {place}, which belongs to one machine alone: it "
                "would replace what vaultmem keeps here. Nothing was merged. Who made it should "
                f"take it out of git again: git rm -r --cached -- {place}"
            )


def _own_state_in_shared_commit(repo: Repo, commit: str) -> dict[str, tuple[str, str]]:
    """Path, mode and content of what a commit has in the places of our own."""
    places = [repo.repo_path(name) for name in (STATE, TRASH)]
    listed = repo.git("ls-tree", "-r", "-z", commit, "--", *places)
    found = (name.partition("\t") for name in listed.names)
    return {path: (about.split()[0], about.split()[2]) for about, _, path in found}
