"""What a person sees while something takes long: how far it is, and how long it will take.

One line on stderr, on a terminal only. It comes after a moment, so that quick work says
nothing, and goes when the work is done.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from vaultmem.front.asker import is_asked_by_another
from vaultmem.surfaces.cli import screen
from vaultmem.surfaces.cli.quiet import is_quiet

Progress = Callable[[int, int], None]

_AFTER: Final = 0.4  # seconds; quicker work needs no words
_EVERY: Final = 0.2
_BAR: Final = 24  # columns
_ENOUGH: Final = 1.0  # seconds of work, after which a guess is worth something


@contextlib.contextmanager
def progress_line(what: str) -> Iterator[Progress]:
    """Show that `what` is under way; call what this gives with how much is done of how much."""
    if is_quiet() or is_asked_by_another() or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    line = _ProgressLine(what)
    line.start()
    try:
        yield line.show
    finally:
        line.end()


class _ProgressLine(threading.Thread):
    def __init__(self, what: str) -> None:
        super().__init__(daemon=True)
        self._what = what
        self._began = time.monotonic()
        self._first: tuple[float, int] | None = None  # when something was done first, and how much
        self._so_far: tuple[int, int] | None = None
        self._ended = threading.Event()
        self._length = 0

    def show(self, done: int, total: int) -> None:
        if self._first is None:
            self._first = (time.monotonic(), done)
        self._so_far = (done, total)

    def run(self) -> None:
        wait = _AFTER
        while not self._ended.wait(wait):
            self._write_progress(self._progress_text())
            wait = _EVERY

    def end(self) -> None:
        self._ended.set()
        self.join()
        if self._length:
            self._write_progress("")
            self._write_progress("")

    def _write_progress(self, text: str) -> None:
        """In place of what stood there; blanks rather than a control code that some terminals lack."""
        cut = text[: screen.screen_width() - 1]
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("\r" + cut.ljust(self._length))
            sys.stderr.flush()
        self._length = len(cut)

    def _progress_text(self) -> str:
        passed = time.monotonic() - self._began
        if not self._so_far:
            return f"{self._what} … {duration_left(passed) if passed >= 1 else ''}"
        done, total = self._so_far
        return f"{self._what}  {_progress_bar(done, total)}  {done:,} of {total:,}{self._progress_time_left()}"

    def _progress_time_left(self) -> str:
        """By the speed since the first step: what came before it, like loading, is no measure."""
        if self._first is None or self._so_far is None:
            return ""
        done, total = self._so_far
        passed, made = time.monotonic() - self._first[0], done - self._first[1]
        if passed < _ENOUGH or made <= 0 or done >= total:
            return ""
        return f"  {duration_left(passed / made * (total - done))} left"


def _progress_bar(done: int, total: int) -> str:
    wide = min(_BAR, max(6, screen.screen_width() - 44))
    filled = wide * min(done, total) // max(1, total)
    return "[" + "#" * filled + "-" * (wide - filled) + "]"


def duration_left(seconds: float) -> str:
    """`8 s`, `3 min`, `1 h 20 min`: as exact as a person needs it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
