"""The parts of one open vault, each made when it is first asked for.

A command pays only for what it does: nothing heavy is loaded before it is needed.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultmem import config, lock
from vaultmem.history import History
from vaultmem.store import Store
from vaultmem.usage import Usage
from vaultmem.views import Freshness
from vaultmem.volatile import Volatile

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from vaultmem.index import Index, IndexStatus
    from vaultmem.index.embed import Embedder, ModelState
    from vaultmem.recall import Recall
    from vaultmem.sync import Progress, Report, Sync

# A vault of this size is looked through before a question that nobody follows the files for.
SMALL_VAULT: Final = 2_000
_LOOK_SECONDS: Final = 1.0  # and not again within this time


class Parts:
    """The parts of one open vault, shared by all who work with it."""

    def __init__(self, root: Path, settings: config.Settings) -> None:
        self.settings = settings
        self.store = Store(root, settings.excluding(config.REVIEW))
        self.on_write: list[Callable[[Sequence[str]], None]] = []
        self.opened_at = dt.datetime.now(dt.UTC).replace(microsecond=0)
        self._opening = threading.Lock()
        self._loading = threading.Lock()
        self._index: Index | None = None
        self._model: tuple[Embedder | None] | None = None
        self._looked = float("-inf")

    @property
    def index(self) -> Index:
        if self._index is None:
            from vaultmem.index import Index

            with self._opening:
                if self._index is None:
                    self.store.local()
                    folder = self.store.state / "index"
                    self._index = Index(folder, self.settings["language"])
        return self._index

    @cached_property
    def sync(self) -> Sync:
        from vaultmem.sync import Sync

        return Sync(self.store, self.index)

    @cached_property
    def recall(self) -> Recall:
        from vaultmem.recall import Recall

        return Recall(self.store, self.index, self.embedder)

    @cached_property
    def history(self) -> History:
        return History(self.store.local() / "history")

    @cached_property
    def usage(self) -> Usage:
        return Usage(self.store.local() / "usage.db")

    @cached_property
    def volatile(self) -> Volatile:
        return Volatile(self.store)

    @cached_property
    def aside(self) -> ThreadPoolExecutor:
        """For what can be done while something is written."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(2, thread_name_prefix="aside")

    @property
    def models_dir(self) -> Path:
        return self.store.state / "index" / "models"

    def embedder(self) -> Embedder | None:
        """The model, loaded once; None when there is none."""
        from vaultmem.index import embed

        with self._loading:
            if self._model is None:
                self.store.local()
                self._model = (embed.load(self.settings["model"], self.models_dir),)
            return self._model[0]

    def loaded_embedder(self) -> Embedder | None:
        return self._model[0] if self._model else None

    def model_state(self) -> ModelState:
        from vaultmem.index import embed

        return embed.state(self.settings["model"], self.models_dir)

    def is_followed(self) -> bool:
        return lock.is_held(self.store.local() / lock.LEADER)

    def catch_up(self) -> str:
        """Where nobody follows the files: look at a small vault now, say so of a large one."""
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return ""
        if self.is_followed():
            self._looked = time.monotonic()
            return ""
        if self.index.size <= SMALL_VAULT or self.index.needs_rebuild:
            self.bring_up_to_date()
            self._looked = time.monotonic()
            return ""
        return "index_behind: nobody follows the files now; vaultmem index brings it up to date."

    def bring_up_to_date(
        self, *, rebuild: bool = False, progress: Progress | None = None
    ) -> Report:
        if rebuild:
            self.index.rebuild()
        elif self.index.needs_rebuild:
            self.index.rebuild_text()
        return self.sync.everything(told=rebuild, progress=progress)

    def health(self) -> tuple[IndexStatus, ModelState, str]:
        model = self.model_state()
        followed = self.is_followed()
        following = "a server follows the files" if followed else "nobody follows the files now"
        return self.index.status(model.identity), model, following

    def freshness(self) -> Freshness:
        loaded = self.loaded_embedder()
        status = self.index.status(loaded.identity if loaded else self.index.last_model())
        left = max(0, status.passages - status.embedded)
        return Freshness(status.revision, left, len(status.skipped))

    def close(self) -> None:
        if "aside" in self.__dict__:
            self.aside.shutdown()
        if "volatile" in self.__dict__:
            self.volatile.close()
        if "recall" in self.__dict__:
            self.recall.close()
        if self._index is not None:
            self._index.close()
        if "usage" in self.__dict__:
            self.usage.close()
