"""The composition root: finds the vault, reads the settings, builds the parts, answers surfaces.

Everything heavy is opened on first use, so that a command pays only for what it does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultmem import config, lock
from vaultmem.errors import InvalidInput
from vaultmem.note import Note, moment
from vaultmem.store import Store

if TYPE_CHECKING:
    from vaultmem.doctor import Finding
    from vaultmem.follow import Follower
    from vaultmem.index import Filters, Index, IndexStatus
    from vaultmem.index.embed import Embedder, ModelState
    from vaultmem.index.models import ModelInfo
    from vaultmem.recall import Answer, Recall
    from vaultmem.sync import Progress, Report, Sync
    from vaultmem.template import Plan

# A vault of this size is looked through before a search that nobody follows the files for.
SMALL_VAULT: Final = 2_000


@dataclass(frozen=True)
class Status:
    vault: Path
    settings: config.Settings
    index: IndexStatus
    model: ModelState
    following: str


@dataclass(frozen=True)
class Freshness:
    """How far an answer can be relied on to be complete."""

    revision: int
    pending: int  # passages that have no vector yet
    skipped: int


class Vault:
    def __init__(self, root: Path, settings: config.Settings) -> None:
        self.root = root
        self.settings = settings
        self._store = Store(root, settings)
        self._guard = threading.Lock()
        self._model: tuple[Embedder | None] | None = None

    @classmethod
    def open(
        cls,
        vault: str | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        strict: bool = True,
    ) -> Vault:
        """Open a vault that exists; `strict` refuses wrong settings instead of ignoring them."""
        root = config.find_vault(vault)
        settings = config.load(root, flags)
        if strict:
            settings.require_valid()
        return cls(root, settings)

    # --- parts, each made on first use ---------------------------------------------------

    @cached_property
    def _index(self) -> Index:
        from vaultmem.index import Index

        self._store.local()
        return Index(self._store.state / "index", self.settings["language"])

    @cached_property
    def _sync(self) -> Sync:
        from vaultmem.sync import Sync

        return Sync(self._store, self._index)

    @cached_property
    def _recall(self) -> Recall:
        from vaultmem.recall import Recall

        return Recall(self._store, self._index, self._embedder)

    @property
    def _models_dir(self) -> Path:
        return self._store.state / "index" / "models"

    def _embedder(self) -> Embedder | None:
        """The model, loaded once; None when there is none."""
        from vaultmem.index import embed

        with self._guard:
            if self._model is None:
                self._store.local()
                self._model = (embed.load(self.settings["model"], self._models_dir),)
            return self._model[0]

    def follower(self, on_change: Callable[[Report], None], *, watch: bool = True) -> Follower:
        from vaultmem.follow import Follower

        return Follower(self._sync, self._embedder, on_change, watch=watch)

    def close(self) -> None:
        if "_index" in self.__dict__:
            self._index.close()

    # --- looking -------------------------------------------------------------------------

    def show(self, ref: str) -> Note:
        from vaultmem import memory

        return memory.find(self._store, ref)

    def recall(
        self,
        query: str,
        *,
        strategy: str = "hybrid",
        limit: int = 10,
        offset: int = 0,
        **wanted: Any,
    ) -> Answer:
        filters = _filters(**wanted)
        behind = self._catch_up()
        answer = self._recall.ask(
            query, strategy=strategy, filters=filters, limit=limit, offset=offset
        )
        if behind:
            answer.warnings.append(behind)
        return answer

    def _catch_up(self) -> str:
        """Where nobody follows the files: look at a small vault now, say so of a large one."""
        if self._is_followed():
            return ""
        if self._index.size <= SMALL_VAULT or self._index.needs_rebuild:
            self.index_now()
            return ""
        return "index_behind: nobody follows the files now; vaultmem index brings it up to date."

    def _is_followed(self) -> bool:
        return lock.is_held(self._store.local() / lock.LEADER)

    def freshness(self) -> Freshness:
        status = self._index.status(self._model_state().identity)
        return Freshness(status.revision, status.passages - status.embedded, len(status.skipped))

    def _model_state(self) -> ModelState:
        from vaultmem.index import embed

        return embed.state(self.settings["model"], self._models_dir)

    def status(self) -> Status:
        model = self._model_state()
        followed = self._is_followed()
        following = "a server follows the files" if followed else "nobody follows the files now"
        index = self._index.status(model.identity)
        return Status(self.root, self.settings, index, model, following)

    # --- indexing ------------------------------------------------------------------------

    def index_now(self, *, rebuild: bool = False, progress: Progress | None = None) -> Report:
        if rebuild:
            self._index.rebuild()
        elif self._index.needs_rebuild:
            self._index.rebuild_text()
        return self._sync.everything(told=rebuild, progress=progress)

    def embed_all(self, progress: Progress | None = None) -> int:
        """Embed whatever has no vector yet; answers with how many passages that were."""
        embedder = self._embedder()
        if embedder is None:
            raise InvalidInput(self._model_state().reason or "No embedding model is available.")
        total = self.freshness().pending
        done = 0
        while made := self._sync.embed_some(embedder):
            done += made
            if progress:
                progress(min(done, total), total)
        return done

    # --- health --------------------------------------------------------------------------

    def examine(self) -> list[Finding]:
        from vaultmem import doctor

        findings = doctor.examine(self._store)
        if (self._store.state / "index" / "catalog.db").exists():  # looking makes no index
            findings += doctor.examine_index(self._store, self._index)
        return findings

    def fix(self, findings: list[Finding]) -> list[Finding]:
        from vaultmem import doctor

        fixed = doctor.fix(self._store, findings)
        stale = [finding for finding in findings if finding.problem == "index-behind"]
        if stale:
            self.index_now()
            fixed += stale
        return fixed

    # --- models --------------------------------------------------------------------------

    def models(self) -> list[ModelInfo]:
        from vaultmem.index import models

        return models.available(self._models_dir)

    def pull_model(self, name: str) -> ModelInfo:
        from vaultmem.index import models

        return models.pull(name, self._models_dir)

    def import_model(self, folder: str) -> ModelInfo:
        from vaultmem.index import models

        return models.import_folder(Path(folder).expanduser(), self._models_dir)


def _filters(
    *,
    types: tuple[str, ...] = (),
    scopes: tuple[str, ...] = (),
    projects: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    after: str | None = None,
    before: str | None = None,
    forgotten: bool = False,
    min_importance: float | None = None,
) -> Filters:
    from vaultmem.index import Filters

    first, last = _seconds(after, "after"), _seconds(before, "before", whole_day=True)
    if first is not None and last is not None and first > last:
        raise InvalidInput(f"The time range runs backwards: {after} is later than {before}.")
    return Filters(
        types=types,
        scopes=scopes,
        projects=projects,
        tags=tags,
        after=first,
        before=last,
        forgotten=forgotten,
        min_importance=min_importance,
    )


def _seconds(text: str | None, name: str, *, whole_day: bool = False) -> int | None:
    if not text:
        return None
    found = moment(text)
    if found is None:
        raise InvalidInput(f"{name} must be a date like 2026-01-31, not {text!r}.")
    seconds = int(found.timestamp())
    return seconds + 86_399 if whole_day and len(text) <= 10 else seconds


def plan_vault(folder: str, *, git: bool, examples: bool) -> Plan:
    from vaultmem import template

    return template.plan(Path(folder).expanduser().absolute(), git=git, examples=examples)


def make_vault(plan: Plan, *, git: bool) -> str:
    """Carry out a plan; answers with what git had to say, if it was asked."""
    from vaultmem import template

    template.apply(plan)
    return template.start_git(plan.root, plan.add) if git else ""
