"""The parts of one open vault, each made when it is first asked for.

A command pays only for what it does: nothing heavy is loaded before it is needed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem import config
from vaultmem.base import lock
from vaultmem.base.own_path import OwnPath
from vaultmem.base.own_program import command_to_type, shell_line
from vaultmem.errors import Away, VaultmemError
from vaultmem.index import INDEX_FAILURES
from vaultmem.storage.local_state.authorship import Authorship
from vaultmem.storage.local_state.fading import Fading
from vaultmem.storage.local_state.given_vectors import GivenVectors
from vaultmem.storage.local_state.history import History
from vaultmem.storage.local_state.session_folders import SessionFolders
from vaultmem.storage.local_state.usage import Usage
from vaultmem.storage.store import Store
from vaultmem.storage.vault_settings.settings_watch import SettingsWatch

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from vaultmem.embedding.embedder import Embedder, ModelState
    from vaultmem.index import Filters, Index, IndexStatus
    from vaultmem.indexing.kept_away import KeptAway
    from vaultmem.indexing.reconcile import ReconcileProgress, Reconciler, ReconcileReport
    from vaultmem.recall.recall import Recall
    from vaultmem.storage.local_state.activity import ActivityLog

log = logging.getLogger("vaultmem")

# A vault of this size is looked through before a question that nobody follows the files for.
SMALL_VAULT: Final = 2_000
_LOOK_SECONDS: Final = 1.0  # and not again within this time
_NOBODY_FOLLOWS: Final = "index_behind: nobody follows the files now; {} brings it up to date."
_OTHER_LANGUAGE: Final = (
    "partial_results: a running server searches words as {} ones, and this process is set to {}; "
    "start that server again to have its setting changed."
)
_PDFS_WAIT: Final = "index_behind: PDFs are not read yet ({:,}); {} reads them."
_PATIENCE: Final = 1.0  # seconds that a question waits for an index that is being filled


class ModelSetting:
    """The setting `model`, which may be changed in the vault's file while a server runs."""

    def __init__(self, root: Path, settings: config.Settings) -> None:
        self._root = root
        self._file = root / config.CONFIG
        self.value, origin = settings.values["model"]
        self._is_of_file = origin == "default" or origin.startswith(config.CONFIG)
        self._stamp = self._stamp_of_file()
        self._looked = time.monotonic()

    def has_changed(self) -> bool:
        """After a look at the file, now and then. A file that cannot be used changes nothing."""
        if not self._is_of_file or time.monotonic() - self._looked < _LOOK_SECONDS:
            return False
        self._looked = time.monotonic()
        if (stamp := self._stamp_of_file()) == self._stamp:
            return False
        self._stamp = stamp
        settings = config.load(self._root)
        if settings.is_misread or settings["model"] == self.value:
            return False
        self.value = settings["model"]
        return True

    def take(self, value: str) -> None:
        """It was written by this process."""
        self.value, self._stamp = value, self._stamp_of_file()

    def _stamp_of_file(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


@dataclass
class Freshness:
    """How far an answer can be relied on to be complete."""

    revision: int
    pending: int  # passages that have no vector yet
    skipped: int


class LanguageGap:
    """What the model does not know of the vault's languages, and how many answers of this process
    may still say so."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.tellings = 0

    def sentence(self, model: str) -> str:
        """Where much of the vault is in languages that the model does not know."""
        from vaultmem.recall.languages import meaning_gap

        try:
            languages, notes = self._parts.index.languages(), self._parts.index.size
        except INDEX_FAILURES:
            return ""
        here = shell_line(["--vault", str(self._parts.store.root)])
        change = command_to_type(f"models use multilingual {here}")
        return meaning_gap(model, languages, notes, change)

    def sentence_for_answer(self) -> str:
        """The same for an answer, of which a few at most say so."""
        loaded = self._parts.loaded_embedder()
        if not self.tellings or loaded is None:
            return ""
        gap = self.sentence(loaded.name)
        self.tellings -= bool(gap)
        return gap


class Parts:
    """The parts of one open vault, shared by all who work with it."""

    def __init__(
        self,
        root: Path,
        settings: config.Settings,
        load: Callable[[], config.Settings] | None = None,
    ) -> None:
        self.settings = settings
        self.store = Store(root, settings.excluding(config.REVIEW, config.PROPOSED))
        self.given_vectors = GivenVectors(self.store.state / "local" / "given-vectors.db")
        self.fading = Fading(self.store.state / "local" / "fading.db")
        for kept in (self.given_vectors, self.fading):
            kept.away = self.store.own.trouble
        self.settings_watch = SettingsWatch(root, load) if load else None
        self.on_write: list[Callable[[Sequence[str]], None]] = []
        self.opened_at = dt.datetime.now(dt.UTC).replace(microsecond=0)
        self._opening, self._taking = threading.Lock(), threading.Lock()
        self._loading = threading.Lock()
        self._index: Index | None = None
        self._model: tuple[Embedder | None] | None = None
        self._model_setting = ModelSetting(root, settings)
        self.language_gap = LanguageGap(self)
        self._looked = float("-inf")
        self._awaited = ""  # the index that was waited for in vain
        self._behind: set[str] = set()  # written, and not in the index
        self._tried = float("-inf")
        self.store.knows = self._does_index_part_know_path

    def _does_index_part_know_path(self, path: str) -> bool:
        """Whether the index has a note there; asked only while it is open."""
        if self._index is None:
            return False
        try:
            return bool(self._index.inventory.known([path]))
        except INDEX_FAILURES:
            return False

    def take_settings(self) -> bool:
        """Follow the vault's settings, as far as they can change while it is open; says whether
        other notes are memories now."""
        if self.settings_watch is None:
            return False
        with self._taking:
            found = self.settings_watch.changed(self.settings)
            if found is None:
                return False
            before = self.store.paths.kept_away
            self.settings = self.settings.followed_by(found)
            self.store.take_settings(self.settings.excluding(config.REVIEW, config.PROPOSED))
        return self.store.paths.kept_away != before

    @property
    def index(self) -> Index:
        """What is kept away is dropped from it before anything is asked of it."""
        index = self._opened_index
        self._kept_away.settle()
        return index

    @cached_property
    def _kept_away(self) -> KeptAway:
        from vaultmem.indexing.kept_away import KeptAway

        return KeptAway(self.store, self._opened_index, lambda: self.activity)

    @property
    def _opened_index(self) -> Index:
        if self._index is None:
            from vaultmem.index import Index

            with self._opening:
                if self._index is None:
                    self.store.local()
                    folder = self.store.state / "index"
                    away = self.store.own.trouble
                    self._index = Index(folder, self.settings["language"], away)
                    if self.store.kept.anchor != self.store.root:
                        self.store.home.expect(self._index.inventory.some_paths)
        return self._index

    @cached_property
    def reconciler(self) -> Reconciler:
        from vaultmem.indexing.reconcile import Reconciler

        return Reconciler(self.store, self._opened_index, self.activity)

    @cached_property
    def recall(self) -> Recall:
        from vaultmem.recall.recall import Recall

        return Recall(self.store, self.index, self.embedder)

    @cached_property
    def history(self) -> History:
        self.store.local()
        return History(self.store.kept / "local" / "history")

    @cached_property
    def authorship(self) -> Authorship:
        return Authorship(self.store.local())

    @cached_property
    def usage(self) -> Usage:
        with contextlib.suppress(VaultmemError):  # then nothing is counted
            self.store.local()
        usage = Usage(self.store.state / "local" / "usage.db")
        usage.away = self.store.own.trouble
        return usage

    @cached_property
    def activity(self) -> ActivityLog:
        from vaultmem.storage.local_state.activity import ActivityLog

        with contextlib.suppress(VaultmemError):  # then nothing is put down
            self.store.local()
        activity = ActivityLog(self.store.state / "local" / "activity.db")
        activity.away = self.store.own.trouble
        return activity

    @cached_property
    def session_folders(self) -> SessionFolders:
        return SessionFolders(self.store)

    @cached_property
    def aside(self) -> ThreadPoolExecutor:
        """For what can be done while something is written."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(2, thread_name_prefix="aside")

    @property
    def models_dir(self) -> OwnPath:
        return self.store.state / "index" / "models"

    def embedder(self) -> Embedder | None:
        """The model, loaded once, and again when the setting has become another; None when there
        is none."""
        from vaultmem.embedding import embedder as embed

        with self._loading:
            if self._model_setting.has_changed():
                self._model = None
            if self._model is None:
                with contextlib.suppress(VaultmemError):  # it is not where most models are
                    self.store.local()
                self._model = (embed.load_embedder(self._model_setting.value, self.models_dir),)
            return self._model[0]

    def loaded_embedder(self) -> Embedder | None:
        return self._model[0] if self._model else None

    def model_state(self) -> ModelState:
        from vaultmem.embedding import embedder as embed

        self._model_setting.has_changed()
        return embed.embedder_state(self._model_setting.value, self.models_dir)

    def choose_model(self, setting: str) -> bool:
        """Write it into the vault's settings; False: it was written so already."""
        from vaultmem.storage.vault_settings.settings_edit import write_setting

        with self._loading:
            changed = write_setting(self.store.root, "model", setting)
            self._model_setting.take(setting)
            self._model = None
        return changed

    def pending_vectors(self, identity: str) -> int:
        """How many passages have no vector of this model."""
        return self.index.vectors.count_missing(identity)

    def is_followed(self) -> bool:
        with contextlib.suppress(Away):
            return lock.is_locked(self.store.local() / lock.LEADER_LOCK)
        return False

    def catch_up(self) -> str:
        """Bring in what can be brought in at once; returns what an answer may lack.

        Where nobody follows the files, a small vault is looked at now. While whoever follows
        them fills the index, that is waited for, once and for a moment.
        """
        return self.absence() or self._lag_after_catching_up() or self._pdfs_left_unread()

    def _pdfs_left_unread(self) -> str:
        waiting = self.store.pdfs.waiting
        if not waiting or self.is_followed():
            return ""
        return _PDFS_WAIT.format(waiting, command_to_type("index"))

    def _lag_after_catching_up(self) -> str:
        state = self.index.state()
        if not state.is_whole:
            return self._await_filled_index_part()
        self.retry()
        if self._behind:
            return "index_behind: what was written last is not in the index yet; it is tried again."
        other = "" if state.language == self.index.language else state.language or "no language"
        if time.monotonic() - self._looked >= _LOOK_SECONDS:
            if not self.is_followed():
                if self.index.size > SMALL_VAULT and not other:
                    return _NOBODY_FOLLOWS.format(command_to_type("index"))
                self.bring_up_to_date()
                other = ""
            self._looked = time.monotonic()
        return _OTHER_LANGUAGE.format(other, self.index.language or "no language") if other else ""

    def _await_filled_index_part(self) -> str:
        if not self.is_followed():
            self.bring_up_to_date()
        begun, until = self.index.identity, time.monotonic() + _PATIENCE
        while not self.index.is_whole:
            if self._awaited == begun or time.monotonic() > until:
                self._awaited = begun
                return "partial_results: the index is being filled, so notes may be missing here."
            time.sleep(0.02)
        return ""

    def unindexed(self, *, text: bool = True) -> list[str]:
        """Notes that the index lacks as far as we know; or, without `text`, the catalog alone."""
        if self.absence():
            return []  # what stands there now is not the vault
        if self.index.is_whole:
            return sorted(self._behind)
        known = self.index.inventory.known()
        has = {path for path, row in known.items() if row.version or not text}
        return [path for path in self.store.walk().notes if path not in has]

    def fell_behind(self, paths: Iterable[str]) -> None:
        """These were written, and the index could not take them in."""
        self._behind |= set(paths)
        self._tried = time.monotonic()

    def retry(self) -> None:
        """Try again what the index could not take in, now and then."""
        if not self._behind or time.monotonic() - self._tried < _LOOK_SECONDS:
            return
        paths, self._tried = sorted(self._behind), time.monotonic()
        try:
            self.reconciler.these(paths)
        except INDEX_FAILURES as error:
            log.debug("the index stays behind: %s", error)
        else:
            self._behind -= set(paths)

    def absence(self) -> str:
        """What an answer says that is given from the index alone, while the vault is away."""
        if not (reason := self.store.home.trouble()):
            return ""
        return f"partial_results: {reason} Texts cannot be shown until it is back."

    def bring_up_to_date(
        self, *, rebuild: bool = False, progress: ReconcileProgress | None = None
    ) -> ReconcileReport:
        first = self.index.inventory.known() if rebuild else {}  # what was the original stays it
        if rebuild:
            index = self.index
            self.store.home.accept()
            index.rebuild()
        elif not self.is_followed():  # else the language is the leader's to choose
            self.index.take_language()
        return self.reconciler.everything(told=rebuild, progress=progress, first=first)

    def health(self) -> tuple[IndexStatus, ModelState, str]:
        from vaultmem.index import IndexStatus

        model, followed = self.model_state(), self.is_followed()
        following = "a server follows the files" if followed else "nobody follows the files now"
        try:
            status = self.index.status(model.identity)
        except INDEX_FAILURES as error:
            status = IndexStatus(0, 0, 0, 0, (), str(error))
        return status, model, following

    def freshness(self, of: Filters | None = None) -> Freshness:
        """How far answers can be relied on, of all notes or of those that a caller may see."""
        loaded = self.loaded_embedder()
        model = loaded.identity if loaded else self.index.vectors.last_model()
        status = self.index.status(model)
        left = max(0, status.passages - status.embedded)
        if of is None or not (left or status.skipped):
            return Freshness(status.revision, left, len(status.skipped))
        left = self.index.vectors.count_missing(model, of) if left and model else 0
        return Freshness(status.revision, left, len(self.index.lookup.problems(of)))

    def close(self) -> None:
        if "aside" in self.__dict__:
            self.aside.shutdown()
        if "session_folders" in self.__dict__:
            self.session_folders.close()
        if "recall" in self.__dict__:
            self.recall.close()
        if self._index is not None:
            self._index.close()
        self.given_vectors.close()
        self.fading.close()
        for name in {"usage", "activity"} & self.__dict__.keys():
            self.__dict__[name].close()
        self.store.births.close()
        self.store.own.close()
