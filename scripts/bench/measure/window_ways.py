"""The ways to serve a window: through the vault's engine, or each by itself."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from peers import Place
from peers.vaultmem import Adapter

from measure import machine
from measure.client import Command, Server
from measure.corpus import Notes

ENGINE, OFF = "with the engine", "without"
_TICK = 1000 / os.sysconf("SC_CLK_TCK")


class Way(Adapter):
    """One of them, with a vault and a folder for its sockets."""

    def __init__(self, name: str, vault: Notes) -> None:
        super().__init__()
        self.name = name
        home = vault.folder.with_name("engine" if name == ENGINE else "off")
        self.place = Place(home, home, home / "vault", vault)
        self._sockets = tempfile.mkdtemp(prefix="vm")  # a socket's path is short
        self._engine = 0

    def __enter__(self) -> Way:
        if not self.place.notes.exists():
            self.place.vault.copy(self.place.notes)
            with contextlib.suppress(SystemExit):  # it finds that the index was copied
                self.run_program("index")
        self.run_program("index")
        self.stop_engine()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_engine()
        shutil.rmtree(self._sockets)

    def run_as(self, place: Place, *arguments: str) -> Command:
        plain = super().run_as(place, *arguments)
        more = {"XDG_RUNTIME_DIR": self._sockets}
        more["VAULTMEM_ENGINE"] = "" if self.name == ENGINE else "off"
        return Command(plain.arguments, {**plain.env, **more}, plain.cwd)

    def command(self, place: Place) -> Command:
        """As a client starts it from a clone."""
        return self._vaultmem("serve")

    def _vaultmem(self, *words: str) -> Command:
        plain = self.run_as(self.place)
        launcher = str(machine.ROOT / "scripts" / "vaultmem")
        return Command([launcher, *words, "--vault", str(self.place.notes)], plain.env, plain.cwd)

    def window(self) -> Server:
        server = Server(self.command(self.place), self.place.errors)
        server.handshake()
        return server

    # --- processes to their end --------------------------------------------------------------

    def run_program(self, *words: str, given: str = "") -> tuple[float, float]:
        return self._run(self._vaultmem(*words), given)

    def run_python(self, *arguments: str) -> tuple[float, float]:
        return self._run(self.run_as(self.place, *arguments))

    def _run(self, command: Command, given: str = "") -> tuple[float, float]:
        """Its processor time, and its time."""
        with tempfile.TemporaryFile() as told, self.place.errors.open("ab") as errors:
            told.write(given.encode())
            told.seek(0)
            begun = time.perf_counter()
            child = subprocess.Popen(
                list(command.arguments), env=dict(command.env), cwd=command.cwd,
                stdin=told, stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
            _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said = self.place.errors.read_text(errors="replace")[-300:]
            raise SystemExit(f"{' '.join(command.arguments)} ended with {child.returncode}: {said}")
        return (used.ru_utime + used.ru_stime) * 1000, wall * 1000

    # --- the engine --------------------------------------------------------------------------

    def engine(self) -> int:
        """Its process; 0 where there is none."""
        if self.name != ENGINE:
            return 0
        if not self._engine or not Path(f"/proc/{self._engine}").exists():
            told = self._engine_says("status", "--json")
            self._engine = int((json.loads(told) or {}).get("process", 0))
        return self._engine

    def stop_engine(self) -> None:
        process, self._engine = self.engine(), 0
        if process:
            self._engine_says("stop")
            while Path(f"/proc/{process}").exists():
                time.sleep(0.02)

    def _engine_says(self, *words: str) -> str:
        command = self._vaultmem("engine", *words)
        done = subprocess.run(
            list(command.arguments), env=dict(command.env), cwd=command.cwd,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def engine_cpu(self) -> float:
        return cpu_of(self.engine()) if self.engine() else 0.0

    def all_of(self, windows: list[int]) -> list[int]:
        return [*windows, self.engine()] if self.engine() else windows


def cpu_of(pid: int) -> float:
    """Milliseconds, threads that have ended included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def cpu_of_threads(pid: int) -> float:
    """Milliseconds, to the microsecond, of the threads that there are."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


def own_of(pids: Iterable[int], vault: Path) -> dict[str, float]:
    """MB of all of them together, without mapped files of the index."""
    seen = [machine.memory(pid, vault / ".vaultmem", alone=True) for pid in pids]
    known = [each for each in seen if each]
    return {"own": sum(m.own for m in known), "PSS": sum(m.pss for m in known)}


# --- what is printed -------------------------------------------------------------------------


def table(found: dict[str, dict[str, list[float]]]) -> str:
    columns = list(dict.fromkeys(name for row in found.values() for name in row))
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for row, cells in found.items():
        shown = [_shown(cells.get(column)) for column in columns]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _shown(values: list[float] | None) -> str:
    return f"{statistics.median(values):.4g}" if values else "–"
