"""What commits say: what was done, to which notes, by whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from vaultmem.git.merge_tree import MergePlan, is_note
from vaultmem.git.repo import Change, Upstream
from vaultmem.notes.note import printable
from vaultmem.storage.history import Write

_AGENT: Final = "agent@vaultmem.invalid"
_NAMED, _TOLD = 10, 200  # files, and writes, that a commit message names


def author(client: str | None) -> str:
    name = " ".join(printable(client or "").replace("<", "").replace(">", "").split())
    return f"{name or 'agent'} (vaultmem) <{_AGENT}>"


def subject(client: str | None, changes: Sequence[Change], writes: dict[str, list[Write]]) -> str:
    if client is None:
        return f"vault: {count(changes, _did(changes))}"
    if len(changes) == 1:
        done = writes[changes[0].path][-1].action
        return f"memory: {done} {_shown(changes[0].path.rpartition('/')[2].removesuffix('.md'))}"
    return f"memory: {count(changes, f'by {_shown(client)}')}"


def _did(changes: Sequence[Change]) -> str:
    for said, test in _DID:
        if all(test(change) for change in changes):
            return said
    return "changed"


_DID: Final[Sequence[tuple[str, Callable[[Change], bool]]]] = (
    ("added", lambda change: change.new),
    ("deleted", lambda change: change.gone),
    ("edited", lambda change: not change.new and not change.gone),
)


def count(changes: Sequence[Change], what: str) -> str:
    word = "note" if all(is_note(change.path) for change in changes) else "file"
    return f"{len(changes)} {word}{'' if len(changes) == 1 else 's'} {what}"


def message(title: str, changes: Sequence[Change], writes: dict[str, list[Write]]) -> str:
    lines = [f"- {_shown(change.path)}" for change in changes[:_NAMED]]
    if len(changes) > _NAMED:
        lines.append(f"- and {len(changes) - _NAMED} more")
    trailers = []
    told = [write for change in changes for write in writes[change.path]]
    for write in told[:_TOLD]:
        trailers.append(f"Vaultmem-Op: {_shown(write.action)}")
        trailers += [f"Vaultmem-Id: {_shown(write.id)}"] if write.id else []
        trailers.append(f"Vaultmem-Client: {_shown(write.client or 'vaultmem')}")
    body = "\n".join(lines)
    return f"{title}\n\n{body}\n" + ("\n" + "\n".join(trailers) + "\n" if trailers else "")


def merge_message(upstream: Upstream, plan: MergePlan) -> str:
    where = upstream.tracking.removeprefix("refs/remotes/")
    lines = [f"Merge the memory of {where}", ""]
    lines += [f"- {_shown(answer.path)}: {_shown(answer.what)}" for answer in plan.answers[:50]]
    lines += [""] if plan.answers and plan.lost else []
    lines += [f"Vaultmem-Lost: {_shown(lost.path)}: {_shown(lost.what)}" for lost in plan.lost[:50]]
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    return " ".join(printable(text).split())
