"""An index that another version of vaultmem made."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Open
from vaultmem.index.embedded import catalog


def _made_by(version: int, open_vault: Open, root: Path) -> None:
    (root / "Rota.md").write_text("Weekends are shared by three.")
    (root / "Rota from June.md").write_text("Weekends are shared by four.")
    vault = open_vault()
    vault.index_now()
    vault.parts.index.catalog.set_meta("version", str(version))
    vault.parts.index.catalog.db.execute("DELETE FROM replacement")
    vault.close()


def test_one_of_the_version_before_is_made_anew_by_itself(open_vault: Open, root: Path) -> None:
    _made_by(catalog.SCHEMA_VERSION - 1, open_vault, root)
    hits = open_vault().recall("who shares the weekends", strategy="keyword").memories
    assert [hit.path for hit in hits] == ["Rota from June.md", "Rota.md"]
    assert hits[1].later == "Rota from June"
