from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vaultmem.desk import Caller
from vaultmem.service import Vault

Open = Callable[..., Vault]


@pytest.fixture
def open_vault(root: Path) -> Iterator[Open]:
    """Open the test's vault, or another; all are closed at the end."""
    opened: list[Vault] = []

    def call(flags: dict[str, Any] | None = None, at: Path = root, **caller: Any) -> Vault:
        (at / ".vaultmem").mkdir(exist_ok=True, parents=True)
        settings = {"typing.quiet_seconds": 0.0, "model": "off", **(flags or {})}
        vault = Vault.open(at, settings, caller=Caller(**caller))
        opened.append(vault)
        return vault

    yield call
    for vault in opened:
        vault.close()


@pytest.fixture
def vault(open_vault: Open) -> Vault:
    return open_vault()


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """Where exports lie."""
    folder = tmp_path / "away"
    folder.mkdir()
    return folder
