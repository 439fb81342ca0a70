"""Small files that are no notes, such as settings, read without trust in them.

One may have come with a clone, an archive or another program, and be a pipe that nobody writes
to, a device without an end, a link to someone's secrets, or brackets within brackets until a
parser gives up. What cannot be used is an OSError with a reason in plain words, or a ValueError.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, BinaryIO, Final

MOST_BYTES: Final = 1_000_000
MOST_DEPTH: Final = 100
_MOST_PARTS: Final = 50  # of a key in TOML
_LONG_KEY: Final = re.compile(
    rf"""(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')){{{_MOST_PARTS}}}"""
)
_LINK: Final = "it is a link to another place"
_NO_FILE: Final = "it is no plain file"
_TOO_DEEP: Final = "it is nested too deeply"


class UnfitFile(OSError):
    """A file that is left alone; `strerror` says why."""

    def __init__(self, path: str | Path, why: str) -> None:
        super().__init__(errno.EINVAL, why, str(path))


def read_small_file(path: str | Path, most: int = MOST_BYTES, *, follow: bool = False) -> bytes:
    with open_plain_file(path, follow=follow) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise UnfitFile(path, f"it has more than {most:,} bytes")
    return raw


def open_plain_file(path: str | Path, *, follow: bool = False) -> BinaryIO:
    """A file to read that is really one; opening it waits for nobody."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
        if os.path.islink(path):  # where there is no such flag
            raise UnfitFile(path, _LINK)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        linked = error.errno == errno.ELOOP and not follow
        raise (UnfitFile(path, _LINK) if linked else error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnfitFile(path, _NO_FILE)
    return open(descriptor, "rb")


def parse_json(raw: str | bytes) -> Any:
    try:
        return _require_shallow_file(json.loads(raw), raw)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def parse_toml(text: str) -> dict[str, Any]:
    """A key of very many parts takes the parser the square of their number, so it is not asked."""
    if _LONG_KEY.search(text):
        raise ValueError(_TOO_DEEP)
    try:
        found: dict[str, Any] = _require_shallow_file(tomllib.loads(text), text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("a number in it has too many digits") from None
    return found


def _require_shallow_file(value: Any, written: str | bytes) -> Any:
    """The value, so that whoever walks through it may do so by recursion."""
    if isinstance(written, str):
        openings = sum(map(written.count, "[{."))
    else:
        openings = sum(map(written.count, (b"[", b"{")))
    level = [value] if openings > MOST_DEPTH else []
    for _ in range(MOST_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for some in inner for each in some if isinstance(each, (dict, list))]
    if level:
        raise ValueError(_TOO_DEEP)
    return value
