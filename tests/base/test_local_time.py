"""Days and clocks of this machine."""

from __future__ import annotations

import datetime as dt
import os
import time

import pytest

from tests.clocks import LOS_ANGELES, TOKYO, clock_of
from vaultmem.base.local_time import (
    end_of_day,
    is_day,
    local_now,
    local_time,
    moment_since,
    start_of_day,
    utc_moment,
)

NOW = dt.datetime(2026, 11, 19, 5, 30, tzinfo=dt.UTC)


def said(text: str, zone: str) -> str:
    with clock_of(zone):
        found = moment_since(text, NOW)
        return found.strftime("%d %H:%M") if found else "none"


@pytest.mark.parametrize(
    ("text", "los_angeles", "tokyo"),
    [
        ("today", "18 08:00", "18 15:00"),
        ("Yesterday", "17 08:00", "17 15:00"),
        ("2026-11-18", "18 08:00", "17 15:00"),
        ("2026-11-18T21:00:00", "19 05:00", "18 12:00"),
        ("2026-11-18 21:00", "19 05:00", "18 12:00"),
        ("2026-11-18T21:00:00Z", "18 21:00", "18 21:00"),
        ("3h", "19 02:30", "19 02:30"),
        ("3 hours ago", "19 02:30", "19 02:30"),
        ("2d", "17 05:30", "17 05:30"),
        ("1 week", "12 05:30", "12 05:30"),
        ("soon", "none", "none"),
        ("", "none", "none"),
    ],
)
def test_since_when(text: str, los_angeles: str, tokyo: str) -> None:
    assert (said(text, LOS_ANGELES), said(text, TOKYO)) == (los_angeles, tokyo)


def test_days_that_change_the_clocks_are_whole() -> None:
    with clock_of(LOS_ANGELES):
        for day, hours in (("2026-03-08", 23), ("2026-11-01", 25), ("2026-11-18", 24)):
            date = dt.date.fromisoformat(day)
            assert end_of_day(date) - start_of_day(date) == dt.timedelta(hours=hours, seconds=-1)


def test_the_calendar_has_ends() -> None:
    for day in (dt.date.min, dt.date.max):
        assert start_of_day(day) <= end_of_day(day)
    assert utc_moment(dt.datetime.max).year == 9999
    assert local_time(dt.datetime.min.replace(tzinfo=dt.UTC)).year == 1


def test_what_names_a_day() -> None:
    assert all(map(is_day, ("today", "2026-11-18")))
    assert not any(map(is_day, ("2d", "2026-11-18T10:00", "soon")))


def test_a_process_notices_that_its_machine_travelled() -> None:
    with clock_of(TOKYO):
        assert local_now().utcoffset() == dt.timedelta(hours=9)
        os.environ["TZ"] = LOS_ANGELES  # the system changes, and nobody tells the process
        assert local_now().utcoffset() in (dt.timedelta(hours=-8), dt.timedelta(hours=-7))
    assert time.tzname
