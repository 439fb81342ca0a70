"""Everything that waits for a person to decide, in one row: proposals, contradictions, doubles,
facts with two values, conflicts, and what is out of date."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.errors import InvalidInput, VaultmemError
from vaultmem.index import INDEX_FAILURES, FactRow
from vaultmem.limits import bounded
from vaultmem.notes.edit import SetProperty
from vaultmem.notes.links import as_link, relation_key
from vaultmem.notes.markdown import property_links
from vaultmem.notes.note import has_ended, note_version
from vaultmem.operations.input import Input, now_utc
from vaultmem.operations.new_memories.proposals import Proposals
from vaultmem.operations.results import Result, content_of, note_identity
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing
from vaultmem.upkeep.review import CONFLICTING, DOUBLE, Review

if TYPE_CHECKING:
    from vaultmem.git.conflicts import ConflictView, Settlement

_SHOWN: Final = 4_000  # characters of each text
_MOST_FACTS: Final = 50
_USUALLY_SEVERAL: Final = 0.5  # of the things that have such a fact: then two are no contradiction


@dataclass(eq=False, repr=False)
class CaseText(Result):
    """One of the texts that a case is about."""

    path: str
    title: str
    text: str
    version: str
    at: dt.datetime | None = None


@dataclass(eq=False, repr=False)
class ReviewCase(Result):
    """`kind`: proposed, contradiction, double, fact, conflict or stale."""

    kind: str
    id: str
    why: str
    texts: tuple[CaseText, ...] = ()
    diff: str | None = None
    predicate: str | None = None  # of a fact
    values: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Superseded(Result):
    memory_id: str
    path: str
    by: str
    version: str


class ReviewQueue:
    def __init__(
        self,
        view: View,
        writing: Writing,
        input: Input,
        review: Review,
        proposals: Proposals,
        settlement: Settlement,
    ) -> None:
        self._view = view
        self._writing = writing
        self._input = input
        self._review = review
        self._proposals = proposals
        self._settlement = settlement

    def review_queue(
        self, conflicts: Sequence[ConflictView] | None = None
    ) -> tuple[ReviewCase, ...]:
        """What nobody can decide but a person; `conflicts` where they are known already, since
        every note is read to find them."""
        return (
            *self._proposed(),
            *self._conflicts(conflicts),
            *self._listed(),
            *self._facts_with_two_values(),
        )

    @bounded()
    def supersede(self, memory_id: str, into: str) -> Superseded:
        """The memory says that another one replaced it; its old text is kept."""
        note, other = self._writing.note_to_change(memory_id), self._view.visible_note(into)
        if note.path == other.path:
            raise InvalidInput("A memory cannot replace itself.")
        title = other.path.rpartition("/")[2].removesuffix(".md")
        link = as_link(title if len(self._view.index.lookup.find(title)) <= 1 else other.path)
        if not link:
            raise InvalidInput(f"{other.path} has a name that no link can have.")
        written = self._writing.edit_note(note, "review", SetProperty("superseded_by", link))
        return Superseded(note_identity(note), written.path, other.path, written.version)

    # --- the kinds -------------------------------------------------------------------------

    def _proposed(self) -> Iterator[ReviewCase]:
        for each in self._proposals.proposed():
            why = f"{each.source or 'An agent'} wants to remember this"
            where = f" in {each.project}" if each.project else ""
            text = CaseText(
                each.path, each.title, each.content[:_SHOWN], each.version, each.proposed_at
            )
            yield ReviewCase("proposed", each.id, why + where, (text,))

    def _conflicts(self, known: Sequence[ConflictView] | None) -> Iterator[ReviewCase]:
        try:
            found = self._settlement.conflicts().conflicts if known is None else known
        except VaultmemError:
            return
        for each in found:
            diff = each.diff[:_SHOWN] if each.diff else None
            yield ReviewCase("conflict", each.path, each.message, (), diff)

    def _listed(self) -> Iterator[ReviewCase]:
        for item in self._review.review_items():
            kind = {CONFLICTING: "contradiction", DOUBLE: "double"}.get(item.kind, "stale")
            texts = tuple(self._texts([link.target for link in property_links(item.text, "")]))
            yield ReviewCase(kind, item.item, item.text, texts)

    def _texts(self, refs: Sequence[str]) -> Iterator[CaseText]:
        for ref in refs[:2]:
            try:
                note = self._view.visible_note(ref)
            except VaultmemError:
                continue
            yield CaseText(
                note.path,
                note.shown_title,
                content_of(note)[:_SHOWN],
                note_version(note.raw),
                note.created,
            )

    def _facts_with_two_values(self) -> Iterator[ReviewCase]:
        """Of one thing and one predicate, where most things have only one such value."""
        try:
            rows = self._view.index.relations.facts(self._view.filters())
        except INDEX_FAILURES:
            return
        now = now_utc()
        values: dict[str, dict[int, list[FactRow]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            if not has_ended(row.valid_to, now):
                values[relation_key(row.predicate)][row.note].append(row)
        for of_predicate in values.values():
            several = [found for found in of_predicate.values() if len(found) > 1]
            if len(several) > _USUALLY_SEVERAL * len(of_predicate) or len(of_predicate) < 2:
                continue
            for found in several[:_MOST_FACTS]:
                yield _fact_case(found)


def _fact_case(rows: Sequence[FactRow]) -> ReviewCase:
    first = rows[0]
    values = tuple(row.object for row in rows)
    why = f"{first.title} {first.predicate}: {' and '.join(values)}, and neither has ended"
    ref = f"{first.path}#{relation_key(first.predicate)}"
    about = CaseText(first.path, first.title, "", "")
    return ReviewCase("fact", ref, why, (about,), None, first.predicate, values)
