"""A client's window on the vault's engine: passes bytes, and answers at once what it can.

The client notices nothing of an engine that is being started, or that dies: what only reads is
asked again of the next one, what may have written is answered with an error that says so. Where
no engine is to be had, the server in this process takes over in the middle of the conversation.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what is around it takes long to load
import os
import select
import sys
import time

from vaultmem.base import parent_process
from vaultmem.front import plain_json
from vaultmem.front.conversation import LINE_BYTES
from vaultmem.front.engine_call import ANSWER_SECONDS, TRY_SECONDS, NoEngine, Starting, hello

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket
    from typing import Any

    from vaultmem.front.conversation import Conversation
    from vaultmem.front.engine_place import EnginePlace

PING_SECONDS = 3.0  # of silence while something is under way
HUNG_SECONDS = 10.0  # of silence after which the engine is given up
PARENT_SECONDS = 0.5
END_SECONDS = 15.0  # for what runs when the client has left
_DEATHS = 3  # within a minute, after which the server in this process takes over
_PIECE = 1 << 16
_WHOLE = 4096  # bytes that a pipe takes at once when it says that it takes some


class Left:
    """What a window leaves to the server in its own process, and why there is no engine."""

    def __init__(self, reason: str, said: bytes = b"", answered: tuple[Any, ...] = ()) -> None:
        self.reason = reason
        self.said = said
        self.answered = answered


class Window:
    def __init__(
        self,
        place: EnginePlace,
        dialect: str,
        environment: Mapping[str, str],
        arguments: list[str],
        conversation: Conversation,
    ) -> None:
        self._place, self._dialect, self._environment = place, dialect, environment
        self._arguments = arguments
        self._talk = conversation
        self._session = ""
        self._starting: Starting | None = None
        self._link: socket | None = None
        self._greeted = False
        self._from_client, self._from_engine = bytearray(), bytearray()
        self._to_client, self._to_engine = bytearray(), bytearray()
        self._waiting: list[bytes] = []  # lines that no engine has yet
        self._too_long = False
        self._ended = 0.0  # when the client left
        self._is_end_told = self._is_asked_to_end = False
        self._heard = False
        self._last_heard = self._last_ping = self._last_look = time.monotonic()
        self._is_let_go = False  # the engine is asked for again when it is needed
        self._deaths: list[float] = []

    def run(self) -> Left | None:
        """Until the client has left and has all its replies; or what is left to another."""
        for number in (_signal.SIGTERM, _signal.SIGINT):
            _signal.signal(number, self._heed_signal)
        try:
            self._reach_engine()
            while not self._is_done():
                self._turn()
        except NoEngine as error:
            reason = str(error)
        except BrokenPipeError:  # the client no longer reads
            return None
        else:
            return None
        try:
            return None if self._is_asked_to_end else self._leave(reason)
        except BrokenPipeError:
            return None

    def _is_done(self) -> bool:
        if not self._ended or self._to_client:
            return False
        if time.monotonic() - self._ended > END_SECONDS:
            return True
        nothing_left = not (self._talk.is_something_under_way or self._from_client)
        return nothing_left and self._link is None and self._starting is None

    def _heed_signal(self, number: int, frame: object) -> None:
        """What runs may finish; who asks twice does not want to wait."""
        if self._is_asked_to_end:
            os._exit(0)
        self._is_asked_to_end = True
        self._end()

    # --- one turn ------------------------------------------------------------------------

    def _turn(self) -> None:
        events = select.poll()
        if not self._ended:
            events.register(0, select.POLLIN)
        if self._to_client:
            events.register(1, select.POLLOUT)
        if self._link is not None:
            wanted = select.POLLIN | (select.POLLOUT if self._to_engine else 0)
            events.register(self._link.fileno(), wanted)
        for descriptor, said in events.poll(self._patience() * 1000):
            if descriptor == 0:
                self._hear_client()
            elif descriptor == 1:
                self._tell_client(said)
            elif self._link is not None and descriptor == self._link.fileno():
                self._exchange(self._link, said)
        self._look_around()

    def _patience(self) -> float:
        if self._starting is not None:
            return TRY_SECONDS
        return PARENT_SECONDS

    def _look_around(self) -> None:
        now = time.monotonic()
        if self._starting is not None:
            self._greet(self._starting.link())
        elif self._link is not None:
            self._look_after_engine(now)
        if now - self._last_look >= PARENT_SECONDS:
            self._last_look = now
            gone = parent_process.is_parent_gone(heard=self._heard) or not _has_reader(1)
            if not self._ended and gone:
                sys.stderr.write(
                    "The program that started this server has ended, so it ends too.\n"
                )
                self._end()

    def _end(self) -> None:
        self._ended = self._ended or time.monotonic()

    # --- the client ----------------------------------------------------------------------

    def _hear_client(self) -> None:
        try:
            piece = os.read(0, _PIECE)
        except OSError:
            piece = b""
        if not piece:
            if self._from_client:  # a last line without its end
                self._take_line(bytes(self._from_client))
                self._from_client.clear()
            self._end()
            return
        self._heard = True
        self._from_client += piece
        if b"\n" in piece:
            *lines, rest = self._from_client.split(b"\n")
            self._from_client = bytearray(rest)
            for line in lines:
                if not self._too_long:
                    self._take_line(bytes(line))
                self._too_long = False
        if len(self._from_client) > LINE_BYTES and not self._too_long:
            self._take_line(bytes(self._from_client))
            self._too_long = True
        if self._too_long:
            self._from_client.clear()

    def _take_line(self, line: bytes) -> None:
        reply, goes_on = self._talk.reply_at_once(line)
        self._to_client += reply
        if reply:
            self._tell_client(0)
        if goes_on:
            self._pass_on(line)

    def _tell_client(self, said: int) -> None:
        if said & (select.POLLERR | select.POLLHUP):
            raise BrokenPipeError
        while self._to_client and _takes_some(1):
            del self._to_client[: os.write(1, self._to_client[:_WHOLE])]

    # --- the engine ----------------------------------------------------------------------

    def _reach_engine(self) -> None:
        self._starting = Starting(self._place, self._dialect, self._environment)
        self._greet(self._starting.link())

    def _greet(self, link: socket | None) -> None:
        if link is None:
            return
        self._starting, self._link, self._greeted = None, link, False
        self._is_let_go = False
        more = {"arguments": self._arguments, "session": self._session}
        self._to_engine = bytearray(hello("window", self._place, self._environment, **more))
        self._from_engine.clear()
        self._last_heard = time.monotonic()

    def _pass_on(self, line: bytes) -> None:
        if self._greeted:
            self._to_engine += b">" + line + b"\n"
            return
        self._waiting.append(line)
        if self._link is None and self._starting is None:
            self._reach_engine()

    def _exchange(self, link: socket, said: int) -> None:
        try:
            if said & select.POLLOUT and self._to_engine:
                del self._to_engine[: link.send(self._to_engine[:_PIECE])]
            if said & (select.POLLIN | select.POLLHUP | select.POLLERR):
                piece = link.recv(_PIECE)
                if not piece:
                    self._engine_left()
                    return
                self._hear_engine(piece)
        except BlockingIOError:
            return
        except OSError:
            self._engine_left()

    def _hear_engine(self, piece: bytes) -> None:
        self._last_heard = time.monotonic()
        self._from_engine += piece
        if b"\n" not in piece:
            return
        *lines, rest = self._from_engine.split(b"\n")
        self._from_engine = bytearray(rest)
        for line in map(bytes, lines):
            if line == b"!bye":
                self._is_let_go = True
            elif line.startswith(b"!"):
                _say(line[1:])
            elif not self._greeted:
                self._take_answer_to_hello(line)
            elif self._talk.take_reply(line):
                self._to_client += line + b"\n"
        if self._to_client:
            self._tell_client(0)

    def _take_answer_to_hello(self, line: bytes) -> None:
        try:
            answer = plain_json.parsed(line.decode())
        except ValueError:
            raise NoEngine("what the engine says cannot be read") from None
        if refused := answer.get("refused"):
            raise NoEngine(str(refused))
        self._greeted = True
        self._session = str(answer.get("session", ""))
        self._talk.know_read_only(bool(answer.get("read_only")))
        for waiting in self._waiting:
            self._pass_on(waiting)
        self._waiting = []

    def _look_after_engine(self, now: float) -> None:
        silent = now - self._last_heard
        if not self._greeted:
            if silent > ANSWER_SECONDS:
                raise NoEngine("an engine is there and does not answer")
            return
        if self._talk.is_something_under_way and silent > PING_SECONDS:
            if silent > HUNG_SECONDS and now - self._last_ping < HUNG_SECONDS:
                raise NoEngine("the engine no longer answered")
            if now - self._last_ping > PING_SECONDS:
                self._last_ping = now
                self._to_engine += b"!\n"
        if self._ended and not self._to_engine and not self._is_end_told:
            self._is_end_told = True
            self._link_shut_down()

    def _link_shut_down(self) -> None:
        assert self._link is not None
        try:
            self._link.shutdown(1)  # SHUT_WR
        except OSError:
            self._engine_left()

    def _engine_left(self) -> None:
        """It is asked for anew, with all that the next one has to know."""
        assert self._link is not None
        self._link.close()
        self._link = None
        if self._ended and not (self._talk.is_something_under_way or self._waiting):
            return
        self._is_end_told = False
        if self._is_let_go and not self._talk.is_something_under_way:
            self._say_again()
            return
        now = time.monotonic()
        self._deaths = [*(death for death in self._deaths if now - death < 60), now]
        if len(self._deaths) >= _DEATHS:
            raise NoEngine("the engine ended again and again")
        self._say_again()
        self._reach_engine()

    def _say_again(self) -> None:
        sent = self._greeted
        self._greeted = False
        if not sent:
            return
        again, lost = self._talk.begin_anew()
        self._to_client += b"".join(lost)
        self._waiting = [*again, *self._waiting]

    def _leave(self, reason: str) -> Left:
        """To the server in this process."""
        if self._link is not None:
            self._link.close()
        if self._starting is not None:
            self._starting.close()
        self._say_again()
        os.set_blocking(1, True)
        while self._to_client:
            del self._to_client[: os.write(1, self._to_client)]
        said = b"".join(line + b"\n" for line in self._waiting) + bytes(self._from_client)
        answered = tuple(map(plain_json.parsed, self._talk.dropped))
        return Left(reason, said, answered)


def _say(line: bytes) -> None:
    """What the engine has to say to a person; or only that it is there."""
    if line:
        sys.stderr.write(str(plain_json.parsed(line.decode())))
        sys.stderr.flush()


def _takes_some(descriptor: int) -> bool:
    asked = select.poll()
    asked.register(descriptor, select.POLLOUT)
    return bool(asked.poll(0))


def _has_reader(descriptor: int) -> bool:
    asked = select.poll()
    asked.register(descriptor, 0)
    return not any(said & (select.POLLERR | select.POLLHUP) for _, said in asked.poll(0))
