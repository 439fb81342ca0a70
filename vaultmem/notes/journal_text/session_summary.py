"""A session in five lines, made of its log: decided and learned, changed, failed, left, ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vaultmem.notes import sentences
from vaultmem.notes.journal_text import work_lines
from vaultmem.notes.journal_text.plain_line import shortened
from vaultmem.notes.markdown import Observation

USUAL_KIND: Final = "note"  # of an observation that nobody gave one
MOST_LINES: Final = 5

_DECIDED: Final = frozenset(["decision", "preference", "rule", "convention", "agreement"])
_LEARNED_KINDS: Final = """
    bug bugfix change discovery error failure feature finding fix insight learned lesson
    milestone outcome problem result
"""
_LEARNED: Final = frozenset(_LEARNED_KINDS.split())
_LEFT: Final = frozenset((work_lines.OPEN, "todo", "question", "next"))
_DELIVERED: Final = ("commit", "push")  # what they tell is told by what changed
_SAID: Final = 3  # things in one line
_OF_EACH: Final = 2  # where what was decided and what was learned share one
_SHORT, _LINE = 140, 220  # characters of one thing, and of a line of another kind
_FILES: Final = 6


def summary_of_entries(entries: Sequence[Observation]) -> str:
    """Whatever no line of its own is for (plain notes) fills what is left of the five."""
    told, rest = _sorted_entries(entries)
    decided, learned = _things(told["decided"]), _things(told["learned"])
    lines = [
        *_labelled("Changed", _files_changed(told["changed"])),
        *_labelled(*_how_commands_ended(told["ran"])),
        *_labelled("Left to do", _left(told["left"])),
        *_labelled("Ended", _ended(told["ended"])),
    ]
    if decided and learned and len(lines) + 2 > MOST_LINES:
        both = [_things(told[name], _OF_EACH) for name in ("decided", "learned")]
        lines[:0] = _labelled("Decided and learned", "; ".join(both))
    else:
        lines[:0] = [*_labelled("Decided", decided), *_labelled("Learned", learned)]
    return "\n".join([*lines, *_most_telling(rest, MOST_LINES - len(lines))])


def _sorted_entries(
    entries: Sequence[Observation],
) -> tuple[dict[str, list[Observation]], list[Observation]]:
    """The entries by the line that they go into, and those for which there is none."""
    told: dict[str, list[Observation]] = {
        name: [] for name in ("decided", "learned", "changed", "ran", "left", "ended")
    }
    rest = []
    for seen in entries:
        kind = seen.category.casefold()
        if work_lines.run_of_line(seen.content):
            told["ran"].append(seen)
        elif kind == work_lines.CHANGE and work_lines.files_of_line(seen.content):
            told["changed"].append(seen)
        elif kind in (work_lines.ENDING, work_lines.ANSWER):
            told["ended"].append(seen)
        elif kind in _LEFT:
            told["left"].append(seen)
        elif kind in _DECIDED:
            told["decided"].append(seen)
        elif kind in _LEARNED:
            told["learned"].append(seen)
        else:
            rest.append(seen)
    return told, rest


def _labelled(label: str, text: str) -> Iterator[str]:
    if text:
        yield f"- {label}: {text}"


def _things(entries: Sequence[Observation], most: int = _SAID) -> str:
    """What they say in their first sentences, those that have most in common with all."""
    said = [sentences.first_sentence(seen.content, _SHORT) for seen in entries]
    said = [line for line in dict.fromkeys(said) if line]
    shares = sentences.sentence_centrality(said)
    order = sorted(range(len(said)), key=lambda i: (-shares[i], i))[:most]
    return _listed([said[i].rstrip(".;") for i in sorted(order)], len(said) - len(order))


def _listed(items: Sequence[str], left: int = 0) -> str:
    return "; ".join(items) + (f" and {left} more" if left > 0 and items else "")


def _files_changed(entries: Sequence[Observation]) -> str:
    files = [work_lines.files_of_line(seen.content) for seen in entries]
    names = list(dict.fromkeys(name for each in files if each for name in each.names))
    more = sum(each.more for each in files if each) + max(0, len(names) - _FILES)
    shown = work_lines.files_line(work_lines.ChangedFiles(tuple(names[:_FILES]), more=more))
    return shown.partition(" ")[2]


def _how_commands_ended(entries: Sequence[Observation]) -> tuple[str, str]:
    """What still fails comes first; then what was mended, and what passed."""
    runs = list(reversed(work_lines.last_runs(entries).values()))
    failures = {run.command: run.told for run in _failures_of_log(entries)}
    runs = [(seen, run if run.told else _with_failure(run, failures)) for seen, run in runs]
    failed = [run for _, run in runs if run.failed]
    passed = [run for seen, run in runs if not run.failed and seen.category not in _DELIVERED]
    passed.sort(key=lambda run: not run.after_failing)
    label = "Failed" if failed else "Failed, then passed" if _mended(passed) else "Passed"
    shown = [
        f"`{run.command}`" + (f" ({shortened(run.told, _SHORT)})" if run.told else "")
        for run in failed[:_SAID]
    ]
    for run in passed[: 1 if failed else 2]:
        how = (" passed after failing" if run.after_failing else " passed") if failed else ""
        if label.startswith("Failed,") and not run.after_failing:
            how = " passed"
        shown.append(
            f"`{run.command}`{how}" + (f" ({shortened(run.told, 80)})" if run.told else "")
        )
    return label, _listed(shown, max(0, len(failed) - _SAID))


def _failures_of_log(entries: Sequence[Observation]) -> Iterator[work_lines.CommandRun]:
    runs = (work_lines.run_of_line(seen.content) for seen in entries)
    return (run for run in runs if run and run.failed)


def _with_failure(run: work_lines.CommandRun, failures: Mapping[str, str]) -> work_lines.CommandRun:
    """What passes often says nothing; then it is told how it had failed."""
    return run._replace(told=failures.get(run.command, "") if run.after_failing else "")


def _mended(passed: Sequence[work_lines.CommandRun]) -> bool:
    return any(run.after_failing for run in passed)


def _left(entries: Sequence[Observation]) -> str:
    mine = [seen for seen in entries if work_lines.is_open_line(seen.content)]
    others = [seen for seen in entries if not work_lines.is_open_line(seen.content)]
    said = [work_lines.left_in_line(seen.content) for seen in mine[-1:]]
    said += [sentences.first_sentence(seen.content, _SHORT) for seen in others[-_SAID:]]
    return shortened("; ".join(filter(None, said)), 2 * _LINE)


def _ended(entries: Sequence[Observation]) -> str:
    if not entries:
        return ""
    said = re.sub(r"\AAnswered: ", "", entries[-1].content)
    return shortened(said, _LINE)


def _most_telling(entries: Sequence[Observation], most: int) -> list[str]:
    """So many lines of the log itself, those that share most with all; the last says how many
    are missing."""
    said = [(seen, sentences.first_sentence(seen.content, _LINE)) for seen in entries]
    said = [(seen, line) for seen, line in said if line]
    if most <= 0 or not said:
        return []
    most -= len(entries) > most
    shares = sentences.sentence_centrality([line for _, line in said])
    order = sorted(range(len(said)), key=lambda i: (-shares[i], i))[:most]
    lines = [f"- {said[i][0].category or USUAL_KIND}: {said[i][1]}" for i in sorted(order)]
    left = len(entries) - len(lines)
    return [*lines, f"- and {left} more in the log"] if left else lines
