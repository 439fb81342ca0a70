"""Time zones for tests: this process put into one, and zones where it is a certain time now."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

LOS_ANGELES, TOKYO = "America/Los_Angeles", "Asia/Tokyo"


@contextmanager
def clock_of(zone: str) -> Iterator[None]:
    """This process in that time zone."""
    try:
        with patch.dict("os.environ", TZ=zone):
            time.tzset()
            yield
    finally:
        time.tzset()


def zone_where_it_is(hour: int, minute: int = 30) -> tuple[str, dt.timezone]:
    """A zone, as TZ has it, where it is about that time now, whenever the test runs."""
    now = dt.datetime.now(dt.UTC)
    west = (now.hour * 60 + now.minute - hour * 60 - minute) % 1440
    west -= 1440 if west > 720 else 0
    west = round(west / 15) * 15
    sign, apart = ("-" if west < 0 else ""), abs(west)
    zone = dt.timezone(dt.timedelta(minutes=-west))
    return f"XXX{sign}{apart // 60}:{apart % 60:02}", zone
