"""Following the files: of all processes on a vault one watches, reconciles and embeds.

The one that holds the lock is the leader; when it dies the system frees the lock and
another takes over within two seconds. Nothing depends on there being a leader: every
process reconciles what it writes itself.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from vaultmem import lock
from vaultmem.errors import VaultmemError
from vaultmem.sync import Report, Sync
from vaultmem.watch import Hint, Watcher

if TYPE_CHECKING:
    from vaultmem.index.embed import Embedder

log = logging.getLogger("vaultmem")

TAKEOVER_SECONDS: Final = 2.0
SAFETY_SECONDS: Final = 300.0  # a look at everything, whatever the watcher said
_STEP: Final = 1  # notes embedded at a time: stopping waits for one step


class Follower:
    def __init__(
        self,
        sync: Sync,
        embedder: Callable[[], Embedder | None],
        on_change: Callable[[Report], None] = lambda report: None,
        *,
        watch: bool = True,
        sweep: Callable[[], Sequence[str]] = list,
        upkeep: Callable[[threading.Event], None] | None = None,
    ) -> None:
        self.sync = sync
        self.leading = False
        self._embedder = embedder
        self._on_change = on_change
        self._watch = watch
        self._sweep = sweep
        self._upkeep = upkeep
        self._hints: queue.SimpleQueue[Hint] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vaultmem-follow", daemon=True)
        self._embedding: threading.Thread | None = None
        self._tidying: threading.Thread | None = None
        self.watcher: Watcher | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop within two seconds; a batch under way is finished, the rest waits for a successor."""
        self._stopping.set()
        self._hints.put(Hint(frozenset()))
        if self.watcher is not None:
            self.watcher.stop()
        # A model interrupted by the end of the process would abort it: wait for its batch.
        deadline = time.monotonic() + 2
        for thread in (self._thread, self._embedding, self._tidying):
            if thread is not None and thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))

    def look(self, hint: Hint) -> None:
        """Someone noticed that the index is behind."""
        self._hints.put(hint)

    # --- in the thread -----------------------------------------------------------------

    def _run(self) -> None:
        self._clear_up()
        while not self._stopping.is_set():
            try:
                held = lock.try_hold(self.sync.store.local() / lock.LEADER)
                if held is None:
                    self._stopping.wait(TAKEOVER_SECONDS)
                    continue
                try:
                    self._lead()
                finally:
                    self.leading = False
                    held.release()
            except Exception:
                log.exception("following the files stopped; trying again")
                self._stopping.wait(TAKEOVER_SECONDS)

    def _lead(self) -> None:
        self.leading = True
        self._reconcile(Hint(frozenset(), everything=True))
        if self._watch:
            store = self.sync.store
            self.watcher = Watcher(store.root, store.is_note, self._hints.put)
            self.watcher.start()
        try:
            self._follow()
        finally:
            if self.watcher is not None:
                self.watcher.stop()

    def _follow(self) -> None:
        """Bring in what is hinted at, while the backlog is embedded in a thread of its own."""
        self._embedding = threading.Thread(target=self._embed, name="vaultmem-embed", daemon=True)
        self._embedding.start()
        if self._upkeep is not None:
            self._tidying = threading.Thread(target=self._tidy, name="vaultmem-upkeep", daemon=True)
            self._tidying.start()
        checked = time.monotonic()
        while not self._stopping.is_set():
            hint = self._next_hint(1.0)
            overdue = time.monotonic() - checked > SAFETY_SECONDS
            if hint is None and overdue:
                self._clear_up()
            if hint is None and (overdue or self.sync.index.needs_rebuild):
                hint = Hint(frozenset(), everything=True)
            if hint is not None and not self._stopping.is_set():
                self._reconcile(hint)
                checked = time.monotonic() if hint.everything else checked

    def _tidy(self) -> None:
        assert self._upkeep is not None
        try:
            self._upkeep(self._stopping)
        except Exception:
            log.exception("upkeep stopped")

    def _clear_up(self) -> None:
        """What sessions left behind whose processes are dead."""
        try:
            if gone := self._sweep():
                self._reconcile(Hint(frozenset(gone)))
        except (OSError, VaultmemError) as error:
            log.warning("clearing up after sessions waits: %s", error)

    def _next_hint(self, seconds: float) -> Hint | None:
        try:
            return self._hints.get(timeout=seconds)
        except queue.Empty:
            return None

    def _embed(self) -> None:
        embedder = self._embedder()
        while embedder is not None and not self._stopping.is_set():
            try:
                if not self.sync.embed_some(embedder, _STEP):
                    self.sync.index.build_nearest(embedder.identity)
                    self._stopping.wait(1)
            except VaultmemError as error:
                log.warning("embedding waits: %s", error)
                self._stopping.wait(5)
            except Exception:
                log.exception("embedding failed; trying again")
                self._stopping.wait(5)

    def _reconcile(self, hint: Hint) -> None:
        try:
            if self.sync.index.needs_rebuild:
                self.sync.index.rebuild_text()
                hint = Hint(frozenset(), everything=True)
            report = self.sync.everything() if hint.everything else self.sync.these(hint.paths)
        except VaultmemError as error:
            log.warning("the index stays behind: %s", error)
            return
        if report.touched:
            self._on_change(report)
