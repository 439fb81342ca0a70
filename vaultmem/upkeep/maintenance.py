"""What keeps a vault in order: its index, its health, its models."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vaultmem.errors import InvalidInput, OutsideVault
from vaultmem.limits import FilePath, bounded
from vaultmem.operations.results import Result

if TYPE_CHECKING:
    from vaultmem.embedding.models import ModelInfo
    from vaultmem.indexing.reconcile import ReconcileProgress, ReconcileReport
    from vaultmem.parts import Parts
    from vaultmem.upkeep.doctor import Finding
    from vaultmem.upkeep.verification import Verified


@dataclass(eq=False, repr=False)
class UsedModel(Result):
    setting: str
    model: str
    state: str
    installed: bool  # just now
    changed: bool  # the setting was another one
    pending: int  # passages that have no vector of it yet
    followed: bool  # a running server makes them


class Maintenance:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    # --- indexing ------------------------------------------------------------------------

    @bounded()
    def index_now(
        self, *, rebuild: bool = False, progress: ReconcileProgress | None = None
    ) -> ReconcileReport:
        report = self._parts.bring_up_to_date(rebuild=rebuild, progress=progress)
        total, done = self._parts.store.pdfs.waiting, 0
        while path := self._parts.reconciler.read_pdf():
            done += 1
            if path not in report.added:
                report.changed.append(path)
            if progress:
                progress(min(done, total), total)
        return report

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
        if done:
            self._parts.index.vectors.prepare_search(embedder.identity)
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

        used = self._parts.model_state()
        return [
            replace(info, in_use=used.state == "ready" and info.identity == used.identity)
            for info in models.available_models(self._parts.models_dir)
        ]

    @bounded()
    def use_model(self, name: str) -> UsedModel:
        """Make a model the one of this vault, and install it first where it comes as a package.

        The setting is written when the model is there, so that whatever fails or is stopped
        before leaves everything as it was. Vectors of other models stay for when they are wanted
        again; what has none of this model is embedded by whoever follows the files, or on demand.
        """
        from vaultmem.upkeep import model_choice

        setting = model_choice.setting_for_model(name)
        model_choice.require_choice_in_file(self._parts.settings)
        installed = model_choice.make_model_ready(setting, self._parts.models_dir)
        changed = self._parts.choose_model(setting)
        state = self._parts.model_state()
        pending = 0
        if state.state == "ready":
            pending = self._parts.pending_vectors(state.identity)
        return UsedModel(
            setting=setting,
            model=state.name,
            state=state.state,
            installed=installed,
            changed=changed,
            pending=pending,
            followed=self._parts.is_followed(),
        )

    @bounded()
    def pull_model(self, name: str) -> ModelInfo:
        from vaultmem.embedding import models

        return models.pull_model(name, self._parts.models_dir)

    @bounded(folder=FilePath())
    def import_model(self, folder: str) -> ModelInfo:
        from vaultmem.embedding import models

        return models.import_model_folder(Path(folder).expanduser(), self._parts.models_dir)
