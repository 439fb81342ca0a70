"""Who is connected to an engine, and what they asked for."""

from __future__ import annotations

import contextlib
import io
import logging
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from vaultmem.base import small_files
from vaultmem.front import plain_json
from vaultmem.front.asker import Asker
from vaultmem.front.engine_place import WIRE
from vaultmem.limits import bounded_client_name
from vaultmem.notes.masking import without_private

HELLO_SECONDS: Final = 10.0
_WORD_BYTES: Final = 10
_MOST_WORDS: Final = 1_000  # that wait for a window
_LAST_SECONDS: Final = 1.0  # for the last of them
_HELLO_BYTES: Final = 8_000_000  # a hook's event stands in it


class Refused(Exception):
    """The caller has to do it itself; the text says why."""


@dataclass(frozen=True)
class Hello:
    kind: str
    arguments: tuple[str, ...]
    asker: Asker
    process: int
    session: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


class Visitor:
    """One connected process. It may read slowly, or not at all: what is said beside its replies
    waits for it in a thread of its own, and what does not fit is left out."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._sending = threading.Lock()
        self._words: queue.Queue[bytes | None] = queue.Queue(_MOST_WORDS)
        self._speaker: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._lines: BinaryIO = io.BufferedReader(link.makefile("rb", buffering=0), 1 << 16)
        self.since = time.time()
        self.kind = ""
        self.client = ""  # as it calls itself
        self.project = ""
        self.session = ""
        self.process = 0
        self.log_level = logging.WARNING

    def hello(self, engine: str) -> Hello:
        """Raises Refused for whoever is not to be served, OSError where nothing comes."""
        self._link.settimeout(HELLO_SECONDS)
        line = self._lines.readline(_HELLO_BYTES)
        self._link.settimeout(None)
        hello = _read_hello(line, engine)
        self.kind, self.session, self.process = hello.kind, hello.session, hello.process
        return hello

    def is_waiting(self) -> bool:
        """Whether it still wants this done, and has not begun to do it by itself."""
        self._link.settimeout(HELLO_SECONDS)
        word = self._lines.readline(_WORD_BYTES)
        self._link.settimeout(None)
        return word == b"go\n"

    def lines(self) -> Iterator[bytes]:
        """What the client says; the window's own words are answered here."""
        from vaultmem.surfaces.mcp.lines import LINE_BYTES, next_line

        while line := next_line(self._lines, LINE_BYTES + 1):  # one byte says whose word it is
            if line.startswith(b"!"):
                self.send(b"!\n")
            else:
                yield line[1:]

    def send(self, line: bytes) -> None:
        with self._sending:
            self._link.sendall(line)

    def tell(self, answer: Mapping[str, Any]) -> None:
        self.send(plain_json.written(answer).encode() + b"\n")

    def say(self, text: str) -> None:
        """To the person who looks at the window's stderr."""
        self._speak(b"!" + plain_json.written(text).encode() + b"\n")

    def tell_client(self, line: bytes) -> None:
        """What it did not ask for."""
        self._speak(line)

    def _speak(self, words: bytes) -> None:
        with contextlib.suppress(queue.Full):
            self._words.put_nowait(words)
        with self._beginning:
            if self._speaker is None:
                self._speaker = threading.Thread(target=self._send_words, daemon=True)
                self._speaker.start()

    def _send_words(self) -> None:
        with contextlib.suppress(OSError):
            while (words := self._words.get()) is not None:
                self.send(words)

    def know_client(self, name: str) -> None:
        self.client = bounded_client_name(without_private(name))

    def told(self) -> dict[str, Any]:
        """For who asks about the engine."""
        return {
            "client": self.client,
            "project": self.project,
            "session": self.session,
            "process": self.process,
            "since": int(self.since),
        }

    def hang_up(self) -> None:
        """Nothing more is taken from it; what it is owed can still be sent."""
        self._speak(b"!bye\n")
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        if self._speaker is not None:
            with contextlib.suppress(queue.Full):
                self._words.put_nowait(None)
            self._speaker.join(_LAST_SECONDS)
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._link.close()


def _read_hello(line: bytes, engine: str) -> Hello:
    try:
        told = small_files.parse_json(line)
    except ValueError:
        raise Refused("what came in is no greeting") from None
    if not isinstance(told, dict) or told.get("vaultmem") != WIRE or told.get("engine") != engine:
        raise Refused("this engine is another one")
    environment, arguments = told.get("environment"), told.get("arguments", [])
    if not _is_texts(arguments) or not isinstance(environment, dict):
        raise Refused("what came in is no greeting")
    if not _is_texts([*environment, *environment.values()]):
        raise Refused("what came in is no greeting")
    asker = Asker(environment, str(told.get("folder") or "/"), int(told.get("columns") or 80))
    return Hello(
        str(told.get("kind")),
        tuple(arguments),
        asker,
        int(told.get("process") or 0),
        str(told.get("session") or ""),
        told,
    )


def _is_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)


# --- what is logged for one of them --------------------------------------------------------

_heard: ContextVar[Visitor | None] = ContextVar("heard", default=None)


def speak_for(visitor: Visitor) -> Callable[[], None]:
    """What is logged in this task or thread from now on is told to that window; call the answer
    to end that."""
    token = _heard.set(visitor)
    return lambda: _heard.reset(token)


class WindowLog(logging.Handler):
    """What concerns one window is said on its stderr, everything else on the engine's own."""

    def __init__(self, own_level: int) -> None:
        super().__init__()
        self.own_level = own_level

    def emit(self, record: logging.LogRecord) -> None:
        visitor = _heard.get()
        text = self.format(record) + "\n"
        if visitor is None:
            if record.levelno >= self.own_level:
                with contextlib.suppress(OSError):  # the disk may be full
                    sys.stderr.write(text)
                    sys.stderr.flush()
        elif record.levelno >= visitor.log_level:
            visitor.say(text)
