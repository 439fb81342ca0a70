"""Another library has our name on the package index; `doctor` says when it is in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import clean_environment


def doctor(home: Path, more: Path | None = None) -> list[dict[str, str]]:
    environment = clean_environment(home)
    if more:
        environment["PYTHONPATH"] = f"{more}:{environment.get('PYTHONPATH', '')}"
    vault = home / "Brain"
    vault.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "vaultmem", "doctor", "--json", "--vault", str(vault)],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_the_other_library_is_recognised(tmp_path: Path) -> None:
    about = tmp_path / "site" / "vaultmem-0.3.3.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.4\nName: vaultmem\nVersion: 0.3.3\n")
    (found,) = doctor(tmp_path, tmp_path / "site")
    assert found["problem"] == "other-library"
    assert "0.3.3" in found["message"] and "pip uninstall vaultmem" in found["fix"]


def test_our_own_distribution_is_no_other(tmp_path: Path) -> None:
    about = tmp_path / "site" / "vaultmem_mcp-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.4\nName: vaultmem-mcp\nVersion: 0.1.0\n")
    assert doctor(tmp_path, tmp_path / "site") == []
