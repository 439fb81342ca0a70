"""The composition root: finds the vault, reads the settings, builds the parts, answers surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vaultmem import config, doctor, memory, template
from vaultmem.doctor import Finding
from vaultmem.note import Note
from vaultmem.template import Plan
from vaultmem.vault import Store


class Service:
    def __init__(self, root: Path, settings: config.Settings) -> None:
        self.root = root
        self.settings = settings
        self._store = Store(root, settings)

    @classmethod
    def open(
        cls,
        vault: str | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        strict: bool = True,
    ) -> Service:
        """Open a vault that exists; `strict` refuses wrong settings instead of ignoring them."""
        root = config.find_vault(vault)
        settings = config.load(root, flags)
        if strict:
            settings.require_valid()
        return cls(root, settings)

    def show(self, ref: str) -> Note:
        return memory.find(self._store, ref)

    def examine(self) -> list[Finding]:
        return doctor.examine(self._store)

    def fix(self, findings: list[Finding]) -> list[Finding]:
        return doctor.fix(self._store, findings)


def plan_vault(folder: str, *, git: bool, examples: bool) -> Plan:
    return template.plan(Path(folder).expanduser().absolute(), git=git, examples=examples)


def make_vault(plan: Plan, *, git: bool) -> str:
    """Carry out a plan; answers with what git had to say, if it was asked."""
    template.apply(plan)
    return template.start_git(plan.root, plan.add) if git else ""
