"""Facts as lines of a note: how one is written, closed, and compared with another.

Every line is read back before it counts as written: a text that would be read as
something else is refused.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from vaultmem import printing
from vaultmem.edges import has_ended, link_key, link_target, relation_key, unwrapped
from vaultmem.edit import AppendToSection, Change, ReplaceLine, edit
from vaultmem.errors import InvalidInput, NoteMalformed
from vaultmem.markdown import Fact
from vaultmem.note import Note, moment, parse

_HEADING: Final = "Facts"
_LETTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # base32 without look-alikes
_AFTER_TO: Final = re.compile(r"[;)]")


@dataclass(frozen=True)
class Plan:
    """What asserting a fact comes to: the note as it will be, and what became of which fact."""

    status: str
    note: Note
    fact: Fact
    closed: tuple[Fact, ...] = ()


# --- asserting --------------------------------------------------------------------------------


def plan(note: Note, new: Fact, *, multi: bool, dated: bool, now: dt.datetime) -> Plan:
    """Add a fact and close the open ones it takes the place of; the newest word counts.

    The same fact is not written twice: given an end it gets that, else it stays. A fact that
    is over already is a record of the past, and closes nothing. `dated` says that the caller
    named the beginning.
    """
    begins = moment(new.valid_from) or now
    kind, latest = relation_key(new.predicate), max(now, begins)
    active = [f for f in note.facts if relation_key(f.predicate) == kind]
    active = [f for f in active if not has_ended(f.valid_to, latest)]
    same = next((f for f in active if _same_object(f.object, new.object)), None)
    if same and new.valid_to and (not dated or moment(same.valid_from) == begins):
        return _ended_plan(note, same, new.valid_to, now)
    if same and new.valid_to:
        same = None
    replaces = not multi and not has_ended(new.valid_to, now)
    closing = [f for f in active if f is not same] if replaces else []
    after, closed = note, []
    for fact in reversed(closing):  # from the last on: the places of the others stay true
        to = new.valid_from if (moment(fact.valid_from) or begins) <= begins else fact.valid_from
        after = ended(after, fact, to)
        closed.append(replace(fact, valid_to=to))
    if same is None:
        _require_forwards(new)
        new = replace(new, block=_fresh_id(note))
        after = with_fact(after, new)
    status = "asserted" if after is not note else "unchanged"
    return Plan(status, after, same or new, tuple(reversed(closed)))


def _require_forwards(fact: Fact) -> None:
    since, until = moment(fact.valid_from), moment(fact.valid_to)
    if since and until and until < since:
        raise InvalidInput(
            f"The fact would end ({fact.valid_to}) before it begins ({fact.valid_from}). "
            "Give valid_from as well, or a later valid_to."
        )


def _ended_plan(note: Note, fact: Fact, to: str, now: dt.datetime) -> Plan:
    since, until = moment(fact.valid_from), moment(to)
    if since and until and until < since:
        raise InvalidInput(
            f"The fact began {fact.valid_from}, so it cannot have ended {to}. Give a later valid_to."
        )
    if fact.valid_to == to:
        return Plan("unchanged", note, fact)
    status = "closed" if has_ended(to, now) else "asserted"
    return Plan(status, ended(note, fact, to), replace(fact, valid_to=to))


def _same_object(a: str, b: str) -> bool:
    """Names compare without case, other texts as they are."""
    if link_target(a) or link_target(b):
        return link_key(unwrapped(a)) == link_key(unwrapped(b))
    return a == b


def _fresh_id(note: Note) -> str:
    taken = {block.id for block in note.blocks}
    length = 4
    while True:
        for _ in range(50):
            found = "f-" + "".join(secrets.choice(_LETTERS) for _ in range(length))
            if found not in taken:
                return found
        length += 1


# --- lines ------------------------------------------------------------------------------------


def with_fact(note: Note, fact: Fact) -> Note:
    """The note with one more fact."""
    wanted = [*map(_said, note.facts), _said(fact)]
    for line in _lines(fact):
        after = _edited(note, AppendToSection(_HEADING, line))
        if [_said(f) for f in after.facts] == wanted:
            return after
    raise InvalidInput(
        "This fact would not be read back as it was given: its object or provenance has "
        "brackets that do not pair, or marks that mean something else in a note. Use plainer words."
    )


def ended(note: Note, fact: Fact, to: str) -> Note:
    """The note with an end set to one of its facts; nothing else of the line changes."""
    wanted = [_said(replace(f, valid_to=to) if f == fact else f) for f in note.facts]
    old = note.body[fact.start : fact.end]
    for line in _ended_lines(old, fact, to):
        after = _edited(note, ReplaceLine(fact.start, old, line))
        if [_said(f) for f in after.facts] == wanted:
            return after
    raise NoteMalformed(
        f"{note.path} has a fact that cannot be closed without harming its line: {old.strip()!r}. "
        "Write its end by hand, as in (2026-01-28 → 2026-05-10)."
    )


def _lines(fact: Fact) -> Iterator[str]:
    """Ways to write a fact; an empty place keeps a provenance from being read as a number."""
    since = f"{fact.valid_from} → {fact.valid_to}"
    confidence = "" if fact.confidence is None else printing.render(fact.confidence)
    qualities = [part for part in (confidence, fact.provenance) if part]
    for more in (qualities, ["", fact.provenance]):
        inner = "; ".join([since, *more]) if more else since.rstrip()
        yield f"- {fact.predicate}:: {fact.object} ({inner}) ^{fact.block}"


def _ended_lines(line: str, fact: Fact, to: str) -> Iterator[str]:
    """Ways to set a line's end: behind one of its arrows, else in brackets of its own."""
    for arrow in re.finditer("→", line):
        if rest := _AFTER_TO.search(line, arrow.end()):
            yield f"{line[: arrow.end()]} {to}{line[rest.start() :]}"
    stem = line.rstrip().removesuffix(f"^{fact.block}").rstrip() if fact.block else line.rstrip()
    yield f"{stem} (→ {to}){line[len(stem) :]}"


def _edited(note: Note, change: Change) -> Note:
    return parse(edit(note, change), note.path, note.names)


def _said(fact: Fact) -> Fact:
    return replace(fact, start=0, end=0)
