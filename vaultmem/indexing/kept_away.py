"""Notes that the settings keep away: what the index and the log knew of them is dropped before
anything is asked of either, whoever brought it in.

A mark says for which settings that was done last. Another process may have others, and bring in
what is kept away here; it puts its own mark there first, so that the next question here finds it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from vaultmem.errors import VaultmemError

if TYPE_CHECKING:
    from vaultmem.index import Index
    from vaultmem.storage.local_state.activity import ActivityLog
    from vaultmem.storage.store import Store

_Stamp = tuple[int, int, int]


class KeptAway:
    """The log is asked for only where something is dropped from it."""

    def __init__(
        self, store: Store, index: Index, log: Callable[[], ActivityLog | None] = lambda: None
    ) -> None:
        self._store = store
        self._index = index
        self._log = log
        self._mark = store.state / "local" / "kept-away"
        self._settled: tuple[str, _Stamp | None] | None = None

    def settle(self) -> None:
        wanted = self._store.paths.kept_away
        if self._settled == (wanted, self._stamp_of_mark()):
            return
        if self._marked() != wanted:
            self._drop()
            with contextlib.suppress(OSError, VaultmemError):
                self._mark.write(wanted.encode())
        self._settled = wanted, self._stamp_of_mark()

    def _drop(self) -> None:
        known = {*self._index.inventory.known(), *self._index.inventory.skips()}
        is_memory = self._store.paths.is_memory
        if away := [path for path in known if not is_memory(path)]:
            self._index.forget(away)
        if (log := self._log()) is not None:
            log.drop(lambda path: not is_memory(path))

    def _marked(self) -> str:
        try:
            return self._mark.read().decode(errors="replace")
        except (OSError, VaultmemError):
            return ""

    def _stamp_of_mark(self) -> _Stamp | None:
        try:
            found = os.stat(self._mark.path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
