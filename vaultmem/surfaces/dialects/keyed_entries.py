"""Memories by key: how systems that know nothing but keys, texts and tags look at a vault.

Such a system keeps entries under keys of its own. Here they are ordinary memories with a `key`;
those that were stored without one go by their id, so that every memory can be reached.
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
from vaultmem.operations.exact_search import shown_text
from vaultmem.operations.input import plain_key
from vaultmem.operations.results import Remembered, TagCount, Tags, row_moment

if TYPE_CHECKING:
    from vaultmem.index import CatalogRow, Filters
    from vaultmem.operations.exact_search import ExactHits
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
        rows = self._vault.exact.page(
            filters, limit=limit, offset=offset, oldest_first=oldest_first
        )
        return tuple(entry for row in rows if (entry := self._read_entry(row)))

    @bounded()
    def keyed_entry(self, key: str, *, scopes: Sequence[str] = LASTING) -> KeyedEntry:
        entry = self._read_entry(self._entry_row(key, scopes))
        if entry is None:
            raise _no_such_entry(key)
        return entry

    def entry_tags(self) -> Tags:
        """Every tag of the lasting memories, with how many have it."""
        (filters,) = self._entry_filters(LASTING)
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
        found = self._vault.exact.by_parts(
            words, self._entry_filters(LASTING), tag="".join(tags), limit=limit
        )
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
        found = self._vault.exact.by_words(
            query, self._entry_filters(scopes), tags=as_tags(tags), vector=vector, limit=limit
        )
        return self._entry_matches(found)

    def _entry_matches(self, hits: ExactHits) -> Matches:
        read = ((self._read_entry(row), score) for row, score in hits.found)
        found = tuple(Match(entry, score) for entry, score in read if entry)
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
    ) -> Remembered:
        """Store under a key; what was last stored under this key is replaced, tags included."""
        if not plain_key(key):
            raise InvalidInput("A memory that is stored by its key needs one: the key is empty.")
        if vector is not None:
            self._vault.exact.require_vector(vector)
        done = self._vault.remember(
            content, key=key, scope=scope, tags=as_tags(tags), keys_alone=True
        )
        if scope != "session" and vector:
            self._vault.exact.keep_vector(done.memory_id, done.path, vector)
        return done

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
        done = [
            self._vault.prune(scope, key=named, older_than=older_than or None, tags=wanted)
            for scope in scopes
        ]
        return sum(each.pruned_count for each in done)

    # --- rows ----------------------------------------------------------------------------

    @property
    def _memories_folder(self) -> str:
        return str(self._view.settings["folders.memories"])

    def _entry_filters(self, scopes: Sequence[str]) -> list[Filters]:
        """Lasting memories are those in the folder for them: a person's other notes are no
        entries of such a system."""
        own = [scope for scope in scopes if scope == "session" and self._view.caller.session]
        lasting = [scope for scope in scopes if scope != "session"]
        folder = self._memories_folder
        found = [self._view.filters(scope=lasting, type=MEMORY_TYPES, folder=folder)]
        return found * bool(lasting) + [self._view.filters(scope=own, type=MEMORY_TYPES)] * len(own)

    def _entry_row(self, key: str, scopes: Sequence[str]) -> CatalogRow:
        key = plain_key(key)
        filters = self._entry_filters(scopes)
        self._view.gaps.warnings()
        named = [row for each in filters for row in self._view.gaps.with_key(key, each)]
        if not named:
            named = self._vault.exact.with_id(key, filters)
        own = [row for row in named if row.user.casefold() == self._view.caller.user.casefold()]
        if not named:
            raise _no_such_entry(key)
        return (own or named)[0]

    def _read_entry(self, row: CatalogRow) -> KeyedEntry | None:
        body = self._view.visible_body(row)
        if body is None:
            return None
        made = row_moment(row)
        seconds = row.updated if row.updated is not None else int(made.timestamp())
        return KeyedEntry(
            id=row.id or row.path,
            key=row.key or row.id or row.path,
            content=shown_text(body),
            tags=row.tags,
            scope=row.scope,
            created_at=made,
            updated_at=dt.datetime.fromtimestamp(seconds, dt.UTC),
            path=row.path,
        )


class EntryPreparation:
    """Reads all entries behind the first questions: with very many that takes a while."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def start(self, vault: Vault) -> None:
        args = (vault.exact.prepare,)
        threading.Thread(target=self._prepare, args=args, name="entries", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _prepare(self, prepare: Callable[[], bool]) -> None:
        while not self._stopping.wait(_PAUSE_SECONDS):
            try:
                if prepare():
                    return
            except Exception as error:  # the edge of a thread; the next question says it
                log.debug("entries are not prepared: %s", error)


def _no_such_entry(key: str) -> NotFound:
    return NotFound(f"There is no memory with the key {key!r}.")
