"""Clocks and days as people see them, where this machine is, and the moments they stand for.

Notes carry what a clock on the wall shows, as Obsidian itself writes it. Inside, a moment has
its zone.
"""

from __future__ import annotations

import datetime as dt
import re
import time
from typing import Final

from ulid_transform import ulid_to_timestamp

_AGO: Final = re.compile(
    r"(\d{1,5})\s*(?:(h)(?:ours?)?|(d)(?:ays?)?|(w)(?:eeks?)?)(?:\s+ago)?\Z", re.IGNORECASE
)
_HOURS: Final = {"h": 1, "d": 24, "w": 168}
_DAYS: Final = {"today": 0, "yesterday": 1}
_ULID_LENGTH: Final = 26
_QUARTER: Final = 900  # seconds: every zone is so many of them away from UTC
_EAST, _WEST = 14 * 3600, -12 * 3600
_APART: Final = 2  # seconds between giving a note its id and its date
_EPOCH: Final = dt.datetime(1970, 1, 1)


def utc_moment(wall: dt.datetime, zone: dt.tzinfo | None = None) -> dt.datetime:
    """The moment at which a clock shows this, here or in that zone; one with a zone has its own.
    Where the calendar ends, what it shows counts as UTC."""
    try:
        here = wall if wall.tzinfo or zone is None else wall.replace(tzinfo=zone)
        return here.astimezone(dt.UTC)
    except (OverflowError, OSError, ValueError):
        return wall.replace(tzinfo=dt.UTC)


def local_time(moment: dt.datetime) -> dt.datetime:
    """The moment as a clock shows it here; a moment without a zone is that already."""
    if moment.tzinfo is None:
        return moment
    try:
        return moment.astimezone()
    except (OverflowError, OSError, ValueError):
        return moment


def local_now() -> dt.datetime:
    """Now, to the second. A laptop travels while a server runs on it: the zone is looked up."""
    look_up_zone()
    return dt.datetime.now().astimezone().replace(microsecond=0)


def look_up_zone() -> None:
    """Notice that the machine's own zone has become another one since this process began."""
    if hasattr(time, "tzset"):
        time.tzset()


def start_of_day(day: dt.date) -> dt.datetime:
    """The day's first moment, here."""
    return utc_moment(dt.datetime.combine(day, dt.time()))


def end_of_day(day: dt.date) -> dt.datetime:
    """The day's last second, here; days that change the clocks have 23 or 25 hours."""
    if day == dt.date.max:
        return utc_moment(dt.datetime.combine(day, dt.time(23, 59, 59)))
    return start_of_day(day + dt.timedelta(days=1)) - dt.timedelta(seconds=1)


def moment_since(text: str, now: dt.datetime | None = None) -> dt.datetime | None:
    """Since when: `today`, `yesterday`, `3h`, `2d`, `1w`, or a date, or a date and time; None
    when it is none of these. A day begins at its local midnight; `2d` is 48 hours ago."""
    now, said = now or local_now(), " ".join(text.split())
    ago = _DAYS.get(said.casefold())
    if ago is not None:
        return start_of_day(local_time(now).date() - dt.timedelta(days=ago))
    if match := _AGO.match(said):
        unit = (match[2] or match[3] or match[4]).lower()
        return now.astimezone(dt.UTC) - dt.timedelta(hours=int(match[1]) * _HOURS[unit])
    try:
        return utc_moment(dt.datetime.fromisoformat(said))
    except ValueError:
        return None


def is_day(text: str) -> bool:
    """Whether this names a whole day: a date, `today`, `yesterday`."""
    said = text.strip().casefold()
    if said in _DAYS:
        return True
    try:
        dt.date.fromisoformat(said)
    except ValueError:
        return False
    return True


# --- dates as notes have them --------------------------------------------------------------------


def moment(text: str, zone: dt.tzinfo | None = None) -> dt.datetime | None:
    """A date or time as people write it in properties: a clock's here, or in that zone, where it
    names no zone of its own. None when it is neither."""
    try:
        found = dt.datetime.fromisoformat(text)
        return found.astimezone(dt.UTC) if found.tzinfo else utc_moment(found, zone)
    except (ValueError, OverflowError):  # in UTC it may lie before the year 1
        return None


def zone_by_id(created: str, id: str) -> dt.timezone | None:
    """The zone whose clocks showed `created` at the moment that the id, a ULID, was made."""
    if len(id) != _ULID_LENGTH or len(created) < len("2026-01-05T09:40"):
        return None
    try:
        made = ulid_to_timestamp(id) / 1000
        shown = dt.datetime.fromisoformat(created)
    except (ValueError, OverflowError):
        return None
    if shown.tzinfo is not None:
        return None
    ahead = (shown - _EPOCH).total_seconds() - made
    offset = round(ahead / _QUARTER) * _QUARTER
    if abs(ahead - offset) > _APART or not _WEST <= offset <= _EAST:
        return None
    return dt.timezone(dt.timedelta(seconds=offset))
