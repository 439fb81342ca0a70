"""Where a vault is shared: looking there, fetching from there, and pushing to it.

The address comes from the repository's own settings. So it is given to git behind `--`, by a
way that needs no further program; and where it is a folder of this machine, git does its part
there too, with that folder's settings and hooks, which then need the same trust. Nobody is asked
for a password: what git cannot do with what the person gave it is told as a sentence.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from vaultmem import config
from vaultmem.git.repo import GitResult, Repo, Upstream
from vaultmem.git.trust import NO_HOOKS, RECEIVING_HOOKS, Trust, git_folder_in, local_remote_folder

NETWORK_SECONDS: Final = 300.0
# git's other half inherits no setting of ours.
_RECEIVE: Final = f"-c core.fsmonitor=false -c core.hooksPath={NO_HOOKS} receive-pack"
HEADS: Final = "refs/heads/"

# What git and ssh say, and what it means for a person.
_SIGN_IN: Final = re.compile(
    r"terminal prompts disabled|could not read (?:Username|Password)|Authentication failed"
    r"|Permission denied \(|Host key verification failed|The requested URL returned error: 40[13]"
)
_NOT_THERE: Final = re.compile(
    r"does not appear to be a git repository|[Rr]epository .*not found|does not exist"
    r"|The requested URL returned error: 404"
)
_REFUSED: Final = re.compile(r"! \[remote rejected\] .*\((.+)\)")
_RULES: Final = ("error:", "gh0", "gitlab:")  # how a remote begins to say why


class RemoteTrouble(NamedTuple):
    """Why a remote could not be asked, or said no; and what a person can do."""

    what: str
    cure: str = ""


class RemoteBranches(NamedTuple):
    """The branches over there, and which of them is the remote's own."""

    commits: dict[str, str]  # by full name
    default: str = ""

    @property
    def main(self) -> str:
        """The branch that others use: the remote's own, the only one, or the one that git or
        a site calls so. A remote made by itself may name one for its own that nobody pushed."""
        if len(self.commits) == 1:
            return next(iter(self.commits))
        usual = (self.default, f"{HEADS}main", f"{HEADS}master")
        return next((name for name in usual if name in self.commits), "")


class Remote:
    def __init__(self, repo: Repo, upstream: Upstream) -> None:
        self.repo = repo
        self.upstream = upstream

    def require_harmless_remote(self) -> None:
        """Nothing would run there, on this machine, that nobody has allowed."""
        if not self.repo.trust.is_given:
            for found in self._remote_trusts:
                if found is not None:
                    found.require_trusted(RECEIVING_HOOKS)

    @cached_property
    def _remote_trusts(self) -> list[Trust | None]:
        """Of each address that is pushed to: what its folder would run, if it is one."""
        asked = ["remote", "get-url", "--push", "--all", "--", self.upstream.remote]
        said = self.repo.git(*asked, check=False).text.splitlines()
        return [
            self._trust_of_remote_address(address) for address in said or [self.upstream.remote]
        ]

    def _trust_of_remote_address(self, address: str) -> Trust | None:
        folder = local_remote_folder(address, self.repo.top)
        place = git_folder_in(folder) if folder else None
        return self.repo.trust_in(folder, place) if folder and place else None

    # --- going there -----------------------------------------------------------------------

    def look_at_remote(self) -> tuple[GitResult, RemoteBranches]:
        """What is there now; what was fetched earlier may be gone from there."""
        asked = ["ls-remote", "--symref", *self._upload_pack_of_remote()]
        done = self._ask_remote(*asked, "--", self.upstream.remote, "HEAD", f"{HEADS}*")
        commits, default = {}, ""
        for line in done.text.splitlines() if done.code == 0 else ():
            first, _, name = line.partition("\t")
            if name == "HEAD":
                default = first.removeprefix("ref: ") if first.startswith("ref: ") else default
            elif name.startswith(HEADS):
                commits[name] = first
        return done, RemoteBranches(commits, default)

    def fetch_remote(self) -> GitResult:
        """The one branch: a clone of a single other branch would not know of it."""
        asked = ["fetch", "--quiet", "--no-recurse-submodules", *self._upload_pack_of_remote()]
        wanted = f"+{self.upstream.ref}:{self.upstream.tracking}"
        return self._ask_remote(*asked, "--", self.upstream.remote, wanted)

    def push_remote(self) -> GitResult:
        asked = ["push", "--quiet", "--recurse-submodules=no"]
        if not self.upstream.configured:
            asked.append("--set-upstream")
        if not self.repo.trust.is_given:
            asked.append(f"--receive-pack={self._receive_pack_of_remote()}")
        return self._ask_remote(*asked, "--", self.upstream.remote, f"HEAD:{self.upstream.ref}")

    def keep_branch_of_remote(self) -> None:
        """Have git know where the branch is shared, where nothing had to be pushed for it."""
        if not self.upstream.configured:
            branch = self.repo.git("symbolic-ref", "--short", "HEAD").text
            for name, value in (("remote", self.upstream.remote), ("merge", self.upstream.ref)):
                self.repo.act("config", f"branch.{branch}.{name}", value)
            self.upstream = replace(self.upstream, configured=True)

    def _ask_remote(self, *asked: str) -> GitResult:
        ssh = self._ssh_of_remote()
        more = {"GIT_SSH_COMMAND": ssh} if ssh else {}
        return self.repo.act(*asked, check=False, timeout=NETWORK_SECONDS, environment=more)

    def _ssh_of_remote(self) -> str:
        """The person's ssh, told to ask nothing; another program in its place knows no such word."""
        named = config.git_ssh_command(self.repo.git_setting("core.sshCommand"))
        try:
            program = re.split(r"[\\/]", shlex.split(named)[0])[-1] if named else ""
        except ValueError:
            return ""
        return f"{named} -o BatchMode=yes" if program in ("ssh", "ssh.exe") else ""

    def _upload_pack_of_remote(self) -> list[str]:
        """Where nobody trusts the repository: a setting could not undo another, the first wins."""
        return [] if self.repo.trust.is_given else ["--upload-pack=git-upload-pack"]

    def _receive_pack_of_remote(self) -> str:
        """The command for the other half; elsewhere than in a folder only its name is known."""
        if all(found is not None and not found.is_given for found in self._remote_trusts):
            return f"{shlex.quote(self.repo.program)} {_RECEIVE}"
        return "git-receive-pack"

    # --- what it said ----------------------------------------------------------------------

    def why_remote_failed(self, done: GitResult) -> RemoteTrouble:
        where = f"git -C {shlex.quote(str(self.repo.root))}"
        if _SIGN_IN.search(done.err):
            return RemoteTrouble(
                "git could not sign in at the remote, and vaultmem asks for no password.",
                "Sign in once by hand, in a way that is remembered (a key in ssh-agent, a "
                f"credential helper), until this asks nothing: {where} fetch {self.upstream.remote}",
            )
        if _NOT_THERE.search(done.err):
            return RemoteTrouble(
                "The remote is not there, or is no repository.",
                f"Its address is shown by: {where} remote -v",
            )
        return RemoteTrouble(f"The remote did not answer as hoped ({done.git_reason()}).")

    def why_remote_refused(self, done: GitResult) -> RemoteTrouble | None:
        """Why it did not take what was pushed, if it said so; then trying again is of no use."""
        found = _REFUSED.search(done.err)
        if found is None:
            return None
        reason = found[1].strip()
        if "currently checked out" in reason:
            return RemoteTrouble(
                "The remote is a folder in which somebody works, and takes no pushes for the "
                "branch that is open there.",
                "Share through one without files of its own: git init --bare DIR",
            )
        lines = (line.removeprefix("remote:").strip() for line in done.err.splitlines())
        said = next((line for line in lines if line.lower().startswith(_RULES)), "")
        return RemoteTrouble(
            f"The remote refused what was pushed ({reason})."
            + (f" It says: {said.rstrip('.')}." if said else ""),
            "A protected branch or a rule stands in the way; whoever looks after the remote can "
            "allow it.",
        )
