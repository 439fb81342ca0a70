"""Two listings to one plan: what was added, changed, moved, touched and removed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from vaultmem.base.file_stamps import FileStamp


class StampComparison(NamedTuple):
    """What a first comparison, by stamps alone, leaves to be read or believed gone."""

    suspects: dict[str, FileStamp]  # new or differently stamped
    missing: tuple[str, ...]


def compare_stamps(
    known: Mapping[str, FileStamp], seen: Mapping[str, FileStamp], unseen: Iterable[str] = ()
) -> StampComparison:
    """Stat filters: only what differs in a time, size or inode is worth reading.

    What lies in a folder that could not be looked at is neither changed nor missing.
    """
    suspects = {path: stamp for path, stamp in seen.items() if known.get(path) != stamp}
    dark = tuple(folder.rstrip("/") + "/" if folder else "" for folder in unseen)
    missing = tuple(p for p in known if p not in seen and not (dark and p.startswith(dark)))
    return StampComparison(suspects, missing)


class NoteIdentity(NamedTuple):
    """What makes a file at a new path the same note: its id, else its very bytes."""

    version: str
    id: str = ""


class DepartedNotes:
    """Notes that are no longer where they were, to be found again: by id, else by their bytes."""

    def __init__(self, notes: Mapping[str, NoteIdentity]) -> None:
        self._by_id: dict[str, list[str]] = defaultdict(list)
        self._by_version: dict[str, list[str]] = defaultdict(list)
        for path, identity in notes.items():
            if identity.id:
                self._by_id[identity.id].append(path)
            self._by_version[identity.version].append(path)

    def find(self, arrived: NoteIdentity, among: Container[str]) -> str | None:
        """The old path of what has arrived, if it is one of those that are still looked for."""
        by_id = self._by_id.get(arrived.id, ()) if arrived.id else ()
        candidates = (*by_id, *self._by_version.get(arrived.version, ()))
        return next((path for path in candidates if path in among), None)


def does_vault_look_emptied(known: int, seen: int) -> bool:
    """A vault without a single note where there were some is not mounted, or half walked."""
    return known > 0 and seen == 0
