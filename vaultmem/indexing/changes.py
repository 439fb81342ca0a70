"""Two listings to one plan: what was added, changed, moved, touched and removed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from vaultmem.base.file_stamps import FileStamp
from vaultmem.index import KnownNote, SkippedNote


class StampComparison(NamedTuple):
    """What a first comparison, by stamps alone, leaves to be read or believed gone."""

    suspects: dict[str, FileStamp]  # new or differently stamped
    missing: tuple[str, ...]


def known_stamps(
    known: Mapping[str, KnownNote], skips: Mapping[str, SkippedNote]
) -> dict[str, FileStamp]:
    """By what each note is told apart from what it was, whether it is indexed or left out."""
    return {path: each.stat for notes in (known, skips) for path, each in notes.items()}


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


class DepartedNotes:
    """Notes that are no longer where they were, to be found again: by id, else by their very
    bytes."""

    def __init__(self, notes: Mapping[str, KnownNote]) -> None:
        self._paths: dict[tuple[str, str], list[str]] = defaultdict(list)
        for path, note in notes.items():
            self._paths["id", note.id].append(path)
            self._paths["version", note.version].append(path)

    def find(self, version: str, id: str, among: Container[str]) -> str | None:
        """The old path of what has arrived, if it is one of those that are still looked for."""
        by_id = self._paths.get(("id", id), ()) if id else ()
        candidates = (*by_id, *self._paths.get(("version", version), ()))
        return next((path for path in candidates if path in among), None)


def does_vault_look_emptied(known: int, seen: int) -> bool:
    """A vault without a single note where there were some is not mounted, or half walked."""
    return known > 0 and seen == 0
