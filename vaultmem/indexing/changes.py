"""Two listings to one plan: what was added, changed, moved, touched and removed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Stamp(Protocol):
    """What tells whether a file may have changed without reading it."""

    @property
    def mtime_ns(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def inode(self) -> int: ...


S = TypeVar("S", bound=Stamp)


@dataclass(frozen=True)
class Look(Generic[S]):
    """What a first comparison, by stamps alone, leaves to be read or believed gone."""

    suspects: dict[str, S] = field(default_factory=dict)  # new or differently stamped
    missing: tuple[str, ...] = ()


def compare(
    known: Mapping[str, Stamp], seen: Mapping[str, S], unseen: Iterable[str] = ()
) -> Look[S]:
    """Stat filters: only what differs in time, size or inode is worth reading.

    What lies in a folder that could not be looked at is neither changed nor missing.
    """
    suspects = {path: stamp for path, stamp in seen.items() if not same(known.get(path), stamp)}
    dark = tuple(f"{folder}/" if folder else "" for folder in unseen)
    missing = tuple(p for p in known if p not in seen and not (dark and p.startswith(dark)))
    return Look(suspects, missing)


def same(a: Stamp | None, b: Stamp) -> bool:
    return a is not None and (a.mtime_ns, a.size, a.inode) == (b.mtime_ns, b.size, b.inode)


@dataclass(frozen=True)
class Identity:
    """What makes a file at a new path the same note: its id, else its very bytes."""

    version: str
    id: str = ""


def moves(missing: Mapping[str, Identity], arrived: Mapping[str, Identity]) -> dict[str, str]:
    """New path -> old path, for each missing note that turned up elsewhere; no path twice."""
    by_id = {identity.id: path for path, identity in missing.items() if identity.id}
    by_version = {identity.version: path for path, identity in missing.items()}
    result: dict[str, str] = {}
    used: set[str] = set()
    for path, identity in arrived.items():
        old = by_id.get(identity.id) if identity.id else None
        old = old or by_version.get(identity.version)
        if old is not None and old not in used:
            result[path] = old
            used.add(old)
    return result


def looks_emptied(known: int, seen: int) -> bool:
    """A vault without a single note where there were some is not mounted, or half walked."""
    return known > 0 and seen == 0
