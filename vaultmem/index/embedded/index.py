"""The index over its three engines: what is put in, and what may be asked.

Writers take turns with a lock held for one batch. Readers never wait: they notice a new
revision and look again. Each store can be thrown away and made anew alone, by us or by anybody:
whether it `is_whole` the index says itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from vaultmem.base import durable
from vaultmem.base.database import SQL_LIST, SQL_LIST_OF_BYTES, sql_list
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import Unavailable
from vaultmem.index.embedded import batch as batches
from vaultmem.index.embedded.batch import Batch
from vaultmem.index.embedded.catalog import Catalog, CatalogStamp, CatalogState, Inventory
from vaultmem.index.embedded.files import JUST_NOW, LOOK_OFTEN, NO_STAMP, IndexFiles
from vaultmem.index.embedded.lookup import Journals, Lookup
from vaultmem.index.embedded.text.fulltext import FullText, TextHits
from vaultmem.index.embedded.text.link_texts import LinkTexts, with_link_texts
from vaultmem.index.failures import IndexDamaged
from vaultmem.index.filters import Filters

if TYPE_CHECKING:
    from vaultmem.index.embedded.graph_overview import GraphOverview
    from vaultmem.index.embedded.relations import Relations
    from vaultmem.index.embedded.text.exact_words import ExactWords
    from vaultmem.index.embedded.vectors import Vectors


INDEX_LOCK_SECONDS: Final = 30.0
INDEX_READY, INDEX_FILLING = "ready", "being filled"
Skipped = tuple[tuple[str, str], ...]  # notes, and why they are not wholly searchable
G = TypeVar("G")


class IndexStatus(NamedTuple):
    revision: int
    notes: int
    passages: int
    embedded: int  # passages with a vector of the present model
    skipped: Skipped
    fulltext: str  # "ready" or what is wrong


class Index:
    def __init__(
        self,
        folder: Path | OwnPath,
        language: str = "english",
        away: Callable[[], object] = bool,
    ) -> None:
        self.place = OwnPath.of(folder)
        self.folder = self.place.path
        self.language = language
        self.files = IndexFiles(self.place, language, self._forget_places_of_index, away)
        self.catalog = self.files.catalog
        self.files.on_doubt = self._check_vectors_of_index
        self._counts: tuple[CatalogStamp, tuple[int, int, Skipped]] = (NO_STAMP, (0, 0, ()))
        self._groups: dict[object, Any] = {}
        with durable.disk_errors_explained(f"Opening the index in {folder}"):
            self.files.open()

    # --- opening and closing -----------------------------------------------------------

    def recover(self) -> None:
        """Undo what a killed writer left half done, if any did."""
        self.state()
        if self.catalog.pending():
            repairing = durable.disk_errors_explained("Repairing the index")
            with repairing, self.files.writing(INDEX_LOCK_SECONDS) as text:
                batches.recover_pending(self.catalog, text)

    def close(self) -> None:
        self.files.close()
        for name in {"vectors", "exact_words"} & self.__dict__.keys():
            self.__dict__[name].close()

    def settle(self) -> None:
        """Somebody has time: leave the files so that nothing can happen to what is in them."""
        self.files.settle()

    # --- noticing what others did --------------------------------------------------------

    def state(self, lasts: float = LOOK_OFTEN) -> CatalogState:
        """What the index says of itself, after a look at what others did: the full text is read
        again when another revision is there, or another catalog. While the vault is away what
        was open still answers."""
        with durable.disk_errors_explained("Opening the index"):
            if self.files.is_away():
                return self.files.last
            state = self.files.look(lasts)
            if "vectors" in self.__dict__ and not self.vectors.are_vectors_sound():
                state = self.files.look(lasts=0.0)  # whoever did that may have done more
                with self.files.guard:
                    self.vectors.mend_vectors()
            return state

    @property
    def is_whole(self) -> bool:
        """Whether everything in the vault was brought in once since the index was begun. Until
        then an answer may lack what is in the vault."""
        return self.state().is_whole

    def finished(self, since: str) -> None:
        """Everything was brought in, if this is still the index that it was begun with."""
        state = self.state()
        if state.identity == since and not state.is_whole:
            with self.files.writing(INDEX_LOCK_SECONDS), self.catalog.transaction():
                if (now := self.catalog.state()).identity == since:
                    self.catalog.set_meta("whole", now.uuid)

    @property
    def identity(self) -> str:
        """Another one whenever the index was begun anew, or put back from a copy."""
        return self.state().identity

    def tell_when_begun(self, callback: Callable[[], None]) -> None:
        """Somebody wants to know when this process had to begin anew."""
        self.files.on_begun = callback

    def _check_vectors_of_index(self) -> None:
        if "vectors" in self.__dict__:
            self.vectors.check_vectors()

    def _forget_places_of_index(self) -> None:
        if "vectors" in self.__dict__:
            self.vectors.forget_places()

    @property
    def revision(self) -> int:
        return int(self.state().revision)

    @property
    def size(self) -> int:
        """How many notes are indexed."""
        self.state()
        return self.catalog.number_of_notes()

    def take_language(self) -> None:
        """Make the full text for the language that is wished for, and for this version."""
        state = self.state()
        if (state.language, state.text) != (self.language, FullText.stamp(self.language)):
            with durable.disk_errors_explained("Updating the index"):
                self.rebuild_text()

    # --- writing -----------------------------------------------------------------------

    def apply(self, batch: Batch, *, timeout: float = INDEX_LOCK_SECONDS) -> int:
        """Put a batch into all stores; returns the new revision.

        Whoever comes second with the same bytes finds the version in the catalog and does
        nothing. The catalog is committed last, so a crash is a note to be done again.
        """
        with (
            durable.disk_errors_explained("Updating the index"),
            self.files.writing(timeout) as text,
        ):
            try:
                batches.apply_batch(batch, self.catalog, text)
                self.files.seen = self.catalog.stamp()
                return int(self.files.seen[1])
            except IndexDamaged as error:
                self.files.doubt_text(error)
                raise
            except (sqlite3.Error, ValueError) as error:
                self.files.give_room_to_index_files()
                raise self.catalog.catalog_error_noticed(error) from error

    def forget(self, paths: Sequence[str]) -> None:
        """Notes that are to be known no more: not what their texts mean either."""
        sql = f"SELECT hash FROM passage JOIN note USING (note) WHERE path IN {SQL_LIST}"
        hashes = self.catalog.column(sql, (sql_list(paths),))
        self.apply(Batch(list(paths), removed=list(paths), unskipped=list(paths)))
        in_use = f"SELECT hash FROM passage WHERE hash IN {SQL_LIST_OF_BYTES}"
        kept = set(self.catalog.column(in_use, (sql_list(hashes),)))
        if gone := [key for key in dict.fromkeys(hashes) if key not in kept]:
            self.vectors.drop_texts(gone)

    def rebuild(self) -> None:
        """Throw catalog and full text away. Vectors stay: they are keyed by their text."""
        with self.files.locked(INDEX_LOCK_SECONDS), self.files.guard:
            self.files.begin_index_files()

    def rebuild_text(self) -> None:
        """Begin a new full text; the next reconcile fills it, while the catalog goes on answering."""
        with self.files.locked(INDEX_LOCK_SECONDS), self.files.guard:
            self.files.begin_text(self.language)

    # --- searching ---------------------------------------------------------------------

    def search_text(self, query: str, filters: Filters, limit: int) -> TextHits:
        text = self.current_text()
        if text is None:
            raise Unavailable(self.files.trouble or "The full text is not ready.")
        try:
            found = text.search(query, filters, limit)
        except IndexDamaged as error:
            self.files.doubt_text(error)
            self.state()  # where the files are damaged, they are begun anew
            raise
        return with_link_texts(
            found, LinkTexts(self.catalog).notes_named_by_link_texts(query, filters)
        )

    def words_beginning(self, beginning: str) -> list[str]:
        text = self.current_text()
        return text.words_beginning(beginning) if text is not None else []

    def current_text(self) -> FullText | None:
        """The full text, after a look at whether it can be read now."""
        self.state(JUST_NOW)
        return self.files.text

    def languages(self) -> Mapping[str, int]:
        """About how many notes are in which language, most first; some tell nothing."""
        text = self.current_text()
        return text.languages if text is not None else {}

    # --- what else may be asked, in groups ----------------------------------------------

    @cached_property
    def inventory(self) -> Inventory:
        return Inventory(self.catalog, self.state)

    @cached_property
    def vectors(self) -> Vectors:
        from vaultmem.index.embedded.vectors import Vectors

        return Vectors(self.place, self.catalog, self.files.guard, self.state)

    @cached_property
    def exact_words(self) -> ExactWords:
        from vaultmem.index.embedded.text.exact_words import ExactWords

        return ExactWords(self.catalog)

    @property
    def lookup(self) -> Lookup:
        return self._group_of_index(Lookup)

    @property
    def journals(self) -> Journals:
        return self._group_of_index(Journals)

    @property
    def relations(self) -> Relations:
        from vaultmem.index.embedded.relations import Relations

        return self._group_of_index(Relations)

    def _group_of_index(self, kind: Callable[[Catalog], G]) -> G:
        self.state()
        if kind not in self._groups:
            self._groups[kind] = kind(self.catalog)
        group: G = self._groups[kind]
        return group

    def census(self, filters: Filters) -> GraphOverview:
        """All of the knowledge graph at once, as far as it is seen through the filters."""
        from vaultmem.index.embedded.graph_overview import graph_overview

        return graph_overview(self.relations, filters)

    # --- status ------------------------------------------------------------------------

    def status(self, identity: str = "") -> IndexStatus:
        state = self.state()
        missing = self.vectors.count_missing(identity) if identity else 0
        (_, revision), (notes, passages, skipped) = self._counted_for_index_status()
        return IndexStatus(
            revision=int(revision),
            notes=notes,
            passages=passages,
            embedded=max(0, passages - missing) if identity else 0,
            skipped=skipped,
            fulltext=self.files.trouble or (INDEX_READY if state.is_whole else INDEX_FILLING),
        )

    def _counted_for_index_status(self) -> tuple[CatalogStamp, tuple[int, int, Skipped]]:
        """Notes, passages and what is skipped, once for each revision: every answer says so."""
        now = self.catalog.stamp()
        if self._counts[0] != now:
            everything = self.lookup.extent(Filters(forgotten=True))
            skipped = tuple(self.inventory.skipped())
            self._counts = now, (everything.notes, everything.passages, skipped)
        return self._counts
