"""The composition root: finds the vault, reads the settings, builds the parts, answers surfaces.

Everything heavy is opened on first use, so that a command pays only for what it does.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from vaultmem import config, lock
from vaultmem.consolidate import Reflection
from vaultmem.context import Contexts
from vaultmem.desk import Caller
from vaultmem.errors import InvalidInput
from vaultmem.history import History
from vaultmem.status import Health
from vaultmem.store import Store
from vaultmem.usage import Usage
from vaultmem.views import Freshness

if TYPE_CHECKING:
    from vaultmem.doctor import Finding
    from vaultmem.follow import Follower
    from vaultmem.index import Index, IndexStatus
    from vaultmem.index.embed import Embedder, ModelState
    from vaultmem.index.models import ModelInfo
    from vaultmem.recall import Recall
    from vaultmem.sync import Progress, Report, Sync
    from vaultmem.template import Plan

# A vault of this size is looked through before a question that nobody follows the files for.
SMALL_VAULT: Final = 2_000
_LOOK_SECONDS: Final = 1.0  # and not again within this time


class Parts:
    """The parts of one open vault, shared by all who work with it."""

    def __init__(self, root: Path, settings: config.Settings) -> None:
        self.settings = settings
        self.store = Store(root, settings)
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
        if time.monotonic() - self._looked < _LOOK_SECONDS or self.is_followed():
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
        status = self.index.status(self.model_state().identity)
        left = max(0, status.passages - status.embedded)
        return Freshness(status.revision, left, len(status.skipped))

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
        if "usage" in self.__dict__:
            self.usage.close()


class Vault(Contexts, Reflection, Health):
    """An open vault, and everything one can do with the memories in it.

    with Vault.open("~/Notes") as vault:
        vault.remember("Refresh tokens rotate every 24 hours.", tags=["auth"])
        vault.recall("how long do tokens live?")
    """

    _parts: Parts

    @classmethod
    def open(
        cls,
        vault: str | Path | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        caller: Caller | None = None,
        strict: bool = True,
    ) -> Vault:
        """Open a vault that exists; `strict` refuses wrong settings instead of ignoring them."""
        root = config.find_vault(str(vault) if vault else None)
        settings = config.load(root, flags)
        if strict:
            settings.require_valid()
        pinned = Caller(user=settings["user"], project=settings["project"])
        return cls(Parts(root, settings), caller or pinned)

    def for_caller(self, caller: Caller) -> Vault:
        """The same open vault for someone else."""
        return Vault(self._parts, caller)

    @property
    def root(self) -> Path:
        return self.store.root

    @property
    def on_write(self) -> list[Callable[[Sequence[str]], None]]:
        """Who wants to be told which notes were written here."""
        return self._parts.on_write

    def follower(self, on_change: Callable[[Report], None], *, watch: bool = True) -> Follower:
        from vaultmem.follow import Follower

        return Follower(self._parts.sync, self._parts.embedder, on_change, watch=watch)

    def close(self) -> None:
        self._parts.close()

    def __enter__(self) -> Vault:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- indexing ------------------------------------------------------------------------

    def index_now(self, *, rebuild: bool = False, progress: Progress | None = None) -> Report:
        return self._parts.bring_up_to_date(rebuild=rebuild, progress=progress)

    def embed_all(self, progress: Progress | None = None) -> int:
        """Embed whatever has no vector yet; answers with how many passages that were."""
        embedder = self._parts.embedder()
        if embedder is None:
            raise InvalidInput(
                self._parts.model_state().reason or "No embedding model is available."
            )
        total = self._parts.freshness().pending
        done = 0
        while made := self._parts.sync.embed_some(embedder):
            done += made
            if progress:
                progress(min(done, total), total)
        return done

    # --- health --------------------------------------------------------------------------

    def examine(self) -> list[Finding]:
        from vaultmem import doctor

        findings = doctor.examine(self.store)
        if (self.store.state / "index" / "catalog.db").exists():  # looking makes no index
            findings += doctor.examine_index(self.store, self.index)
        return findings

    def fix(self, findings: list[Finding]) -> list[Finding]:
        from vaultmem import doctor

        fixed = doctor.fix(self.store, findings)
        stale = [finding for finding in findings if finding.problem == "index-behind"]
        if stale:
            self.index_now()
            fixed += stale
        return fixed

    # --- models --------------------------------------------------------------------------

    def models(self) -> list[ModelInfo]:
        from vaultmem.index import models

        return models.available(self._parts.models_dir)

    def pull_model(self, name: str) -> ModelInfo:
        from vaultmem.index import models

        return models.pull(name, self._parts.models_dir)

    def import_model(self, folder: str) -> ModelInfo:
        from vaultmem.index import models

        return models.import_folder(Path(folder).expanduser(), self._parts.models_dir)


def plan_vault(folder: str, *, git: bool, examples: bool) -> Plan:
    from vaultmem import template

    return template.plan(Path(folder).expanduser().absolute(), git=git, examples=examples)


def make_vault(plan: Plan, *, git: bool) -> str:
    """Carry out a plan; answers with what git had to say, if it was asked."""
    from vaultmem import template

    template.apply(plan)
    return template.start_git(plan.root, plan.add) if git else ""
