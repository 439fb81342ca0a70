"""Decide, then do: what becomes of each record, by what the vault has already."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.errors import NotFound, VaultmemError
from vaultmem.index import KnownNote
from vaultmem.notes.edit import (
    AppendToSection,
    NoteEdit,
    edit_note,
    edited_note,
    note_from_nothing,
    stamped_note,
)
from vaultmem.notes.file_names import safe_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.links import link_key, relation_key
from vaultmem.notes.markdown import Fact
from vaultmem.notes.masking import without_private
from vaultmem.notes.naming.derived_titles import derived_title
from vaultmem.notes.naming.title_origin import marked_id
from vaultmem.notes.note import Note, note_version, parse, printable
from vaultmem.operations.facts import ambiguous_entity
from vaultmem.operations.input import now_utc
from vaultmem.operations.references import ULID
from vaultmem.operations.view import View
from vaultmem.transfer import drafts
from vaultmem.transfer.cleaning import Cleaning, UnfitRecord
from vaultmem.transfer.drafts import NoteDraft
from vaultmem.transfer.free_paths import FreePaths
from vaultmem.transfer.ledger import KnownRecord, Ledger, ledger_decision
from vaultmem.transfer.sources.records import (
    EntityRecord,
    FileRecord,
    MemoryRecord,
    Record,
    TalkRecord,
    record_digest,
    record_label,
)

_TWINS: Final = 100  # copies under numbered names that are looked at


@dataclass(frozen=True)
class ImportDecision:
    """One note's part of an import."""

    action: str  # add, update, here, kept, gone or left
    what: str
    path: str = ""
    why: str = ""
    key: str = ""
    digest: str = ""
    id: str = ""
    raw: bytes = b""  # of a new note
    change: Callable[[Note], bytes] | None = None  # of one that is there
    expect: str = ""  # the version for which the change was meant; empty: for any
    version: str = ""  # of one that is there and was ours all along


class Decisions:
    def __init__(
        self,
        view: View,
        cleaning: Cleaning,
        ledger: Ledger | None,
        *,
        system: str,
        project: str = "",
        again: bool = False,
        fallback: dt.datetime,
    ) -> None:
        self._view = view
        self.cleaning = cleaning
        self.ledger = ledger
        self.system = system
        self.project = self.cleaning.record_line(project, 100)
        self.again = again
        self.fallback = fallback.replace(microsecond=0)
        self.paths = FreePaths(view)
        self._keys: dict[str, str] = {}  # met in this run, and what they said
        self._made: set[str] = set()  # keys of notes that are new in this run

    def decide_record(self, record: Record) -> Iterator[ImportDecision]:
        try:
            match record:
                case MemoryRecord():
                    yield self._decide_memory(record)
                case TalkRecord():
                    yield from self._decide_talk(record)
                case EntityRecord():
                    yield self._decide_entity(record)
                case FileRecord():
                    yield self._decide_file(record)
        except VaultmemError as error:
            label = " ".join(record_label(record)[:300].split())[:100]
            yield ImportDecision("left", label, why=str(error))

    # --- memories and conversations --------------------------------------------------------

    def _decide_memory(self, record: MemoryRecord) -> ImportDecision:
        kept = self.cleaning.clean_memory(record, self.project)
        key = drafts.record_key(self.system, record.id, kept.text, record.created)
        draft = drafts.memory_draft(kept, self._undecided_key(key, kept.text), self.fallback)
        return self._decide_note(draft, self.paths.memories_folder(kept.project))

    def _decide_talk(self, record: TalkRecord) -> Iterator[ImportDecision]:
        kept = self.cleaning.clean_talk(record, self.project)
        key = drafts.record_key(self.system, record.id, kept.title, record.created)
        key = self._undecided_key(key, "\0".join(said.text for said in kept.said))
        if kept.session and (path := self._decided_journals.get(kept.session.casefold())):
            yield ImportDecision("here", kept.title, path, "its journal was kept while it went on")
            return
        session = kept.session or key.replace(":", "-", 1)
        for draft in drafts.journal_drafts(kept, key, session, self.fallback):
            made = draft.values["created"]
            year = made.year if isinstance(made, dt.date) else self.fallback.year
            yield self._decide_note(draft, f"{self.paths.vault_folder('sessions')}/{year}")

    def _undecided_key(self, key: str, said: str) -> str:
        """Two records with one id are two notes, unless they say the same."""
        meaning = record_digest(said)
        if self._keys.setdefault(key, meaning) == meaning:
            return key
        return f"{key}~{meaning[:8]}"

    def _decide_note(self, draft: NoteDraft, folder: str) -> ImportDecision:
        if draft.key in self._made:
            return ImportDecision("here", draft.title, why="it is there twice")
        path, known = self._decided_paths_by_key.get(draft.key, ""), self.known_record(draft.key)
        if path and known and known.digest == draft.digest:  # nothing is new over there
            return ImportDecision("here", draft.title, path, key=draft.key, digest=draft.digest)
        note = self._note_to_decide_on(path)
        body = with_unix_line_ends(draft.body)
        same = note is not None and with_unix_line_ends(note.body) == body
        current = note_version(note.raw) if note else None
        action = ledger_decision(known, draft.digest, current, same=same)
        todo = ImportDecision(action, draft.title, key=draft.key, digest=draft.digest)
        if note is None:
            self._made.add(draft.key)
            return self._decide_new_note(todo, draft, folder)
        if action == "update":
            # Nobody touched the note since it was imported, so what it holds is all ours.
            stamped = replace(draft, values={"updated": now_utc(), **draft.values})
            todo = replace(todo, change=lambda old: self._decided_bytes_over(stamped, old))
            return replace(todo, path=note.path, id=note.id, expect=note_version(note.raw))
        ours = same and self._decided_bytes_over(draft, note) == note.raw
        return replace(todo, path=note.path, version=note_version(note.raw) if ours else "")

    def _decide_new_note(
        self, todo: ImportDecision, draft: NoteDraft, folder: str
    ) -> ImportDecision:
        if todo.action == "gone" and not self.again:
            return todo
        owner = (draft.values.get("user", ""), draft.values.get("project", ""))
        stable = drafts.stable_id(draft.born, draft.key, *owner)
        derived = draft.title == derived_title(draft.body)
        id_ = marked_id(stable, draft.title if derived else "")
        raw = self._decided_bytes(draft, {"id": id_})
        path = self.paths.free_path(folder, draft.title)
        return replace(todo, action="add", path=path, id=id_, raw=raw)

    def _decided_bytes(self, draft: NoteDraft, more: dict[str, WritableValue]) -> bytes:
        names = self._view.settings.properties
        return note_from_nothing({**draft.values, **more}, draft.body, names=names).raw

    def _decided_bytes_over(self, draft: NoteDraft, note: Note) -> bytes:
        """The draft as this note would have it."""
        kept: dict[str, WritableValue] = {"id": note.id}
        if note.created:
            kept["created"] = note.created
        return self._decided_bytes(draft, kept)

    @cached_property
    def _decided_paths_by_key(self) -> dict[str, str]:
        """Where each key is, as far as the caller sees; forgotten notes keep theirs."""
        everything = self._view.filters(include_forgotten=True)
        rows, _ = self._view.index.lookup.select(everything, "created")
        return {row.key: row.path for row in rows if row.key}

    @cached_property
    def _decided_journals(self) -> dict[str, str]:
        """The journals of sessions that were not imported from here, by their sessions."""
        journals = self._view.filters(type="session", include_forgotten=True)
        rows, _ = self._view.index.lookup.select(journals, "created")
        ours = f"{self.system}:"
        return {
            r.session.casefold(): r.path for r in rows if r.session and not r.key.startswith(ours)
        }

    def _note_to_decide_on(self, path: str) -> Note | None:
        try:
            return self._view.store.note(path) if path else None
        except NotFound:
            return None

    def known_record(self, key: str) -> KnownRecord | None:
        return self.ledger.find_record(self.ledger_key(key)) if self.ledger else None

    def ledger_key(self, key: str) -> str:
        return "\0".join((self._view.caller.user, self._view.caller.project, key))

    # --- entities --------------------------------------------------------------------------

    def _decide_entity(self, record: EntityRecord) -> ImportDecision:
        kept = self.cleaning.clean_entity(record, self.project)
        draft = drafts.entity_draft(kept, self.system, self.fallback)
        known = self.known_record(draft.key)
        todo = ImportDecision("here", kept.name, key=draft.key, digest=draft.digest)
        note = self._entity_to_decide_on(kept.name, known)
        if note is None:
            new = replace(todo, action=ledger_decision(known, draft.digest, None, same=False))
            made = self._decide_new_note(new, draft, self.paths.vault_folder("entities"))
            return self._decision_with_alias(made, draft)
        todo = replace(todo, path=note.path, id=note.id, version=note_version(note.raw))
        more = () if known and known.digest == draft.digest else missing_in_note(kept, note)
        if not more:
            return todo
        edit_note(note, *more)  # refuses where it cannot be done

        def change(current: Note) -> bytes:
            after = edited_note(current, *missing_in_note(kept, current))
            return stamped_note(current, after, now_utc()).raw

        return replace(todo, action="update", change=change)

    def _entity_to_decide_on(self, name: str, known: KnownRecord | None) -> Note | None:
        """The note of an entity, by its name, or by the name that its file could have."""
        filters = self._view.filters(include_forgotten=True)
        for each in dict.fromkeys((name, safe_name(name))):
            found = self._view.index.relations.named(each, filters)
            if len(found) > 1:
                raise ambiguous_entity(name, (node.path for node in found))
            if found:
                return self._view.store.note(found[0].path)
        note = self._note_to_decide_on(known.path) if known else None
        return note if note and self._view.is_visible(note) else None

    def _decision_with_alias(self, todo: ImportDecision, draft: NoteDraft) -> ImportDecision:
        """An entity whose name was not free keeps it as an alias."""
        title = posixpath.basename(todo.path).removesuffix(".md")
        if todo.action != "add" or title == draft.title or "aliases" in draft.values:
            return todo
        values = {**draft.values, "aliases": [draft.title]}
        raw = self._decided_bytes(replace(draft, values=values), {"id": todo.id})
        return replace(todo, raw=raw)

    # --- files -----------------------------------------------------------------------------

    def _decide_file(self, record: FileRecord) -> ImportDecision:
        raw, path = record.raw, self.paths.import_target(record.path)
        is_note = path.lower().endswith(".md")
        if record.written:
            raw = self._bytes_fit_for_decision(raw)
            self.cleaning.redacted += raw != record.raw
        note = parse(raw, path, self._view.settings.properties)
        if is_note and not self._view.store.paths.is_place_for_note(path):
            raise UnfitRecord("it would be no note here: its place is for templates, or excluded")
        if is_note and not self._view.is_visible(note):
            raise UnfitRecord("it belongs to another user or project")
        key = f"{self.system}:{record.id}"
        todo = ImportDecision("add", path, path, key=key, digest=note_version(raw), id=note.id)
        known = self.known_record(key)
        there = self._version_to_decide_on(note if is_note else None, path, known)
        twin = self._twin_path_to_decide_on(raw, there or path)
        if twin:
            return replace(todo, action="here", path=twin, version=note_version(raw))
        current = self._file_to_decide_on(there) if there else None
        same = (
            record.written and current is not None and self._bytes_fit_for_decision(current) == raw
        )
        if current is not None and not (known or same or self._is_id_decided_already(note)):
            there, current = None, None  # another note of that name: this one gets its own
        state = None if current is None else note_version(current)
        action = ledger_decision(known, todo.digest, state, same=same)
        if there and current is not None:
            expect = note_version(current)
            return replace(todo, action=action, path=there, change=lambda _: raw, expect=expect)
        if action == "gone" and not self.again:
            return replace(todo, action=action)
        free = self.paths.another_path(path)
        why = "" if free == path == record.path else f"{record.path} is called {free} here"
        return replace(todo, action="add", path=free, raw=raw, why=why)

    def _is_id_decided_already(self, note: Note) -> bool:
        return bool(ULID.match(note.id)) and note.id.upper() in self._paths_by_id

    def _version_to_decide_on(
        self, note: Note | None, path: str, known: KnownRecord | None
    ) -> str | None:
        """Where this file is in the vault already: by its id, by what was imported, by name."""
        if note is not None and self._is_id_decided_already(note):
            owner = self._paths_by_id[note.id.upper()]
            if (known_note := self._note_to_decide_on(owner)) and not self._view.is_visible(
                known_note
            ):
                raise UnfitRecord("it belongs to another user or project")
            return owner
        if known and (
            known.path in self._known_notes or self._file_to_decide_on(known.path) is not None
        ):
            return known.path
        if known and (moved := self._paths_by_version.get(known.version)):
            return moved
        return path if self._file_to_decide_on(path) is not None else None

    def _twin_path_to_decide_on(self, raw: bytes, path: str) -> str:
        """A file with these bytes under this name, or under the numbered names that follow."""
        stem, ending = posixpath.splitext(path)
        for number in range(1, _TWINS):
            place = path if number == 1 else f"{stem} {number}{ending}"
            found = self._file_to_decide_on(place)
            if found is None and number > 1:
                return ""
            if found == raw:
                return place
        return ""

    def _bytes_fit_for_decision(self, raw: bytes) -> bytes:
        """A note as a program may write it: not what is private, nor bytes that are no text."""
        said = printable(without_private(raw.decode("utf-8", "surrogateescape")))
        return self.cleaning.input.redact_text(said).encode()

    def _file_to_decide_on(self, path: str) -> bytes | None:
        try:
            if path.lower().endswith(".md"):
                return self._view.store.read(path).raw
            return self._view.store.paths.locate(path).read_bytes()
        except (VaultmemError, OSError):
            return None

    @cached_property
    def _known_notes(self) -> Mapping[str, KnownNote]:
        return self._view.index.inventory.known()

    @cached_property
    def _paths_by_id(self) -> dict[str, str]:
        return {each.id.upper(): path for path, each in self._known_notes.items() if each.id}

    @cached_property
    def _paths_by_version(self) -> dict[str, str]:
        return {each.version: path for path, each in self._known_notes.items()}


def missing_in_note(record: EntityRecord, note: Note) -> list[NoteEdit]:
    """What the note does not say yet of the entity."""
    body = f"\n{with_unix_line_ends(note.body)}\n"
    said = [drafts.observation_line(each) for each in record.observations]
    new = [each for each in said if f"\n{each}\n" not in body]
    held = set(map(_fact_identity, note.facts))
    facts = [drafts.fact_line(f) for f in record.facts if _fact_identity(f) not in held]
    sections = ((drafts.OBSERVATIONS, new), (drafts.FACTS, facts))
    return [AppendToSection(name, "\n".join(lines)) for name, lines in sections if lines]


def _fact_identity(fact: Fact) -> tuple[str, str, str]:
    return relation_key(fact.predicate), link_key(fact.object), fact.valid_from
