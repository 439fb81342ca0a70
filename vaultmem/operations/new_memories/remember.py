"""Remembering: a text becomes a note, and its entities links."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from vaultmem.config import PROPERTIES
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.index import INDEX_FAILURES
from vaultmem.limits import WORD, bounded
from vaultmem.notes.attributes import MEMORY_SCOPES, MEMORY_TYPES
from vaultmem.notes.edit import (
    AddItems,
    NoteEdit,
    RemoveItems,
    RemoveProperty,
    ReplaceBody,
    SetProperty,
    edited_note,
    note_from_nothing,
    stamped_note,
)
from vaultmem.notes.file_names import safe_name
from vaultmem.notes.frontmatter import WritableValue
from vaultmem.notes.naming.derived_titles import derived_title
from vaultmem.notes.naming.title_origin import new_id
from vaultmem.notes.note import Note, words_digest
from vaultmem.notes.tags import tag_key
from vaultmem.operations.facts import KnownFacts
from vaultmem.operations.input import (
    Input,
    now_utc,
    require_one_of,
    require_share,
    source_text,
)
from vaultmem.operations.new_memories.known_texts import KnownTexts, remembered_links
from vaultmem.operations.new_memories.proposals import Proposals
from vaultmem.operations.references import is_id_of_ours
from vaultmem.operations.results import Remembered, Similar, note_identity
from vaultmem.operations.view import View
from vaultmem.operations.writing import Writing, WritingGroup, Written
from vaultmem.recall.recall import query_words
from vaultmem.storage.local_state.authorship import same_words
from vaultmem.storage.paths import VOLATILE

if TYPE_CHECKING:
    from concurrent.futures import Future

log = logging.getLogger("vaultmem")

_RELATION: Final = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z")
_NO_NAME: Final = re.compile(r"[\[\]|#^\n\r]")
_SIMILAR: Final = 3
_ALIKE: Final = 0.5  # share of words in common that makes two texts similar
_NEAR: Final = (
    0.89  # similarity of meaning that does: paraphrases have .92, neighbours in topic .87
)

EntityRef = Mapping[str, str]

_MERGED: Final = (
    "merged: the note was changed by hand since it was last stored; those lines were kept, and "
    "get_memories shows how it reads now"
)


@dataclass(frozen=True, slots=True)
class Restatement:
    """A text that is stored under a key that is known."""

    text: str
    expected: str | None = None  # the version that the caller has read all of
    keys_alone: bool = False


class Remembering(WritingGroup):
    def __init__(self, view: View, writing: Writing, input: Input, facts: KnownFacts) -> None:
        super().__init__(view, writing, input)
        self._facts = facts
        self._known = KnownTexts(view, writing)
        self._proposals = Proposals(view, writing)

    @bounded(type=WORD, scope=WORD)
    def remember(
        self,
        content: str,
        *,
        type: str = "semantic",
        scope: str = "user",
        importance: float | None = None,
        confidence: float | None = None,
        tags: Sequence[str] = (),
        source: str | Mapping[str, Any] | None = None,
        related_entities: Sequence[EntityRef] = (),
        session_id: str | None = None,
        project: str | None = None,
        title: str | None = None,
        key: str | None = None,
        room: str | None = None,
        expected_version: str | None = None,
        keys_alone: bool = False,
        names_similar: bool = True,
    ) -> Remembered:
        """Store a new memory; with a key that is known, the memory with this key is updated.

        What the last store under the key wrote gives way to the new text. What a person wrote
        into the note stays; where both changed the same lines that is a conflict, unless the
        caller has read it all (`expected_version`). A system that knows `keys_alone` and could
        not go on from a conflict gets the lines of both, and replaces the tags it gave as well.
        """
        self._writing.require_writable()
        if expected_version and not key:
            raise InvalidInput("expected_version goes with a key: it says what is replaced.")
        require_one_of(type, MEMORY_TYPES, "type")
        require_one_of(scope, MEMORY_SCOPES, "scope")
        text = self.memory_text(content)
        caller = self._view.caller
        lines = self._input.property_lines(
            key=key,
            session_id=session_id or caller.session,
            project=project,
            room=room,
            source=source_text(source) or caller.client,
            title=title,
        )
        if scope == "session" and not lines["session_id"]:
            raise InvalidInput("A session memory needs a session: give session_id.")
        own = self._view.own_project(lines["project"])  # with none known, the vault itself
        values: dict[str, WritableValue] = {
            "key": lines["key"],
            "type": type,
            "scope": scope,
            "project": own if scope == "project" else lines["project"],
            "session": lines["session_id"],
            "user": caller.user,
            "room": lines["room"],
            "importance": _share_to_remember(importance, "importance"),
            "confidence": _share_to_remember(confidence, "confidence"),
            "tags": list(self._input.clean_tags(tags)),
            "source": lines["source"],
            **self.entity_link_lists(related_entities),
        }
        name = _title_to_remember(lines["title"]) or derived_title(text)
        given = "\n\n".join([content, title or "", *(e.get("name", "") for e in related_entities)])
        with contextlib.suppress(*INDEX_FAILURES):  # a note can be written without an index
            self._view.parts.catch_up()
        look = self._similar_to_remembered if names_similar else _nothing_similar
        similar = self._view.parts.aside.submit(look, text)  # it never raises
        words = words_digest(text)
        with self._writing.key_lock() if lines["key"] else self._writing.text_lock(words):
            if not lines["key"] and (same := self._known.find(text, words, values, lines["title"])):
                done = self._known.again(same, values, lines["title"], similar)
            elif known := self._remembered_under_key(values):
                stated = values if source else {**values, "source": ""}
                again = Restatement(text, expected_version, keys_alone)
                done = self._remember_again(known, again, stated, similar)
            elif expected_version:
                raise NotFound(f"There is no memory with the key {key!r} any more.")
            elif self._proposals.are_wanted(str(values["scope"]), str(values["project"] or "")):
                alike = tuple(similar.result()[:_SIMILAR])
                done = self._proposals.propose(name, text, values, alike)
            else:
                done = self._remember_new(name, title, text, values, related_entities, similar)
        return replace(
            done,
            warnings=(*done.warnings, *self._input.redaction_warnings(given, f"{text}\n\n{name}")),
        )

    # --- parts ---------------------------------------------------------------------------

    def memory_text(self, content: str) -> str:
        text = self._input.clean_text(content)
        if not text.strip():
            raise InvalidInput("There is nothing to remember: the content is empty.")
        return text

    def entity_link_lists(self, entities: Iterable[EntityRef]) -> dict[str, WritableValue]:
        """Links to entities, in a list under the relationship's name."""
        lists: dict[str, list[WritableValue]] = {}
        for entity in entities:
            name = entity_name(
                self._input.property_line(entity.get("name", ""), "An entity's name", 100)
            )
            relation = relation_name(
                self._input.property_line(entity.get("relationship", ""), "A relationship")
            )
            link = f"[[{name}]]"
            if link not in lists.setdefault(relation, []):
                lists[relation].append(link)
        return dict(lists)

    # --- writing -------------------------------------------------------------------------

    def _remember_new(
        self,
        name: str,
        title: str | None,
        text: str,
        values: dict[str, WritableValue],
        entities: Sequence[EntityRef],
        similar: Future[tuple[Similar, ...]],
    ) -> Remembered:
        values = {"id": new_id("" if title else name), **values, "created": now_utc()}
        if title and safe_name(name) != name:
            values["aliases"] = [name]
        home = [str(values[place] or "") for place in ("scope", "project", "session")]
        folder = self._writing.memory_folder(*home)
        written = self._writing.create_note(folder, name, values, text + "\n", as_author=True)
        if values["key"]:
            self._keep_remembered_text(
                written, str(values["id"]), text, cast(list[str], values["tags"])
            )
        self.ensure_typed_entities(entities)
        return self._remember_receipt(written, values, similar, created=True)

    def _remember_again(
        self,
        note: Note,
        words: Restatement,
        values: Mapping[str, WritableValue],
        similar: Future[tuple[Similar, ...]],
    ) -> Remembered:
        changes: list[NoteEdit] = []
        given = ("type", "importance", "confidence", "room", "source")
        new = [name for name in given if values[name] not in (None, "", note.get(name))]
        changes += [SetProperty(name, values[name]) for name in new]
        changes += [AddItems(name, tuple(items)) for name, items in remembered_links(values)]
        tags = cast(list[str], values["tags"] or [])
        if tags:
            changes.append(AddItems("tags", tuple(tags)))
        known, expected, merged = self._view.parts.authorship, words.expected, False
        if expected:
            self._writing.require_no_private_passages(note)
            self._writing.require_no_part_seen(note, expected)

        def change(current: Note) -> Note:
            nonlocal merged
            body, merged = self._remembered_body(current, words)
            taken = (
                _withdrawn_by_remembering(current, known.stored(current), tags)
                if words.keys_alone
                else ()
            )
            after = edited_note(current, ReplaceBody(body, as_it_is=True), *changes, *taken)
            return stamped_note(current, after, now_utc())

        written = self._writing.rewrite_note(note, "update", change, expected)
        identified = {**values, "id": note_identity(note)}
        done = self._remember_receipt(written, identified, similar, created=False)
        if not merged:
            self._writing.mark_seen_whole(written, as_author=True)
        self._keep_remembered_text(written, note.id, words.text, tags)
        return replace(done, warnings=(*done.warnings, *((_MERGED,) if merged else ())))

    def _remembered_body(self, note: Note, words: Restatement) -> tuple[str, bool]:
        """The body with the text that is stored anew, and whether lines of a person are in it."""
        from vaultmem.operations.new_memories import restatement  # seldom needed, and not light

        known = self._view.parts.authorship
        last = known.stored(note)
        text, body = words.text, note.body
        volatile = note.path.startswith(VOLATILE) and known.is_written(body)
        if words.expected or volatile or (last and same_words(last.body, body)):
            return restatement.restated_over(body, text), False
        if same_words(text, body):
            return body, False
        found = None
        if last is not None or words.keys_alone:
            old = last.body if last is not None else None
            found = restatement.merged_restatement(old, body, text, both=words.keys_alone)
        if found is None:
            said = f"{note.path} was changed by hand since it was last stored under this key."
            raise self._writing.unread_conflict(note, said, "store_memory")
        return found, True

    def _keep_remembered_text(
        self, written: Written, id: str, text: str, tags: Sequence[str]
    ) -> None:
        """Keep what this store wrote, so that the next one can tell it from a person's words."""
        if written.path.startswith(VOLATILE):  # it ends with its session, and so must its text
            return
        names = self._view.settings.properties
        kept: dict[str, WritableValue] = {"id": id, "tags": list(tags)}
        kept = {name: value for name, value in kept.items() if value}
        self._view.parts.authorship.store(note_from_nothing(kept, text, written.path, names))

    def _remember_receipt(
        self,
        written: Written,
        values: Mapping[str, WritableValue],
        similar: Future[tuple[Similar, ...]],
        *,
        created: bool,
    ) -> Remembered:
        searchable = self._writing.searchability(written)
        others = [each for each in similar.result() if each.path != written.path]
        return Remembered(
            memory_id=str(values["id"]),
            path=written.path,
            title=written.note.shown_title,
            type=str(values["type"]),
            scope=str(values["scope"]),
            version=written.version,
            embedding_generated=searchable == "now",
            graph_edges_created=sum(len(links) for _, links in remembered_links(values)),
            searchable=searchable,
            similar=tuple(others[:_SIMILAR]),
            created=created,
            status="created" if created else "updated",
            project=str(values["project"] or "") or None,
            warnings=(written.behind,) if written.behind else (),
        )

    def ensure_typed_entities(self, entities: Iterable[EntityRef]) -> None:
        typed = [entity for entity in entities if entity.get("type")]
        if not typed:
            return
        names = (
            self._input.property_line(entity["name"], "An entity's name", 100) for entity in typed
        )
        kinds = (entity["type"] for entity in typed)
        self._facts.ensure_entities(zip(map(entity_name, names), kinds, strict=True))

    # --- what is there already -----------------------------------------------------------

    def _remembered_under_key(self, values: Mapping[str, WritableValue]) -> Note | None:
        if not values["key"]:
            return None
        filters = self._view.filters(scope=str(values["scope"]), include_forgotten=True)
        for row in self._view.gaps.with_key(str(values["key"]), filters):
            same_home = row.project.casefold() == str(values["project"] or "").casefold()
            same_user = row.user.casefold() == self._view.caller.user.casefold()
            same_session = row.session == values["session"] or values["scope"] != "session"
            ours = is_id_of_ours(row.id)  # a person may have a property of that name
            if ours and same_home and same_user and same_session:
                note = self._view.store.note(row.path)
                if self._view.is_visible(note):
                    return note
        return None

    def _similar_to_remembered(self, text: str) -> tuple[Similar, ...]:
        """Memories that say nearly the same: the writer decides what to do about them. What is
        being written meanwhile may be among them."""
        strategy = "hybrid" if self._view.parts.loaded_embedder() else "keyword"
        try:
            found = self._view.parts.recall.ask(
                text[:1000],
                strategy=strategy,
                filters=self._view.filters(),
                limit=_SIMILAR + 3,
                floor=False,
            )
        except Exception as error:  # whatever it is: the note is or will be written
            log.debug("looking for similar memories failed: %s", error)
            return ()
        words = set(query_words(text[:2000]))
        alike = []
        for hit in found.hits:
            other = set(query_words(hit.passage))
            shared = len(words & other) / max(1, len(words | other))
            nearness = max((lane.score for lane in hit.lanes if lane.name == "vector"), default=0.0)
            if shared >= _ALIKE or nearness >= _NEAR:
                score = round(max(shared, nearness), 3)
                row = hit.row
                id_ = hit.block if hit.is_observation and hit.block else row.id or row.path
                alike.append(Similar(id_, row.title, row.path, score))
        return tuple(sorted(alike, key=lambda s: -s.relevance_score))


def _nothing_similar(text: str) -> tuple[Similar, ...]:
    """For who shows none of them."""
    return ()


def _title_to_remember(title: str) -> str:
    if "/" in title or "\\" in title:
        raise InvalidInput(
            f"{title!r} looks like a path; a title is a name. The note's place is chosen by "
            "its scope and project."
        )
    return title


def entity_name(name: str) -> str:
    name = _NO_NAME.sub(" ", name.strip().removeprefix("[[").removesuffix("]]")).strip()
    if not name:
        raise InvalidInput("An entity needs a name.")
    return safe_name(name)


def relation_name(relationship: str) -> str:
    """A property name for a relationship; what cannot be one is simply what a note is about."""
    name = re.sub(r"[\s-]+", "_", relationship.strip()).lower()
    return name if _RELATION.match(name) and name not in PROPERTIES else "about"


def _withdrawn_by_remembering(
    note: Note, last: Note | None, tags: Iterable[str]
) -> Iterator[NoteEdit]:
    """Tags of the last store that are no longer given, and the mark of being forgotten."""
    given = set(map(tag_key, tags))
    stored = set(map(tag_key, (last or note).strings("tags")))
    has = note.strings("tags")
    gone = tuple(tag for tag in has if tag_key(tag) in stored - given)
    if gone:
        yield RemoveItems("tags", gone)
    for name in ("forgotten", "forgotten_at", "forgotten_reason"):
        if note.key_of(name) is not None:
            yield RemoveProperty(name)


def _share_to_remember(value: float | None, name: str) -> float | None:
    if value is not None:
        require_share(value, name)
    return value
