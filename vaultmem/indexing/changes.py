"""Two listings to one plan: what was added, changed, moved, touched and removed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
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
    @property
    def ctime_ns(self) -> int: ...


S = TypeVar("S", bound=Stamp)


@dataclass(frozen=True)
class StampComparison(Generic[S]):
    """What a first comparison, by stamps alone, leaves to be read or believed gone."""

    suspects: dict[str, S] = field(default_factory=dict)  # new or differently stamped
    missing: tuple[str, ...] = ()


def compare(
    known: Mapping[str, Stamp], seen: Mapping[str, S], unseen: Iterable[str] = ()
) -> StampComparison[S]:
    """Stat filters: only what differs in a time, size or inode is worth reading.

    What lies in a folder that could not be looked at is neither changed nor missing.
    """
    suspects = {path: stamp for path, stamp in seen.items() if not same(known.get(path), stamp)}
    dark = tuple(folder.rstrip("/") + "/" if folder else "" for folder in unseen)
    missing = tuple(p for p in known if p not in seen and not (dark and p.startswith(dark)))
    return StampComparison(suspects, missing)


def same(a: Stamp | None, b: Stamp) -> bool:
    return a is not None and (
        (a.mtime_ns, a.size, a.inode, a.ctime_ns) == (b.mtime_ns, b.size, b.inode, b.ctime_ns)
    )


@dataclass(frozen=True)
class Identity:
    """What makes a file at a new path the same note: its id, else its very bytes."""

    version: str
    id: str = ""


class DepartedNotes:
    """Notes that are no longer where they were, to be found again: by id, else by their bytes."""

    def __init__(self, notes: Mapping[str, Identity]) -> None:
        self._by_id: dict[str, list[str]] = defaultdict(list)
        self._by_version: dict[str, list[str]] = defaultdict(list)
        for path, identity in notes.items():
            if identity.id:
                self._by_id[identity.id].append(path)
            self._by_version[identity.version].append(path)

    def find(self, arrived: Identity, among: Container[str]) -> str | None:
        """The old path of what has arrived, if it is one of those that are still looked for."""
        by_id = self._by_id.get(arrived.id, ()) if arrived.id else ()
        candidates = (*by_id, *self._by_version.get(arrived.version, ()))
        return next((path for path in candidates if path in among), None)


def looks_emptied(known: int, seen: int) -> bool:
    """A vault without a single note where there were some is not mounted, or half walked."""
    return known > 0 and seen == 0
