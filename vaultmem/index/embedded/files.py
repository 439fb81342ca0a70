"""The catalog and the full text as files: opened, looked after, and begun anew where they are not
what their last writer left.

Whoever notices damage begins anew at once, which takes milliseconds; the catalog then says that
it is not whole, to every process, until somebody has brought everything in again. Writers take
turns with a lock held for one batch. The lock of the files comes before the guard of the threads.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Final

from ulid_transform import ulid_now

from vaultmem.base import lock
from vaultmem.base.database import DatabaseWhereabouts
from vaultmem.base.own_path import OwnPath
from vaultmem.errors import Busy, Unavailable, VaultmemError
from vaultmem.index.embedded.catalog import Catalog, CatalogStamp, CatalogState
from vaultmem.index.embedded.seal import Seal, SealedFile
from vaultmem.index.embedded.text import fulltext_files
from vaultmem.index.embedded.text.fulltext import FullText
from vaultmem.index.failures import IndexDamaged, is_sqlite_file_unopened

log = logging.getLogger("vaultmem")

NO_STAMP: Final = ("", "")  # no catalog's stamp
_TEXT: Final = "fulltext-"
_CATALOG, _LOG = "catalog.db", "catalog.db-wal"
LOOK_OFTEN: Final = 0.02  # seconds: one question looks several times
JUST_NOW: Final = 0.001  # whoever reads a mapped file that was cut a moment ago dies of it
_PATIENCE: Final = 1.0  # seconds to wait for a writer before something is begun anew
_LARGE_LOG: Final = 4_000_000  # bytes
_ALARM_SECONDS: Final = 600.0


class IndexFiles:
    def __init__(
        self,
        place: OwnPath,
        language: str,
        forget: Callable[[], None],
        away: Callable[[], object],
    ) -> None:
        self.place = place
        self.folder = place.path
        self.language = language  # the one that is wished for
        self.catalog = Catalog(place / _CATALOG)
        self.catalog.away = away  # whether the vault, and with it the index, is elsewhere now
        self.last = CatalogState(*[""] * len(CatalogState._fields))  # what the catalog said last
        self.text: FullText | None = None
        self.trouble = ""  # why there is no full text
        self.seen: CatalogStamp = NO_STAMP
        self.guard = threading.RLock()
        self.on_begun: Callable[[], None] = lambda: None
        self.on_doubt: Callable[[], None] = lambda: None  # something beside the catalog may be bad
        self._before: dict[str, SealedFile] = {}  # what a batch found
        self._forget = forget
        self._seal = Seal(place)
        self._checked = float("-inf")
        self._is_torn = False  # the catalog cannot be gone on with, whatever it says
        self._doubt = ""  # of the full text
        self._made_again = float("-inf")
        weakref.finalize(
            self, _leave_index_files, self.catalog, self._seal, self._lock_of_index_files
        )

    def open(self) -> None:
        self.place.make()
        self._seal.load_seal()
        if not self.catalog.is_there():
            self.heal_index_files()
        self.look()

    def close(self) -> None:
        """The last one to close a database changes its file, so that is done here, in turn."""
        if self.catalog.write_ahead_log_size():
            self.settle()
        self.catalog.close()

    def is_away(self) -> bool:
        return self.text is not None and bool(self.catalog.away())

    # --- looking -------------------------------------------------------------------------

    def look(self, lasts: float = LOOK_OFTEN) -> CatalogState:
        """Notice what others did, with the index or to its files, and take up what is new. A look
        at the files lasts for so many seconds."""
        try:
            return self._look_at_index_files(lasts)
        except IndexDamaged:
            self.heal_index_files()
            return self._look_at_index_files(lasts)

    def _look_at_index_files(self, lasts: float) -> CatalogState:
        if not self._are_index_files_sound(lasts):
            raise IndexDamaged("The index was changed by somebody else and will be rebuilt.")
        return self._take_up_current_index_files()

    def _are_index_files_sound(self, lasts: float) -> bool:
        """Whether all files are those that were opened, and as their last writer left them."""
        if self.catalog.doubt or self._doubt or self._is_torn:
            return False
        now = time.monotonic()
        if now - self._checked < lasts:
            return True
        if self.catalog.whereabouts() is not DatabaseWhereabouts.SAME:
            return False
        if not self._seal.is_known:
            self._seal.load_seal()  # its writer may be done by now
        changed = self._seal.changed_since_seal()
        if changed and not self._are_index_files_being_written(changed):
            return False
        self._checked = now
        return True

    def _are_index_files_being_written(self, changed: list[str]) -> bool:
        """Whether a writer is at work or was just done. It never changes a segment in place."""
        for _ in range(3):
            if lock.is_locked(self._lock_of_index_files):
                return not any(
                    fulltext_files.is_segment_file(n) and self._seal.is_under_seal(n)
                    for n in changed
                )
            before = self._seal.revision
            self._seal.load_seal()
            if self._seal.is_known and self._seal.revision < before:
                self._is_torn = True  # put back from a copy, under open connections
                return False
            changed = self._seal.changed_since_seal()
            if not changed:
                return True
        return False

    def _take_up_index_files(self, state: CatalogState) -> None:
        folder = self._folder_of_text_index(state.uuid, state.text)
        if state.text != FullText.stamp(state.language):
            self.text, self.trouble = None, "The full text was made by another version of vaultmem."
        elif self.text is None or self.text.place != folder:
            self.text = None
            self.text = FullText(folder, state.language)
            self.trouble = ""
        else:
            self.text.reload()
        self.seen = state.stamp

    def _folder_of_text_index(self, uuid: str, stamp: str) -> OwnPath:
        """Named by what it holds and for which catalog: any other content is another folder."""
        return self.place / f"{_TEXT}{stamp}-{uuid}"

    def doubt_text(self, error: IndexDamaged) -> None:
        """The engine failed: its files are looked at before they are used again."""
        with self.guard:
            self.text, self._doubt, self.trouble = None, str(error), str(error)

    # --- healing -------------------------------------------------------------------------

    def heal_index_files(self) -> None:
        try:
            with self.locked(_PATIENCE), self.guard:
                self._mend_index_files()
        except Busy as error:
            raise IndexDamaged(
                "The index is damaged, and another process is at work on it; try again in a moment."
            ) from error

    def _mend_index_files(self) -> None:
        """Begin anew what is not as its last writer left it. The caller holds the lock."""
        self._seal.load_seal()
        if self._are_catalog_files_lost():
            self.begin_index_files()
        elif self._are_text_index_files_lost(state := self.catalog.state()):
            self.begin_text(state.language)
        self._checked = float("-inf")

    def _are_catalog_files_lost(self) -> bool:
        where, doubt = self.catalog.whereabouts(), self.catalog.doubt
        if where is DatabaseWhereabouts.TORN or self._is_torn or not self.catalog.is_there():
            return True
        if where is DatabaseWhereabouts.ELSEWHERE or doubt:
            self.catalog.renew()
        self.catalog.doubt = ""
        if any(not name.startswith(_TEXT) for name in self._seal.changed_since_seal()):
            return self._seal.is_broken_seal_alarming()
        try:
            state = self.catalog.state()
        except IndexDamaged as error:
            if is_sqlite_file_unopened(error.__cause__):
                raise  # the file is there, so this passes
            return True
        if doubt and not self.catalog.passes_check():
            return True
        if doubt:
            self.on_doubt()
        if state.home != str(self.catalog.inode):
            self.catalog.accept_copy()
        return False

    def _are_text_index_files_lost(self, state: CatalogState) -> bool:
        doubt, self._doubt = self._doubt, ""
        folder = self._folder_of_text_index(state.uuid, state.text)
        if state.text != FullText.stamp(state.language):
            return False
        if not (folder.path / fulltext_files.TEXT_META).is_file():
            return True
        if any(name.startswith(_TEXT) for name in self._seal.changed_since_seal()):
            return self._seal.is_broken_seal_alarming()
        if doubt:
            return self._must_text_be_indexed_anew(doubt, folder)
        try:
            FullText(folder, state.language)
        except IndexDamaged:
            return True
        return False

    def _must_text_be_indexed_anew(self, doubt: str, folder: OwnPath) -> bool:
        """The engine failed on files that may be whole, each for itself: two that were exchanged,
        or a question it cannot bear. Making them again helps against the one; against the other
        nothing does, so it is not done for every question."""
        now = time.monotonic()
        if fulltext_files.is_whole_fulltext(folder) and now - self._made_again < _ALARM_SECONDS:
            raise Unavailable(doubt)
        self._made_again = now
        return True

    # --- beginning anew ------------------------------------------------------------------

    def begin_index_files(self) -> None:
        """An empty catalog and an empty full text. The caller holds the lock."""
        self._forget()
        self._seal.open_seal()
        self.text = None
        self.catalog.discard()
        _discard_text_index_files(self.place)
        uuid, stamp = ulid_now(), FullText.stamp(self.language)
        text = FullText(self._folder_of_text_index(uuid, stamp), self.language, new=True)
        self.catalog.create(uuid, self.language, stamp)
        self._index_files_begun(text)

    def begin_text(self, language: str) -> None:
        """An empty full text, while the catalog goes on answering. The caller holds the lock."""
        uuid, stamp = ulid_now(), FullText.stamp(language)
        self._seal.open_seal()
        self.text = None
        text = FullText(self._folder_of_text_index(uuid, stamp), language, new=True)
        self.catalog.begin_text(uuid, language, stamp)
        _discard_text_index_files(self.place, but=text.place)
        self._index_files_begun(text)

    def _index_files_begun(self, text: FullText) -> None:
        self.text, self.trouble, self._doubt = text, "", ""
        self.catalog.doubt, self._is_torn = "", False
        self.seen = self.catalog.stamp()
        self._seal_index_files()
        self.on_begun()

    # --- writing -------------------------------------------------------------------------

    @property
    def _lock_of_index_files(self) -> OwnPath:
        return self.place / "index.lock"

    @contextlib.contextmanager
    def locked(self, timeout: float) -> Iterator[None]:
        self.catalog.require_there()
        self._lock_of_index_files.remove_folder()  # an empty one in its place
        with lock.locked(self._lock_of_index_files, timeout=timeout, what="updating the index"):
            yield

    @contextlib.contextmanager
    def writing(self, timeout: float) -> Iterator[FullText]:
        """One batch: what is there is sound before it, and sealed behind it."""
        with self.locked(timeout):
            text = self._index_files_ready()
            self._before = self._seal.open_seal()
            try:
                yield text
            finally:
                self._index_files_done()

    def _index_files_ready(self) -> FullText:
        with self.guard:
            self._seal.load_seal()
            sound = (
                self.catalog.whereabouts() is DatabaseWhereabouts.SAME
                and not self._seal.changed_since_seal()
            )
            if not sound or self.catalog.doubt or self._doubt or self._is_torn:
                self._mend_index_files()
            try:
                self._take_up_current_index_files()
            except IndexDamaged:
                self._mend_index_files()
                self._take_up_current_index_files()
            if self.text is None:
                raise Unavailable(self.trouble)
            return self.text

    def _take_up_current_index_files(self) -> CatalogState:
        state = self.catalog.state()
        if state.home != str(self.catalog.inode):
            raise IndexDamaged("The index is a copy and will be compared with the files.")
        if state.stamp != self.seen or self.text is None:
            with self.guard:
                self._take_up_index_files(state)
        self.last = state
        return state

    def _index_files_done(self) -> None:
        with self.guard, contextlib.suppress(sqlite3.Error, OSError, VaultmemError):
            if self.catalog.write_ahead_log_size() > _LARGE_LOG:
                self.give_room_to_index_files()
            self._compare_index_files()
            if self._is_torn or self.catalog.doubt:
                self._mend_index_files()
            else:
                self._seal_index_files()

    def _compare_index_files(self) -> None:
        """What a batch does not change must be as it was; else the batch is of no use either."""
        kept = {
            name: look
            for name, look in self._before.items()
            if name == _CATALOG or fulltext_files.is_segment_file(name)
        }
        if self._seal.was_seal_broken(kept, lasting=_CATALOG):
            self._is_torn = True
        self._before = {}

    def give_room_to_index_files(self) -> None:
        """Put the log into the file: an abandoned batch may have filled the disk."""
        self._compare_index_files()
        if not self._is_torn:
            with contextlib.suppress(sqlite3.Error, VaultmemError):
                self.catalog.empty_log()

    def _seal_index_files(self) -> None:
        state = self.catalog.state()
        folder = self._folder_of_text_index(state.uuid, state.text)
        self._seal.set_seal(
            [_CATALOG, _LOG, *fulltext_files.fulltext_file_names(folder.path)], int(state.revision)
        )
        self._checked = float("-inf")

    def settle(self) -> None:
        """Where nobody is in a hurry: put the log into the file, so that nothing depends on it,
        and look closely at what a killed writer left."""
        sealed = self._seal.is_there()
        if sealed and not self.catalog.write_ahead_log_size():
            return
        mishap = contextlib.suppress(VaultmemError, sqlite3.Error, OSError)
        with mishap, self.locked(0.0), self.guard:
            self._seal.load_seal()
            if self._seal.changed_since_seal():
                return  # the next look will see to it
            if not sealed:
                self._look_closely_at_index_files()
            self._seal.open_seal()
            self.catalog.empty_log()
            self._seal_index_files()

    def _look_closely_at_index_files(self) -> None:
        state = self.catalog.state()
        if not self.catalog.passes_check():
            self.catalog.doubt = "it fails SQLite's check"
        elif not fulltext_files.is_whole_fulltext(
            self._folder_of_text_index(state.uuid, state.text)
        ):
            self._doubt = "its checksums do not fit"
        if self.catalog.doubt or self._doubt:
            self._mend_index_files()


def _discard_text_index_files(place: OwnPath, but: OwnPath | None = None) -> None:
    for folder in place.folders():
        if folder.name.startswith(_TEXT) and folder != but:
            folder.remove_tree()


def _leave_index_files(catalog: Catalog, seal: Seal, lock_file: OwnPath) -> None:
    """Nobody closed the index, and it is let go or the process ends. SQLite puts its log into the
    file when the last connection goes: unless that is done in turn, it looks like damage."""
    if not (catalog.is_open and catalog.write_ahead_log_size()):
        return
    mishap = contextlib.suppress(VaultmemError, sqlite3.Error, OSError)
    with mishap, lock.locked(lock_file, timeout=0.0, what="closing the index"):
        catalog.require_there()
        seal.load_seal()
        if seal.is_known and not seal.changed_since_seal():
            names = seal.open_seal()
            catalog.empty_log()
            seal.set_seal(names, seal.revision)
