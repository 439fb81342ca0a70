"""basic-memory projects: folders of Markdown whose grammar ours understands as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput
from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.notes.links import link_key
from vaultmem.notes.note import Note, parse
from vaultmem.transfer.sources import folder
from vaultmem.transfer.sources.opening import OpenedExport
from vaultmem.transfer.sources.records import Record

EXPECTED: Final = "a basic-memory project: a folder of notes with title and permalink"


def read_export(reading: OpenedExport, *, into: str = "", files: bool = False) -> Iterator[Record]:
    found = folder.listed_files(reading, files=files)
    notes = {
        path: note for path in found if (note := _basic_memory_note(reading, path)) is not None
    }
    if not any(note.string("permalink") for note in notes.values()):
        raise InvalidInput(f"No note in {reading.path} has a permalink.")
    names = _basic_memory_titles(notes)
    if names:
        reading.remarks.append(
            f"{len(names)} notes are named by their titles instead of their files, because "
            "the links of the project name them so."
        )
    yield from folder.file_copies(reading, {path: names.get(path, path) for path in found}, into)


def _basic_memory_note(reading: OpenedExport, path: str) -> Note | None:
    if not path.lower().endswith(".md"):
        return None
    file = reading.path / PurePosixPath(path)
    try:
        return parse(small_files.read_small_file(file, folder.MOST_BYTES), path)
    except OSError:
        return None  # copying it will say so


def _basic_memory_titles(notes: Mapping[str, Note]) -> dict[str, str]:
    """Better places for notes that links name by a title their file does not have.

    basic-memory finds `[[Auth flow]]` in `auth-flow.md` by its title; a vault goes by file
    names. Where more links name the title than the file, the copy gets the title as its name.
    """
    linked = Counter(link_key(link.target) for note in notes.values() for link in note.links)
    named = Counter(name_key(PurePosixPath(path).stem) for path in notes)
    better = {}
    for path, note in notes.items():
        title = note.string("title")
        place = PurePosixPath(path)
        key, stem = name_key(safe_name(title)), name_key(place.stem)
        by_file = linked[stem] + linked[link_key(path)] + linked[name_key(note.string("permalink"))]
        if title and key != stem and not named[key] and linked[link_key(title)] > by_file:
            named[key] += 1
            better[path] = str(place.with_name(f"{safe_name(title)}.md"))
    return better
