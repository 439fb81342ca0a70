"""Records made fit for a vault: no secrets, no private passages, nothing that steers a terminal,
and nobody else's: a caller who is bound to a user or a project imports for these alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from vaultmem import hidden, journal
from vaultmem.desk import MOST_BYTES, Caller, Desk
from vaultmem.errors import InvalidInput
from vaultmem.markdown import Fact
from vaultmem.moving.drafts import reads_back
from vaultmem.moving.incoming import Memory, Said, Talk, Thing
from vaultmem.note import printable
from vaultmem.scalars import Writable

_STEERING: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LINE: Final = 300


class Unfit(InvalidInput):
    """Why a record stays behind."""


class Cleaning(Desk):
    """`leave` is told of every part of a record that stays behind alone."""

    leave: Callable[[str, str], None]
    redacted = 0  # texts in which secrets were replaced
    stripped = 0  # texts that lost control characters

    def text(self, given: str) -> str:
        if len(given.encode(errors="replace")) > MOST_BYTES:
            raise Unfit(f"it has more than {MOST_BYTES:,} bytes")
        plain = _STEERING.sub("", printable(given))
        self.stripped += plain != given
        kept = self._clean(plain)
        self.redacted += kept != hidden.without_private(plain)
        return kept

    def line(self, given: str, most: int = _LINE) -> str:
        return " ".join(self.text(given[: most * 4]).split())[:most]

    # --- whose it is -----------------------------------------------------------------------

    def home(self, user: str, project: str, default: str) -> tuple[str, str]:
        """The user and the project that a note gets."""
        owner, place = self.line(user, 100), self.line(project, 100).strip("[]")
        pinned: Caller = self.caller
        if owner and pinned.user and owner.casefold() != pinned.user.casefold():
            raise Unfit(f"it belongs to the user {owner!r}, and you import for {pinned.user!r}")
        if place and pinned.project and place.casefold() != pinned.project.casefold():
            raise Unfit(f"it belongs to the project {place!r}; this is {pinned.project!r}")
        return pinned.user or owner, pinned.project or place or default

    # --- records ---------------------------------------------------------------------------

    def memory(self, record: Memory, project: str) -> Memory:
        user, home = self.home(record.user, record.project, project)
        said = self.text(record.text)
        if not said.strip():
            raise Unfit("it has no text, or none that is not private")
        return replace(
            record,
            text=said,
            title=self.line(record.title),
            user=user,
            project=home,
            session=self.line(record.session, 200),
            room=self.line(record.room, 100),
            tags=tuple(self.line(tag, 100) for tag in record.tags),
            source=self.line(record.source),
            more={name: self._value(value) for name, value in record.more.items()},
        )

    def _value(self, value: Writable) -> Writable:
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self.line(value, 500) if isinstance(value, str) else value

    def talk(self, record: Talk, project: str) -> Talk:
        user, home = self.home(record.user, record.project, project)
        title = self.line(record.title)
        said = tuple(kept for each in record.said if (kept := self._said(each, title)))
        if not said and not record.summary.strip():
            raise Unfit("none of its messages could be taken")
        return replace(
            record,
            title=title,
            said=said,
            summary=self.text(record.summary),
            user=user,
            project=home,
        )

    def _said(self, each: Said, title: str) -> Said | None:
        try:
            text = self.text(each.text)
        except InvalidInput as error:
            self.leave(f"a message of {title or 'a conversation'}", str(error))
            return None
        kind = each.kind if journal.is_kind(each.kind) and len(each.kind) <= 50 else journal.KIND
        return replace(each, text=text, kind=kind) if text.strip() else None

    def thing(self, record: Thing, project: str) -> Thing:
        user, home = self.home(record.user, record.project, project)
        name = self.line(record.name, 200)
        if not name:
            raise Unfit("it has no name")
        said = (self._part(each, name) for each in record.observations)
        facts = (self._fact(fact, name) for fact in record.facts)
        return replace(
            record,
            name=name,
            kind=self.line(record.kind, 100),
            observations=tuple(dict.fromkeys(each for each in said if each)),
            facts=tuple(fact for fact in facts if fact),
            user=user,
            project=home,
        )

    def _part(self, given: str, name: str) -> str:
        try:
            return self.text(given).strip()
        except InvalidInput as error:
            self.leave(f"an observation of {name}", str(error))
            return ""

    def _fact(self, fact: Fact, name: str) -> Fact | None:
        """A line that would not say this comes without its provenance, or not at all."""
        said, origin = self._part(fact.object, name), self.line(fact.provenance, 200)
        for provenance in (origin, ""):
            kept = replace(fact, object=said, provenance=provenance)
            if said and reads_back(kept):
                return kept
        self.leave(f"{name} {fact.predicate}", "a fact cannot be written with these signs in it")
        return None
