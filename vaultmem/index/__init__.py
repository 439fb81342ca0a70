"""The one door to the index: apply changes, search, say what is known. It knows the engines,
nobody else does.

Writers take turns with a lock held for one batch. Readers never wait: they notice a new
revision and look again. Each store can be thrown away and made anew alone.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ulid_transform import ulid_now

from vaultmem import durable, lock
from vaultmem.errors import Unavailable
from vaultmem.index import fulltext
from vaultmem.index.catalog import Catalog, Entry, Known, Place, Row
from vaultmem.index.fulltext import Filters, FullText, TextHits
from vaultmem.index.lookup import Lookup, where
from vaultmem.index.trouble import TROUBLE, explained, is_damage
from vaultmem.store import FileStat

if TYPE_CHECKING:
    import numpy as np

    from vaultmem.index.journal import Journals
    from vaultmem.index.meaning import Meaning
    from vaultmem.index.relations import Relations

__all__ = [
    "TROUBLE",
    "Batch",
    "Entry",
    "Filters",
    "Index",
    "IndexStatus",
    "Known",
    "Place",
    "Row",
    "Signals",
    "TextHits",
]

LOCK_SECONDS: Final = 30.0
DAMAGED: Final = "damaged"
MANY_SELECTIONS: Final = 8
Stamp = tuple[str, str]
Skipped = tuple[tuple[str, str], ...]  # notes, and why they are not wholly searchable
_NOTHING: Final = ("", "")  # no catalog's stamp


@dataclass
class Batch:
    """Changes that become visible together. `put` is read once, and may fill the other lists."""

    paths: Sequence[str]  # every path that the batch may touch
    put: Iterable[Entry] = ()
    moved: dict[str, str] = field(default_factory=dict)  # new path -> old path, of some in `put`
    removed: Sequence[str] = ()
    touched: list[tuple[str, FileStat]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Signals:
    """What a memory's place may depend on beside the question."""

    importance: float | None
    changed: int  # seconds since the epoch


@dataclass(frozen=True)
class IndexStatus:
    revision: int
    notes: int
    passages: int
    embedded: int  # passages with a vector of the present model
    skipped: Skipped
    fulltext: str  # "ready" or what is wrong


class Index:
    def __init__(self, folder: Path, language: str = "english") -> None:
        self.folder = folder
        self.language = language
        self._catalog = Catalog(folder / "catalog.db")
        self._text: FullText | None = None
        self._text_trouble = ""
        self._seen = _NOTHING
        self._replaced = (_NOTHING, (frozenset[int](), frozenset[int]()))
        self._counts: tuple[Stamp, tuple[int, int, Skipped]] = (_NOTHING, (0, 0, ()))
        self._selections: tuple[Stamp, dict[Filters, tuple[list[int], bool]]] = (_NOTHING, {})
        self._guard = threading.RLock()
        self._open()

    # --- opening and closing -----------------------------------------------------------

    def _open(self) -> None:
        with durable.explained(f"Opening the index in {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._has_catalog():  # a reader does not wait for writers
                with self._writing():
                    self._open_catalog()
        self._look()

    def _open_catalog(self) -> None:
        if not self._has_catalog():
            self._discard_catalog()
            self._catalog.create(ulid_now())

    def _has_catalog(self) -> bool:
        try:
            if self._catalog.file.exists() and self._catalog.is_current():
                self._catalog.db.execute("SELECT 1 FROM note LIMIT 1")
                return True
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        return False

    def _discard_catalog(self) -> None:
        self._catalog.close()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self._catalog.file.with_name(self._catalog.file.name + suffix).unlink()
        for folder in self.folder.glob("fulltext-*"):
            fulltext.discard(folder)

    def recover(self) -> None:
        """Undo what a killed writer left half done, if any did."""
        if self._catalog.pending():
            with self._writing(), durable.explained("Repairing the index"):
                self._recover()

    def _recover(self) -> None:
        """Notes that were pending are taken out of the full text, to be indexed again."""
        pending = self._catalog.pending()
        text = self._open_text() if pending else None
        if text is not None:
            text.sweep()
            with text.writing(len(pending)) as writing:
                for path in pending:
                    writing.remove(path)
                writing.commit()
            with self._catalog.transaction():
                for path in pending:
                    self._catalog.touch(path, FileStat(0, -1, 0))
                self._catalog.finish()

    def _text_folder(self) -> Path:
        """Named by what it holds and for which catalog: any other content is another folder."""
        stamp = FullText.stamp(self.language)
        return self.folder / f"fulltext-{stamp}-{self._catalog.meta('uuid')}"

    def _open_text(self) -> FullText | None:
        folder = self._text_folder()
        try:
            return FullText(folder, self.language)
        except (ValueError, OSError) as error:
            self._text_trouble = f"The full text is damaged and will be rebuilt: {error}"
            return None

    def close(self) -> None:
        self._catalog.close()
        if "_meaning" in self.__dict__:
            self._meaning.close()

    @contextlib.contextmanager
    def _writing(self, timeout: float = LOCK_SECONDS) -> Iterator[None]:
        with lock.held(self.folder / "index.lock", timeout=timeout, what="updating the index"):
            yield

    # --- noticing what others did --------------------------------------------------------

    def _look(self) -> None:
        """Reload the full text when another revision is there, or another catalog."""
        if not self._catalog.is_on_disk():
            self._reopen()
        seen = self._catalog.stamp()
        if seen == self._seen and self._text is not None:
            return
        with self._guard:
            if self._text is None or self._text.folder != self._text_folder():
                self._text = self._open_text()
            else:
                self._text.reload()
            self._seen = seen

    def _reopen(self) -> None:
        """The files were deleted or put in place anew under us: begin again with what is there."""
        with self._guard:
            self.close()
            self._text = None
            self._seen = _NOTHING
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._writing():
                self._open_catalog()

    @property
    def revision(self) -> int:
        return self._catalog.revision

    @property
    def size(self) -> int:
        """How many notes are indexed."""
        return self._catalog.count("note")

    @property
    def needs_rebuild(self) -> bool:
        """The full text is missing or damaged while the catalog says it is there."""
        self._look_quietly()
        if self._text is None or self._catalog.meta("fulltext") == DAMAGED:
            return True
        return self._text.documents == 0 and self._catalog.count("note") > 0

    def _look_quietly(self) -> None:
        with contextlib.suppress(sqlite3.Error, ValueError):
            self._look()

    # --- writing -----------------------------------------------------------------------

    def known(self, paths: Sequence[str] | None = None) -> dict[str, Known]:
        return self._catalog.known(paths)

    def apply(self, batch: Batch, *, timeout: float = LOCK_SECONDS) -> int:
        """Put a batch into all stores; answers with the new revision.

        Whoever comes second with the same bytes finds the version in the catalog and does
        nothing. The catalog is committed last, so a crash is a note to be done again.
        """
        with self._writing(timeout), durable.explained("Updating the index"):
            try:
                return self._apply(batch)
            except (sqlite3.OperationalError, ValueError) as error:
                self._catalog.shrink()
                raise explained(error) from error

    def _apply(self, batch: Batch) -> int:
        self._recover()
        self._look()
        if self._text is None:
            raise Unavailable("The full text cannot be opened; it will be rebuilt.")
        self._catalog.mark_pending(batch.paths)
        with self._catalog.transaction(), self._text.writing(len(batch.paths)) as text:
            for entry in batch.put:
                old = batch.moved.get(entry.note.path, "")
                numbers = self._catalog.put(entry, old)
                if numbers is not None:
                    text.put(*numbers, entry, old)
            for path in batch.removed:
                self._catalog.remove(path)
                text.remove(path)
            for path, stat in batch.touched:
                self._catalog.touch(path, stat)
            for path, reason in batch.skipped:
                self._catalog.skip(path, reason)
            with text.committing():  # the two take about as long
                self._catalog.finish()
        self._seen = self._catalog.stamp()
        return self.revision

    def rebuild(self) -> None:
        """Throw catalog and full text away. Vectors stay: they are keyed by their text."""
        with self._guard, self._writing():
            self._text = None
            if "_meaning" in self.__dict__:
                self._meaning.forget_places()
            self._discard_catalog()
            self._catalog.create(ulid_now())
            self._text_trouble = ""
            self._text = self._open_text()
            self._seen = self._catalog.stamp()

    def rebuild_text(self) -> None:
        """Begin a new full text; the next reconcile fills it, while the catalog goes on answering."""
        with self._guard, self._writing():
            with self._catalog.transaction() as db:
                db.execute("UPDATE meta SET value = ? WHERE key = 'uuid'", (ulid_now(),))
                self._catalog.set_meta("fulltext", "")
                db.execute("UPDATE note SET size = -1, version = ''")
                self._catalog.finish()
            kept = self._text_folder()
            for folder in self.folder.glob("fulltext-*"):
                if folder != kept:
                    fulltext.discard(folder)
            self._text_trouble = ""
            self._text = self._open_text()
            self._seen = self._catalog.stamp()

    # --- searching ---------------------------------------------------------------------

    def search_text(self, query: str, filters: Filters, limit: int) -> TextHits:
        self._look()
        if self._text is None:
            raise Unavailable(self._text_trouble or "The full text is not ready.")
        try:
            return self._text.search(query, filters, limit)
        except ValueError as error:
            self._catalog.set_meta("fulltext", DAMAGED)  # whoever leads will see it
            raise Unavailable("The full text is damaged; it will be rebuilt.") from error

    def search_vectors(
        self, vector: np.ndarray, identity: str, filters: Filters, limit: int
    ) -> list[tuple[int, int, float]]:
        """Note, passage, similarity; best first."""
        self._look()
        with self._guard:
            return self._meaning.search(vector, identity, self._selection(filters), limit)

    def usual_similarity(self, vector: np.ndarray, identity: str) -> float:
        """How similar the texts here are to this one on average."""
        with self._guard:
            return self._meaning.usual(vector, identity)

    def build_nearest(self, identity: str) -> bool:
        """Build the graph of a large vault anew where that is worth while. Takes minutes."""
        return self._meaning.build_nearest(identity)

    def _selection(self, filters: Filters) -> tuple[list[int], bool]:
        """Notes to keep (True) or to leave out (False): whichever list is the shorter. A server
        asks with the same filters again and again, so they are kept until something changes."""
        seen = self._seen
        if self._selections[0] != seen or len(self._selections[1]) > MANY_SELECTIONS:
            self._selections = seen, {}
        known = self._selections[1]
        if filters not in known:
            known[filters] = self._selected(filters)
        return known[filters]

    def _selected(self, filters: Filters) -> tuple[list[int], bool]:
        if filters == Filters(session=filters.session):
            rows = self._catalog.db.execute(
                "SELECT note FROM note WHERE forgotten = 1 UNION ALL SELECT note FROM note "
                "WHERE scope = 'session' AND ? <> '' AND casefold(session) <> ?",
                (filters.session, filters.session.casefold()),
            )
            return [row[0] for row in rows], False
        condition, values = where(filters)
        sql = f"SELECT note.note FROM note WHERE {condition}"
        return [row[0] for row in self._catalog.db.execute(sql, values)], True

    def rows(self, notes: Iterable[int]) -> dict[int, Row]:
        return self._catalog.rows(notes)

    def places(self, passages: Iterable[int]) -> dict[int, Place]:
        return self._catalog.places(passages)

    def observations(self, passages: Sequence[int]) -> dict[int, int]:
        return self._catalog.observations(passages)

    def replaced(self) -> tuple[frozenset[int], frozenset[int]]:
        """Notes that others replace, and notes that others were made from."""
        seen = self._seen
        if self._replaced[0] != seen:
            self._replaced = seen, self._catalog.replaced()
        return self._replaced[1]

    def signals(self, notes: Sequence[int]) -> dict[int, Signals]:
        return {row[0]: Signals(*row[1:]) for row in self._catalog.signals(notes)}

    def first_passages(self, notes: Sequence[int]) -> dict[int, Place]:
        return self._catalog.first_passages(notes)

    @cached_property
    def lookup(self) -> Lookup:
        return Lookup(self._catalog)

    @cached_property
    def journals(self) -> Journals:
        from vaultmem.index.journal import Journals

        return Journals(self._catalog)

    @cached_property
    def relations(self) -> Relations:
        from vaultmem.index.relations import Relations

        return Relations(self._catalog)

    # --- vectors -----------------------------------------------------------------------

    @cached_property
    def _meaning(self) -> Meaning:
        from vaultmem.index.meaning import Meaning

        return Meaning(self.folder, self._catalog)

    def without_vector(self, identity: str, limit: int) -> list[str]:
        """Paths of notes that have passages without a vector, memories and recent ones first."""
        return self._meaning.without_vector(identity, limit)

    def count_without_vector(self, identity: str) -> int:
        return self._meaning.count_missing(identity)

    def last_model(self) -> str:
        """The model that made the newest vector; empty when there is none."""
        return self._meaning.store().newest_identity()

    def missing_vectors(self, identity: str, hashes: Iterable[bytes]) -> set[bytes]:
        store = self._meaning.store()
        return store.missing(store.model(identity), hashes)

    def add_vectors(self, identity: str, hashes: Sequence[bytes], vectors: np.ndarray) -> None:
        store = self._meaning.store()
        store.add(store.model(identity), hashes, vectors)

    # --- status ------------------------------------------------------------------------

    def status(self, identity: str = "") -> IndexStatus:
        self._look_quietly()
        missing = self._meaning.count_missing(identity) if identity else 0
        (_, revision), (notes, passages, skipped) = self._counted()
        return IndexStatus(
            revision=int(revision),
            notes=notes,
            passages=passages,
            embedded=max(0, passages - missing) if identity else 0,
            skipped=skipped,
            fulltext=self._text_trouble or "ready",
        )

    def _counted(self) -> tuple[Stamp, tuple[int, int, Skipped]]:
        """Notes, passages and what is skipped. Every answer says so, and counting the passages
        of a large vault takes milliseconds: it is done once for each revision."""
        now = self._catalog.stamp()
        if self._counts[0] != now:
            counts = self._catalog.count("note"), self._catalog.count("passage")
            self._counts = now, (*counts, tuple(self._catalog.skipped()))
        return self._counts
