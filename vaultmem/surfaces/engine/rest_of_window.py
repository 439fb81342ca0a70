"""What a window leaves to the library: said in one thread, heard in another."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

log = logging.getLogger("vaultmem")

_HEARD_SECONDS: Final = 30.0  # until the library, once loaded, has begun with what it was told


class RestOfWindow:
    """Loading the library takes a while, in which the window goes on."""

    def __init__(
        self,
        said: Sequence[bytes],
        serve: Callable[[Iterator[bytes]], None],
        fail: Callable[[], None],
    ) -> None:
        self._serve, self._fail = serve, fail
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._said = self._heard = 0
        for line in said:
            self.add(line)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, line: bytes) -> None:
        self._said += 1
        self._lines.put(line)

    def await_heard(self) -> None:
        """What is said later begins later: a call may tell of a change that was subscribed to."""
        said = self._said
        if self._heard < said:
            with self._changed:
                self._changed.wait_for(lambda: self._heard >= said, _HEARD_SECONDS)

    def end(self) -> None:
        self._lines.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._serve(self._lines_to_hear())
        except Exception:  # the edge of a window; its front asks another engine, or itself
            log.warning("a window cannot be served", exc_info=True)
            self._fail()

    def _lines_to_hear(self) -> Iterator[bytes]:
        """Whoever asks for the next one has begun with the one before."""
        while (line := self._lines.get()) is not None:
            yield line
            with self._changed:
                self._heard += 1
                self._changed.notify_all()
