"""A note that is away for a moment: some editors rename it to a backup and write it anew.

Only a file whose folder has just changed can be in the middle of that, so one that has been gone
for longer costs no waiting.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from vaultmem.errors import NotFound

ABSENCE_SECONDS: Final = 0.5  # far longer than any editor takes


class GoneNote(NotFound):
    """There is no such file, as opposed to one that cannot be read."""


@contextlib.contextmanager
def absence_outwaited(path: str, file: Path) -> Iterator[None]:
    """For whoever has just seen the note: when it is not there, what is done in here is given up
    and ends as soon as the note is back, to be done again."""
    try:
        yield
    except (GoneNote, FileNotFoundError):
        if not is_absence_over(file):
            raise NotFound(f"There is no note {path} any more.") from None


def is_absence_over(file: str | Path, seconds: float = ABSENCE_SECONDS) -> bool:
    """Whether the file is there, or comes back while its folder is fresh."""
    deadline = time.monotonic() + seconds
    while not os.path.lexists(file):
        if time.monotonic() >= deadline or not _may_absence_end_soon(os.path.dirname(file)):
            return os.path.lexists(file)
        time.sleep(0.005)
    return True


def lasting_absences(files: Iterable[tuple[str, str]], seconds: float = 0.2) -> list[str]:
    """Of names and their files: the names of those that stay away, all within the same time."""
    deadline = time.monotonic() + seconds
    return [
        name
        for name, file in files
        if not is_absence_over(file, max(0.0, deadline - time.monotonic()))
    ]


def _may_absence_end_soon(folder: str) -> bool:
    try:
        return abs(time.time() - os.stat(folder).st_mtime) < ABSENCE_SECONDS
    except OSError:
        return False
