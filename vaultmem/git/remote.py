"""Where a vault is shared: fetching from there, and pushing to it.

The address comes from the repository's own settings. So it is given to git behind `--`, by a
way that needs no further program; and where it is a folder of this machine, git does its part
there too, with that folder's settings and hooks, which then need the same trust.
"""

from __future__ import annotations

import shlex
from functools import cached_property
from typing import Final

from vaultmem.git.repo import GitResult, Repo, Upstream
from vaultmem.git.trust import NO_HOOKS, RECEIVING_HOOKS, Trust, git_folder_in, local_remote_folder

NETWORK_SECONDS: Final = 300.0
# git's other half inherits no setting of ours.
_RECEIVE: Final = f"-c core.fsmonitor=false -c core.hooksPath={NO_HOOKS} receive-pack"


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

    def fetch_remote(self) -> GitResult:
        asked = ["fetch", "--quiet", "--no-recurse-submodules"]
        if not self.repo.trust.is_given:  # a setting could not undo another: the first wins
            asked.append("--upload-pack=git-upload-pack")
        asked += ["--", self.upstream.remote]
        return self.repo.act(*asked, check=False, timeout=NETWORK_SECONDS)

    def push_remote(self) -> GitResult:
        asked = ["push", "--quiet", "--recurse-submodules=no"]
        if not self.upstream.configured:
            asked.append("--set-upstream")
        if not self.repo.trust.is_given:
            asked.append(f"--receive-pack={self._receive_pack_of_remote()}")
        asked += ["--", self.upstream.remote, f"HEAD:{self.upstream.ref}"]
        return self.repo.act(*asked, check=False, timeout=NETWORK_SECONDS)

    def _receive_pack_of_remote(self) -> str:
        """The command for the other half; elsewhere than in a folder only its name is known."""
        if all(found is not None and not found.is_given for found in self._remote_trusts):
            return f"{shlex.quote(self.repo.program)} {_RECEIVE}"
        return "git-receive-pack"
