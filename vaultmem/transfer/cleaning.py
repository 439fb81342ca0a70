"""Records made fit for a vault: no secrets, no private passages, nothing that steers a terminal,
and nobody else's: a caller who is bound to a user or a project imports for these alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from vaultmem.errors import InvalidInput
from vaultmem.notes import journal, masking
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.markdown import Fact
from vaultmem.notes.note import printable
from vaultmem.operations.caller import Caller
from vaultmem.operations.input import MOST_BYTES, Input
from vaultmem.operations.view import View
from vaultmem.transfer.drafts import reads_back
from vaultmem.transfer.sources.records import EntityRecord, MemoryRecord, TalkRecord, TalkTurn

_STEERING: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LINE: Final = 300


class UnfitRecord(InvalidInput):
    """Why a record stays behind."""


class Cleaning:
    """`leave` is told of every part of a record that stays behind alone."""

    def __init__(self, view: View, input: Input, leave: Callable[[str, str], None]) -> None:
        self._view = view
        self.input = input
        self.leave = leave
        self.redacted = 0  # texts in which secrets were replaced
        self.stripped = 0  # texts that lost control characters

    def record_text(self, given: str) -> str:
        if len(given.encode(errors="replace")) > MOST_BYTES:
            raise UnfitRecord(f"it has more than {MOST_BYTES:,} bytes")
        plain = _STEERING.sub("", printable(given))
        self.stripped += plain != given
        kept = self.input.clean_text(plain)
        self.redacted += kept != masking.without_private(plain)
        return kept

    def record_line(self, given: str, most: int = _LINE) -> str:
        return " ".join(self.record_text(given[: most * 4]).split())[:most]

    # --- whose it is -----------------------------------------------------------------------

    def record_home(self, user: str, project: str, default: str) -> tuple[str, str]:
        """The user and the project that a note gets."""
        owner, place = self.record_line(user, 100), self.record_line(project, 100).strip("[]")
        pinned: Caller = self._view.caller
        if owner and pinned.user and owner.casefold() != pinned.user.casefold():
            raise UnfitRecord(
                f"it belongs to the user {owner!r}, and you import for {pinned.user!r}"
            )
        if place and pinned.project and place.casefold() != pinned.project.casefold():
            raise UnfitRecord(f"it belongs to the project {place!r}; this is {pinned.project!r}")
        return pinned.user or owner, pinned.project or place or default

    # --- records ---------------------------------------------------------------------------

    def clean_memory(self, record: MemoryRecord, project: str) -> MemoryRecord:
        user, home = self.record_home(record.user, record.project, project)
        said = self.record_text(record.text)
        if not said.strip():
            raise UnfitRecord("it has no text, or none that is not private")
        return replace(
            record,
            text=said,
            title=self.record_line(record.title),
            user=user,
            project=home,
            session=self.record_line(record.session, 200),
            room=self.record_line(record.room, 100),
            tags=tuple(self.record_line(tag, 100) for tag in record.tags),
            source=self.record_line(record.source),
            more={name: self._clean_record_value(value) for name, value in record.more.items()},
        )

    def _clean_record_value(self, value: WritableValue) -> WritableValue:
        if isinstance(value, list):
            return [self._clean_record_value(item) for item in value]
        return self.record_line(value, 500) if isinstance(value, str) else value

    def clean_talk(self, record: TalkRecord, project: str) -> TalkRecord:
        user, home = self.record_home(record.user, record.project, project)
        title = self.record_line(record.title)
        said = tuple(kept for each in record.said if (kept := self._clean_talk_turn(each, title)))
        if not said and not record.summary.strip() and not record.request:
            raise UnfitRecord("none of its messages could be taken")
        summary = self.record_text(record.summary)
        return replace(record, title=title, said=said, summary=summary, user=user, project=home)

    def _clean_talk_turn(self, each: TalkTurn, title: str) -> TalkTurn | None:
        try:
            text = self.record_text(each.text)
        except InvalidInput as error:
            self.leave(f"a message of {title or 'a conversation'}", str(error))
            return None
        known = journal.is_entry_kind(each.kind) and len(each.kind) <= 50
        kind = each.kind if known else journal.USUAL_KIND
        return replace(each, text=text, kind=kind) if text.strip() else None

    def clean_entity(self, record: EntityRecord, project: str) -> EntityRecord:
        user, home = self.record_home(record.user, record.project, project)
        name = self.record_line(record.name, 200)
        if not name:
            raise UnfitRecord("it has no name")
        said = (self._clean_fact_part(each, name) for each in record.observations)
        facts = (self._clean_fact(fact, name) for fact in record.facts)
        return replace(
            record,
            name=name,
            kind=self.record_line(record.kind, 100),
            observations=tuple(dict.fromkeys(each for each in said if each)),
            facts=tuple(fact for fact in facts if fact),
            user=user,
            project=home,
        )

    def _clean_fact_part(self, given: str, name: str) -> str:
        try:
            return self.record_text(given).strip()
        except InvalidInput as error:
            self.leave(f"an observation of {name}", str(error))
            return ""

    def _clean_fact(self, fact: Fact, name: str) -> Fact | None:
        """A line that would not say this comes without its provenance, or not at all."""
        said = self._clean_fact_part(fact.object, name)
        origin = self.record_line(fact.provenance, 200)
        for provenance in (origin, ""):
            kept = replace(fact, object=said, provenance=provenance)
            if said and reads_back(kept):
                return kept
        self.leave(f"{name} {fact.predicate}", "a fact cannot be written with these signs in it")
        return None
