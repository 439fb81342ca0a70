"""Memories by key: how systems that know nothing but keys, texts and tags look at a vault.

Such a system keeps entries under keys of its own. Here they are ordinary memories with a `key`;
those that were stored without one go by their id, and what people wrote goes by its path, so that
everything can be reached (`reach`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.base.database import Database
from vaultmem.base.words import PLAIN_WORD
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.limits import COUNT, WORD, Whole, bounded
from vaultmem.notes.attributes import MEMORY_TYPES
from vaultmem.notes.tags import as_tags
from vaultmem.operations.input import plain_key
from vaultmem.operations.references import ULID, is_id_of_ours
from vaultmem.operations.results import (
    Remembered,
    TagCount,
    Tags,
    Updated,
    content_of,
    row_moment,
)
from vaultmem.surfaces.dialects.entry_keys import EntryKeys
from vaultmem.surfaces.dialects.reach import (
    ENTITY,
    JOURNAL,
    KEYED_TYPES,
    ReachedText,
    is_page_of_ours,
    note_of_part,
    require_a_memory,
    texts_of_note,
)

if TYPE_CHECKING:
    import numpy as np

    from vaultmem.index import CatalogRow, Filters
    from vaultmem.vault import Vault

LASTING: Final = ("user", "project")
_FEW: Final = 20  # entries of which each may be asked for
_MANY: Final = 2_000  # entries; of more, only those that the index proposes are read
_PROPOSED: Final = 1_000
_NEWEST: Final = 500
_LARGEST_VECTOR: Final = 65_536  # numbers in a vector
_VECTORS_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS given "
    "(memory TEXT PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL)"
)
_WORDS_SHARE, _MEANING_SHARE = 0.4, 0.6


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
        rows = self._entry_rows(scopes)
        several = [row for row in rows if row.type not in MEMORY_TYPES]
        parts = list(self._read_entries(several))  # each of these has a time of its own
        listed: list[tuple[dt.datetime, str, CatalogRow | KeyedEntry]] = [
            *((row_moment(row), row.id, row) for row in rows if row.type in MEMORY_TYPES),
            *((part.created_at, part.id, part) for part in parts),
        ]
        listed.sort(key=lambda each: each[:2], reverse=not oldest_first)
        page = [each for _, _, each in listed[offset : offset + limit]]
        return tuple(
            entry
            for each in page
            for entry in ([each] if isinstance(each, KeyedEntry) else self._read_entries([each]))
        )

    @bounded()
    def keyed_entry(self, key: str, *, scopes: Sequence[str] = LASTING) -> KeyedEntry:
        row = self._entry_row(key, scopes)
        read = list(self._read_entries([row]))
        if found := [entry for entry in read if plain_key(key) in (entry.key, entry.id)] or read:
            return found[0]
        raise NotFound(f"There is no memory with the key {key!r}.")

    def forgettable_entry(self, key: str) -> KeyedEntry:
        """An entry that a system may delete: a memory that an agent stored."""
        entry = self.keyed_entry(key)
        require_a_memory(entry.path, entry.id, is_part=entry.is_part)
        return entry

    def entry_tags(self) -> Tags:
        """Every tag of the lasting memories, with how many have it."""
        filters = self._view.filters(scope=LASTING, type=KEYED_TYPES)
        lacks = self._view.gaps.warnings()
        found, _ = self._view.gaps.tags(filters)
        return Tags(tuple(TagCount(*pair) for pair in found), warnings=lacks)

    @bounded()
    def entries_containing(self, query: str, *, tag: str | None = None, limit: int = 5) -> Matches:
        """Memories by how many of the words occur in them, as they stand; with a tag also
        those that have no more than the tag."""
        rows = self._near_entry_rows(query, self._entry_rows(LASTING, [tag] if tag else ()))
        words = [word for word in query.lower().split() if len(word) > 1]
        entries = self._read_entries(rows)
        if tag:
            wanted = {folded.casefold() for folded in as_tags([tag])}
            entries = (e for e in entries if wanted <= {each.casefold() for each in e.tags})
        said = (
            (entry, f"{entry.title} {entry.content} {' '.join(entry.tags)}".lower())
            for entry in entries
        )
        found = [Match(entry, sum(word in text for word in words)) for entry, text in said]
        kept = [match for match in found if match.score or tag]
        kept.sort(key=lambda match: -match.score)
        return Matches(tuple(kept[:limit]), len(rows))

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
        rows = self._entry_rows(scopes, tags)
        entries = list(self._read_entries(self._near_entry_rows(query, rows)))
        if query.strip() in ("", "*"):
            words = dict.fromkeys(range(len(entries)), 0.0 if vector else 1.0)
        else:
            texts = [(f"{e.key} {e.title}", e.content, " ".join(e.tags)) for e in entries]
            words = word_scores(query, texts)
        near = self._entry_nearness(entries, vector) if vector else {}
        found = [
            Match(entry, _blended_entry_score(words.get(i), near.get(i)))
            for i, entry in enumerate(entries)
            if i in words or near.get(i, 0.0) > 0
        ]
        found.sort(key=lambda match: -match.score)
        return Matches(tuple(found[:limit]), len(rows))

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
        done: Remembered | Updated
        if scope != "session" and (keyless := self._keyless_entry(plain_key(key))):
            done = self._replace_keyless(keyless, content, as_tags(tags))
        else:
            done = self._vault.remember(
                content, key=key, scope=scope, tags=as_tags(tags), keys_alone=True
            )
        if scope != "session" and vector:
            content = content_of(self._view.store.note(done.path))
            with closing(self._entry_vectors()) as vectors:
                vectors.keep_vector(done.memory_id, _entry_hash(content), vector)
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

    # --- rows ----------------------------------------------------------------------------

    def _entry_filters(self, scopes: Iterable[str]) -> Iterator[Filters]:
        self._view.gaps.warnings()
        for scope in scopes:
            if scope != "session" or self._view.caller.session:
                types = MEMORY_TYPES if scope == "session" else KEYED_TYPES
                yield self._view.filters(scope=scope, type=types)

    def _entry_rows(self, scopes: Iterable[str], tags: Iterable[str] = ()) -> list[CatalogRow]:
        """Newest first."""
        wanted = {tag.casefold() for tag in as_tags(tags)}
        rows: list[CatalogRow] = []
        for filters in self._entry_filters(scopes):
            rows += self._view.gaps.select(filters, "created")[0]
        kept = [
            row
            for row in rows
            if wanted <= {tag.casefold() for tag in row.tags} and not is_page_of_ours(row.version)
        ]
        return sorted(kept, key=lambda row: (row_moment(row), row.id), reverse=True)

    def _entry_row(self, key: str, scopes: Sequence[str]) -> CatalogRow:
        key = plain_key(key)
        if named := self._keys.rows_with_key(key, self._entry_filters(scopes)):
            return named[0]
        names = {key, note_of_part(key) or key}
        if LASTING[0] in scopes and (seen := self._vault.observation(key)):
            names.add(seen.path)
        for row in self._entry_rows(scopes):
            if not names.isdisjoint((row.id, row.path)):
                return row
        raise NotFound(f"There is no memory with the key {key!r}.")

    def _near_entry_rows(self, query: str, rows: list[CatalogRow]) -> list[CatalogRow]:
        """Of very many, those that the index finds and the newest."""
        if len(rows) <= _MANY:
            return rows
        memories, ask = self._view.filters(type=MEMORY_TYPES), self._view.parts.recall.ask
        found = ask(query, strategy="keyword", filters=memories, limit=_PROPOSED, floor=False)
        proposed = {hit.row.path for hit in found.hits}
        return [row for i, row in enumerate(rows) if i < _NEWEST or row.path in proposed]

    def _read_entries(self, rows: Iterable[CatalogRow]) -> Iterator[KeyedEntry]:
        rows = list(rows)
        if len(rows) > _FEW:
            self._keys.know_holders(self._entry_rows(LASTING))
        for row in rows:
            for text in texts_of_note(self._view, row, self._keys.key_of(row)):
                yield _entry_of_text(row, text)

    # --- vectors that the caller gave ----------------------------------------------------

    def _entry_vectors(self) -> GivenVectors:
        return GivenVectors(self._view.store.local() / "given-vectors.db")

    def _entry_nearness(
        self, entries: Sequence[KeyedEntry], vector: Sequence[float]
    ) -> dict[int, float]:
        """How near each entry is to the query; none where it has no vector of that length."""
        with closing(self._entry_vectors()) as vectors:
            known = vectors.nearness_to(vector, {e.id: _entry_hash(e.content) for e in entries})
        return {i: known[e.id] for i, e in enumerate(entries) if e.id in known}


def _entry_of_text(row: CatalogRow, text: ReachedText) -> KeyedEntry:
    last = row.updated if row.updated is not None and not text.is_part else None
    changed = text.made if last is None else dt.datetime.fromtimestamp(last, dt.UTC)
    return KeyedEntry(
        id=text.key if text.is_part else row.id or row.path,
        key=text.key,
        content=text.content,
        tags=text.tags,
        scope=row.scope,
        created_at=text.made,
        updated_at=changed,
        path=row.path,
        title=text.title,
        is_part=text.is_part or row.type in (JOURNAL, ENTITY),
    )


def _entry_hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()[:16]


def _blended_entry_score(words: float | None, near: float | None) -> float:
    if near is None:
        return words or 0.0
    return _WORDS_SHARE * (words or 0.0) + _MEANING_SHARE * near


# --- words -----------------------------------------------------------------------------------


def word_scores(query: str, texts: Sequence[tuple[str, str, str]]) -> dict[int, float]:
    """The texts that match, each with its share (0 to 1) of the best score.

    The query is FTS5's; what FTS5 cannot read, or what only matches in part, is taken word by
    word, and counts by how many of its words are there.
    """
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(key, content, tags, tokenize=porter)")
        rows = ((i, *text) for i, text in enumerate(texts))
        db.executemany("INSERT INTO t(rowid, key, content, tags) VALUES (?,?,?,?)", rows)
        found = _entry_word_matches(db, query)
        if found:
            return _entry_score_shares(found)
        plain = re.search(r'"|\b(?:AND|NOT|NEAR)\b', query) is None  # asks not for all or none
        return _partial_entry_matches(db, query) if found is None or plain else {}
    finally:
        db.close()


def _entry_word_matches(db: sqlite3.Connection, query: str) -> dict[int, float] | None:
    """What matches; None when it is no query."""
    sql = "SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?"
    try:
        return dict(db.execute(sql, (query.replace("\0", " "),)).fetchall())
    except sqlite3.OperationalError:
        return None


def _entry_score_shares(scores: dict[int, float]) -> dict[int, float]:
    best = max(scores.values(), default=0.0)
    return {i: max(0.0, score / best) if best > 0 else 1.0 for i, score in scores.items()}


def _partial_entry_matches(db: sqlite3.Connection, query: str) -> dict[int, float]:
    words = list(dict.fromkeys(f'"{word.lower()}"' for word in PLAIN_WORD.findall(query)))[:100]
    scores = _entry_word_matches(db, " OR ".join(words)) or {}
    having = [_entry_word_matches(db, word) or {} for word in words]
    shares = {i: sum(i in each for each in having) / len(words) for i in scores}
    return {i: score * shares[i] for i, score in _entry_score_shares(scores).items()}


# --- vectors ---------------------------------------------------------------------------------


class GivenVectors(Database):
    """Vectors that callers computed themselves: this machine's own state, beside the notes.

    A vector belongs to one text. When a person changes the note, it no longer counts.
    """

    begins_with = _VECTORS_SCHEMA

    def keep_vector(self, memory: str, text: bytes, vector: Sequence[float]) -> None:
        data = _entry_vector_array(vector).astype("<f4").tobytes()
        self.db.execute("INSERT OR REPLACE INTO given VALUES (?, ?, ?)", (memory, text, data))

    def nearness_to(self, vector: Sequence[float], texts: Mapping[str, bytes]) -> dict[str, float]:
        """The cosine, 0 where it is negative, of those whose vector is as long and whose text
        is still the one that the vector was given for."""
        import numpy as np

        wanted = _entry_vector_array(vector)
        found: dict[str, float] = {}
        for memory, text, data in self.db.execute("SELECT memory, text, vector FROM given"):
            if texts.get(memory) != text or len(data) != 4 * len(wanted):
                continue
            known = np.frombuffer(data, "<f4").astype(np.float64)
            size = float(np.linalg.norm(known) * np.linalg.norm(wanted))
            cosine = float(known @ wanted) / size if size else 0.0
            found[memory] = min(1.0, max(0.0, cosine))
        return found


def _entry_vector_array(vector: Sequence[float]) -> np.ndarray:
    import numpy as np

    array = np.array(vector, np.float64)
    most = float(np.finfo(np.float32).max)
    if not 0 < len(array) <= _LARGEST_VECTOR or not (np.abs(array) <= most).all():
        raise InvalidInput(f"An embedding is a list of 1 to {_LARGEST_VECTOR} finite numbers.")
    return array
