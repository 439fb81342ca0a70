"""The threads of one window: whoever reads a call answers it, while another one reads on."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

log = logging.getLogger("vaultmem")

AT_ONCE: Final = 16  # calls of one window that are under way; more of them wait
_SPARE: Final = 2  # threads that wait for the next line

Work = Callable[[], None]


class CallThreads:
    """No thread has to wake up before a call is begun: one that wakes to read the next line does
    so beside it. `take` is given each line, and returns what may take long."""

    def __init__(self, lines: Iterator[bytes], take: Callable[[bytes], Work | None]) -> None:
        self._lines, self._take = lines, take
        self._reading = threading.Lock()
        self._changed = threading.Condition()
        self._queued: deque[Work] = deque()
        self._under_way = 0
        self._spare = 1
        self._is_over = False

    def run(self, grace: float) -> None:
        """Until there are no more lines, and what is under way has finished or had its time."""
        self._work()
        with self._changed:
            self._changed.wait_for(lambda: self._is_over)
            self._changed.wait_for(lambda: not self._under_way, grace)

    def end(self) -> None:
        """Nothing more is taken; what was taken is brought to its end."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _work(self) -> None:
        work = self._next_call()
        while work is not None:
            try:
                work()
            except Exception:  # the edge of a thread: the window goes on
                log.warning("a call ended oddly", exc_info=True)
            work = self._queued_call() or self._next_call()

    def _queued_call(self) -> Work | None:
        with self._changed:
            if self._queued:
                return self._queued.popleft()
            self._under_way -= 1
            self._spare += 1
            self._changed.notify_all()
        return None

    def _next_call(self) -> Work | None:
        """None where this thread is not needed any more."""
        with self._changed:
            if self._spare > _SPARE and not self._is_over:
                self._spare -= 1
                return None
        with self._reading:
            while not self._is_over:
                work = self._read_call()
                if work is not None and self._is_begun_here(work):
                    return work
        return None

    def _read_call(self) -> Work | None:
        try:
            line = next(self._lines, b"")
        except (OSError, ValueError):  # the connection was cut
            log.debug("reading ended", exc_info=True)
            line = b""
        if line and not self._is_over:
            return self._take(line)
        self.end()
        return None

    def _is_begun_here(self, work: Work) -> bool:
        with self._changed:
            if self._under_way >= AT_ONCE:
                self._queued.append(work)
                return False
            self._under_way += 1
            self._spare -= 1
            if not self._spare:
                self._add_thread()
        return True

    def _add_thread(self) -> None:
        run = contextvars.copy_context().run  # what is done in it is done for the same
        try:
            threading.Thread(target=run, args=[self._work], daemon=True).start()
        except RuntimeError:  # no more threads: the next line waits for the end of this call
            return
        self._spare += 1
