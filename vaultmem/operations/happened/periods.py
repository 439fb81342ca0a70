"""When something began, as people say it: in the time zone of whoever asks."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from vaultmem.base import local_time
from vaultmem.errors import InvalidInput
from vaultmem.limits import shown_wrong_value

# Only here: where notes are removed by their age, `6m` might be months.
_MINUTES: Final = re.compile(r"(\d{1,5})\s*(?:m|min|minutes?)(?:\s+ago)?\Z", re.IGNORECASE)


def beginning_of(since: str, now: dt.datetime | None = None) -> dt.datetime:
    """`today` and `yesterday` begin at midnight, `3h` and `2d` so long ago; else a date, or a
    moment, which is local unless it says otherwise."""
    here = now or local_time.local_now()
    if ago := _MINUTES.match(" ".join(since.split())):
        return local_time.local_time(here - dt.timedelta(minutes=int(ago[1])))
    found = local_time.moment_since(since, here)
    if found is None:
        raise InvalidInput(
            "since must be today, yesterday, an age like 2d or 3h, or a date like 2026-01-31, not "
            f"{shown_wrong_value(since)}."
        )
    return local_time.local_time(found)


def local_moment(seconds: float) -> str:
    """As it stood on the clock here, to the second, with what it is ahead of UTC."""
    return dt.datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
