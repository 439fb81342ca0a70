from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests import nursery
from vaultmem import config
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from tests.world import World
    from vaultmem.vault import Vault

os.environ["TZ"] = "UTC"  # whoever runs the tests, wherever; some go to other zones themselves
time.tzset()

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
TEMPLATE = ROOT / "vault-template"

# The suite has minutes and no luck; `HYPOTHESIS_PROFILE=long` digs deeper, and elsewhere each time.
quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "suite", deadline=None, max_examples=150, suppress_health_check=quiet, derandomize=True
)
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
    """The command line in a process of its own, in a clean home."""

    def call(*arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Ran:
        done = nursery.run(
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
    return kept | identity | config_env | engine_variables(home)


def engine_variables(home: Path) -> dict[str, str]:
    """Most tests are about one process; those about engines, and whole suites when they are run
    through one, say so: TESTS_THROUGH_ENGINE=1 ./scripts/test tests/dialects"""
    if not os.environ.get("TESTS_THROUGH_ENGINE"):
        return {"VAULTMEM_ENGINE": "off"}
    return {"XDG_RUNTIME_DIR": str(_runtime_folder(home)), "VAULTMEM_ENGINE_IDLE_MINUTES": "0"}


def _runtime_folder(home: Path) -> Path:
    """A socket's path is short, pytest's folders are not."""
    folder = Path(tempfile.gettempdir()) / f"vt-{zlib.crc32(str(home).encode()):x}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """Where exports lie."""
    folder = tmp_path / "away"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean home with an empty folder `Brain`, for commands that run in this process."""
    for name in list(os.environ):
        if name.startswith(("VAULTMEM_", "XDG_", "CLAUDE_", "CODEX_", "GEMINI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Brain").mkdir()
    return tmp_path


@pytest.fixture
def store(root: Path) -> Store:
    return make_store(root)


@pytest.fixture
def world(root: Path, tmp_path: Path) -> Iterator[World]:
    from tests.world import World

    made = World(root, tmp_path / "sidecar")
    yield made
    made.close()


Open = Callable[..., "Vault"]


@pytest.fixture
def open_vault(root: Path) -> Iterator[Open]:
    """Open the test's vault or another, for one caller or another; all are closed at the end."""
    from vaultmem.operations.caller import Caller
    from vaultmem.vault import Vault

    opened: list[Vault] = []
    (root / ".vaultmem").mkdir(exist_ok=True)

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slowest", action="store_true", help="tell the forty slowest tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--slowest"):
        config.option.durations, config.option.durations_min = 40, 0.5


# Files that take long come first, so that no worker is left alone with one at the end. The tests of
# most of them stand alone, and workers share them; those of other files share vaults and servers.
TOGETHER = ("test_launcher",)
LONG = (
    *TOGETHER,
    *("test_index_states", "test_memory_states", "test_simulator", "test_contained"),
    *("test_index_processes", "test_import_kill", "test_sync_kill", "test_write_kill"),
    *("test_agent_writes", "test_watcher", "test_programs", "test_unseen", "test_two_machines"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class Shared(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid if Path(file).stem in {*LONG} - {*TOGETHER} else file

    config.option.loadscopereorder = False  # it would begin with the files of many tests
    return Shared(config, log)
