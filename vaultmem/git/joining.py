"""Two histories of one vault that have no commit in common, because each began on its own.

Somebody clones a remote that is still empty, or makes a vault before the first sync, and another
machine pushes first. The two are joined without a choice where both are a vault: a file that both
have is merged from the version that both once had, and where there is none both texts stay. What
is no vault is not mixed with one; a remote may be named by mistake.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

from vaultmem.config import STATE
from vaultmem.errors import InvalidInput
from vaultmem.git.repo import DIFF, Repo

_OF_A_NEW_REMOTE: Final = re.compile(
    r"(?:readme|license|licence|copying)(?:\.\w+)?|\.git(?:ignore|attributes)", re.IGNORECASE
)
_VERSIONS: Final = 200  # of a file, that are looked through


def are_apart(repo: Repo, ours: str, theirs: str) -> bool:
    """Whether the two have no commit in common, and nothing of their past is missing here."""
    if repo.git("merge-base", ours, theirs, check=False).text:
        return False
    if repo.git("rev-parse", "--is-shallow-repository").text == "true":
        raise InvalidInput(
            "This clone has only the last part of the history, and what it has in common with the "
            "remote is not in it. Get the rest, then sync again: git fetch --unshallow"
        )
    return True


def require_joinable(repo: Repo, theirs: str, address: str) -> None:
    """Refuse what is no vault, with the steps for whoever means it."""
    places = [repo.repo_path(name) for name in (STATE, ".obsidian")]
    if repo.git("ls-tree", "-z", "--name-only", theirs, "--", *places).names:
        return
    names = repo.git("ls-tree", "-z", "--name-only", theirs).names
    if all(_OF_A_NEW_REMOTE.fullmatch(name) for name in names):
        return
    raise InvalidInput(
        f"The remote {address} has a history of its own that holds no vault "
        f"({', '.join(names[:3])} …), so nothing was merged and nothing was pushed. "
        f"If it is the wrong one: git remote set-url {address} ADDRESS. If the two belong "
        "together, join them once: git pull --no-rebase --allow-unrelated-histories "
        f"{address}; then sync again."
    )


def version_of_both(repo: Repo, path: str, ours: str, theirs: str) -> str:
    """The newest content that a file had in both histories; empty where there is none."""
    known = set(_contents_of_file(repo, path, theirs))
    return next((oid for oid in _contents_of_file(repo, path, ours) if oid in known), "")


def _contents_of_file(repo: Repo, path: str, commit: str) -> list[str]:
    """Newest first."""
    asked = ["log", f"-n{_VERSIONS}", "--format=", "--raw", "--no-abbrev", "-z", *DIFF[1:]]
    fields = repo.git(*asked, commit, "--", path, check=False).names
    return [field.split()[3] for field in fields if field.startswith(":")]


def name_beside(path: str, taken: set[str]) -> str:
    """Where this machine's file goes that cannot be merged with the remote's."""
    folder, name = posixpath.split(path)
    stem, ending = posixpath.splitext(name)
    number = 2
    while (place := posixpath.join(folder, f"{stem} {number}{ending}")) in taken:
        number += 1
    return place


def is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))
