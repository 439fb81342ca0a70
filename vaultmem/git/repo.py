"""The repository a vault lies in, through the git command: what is asked of it and what is said.

Every path that goes in or comes out is a vault path; the vault may be a folder of a larger
repository. Nothing here forces, stashes, resets or cleans. No program runs that only the
repository's own settings name, unless the person trusts it (see `trust`).
"""

from __future__ import annotations

import datetime as dt
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from vaultmem import config
from vaultmem.base import own_program
from vaultmem.base.own_program import command_to_type
from vaultmem.errors import Busy, InvalidInput, Unavailable
from vaultmem.git.trust import (
    LOCKS,
    LOOKING,
    SHARING,
    UNASKED,
    Trust,
    config_lines,
    followed_git_file,
    hooks_folder,
    require_plain_name,
)
from vaultmem.storage.local_state.history import GitVersion

OLDEST_GIT: Final = (2, 38)  # the first that merges without touching the files
LOOKING_SECONDS: Final = 60.0
_FINDING_SECONDS: Final = 15.0  # a file of the repository may be a pipe that nobody writes to
LOCK_SECONDS: Final = 5.0
DIFF: Final = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames")
_NO_IDENTITY: Final = (
    "git does not know who you are. Tell it with these two commands: "
    'git config --global user.name "Your Name" && '
    "git config --global user.email you@example.com"
)
_UNDER_WAY: Final = (
    ("rebase-merge", "A rebase", "git rebase --continue, or git rebase --abort"),
    ("rebase-apply", "A rebase", "git rebase --continue, or git rebase --abort"),
    ("CHERRY_PICK_HEAD", "A cherry-pick", "git cherry-pick --continue, or --abort"),
    ("REVERT_HEAD", "A revert", "git revert --continue, or --abort"),
    ("BISECT_LOG", "A bisect", "git bisect reset"),
)


class NoGitIdentity(InvalidInput):
    """Nothing can be committed yet; all of it can once the person has said who they are."""


@dataclass(frozen=True, slots=True)
class GitResult:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape").strip()

    @property
    def names(self) -> list[str]:
        """Paths of an answer with -z."""
        return [n for n in self.out.decode("utf-8", "surrogateescape").split("\0") if n]

    def git_reason(self) -> str:
        lines = [line for line in self.err.splitlines() if line.strip()] or self.text.splitlines()
        told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
        return told[0].removeprefix("fatal: ").removeprefix("error: ") if told else "no reason"


@dataclass(frozen=True, slots=True)
class Change:
    path: str
    staged: bool  # a person put it there: it is left alone
    gone: bool
    new: bool


@dataclass(frozen=True, slots=True)
class Upstream:
    remote: str
    ref: str  # refs/heads/main, over there
    tracking: str  # refs/remotes/origin/main, here
    configured: bool = True  # the branch knows of it


class Repo:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.program = config.git_program(root)
        if not self.program:
            raise Unavailable("git is not installed; install it, then try again.")
        wanted = ("--show-toplevel", "--show-prefix", "--git-dir")
        asked = self.git("rev-parse", *wanted, check=False, timeout=_FINDING_SECONDS)
        if asked.code:
            raise InvalidInput(
                f"{root} is not in a git repository. Start one with: {command_to_type('init')} {root} --git"
            )
        top, self.prefix, folder = asked.out.decode("utf-8", "surrogateescape").split("\n")[:3]
        self.folder = (root / folder).resolve()
        if followed_git_file(Path(top, ".git")).resolve() != self.folder:
            raise InvalidInput(
                f"The files in {root} belong to a repository that does not lie at their top, "
                "which vaultmem does not use."
            )
        self.top = Path(top)

    # --- asking git --------------------------------------------------------------------

    def git(
        self,
        *arguments: str,
        settings: Mapping[str, str] = MappingProxyType({}),
        environment: Mapping[str, str] = MappingProxyType({}),
        timeout: float | None = LOOKING_SECONDS,
        **how: Any,
    ) -> GitResult:
        """Ask; runs no program but git, whatever the repository's settings say."""
        env = config.git_environment({**LOOKING, **environment})
        return self._run_git(arguments, {**LOCKS, **settings}, env, timeout, **how)

    def act(
        self,
        *arguments: str,
        settings: Mapping[str, str] = MappingProxyType({}),
        environment: Mapping[str, str] = MappingProxyType({}),
        timeout: float | None = None,
        **how: Any,
    ) -> GitResult:
        """Change the repository or go to its remote, as the person would; after `require`."""
        self.trust.require_trusted()
        if self.trust.is_given:
            locks, usual = {"core.quotepath": "off"}, {}
        else:
            locks = {**LOCKS, "core.hooksPath": self.trust.hooks_path}
            usual = SHARING
        env = config.git_environment({**UNASKED, **environment}, usual)
        return self._run_git(arguments, {**locks, **settings}, env, timeout, **how)

    def _run_git(
        self,
        arguments: Sequence[str],
        settings: Mapping[str, str],
        environment: Mapping[str, str],
        timeout: float | None,
        input: bytes = b"",
        check: bool = True,
    ) -> GitResult:
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        try:
            done = subprocess.run(
                [self.program, "--no-pager", *given, *arguments],
                cwd=getattr(self, "top", self.root),
                env=environment,
                capture_output=True,
                timeout=timeout,
                input=input,
            )
        except subprocess.TimeoutExpired:
            return GitResult(128, b"", f"fatal: no answer within {timeout:.0f} seconds")
        answer = GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
        if check and answer.code:
            raise Unavailable(f"git {arguments[0]} said: {answer.git_reason()}")
        return answer

    # --- what the repository would run ---------------------------------------------------

    @cached_property
    def trust(self) -> Trust:
        return self.trust_in(self.top, self.folder)

    def trust_in(self, folder: Path, place: Path) -> Trust:
        """What the repository at a place would run; without our own settings among its."""
        asked = [f"--git-dir={place}", "config", "--list", "-z", "--show-scope"]
        env = config.git_environment(LOOKING)
        listed = self._run_git(asked, {}, env, LOOKING_SECONDS)
        return Trust(folder, config_lines(listed.out), hooks_folder(place))

    # --- paths and names -----------------------------------------------------------------

    def vault_path(self, path: str) -> str | None:
        """A path of the repository as a path of the vault; None outside of it."""
        return path[len(self.prefix) :] if path.startswith(self.prefix) else None

    def repo_path(self, path: str) -> str:
        return self.prefix + path

    def commit_oid(self, name: str) -> str:
        found = self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
        return found.text if found.code == 0 else ""

    def tree_oid(self, commit: str) -> str:
        return self.git("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}", check=False).text

    def git_setting(self, name: str) -> str:
        """One of the person's own settings of git; empty without it."""
        return self.git("config", "--get", name, check=False).text

    @property
    def head(self) -> str:
        return self.commit_oid("HEAD")

    def git_file(self, name: str) -> Path:
        return self.folder / name

    @property
    def is_rebasing(self) -> bool:
        return self.git_file("rebase-merge").exists() or self.git_file("rebase-apply").exists()

    # --- before anything is done ---------------------------------------------------------

    def require_syncable(self) -> str:
        """The branch, once nothing stands in the way; else what does, and what to do about it."""
        self.trust.require_trusted()
        if self.git_version < OLDEST_GIT:
            wanted = ".".join(map(str, OLDEST_GIT))
            raise Unavailable(f"Syncing needs git {wanted} or newer; please update git.")
        plain = {"GIT_LITERAL_PATHSPECS": "0"}  # this command knows no other
        asked = ["check-ignore", "--quiet", "-z", "--stdin"]
        where = os.fsencode(self.prefix)
        if where and not self.git(*asked, input=where, environment=plain, check=False).code:
            raise InvalidInput(
                f"The repository around {self.root} ignores it. "
                f"Give the vault one of its own: {command_to_type('init')} {self.root} --git"
            )
        for name, what, ending in _UNDER_WAY:
            if self.git_file(name).exists():
                raise InvalidInput(f"{what} is under way here. Finish it first: {ending}")
        self._wait_for_lock_of_repo()
        branch = self.git("symbolic-ref", "--quiet", "--short", "HEAD", check=False)
        if branch.code:
            raise InvalidInput("No branch is checked out here. Go back to yours: git switch main")
        self.require_identity()
        return branch.text

    def require_identity(self) -> None:
        """The person's name, which git would guess from the machine's where it can."""
        only = {"user.useConfigOnly": "true"}
        for role in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if self.git("var", role, check=False, settings=only).code:
                raise NoGitIdentity(_NO_IDENTITY)

    @cached_property
    def git_version(self) -> tuple[int, ...]:
        numbers = self.git("version").text.split()[2].split(".")
        return tuple(int(number) for number in numbers[:2] if number.isdigit())

    def _wait_for_lock_of_repo(self) -> None:
        lock = self.git_file("index.lock")
        end = time.monotonic() + LOCK_SECONDS
        while lock.exists():
            if time.monotonic() > end:
                raise Busy(
                    f"Another git is at work, or one was stopped. If none runs, remove {lock}"
                )
            time.sleep(0.05)

    def branch_upstream(self, branch: str) -> Upstream | None:
        """Where the branch is shared; without a word about it the one remote there is."""
        remote = self.git_setting(f"branch.{branch}.remote")
        name = self.git_setting(f"branch.{branch}.merge")
        configured = bool(remote and name) and remote != "."
        if not configured:
            remotes = self.git("remote").text.split()
            if not remotes:
                return None
            if len(remotes) > 1 and "origin" not in remotes:
                raise InvalidInput(
                    f"There are several remotes ({', '.join(remotes)}), and the branch {branch} "
                    f"names none of them. Share it with one, once: git push -u {remotes[0]} {branch}"
                )
            remote = "origin" if "origin" in remotes else remotes[0]
            name = f"refs/heads/{branch}"
        require_plain_name(remote, "remote")
        tracking = f"refs/remotes/{remote}/{name.removeprefix('refs/heads/')}"
        return Upstream(remote, name, tracking, configured)

    # --- what has changed ------------------------------------------------------------------

    def uncommitted_changes(self) -> list[Change]:
        """What is not committed yet, in the vault."""
        asked = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
        asked.append("--ignore-submodules=all")
        found = self.git(*asked, "--", self.prefix or ".", timeout=None).names
        return [
            change for entry in found if (change := self._change_in_repo_status(entry)) is not None
        ]

    def _change_in_repo_status(self, entry: str) -> Change | None:
        kind, _, rest = entry.partition(" ")
        if kind == "?":
            path = self.vault_path(rest)
            return Change(path, False, False, True) if path and not path.endswith("/") else None
        if kind != "1":  # "u": a merge is under way
            return None
        state, name = rest[:2], rest.split(" ", 7)[7]
        path = self.vault_path(name)
        if path is None or rest.split(" ", 2)[1][0] == "S":  # a repository of its own
            return None
        return Change(path, state[0] != ".", state[1] == "D", state == ".A")

    def staged_objects(self, paths: Iterable[str]) -> dict[str, str]:
        """The objects that the index has for these paths."""
        wanted, found = set(paths), {}
        for entry in self.git("ls-files", "--stage", "-z").names:
            info, _, path = entry.partition("\t")
            if path in wanted:
                found[path] = info.split(" ")[1]
        return found

    def unmerged_stages(self) -> dict[str, dict[int, str]]:
        """Paths that a merge left open, with the object of each stage."""
        found: dict[str, dict[int, str]] = {}
        for entry in self.git("ls-files", "--unmerged", "-z").names:
            info, _, path = entry.partition("\t")
            _, oid, stage = info.split(" ")
            found.setdefault(path, {})[int(stage)] = oid
        return found

    def paths_changed_between(self, old: str, new: str) -> list[str]:
        """The vault's files that differ, both names of a moved one."""
        if not old:
            listed = self.git("ls-tree", "-r", "-z", "--name-only", new).names
        else:
            listed = self.git(*DIFF, "--name-only", "-z", old, new).names
        return [path for name in listed if (path := self.vault_path(name)) is not None]

    # --- objects ---------------------------------------------------------------------------

    def blob_bytes(self, name: str) -> bytes:
        return self.git("cat-file", "blob", name).out

    def blobs_bytes(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents behind many names at once; None for what is not there."""
        asked = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
        out, at = self.git("cat-file", "--batch", input=asked).out, 0
        found: list[bytes | None] = []
        for _ in names:
            end = out.index(b"\n", at)
            header = out[at:end].split(b" ")
            at = end + 1
            if header[-1] in (b"missing", b"ambiguous") or len(header) != 3:
                found.append(None)
                continue
            size = int(header[2])
            found.append(out[at : at + size])
            at += size + 1
        return found

    def write_blob(self, raw: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", input=raw).text

    def write_tree_with(
        self, tree: str, put: Mapping[str, tuple[str, str]], gone: Iterable[str]
    ) -> str:
        """Another tree: `put` maps paths to mode and object."""
        lines = [f"{mode} {oid}\t{path}" for path, (mode, oid) in put.items()]
        lines = [f"0 {'0' * len(tree)}\t{path}" for path in gone] + lines
        if not lines:
            return tree
        with tempfile.TemporaryDirectory() as folder:
            apart = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            self.git("read-tree", tree, environment=apart)
            entries = "".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape")
            self.git("update-index", "-z", "--index-info", input=entries, environment=apart)
            return self.git("write-tree", environment=apart).text

    # --- history ---------------------------------------------------------------------------

    def note_commits(self, path: str, most: int = 100) -> list[GitVersion]:
        """The note's versions, newest first, also from before it was renamed."""
        form = "--format=%x01%H%x02%aI%x02%an%x02%s"
        asked = ["log", "--follow", f"-n{most}", "--no-merges", form, "--name-only", "-z"]
        asked += ["--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap"]
        done = self.git(*asked, "--", self.repo_path(path), check=False)
        found = list(_git_log_entries(done.out.decode("utf-8", "surrogateescape")))
        contents = self.blobs_bytes([f"{commit}:{name}" for commit, *_, name in found])
        return [
            GitVersion(commit, dt.datetime.fromisoformat(when), author, subject, name, raw)
            for (commit, when, author, subject, name), raw in zip(found, contents, strict=True)
            if raw is not None
        ]


def _git_log_entries(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    for entry in text.split("\x01")[1:]:
        header, _, names = entry.partition("\0")
        commit, when, author, subject = header.split("\x02", 3)
        name = names.strip("\0\n")
        if name and "\n" not in name:  # such a one cannot be asked for
            yield commit, when, author, subject, name


def note_commits(root: Path, path: str) -> list[GitVersion]:
    """A note's versions in git, newest first; none where there is no git."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return []
    try:
        return Repo(root).note_commits(path)
    except (InvalidInput, Unavailable):
        return []


def init_repository(root: Path) -> Repo:
    """A new repository at the vault's own top."""
    program = config.git_program(root)
    if not program:
        raise Unavailable("git is not installed; install it, then run init --git again.")
    asked = [program, "init", "--quiet", "--initial-branch=main"]
    env = config.git_environment({})
    done = subprocess.run(asked, cwd=root, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
        raise Unavailable(f"git init said: {said.git_reason()}")
    return Repo(root)


# --- the driver -----------------------------------------------------------------------------


def merge_driver_command() -> str:
    """By absolute path: programs with a window have another PATH."""
    return f"{shlex.join(own_program.own_command('merge-driver'))} %O %A %B %L %P"


def register_merge_driver(root: Path) -> None:
    """Tell this clone how notes are merged; git keeps such a thing in no commit."""
    repo = Repo(root)
    repo.git("config", "merge.vaultmem.name", "notes, by property and by block id")
    repo.git("config", "merge.vaultmem.driver", merge_driver_command())


def is_merge_driver_registered(root: Path) -> bool:
    """Whether this clone has a driver, and the program that it names is still there."""
    try:
        command = Repo(root).git_setting("merge.vaultmem.driver")
        program = shlex.split(command)[0] if command else ""
    except (Unavailable, InvalidInput, ValueError):
        return True  # without git there is nothing to say about it
    return bool(program) and shutil.which(program) is not None


@contextmanager
def commit_message_file(text: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "message")
        file.write_text(text, encoding="utf-8", errors="replace")
        yield str(file)
