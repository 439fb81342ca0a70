"""Reaching the engine of a vault, and starting one where none is."""

from __future__ import annotations

import os
import time

from vaultmem.base.processes import lock_call
from vaultmem.front import plain_json
from vaultmem.front.engine_place import WIRE, EnginePlace, NoPlace, asker_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket
    from types import ModuleType
    from typing import Any

    from vaultmem.front.engine_start import StartedEngine

START_SECONDS = 10.0  # until an engine that was started must be there
ANSWER_SECONDS = 10.0  # until one that is there must have said that it takes us
TRY_SECONDS = 0.01  # between two attempts
_MOST_STARTS = 2  # of engines that end before they are there
_PIECE = 1 << 16


class NoEngine(Exception):
    """None is to be had; the text says why."""


def way_to(place: EnginePlace) -> ModuleType:
    """How it is reached: what the two modules offer is the same."""
    if place.is_loopback:
        from vaultmem.front import loopback_way

        return loopback_way
    from vaultmem.front import unix_way

    return unix_way


def connected(place: EnginePlace) -> socket | None:
    """A socket to the engine; None where nobody listens."""
    try:
        link: socket | None = way_to(place).reached(place)
    except OSError as error:
        raise NoEngine(f"the engine cannot be reached: {error.strerror or error}") from None
    return link


def hello(kind: str, place: EnginePlace, environment: Mapping[str, str], **more: Any) -> bytes:
    """The first line of ours to an engine: who asks, from where, for what."""
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


def opening(place: EnginePlace, said: bytes) -> tuple[bytes, Callable[[bytes], bytes] | None]:
    """What is sent first, and what then follows the engine's first line, if anything has to."""
    try:
        first, after = way_to(place).opening(place, said)
    except OSError as error:
        raise NoEngine(f"the engine cannot be reached: {error.strerror or error}") from None
    return first, after


def introduce(link: socket, place: EnginePlace, said: bytes) -> bytes:
    """Say that on a socket that waits; what came behind the engine's own first line."""
    first, after = opening(place, said)
    link.sendall(first)
    if after is None:
        return b""
    line, rest = line_from(link, b"")
    link.sendall(after(line))
    return rest


def line_from(link: socket, begun: bytes) -> tuple[bytes, bytes]:
    """The next line, and what came behind it."""
    pieces = begun
    while b"\n" not in pieces:
        piece = link.recv(_PIECE)
        if not piece:
            raise OSError("it ended")
        pieces += piece
    line, _, rest = pieces.partition(b"\n")
    return line, rest


class Starting:
    """An engine that is being started, by us or by somebody else."""

    def __init__(self, place: EnginePlace, dialect: str, environment: Mapping[str, str]) -> None:
        self._place, self._dialect, self._environment = place, dialect, environment
        self._until = time.monotonic() + START_SECONDS
        self._held = -1
        self._starts = 0
        self._started: StartedEngine | None = None

    def link(self) -> socket | None:
        """The socket once there is one; raises NoEngine when that takes too long."""
        ended = self._started is not None and self._started.has_ended()  # before we look
        link = connected(self._place)
        if link is not None:
            self.close()
            return link
        if time.monotonic() > self._until:
            self.close()
            raise NoEngine("an engine was started and did not come up")
        if ended:
            self.close()
            if self._starts >= _MOST_STARTS:
                raise NoEngine(f"an engine ended while it started; {self._place.log} may say why")
        if self._held < 0 and self._may_start():
            self._start()
        return None

    def _start(self) -> None:
        from vaultmem.front.engine_start import started_engine

        self._starts += 1
        try:
            self._started = started_engine(self._place, self._dialect, self._environment)
        except OSError as error:
            self.close()
            raise NoEngine(f"no process can be started: {error.strerror or error}") from None

    def _may_start(self) -> bool:
        """One of those who wait starts it, as long as no engine has the lock."""
        try:
            self._place.make_folder()
            held = lock_call.locked_file(self._place.starting)
            if held < 0:
                return False
            self._held = held
            engine = lock_call.locked_file(self._place.lock)
        except NoPlace as error:
            raise NoEngine(str(error)) from None
        except OSError as error:
            self.close()
            file = error.filename or self._place.folder
            raise NoEngine(f"{file} cannot be opened: {error.strerror}") from None
        if engine < 0:
            self.close()
            return False
        os.close(engine)
        return True

    def close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1
        if self._started is not None:
            self._started.close()
            self._started = None


def start_if_none(place: EnginePlace, environment: Mapping[str, str]) -> None:
    """Without waiting for it."""
    starting = Starting(place, "", environment)
    try:
        if link := starting.link():
            link.close()
    finally:
        starting.close()
