"""What other machines did to notes, as far as the commits tell that came from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.errors import InvalidInput, Unavailable
from vaultmem.git.commits import AGENT_ADDRESS, OF_AGENTS
from vaultmem.git.repo import Repo
from vaultmem.storage.local_state.activity import DistantChange, DistantChanges

_MOST_COMMITS: Final = 3_000
_FORM: Final = "%x01%H%x02%P%x02%at%x02%an%x02%ae%x02%cn%x02%(trailers:only,unfold)"
_MADE_HERE: Final = re.compile(r"(?:commit|cherry-pick|revert|rebase|am)\b")
_TRAILER: Final = re.compile(r"Vaultmem-(Op|Id|Client): (.*)")


class _Commit(NamedTuple):
    oid: str
    parents: str
    at: str
    author: str
    address: str
    committer: str
    trailers: str


def distant_changes(root: Path, since: float, looked_from: float) -> DistantChanges:
    """The changes since a moment; and what came with commits made since an earlier one, so that
    it is not taken for this person's."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return DistantChanges()
    try:
        return _changes_in_log(Repo(root), since, looked_from)
    except (InvalidInput, Unavailable, OSError, ValueError):
        return DistantChanges()


def _changes_in_log(repo: Repo, since: float, looked_from: float) -> DistantChanges:
    here = _commits_made_here(repo)
    asked = [
        "log",
        f"-n{_MOST_COMMITS}",
        f"--since={int(min(since, looked_from))}",
        f"--format={_FORM}",
    ]
    asked += ["-z", "--raw", "-c", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv"]
    asked += ["--no-show-signature", "--no-mailmap"]
    done = repo.git(*asked, "--", repo.prefix or ".", check=False)
    found = DistantChanges(read=repo.blobs_bytes)
    if done.code:
        return found
    for commit, entries in _log_entries(done.out.decode("utf-8", "surrogateescape")):
        if commit.oid in here and " " not in commit.parents:
            continue
        for old, new, before, path in entries:
            inner = repo.vault_path(path)
            if inner is None:
                continue
            found.brought.add((inner, new))
            if " " not in commit.parents and float(commit.at or 0) >= since:
                found.changes.append(_distant_change(repo, commit, inner, (old, new), before))
    found.changes.sort(key=lambda change: -change.at)
    return found


def _distant_change(
    repo: Repo, commit: _Commit, path: str, texts: tuple[str, str], before: str
) -> DistantChange:
    marks = [
        match.groups() for match in map(_TRAILER.fullmatch, commit.trailers.split("\n")) if match
    ]
    deeds, deed = [], ""
    for name, value in marks:
        if name == "Op":
            deed = value
        elif name == "Id":
            deeds.append((value, deed))
    return DistantChange(
        at=float(commit.at),
        path=path,
        author=commit.author,
        committer=commit.committer,
        client=commit.author.removesuffix(OF_AGENTS) if commit.address == AGENT_ADDRESS else "",
        before=texts[0],
        after=texts[1],
        moved_from=(repo.vault_path(before) or "") if before else "",
        deeds=tuple(deeds),
    )


def _commits_made_here(repo: Repo) -> set[str]:
    """By the log that git keeps of this clone's own HEAD."""
    try:
        lines = (repo.folder / "logs" / "HEAD").read_bytes().splitlines()
    except OSError:
        return set()
    found = set()
    for line in lines:
        names, _, deed = line.decode("utf-8", "replace").partition("\t")
        if _MADE_HERE.match(deed) and len(names.split(" ", 2)) > 1:
            found.add(names.split(" ", 2)[1])
    return found


_Entry = tuple[str, str, str, str]  # the old text and the new, the path before, and the path


def _log_entries(text: str) -> Iterator[tuple[_Commit, list[_Entry]]]:
    for part in text.split("\x01")[1:]:
        header, _, rest = part.partition("\0")
        fields = header.split("\x02")
        if len(fields) == len(_Commit._fields):
            tokens = [token.lstrip("\n") for token in rest.split("\0")]
            yield _Commit(*fields), list(_raw_entries(tokens))


def _raw_entries(tokens: Sequence[str]) -> Iterator[_Entry]:
    at = 0
    while at + 1 < len(tokens):
        told = tokens[at].lstrip(":").split(" ")
        if not tokens[at].startswith(":") or len(told) < 5:
            at += 1
            continue
        parents = len(tokens[at]) - len(tokens[at].lstrip(":"))
        names = [name if name.strip("0") else "" for name in told[parents + 1 : -1]]
        before = ""
        if told[-1][:1] in "RC" and parents == 1 and at + 2 < len(tokens):
            before, at = tokens[at + 1], at + 1
        yield names[0], names[-1], before, tokens[at + 1]
        at += 2
