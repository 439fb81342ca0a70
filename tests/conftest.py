from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from vaultmem import config
from vaultmem.store import Store

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
TEMPLATE = ROOT / "vault-template"

# The suite has minutes, not hours; `HYPOTHESIS_PROFILE=long` digs deeper.
quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("suite", deadline=None, max_examples=150, suppress_health_check=quiet)
settings.register_profile("long", deadline=None, max_examples=5000, suppress_health_check=quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line as a user has it: a process of its own, in a clean home."""

    def call(*arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "vaultmem", *arguments],
            cwd=cwd or tmp_path,
            env=clean_environment(tmp_path) | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def clean_environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VAULTMEM_", "GIT_"))}
    identity = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Tester"), ("EMAIL", "tester@localhost"))
    }
    config_env = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(ROOT)}
    return kept | identity | config_env


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def store(root: Path) -> Store:
    return make_store(root)


def make_store(root: Path, **flags: Any) -> Store:
    """A store that does not wait for typists, unless a test asks it to."""
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return Store(root, config.load(root, {"typing.quiet_seconds": 0.0, **named}))


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and modification time."""
    return {
        str(file.relative_to(root)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }


# Files that take minutes come first, so that no worker is left alone with one at the end.
LONG = ("test_machine", "test_launcher", "test_processes", "test_stopped", "test_sync_kill")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in LONG)
