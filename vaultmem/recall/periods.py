"""Days to periods: months, seasons, weeks and holidays, as half-open ranges of local days."""

from __future__ import annotations

import datetime as dt
from typing import Final, NamedTuple

_DAY: Final = dt.timedelta(days=1)
_FIXED: Final = {  # month, day, and for how many days
    "christmas": (12, 23, 5),
    "christmas_day": (12, 25, 1),
    "eve": (12, 24, 1),
    "boxing": (12, 26, 1),
    "silvester": (12, 31, 1),
    "newyear": (1, 1, 1),
    "halloween": (10, 31, 1),
    "valentine": (2, 14, 1),
    "national": (10, 1, 7),
}
_BY_EASTER: Final = {  # days from Easter Sunday, and for how many days
    "easter": (-2, 4),
    "friday": (-2, 1),
    "monday": (1, 1),
    "holyweek": (-7, 8),
    "pentecost": (49, 2),
    "carnival": (-49, 4),
}
LENGTHS: Final = {"day": 1, "week": 7, "fortnight": 14, "weekend": 7, "month": 30.44}
LENGTHS_OF_YEARS: Final = {"quarter": 0.25, "half": 0.5, "year": 1, "decade": 10}


class Period(NamedTuple):
    start: dt.date
    end: dt.date  # the first day behind it
    weight: float = 1.0  # how likely it is meant, beside others

    @property
    def days(self) -> int:
        return (self.end - self.start).days


def days_later(day: dt.date, days: float) -> dt.date:
    """Never beyond the calendar."""
    try:
        return day + dt.timedelta(days=round(days))
    except OverflowError:
        return dt.date.max if days > 0 else dt.date.min


def month_period(year: int, month: int, months: int = 1) -> Period:
    """Some months from this one on; `month` may lie outside of the year."""
    return Period(_first_of(year, month), _first_of(year, month + months))


def _first_of(year: int, month: int) -> dt.date:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    if year < 1:
        return dt.date.min
    return dt.date.max if year > 9999 else dt.date(year, month, 1)


def year_period(year: int, years: int = 1) -> Period:
    return month_period(year, 1, 12 * years)


def season_period(year: int, season: int) -> Period:
    """Three months each, the winter (1) from December before the year on."""
    return month_period(year, 3 * season - 3, 3)


def day_period(day: dt.date, days: int = 1) -> Period:
    return Period(day, days_later(day, days))


def week_period(day: dt.date, weeks: int = 0) -> Period:
    """The week of this day, from Monday on, or one that many weeks later."""
    monday = days_later(day, 7 * weeks - day.weekday())
    return Period(monday, days_later(monday, 7))


def iso_week(year: int, week: int) -> Period | None:
    try:
        return day_period(dt.date.fromisocalendar(year, week, 1), 7)
    except ValueError:
        return None


def date_period(year: int, month: int, day: int) -> Period | None:
    try:
        return day_period(dt.date(year, month, day))
    except ValueError:
        return None


def unit_period(unit: str, today: dt.date, step: int) -> Period | None:
    """The calendar's own week, month … of today, or one before or after it."""
    if unit == "day":
        return day_period(days_later(today, step))
    if unit in ("week", "fortnight"):
        return week_period(today, step * (2 if unit == "fortnight" else 1))
    if unit == "weekend":
        return weekend(today, step)
    if unit == "decade":
        return year_period(today.year // 10 * 10 + 10 * step, 10)
    months = {"month": 1, "quarter": 3, "half": 6, "year": 12}.get(unit)
    if months is None:
        return None
    first = (today.month - 1) // months * months + 1
    return month_period(today.year, first + step * months, months)


def weekend(today: dt.date, step: int) -> Period:
    """Saturday and Sunday; the one that is, or was last, for step 0 where the week has begun."""
    saturday = days_later(today, 5 - today.weekday() + 7 * step)
    return day_period(saturday, 2)


def easter(year: int) -> dt.date:
    """Easter Sunday, by the Gregorian computus (Meeus)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return dt.date(year, month, day + 1)


def holiday_period(name: str, year: int) -> Period:
    year = min(max(year, 1), 9999)
    if name in _BY_EASTER:
        offset, days = _BY_EASTER[name]
        return day_period(days_later(easter(year), offset), days)
    if name == "thanksgiving":  # the fourth Thursday of November
        first = dt.date(year, 11, 1)
        return day_period(days_later(first, (3 - first.weekday()) % 7 + 21))
    month, day, days = _FIXED[name]
    return day_period(dt.date(year, month, day), days)


def holiday_itself(name: str, year: int) -> dt.date:
    """The day that "before" and "after" are counted from."""
    year = min(max(year, 1), 9999)
    if name == "easter":
        return easter(year)
    return dt.date(year, 12, 25) if name == "christmas" else holiday_period(name, year).start


def part_of(period: Period, part: str, today: dt.date) -> Period:
    """Early, in the middle of, late; earlier and later are seen from today."""
    if part == "earlier":
        return Period(period.start, max(days_later(today, 1), days_later(period.start, 1)))
    if part == "later":
        return Period(min(today, days_later(period.end, -1)), period.end)
    third = max(1, round(period.days / 3))
    first = {"early": 0, "middle": third, "late": period.days - third}[part]
    start = days_later(period.start, first)
    return Period(start, max(days_later(start, third), days_later(start, 1)))


def units_away(unit: str, day: dt.date, count: float, *, exact: bool = False) -> Period:
    """Some units before (negative) or after a day: the day itself, or as much around it as
    people mean who count in weeks or months."""
    if unit in LENGTHS:
        centre = days_later(day, count * LENGTHS[unit])
        around = {"day": 0, "week": 3, "weekend": 3, "fortnight": 3, "month": 15}[unit]
    else:
        centre = days_later(day, count * LENGTHS_OF_YEARS[unit] * 365.25)
        around = 45 if unit != "decade" and abs(count) <= 1 else 183
    around = 0 if exact and unit in ("day", "week", "fortnight") else around
    start = min(days_later(centre, -around), dt.date.max - _DAY)
    return Period(start, days_later(start, 2 * around + 1))


def units_since(unit: str, day: dt.date, count: float) -> dt.date:
    """The day some units before this one."""
    if unit in LENGTHS:
        return days_later(day, -count * LENGTHS[unit])
    return days_later(day, -count * LENGTHS_OF_YEARS.get(unit, 0) * 365.25)
