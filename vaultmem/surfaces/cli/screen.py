"""How answers look: aligned, wrapped and coloured for a person, plain lines for a pipe."""

from __future__ import annotations

import contextlib
import contextvars
import datetime as dt
import itertools
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import click

from vaultmem.base.line_ends import with_unix_line_ends
from vaultmem.base.local_time import local_time
from vaultmem.front.asker import columns_of_asker
from vaultmem.notes import note
from vaultmem.notes.note import printable
from vaultmem.surfaces.cli.quiet import is_quiet

_WIDEST: Final = 100  # longer lines are hard to read
_NARROWEST: Final = 12  # column that still says something
_AT_LEAST: Final = 8  # where a line still does not fit
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDE: Final = "\\u2e80-\\u9fff\\uac00-\\ud7a3"  # signs between which a line may be broken
_PIECES: Final = re.compile(rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+")
_CODE: Final = ("```", "~~~")
_BETWEEN_SENTENCES: Final = re.compile(r"(?<=[a-z0-9)'\]][.!?]) (?=[A-Z])")

Style = Mapping[str, Any]
DIM: Final[Style] = {"dim": True}
BOLD: Final[Style] = {"bold": True}


_for_people: Final = contextvars.ContextVar("for_people", default=False)


def is_for_a_person() -> bool:
    """Whether the answer goes to a terminal, and not to a pipe or a file."""
    return sys.stdout.isatty() or _for_people.get()


@contextlib.contextmanager
def laid_out_for_people() -> Iterator[None]:
    """Answers as on a terminal, wherever they go."""
    before = _for_people.set(True)
    try:
        yield
    finally:
        _for_people.reset(before)


def screen_width() -> int:
    return max(40, min(columns_of_asker(), _WIDEST))


def safe_for_screen(text: str) -> str:
    """Note text is data: no character of it may steer the terminal."""
    return _CONTROLS.sub("\ufffd", with_unix_line_ends(printable(text)))


def one_screen_line(text: str) -> str:
    return " ".join(note.one_line(text).split())


def screen_line(text: str, indent: int = 0) -> str:
    """One line, which hangs where a person's terminal is too narrow for it."""
    plain = one_screen_line(text)
    return wrapped_paragraphs(plain, indent) if is_for_a_person() else " " * indent + plain


def say_line(text: str, **style: Any) -> None:
    """A message beside the answer."""
    if not is_quiet():
        click.echo(click.style(text, **style) if style else text, err=True)


def say_complaint(text: str, **style: Any) -> None:
    """What must be heard, with --quiet too. On a terminal a long text has a line for each
    sentence, and commands in it stay whole, to be copied."""
    if sys.stderr.isatty() and screen_columns(text) > screen_width():
        text = _BETWEEN_SENTENCES.sub("\n", text)
    click.secho(text, err=True, **{"fg": "red"} | style)


def print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        say_complaint(safe_for_screen(warning), fg="yellow")


def number_on_screen(number: int, word: str) -> str:
    many = word.removesuffix("y") + "ies" if word.endswith("y") else word + "s"
    return f"{number:,} {word if number == 1 else many}"


def tag_labels(tags: Iterable[str], *words: str | None) -> str:
    """A line of small print: `semantic · user · #git`."""
    return " · ".join(
        one_screen_line(word) for word in (*words, *(f"#{tag}" for tag in tags)) if word
    )


def say_done(what: str, path: str, memory_id: str) -> None:
    """Where a change was made; in a pipe the id and the path."""
    if is_quiet():
        return
    if is_for_a_person():
        click.echo(click.style(what, fg="green") + "  " + one_screen_line(path))
    else:
        click.echo(f"{one_screen_line(memory_id)}\t{one_screen_line(path)}")


# --- columns -------------------------------------------------------------------------------


def print_table(
    rows: Sequence[Sequence[str]],
    styles: Sequence[Style] = (),
    *,
    indent: int = 0,
    give: Sequence[int] = (-1,),
) -> None:
    """Aligned columns, of which those in `give` are cut, the first of them first, where a
    line is too long; in a pipe tabs, and nothing cut."""
    cells = [[one_screen_line(cell) for cell in row] for row in rows]
    if not is_for_a_person():
        for row in cells:
            click.echo("\t".join(row))
        return
    widths = _screen_column_widths(cells, indent, give)
    for row in cells:
        texts = [_fit_to_screen_column(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        texts[-1] = texts[-1].rstrip()
        looks = [*styles, *({} for _ in texts)]
        line = "  ".join(
            click.style(text, **look) for text, look in zip(texts, looks, strict=False)
        )
        click.echo(" " * indent + line)


def _screen_column_widths(
    cells: Sequence[Sequence[str]], indent: int, give: Sequence[int]
) -> list[int]:
    widths = [max(map(screen_columns, column)) for column in zip(*cells, strict=True)]
    over = indent + sum(widths) + 2 * (len(widths) - 1) - screen_width()
    widest = sorted(range(len(widths)), key=widths.__getitem__, reverse=True)
    for column, least in (*((c, _NARROWEST) for c in give), *((c, _AT_LEAST) for c in widest)):
        cut = max(0, min(over, widths[column] - least))
        widths[column] -= cut
        over -= cut
    return widths


def _fit_to_screen_column(text: str, wide: int) -> str:
    """Exactly so many columns: filled with blanks, or cut."""
    if screen_columns(text) > wide:
        ends = itertools.accumulate(map(_screen_columns_of_letter, text))
        text = text[: sum(end < wide for end in ends)] + "…"
    return text + " " * (wide - screen_columns(text))


def screen_columns(text: str) -> int:
    """How many columns a terminal needs: East Asian letters take two, accents none."""
    return len(text) if text.isascii() else sum(map(_screen_columns_of_letter, text))


def _screen_columns_of_letter(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


# --- text ----------------------------------------------------------------------------------


def wrapped_paragraphs(text: str, indent: int = 0) -> str:
    """Text for the terminal's width; code and tables keep their lines."""
    lines: list[str] = []
    in_code = False
    for line in safe_for_screen(text).split("\n"):
        fence = line.lstrip().startswith(_CODE)
        kept = in_code or fence or line.startswith(("    ", "\t", "|"))
        in_code ^= fence
        lines += [line] if kept else _wrapped_screen_line(line, screen_width() - indent)
    return "\n".join(" " * indent + line if line else "" for line in lines)


def _wrapped_screen_line(line: str, wide: int) -> list[str]:
    """A line broken at blanks, or between letters of scripts without blanks; lists hang."""
    if screen_columns(line) <= wide:
        return [line]
    start = re.match(r"\s*(?:[-*+] |\d+[.)] |> )?", line)
    hang = " " * (len(start[0]) if start else 0)
    lines, current = [], ""
    for piece in _PIECES.findall(line):
        if current.strip() and screen_columns(current + piece) > wide:
            lines.append(current.rstrip())
            current = hang
            piece = piece.lstrip()
        current += piece
    return [*lines, current.rstrip()] if current.strip() else lines


# --- time ----------------------------------------------------------------------------------


def moment_for_people(moment: dt.datetime | str | None) -> str:
    """A moment as a person says it; in a pipe to the second, by the clock here and with what that
    is ahead of UTC. A text is what a person wrote."""
    if moment is None or isinstance(moment, str):
        return moment or ""
    if is_for_a_person():
        return friendly_moment(moment)
    return local_time(moment).isoformat(timespec="seconds")


def friendly_moment(moment: dt.datetime, now: dt.datetime | None = None) -> str:
    """`5 minutes ago`, `today 09:40`, `yesterday 18:05`, `5 Jan 09:40`, `5 Jan 2025`, local."""
    now = (now or dt.datetime.now(dt.UTC)).astimezone()
    try:
        local = moment.astimezone(now.tzinfo)
    except OverflowError:  # on the calendar's first or last day
        return moment.date().isoformat()
    passed = (now - local).total_seconds()
    if 0 <= passed < 60:
        return "just now"
    if 60 <= passed < 3600:
        return number_on_screen(int(passed // 60), "minute") + " ago"
    days = (now.date() - local.date()).days
    if days in (0, 1):
        return f"{'yesterday' if days else 'today'} {local:%H:%M}"
    day = f"{local.day} {local:%b}"
    return f"{day} {local:%H:%M}" if local.year == now.year else f"{day} {local.year}"


# --- changes -------------------------------------------------------------------------------

_DIFF: Final[Mapping[str, Style]] = {
    "+++": BOLD,
    "---": BOLD,
    "@@": {"fg": "cyan"},
    "+": {"fg": "green"},
    "-": {"fg": "red"},
}


def print_diff(text: str) -> None:
    for line in safe_for_screen(text).removesuffix("\n").split("\n") if text else ():
        style = next((look for start, look in _DIFF.items() if line.startswith(start)), {})
        click.secho(line, **style)


def size_for_people(octets: int) -> str:
    return f"{octets} B" if octets < 1024 else f"{octets / 1024:.1f} kB"
