"""The composition root: one open vault with everything that can be done in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.consolidate import Reflection
from vaultmem.context import Contexts
from vaultmem.errors import InvalidInput
from vaultmem.git.syncing import Syncing
from vaultmem.keyed import Keyed
from vaultmem.moving.moves import Moving
from vaultmem.names import safe_name
from vaultmem.reader import Reader

if TYPE_CHECKING:
    from vaultmem.doctor import Finding
    from vaultmem.follow import Follower
    from vaultmem.index.models import ModelInfo
    from vaultmem.sync import Progress, Report
    from vaultmem.template import Plan


class Vault(Syncing, Moving, Contexts, Keyed, Reflection, Reader):
    """An open vault, and everything one can do with the memories in it.

    with Vault.open("~/Notes") as vault:
        vault.remember("Refresh tokens rotate every 24 hours.", tags=["auth"])
        vault.recall("how long do tokens live?")
    """

    @property
    def on_write(self) -> list[Callable[[Sequence[str]], None]]:
        """Who wants to be told which notes were written here."""
        return self._parts.on_write

    def follower(self, on_change: Callable[[Report], None], *, watch: bool = True) -> Follower:
        """Whoever follows the files serves the session of its caller, and clears up after others."""
        from vaultmem.follow import Follower

        parts, writable = self._parts, not self.settings["read_only"]
        if self.caller.session and writable:
            parts.volatile.serve(safe_name(self.caller.session))
        upkeep = self._upkeep_rounds if self.settings["upkeep.review"] and writable else None
        return Follower(
            parts.sync,
            parts.embedder,
            on_change,
            watch=watch,
            sweep=parts.volatile.sweep,
            upkeep=upkeep,
        )

    def _upkeep_rounds(self, stopping: threading.Event) -> None:
        from vaultmem import upkeep
        from vaultmem.desk import Caller

        mine = self.for_caller(Caller(client="vaultmem"))
        upkeep.rounds(mine.upkeep, lambda: self.index.revision, stopping)

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

    def examine(self, *, secrets: bool = False) -> list[Finding]:
        from vaultmem import doctor

        findings = doctor.examine(self.store, secrets=secrets)
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

    def load_model(self) -> bool:
        """Load the embedding model now, and not with the first question; False: there is none."""
        return self._parts.embedder() is not None

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
