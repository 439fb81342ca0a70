"""Facts: what is said of an entity, and from when to when it held.

They are bullets of the subject's note, closed but never deleted. An entity without a note
gets one with its first fact.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ulid_transform import ulid_now

from vaultmem.base.local_time import end_of_day, is_day, local_time, moment
from vaultmem.errors import AlreadyExists, InvalidInput, NotFound
from vaultmem.index import FactRow, Filters, Relations
from vaultmem.limits import Whole, bounded
from vaultmem.notes import yaml_writer
from vaultmem.notes.attributes import attributes_of
from vaultmem.notes.edit import note_from_nothing, stamped_note
from vaultmem.notes.fact_lines import FactChange, plan_fact
from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.links import as_link, link_key, link_target, relation_key, without_link_brackets
from vaultmem.notes.markdown import Fact
from vaultmem.notes.masking import without_private
from vaultmem.notes.note import Note, has_ended, note_body, note_title, parse
from vaultmem.operations.input import now_utc, require_share
from vaultmem.operations.references import ULID, find_referenced_note, plain_reference
from vaultmem.operations.writing import WritingGroup, Written
from vaultmem.storage.store import StoredNote

MOST_FACTS: Final = 1_000  # in one answer, unless told
_FIRST: Final = dt.datetime.min.replace(tzinfo=dt.UTC)
_PREDICATE: Final = re.compile(r"(?=[\w-]*[^\W_])\w[\w-]{0,63}")


@dataclass(frozen=True)
class FactView:
    subject: str
    predicate: str
    object: str
    valid_from: dt.datetime | str | None  # as text where a person wrote no date
    valid_to: dt.datetime | str | None
    confidence: float | None
    provenance: str | None
    path: str
    block: str | None


@dataclass(frozen=True)
class Facts:
    facts: tuple[FactView, ...]
    truncated: bool | None = None  # there are more: narrow the question
    total: int | None = None  # of them all, where some are left out
    warnings: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Asserted:
    status: str  # "asserted", "unchanged" or, when an open fact was given an end, "closed"
    fact: FactView
    closed: tuple[FactView, ...]


class KnownFacts(WritingGroup):
    @bounded(limit=Whole(1, 100_000))
    def facts(
        self,
        subject: str | None = None,
        *,
        predicate: str | None = None,
        object: str | None = None,
        as_of: str | dt.date | None = None,
        include_closed: bool = False,
        own: bool = False,
        limit: int = MOST_FACTS,
    ) -> Facts:
        """Facts that hold now or at a moment, newest first. A bare date is that day's end.

        `own` asks the note that the caller's project has of the subject, where it has one.
        """
        lacks = self._view.gaps.look()
        filters, relations = self._view.filters(), self._view.index.relations
        notes = None if subject is None else self._fact_subject_notes(subject, own)
        rows = relations.facts(filters, notes)
        if predicate is not None:
            rows = [r for r in rows if relation_key(r.predicate) == relation_key(predicate)]
        if object is not None:
            keys = _fact_object_keys(relations, object, filters)
            rows = [row for row in rows if link_key(without_link_brackets(row.object)) in keys]
        if as_of is not None:
            at = _end_of_facts_as_of(as_of)
            rows = [row for row in rows if _fact_holds_at(row, at)]
        elif not include_closed:
            now = now_utc()
            rows = [row for row in rows if not has_ended(row.valid_to, now)]
        newest = rows[::-1]  # of one day's, the line further down
        newest.sort(key=lambda row: moment(row.valid_from) or _FIRST, reverse=True)
        shown = tuple(_fact_view(row.title, row.path, row) for row in newest[:limit])
        more = len(newest) > limit
        return Facts(shown, more or None, len(newest) if more else None, lacks())

    def _fact_filters(self, own: bool) -> Filters:
        return self._view.filters(project=self._view.caller.project if own else None)

    def _fact_subject_notes(self, subject: str, own: bool) -> list[int]:
        """The notes of this name; what says its facts may only have it as an alias."""
        name = plain_reference(subject)
        if ULID.match(name):
            return self.entity_note_numbers(self._view.index.lookup.find(name))
        named = partial(self._view.index.relations.named, name, aliases=True)
        found = named(self._fact_filters(own)) or named(self._view.filters())
        return [node.ref for node in found if isinstance(node.ref, int)]

    @bounded()
    def assert_fact(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        confidence: float | None = None,
        provenance: str | None = None,
        valid_from: str | dt.date | None = None,
        valid_to: str | dt.date | None = None,
        multi: bool = False,
        own: bool = False,
    ) -> Asserted:
        """Write a fact into its subject's note, and close the one it takes the place of.

        An open fact that is asserted again stays as it is; with `valid_to` it gets its end.
        `own` prefers a note of the caller's project, and keeps the object's words as they are.
        """
        self._writing.require_writable()
        self._view.parts.catch_up()
        name = plain_reference(self._fact_text(subject, "The subject", 200))
        if confidence is not None:
            require_share(confidence, "confidence")
        since, until = _fact_date(valid_from, "valid_from"), _fact_date(valid_to, "valid_to")
        new = Fact(
            _fact_predicate(predicate),
            self._fact_object(self._fact_text(object, "The object", 2000), own),
            since or yaml_writer.yaml_moment(now_utc()),
            until,
            None if confidence is None else float(confidence),
            self._fact_provenance(provenance or ""),
        )
        try:
            note = self._fact_subject_note(name, own)
            if note is None:
                return self._assert_first_fact(name, new)
        except AlreadyExists:  # another process made it just now
            note = self._unindexed_fact_entity(name) or self._fact_subject_by_id(name, own)
        planned: list[FactChange] = []

        def change(current: Note) -> Note:
            planned[:] = [plan_fact(current, new, multi=multi, dated=bool(since), now=now_utc())]
            return stamped_note(current, planned[0].note, now_utc())

        self._writing.rewrite_note(note, "assert", change)
        return _asserted_facts(planned[0], note.title, note.path)

    def _assert_first_fact(self, name: str, new: Fact) -> Asserted:
        bare = parse(b"", f"{safe_name(name)}.md")
        made = plan_fact(bare, new, multi=True, dated=True, now=now_utc())
        stored = self._create_fact_entity(name, "", made.note.text)
        if not isinstance(stored, Written):
            self._writing.index_written(stored, note_body(stored.raw))
        return _asserted_facts(made, note_title(stored.path), stored.path)

    def _fact_text(self, text: str, what: str, most: int) -> str:
        text = self._input.clean_text(text, what).strip()
        if not text:
            raise InvalidInput(f"{what} of the fact is empty.")
        if len(text.splitlines()) > 1:
            raise InvalidInput(
                f"{what} has line breaks in it, and a fact is one line. "
                "Store long text as a memory and name that memory in the fact."
            )
        if len(text) > most:
            raise InvalidInput(f"{what} has more than {most} characters; make it shorter.")
        if "%%" in text or "<!--" in text:
            raise InvalidInput(f"{what} has %% or <!-- in it, which would begin a comment.")
        return text

    def _fact_object(self, text: str, own: bool) -> str:
        """A link where there is a note or an entity of that name; an alias becomes the title,
        except where the words of an `own` fact are to come back as they were given."""
        filters, target = self._view.filters(), link_target(text)
        found = self._view.index.relations.named(target or text, filters)
        if len(found) == 1:
            title = found[0].name
            if own and title != (target or text):
                return text
            as_given = target and link_key(target).endswith(name_key(title))
            return text if as_given else as_link(title) or text
        if not target and self._view.index.relations.mentions(text, filters):
            return as_link(text) or text
        return text

    def _fact_provenance(self, text: str) -> str:
        if not text.strip():
            return ""
        text = self._fact_text(text, "The provenance", 500)
        ref = text.removeprefix("memory:").strip()
        if link_target(text):
            return text
        if ULID.match(ref):
            numbers = self.entity_note_numbers(self._view.index.lookup.find(ref))
            found = list(self._view.index.relations.nodes(numbers, self._view.filters()).values())
        else:
            found = self._view.index.relations.named(ref, self._view.filters())
        return (as_link(found[0].name) if len(found) == 1 else "") or text

    # --- entity notes ----------------------------------------------------------------------

    @bounded()
    def ensure_entity(self, name: str, kind: str = "") -> str | None:
        """Make a note for an entity that has none; returns its path if it was made."""
        return next(iter(self.ensure_entities([(name, kind)])), None)

    def ensure_entities(self, wanted: Iterable[tuple[str, str]]) -> list[str]:
        """Notes for the entities that have none. They are all made first, and then the index
        learns of them: each for itself would cost it a commit."""
        made: dict[str, StoredNote] = {}
        for given, sort in wanted:
            named = link_target(given.strip()) or given
            name = self._input.property_line(named, "The entity's name", 200)
            if not name:
                raise InvalidInput("An entity needs a name.")
            key = name_key(safe_name(name))
            kind = self._input.property_line(sort, "The entity's kind", 100)
            if key not in made and not self._is_fact_entity_known(name):
                with contextlib.suppress(AlreadyExists):  # another process made it just now
                    made[key] = self._create_fact_entity(name, kind, "")
        unseen = [stored for stored in made.values() if not isinstance(stored, Written)]
        for stored in unseen:
            self._writing.embed_written(stored)
        if unseen:
            self._writing.index_paths([stored.path for stored in unseen])
        return [stored.path for stored in made.values()]

    def _is_fact_entity_known(self, name: str) -> bool:
        known = self._view.index.relations.named(name, self._view.filters())
        return bool(known) or self._unindexed_fact_entity(name) is not None

    def _fact_subject_note(self, name: str, own: bool) -> Note | None:
        """The note of a subject; None when it has none yet."""
        if ULID.match(name):
            return self._fact_subject_by_id(name, own)
        named = partial(self._view.index.relations.named, name)
        found = named(self._fact_filters(own)) or named(self._view.filters())
        if len(found) > 1:
            raise ambiguous_entity(name, (node.path for node in found))
        try:
            if found:
                return self._view.require_visible(self._view.store.note(found[0].path))
            return self._unindexed_fact_entity(name)
        except NotFound:  # gone since it was indexed
            return None

    def _fact_subject_by_id(self, ref: str, own: bool) -> Note:
        note = self._view.visible_note(ref)
        if own and not attributes_of(note, self._view.settings)["project"]:
            raise NotFound(
                f"{ref} is shared by all projects, so none can say more of it by its id."
            )
        return note

    def _unindexed_fact_entity(self, name: str) -> Note | None:
        """The entity's note where the index has not seen it yet."""
        path = f"{self._view.settings['folders.entities'].strip('/')}/{safe_name(name)}.md"
        if self._view.store.stat(path) is not None:
            note = self._view.store.note(path)
        elif (found := self._fact_entity_in_files(name)) is not None:
            note = found
        else:
            return None
        return note if self._view.is_visible(note) else None

    def _fact_entity_in_files(self, name: str) -> Note | None:
        """Of all notes, where the index lacks some: a second note of a name is not made."""
        if not self._view.gaps.are_left():
            return None
        with contextlib.suppress(NotFound):
            return find_referenced_note(self._view.store, None, name, self._view.is_visible)
        return None

    def _create_fact_entity(self, name: str, kind: str, body: str) -> StoredNote | Written:
        """In the caller's own namespace; the index does not know it yet. A name that files cannot
        have, or that another namespace has taken, is kept as an alias."""
        folder, title = self._view.settings["folders.entities"].strip("/"), safe_name(name)
        taken = bool(self._view.gaps.paths_named(name_key(title)))
        values: dict[str, WritableValue] = {
            "id": ulid_now(),
            "type": "entity",
            "project": self._view.caller.project,
            "user": self._view.caller.user,
            "kind": kind,
            "aliases": [name] if taken or title != name else [],
            "source": self._view.caller.client,
            "created": now_utc(),
        }
        if taken:
            return self._writing.create_note(folder, title, values, body)
        names = self._view.settings.properties
        made = note_from_nothing({k: v for k, v in values.items() if v}, body, names=names)
        stored = self._view.store.create(f"{folder}/{title}.md", made.raw)
        made = replace(made, path=stored.path)
        self._writing.record_write(stored.path, stored.version, "add", made.id, after=made)
        return stored

    def entity_note_numbers(self, paths: Collection[str]) -> list[int]:
        return [row.note for row in self._view.index.lookup.at(list(paths)).values()]


# --- answers ----------------------------------------------------------------------------------


def _asserted_facts(made: FactChange, subject: str, path: str) -> Asserted:
    closed = (_fact_view(subject, path, fact) for fact in made.closed)
    return Asserted(made.status, _fact_view(subject, path, made.fact), tuple(closed))


def _fact_view(subject: str, path: str, fact: Fact | FactRow) -> FactView:
    return FactView(
        subject,
        fact.predicate,
        without_link_brackets(fact.object),
        _shown_fact_date(fact.valid_from),
        _shown_fact_date(fact.valid_to),
        fact.confidence,
        without_link_brackets(fact.provenance) or None,
        path,
        fact.block or None,
    )


def _shown_fact_date(text: str) -> dt.datetime | str | None:
    """A moment; a date as that date's midnight in UTC, so that it is the same date everywhere."""
    return moment(text, dt.UTC if is_day(text) else None) or text or None


def fact_day(value: dt.datetime | str | None) -> str:
    """The day of a fact's beginning or end, here."""
    if not isinstance(value, dt.datetime):
        return (value or "")[:10]
    is_date = value.time() == dt.time()
    return (value if is_date else local_time(value)).date().isoformat()


def _fact_object_keys(relations: Relations, name: str, filters: Filters) -> set[str]:
    """All folded names of what is meant by a name."""
    name = without_link_brackets(name.strip())
    nodes = relations.named(name, filters)
    return {link_key(name)} | relations.keys([node.ref for node in nodes])


def _fact_holds_at(fact: FactRow, at: dt.datetime) -> bool:
    since = moment(fact.valid_from)
    return (since is None or since <= at) and not has_ended(fact.valid_to, at)


def ambiguous_entity(name: str, paths: Iterable[str]) -> InvalidInput:
    places = ", ".join(sorted(paths))
    return InvalidInput(f"{name!r} could be any of these notes; name one by its path: {places}")


# --- what is asked for ------------------------------------------------------------------------


def _fact_predicate(text: str) -> str:
    text = without_private(text).strip()
    if not _PREDICATE.fullmatch(text):
        plain = re.sub(r"[^\w-]+", "_", text).strip("_-")[:64]
        advice = f" Write {plain}." if _PREDICATE.fullmatch(plain) else ""
        raise InvalidInput(
            f"A predicate is one plain name of letters, digits, _ and -, not {text[:100]!r}.{advice}"
        )
    return text


def _fact_date(value: str | dt.date | None, name: str) -> str:
    """As a note has it: a date, or a date and time. Midnight in UTC is how answers print a date."""
    if value is None or value == "":
        return ""
    if isinstance(value, dt.datetime):
        return yaml_writer.yaml_moment(value)
    text = value.isoformat() if isinstance(value, dt.date) else value.strip()
    at = moment(text)
    if at is None:
        raise InvalidInput(f"{name} must be a date like 2026-01-31, not {text[:100]!r}.")
    day = text.removesuffix("T00:00:00Z")
    is_day = len(day) == 10 and yaml_writer.is_yaml_date(day)
    return day if is_day else yaml_writer.yaml_moment(at)


def _end_of_facts_as_of(value: str | dt.date) -> dt.datetime:
    text = _fact_date(value, "as_of")
    at = moment(text)
    if at is None:
        raise InvalidInput("as_of must be a date like 2026-01-31.")
    return end_of_day(dt.date.fromisoformat(text)) if len(text) == 10 else at
