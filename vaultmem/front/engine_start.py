"""Starting an engine away from us: in a session of its own, with nothing of ours open."""

from __future__ import annotations

import os
import sys

from vaultmem.front.engine_place import engine_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import NoReturn

    from vaultmem.front.engine_place import EnginePlace

_ALIVE = 3  # the descriptor that ends with the engine


class StartedEngine:
    """What whoever started it knows of it."""

    def has_ended(self) -> bool:
        raise NotImplementedError

    def close(self) -> None:
        """It goes on."""


def started_engine(
    place: EnginePlace, dialect: str, environment: Mapping[str, str]
) -> StartedEngine:
    """Raises OSError where it cannot be started."""
    command = [sys.executable, "-P", "-m", "vaultmem", "engine", "run"]
    command += ["--vault", place.vault, "--name", place.name]
    command += ["--dialect", dialect] if dialect else []
    command += ["--loopback"] if place.is_loopback else []
    environment = engine_environment(environment)
    if place.is_loopback:
        return _Detached(command, place, environment)
    return _Forked(command, place, environment)


class _Forked(StartedEngine):
    """It is nobody's child; it holds a pipe of ours open until it ends."""

    def __init__(
        self, command: list[str], place: EnginePlace, environment: Mapping[str, str]
    ) -> None:
        self._ended, alive = os.pipe()
        try:
            child = os.fork()
            if child == 0:
                _become_engine(command, place, environment, alive)
            refused = os.waitpid(child, 0)[1]
        except OSError:
            self.close()
            raise
        finally:
            os.close(alive)
        if refused:
            self.close()
            raise OSError(0, "it ended at once")

    def has_ended(self) -> bool:
        import select

        looking = select.poll()
        looking.register(self._ended, select.POLLIN)
        return bool(looking.poll(0))

    def close(self) -> None:
        if self._ended >= 0:
            os.close(self._ended)
            self._ended = -1


def _become_engine(
    command: list[str], place: EnginePlace, environment: Mapping[str, str], alive: int
) -> NoReturn:
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        said = _opened_log(place, nothing)
        kept = os.dup(alive)  # under another number than it gets
        for descriptor, target in ((nothing, 0), (nothing, 1), (said, 2), (kept, _ALIVE)):
            os.dup2(descriptor, target)
        os.closerange(_ALIVE + 1, 4096)
        os.chdir(os.sep)
        os.execve(sys.executable, command, environment)
    finally:
        os._exit(1)


class _Detached(StartedEngine):
    """Where a process cannot be forked."""

    def __init__(
        self, command: list[str], place: EnginePlace, environment: Mapping[str, str]
    ) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        said = _opened_log(place, nothing)
        try:
            self._child = _popen(command, nothing, said, environment)
        finally:
            for descriptor in {nothing, said}:
                os.close(descriptor)

    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def close(self) -> None:
        self._child.returncode = self._child.returncode or 0  # nobody waits for it


def _popen(
    command: list[str], nothing: int, said: int, environment: Mapping[str, str]
) -> Popen[bytes]:
    import subprocess

    detached = getattr(subprocess, "DETACHED_PROCESS", 0)
    detached |= getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    # A client may put all that it starts into a job that ends with it; it may also forbid to leave.
    leaving = detached | getattr(subprocess, "CREATE_BREAKAWAY_FROM_JOB", 0)
    for flags in (leaving, detached):
        try:
            return subprocess.Popen(
                command,
                stdin=nothing,
                stdout=nothing,
                stderr=said,
                env=dict(environment),
                cwd=os.path.abspath(os.sep),
                creationflags=flags,
                start_new_session=not flags,
            )
        except PermissionError:
            if flags == detached:
                raise
    raise AssertionError


def _opened_log(place: EnginePlace, nothing: int) -> int:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        return os.open(place.log, flags, 0o600)
    except OSError:  # the disk is full; an engine can do without
        return nothing
