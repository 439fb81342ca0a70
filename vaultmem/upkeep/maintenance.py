"""What keeps a vault in order: its index, its health, its models."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.errors import InvalidInput, OutsideVault
from vaultmem.limits import FilePath, bounded

if TYPE_CHECKING:
    from vaultmem.embedding.models import ModelInfo
    from vaultmem.indexing.reconcile import ReconcileProgress, ReconcileReport
    from vaultmem.parts import Parts
    from vaultmem.upkeep.doctor import Finding
    from vaultmem.upkeep.verification import Verified


class Maintenance:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    # --- indexing ------------------------------------------------------------------------

    @bounded()
    def index_now(
        self, *, rebuild: bool = False, progress: ReconcileProgress | None = None
    ) -> ReconcileReport:
        return self._parts.bring_up_to_date(rebuild=rebuild, progress=progress)

    @bounded()
    def embed_all(self, progress: ReconcileProgress | None = None) -> int:
        """Embed whatever has no vector yet; returns how many passages that were."""
        embedder = self._parts.embedder()
        if embedder is None:
            why = self._parts.model_state().reason
            raise InvalidInput(why or "No embedding model is available.")
        total = self._parts.freshness().pending
        done = 0
        while made := self._parts.reconciler.embed_some(embedder):
            done += made
            if progress:
                progress(min(done, total), total)
        while self._parts.reconciler.sentences.embed_some(embedder):
            pass
        return done

    # --- health --------------------------------------------------------------------------

    @bounded()
    def examine(self, *, secrets: bool = False) -> list[Finding]:
        from vaultmem.upkeep import doctor

        findings = doctor.examine_vault(self._parts.store, secrets=secrets)
        with contextlib.suppress(OutsideVault):  # a link there is among the findings
            if (self._parts.store.state / "index" / "catalog.db").stat():  # looking makes no index
                findings += doctor.examine_index(self._parts.store, self._parts.index)
                findings += doctor.unindexed_notes(self._parts.store, self._parts.index, findings)
        return findings

    def fix(self, findings: list[Finding]) -> list[Finding]:
        from vaultmem.upkeep import doctor

        fixed = doctor.fix_findings(self._parts.store, findings)
        stale = [finding for finding in findings if finding.problem == "index-behind"]
        if stale and not self._parts.settings.is_misread:  # it might take in what is excluded
            self.index_now()
            fixed += stale
        return fixed

    @bounded()
    def verify(self, progress: ReconcileProgress | None = None) -> Verified:
        """Whether what was acknowledged is there, and the index says what a new one would."""
        from vaultmem.upkeep.verification import Verification

        indexed = (self._parts.store.state / "index" / "catalog.db").stat() is not None
        checked = Verification(self._parts.store, self._parts.history)
        return checked.verify_vault((lambda: self._parts.index) if indexed else None, progress)

    def repair(self, findings: Sequence[Finding]) -> list[Finding]:
        from vaultmem.upkeep import verification

        self._parts.settings.require_valid()
        repaired = verification.repair_findings(self._parts.history, self._parts.index, findings)
        if any(found.problem == "index-differs" for found in repaired):
            self._parts.reconciler.everything(told=True)
            repaired += [found for found in findings if found.problem == "index-behind"]
        return repaired

    # --- models --------------------------------------------------------------------------

    def load_model(self) -> bool:
        """Load the embedding model now, and not with the first question; False: there is none."""
        return self._parts.embedder() is not None

    def models(self) -> list[ModelInfo]:
        from vaultmem.embedding import models

        return models.available_models(self._parts.models_dir)

    @bounded()
    def pull_model(self, name: str) -> ModelInfo:
        from vaultmem.embedding import models

        return models.pull_model(name, self._parts.models_dir)

    @bounded(folder=FilePath())
    def import_model(self, folder: str) -> ModelInfo:
        from vaultmem.embedding import models

        return models.import_model_folder(Path(folder).expanduser(), self._parts.models_dir)
