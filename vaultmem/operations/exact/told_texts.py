"""What a system sees of a note that knows nothing but texts: a memory or a person's note is one
text, a fact of an entity a sentence, and each line of a journal a text of its own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.errors import VaultmemError
from vaultmem.notes import journal
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.links import without_link_brackets
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, has_ended, note_body, printable
from vaultmem.operations.input import now_utc
from vaultmem.operations.references import is_id_of_ours
from vaultmem.operations.results import content_of, row_moment

if TYPE_CHECKING:
    from vaultmem.index import CatalogRow
    from vaultmem.storage.store import Store

ENTITY, JOURNAL = "entity", "session"  # types of notes
TEXT_TYPES: Final = (*MEMORY_TYPES, ENTITY, JOURNAL)


@dataclass(frozen=True, slots=True)
class ToldText:
    content: str
    tags: tuple[str, ...]
    made: dt.datetime
    part: str = ""  # what a part of a note goes by; empty for the note as such
    title: str = ""  # which says something that the text may not


def told_texts(store: Store, row: CatalogRow) -> tuple[str, list[ToldText]]:
    """The version that was read and its texts, whoever may see them; no version where it cannot be
    read."""
    made = row_moment(row)
    try:
        stored = store.read(row.path)
    except VaultmemError:
        return "", []
    if row.type in MEMORY_TYPES:
        title = "" if is_id_of_ours(row.id) else row.title
        body = plain_text(note_body(stored.raw))
        return stored.version, [ToldText(body, row.tags, made, "", title)]
    parts = _observations_told if row.type == JOURNAL else _facts_told
    return stored.version, list(parts(store.parse(stored), made))


def plain_text(body: str) -> str:
    """A memory as it was given: without its private parts and the line end of every note."""
    return printable(without_private(body.removesuffix("\n").removesuffix("\r")))


def note_of_part(name: str) -> str:
    """The path of the note that a fact stands in, by what the fact goes by; else empty."""
    path, mark, _ = name.rpartition("#")
    return path if mark and path.endswith(".md") else ""


def _observations_told(note: Note, made: dt.datetime) -> Iterator[ToldText]:
    if summary := journal.journal_summary(note):
        yield ToldText(printable(summary), (), made, "", note.shown_title)
    for seen in journal.journal_entries(note):
        if seen.block:
            moment = journal.time_of_entry(seen, note)
            yield ToldText(printable(seen.content), seen.tags, moment, seen.block)


def _facts_told(note: Note, made: dt.datetime) -> Iterator[ToldText]:
    """What is said of an entity, but for its facts, and each fact that holds now."""
    said = printable(f"\n{content_of(note)}".partition("\n## Facts")[0].strip())
    if said:
        yield ToldText(said, note.tags, made, "", note.shown_title)
    now = now_utc()
    for place, fact in enumerate(note.facts, 1):
        if not has_ended(fact.valid_to, now):
            says = fact.predicate.replace("_", " ")
            sentence = f"{note.shown_title} {says} {without_link_brackets(fact.object)}"
            name = f"{note.path}#^{fact.block}" if fact.block else f"{note.path}#{place}"
            yield ToldText(printable(sentence), (), made, name)
