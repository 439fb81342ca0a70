"""Knowledge graphs of other systems, gathered by entity: ours has a note for each."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from vaultmem.notes.file_names import name_key, safe_name
from vaultmem.notes.links import as_link, relation_key
from vaultmem.notes.markdown import Fact
from vaultmem.transfer.sources.opening import MOST_HELD, too_much_to_read
from vaultmem.transfer.sources.records import EntityRecord, record_digest

_NO_PREDICATE: Final = re.compile(r"[^\w-]+")
_OWN: Final = 100  # characters' worth of memory that each text takes besides


@dataclass
class _GatheredEntity:
    name: str
    kind: str = ""
    created: dt.datetime | None = None
    observations: dict[str, None] = field(default_factory=dict)
    facts: dict[tuple[str, ...], Fact] = field(default_factory=dict)


class GatheredEntities:
    """Entities in the order in which they were first named. Names that differ only in case
    are one: they would be one file on some machine, and one name in links."""

    def __init__(self, name: str = "The graph") -> None:
        self._name = name
        self._held = 0  # characters
        self._known: dict[str, _GatheredEntity] = {}
        self.joined: dict[str, str] = {}  # another spelling -> the first

    def add_entity(self, name: str, kind: str = "", created: dt.datetime | None = None) -> bool:
        """Whether the name is one."""
        plain = one_line_name(name)
        if not plain:
            return False
        self._hold_entity_text(plain)
        found = self._known.setdefault(name_key(safe_name(plain)), _GatheredEntity(plain))
        if found.name != plain:
            self.joined[plain] = found.name
        found.kind = found.kind or one_line_name(kind)[:100]
        found.created = found.created or created
        return True

    def add_observation(self, name: str, said: str) -> None:
        if said.strip() and self.add_entity(name):
            self._hold_entity_text(said)
            self._entity_named(name).observations[said.strip()] = None

    def add_relation(
        self,
        name: str,
        predicate: str,
        other: str,
        *,
        since: str = "",
        until: str = "",
        confidence: float | None = None,
        provenance: str = "",
        linked: bool = True,
    ) -> bool:
        """A fact about an entity; with another entity, or else with a text."""
        target = one_line_name(other)
        if not one_line_name(name) or not target:
            return False
        self.add_entity(name)
        self._hold_entity_text(target)
        said = (as_link(safe_name(target)) if linked else "") or target
        word = predicate_name(predicate)
        identity = (relation_key(word), name_key(said), since, until)
        block = f"f-{record_digest(name_key(one_line_name(name)), *identity)[:8]}"
        fact = Fact(word, said, since, until, confidence, one_line_name(provenance)[:200], block)
        self._entity_named(name).facts.setdefault(identity, fact)
        return True

    def _hold_entity_text(self, text: str) -> None:
        """They are written when all of it was read, since more may be said of each."""
        self._held += len(text) + _OWN
        if self._held > MOST_HELD:
            raise too_much_to_read(self._name)

    def _entity_named(self, name: str) -> _GatheredEntity:
        return self._known[name_key(safe_name(one_line_name(name)))]

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[EntityRecord]:
        for each in self._known.values():
            observations, facts = tuple(each.observations), tuple(each.facts.values())
            yield EntityRecord(each.name, each.kind, observations, facts, created=each.created)

    def entity_remarks(self) -> Iterator[str]:
        for other, first in self.joined.items():
            yield f"{other!r} and {first!r} are one name in a vault; they became one note."


def one_line_name(text: str) -> str:
    return " ".join(text.split())


def predicate_name(text: str) -> str:
    """One plain name of letters, digits, _ and -: `works at` is works_at."""
    plain = _NO_PREDICATE.sub("_", text.strip()).strip("_-")[:64]
    return plain if plain.strip("_-0123456789") else "related_to"
