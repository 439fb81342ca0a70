"""A client's window on the vault's engine: passes bytes, and answers at once what it can.

The client notices nothing of an engine that is being started, or that dies: what only reads is
asked again of the next one, what may have written is answered with an error that says so. Where
no engine is to be had, the server in this process takes over in the middle of the conversation.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what is around it takes long to load
import os
import sys
import time

from vaultmem.base.processes import parent_process
from vaultmem.front import plain_json
from vaultmem.front.conversation import LINE_BYTES
from vaultmem.front.engine_call import (
    ANSWER_SECONDS,
    TRY_SECONDS,
    NoEngine,
    Starting,
    hello,
    opening,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket
    from typing import Any

    from vaultmem.front.client_streams import ClientStreams
    from vaultmem.front.conversation import Conversation
    from vaultmem.front.engine_place import EnginePlace

PING_SECONDS = 3.0  # of silence while something is under way
HUNG_SECONDS = 10.0  # of silence after a ping, when the engine is given up
PARENT_SECONDS = 0.5
END_SECONDS = 15.0  # for what runs when the client has left
_DEATHS = 3  # within a minute, after which the server in this process takes over
_PIECE = 1 << 16
_MOST_WAITING = 40_000_000  # bytes that the engine has not taken; then the client has to wait


class Left:
    """What a window leaves to the server in its own process, and why there is no engine."""

    def __init__(
        self, reason: str, said: bytes = b"", answered: tuple[Any, ...] = (), session: str = ""
    ) -> None:
        self.reason = reason
        self.said = said
        self.answered = answered
        self.session = session


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
        self._streams = _client_streams(place)
        self._session = ""
        self._starting: Starting | None = None
        self._link: socket | None = None
        self._after_first: Callable[[bytes], bytes] | None = None  # of the engine's lines
        self._greeted = False
        self._from_client, self._from_engine = bytearray(), bytearray()
        self._to_client, self._to_engine = bytearray(), bytearray()
        self._waiting: list[bytes] = []  # lines that no engine has yet
        self._too_long = False
        self._ended = 0.0  # when the client left
        self._is_end_told = self._is_asked_to_end = False
        self._heard = False
        self._last_heard = self._last_look = time.monotonic()
        self._pinged = 0.0  # when, if nothing was heard since
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
        if not self._ended or self._to_client or not self._streams.is_all_told():
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
        link = self._link
        client_said, client_takes, engine_said, engine_takes = self._streams.ready(
            link,
            self._patience(),
            hears=not self._ended and self._takes_more(),
            tells=bool(self._to_client),
            sends=bool(self._to_engine),
        )
        if client_said:
            self._hear_client()
        if client_takes:
            self._streams.write(self._to_client)
        if link is not None and (engine_said or engine_takes):
            self._exchange(link, said=engine_said, takes=engine_takes)
        self._look_around()

    def _takes_more(self) -> bool:
        return len(self._to_engine) + sum(map(len, self._waiting)) < _MOST_WAITING

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
            gone = parent_process.is_parent_gone(heard=self._heard)
            gone = gone or not self._streams.has_reader()
            if not self._ended and gone:
                sys.stderr.write(
                    "The program that started this server has ended, so it ends too.\n"
                )
                self._end()

    def _end(self) -> None:
        self._ended = self._ended or time.monotonic()

    # --- the client ----------------------------------------------------------------------

    def _hear_client(self) -> None:
        piece = self._streams.read()
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
            self._streams.write(self._to_client)
        if goes_on:
            self._pass_on(line)

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
        said = hello("window", self._place, self._environment, **more)
        first, self._after_first = opening(self._place, said)
        self._to_engine = bytearray(first)
        self._from_engine.clear()
        self._last_heard, self._pinged = time.monotonic(), 0.0

    def _pass_on(self, line: bytes) -> None:
        if self._greeted:
            self._to_engine += b">" + line + b"\n"
            return
        self._waiting.append(line)
        if self._link is None and self._starting is None:
            self._reach_engine()

    def _exchange(self, link: socket, *, said: bool, takes: bool) -> None:
        try:
            if takes and self._to_engine:
                del self._to_engine[: link.send(self._to_engine[:_PIECE])]
            if said:
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
        self._last_heard, self._pinged = time.monotonic(), 0.0
        self._from_engine += piece
        if b"\n" not in piece:
            return
        *lines, rest = self._from_engine.split(b"\n")
        self._from_engine = bytearray(rest)
        for line in map(bytes, lines):
            if self._after_first is not None:
                self._to_engine += self._after_first(line)
                self._after_first = None
            elif line == b"!bye":
                self._is_let_go = True
            elif line.startswith(b"!"):
                _say(line[1:])
            elif not self._greeted:
                self._take_answer_to_hello(line)
            elif self._talk.take_reply(line):
                self._to_client += line + b"\n"
        if self._to_client:
            self._streams.write(self._to_client)

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
        if self._pinged and now - self._pinged > HUNG_SECONDS:
            raise NoEngine("the engine no longer answered")
        if self._talk.is_something_under_way and silent > PING_SECONDS and not self._pinged:
            self._pinged = now
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
        self._streams.hand_over(self._to_client)
        said = b"".join(line + b"\n" for line in self._waiting) + bytes(self._from_client)
        answered = tuple(map(plain_json.parsed, self._talk.dropped))
        return Left(reason, said, answered, self._session)


def _client_streams(place: EnginePlace) -> ClientStreams:
    if place.is_loopback:
        from vaultmem.front.threaded_streams import ThreadedStreams

        return ThreadedStreams()
    from vaultmem.front.client_streams import ClientStreams

    return ClientStreams()


def _say(line: bytes) -> None:
    """What the engine has to say to a person; or only that it is there."""
    if line:
        sys.stderr.write(str(plain_json.parsed(line.decode())))
        sys.stderr.flush()
