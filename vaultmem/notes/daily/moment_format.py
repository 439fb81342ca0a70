"""A date written as Obsidian writes it: by a format of moment.js, with English names.

Which language Obsidian speaks is not kept in the vault, so months and weekdays are English here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Final

LONGEST_FORMAT: Final = 500  # characters
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
# What stands for several tokens; with small letters the same with less room.
_LONG_FORMS: Final = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
}
_LONG_FORM: Final = re.compile(r"\[[^\[]*\]|\\?(?:LTS|LT|L{1,4}|l{1,4})")


def moment_text(when: dt.datetime, form: str) -> str:
    """The moment in this format; what is no token, or stands in [brackets], is kept as it is."""
    if len(form) > LONGEST_FORMAT:
        raise ValueError(f"the format has more than {LONGEST_FORMAT} characters")
    whole = _LONG_FORM.sub(lambda found: _long_form(found[0]), form)
    return "".join(_part_of_moment(when, found[0]) for found in _TOKEN.finditer(whole))


def _long_form(name: str) -> str:
    if name in _LONG_FORMS:
        return _LONG_FORMS[name]
    if not name.startswith("l"):
        return name
    full = _LONG_FORMS[name.upper()]
    return re.sub(r"MMMM|MM|DD|dddd", lambda found: found[0][1:], full)


def _part_of_moment(when: dt.datetime, token: str) -> str:
    if token in _TOKENS:
        return _TOKENS[token](when)
    if len(token) > 1 and token.startswith("["):
        return token.removeprefix("[").removesuffix("]")
    return token.replace("\\", "")


# --- the tokens -------------------------------------------------------------------------------


def _ordinal_in_moment(number: int) -> str:
    teen = number % 100 // 10 == 1
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(0 if teen else number % 10, 'th') }"


def _weekday_in_moment(when: dt.datetime) -> int:
    """Counted from Sunday."""
    return when.isoweekday() % 7


def _day_of_year(when: dt.datetime) -> int:
    return when.timetuple().tm_yday


def _week_of_moment(when: dt.datetime) -> tuple[int, int]:
    """Year and week as in America: from Sunday on, and the first is that of January 1."""
    saturday = when.toordinal() + 6 - _weekday_in_moment(when)
    year = dt.date.fromordinal(min(saturday, dt.date.max.toordinal())).year
    first = dt.date(year, 1, 1)
    return year, (saturday - 6 - first.toordinal() + first.isoweekday() % 7) // 7 + 1


def _hour_of_twelve(when: dt.datetime) -> int:
    return when.hour % 12 or 12


def _zone_of_moment(when: dt.datetime, between: str) -> str:
    minutes = int((when.utcoffset() or dt.timedelta()).total_seconds() // 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}{between}{rest:02}"


def _numbers_in_moment(
    name: str, ordinal: str, value: Callable[[dt.datetime], int]
) -> Mapping[str, Callable[[dt.datetime], str]]:
    """A number plain, with two digits where the token is doubled, and as `1st`."""
    made: dict[str, Callable[[dt.datetime], str]] = {
        name: lambda when: str(value(when)),
        name * 2: lambda when: f"{value(when):02}",
    }
    if ordinal:
        made[ordinal] = lambda when: _ordinal_in_moment(value(when))
    return made


def _years_in_moment(
    letter: str, value: Callable[[dt.datetime], int]
) -> Mapping[str, Callable[[dt.datetime], str]]:
    return {
        letter * 2: lambda when: f"{value(when) % 100:02}",
        letter * 4: lambda when: f"{value(when):04}",
        letter * 5: lambda when: f"{value(when):05}",
    }


def _fraction_in_moment(digits: int) -> Callable[[dt.datetime], str]:
    """Of a second; moment counts thousandths."""
    return lambda when: f"{when.microsecond // 1000:03}"[:digits].ljust(digits, "0")


_TOKENS: Final[Mapping[str, Callable[[dt.datetime], str]]] = {
    **_years_in_moment("Y", lambda when: when.year),
    **_years_in_moment("g", lambda when: _week_of_moment(when)[0]),
    **_years_in_moment("G", lambda when: when.isocalendar().year),
    "Y": lambda when: f"{when.year:04}",
    "YYYYYY": lambda when: f"+{when.year:06}",
    "y": lambda when: str(when.year),
    "yy": lambda when: f"{when.year:02}",
    "yyy": lambda when: f"{when.year:03}",
    "yyyy": lambda when: f"{when.year:04}",
    "yo": lambda when: _ordinal_in_moment(when.year),
    **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), lambda when: "AD"),
    "NNNN": lambda when: "Anno Domini",
    "Q": lambda when: str((when.month + 2) // 3),
    "Qo": lambda when: _ordinal_in_moment((when.month + 2) // 3),
    **_numbers_in_moment("M", "Mo", lambda when: when.month),
    "MMM": lambda when: _MONTHS[when.month - 1][:3],
    "MMMM": lambda when: _MONTHS[when.month - 1],
    **_numbers_in_moment("w", "wo", lambda when: _week_of_moment(when)[1]),
    **_numbers_in_moment("W", "Wo", lambda when: when.isocalendar().week),
    **_numbers_in_moment("D", "Do", lambda when: when.day),
    "DDD": lambda when: str(_day_of_year(when)),
    "DDDD": lambda when: f"{_day_of_year(when):03}",
    "DDDo": lambda when: _ordinal_in_moment(_day_of_year(when)),
    "d": lambda when: str(_weekday_in_moment(when)),
    "do": lambda when: _ordinal_in_moment(_weekday_in_moment(when)),
    "dd": lambda when: _DAYS[_weekday_in_moment(when)][:2],
    "ddd": lambda when: _DAYS[_weekday_in_moment(when)][:3],
    "dddd": lambda when: _DAYS[_weekday_in_moment(when)],
    "e": lambda when: str(_weekday_in_moment(when)),
    "E": lambda when: str(when.isoweekday()),
    **_numbers_in_moment("H", "", lambda when: when.hour),
    **_numbers_in_moment("h", "", _hour_of_twelve),
    **_numbers_in_moment("k", "", lambda when: when.hour or 24),
    **_numbers_in_moment("m", "", lambda when: when.minute),
    **_numbers_in_moment("s", "", lambda when: when.second),
    "Hmm": lambda when: f"{when.hour}{when.minute:02}",
    "Hmmss": lambda when: f"{when.hour}{when.minute:02}{when.second:02}",
    "hmm": lambda when: f"{_hour_of_twelve(when)}{when.minute:02}",
    "hmmss": lambda when: f"{_hour_of_twelve(when)}{when.minute:02}{when.second:02}",
    "a": lambda when: "am" if when.hour < 12 else "pm",
    "A": lambda when: "AM" if when.hour < 12 else "PM",
    **{"S" * digits: _fraction_in_moment(digits) for digits in range(1, 10)},
    "x": lambda when: str(int(when.timestamp()) * 1000 + when.microsecond // 1000),
    "X": lambda when: str(int(when.timestamp())),
    **dict.fromkeys(("z", "zz"), lambda when: ""),  # moment names no zone of this machine
    "Z": lambda when: _zone_of_moment(when, ":"),
    "ZZ": lambda when: _zone_of_moment(when, ""),
}
_TOKEN: Final = re.compile(
    r"\[[^\[]*\]|\\?(?:"
    + "|".join(sorted(_TOKENS, key=lambda token: (-len(token), token)))
    + r"|.)",
    re.DOTALL,
)
