"""What every system that is measured has to offer: a small adapter around its own commands.

An adapter installs its system, fills it with the notes, starts it as an agent's client would,
searches, and writes. Nothing of it is faster or slower than what its users get.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import machine
from measure.client import Command, Reply, Server
from measure.corpus import Notes

NAMES = (
    "vaultmem",
    "basic_memory",
    "markdown_vault_mcp",
    "mempalace",
    "mcp_memory_service",
    "server_memory",
    "qmd",
    "claude_mem",
    "ripgrep",
)
INSTALL_SECONDS = 1800


class CannotRun(Exception):
    """Why a system is not measured here, as a sentence for the table."""


@dataclass(frozen=True)
class Place:
    """Where one system works on one vault."""

    env: Path  # what is installed, shared by all sizes
    home: Path  # its home folder, with settings and store
    notes: Path  # its own copy of the notes
    vault: Notes  # the originals, and the questions

    @property
    def errors(self) -> Path:
        return self.home / "stderr.txt"

    def path_of(self, named: str) -> str:
        """A note's path in the vault, from what a system calls the file."""
        return named.removeprefix(f"{self.notes}/").removeprefix("./")


@dataclass(frozen=True)
class Found:
    notes: list[str]  # paths of notes, best first
    seconds: float
    characters: int
    failed: bool = False


class Peer:
    name = ""
    note = ""  # what a reader should know about how it was set up
    modes: tuple[str, ...] = ("keyword",)  # ways of searching, each asked all questions
    word_mode = ""  # the way that finds a single word; else the first
    follows_files = False  # whether it notices what a person or git does to the notes
    writes = True
    indexed = True  # False: it reads everything at every question
    with_vectors = True

    # --- to be said by each ------------------------------------------------------------------

    def install(self, env: Path) -> str:
        """Make its environment and answer with the version; what is there is kept."""
        raise NotImplementedError

    def command(self, place: Place) -> Command:
        raise NotImplementedError

    def fill(self, place: Place, seconds: float) -> dict[str, float]:
        """Bring in all notes; seconds by step. Raises TimeoutError when it takes too long."""
        raise NotImplementedError

    def search(self, server: Any, query: str, mode: str, limit: int = 10) -> Found:
        raise NotImplementedError

    def write(self, server: Any, title: str, text: str) -> Reply:
        raise NotImplementedError

    def update(self, server: Any, title: str, text: str) -> Reply | None:
        """Replace what `write` wrote; None where it offers no such thing."""
        return None

    # --- the same for most -------------------------------------------------------------------

    def prepare(self, place: Place) -> None:
        """Settings, before any clock runs."""

    def complete(self, place: Place, taken: dict[str, float]) -> None:
        """Whatever else has to be there before it is asked; no clock runs."""

    def leave_out_vectors(self) -> bool:
        """For a vault that would take hours to embed; False where it cannot do without."""
        return False

    def learn(self, place: Place) -> None:
        """What is needed to tell from its answers which notes it means."""

    def open(self, place: Place) -> Any:
        server = Server(self.command(place), place.errors)
        server.handshake()
        return server

    def store(self, place: Place) -> Path:
        """Where its index or database lies."""
        return place.home

    def libraries(self, place: Place) -> list[Path]:
        """The files of the program, for a cold start."""
        return machine.libraries(place.env / "bin" / "python")


def load(name: str) -> Peer:
    module = importlib.import_module(f"peers.{name.replace('-', '_')}")
    peer: Peer = module.Adapter()
    return peer


# --- environments ---------------------------------------------------------------------------


def python_environment(
    env: Path,
    package: str,
    *,
    least: int = 11,
    loosen: Sequence[str] = (),
    extensions: bool = False,
) -> str:
    """A virtual environment with the package; answers with the version that is there.

    Where the package does not install because of its own pins on the projects in `loosen`,
    those may come in any version. `extensions`: its SQLite must load extensions.
    """
    python = env / "bin" / "python"
    if not (env / "ready").exists():
        shutil.rmtree(env, ignore_errors=True)
        subprocess.run([_python(least), "-m", "venv", str(env)], check=True, capture_output=True)
        told = package.partition("==")[2]
        if not _pip(python, package):
            _install_loosened(python, package, loosen)
            told += f" (its pin on {' and '.join(loosen)} loosened: it does not install here)"
        if extensions:
            _let_sqlite_load_extensions(python)
        (env / "ready").write_text(told)
    return (env / "ready").read_text()


def _python(least: int) -> str:
    """A Python 3 that is new enough: this one if it is, else one that lies about."""
    if sys.version_info.minor >= least:
        return sys.executable
    places = [*os.environ.get("PATH", "").split(os.pathsep)]
    places += map(str, Path.home().glob(".pyenv/versions/3.*/bin"))
    candidates = [Path(p) / f"python3.{minor}" for minor in range(least, 15) for p in places]
    for candidate in candidates:
        if candidate.exists() and not _fails([str(candidate), "-c", "import venv, ensurepip"]):
            return str(candidate)
    raise CannotRun(f"needs Python 3.{least}, which is not on this machine")


def _fails(command: Sequence[str]) -> bool:
    return subprocess.run(list(command), capture_output=True).returncode != 0


_SHIM = """import sys
import pysqlite3, pysqlite3.dbapi2
sys.modules["sqlite3"], sys.modules["sqlite3.dbapi2"] = pysqlite3, pysqlite3.dbapi2
"""


def _let_sqlite_load_extensions(python: Path) -> None:
    """Some builds of Python leave that out; the same library as a package then takes its place."""
    able = "import sqlite3, sys; sys.exit(not hasattr(sqlite3.Connection, 'enable_load_extension'))"
    if _fails([str(python), "-c", able]):
        if not _pip(python, "pysqlite3-binary"):
            raise CannotRun("needs a Python whose SQLite loads extensions")
        for folder in (python.parents[1] / "lib").glob("python3*/site-packages"):
            (folder / "sitecustomize.py").write_text(_SHIM)


def _pip(python: Path, *what: str) -> bool:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", *what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    (python.parents[1] / "install.txt").write_text(done.stdout + done.stderr)
    return done.returncode == 0


_REQUIREMENTS = """
import importlib.metadata, json, sys
from pip._vendor.packaging.requirements import Requirement
kept = []
for text in importlib.metadata.requires(sys.argv[1]) or ():
    each = Requirement(text)
    if each.marker is None or each.marker.evaluate({"extra": sys.argv[2]}):
        extras = f"[{','.join(sorted(each.extras))}]" if each.extras else ""
        free = each.name in sys.argv[3:]
        kept.append(f"{each.name}{extras}{'' if free else each.specifier}")
print(json.dumps(kept))
"""


def _install_loosened(python: Path, package: str, loosen: Sequence[str]) -> None:
    bare, _, extra = package.partition("==")[0].rstrip("]").partition("[")
    if loosen and _pip(python, "--no-deps", package):
        command = [str(python), "-c", _REQUIREMENTS, bare, extra, *loosen]
        wanted = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        if _pip(python, *wanted):
            return
    raise CannotRun(f"does not install here: {_last_error(python.parents[1] / 'install.txt')}")


def _last_error(log: Path) -> str:
    lines = [line for line in log.read_text().splitlines() if line.startswith("ERROR")]
    return re.sub(r"\(from versions:.*?\)", "", lines[-1] if lines else "see install.txt")[:160]


BUN = "bun@1.3.14"  # what programs made for it run with


def node_environment(env: Path, package: str, *, with_bun: bool = False) -> str:
    """A folder with an npm package; `package` is name@version. One that runs with Bun builds
    nothing for Node.js."""
    if shutil.which("npm") is None:
        raise CannotRun("needs Node.js with npm, which is not on this machine")
    if not (env / "ready").exists():
        shutil.rmtree(env, ignore_errors=True)
        env.mkdir(parents=True)
        (env / "package.json").write_text("{}")
        if with_bun:
            _npm(env, "install", BUN)
        _npm(env, "install", *(["--ignore-scripts"] if with_bun else []), package)
        (env / "ready").write_text(package.rpartition("@")[2])
    return (env / "ready").read_text()


def bun(env: Path) -> str:
    return str(env / "node_modules" / ".bin" / "bun")


def _npm(env: Path, what: str, *arguments: str) -> None:
    quiet = ["--no-fund", "--no-audit"] if what == "install" else []
    command = ["npm", what, *quiet, *arguments]
    done = subprocess.run(command, cwd=env, capture_output=True, timeout=INSTALL_SECONDS)
    if done.returncode:
        raise CannotRun(f"does not install here: {done.stderr.decode()[-160:]}")


# --- small things adapters share ------------------------------------------------------------


def run(command: Command, seconds: float) -> str:
    """A command of the peer's own, to its end; what it says on stdout."""
    try:
        done = subprocess.run(
            list(command.arguments),
            env=dict(command.env),
            cwd=command.cwd,
            capture_output=True,
            text=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"not done after {seconds / 60:.0f} minutes") from None
    if done.returncode:
        raise RuntimeError(
            f"{Path(command.arguments[0]).name}: {(done.stderr or done.stdout)[-300:]}"
        )
    return done.stdout


def found(reply: Reply, paths: Sequence[str]) -> Found:
    """Each note once, where its best passage stands."""
    return Found(list(dict.fromkeys(paths)), reply.seconds, reply.characters, reply.failed)


def everything(value: Any, take: Callable[[Mapping[str, Any]], str | None]) -> list[str]:
    """What `take` finds in the objects of an answer, in their order, however deep they lie."""
    if isinstance(value, Mapping):
        own = take(value)
        return ([own] if own else []) + [x for v in value.values() for x in everything(v, take)]
    if isinstance(value, list):
        return [x for each in value for x in everything(each, take)]
    return []
