"""Memories by key: how systems that know nothing but keys, texts and tags look at a vault.

Such a system keeps entries under keys of its own. Here they are ordinary memories with a `key`;
those that were stored without one go by their id, and what people wrote goes by its path, so that
everything can be reached (`reach`).
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.errors import InvalidInput, NotFound
from vaultmem.limits import COUNT, WORD, Whole, bounded
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.tags import as_tags
from vaultmem.operations.exact.exact_search import ExactHit, ExactHits, ExactSearch
from vaultmem.operations.exact.told_texts import ENTITY, JOURNAL, TEXT_TYPES, note_of_part
from vaultmem.operations.input import plain_key
from vaultmem.operations.references import ULID, is_id_of_ours
from vaultmem.operations.results import Remembered, TagCount, Tags, Updated
from vaultmem.surfaces.dialects.entry_keys import EntryKeys
from vaultmem.surfaces.dialects.reach import require_a_memory, versions_of_pages

if TYPE_CHECKING:
    from vaultmem.index import CatalogRow, Filters
    from vaultmem.operations.exact.told_texts import ToldText
    from vaultmem.vault import Vault

log = logging.getLogger("vaultmem")

LASTING: Final = ("user", "project")
_PAUSE_SECONDS: Final = 2.0  # between two looks at whether the index is whole


@dataclass(frozen=True, slots=True)
class KeyedEntry:
    id: str
    key: str
    content: str
    tags: tuple[str, ...]
    scope: str
    created_at: dt.datetime
    updated_at: dt.datetime
    path: str
    title: str = ""  # of a note whose text may not say what it is about
    is_part: bool = False  # of a note


@dataclass(frozen=True, slots=True)
class Match:
    entry: KeyedEntry
    score: float


@dataclass(frozen=True, slots=True)
class Matches:
    found: tuple[Match, ...]  # best first
    searched: int


class KeyedEntries:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._view = vault.view
        self._exact = ExactSearch(vault.view, versions_of_pages())
        self._keys = EntryKeys(vault.view, lambda: self._entry_filters(LASTING))

    @bounded(limit=Whole(1, 1_000_000))
    def keyed_entries(
        self,
        *,
        scopes: Sequence[str] = LASTING,
        limit: int = 1_000_000,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> tuple[KeyedEntry, ...]:
        """A page of the memories, newest first."""
        filters = self._entry_filters(scopes)
        found = self._exact.page(filters, limit=limit, offset=offset, oldest_first=oldest_first)
        return tuple(map(self._read_entry, found))

    @bounded()
    def keyed_entry(self, key: str, *, scopes: Sequence[str] = LASTING) -> KeyedEntry:
        key, filters = plain_key(key), self._entry_filters(scopes)
        for row in self._keys.rows_with_key(key, filters)[:1]:
            if told := self._exact.told(row, ""):
                return self._entry_of_text(row, told)
        names = [key]
        if LASTING[0] in scopes and (seen := self._vault.observation(key)):
            names.append(seen.id)
        for name in names:
            for hit in self._exact.named(name, filters):
                return self._read_entry(hit)
        raise NotFound(f"There is no memory with the key {key!r}.")

    def forgettable_entry(self, key: str) -> KeyedEntry:
        """An entry that a system may delete: a memory that an agent stored."""
        entry = self.keyed_entry(key)
        require_a_memory(entry.path, entry.id, is_part=entry.is_part)
        return entry

    def entry_tags(self) -> Tags:
        """Every tag of the lasting memories, with how many have it."""
        filters = self._view.filters(scope=LASTING, type=TEXT_TYPES)
        lacks = self._view.gaps.warnings()
        found, _ = self._view.gaps.tags(filters)
        return Tags(tuple(TagCount(*pair) for pair in found), warnings=lacks)

    @bounded()
    def entries_containing(self, query: str, *, tag: str | None = None, limit: int = 5) -> Matches:
        """Memories by how many of the words occur in them, as they stand; with a tag also
        those that have no more than the tag."""
        words = [word for word in query.lower().split() if len(word) > 1]
        tags = as_tags([tag]) if tag else []
        if tag and not tags:
            return Matches((), 0)
        filters = self._entry_filters(LASTING)
        found = self._exact.by_parts(words, filters, tag="".join(tags), limit=limit)
        return self._entry_matches(found)

    @bounded(limit=COUNT)
    def entries_matching(
        self,
        query: str,
        *,
        scopes: Sequence[str] = LASTING,
        tags: Sequence[str] = (),
        vector: Sequence[float] = (),
        limit: int = 10,
    ) -> Matches:
        """Memories by their words (BM25, in the query language of SQLite's FTS5); where the
        caller gave vectors for them and for the query, by 0.4 words and 0.6 meaning."""
        found = self._exact.by_words(
            query, self._entry_filters(scopes), tags=as_tags(tags), vector=vector, limit=limit
        )
        return self._entry_matches(found)

    def _entry_matches(self, hits: ExactHits) -> Matches:
        found = tuple(Match(self._read_entry(hit), hit.score) for hit in hits.found)
        return Matches(found, hits.searched)

    # --- writing -------------------------------------------------------------------------

    @bounded(scope=WORD)
    def put_entry(
        self,
        key: str,
        content: str,
        *,
        scope: str = "user",
        tags: Sequence[str] = (),
        vector: Sequence[float] | None = None,
    ) -> Remembered | Updated:
        """Store under a key; what was last stored under this key is replaced, tags included."""
        if not plain_key(key):
            raise InvalidInput("A memory that is stored by its key needs one: the key is empty.")
        if vector is not None:
            self._exact.require_vector(vector)
        done: Remembered | Updated
        if scope != "session" and (keyless := self._keyless_entry(plain_key(key))):
            done = self._replace_keyless(keyless, content, as_tags(tags))
        else:
            done = self._vault.remember(
                content, key=key, scope=scope, tags=as_tags(tags), keys_alone=True
            )
        if scope != "session" and vector:
            self._exact.keep_vector(done.memory_id, done.path, vector)
        return done

    def _keyless_entry(self, key: str) -> KeyedEntry | None:
        """What goes by this key because it has none of its own: by its id, its path or its place."""
        if not (ULID.match(key) or "/" in key or key.endswith(".md") or note_of_part(key)):
            return None
        try:
            found = self.keyed_entry(key)
        except NotFound:
            return None
        return found if found.key == key and found.key in (found.id, found.path) else None

    def _replace_keyless(self, entry: KeyedEntry, content: str, tags: Sequence[str]) -> Updated:
        if entry.is_part or not is_id_of_ours(entry.id):
            raise InvalidInput(
                f"{entry.key} is what a part of the vault goes by that no agent stored under a "
                "key; choose another key."
            )
        gone = [tag for tag in entry.tags if tag not in tags]
        return self._vault.update(
            entry.id, content=content, add_tags=tags, remove_tags=gone, shown_whole=True
        )

    @bounded()
    def prune_entries(
        self,
        scopes: Sequence[str],
        *,
        key: str = "",
        older_than: str = "",
        tags: Sequence[str] = (),
    ) -> int:
        """Prune in several scopes; returns how many memories that were."""
        named, wanted = plain_key(key) or None, as_tags(tags)
        if named and set(scopes) & set(LASTING):
            return self._prune_entry(named, scopes)
        done = [
            self._vault.prune(scope, key=named, older_than=older_than or None, tags=wanted)
            for scope in scopes
        ]
        return sum(each.pruned_count for each in done)

    def _prune_entry(self, key: str, scopes: Sequence[str]) -> int:
        """One of the lasting entries with this key, and one of the session's; none is no error."""
        done = self._vault.prune("session", key=key).pruned_count if "session" in scopes else 0
        try:
            entry = self.forgettable_entry(key)
        except NotFound:
            return done
        self._vault.remove(entry.id)
        return done + 1

    # --- texts ---------------------------------------------------------------------------

    def _entry_filters(self, scopes: Sequence[str]) -> list[Filters]:
        own = [scope for scope in scopes if scope == "session" and self._view.caller.session]
        lasting = [scope for scope in scopes if scope != "session"]
        found = [self._view.filters(scope=lasting, type=TEXT_TYPES)]
        return found * bool(lasting) + [self._view.filters(scope=own, type=MEMORY_TYPES)] * len(own)

    def _read_entry(self, hit: ExactHit) -> KeyedEntry:
        return self._entry_of_text(hit.row, hit.told)

    def _entry_of_text(self, row: CatalogRow, told: ToldText) -> KeyedEntry:
        last = row.updated if row.updated is not None and not told.part else None
        changed = told.made if last is None else dt.datetime.fromtimestamp(last, dt.UTC)
        return KeyedEntry(
            id=told.part or row.id or row.path,
            key=told.part or self._keys.key_of(row),
            content=told.content,
            tags=told.tags,
            scope=row.scope,
            created_at=told.made,
            updated_at=changed,
            path=row.path,
            title=told.title,
            is_part=bool(told.part) or row.type in (JOURNAL, ENTITY),
        )


class EntryPreparation:
    """Reads all entries behind the first questions: with very many that takes a while."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def start(self, vault: Vault) -> None:
        prepare = ExactSearch(vault.view, versions_of_pages()).prepare
        threading.Thread(target=self._prepare, args=[prepare], name="entries", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _prepare(self, prepare: Callable[[], bool]) -> None:
        while not self._stopping.wait(_PAUSE_SECONDS):
            try:
                if prepare():
                    return
            except Exception as error:  # the edge of a thread; the next question says it
                log.debug("entries are not prepared: %s", error)
