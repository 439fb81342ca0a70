"""The one line of a command's output that tells how it ended.

Output may be anything: a line of a megabyte, colours, progress drawn over itself, bytes. Only its
beginning and its end are looked at, and a line is quoted because it reads like a complaint or a
result; the last line alone may be a file's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_HEAD: Final = 20_000  # characters of an output that are looked at, and of its end
_TAIL: Final = 60_000
_LINES: Final = 1_500
_LONGEST: Final = 1_000  # characters of a line that are looked at

_COLOURS: Final = re.compile(
    r"\x1b(?:\[[0-9;?:<=>]*[ -/]*[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffd\u2028\u2029]+")
EXIT: Final = re.compile(r"\bexit(?:ed with)?(?: code| status)?:? (\d{1,5})\b", re.IGNORECASE)

# What says most about a failure comes first. Of several lines of one kind the first is the cause,
# but of exceptions and of what a program said at its end the last.
_FAILURES: Final = tuple(
    (re.compile(pattern), which)
    for pattern, which in (
        (r"(?:FAILED|ERROR) \S+(?:::\S+| - ).*", "first"),  # pytest
        (r"error\[E\d+\]: .+|error TS\d+: .+|\S+\(\d+,\d+\): error .+", "first"),  # rustc, tsc
        (r"\S+:\d+(?::\d+)?: (?:fatal )?error:? .+", "first"),  # gcc, clang, javac, mypy
        (r"(?:--- FAIL: .+|test \S+ \.\.\. FAILED|not ok \d+ .+|\d+\) \S.*\bFAILED\b.*)", "first"),
        (r"thread '.*' panicked at .+|panic: .+|fatal error: .+", "first"),
        (r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Warning|Fault)(?:: .*)?", "last"),
        (r"(?:Uncaught |Unhandled )?(?:\w+\.)*[A-Z]?\w*(?:Error|Exception)\b(?: \[\w+\])?: .+", "last"),
        (r"\S+\.(?:go|rs|ts|tsx|js|jsx|py|c|cc|cpp|h|java|kt|rb|php|swift|cs):\d+(?::\d+)?:? .+", "first"),
        (r"● .+ › .+|✕ .+|✗ .+|× .+", "first"),  # jest, vitest
        (r"(?:fatal|error|ERROR|Error|E|npm (?:ERR!|error)|FAIL|FATAL|CRITICAL|! *\[\w+\])[: ]+(?!code\b|errno\b|aborting due|Command failed|Recipe |could not compile|A complete log).+", "first"),
        (r".*\b(?:\d+ (?:failed|errors?|failures?)|Found \d+ errors?|Tests?: .*failed)\b.*", "last"),
        (r"(?:\S+: )*(?:permission |access )?denied\b.*|.+: (?:command not found|[Pp]ermission denied)|.+: No such file or directory", "last"),
        (r"make(?:\[\d+\])?: \*\*\* .+", "first"),
    )
)  # fmt: skip
_COMPLAINT: Final = re.compile(
    r"error|fail|fatal|panic|denied|refused|cannot|can't|could not|no such|not found|missing"
    r"|invalid|unknown|exception|timed? ?out|assert|abort|killed|unable|rejected|conflict",
    re.IGNORECASE,
)
# What says that something went wrong although the command ended well: `pytest | tail`.
_WENT_WRONG: Final = re.compile(
    r"=* ?(?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b.*|(?:FAILED|ERROR) \S+(?:::\S+| - ).*"
    r"|Tests?: +[1-9]\d* failed.*|test result: FAILED.*|--- FAIL: .+|FAIL\t.+"
    r"|FAILED \((?:failures|errors)=.*|Found [1-9]\d* errors?.*|BUILD FAILED.*"
    r"|error\[E\d+\]: .+|error: could not compile .+|.*: error TS\d+: .+"
    r"|[1-9]\d* examples?, [1-9]\d* failures?.*"
    r"|g?make(?:\[\d+\])?: \*\*\* .+|npm (?:ERR!|error) .+"
)
_COUNTS: Final = r"(?:\d+ (?:passed|failed|errors?|skipped|\w*selected|x\w+ed|warnings?)(?:, )?)+"
_PYTEST: Final = rf"=* ?({_COUNTS} in [\d.:]+ ?s)\S*(?: \([\d:]+\))? ?=*"
_RESULTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        _PYTEST,
        r"(Tests?: .*\d+ passed.*)|(\s*Tests +\d+ passed.*)",
        r"(test result: .+)",
        r"(Ran \d+ tests? in .+)",
        r"(\d+ (?:passing|examples?|tests?|specs?|assertions?|scenarios?)\b.*)",
        r"(ok\s+\S+\s+(?:\(cached\)|[\d.]+s).*)",
        r"(OK \(.+\))",
        r"(Success: .+|All checks passed!?.*|.*\bno issues found\b.*|Found 0 errors.*|✨ .+)",
        r"(BUILD SUCCESS\w*.*|Build succeeded.*|Finished .+|.*\bbuilt in [\d.]+ ?m?s.*|Successfully \w+ .+)",
        r"(Apply complete! .+|Deployed .+|.*\bsuccessfully (?:rolled out|deployed|published)\b.*)",
        r"(\[\S+(?: \([\w-]+\))? [0-9a-f]{7,}\] .+)",
        r"\s*((?:\+ )?[0-9a-f]{7,}\.{2,3}[0-9a-f]{7,} +\S+ -> \S+.*|\* \[new \w+\] +\S+ -> \S+.*)",
        r"(Everything up-to-date|Already up to date\.?|Fast-forward)",
    )
)


def telling_failure(output: str) -> str:
    """The line that says why; empty where none does."""
    lines = list(_plain_lines(output))
    for pattern, which in _FAILURES:
        found = (
            line
            for line in (lines if which == "first" else reversed(lines))
            if pattern.fullmatch(line)
        )
        if line := next(found, ""):
            return _without_frame(line)
    return lines[-1] if lines and _COMPLAINT.search(lines[-1]) else ""


def telling_result(output: str) -> str:
    """The line that says how well it ended, without the signs around it."""
    lines = list(_plain_lines(output))
    for pattern in _RESULTS:
        for line in reversed(lines):
            if found := pattern.fullmatch(line):
                return next(group for group in found.groups() if group).strip()
    return ""


def went_wrong(output: str) -> bool:
    """Whether the output says so itself, whatever the exit code says."""
    return any(_WENT_WRONG.fullmatch(line) for line in _plain_lines(output))


def exit_code(said: str) -> int:
    """The code that a client says in words; 0 where it says none."""
    found = EXIT.search(said[:300]) or EXIT.search(said[-300:])
    return int(found[1]) if found else 0


def without_colours(text: str) -> str:
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _plain_lines(output: str) -> Iterator[str]:
    """The lines as a terminal shows them in the end, without what cannot be shown."""
    if len(output) > _HEAD + _TAIL:
        output = f"{output[:_HEAD].rpartition(chr(10))[0]}\n{output[-_TAIL:].partition(chr(10))[2]}"
    lines = without_colours(output).split("\n")
    for line in lines if len(lines) <= _LINES else [*lines[: _LINES // 3], *lines[-_LINES:]]:
        shown = line.rstrip("\r").rpartition("\r")[2][:_LONGEST]  # progress is drawn over itself
        plain = " ".join(_UNPRINTABLE.sub(" ", shown).split())
        if plain and not EXIT.fullmatch(plain):
            yield plain


def _without_frame(line: str) -> str:
    return line.strip("= ") or line
