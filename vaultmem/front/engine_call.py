"""Reaching the engine of a vault, and starting one where none is."""

from __future__ import annotations

import os
import sys
import time

from vaultmem.front import plain_json
from vaultmem.front.engine_place import (
    WIRE,
    EnginePlace,
    NoPlace,
    asker_environment,
    engine_environment,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket
    from typing import Any

START_SECONDS = 10.0  # until an engine that was started must be there
ANSWER_SECONDS = 10.0  # until one that is there must have said that it takes us
TRY_SECONDS = 0.01  # between two attempts


class NoEngine(Exception):
    """None is to be had; the text says why."""


def connected(place: EnginePlace) -> socket | None:
    """A socket to the engine; None where nobody listens."""
    import _socket

    try:
        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        link.setblocking(False)
    except OSError as error:
        raise NoEngine(f"no socket can be made: {error.strerror}") from None
    try:
        link.connect(place.socket)
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        link.close()
        return None
    except OSError as error:
        link.close()
        raise NoEngine(f"the engine cannot be reached: {error.strerror}") from None
    return link  # type: ignore[return-value]


def hello(kind: str, place: EnginePlace, environment: Mapping[str, str], **more: Any) -> bytes:
    """The first line on a socket: who asks, from where, for what."""
    try:
        folder = os.getcwd()
    except OSError:
        folder = os.sep
    told = {
        "vaultmem": WIRE,
        "engine": place.name,
        "kind": kind,
        "folder": folder,
        "environment": asker_environment(environment),
        "process": os.getpid(),
        **more,
    }
    return plain_json.written(told).encode("utf-8", "surrogateescape") + b"\n"


class Starting:
    """An engine that is being started, by us or by somebody else."""

    def __init__(self, place: EnginePlace, dialect: str, environment: Mapping[str, str]) -> None:
        self._place, self._dialect, self._environment = place, dialect, environment
        self._until = time.monotonic() + START_SECONDS
        self._held = -1

    def link(self) -> socket | None:
        """The socket once there is one; raises NoEngine when that takes too long."""
        link = connected(self._place)
        if link is not None:
            self.close()
            return link
        if time.monotonic() > self._until:
            self.close()
            raise NoEngine("an engine was started and did not come up")
        if self._held < 0 and self._may_start():
            _start_engine(self._place, self._dialect, self._environment)
        return None

    def _may_start(self) -> bool:
        """One of those who wait starts it, as long as no engine has the lock."""
        import fcntl

        try:
            self._place.make_folder()
        except NoPlace as error:
            raise NoEngine(str(error)) from None
        for file in (self._place.lock, self._place.starting):
            try:
                held = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise NoEngine(f"{file} cannot be opened: {error.strerror}") from None
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(held)
                return False
            if file == self._place.lock:
                os.close(held)
        self._held = held
        return True

    def close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def start_if_none(place: EnginePlace, environment: Mapping[str, str]) -> None:
    """Without waiting for it."""
    starting = Starting(place, "", environment)
    try:
        if link := starting.link():
            link.close()
    finally:
        starting.close()


def _start_engine(place: EnginePlace, dialect: str, environment: Mapping[str, str]) -> None:
    """Away from us: in a session of its own, with nothing of ours open, and nobody's child."""
    command = [sys.executable, "-P", "-m", "vaultmem", "engine", "run"]
    command += ["--vault", place.vault, "--name", place.name]
    command += ["--dialect", dialect] if dialect else []
    try:
        child = os.fork()
    except OSError as error:
        raise NoEngine(f"no process can be started: {error.strerror}") from None
    if child:
        if os.waitpid(child, 0)[1]:
            raise NoEngine("no process can be started")
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        said = _opened_log(place, nothing)
        for descriptor, target in ((nothing, 0), (nothing, 1), (said, 2)):
            os.dup2(descriptor, target)
        os.closerange(3, 4096)
        os.chdir(os.sep)
        os.execve(sys.executable, command, engine_environment(environment))
    finally:
        os._exit(1)


def _opened_log(place: EnginePlace, nothing: int) -> int:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        return os.open(place.log, flags, 0o600)
    except OSError:  # the disk is full; an engine can do without
        return nothing
