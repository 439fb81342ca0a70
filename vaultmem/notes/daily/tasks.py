"""Tasks: the lines of a note that have a box, `- [ ] text`; adding one, checking one.

A line in code, in a comment or in a private passage is no task. Whatever is done, one line
differs afterwards. A box may have a mark of a person's own (`[/]`, `[-]`, `[>]`), which says more
than done or not: it is kept, unless the caller shows that it was seen.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from vaultmem.base.line_ends import end_of_line
from vaultmem.base.words import PLAIN_WORD
from vaultmem.errors import InvalidInput, NotFound
from vaultmem.notes import markdown, quotation
from vaultmem.notes.note import printable

_MARKER: Final = r"(?:[-*+]|\d{1,9}[.)])"
_TASK: Final = re.compile(
    rf"\n(?P<indent>[ \t]*(?:>[ \t]*)*)(?P<marker>{_MARKER})(?P<gap>[ \t]+)"
    r"\[(?P<mark>[^\r\n])\](?=[ \t\r\n]|\Z)"
)
_ITEM: Final = re.compile(rf"(?P<indent>[ \t]*)(?P<marker>{_MARKER})(?P<gap>[ \t]+)(?=\S)")
_GIVEN: Final = re.compile(rf"\s*(?:{_MARKER}\s+)?\[(?P<mark>[^\r\n])\](?:[ \t]+|\Z)")
_BULLET: Final = re.compile(rf"\s*{_MARKER}[ \t]+")
_BLOCK_ID: Final = re.compile(r"[ \t]+\^([A-Za-z0-9-]+)[ \t]*\Z")
_DONE_DATE: Final = re.compile(r"[ \t]*\u2705\ufe0f?[ \t]*\d{4}-\d\d-\d\d")
_AGAIN: Final = "\U0001f501"  # with which the Tasks plugin marks what comes back
# What may stand behind a task's words: dates and signs of the Tasks plugin, fields, tags.
_DETAILS: Final = re.compile(
    r"\s(?:[\u2705\u2795\u23f3\u23eb\u23ec\u26d4\u274c]|[\U0001f4c5\U0001f6eb\U0001f501\U0001f53a"
    r"\U0001f53c\U0001f53d\U0001f194\U0001f3c1]|[\[(][\w-]+::|#[^\s#])"
)
_NEW_BLOCK: Final = re.compile(r"[ \t]*(?:#{1,6}(?:\s|\Z)|>|```|~~~|(?:[-*_][ \t]*){3,}\Z)")
_TASK_HEADINGS: Final = frozenset(
    (
        *("task", "tasks", "to do", "to dos", "todo", "todos", "aufgaben", "tâches", "tareas"),
        *("taken", "tarefas", "attività", "задачи", "任务", "待办", "タスク", "할 일"),
    )
)
_HEADING_SIGNS: Final = re.compile(r"[\W_]+")
_SHOWN: Final = 6  # tasks that an error names
_LINE: Final = 120
_OPEN, _DONE = " ", "xX"


class Task(NamedTuple):
    text: str  # as a reader may see it, without box and block id
    mark: str  # a blank where it is open
    block: str
    start: int  # of its line
    box: int  # where the mark stands
    end: int  # of its line, in front of the line break
    indent: str  # with the signs of a quote
    marker: str
    gap: str
    line: int  # counted from 1, in the body

    @property
    def is_open(self) -> bool:
        return self.mark == _OPEN

    @property
    def is_done(self) -> bool:
        return self.mark in _DONE

    @property
    def has_own_mark(self) -> bool:
        return not self.is_open and not self.is_done


class TaskChange(NamedTuple):
    body: str
    line: str  # as it reads now
    comes_again: bool = False  # the Tasks plugin would have made the next one


def tasks_in(body: str) -> tuple[Task, ...]:
    if "]" not in body:
        return ()
    seen, said = markdown.visible_text(body), markdown.text_without_comments(body)
    return tuple(_each_task(body, seen, said))


def _each_task(body: str, seen: str, said: str) -> Iterator[Task]:
    line = 1
    at = 0
    for found in _TASK.finditer("\n" + seen):
        start = found.start()
        line, at = line + body.count("\n", at, start), start
        end = end_of_line(body, start)
        box = found.start("mark") - 1
        text = printable(said[box + 2 : end])
        block = _BLOCK_ID.search(text)
        yield Task(
            " ".join((text[: block.start()] if block else text).split()),
            found["mark"],
            block[1] if block else "",
            *(start, box, end, found["indent"], found["marker"], found["gap"], line),
        )


# --- adding one -------------------------------------------------------------------------------


def add_task(body: str, text: str, section: str, newline: str) -> TaskChange:
    """The body with one more open task: in the section, else behind those under a heading for
    tasks, else behind the tasks that are there, else under such a heading, else at the end."""
    words = _words_of_new_task(text)
    tasks = tasks_in(body)
    named = quotation.section_text(body, section) if section else _heading_for_tasks(body)
    start, end = named or (0, len(body))
    free = [task for task in tasks if ">" not in task.indent]
    there = [task for task in free if start <= task.start < end]
    if not section:
        there = there or free
    if there:
        after, line = _with_task_behind(body, there, words, newline)
    else:
        line = f"{_bullet_at(body[start:end]) or _bullet_at(body) or '-'} [ ] {words}"
        after = quotation.lines_behind(body, start, end, line, newline)
    made = tasks_in(after)
    if len(made) - len(tasks) != (0 if there and _is_place_for_task(_last_of_list(there)) else 1):
        raise InvalidInput(
            "The task would not be one there: the text around it reads it in another way. Nothing "
            "was written. Name a section, or append it with append."
        )
    return TaskChange(after, line)


def _words_of_new_task(text: str) -> str:
    given = _GIVEN.match(text)
    bare = text[given.end() :] if given else _BULLET.sub("", text, count=1)
    if "\n" in bare.strip() or "\r" in bare.strip():
        raise InvalidInput("A task is one line. Add several one by one, or use append for a list.")
    if not bare.strip():
        raise InvalidInput("The task has no text: say what is to be done.")
    return bare.strip()


def _with_task_behind(
    body: str, there: Sequence[Task], words: str, newline: str
) -> tuple[str, str]:
    last = _last_of_list(there)
    if _is_place_for_task(last):
        start, line = last.box + 2, f"{last.marker} [ ] {words}"
        return quotation.body_with_change(body, start, last.end, f" {words}"), line
    line = f"{_marker_behind(last.marker)}{last.gap}[ ] {words}"
    at = _end_of_item(body, last)
    return quotation.body_with_change(body, at, at, f"{newline}{last.indent}{line}"), line


def _last_of_list(tasks: Sequence[Task]) -> Task:
    """The last task that stands in no other."""
    least = min(_columns(task.indent) for task in tasks)
    return [task for task in tasks if _columns(task.indent) == least][-1]


def _is_place_for_task(task: Task) -> bool:
    """`- [ ]` without words, as templates have it: a place to write the first one in."""
    return task.is_open and not task.text and not task.block


def _marker_behind(marker: str) -> str:
    return f"{int(marker[:-1]) + 1}{marker[-1]}" if marker[:-1].isdigit() else marker


def _end_of_item(body: str, task: Task) -> int:
    """Where the item ends that the task begins, with all that stands in it."""
    own, end, blank = _columns(task.indent), task.end, False
    at = task.end
    while (at := body.find("\n", at)) >= 0:
        at += 1
        stop = end_of_line(body, at)
        line = body[at:stop]
        if not line.strip():
            blank = True
            continue
        inside = _columns(line[: len(line) - len(line.lstrip(" \t"))]) > own
        if not inside and (blank or _ITEM.match(line) or _NEW_BLOCK.match(line)):
            break
        end, blank = stop, False
    return end


def _columns(indent: str) -> int:
    return len(indent.expandtabs(4))


def _bullet_at(text: str) -> str:
    """The sign of the last list in a text, unless that is one of numbers."""
    lines = reversed(markdown.visible_text(text).split("\n"))
    found = next(filter(None, map(_ITEM.match, lines)), None)
    return found["marker"] if found and not found["marker"][:-1].isdigit() else ""


def _heading_for_tasks(body: str) -> tuple[int, int] | None:
    heads = markdown.markdown_headings(body)
    names = [" ".join(_HEADING_SIGNS.sub(" ", head.text).casefold().split()) for head in heads]
    found = [i for i, name in enumerate(names) if name in _TASK_HEADINGS]
    if len(found) != 1:
        return None
    after = heads[found[0] + 1].start if found[0] + 1 < len(heads) else len(body)
    return heads[found[0]].end, after


# --- checking one -----------------------------------------------------------------------------


def mark_task(body: str, text: str, section: str, day: dt.date, *, done: bool) -> TaskChange:
    """The body with one task checked or unchecked; the same body where it is so already."""
    tasks = tasks_in(body)
    if section:
        start, end = quotation.section_text(body, section, whole=True)
        tasks = tuple(task for task in tasks if start <= task.start < end)
    task = _task_meant(tasks, text, done=done)
    if task.is_done if done else task.is_open:
        return TaskChange(body, body[task.start : task.end].strip())
    line = body[task.box + 1 : task.end]
    if not done:
        line = _DONE_DATE.sub("", line)
    elif any(_DONE_DATE.search(other.text) for other in tasks_in(body)):
        line = _with_done_date(line, day)
    new = ("x" if done else _OPEN) + line
    after = quotation.body_with_change(body, task.box, task.end, new)
    now = after[task.start : task.box + len(new)].strip()
    return TaskChange(after, now, comes_again=done and _AGAIN in task.text)


def _with_done_date(line: str, day: dt.date) -> str:
    """At its end, before a block id, as the Tasks plugin wants it."""
    if _DONE_DATE.search(line):
        return line
    block = _BLOCK_ID.search(line)
    at = block.start() if block else len(line.rstrip())
    return f"{line[:at]} \u2705 {day.isoformat()}{line[at:]}"


def _task_meant(tasks: Sequence[Task], text: str, *, done: bool) -> Task:
    """The one task of this text: all of it, else without its details, else a part of it."""
    given = _GIVEN.match(text)
    seen_mark = given["mark"] if given else ""
    words = _plain_words_of_task(text[given.end() :] if given else text)
    if not words:
        raise InvalidInput("Which task? Give its text, or a part of it.")
    for same in _ways_to_name(words):
        if found := [task for task in tasks if same(task)]:
            return _one_to_change(found, text, seen_mark, done=done)
    raise NotFound(_no_such_task(tasks, text))


def _ways_to_name(words: str) -> tuple[Callable[[Task], bool], ...]:
    block = words.removeprefix("^")
    return (
        lambda task: bool(task.block) and words.startswith("^") and task.block.casefold() == block,
        lambda task: _plain_words_of_task(task.text) == words,
        lambda task: _plain_words_of_task(_DETAILS.split(f"{task.text} ", 1)[0]) == words,
        lambda task: words in _plain_words_of_task(task.text),
    )


def _plain_words_of_task(text: str) -> str:
    bare = _BLOCK_ID.sub("", _BULLET.sub("", text, count=1))
    return " ".join(printable(bare).split()).casefold()


def _one_to_change(found: Sequence[Task], text: str, seen_mark: str, *, done: bool) -> Task:
    if seen_mark and any(task.mark == seen_mark for task in found):
        found = [task for task in found if task.mark == seen_mark]
    wanting = [task for task in found if (task.is_open if done else task.is_done)]
    own = [task for task in found if task.has_own_mark]
    if own and not wanting and seen_mark == own[0].mark:
        wanting, own = own, []
    if len(wanting) == 1 or (len(found) > len(own) and not wanting):
        return wanting[0] if wanting else next(task for task in found if not task.has_own_mark)
    if wanting:
        raise InvalidInput(
            f"{text.strip()!r} could be any of these tasks; give more of its text or name its "
            f"section, or quote it with its neighbours in old_text: {_named_tasks(wanting)}."
        )
    first = own[0]
    raise InvalidInput(
        f"The task has a mark of its own, [{first.mark}], which was kept: {_named_tasks(own)}. To "
        f"change it all the same, give it with its mark: [{first.mark}] {first.text[:_LINE]}"
    )


def _no_such_task(tasks: Sequence[Task], text: str) -> str:
    if not tasks:
        return "There are no tasks there: a task is a line like - [ ] text."
    wanted = set(PLAIN_WORD.findall(text.casefold()))
    near = [task for task in tasks if wanted & set(PLAIN_WORD.findall(task.text.casefold()))]
    which = "Near it come" if near else "There are"
    return f"There is no task {text.strip()!r}. {which}: {_named_tasks(near or tasks)}."


def _named_tasks(tasks: Sequence[Task]) -> str:
    named = "; ".join(
        f"[{task.mark}] {task.text[:_LINE]} (line {task.line})" for task in islice(tasks, _SHOWN)
    )
    return named + (f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else "")
