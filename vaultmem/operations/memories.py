"""What one can do with memories: recall, read, list and change them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vaultmem import finding
from vaultmem.config import PROPERTIES
from vaultmem.curate import Curating
from vaultmem.desk import Written, require_share
from vaultmem.edit import (
    AddItems,
    Change,
    RemoveItems,
    RemoveProperty,
    ReplaceBody,
    SetProperty,
    edit,
)
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.finding import ULID
from vaultmem.hidden import without_private
from vaultmem.index import TROUBLE
from vaultmem.looking import Looking
from vaultmem.note import Note, version
from vaultmem.remember import EntityRef, entity_name
from vaultmem.session import Sessions
from vaultmem.views import (
    Gotten,
    Memory,
    Source,
    Tagged,
    Updated,
    identity,
    memory,
)

_MOST_IDS: Final = 100
_DURATION: Final = re.compile(r"(\d{1,5})\s*(h|d|w)(?:ours?|ays?|eeks?)?\Z", re.IGNORECASE)
_HOURS: Final = {"h": 1, "d": 24, "w": 168}


class Memories(Curating, Sessions, Looking):
    # --- looking -------------------------------------------------------------------------

    def get(self, ids: Sequence[str], *, counted: bool = True) -> Gotten:
        """Memories in full, by id, path, key or title; observations by their id.

        Not `counted` as used where they are read in answer to a question that counted them.
        """
        if len(ids) > _MOST_IDS:
            raise InvalidInput(f"Ask for at most {_MOST_IDS} memories at a time.")
        found: list[Memory] = []
        missing: list[str] = []
        for ref in ids:
            try:
                found.append(self._memory(ref))
            except NotFound:
                missing.append(ref)
        if counted:
            self._parts.usage.note((m.id for m in found), self.caller.session, question=False)
        return Gotten(tuple(found), tuple(missing))

    def _memory(self, ref: str) -> Memory:
        if ULID.match(finding.plain_ref(ref)) and (seen := self._observed(finding.plain_ref(ref))):
            return seen
        note = self._note(ref)
        stamp = self.store.stat(note.path)
        used = self._parts.usage.of([identity(note)]).get(identity(note))
        count = used.count if used else 0
        return memory(note, self.settings, stamp.mtime_ns if stamp else 0, count)

    def _observed(self, ref: str) -> Memory | None:
        """An observation of a journal as a memory of its own."""
        try:
            seen = self.observation(ref)
        except TROUBLE:
            seen = None
        if seen is None:
            return None
        journal = memory(self.store.note(seen.path), self.settings, 0, 0)
        return replace(
            journal,
            id=seen.id,
            content=seen.content,
            type="episodic",
            tags=seen.tags,
            created_at=seen.time,
            updated_at=seen.time,
            kind=seen.type,
            block=seen.block,
            observations=None,
            facts=None,
        )

    def source(self, memory_id: str) -> Source:
        """A note as it is on disk, for an editor."""
        note = self._note(memory_id)
        return Source(identity(note), note.path, note.text, version(note.raw))

    # --- changing ------------------------------------------------------------------------

    def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        importance: float | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        add_entities: Sequence[EntityRef] = (),
        remove_entities: Sequence[str] = (),
        expected_version: str | None = None,
    ) -> Updated:
        """Change what is given and nothing else."""
        self._require_writable()
        note = self._note(memory_id)
        fields: dict[str, Sequence[Change]] = {
            "content": self._new_content(note, content),
            "importance": _new_importance(importance),
            "tags": self._new_tags(note, add_tags, remove_tags),
            "metadata": self._new_metadata(note, metadata or {}),
            "related_entities": self._new_entities(note, add_entities, remove_entities),
        }
        given = {name: changes for name, changes in fields.items() if changes}
        if not given:
            raise InvalidInput(
                "Nothing to change was given; give content, importance, tags, metadata or "
                "related_entities."
            )
        changes = [change for some in given.values() for change in some]
        written = self._edited(note, "update", *changes, expect=expected_version)
        self._ensure_entities(add_entities)
        changed = _changed(note, written, given)
        searchable = self._searchable(written) if changed else "text"
        return Updated(
            memory_id=identity(note),
            path=written.path,
            updated_fields=changed,
            re_embedded="content" in changed and searchable == "now",
            version=written.version,
            warnings=(
                *((written.behind,) if written.behind else ()),
                *self._redactions(content or "", self._clean(content or "")),
            ),
        )

    def rewrite(self, memory_id: str, text: str, expected_version: str) -> Updated:
        """A note's whole text, as a person left it in an editor."""
        note = self._note(memory_id)
        raw = text.encode("utf-8", "surrogateescape")
        written = self._rewrite(note, "edit", lambda current: raw, expected_version)
        fields = ("content",) if written.version != version(note.raw) else ()
        return Updated(identity(note), written.path, fields, False, written.version)

    def _new_content(self, note: Note, content: str | None) -> Sequence[Change]:
        if content is None:
            return ()
        if without_private(note.body) != note.body:
            raise InvalidInput(
                f"{note.path} has private passages, which a new content would delete. "
                "Its owner can change the text in the note itself."
            )
        return (ReplaceBody(self._content(content) + "\n"),)

    def _new_tags(self, note: Note, add: Sequence[str], remove: Sequence[str]) -> Sequence[Change]:
        changes: list[Change] = []
        if remove:
            changes.append(RemoveItems("tags", tuple(tag.lstrip("#") for tag in remove)))
        if new := tuple(self._tags(add)):
            changes.append(AddItems("tags", new))
        return changes

    def _new_metadata(self, note: Note, metadata: Mapping[str, Any]) -> Sequence[Change]:
        changes: list[Change] = []
        for given, value in metadata.items():
            name = self._line(given, "A property's name", 100)
            if name.casefold() in (*PROPERTIES, "tag", "alias"):
                raise InvalidInput(
                    f"{name!r} is one of vaultmem's own properties; it is changed by its own "
                    "argument or tool, not by metadata."
                )
            if value is not None:
                changes.append(SetProperty(name, self._plain_value(name, value)))
            elif note.key_of(name) is not None:
                changes.append(RemoveProperty(name))
        return changes

    def _plain_value(self, name: str, value: Any) -> Any:
        items = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(item, (Mapping, list, tuple)) for item in items):
            raise InvalidInput(
                f"The property {name!r} cannot hold an object or a list of lists; properties "
                "are texts, numbers, true or false, or lists of those."
            )
        clean = [
            self._clean(i, f"The property {name!r}") if isinstance(i, str) else i for i in items
        ]
        return clean if items is value else clean[0]

    def _new_entities(
        self, note: Note, add: Sequence[EntityRef], remove: Sequence[str]
    ) -> Sequence[Change]:
        changes: list[Change] = []
        for gone in map(entity_name, remove):
            for name, value in note.properties.items():
                held = [i for i in value if _links_to(i, gone)] if isinstance(value, list) else []
                if held:
                    changes.append(RemoveItems(name, tuple(held)))
        edges = self._edges(add)
        return [*changes, *(AddItems(name, tuple(items)) for name, items in edges.items())]  # type: ignore[arg-type]

    def tag(
        self,
        memory_id: str,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        expected_version: str | None = None,
    ) -> Tagged:
        if not add and not remove:
            raise InvalidInput("Say which tags to add or to remove.")
        note = self._note(memory_id)
        changes = self._new_tags(note, add, remove)
        written = self._edited(note, "tag", *changes, expect=expected_version)
        after = self.store.parse(written)
        return Tagged(identity(note), written.path, after.tags, written.version)


def _new_importance(importance: float | None) -> Sequence[Change]:
    if importance is None:
        return ()
    require_share(importance, "importance")
    return (SetProperty("importance", importance),)


def _changed(
    note: Note, written: Written, given: Mapping[str, Sequence[Change]]
) -> tuple[str, ...]:
    """Which of the given fields made a difference."""
    if written.version == version(note.raw):
        return ()
    return tuple(name for name, changes in given.items() if edit(note, *changes) != note.raw)


def _links_to(item: Any, name: str) -> bool:
    return (
        isinstance(item, str) and item.strip("[]").partition("|")[0].casefold() == name.casefold()
    )
