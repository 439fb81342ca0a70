"""What a dialect reaches: one memory for all of them, whoever wrote it and wherever it stands.

Some systems know texts under keys and nothing else. To these a note is one text, a fact of an
entity one sentence, and each observation of a journal a text of its own. `dialects.folders`
narrows all of it, and what is pinned, forgotten or kept away is hidden as everywhere.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from vaultmem.config import STATE
from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.notes import journal
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.links import without_link_brackets
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, has_ended, note_version, printable
from vaultmem.operations.input import now_utc
from vaultmem.operations.references import is_id_of_ours
from vaultmem.operations.results import content_of, row_moment

if TYPE_CHECKING:
    from vaultmem.config import Settings
    from vaultmem.index import CatalogRow
    from vaultmem.operations.caller import Caller
    from vaultmem.operations.results import Memory
    from vaultmem.operations.view import View
    from vaultmem.vault import Vault

ENTITY, JOURNAL = "entity", "session"  # types of notes
KEYED_TYPES: Final = (*MEMORY_TYPES, ENTITY, JOURNAL)
_VOLATILE: Final = f"{STATE}/local"


@dataclass(frozen=True, slots=True)
class ReachedText:
    """What a system that knows texts alone sees of a note, or of a part of one."""

    key: str
    content: str
    tags: tuple[str, ...]
    made: dt.datetime
    title: str = ""  # which says something that the text may not
    is_part: bool = False


def within_reach(caller: Caller, settings: Settings) -> Caller:
    """A dialect's caller sees all of the vault, or the folders that the settings name; those of
    entities and journals always belong to them."""
    named: Sequence[str] = settings["dialects.folders"]
    if not named:
        return caller
    ours = (settings["folders.entities"], settings["folders.sessions"], _VOLATILE)
    return replace(caller, folders=(*named, *ours))


def is_page_of_ours(version: str) -> bool:
    """A page of a new vault that tells what a vault is, as long as nobody has changed it."""
    return version in _versions_of_pages()


@cache
def _versions_of_pages() -> frozenset[str]:
    from vaultmem.upkeep.template import template_folder

    return frozenset(note_version(file.read_bytes()) for file in template_folder().glob("*.md"))


def text_told(memory: Memory) -> str:
    """An entity's note says what it is about by its title alone."""
    return f"{memory.title}\n\n{memory.content}" if memory.type == ENTITY else memory.content


def texts_of_note(view: View, row: CatalogRow, key: str) -> Iterator[ReachedText]:
    """None where the note is gone, or has become someone else's since it was indexed."""
    made = row_moment(row)
    if row.type in MEMORY_TYPES:
        body = view.visible_body(row)
        if body is not None:
            title = "" if is_id_of_ours(row.id) else row.title
            yield ReachedText(key, plain_text(body), row.tags, made, title)
        return
    try:
        note = view.store.note(row.path)
    except VaultmemError:
        return
    if view.is_visible(note):
        parts = _observations_reached if row.type == JOURNAL else _facts_reached
        yield from parts(note, key, made)


def plain_text(body: str) -> str:
    return printable(without_private(body.removesuffix("\n").removesuffix("\r")))


def _observations_reached(note: Note, key: str, made: dt.datetime) -> Iterator[ReachedText]:
    if summary := journal.journal_summary(note):
        yield ReachedText(key, printable(summary), (), made, note.shown_title)
    for seen in journal.journal_entries(note):
        if seen.block:
            moment = journal.time_of_entry(seen, note)
            said = printable(seen.content)
            yield ReachedText(seen.block, said, seen.tags, moment, is_part=True)


def _facts_reached(note: Note, key: str, made: dt.datetime) -> Iterator[ReachedText]:
    """What is said of an entity, but for its facts, and each fact that holds now."""
    said = printable(f"\n{content_of(note)}".partition("\n## Facts")[0].strip())
    if said:
        yield ReachedText(key, said, note.tags, made, note.shown_title)
    now = now_utc()
    for place, fact in enumerate(note.facts, 1):
        if not has_ended(fact.valid_to, now):
            says = fact.predicate.replace("_", " ")
            sentence = f"{note.shown_title} {says} {without_link_brackets(fact.object)}"
            part = f"{note.path}#^{fact.block}" if fact.block else f"{note.path}#{place}"
            yield ReachedText(part, printable(sentence), (), made, is_part=True)


def note_of_part(key: str) -> str:
    """The path of the note that a fact stands in, by the fact's key; empty for other keys."""
    path, mark, _ = key.rpartition("#")
    return path if mark and path.endswith(".md") else ""


def require_forgettable(vault: Vault, reference: str) -> None:
    for memory in vault.get([reference], counted=False).memories:
        require_a_memory(memory.path, memory.id, is_part=memory.block is not None)


def require_a_memory(note_path: str, id: str, *, is_part: bool = False) -> None:
    """What people wrote, and the parts of notes, are found through a dialect and stay."""
    if is_part:
        raise InvalidInput(
            f"This is a part of {note_path} and no memory of its own, so it is not deleted from "
            "here; it can be changed in that note."
        )
    if not is_id_of_ours(id):
        raise InvalidInput(
            f"{note_path} is a note that a person wrote, so it is not deleted from here; they can "
            "delete it themselves."
        )
