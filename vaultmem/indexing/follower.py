"""Following the files: of all processes on a vault one watches, reconciles and embeds.

The one that holds the lock is the leader; when it dies the system frees the lock and
another takes over within two seconds. Nothing depends on there being a leader: every
process reconciles what it writes itself.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem.base import lock
from vaultmem.errors import VaultmemError
from vaultmem.index import INDEX_FAILURES
from vaultmem.indexing.reconcile import Reconciler, ReconcileReport
from vaultmem.indexing.watcher import Watcher, WatchHint

if TYPE_CHECKING:
    from vaultmem.embedding.embedder import Embedder

log = logging.getLogger("vaultmem")

TAKEOVER_SECONDS: Final = 2.0
SAFETY_SECONDS: Final = 300.0  # a look at everything, whatever the watcher said
REMEMBER_SECONDS: Final = 60.0
LONGEST_PAUSE: Final = 15.0  # seconds before what failed is tried again
_EVERYTHING: Final = WatchHint(frozenset(), everything=True)
_STEP: Final = 1  # notes embedded at a time: stopping waits for one step


class HintBacklog:
    """What could not be brought in, and when that is tried again: a full disk gets room, and
    nothing tells us so."""

    def __init__(self) -> None:
        self._hint: WatchHint | None = None
        self._pause = 0.0
        self._at = 0.0

    def add(self, hint: WatchHint) -> None:
        old = self._hint or WatchHint(frozenset())
        self._hint = WatchHint(old.paths | hint.paths, everything=old.everything or hint.everything)
        self._pause = min(LONGEST_PAUSE, self._pause * 2 or 1.0)
        self._at = time.monotonic() + self._pause

    def clear_followed_hints(self) -> None:
        self._hint, self._pause = None, 0.0

    @property
    def is_waiting(self) -> bool:
        return self._hint is not None and time.monotonic() < self._at

    def hint_due_to_follow(self) -> WatchHint | None:
        return None if self.is_waiting else self._hint


class Follower:
    def __init__(
        self,
        reconciler: Reconciler,
        embedder: Callable[[], Embedder | None],
        on_change: Callable[[ReconcileReport], None] = lambda report: None,
        *,
        watch: bool = True,
        sweep: Callable[[], Sequence[str]] = list,
        upkeep: Callable[[threading.Event], None] | None = None,
        renew: Callable[[], None] = lambda: None,
        retry: Callable[[], None] = lambda: None,
    ) -> None:
        self.reconciler = reconciler
        self._home = reconciler.store.home
        self._renew = renew
        self._seen = self._home.generation
        self._away = ""
        self.leading = False
        self._embedder = embedder
        self._on_change = on_change
        self._watch = watch
        self._sweep = sweep
        self._upkeep = upkeep
        self._retry = retry
        self._backlog = HintBacklog()
        self._hints: queue.SimpleQueue[WatchHint] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run_follower, name="vaultmem-follow", daemon=True
        )
        self._embedding: threading.Thread | None = None
        self._tidying: threading.Thread | None = None
        self._reading: threading.Thread | None = None
        self._remembered = -math.inf
        self.watcher: Watcher | None = None

    def start(self) -> None:
        self.reconciler.index.tell_when_begun(lambda: self.look(_EVERYTHING))
        self._thread.start()

    def stop(self) -> None:
        """Stop within two seconds; a batch under way is finished, the rest waits for a successor."""
        self._stopping.set()
        self._hints.put(WatchHint(frozenset()))
        if self.watcher is not None:
            self.watcher.stop()
        # A model interrupted by the end of the process would abort it: wait for its batch.
        deadline = time.monotonic() + 2
        for thread in (self._thread, self._embedding, self._tidying, self._reading):
            if thread is not None and thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))

    def look(self, hint: WatchHint) -> None:
        """Someone noticed that the index is behind."""
        self._hints.put(hint)

    # --- in the thread -----------------------------------------------------------------

    def _run_follower(self) -> None:
        self._clear_up_while_following()
        last_error = ""
        while not self._stopping.is_set():
            try:
                if self._is_followed_vault_away():
                    self._stopping.wait(1)
                    continue
                held = lock.try_to_lock(self.reconciler.store.local() / lock.LEADER_LOCK)
                if held is None:
                    self._remember_vault_to_follow()
                    self._stopping.wait(TAKEOVER_SECONDS)
                    self._retry()
                    continue
                try:
                    self._lead_followers()
                finally:
                    self.leading = False
                    held.release()
            except VaultmemError as error:
                if str(error) != last_error:  # it is tried again every other second
                    log.warning("following the files waits: %s", error)
                last_error = str(error)
                self._stopping.wait(TAKEOVER_SECONDS)
            except Exception:
                log.exception("following the files stopped; trying again")
                self._stopping.wait(TAKEOVER_SECONDS)

    def _is_followed_vault_away(self) -> bool:
        """Whether the vault is; says so once. What we hold in a folder that came back as another
        one is held there anew."""
        reason = self._home.trouble()
        if reason != self._away:
            log.warning(reason or "The vault is back.")
            self._away = reason
        if self._seen != self._home.generation and not reason:
            self._seen = self._home.generation
            self._renew()
        return bool(reason)

    def _remember_vault_to_follow(self) -> None:
        """Who does not lead does not look through the vault, and must know it again too."""
        if time.monotonic() - self._remembered > REMEMBER_SECONDS:
            self._remembered = time.monotonic()
            self._home.remember(self.reconciler.index.inventory.some_paths())

    def _lead_followers(self) -> None:
        self.leading = True
        self._follow_hint(_EVERYTHING)
        if self._watch:
            store = self.reconciler.store
            decides = store.paths.obsidian.decides
            self.watcher = Watcher(
                store.root, store.paths.is_note, self._hints.put, decides=decides
            )
            self.watcher.start()
        try:
            self._follow_vault()
        finally:
            if self.watcher is not None:
                self.watcher.stop()

    def _follow_vault(self) -> None:
        """Bring in what is hinted at, while the backlog is embedded in a thread of its own."""
        if self._embedding is None or not self._embedding.is_alive():
            self._embedding = threading.Thread(
                target=self._embed_while_following, name="vaultmem-embed", daemon=True
            )
            self._embedding.start()
        if self._upkeep is not None and (self._tidying is None or not self._tidying.is_alive()):
            self._tidying = threading.Thread(
                target=self._upkeep_while_following, name="vaultmem-upkeep", daemon=True
            )
            self._tidying.start()
        if self._reading is None or not self._reading.is_alive():
            self._reading = threading.Thread(
                target=self._read_pdfs_while_following, name="vaultmem-pdf", daemon=True
            )
            self._reading.start()
        checked, mine = time.monotonic(), self._home.generation
        while not self._stopping.is_set():
            hint = self._next_hint_to_follow(1.0)
            if self._is_followed_vault_away():
                checked = -math.inf
                continue
            if self._home.generation != mine:
                return  # the lock and the watch are those of the folder that was here before
            overdue = time.monotonic() - checked > SAFETY_SECONDS
            if hint is None:
                hint = self._backlog.hint_due_to_follow() or self._idle_while_following(overdue)
            if hint is not None and not self._stopping.is_set():
                self._follow_hint(hint)
                checked = time.monotonic() if hint.everything else checked

    def _idle_while_following(self, overdue: bool) -> WatchHint | None:
        """Nothing was hinted at: see that the index is well, and what it may lack."""
        if overdue:
            self._clear_up_while_following()
        try:
            self._retry()
            if overdue or not (self._backlog.is_waiting or self.reconciler.index.is_whole):
                return _EVERYTHING
            self.reconciler.index.settle()
        except INDEX_FAILURES as error:
            log.warning("the index cannot be used now: %s", error)
            self._backlog.add(_EVERYTHING)
        return None

    def _upkeep_while_following(self) -> None:
        assert self._upkeep is not None
        try:
            self._upkeep(self._stopping)
        except Exception:
            log.exception("upkeep stopped")

    def _clear_up_while_following(self) -> None:
        """What sessions left behind whose processes are dead."""
        try:
            if gone := self._sweep():
                self._follow_hint(WatchHint(frozenset(gone)))
        except (OSError, VaultmemError) as error:
            log.warning("clearing up after sessions waits: %s", error)

    def _next_hint_to_follow(self, seconds: float) -> WatchHint | None:
        try:
            return self._hints.get(timeout=seconds)
        except queue.Empty:
            return None

    def _embed_while_following(self) -> None:
        fresh = False  # vectors came
        while not self._stopping.is_set():
            try:
                embedder = self._embedder()  # another one when the setting was changed
                if embedder is None or self._home.trouble():
                    self._stopping.wait(1)
                elif self._embed_backlog(embedder):
                    fresh = True
                else:
                    if fresh:
                        self.reconciler.index.vectors.prepare_search(embedder.identity)
                    fresh = False
                    self.reconciler.index.vectors.build_graph(embedder.identity)
                    self._stopping.wait(1)
            except INDEX_FAILURES as error:
                log.warning("embedding waits: %s", error)
                self._stopping.wait(5)
            except Exception:
                log.exception("embedding failed; trying again")
                self._stopping.wait(5)

    def _embed_backlog(self, embedder: Embedder) -> int:
        reconciler = self.reconciler
        return reconciler.embed_some(embedder, _STEP) or reconciler.sentences.embed_some(embedder)

    def _read_pdfs_while_following(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._home.trouble() or not (path := self.reconciler.read_pdf()):
                    self._stopping.wait(1)
                else:
                    self._on_change(ReconcileReport(changed=[path]))
            except INDEX_FAILURES as error:
                log.warning("reading PDFs waits: %s", error)
                self._stopping.wait(5)
            except Exception:
                log.exception("reading a PDF failed; going on")
                self._stopping.wait(5)

    def _follow_hint(self, hint: WatchHint) -> None:
        try:
            if hint.everything:
                self.reconciler.index.take_language()
            report = (
                self.reconciler.everything()
                if hint.everything
                else self.reconciler.these(hint.paths)
            )
        except INDEX_FAILURES as error:
            log.warning("the index stays behind: %s", error)
            self._backlog.add(hint)
            return
        if hint == self._backlog.hint_due_to_follow() or hint.everything:
            self._backlog.clear_followed_hints()
        if report.touched:
            self._on_change(report)
