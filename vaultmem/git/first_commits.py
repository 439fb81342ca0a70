"""Which commit first had each note, asked of git once for all of them.

One walk through the history, oldest first, without a look into any text: a note that was renamed
as it was keeps its date. Later walks begin where the last one ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput, Unavailable
from vaultmem.git.repo import Repo
from vaultmem.git.trust import followed_git_file, hooks_folder
from vaultmem.storage.local_state.births import CommitLook

_SECONDS: Final = 10.0  # for a whole history
_ASKED: Final = (
    *("log", "--reverse", "--full-history", "--no-merges", "--diff-filter=AR", "-M100%"),
    *("--name-status", "-z", "--format=%x01%at", "--no-ext-diff", "--no-textconv"),
    *("--no-show-signature", "--no-mailmap"),
)


class VaultCommits:
    def __init__(self, root: Path) -> None:
        self._root = root

    def state(self) -> str:
        """Another text whenever there may be new commits; read from git's files, without git."""
        top = next((f for f in (self._root, *self._root.parents) if (f / ".git").exists()), None)
        if top is None:
            return ""
        try:
            folder = top / followed_git_file(top / ".git")
            head = small_files.read_small_file(folder / "HEAD", follow=True).decode().strip()
            shared = hooks_folder(folder).parent
            name = head.removeprefix("ref: ")
            files = (folder / "logs/HEAD", shared / name, shared / "packed-refs")
            return " ".join((head, *map(_look_of_git_file, files)))
        except (OSError, ValueError):
            return ""

    def look(self, head: str, known: Callable[[str], int | None]) -> CommitLook | None:
        """New notes since that commit, or all if there is none, with the seconds of their first
        commit; None where git has no answer."""
        state = self.state()
        try:
            repo = Repo(self._root)
            if not (now := repo.head):
                return None
            if head and (found := _first_commits_in_log(repo, f"{head}..{now}", known)) is not None:
                return CommitLook(state, now, found, anew=False)
            found = _first_commits_in_log(repo, now, lambda path: None)
        except (InvalidInput, Unavailable):
            return None
        # What takes too long is not tried again: what comes later is known from then on.
        return CommitLook(state, now, found or {}, anew=found is not None)


def _look_of_git_file(file: Path) -> str:
    try:
        found = os.stat(file)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns}.{found.st_size}"


def _first_commits_in_log(
    repo: Repo, commits: str, known: Callable[[str], int | None]
) -> dict[str, int] | None:
    settings = {"log.showRoot": "true", "diff.renameLimit": "0"}
    where = ("--", repo.prefix) if repo.prefix else ()
    done = repo.git(*_ASKED, commits, *where, settings=settings, timeout=_SECONDS, check=False)
    if done.code:
        return None
    first: dict[str, int] = {}
    for when, path, old in _names_in_log(done.out.decode("utf-8", "surrogateescape")):
        here, before = repo.vault_path(path), repo.vault_path(old)
        if here is None or not here.endswith((".md", ".canvas")):
            continue
        if old and before is not None:
            earlier = first[before] if before in first else known(before)
            when = when if earlier is None else earlier
        first.setdefault(here, when)
    return first


def _names_in_log(text: str) -> Iterator[tuple[int, str, str]]:
    """When, a path, and where it was before if it was moved."""
    for entry in text.split("\x01")[1:]:
        when, _, rest = entry.partition("\0")
        fields = iter(rest.lstrip("\n").rstrip("\0").split("\0"))
        for status in fields:
            status = status.lstrip("\n")
            if status.startswith("R"):
                old, new = next(fields, ""), next(fields, "")
                yield int(when), new, old
            elif status:
                yield int(when), next(fields, ""), ""
