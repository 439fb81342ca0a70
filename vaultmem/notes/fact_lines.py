"""Facts as lines of a note: how one is written, closed, and compared with another.

Every line is read back before it counts as written: a text that would be read as
something else is refused.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vaultmem.base.local_time import moment
from vaultmem.errors import InvalidInput, NoteMalformed
from vaultmem.notes import yaml_writer
from vaultmem.notes.edit import AppendToSection, ReplaceLine, ReplaceLines, edited_note
from vaultmem.notes.links import link_key, link_target, relation_key, without_link_brackets
from vaultmem.notes.markdown import Fact, markdown_outline
from vaultmem.notes.masking import mask_private
from vaultmem.notes.note import Note, has_ended

_HEADING: Final = "Facts"
_LETTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # base32 without look-alikes
_ARROWS: Final = 8  # of which one may be the right one: a provenance can have some as well
_AFTER_TO: Final = re.compile(r"[;)]")


@dataclass(frozen=True)
class FactChange:
    """What asserting a fact comes to: the note as it will be, and what became of which fact."""

    status: str
    note: Note
    fact: Fact
    closed: tuple[Fact, ...] = ()


# --- asserting --------------------------------------------------------------------------------


def plan_fact(note: Note, new: Fact, *, multi: bool, dated: bool, now: dt.datetime) -> FactChange:
    """Add a fact and close the open ones it takes the place of; the newest word counts.

    The same fact is not written twice: given an end it gets that, else it stays. A fact that
    is over already is a record of the past, and closes nothing. `dated` says that the caller
    named the beginning.
    """
    begins = moment(new.valid_from) or now
    kind, latest = relation_key(new.predicate), max(now, begins)
    active = [f for f in note.facts if relation_key(f.predicate) == kind]
    active = [f for f in active if not has_ended(f.valid_to, latest)]
    same = next((f for f in active if _is_same_fact_object(f.object, new.object)), None)
    if same and new.valid_to and (not dated or moment(same.valid_from) == begins):
        return _plan_end_of_fact(note, same, new.valid_to, now)
    if same and new.valid_to:
        same = None
    replaces = not multi and not has_ended(new.valid_to, now)
    closing = [f for f in active if f is not same] if replaces else []
    closed = [replace(fact, valid_to=_end_of_fact(fact, new, begins)) for fact in closing]
    after = note_with_ended_facts(note, closed) if closed else note
    if same is None:
        since, until = moment(new.valid_from), moment(new.valid_to)
        if since and until and until < since:
            raise InvalidInput(
                f"The fact would end ({new.valid_to}) before it begins ({new.valid_from}). "
                "Give valid_from as well, or a later valid_to."
            )
        new = replace(new, block=_fresh_fact_id(note))
        after = note_with_fact(after, new)
    status = "asserted" if after is not note else "unchanged"
    return FactChange(status, after, same or new, tuple(closed))


def _end_of_fact(fact: Fact, next_one: Fact, begins: dt.datetime) -> str:
    """A fact ends where the next one begins, and never before it began itself."""
    is_older = (moment(fact.valid_from) or begins) <= begins
    return next_one.valid_from if is_older else fact.valid_from


def _plan_end_of_fact(note: Note, fact: Fact, to: str, now: dt.datetime) -> FactChange:
    since, until = moment(fact.valid_from), moment(to)
    if since and until and until < since:
        raise InvalidInput(
            f"The fact began {fact.valid_from}, so it cannot have ended {to}. Give a later valid_to."
        )
    if fact.valid_to == to:
        return FactChange("unchanged", note, fact)
    status = "closed" if has_ended(to, now) else "asserted"
    over = replace(fact, valid_to=to)
    return FactChange(status, note_with_ended_facts(note, [over]), over)


def _is_same_fact_object(a: str, b: str) -> bool:
    """Names compare without case, other texts as they are."""
    if link_target(a) or link_target(b):
        return link_key(without_link_brackets(a)) == link_key(without_link_brackets(b))
    return a == b


def _fresh_fact_id(note: Note) -> str:
    taken = {block.id for block in note.blocks}
    length = 4
    while True:
        for _ in range(50):
            found = "f-" + "".join(secrets.choice(_LETTERS) for _ in range(length))
            if found not in taken:
                return found
        length += 1


# --- lines ------------------------------------------------------------------------------------


def note_with_fact(note: Note, fact: Fact) -> Note:
    """The note with one more fact."""
    wanted = [*map(_fact_without_place, note.facts), _fact_without_place(fact)]
    for line in ways_to_write_fact(fact):
        after = edited_note(note, AppendToSection(_HEADING, line))
        if [_fact_without_place(f) for f in after.facts] == wanted:
            return after
    raise InvalidInput(
        "This fact would not be read back as it was given: its object or provenance has "
        "brackets that do not pair, or marks that mean something else in a note. Use plainer words."
    )


def note_with_ended_facts(note: Note, over: Sequence[Fact]) -> Note:
    """The note with the ends of these facts of it set; nothing else of their lines changes."""
    ends = {fact.start: fact for fact in over}
    wanted = [_fact_without_place(ends.get(fact.start, fact)) for fact in note.facts]
    after = edited_note(note, ReplaceLines(tuple(_ended_fact_line(note, fact) for fact in over)))
    if [_fact_without_place(fact) for fact in after.facts] != wanted:
        raise _unclosable_fact(note, over[0])
    return after


def _ended_fact_line(note: Note, over: Fact) -> ReplaceLine:
    old = note.body[over.start : over.end]
    for line in _ways_to_end_fact_line(old, over):
        if fact_in_line(line) == _fact_without_place(over):
            return ReplaceLine(over.start, old, line)
    raise _unclosable_fact(note, over)


def _unclosable_fact(note: Note, fact: Fact) -> NoteMalformed:
    line = mask_private(note.body)[fact.start : fact.end].strip()
    return NoteMalformed(
        f"{note.path} has a fact that cannot be closed without harming its line: {line!r}. "
        "Write its end by hand, as in (2026-01-28 → 2026-05-10)."
    )


def ways_to_write_fact(fact: Fact) -> Iterator[str]:
    """Ways to write a fact; an empty place keeps a provenance from being read as a number."""
    since = f"{fact.valid_from} → {fact.valid_to}"
    confidence = "" if fact.confidence is None else yaml_writer.render_yaml(fact.confidence)
    qualities = [part for part in (confidence, fact.provenance) if part]
    for more in (qualities, ["", fact.provenance]):
        inner = "; ".join([since, *more]) if more else since.rstrip()
        yield f"- {fact.predicate}:: {fact.object} ({inner}) ^{fact.block}"


def fact_in_line(line: str) -> Fact | None:
    """The one fact that a line states, wherever it stands."""
    found = markdown_outline(f"## {_HEADING}\n\n{line}\n").facts
    return _fact_without_place(found[0]) if len(found) == 1 else None


def _ways_to_end_fact_line(line: str, over: Fact) -> Iterator[str]:
    """Ways to set a line's end: behind one of its last arrows, else in brackets of its own."""
    fact, to = over, over.valid_to
    for arrow in list(re.finditer("→", line))[-_ARROWS:]:
        if rest := _AFTER_TO.search(line, arrow.end()):
            yield f"{line[: arrow.end()]} {to}{line[rest.start() :]}"
    stem = line.rstrip().removesuffix(f"^{fact.block}").rstrip() if fact.block else line.rstrip()
    yield f"{stem} (→ {to}){line[len(stem) :]}"


def _fact_without_place(fact: Fact) -> Fact:
    return replace(fact, start=0, end=0)
