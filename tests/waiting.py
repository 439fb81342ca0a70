"""Waiting for what must come, and never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], T], seconds: float = 60, pause: float = 0.02) -> T:
    """The first look that is true; the deadline is far, for a machine with much else to do."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not in {seconds} s: {seen!r}"
        time.sleep(pause)
    return seen
