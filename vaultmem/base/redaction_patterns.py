"""A person's own patterns of secrets: regular expressions from the settings.

A pattern that steps back and forth can take forever, holds the interpreter meanwhile, and cannot
be stopped. So only one that cannot do so is tried here, line by line; any other is tried in a
process of its own, which is ended when it takes too long. The text is not written then.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

from vaultmem.errors import InvalidInput

LONGEST_LINE: Final = 2_000  # that a pattern is tried on at once
_PATIENCE: Final = 5.0  # seconds for one pattern and one text; usual ones take a few thousandths
_MANY: Final = 100  # from so many repetitions on it makes no difference whether there is an end

Place = tuple[int, int]


def pattern_places(pattern: str, text: str) -> list[Place]:
    """Where the pattern matches, each match within a line."""
    if is_steady_pattern(pattern):
        return list(_pattern_places_by_line(re.compile(pattern), text))
    return _pattern_process.places(pattern, text)


def _pattern_places_by_line(compiled: re.Pattern[str], text: str) -> Iterator[Place]:
    at = 0
    for line in text.splitlines(keepends=True):
        for first in range(0, len(line), LONGEST_LINE):
            for match in compiled.finditer(line[first : first + LONGEST_LINE]):
                if match[0]:
                    yield at + first + match.start(), at + first + match.end()
        at += len(line)


# --- which patterns are harmless -------------------------------------------------------------


_LONG, _SHORT, _MOST = 10, 1, 14  # one long repetition and a few small choices


@functools.cache
def is_steady_pattern(pattern: str) -> bool:
    """Whether there are few ways to match a text: at most one long repetition, of a single
    character, and few other choices."""
    from re import _parser  # type: ignore[attr-defined]

    return _choices_in_pattern(_parser.parse(pattern)) <= _MOST


def _choices_in_pattern(parsed: Any) -> int:
    found = 0
    for operation, argument in parsed:
        name = str(operation)
        if name.endswith("REPEAT"):
            least, most, body = argument
            found += (
                _choices_in_pattern(body) * 4
                if _is_single_character_pattern(body)
                else (_MOST + 1) * (int(most) > 1)
            )
            found += _LONG if int(most) >= _MANY else _SHORT * (least != most)
        elif name == "SUBPATTERN":
            found += _choices_in_pattern(argument[-1])
        elif name == "BRANCH":
            found += _SHORT + sum(map(_choices_in_pattern, argument[1]))
        elif name not in _PLAIN:
            found += _MOST + 1
    return found


_PLAIN: Final = frozenset(("LITERAL", "NOT_LITERAL", "IN", "ANY", "AT"))


def _is_single_character_pattern(parsed: Any) -> bool:
    """One character, whatever it is."""
    if len(parsed) != 1:
        return False
    name, argument = str(parsed[0][0]), parsed[0][1]
    return name in _PLAIN or (name == "SUBPATTERN" and _is_single_character_pattern(argument[-1]))


# --- in a process of its own -----------------------------------------------------------------

_CODE: Final = """
import json, re, sys
for line in sys.stdin.buffer:
    pattern, text, longest = json.loads(line)
    found, at = [], 0
    for piece in text.splitlines(keepends=True):
        for first in range(0, len(piece), longest):
            for match in re.finditer(pattern, piece[first : first + longest]):
                if match[0]:
                    found.append((at + first + match.start(), at + first + match.end()))
        at += len(piece)
    sys.stdout.buffer.write(json.dumps(found).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


class _PatternProcess:
    """One process for all that cannot be tried here, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes] = queue.Queue()

    def places(self, pattern: str, text: str) -> list[Place]:
        with self._lock:
            process = self._running()
            asked = json.dumps([pattern, text, LONGEST_LINE]).encode() + b"\n"
            try:
                process.stdin.write(asked)  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                answer = self._answers.get(timeout=_PATIENCE)
            except (OSError, queue.Empty):
                answer = b""
            if not answer:
                self.end()
                raise InvalidInput(
                    f"The pattern {pattern!r} of privacy.patterns in the settings did not come to an "
                    f"end within {_PATIENCE:g} seconds, so it is not known what is secret in this "
                    "text. Nothing was written. Make the pattern simpler, with one repetition."
                )
            return [(start, end) for start, end in json.loads(answer)]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()
            answers: queue.Queue[bytes] = queue.Queue()
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            threading.Thread(
                target=_pass_on_pattern_answers, args=(process, answers), daemon=True
            ).start()
            self._process, self._answers = process, answers
        return self._process

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    _close(stream)


def _pass_on_pattern_answers(process: subprocess.Popen[bytes], answers: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):  # it was ended
        for line in process.stdout:
            answers.put(line)
    answers.put(b"")


def _close(stream: Any) -> None:
    with contextlib.suppress(OSError):
        stream.close()


_pattern_process: Final = _PatternProcess()
atexit.register(_pattern_process.end)


def wrong_pattern_for_this_python(pattern: str) -> str:
    """Why this Python would match a pattern wrongly; empty when it would not."""
    if sys.version_info >= (3, 11, 5):
        return ""
    bare = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern)
    if re.search(r"[*+?}]\+|\(\?>", bare):
        return (
            "it has a possessive repetition or an atomic group, which this Python matches wrongly"
        )
    return ""


def places_of_patterns(patterns: Sequence[str], text: str) -> Iterator[list[Place]]:
    for pattern in patterns:
        if found := pattern_places(pattern, text):
            yield found
