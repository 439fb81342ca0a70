"""Words of time in Chinese, where no blanks part them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from vaultmem.recall.date_grammar import Expression
from vaultmem.recall.periods import (
    Period,
    date_period,
    day_period,
    days_later,
    holiday_itself,
    holiday_period,
    month_period,
    part_of,
    season_period,
    unit_period,
    units_away,
    units_since,
    week_period,
    year_period,
)

_DIGITS: Final = "零一二三四五六七八九"
_N: Final = r"(?:\d{1,3}|[一二两三四五六七八九十]{1,3}|几)"
_DAYS: Final = {"大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "今早": 0,
                "明天": 1, "后天": 2}  # fmt: skip
_YEARS: Final = {"前年": -2, "去年": -1, "今年": 0, "明年": 1}
_STEPS: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1}
_UNITS: Final = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week",
                 "月": "month", "季度": "quarter", "年": "year"}  # fmt: skip
_HOLIDAYS: Final = {"圣诞": "christmas", "复活节": "easter", "元旦": "newyear", "国庆": "national"}
_PARTS: Final = {"初": "early", "上旬": "early", "中旬": "middle", "下旬": "late", "底": "late",
                 "末": "late"}  # fmt: skip
_PATTERN: Final = (
    rf"(?P<ago>(?P<n>{_N})(?:个)?(?P<u>天|周|星期|礼拜|月|年)(?:之|以)?前)"
    rf"|(?P<trail>(?:最近|过去)(?P<tn>{_N})(?:个)?(?P<tu>天|周|星期|礼拜|月|年))"
    r"|(?P<point>"
    r"(?:(?P<yn>(?:19|20)\d\d|[一二][零〇一二三四五六七八九]{3})年(?!代)|(?P<yr>前年|去年|今年|明年))?(?:的)?"
    r"(?:(?P<m>\d{1,2}|十[一二]?|[一二三四五六七八九])月(?:份)?"
    rf"(?:(?P<d>{_N})[日号]|(?P<part>初|上旬|中旬|下旬|底|末))?"
    r"|(?P<s>[春夏秋冬])(?:天|季)|(?P<h>圣诞节?|复活节|元旦|国庆节?))"
    r"|(?P<yn2>(?:19|20)\d\d|[一二][零〇一二三四五六七八九]{3})年(?!代)|(?P<yr2>前年|去年|今年|明年)"
    r"|(?P<step>上上|上|这|本|下)(?:个)?(?:(?P<wd>(?:周|星期|礼拜)(?P<wdn>[一二三四五六日天]))"
    r"|(?P<we>周末)|(?P<su>周|星期|礼拜|月|季度))"
    r"|(?P<day>大前天|前天|昨天|昨晚|今天|今晚|今早|明天|后天)"
    r")(?P<bound>之前|以前|前|之后|以后|后|以来)?"
    r"|(?:在)?(?P<we2>周末)|(?:周|星期|礼拜)(?P<wd2>[一二三四五六日天])"
    r"|(?P<dec>(?:19|20)?\d0)年代"
    r"|(?P<vague>最近|近来|前几天|前些天)"
)
_HAN: Final = re.compile("[\u4e00-\u9fff]")


@cache
def _compiled() -> re.Pattern[str]:
    return re.compile(_PATTERN)


def chinese_expressions(text: str, today: dt.date) -> list[Expression]:
    text = text[:10_000]
    if not _HAN.search(text):
        return []
    found = []
    for match in _compiled().finditer(text):
        periods, wording = _periods(match, today)
        periods = [period for period in periods if period and period.days > 0]
        if periods:
            dated = bool(match["yn"] or match["yn2"] or match["dec"])
            yearly = bool(match["m"] or match["s"] or match["h"]) and not (match["yr"] or dated)
            found.append(
                Expression(tuple(p for p in periods if p), wording, match.span(), dated, yearly)
            )
    return found


def _periods(match: re.Match[str], today: dt.date) -> tuple[list[Period | None], str]:
    tomorrow = days_later(today, 1)
    if match["ago"]:
        return _ago(match["n"], _UNITS[match["u"]], today)
    if match["trail"]:
        start = units_since(_UNITS[match["tu"]], today, _number(match["tn"]) or 6)
        return [Period(start, tomorrow)], "range"
    if match["vague"]:
        days = 30 if match["vague"] in ("最近", "近来") else 14
        return [Period(days_later(today, -days), tomorrow, 0.5)], "vague"
    if match["dec"]:
        decade = int(match["dec"])
        return [year_period(decade if decade > 99 else decade + 1900, 10)], "range"
    if match["we2"]:
        return [unit_period("weekend", today, 0 if today.weekday() >= 5 else -1)], "range"
    if match["wd2"]:
        back = (today.weekday() - _weekday(match["wd2"])) % 7
        return [day_period(days_later(today, -back))], "day"
    return _bounded(match, list(_points(match, today)), today)


def _ago(number: str, unit: str, today: dt.date) -> tuple[list[Period | None], str]:
    count = _number(number)
    if not count:  # 几天前
        start, end = units_since(unit, today, 6), units_since(unit, today, 1.5)
        return [Period(start, end)], "vague"
    return [units_away(unit, today, -count)], "day" if unit == "day" else "vague"


def _points(match: re.Match[str], today: dt.date) -> Iterator[Period | None]:
    year = _year(match, today)
    if match["m"]:
        month, day = _number(match["m"]), match["d"] and _number(match["d"])
        for y in _likely_years(year, today, month, day or 1):
            whole = month_period(y, month) if 1 <= month <= 12 else None
            if day:
                yield date_period(y, month, day)
            else:
                part = _PARTS.get(match["part"] or "")
                yield part_of(whole, part, today) if whole and part else whole
    elif match["s"]:
        season = "冬春夏秋".index(match["s"]) + 1
        for y in _likely_years(year, today, max(1, 3 * season - 3), 1):
            yield season_period(y + (season == 1 and year is not None), season)
    elif match["h"]:
        name = next(_HOLIDAYS[key] for key in _HOLIDAYS if match["h"].startswith(key))
        first = holiday_period(name, today.year).start
        for y in _likely_years(year, today, first.month, first.day):
            yield holiday_period(name, y)
    elif year is not None:
        yield year_period(year)
    elif match["day"]:
        yield day_period(days_later(today, _DAYS[match["day"]]))
    else:
        step = _STEPS[match["step"]]
        if match["wd"]:
            yield day_period(days_later(week_period(today, step).start, _weekday(match["wdn"])))
        else:
            unit = "weekend" if match["we"] else _UNITS[match["su"]]
            yield unit_period(unit, today, step)


def _bounded(
    match: re.Match[str], periods: list[Period | None], today: dt.date
) -> tuple[list[Period | None], str]:
    bound, first = match["bound"], next((period for period in periods if period), None)
    if not bound or first is None:
        day = bool(match["d"] or match["day"] or match["wd"])
        return periods, "day" if day else "vague" if match["s"] or match["h"] else "range"
    middle = first
    if match["h"]:
        name = next(_HOLIDAYS[key] for key in _HOLIDAYS if match["h"].startswith(key))
        middle = day_period(
            holiday_itself(name, first.end.year if name != "newyear" else first.start.year)
        )
    if bound.endswith("前"):
        dated = match["yn"] or match["yn2"]
        start = dt.date.min if dated else days_later(middle.start, -365)
        return [Period(start, middle.start)], "before"
    start = middle.start if bound == "以来" else middle.end
    return [Period(start, max(days_later(today, 1), days_later(start, 1)))], "after"


def _likely_years(year: int | None, today: dt.date, month: int, day: int) -> list[int]:
    """The year that is named, else the last in which that day had come."""
    if year is not None:
        return [year]
    return [today.year if (month, day) <= (today.month, today.day) else today.year - 1]


def _year(match: re.Match[str], today: dt.date) -> int | None:
    if relative := match["yr"] or match["yr2"]:
        return today.year + _YEARS[relative]
    written = match["yn"] or match["yn2"]
    if not written:
        return None
    return int("".join(_digit(sign) for sign in written))


def _digit(sign: str) -> str:
    return sign if sign.isdecimal() else str(_DIGITS.index(sign.replace("〇", "零")))


def _weekday(sign: str) -> int:
    return 6 if sign in "日天" else "一二三四五六".index(sign)


def _number(text: str) -> int:
    """Up to 99 in signs; 0 for "some"."""
    if text.isdecimal():
        return int(text)
    if text == "几":
        return 0
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    if not ten:
        return _DIGITS.find(ones[0])
    value = max(_DIGITS.find(tens), 1) if tens else 1
    return 10 * value + (max(_DIGITS.find(ones), 0) if ones else 0)
