"""Whose call works next: a few at a time, so that they do not hold each other up."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Final

AT_ONCE: Final = 2  # one interpreter runs one thread; another may wait for a file or a model
LONG_SECONDS: Final = 0.1


class _Turn:
    __slots__ = ("begun", "may_begin")

    def __init__(self) -> None:
        self.begun = 0.0
        self.may_begin = threading.Event()


class Turns:
    """In the order in which they came. A call that takes long no longer counts, so that no number
    of long ones holds up a short one."""

    def __init__(self, at_once: int = AT_ONCE, long_seconds: float = LONG_SECONDS) -> None:
        self._at_once, self._long = at_once, long_seconds
        self._changing = threading.Lock()
        self._working: set[_Turn] = set()
        self._waiting: deque[_Turn] = deque()

    @property
    def is_quiet(self) -> bool:
        return not self._working and not self._waiting

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        mine = _Turn()
        with self._changing:
            self._waiting.append(mine)
            self._begin_next()
        while not mine.may_begin.wait(self._long):
            with self._changing:
                self._begin_next()
        try:
            yield
        finally:
            with self._changing:
                self._working.discard(mine)
                self._begin_next()

    def _begin_next(self) -> None:
        now = time.monotonic()
        short = sum(now - each.begun < self._long for each in self._working)
        while self._waiting and short < self._at_once:
            following = self._waiting.popleft()
            following.begun = now
            self._working.add(following)
            following.may_begin.set()
            short += 1
