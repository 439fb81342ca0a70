"""What belongs to one machine and must not arrive through git.

A commit may hold `.vaultmem/local` as a file or a link. Git takes what is ignored for expendable:
merging that commit would silently delete the history that this machine keeps.
"""

from __future__ import annotations

from typing import Final

from vaultmem.base.own_path import OwnPath
from vaultmem.config import STATE
from vaultmem.errors import InvalidInput
from vaultmem.git.repo import Repo
from vaultmem.storage.trash import TRASH

_SHARED: Final = (f"{STATE}/config.toml", f"{STATE}/.gitignore")
_PLAIN: Final = ("100644", "100755")


def require_plain_ignore(repo: Repo) -> None:
    """Git would wait for ever for a pipe of this name."""
    OwnPath(repo.root, (STATE, ".gitignore")).stat()


def refuse(repo: Repo, ours: str, theirs: str) -> None:
    """Refuse a commit that would put something in the place of this machine's own state."""
    known = _entries(repo, ours) if ours else {}
    for path, (mode, oid) in _entries(repo, theirs).items():
        place = repo.ours(path) or path
        shared = mode in _PLAIN and (place in _SHARED or place.startswith(f"{TRASH}/"))
        if not shared and known.get(path) != (mode, oid):
            raise InvalidInput(
                f"A commit of the remote has {place}, which belongs to one machine alone: it "
                "would replace what vaultmem keeps here. Nothing was merged. Who made it should "
                f"take it out of git again: git rm -r --cached -- {place}"
            )


def _entries(repo: Repo, commit: str) -> dict[str, tuple[str, str]]:
    """Path, mode and content of what a commit has in the places of our own."""
    places = [repo.theirs(name) for name in (STATE, TRASH)]
    listed = repo.git("ls-tree", "-r", "-z", commit, "--", *places)
    found = (name.partition("\t") for name in listed.names)
    return {path: (about.split()[0], about.split()[2]) for about, _, path in found}
