"""A template for daily notes, with its places for dates and the title filled in.

The two that make daily notes differ a little: Obsidian's own knows `{{date}}`, `{{time}}` and
`{{title}}`, with a format behind a colon; Periodic Notes also knows other days than today.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from typing import Final, NamedTuple

from vaultmem.notes.daily.moment_format import moment_text

DAY_FORMAT: Final = "YYYY-MM-DD"
TIME_FORMAT: Final = "HH:mm"
_PLACE: Final = re.compile(
    r"\{\{[ \t]{0,9}(?P<name>date|time|title|yesterday|tomorrow)"
    r"[ \t]{0,9}(?P<step>[+-]\d{1,5}[yqmwdhs])?[ \t]{0,9}(?::(?P<form>[^{}\r\n]{1,200}))?\}\}",
    re.IGNORECASE,
)
_MONTHS: Final = {"y": 12, "q": 3, "m": 1}
_SPANS: Final = {
    "w": dt.timedelta(weeks=1),
    "d": dt.timedelta(days=1),
    "h": dt.timedelta(hours=1),
    "s": dt.timedelta(seconds=1),
}


class TemplateValues(NamedTuple):
    """What the places of a template stand for."""

    now: dt.datetime
    title: str
    date_format: str = DAY_FORMAT
    time_format: str = TIME_FORMAT
    other_days: bool = False  # whether {{yesterday}} and {{date+1d}} are places too


def filled_template(text: str, values: TemplateValues) -> str:
    """The text with its places filled; a place that nobody knows stays as it is."""
    return _PLACE.sub(lambda place: _filled_place(place, values), text)


def has_foreign_commands(text: str) -> bool:
    """Whether there are commands in it that another program carries out."""
    return "%>" in text.partition("<%")[2]  # Templater's


def _filled_place(place: re.Match[str], values: TemplateValues) -> str:
    name, step, form = place["name"].casefold(), place["step"], place["form"]
    if name == "title":
        return place[0] if step or form else values.title
    if name in ("yesterday", "tomorrow"):
        if step or form or not values.other_days:
            return place[0]
        days = dt.timedelta(days=-1 if name == "yesterday" else 1)
        return moment_text(values.now + days, values.date_format)
    if step and not values.other_days:
        return place[0]
    usual = values.date_format if name == "date" else values.time_format
    try:
        when = _stepped_moment(values.now, step) if step else values.now
        return moment_text(when, form.strip() if form else usual)
    except (ValueError, OverflowError):
        return place[0]


def _stepped_moment(now: dt.datetime, step: str) -> dt.datetime:
    count, unit = int(step[:-1]), step[-1].lower()
    if unit in _SPANS:
        return now + count * _SPANS[unit]
    months = now.year * 12 + now.month - 1 + count * _MONTHS[unit]
    year, month = divmod(months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return now.replace(year=year, month=month + 1, day=min(now.day, last))
