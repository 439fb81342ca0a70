"""The lines of a journal that tell of work: what changed, how commands ended, what is left.

Some of them grow instead of becoming many: the files that changed are one line, and what is left
to do is another. They are known again by how they read; a line that a person worded anew is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from vaultmem.notes.journal_text.plain_line import plain_line
from vaultmem.notes.markdown import Observation

CHANGE: Final = "change"
FAILURE: Final = "failure"
OPEN: Final = "open"
ENDING: Final = "ending"
ANSWER: Final = "answer"

MOST_FILES: Final = 20  # named in one line
NOTHING_LEFT: Final = "Nothing is left to do."
_LEFT: Final = "Left to do: "
_ITEMS: Final = 8  # of what is left
_FINDINGS: Final = 30  # of a kind
_LINE: Final = 200  # characters
_PLAIN_PATH: Final = re.compile(r"(?!\S*__)(?!_)[\w./@+~-]+")
_GROUP: Final = re.compile(r"(edited|wrote) (.+?)(?: and (\d+) more)?", re.IGNORECASE)
_TESTS: Final = "Test run "  # what people call it when they ask
_RUN: Final = re.compile(
    rf"({_TESTS})?`([^`]+)` (failed|passed)( after failing)?(?:: (.*))?", re.DOTALL
)
_TOOK: Final = re.compile(r"(?:\bin )?\b\d[\d.,:]* ?(?:m?s|seconds?|minutes?)\b")
MOST_RUNS: Final = 60  # entries about commands in one journal


class WorkLine(NamedTuple):
    """A line for the log; in the place of an entry's text where one is named."""

    kind: str
    text: str
    instead_of: str = ""  # the entry's block id


# --- files -------------------------------------------------------------------------------------


class ChangedFiles(NamedTuple):
    edited: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    more: int = 0  # that are not named

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.edited, *self.wrote)


def files_line(files: ChangedFiles) -> str:
    """`Edited src/auth.py, tests/test_auth.py and 3 more; wrote docs/tokens.md`"""
    more = f" and {files.more} more" if files.more else ""
    groups = [f"edited {', '.join(map(_path_in_line, files.edited))}"] if files.edited else []
    groups += [f"wrote {', '.join(map(_path_in_line, files.wrote))}"] if files.wrote else []
    line = "; ".join(groups)
    return line[:1].upper() + line[1:] + more


def files_of_line(line: str) -> ChangedFiles | None:
    """None where the line is not one of ours, or was worded anew."""
    named: dict[str, tuple[str, ...]] = {}
    more = 0
    for group in re.split(r"; (?=wrote )", line):
        found = _GROUP.fullmatch(group)
        if found is None:
            return None
        parts = re.findall(r"`([^`]*)`|([^,`]+)(?:, |\Z)|, ", found[2])
        named[found[1].lower()] = tuple(a or b for a, b in parts if a or b)
        more += int(found[3] or 0)
    files = ChangedFiles(named.get("edited", ()), named.get("wrote", ()), more)
    return files if files_line(files) == line else None


def change_line(
    entries: Sequence[Observation], path: str, *, new: bool, counted: bool = False
) -> WorkLine | None:
    """None where the file is named already; `counted` is one of those that are not."""
    old, files = _files_of_last_line(entries)
    if path in files.names or (counted and len(files.names) >= MOST_FILES):
        return None
    if len(files.names) >= MOST_FILES:
        files = files._replace(more=files.more + 1)
    elif new:
        files = files._replace(wrote=(*files.wrote, path))
    else:
        files = files._replace(edited=(*files.edited, path))
    return WorkLine(CHANGE, files_line(files), old)


def _files_of_last_line(entries: Sequence[Observation]) -> tuple[str, ChangedFiles]:
    for seen in reversed(entries):
        if seen.category == CHANGE and seen.block and (files := files_of_line(seen.content)):
            return seen.block, files
    return "", ChangedFiles()


def _path_in_line(path: str) -> str:
    plain = _PLAIN_PATH.fullmatch(path) and "/_" not in path
    return path if plain else f"`{path.replace('`', chr(39))}`"


# --- commands ----------------------------------------------------------------------------------


class CommandRun(NamedTuple):
    command: str
    failed: bool
    told: str = ""  # the exit code, and the line that tells
    after_failing: bool = False
    of_tests: bool = False


def run_line(run: CommandRun) -> str:
    how = "failed" if run.failed else "passed after failing" if run.after_failing else "passed"
    name = f"{_TESTS if run.of_tests else ''}`{run.command}`"
    return f"{name} {how}" + (f": {run.told}" if run.told else "")


def run_of_line(line: str) -> CommandRun | None:
    found = _RUN.fullmatch(line)
    if found is None:
        return None
    of_tests, command, how, after, told = found.groups()
    return CommandRun(command, how == "failed", told or "", bool(after), bool(of_tests))


def last_runs(entries: Sequence[Observation]) -> dict[str, tuple[Observation, CommandRun]]:
    """How each command ended when it was last run, in the order of these last runs."""
    found: dict[str, tuple[Observation, CommandRun]] = {}
    for seen in entries:
        if run := run_of_line(seen.content):
            found.pop(run.command, None)
            found[run.command] = seen, run
    return found


def command_line(
    entries: Sequence[Observation], kind: str, run: CommandRun, *, telling: bool
) -> WorkLine | None:
    """None where it says nothing new. What passes is worth a line where it is `telling`, or
    where it failed before."""
    runs = last_runs(entries)
    entry, last = runs.get(run.command, (None, None))
    if not run.failed:
        if not telling and not (last and last.failed):
            return None
        run = run._replace(after_failing=bool(last and (last.failed or last.after_failing)))
    if last and _without_times(run_line(last)) == _without_times(run_line(run)):
        return None
    full = sum(run_of_line(seen.content) is not None for seen in entries) >= MOST_RUNS
    if full and entry is None:
        return None
    return WorkLine(
        FAILURE if run.failed else kind, run_line(run), entry.block if full and entry else ""
    )


def _without_times(text: str) -> str:
    return _TOOK.sub("", text)


# --- what was found out, what is left, and how it ended -----------------------------------------


def finding_line(entries: Sequence[Observation], kind: str, text: str) -> WorkLine | None:
    """None where somebody has said so, or where there are many."""
    said = [" ".join(seen.content.split()).rstrip(".").casefold() for seen in entries]
    if text.rstrip(".").casefold() in said:
        return None
    return WorkLine(kind, text) if sum(e.category == kind for e in entries) < _FINDINGS else None


def open_line(entries: Sequence[Observation], items: Iterable[str]) -> WorkLine | None:
    """None where nothing changed, or nothing was ever left."""
    named = list(
        dict.fromkeys(filter(None, (plain_line(i.replace(";", ","), _LINE) for i in items)))
    )
    text = _LEFT + "; ".join(named[:_ITEMS]) if named else NOTHING_LEFT
    if len(named) > _ITEMS:
        text += f" and {len(named) - _ITEMS} more"
    mine = (s for s in reversed(entries) if s.category == OPEN and is_open_line(s.content))
    old = next(mine, None)
    if (old is None and not named) or (old is not None and old.content == text):
        return None
    return WorkLine(OPEN, text, old.block if old else "")


def question_left(question: str) -> str:
    """What is left to do where something was asked."""
    return f"answer “{question}”"


def is_question_left(item: str) -> bool:
    return item.startswith("answer “")


def is_open_line(line: str) -> bool:
    return line == NOTHING_LEFT or line.startswith(_LEFT)


def left_in_line(line: str) -> str:
    """What is left by a line of ours or of an agent."""
    return "" if line == NOTHING_LEFT else line.removeprefix(_LEFT)


def ending_line(entries: Sequence[Observation], text: str) -> WorkLine | None:
    """In the place of the last ending, unless something happened since."""
    last = entries[-1] if entries else None
    if last is not None and last.category == OPEN and is_open_line(last.content):
        last = entries[-2] if len(entries) > 1 else None
    if last is None or last.category != ENDING:
        return WorkLine(ENDING, text)
    return WorkLine(ENDING, text, last.block) if last.content != text else None
