"""Words of time to periods: the patterns in which people say when."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from vaultmem.recall.date_points import Meaning, Point
from vaultmem.recall.date_tokens import DateToken, DateTokens
from vaultmem.recall.date_words import PLURALS
from vaultmem.recall.periods import (
    LENGTHS,
    Period,
    day_period,
    days_later,
    unit_period,
    units_away,
    units_since,
)

_YEAR: Final = r"(?:Y|[LTX]y|y[lx])"
_BEFORE_IT: Final = rf"(?:{_YEAR},?I?d?)?"
_OF: Final = r"[ocd]{0,2}"
_DAY: Final = (
    rf"(?:[Ww],?)?d?[NR]'{{0,2}}(?:[oc]d?)?[Mm](?:,?{_OF}{_YEAR})?"
    rf"|(?:[Ww],?)?[Mm]d?[NR]'?(?:,?{_YEAR})?"
)
_NAMED: Final = rf"{_BEFORE_IT}(?:[LTX]?d?[MmSsHQh](?:[lx]|,?{_OF}{_YEAR})?)"
_SIMPLE: Final = (
    rf"(?:Z|{_DAY}|{_NAMED}|[LTX][Uy]|[Uy][lx]|[LTX]d?[Ww]p?|Wp?[lx]?|Jp?|[LT]p"
    rf"|K(?:,?{_OF}{_YEAR})?|UN(?:,?{_OF}Y)?|y?Y|D)"
)
_POINT: Final = rf"(?:B{_OF})?(?:[RL]N?[Uy][ocd]{{1,2}}{_SIMPLE}|{_SIMPLE})"
_COUNT: Final = r"(?:O?F|N|O)"
# The first that matches takes its words.
_PATTERNS: Final = (
    ("between", rf"(?:[kfc])d?(?P<p>{_POINT})[ntIO]d?(?P<p2>{_POINT})"),
    ("ago", rf"G?(?:(?P<c>{_COUNT})(?P<u>[Uy])A|[gVv](?P<c2>{_COUNT})(?P<u2>[Uy])A?)"),
    ("offset", rf"d?(?P<c>{_COUNT})?(?P<u>[UyW])(?P<b>[qrV]){_OF}I?(?P<p>{_POINT})"),
    ("bound", rf"(?P<b>[qrztV]){_OF}I?d?(?P<p>{_POINT})"),
    (
        "trailing",
        r"[Iz]{0,2}d?(?:(?P<l>[LPX])(?P<c>O?F|N)?(?P<u>[Uy])|(?P<c2>N|F)l(?P<u2>[Uy]))",
    ),
    ("since_units", rf"z(?P<c>{_COUNT})(?P<u>[Uy])"),
    ("ahead", rf"I(?P<c>{_COUNT})(?P<u>[Uy])"),
    ("point", rf"(?P<i>I{{0,2}})(?P<d>d?)(?P<p>{_POINT})p?"),
    ("weekend", r"I{1,2}d?(?P<u>U)"),
    ("vague", r"(?P<j>j)"),
    ("daypart", r"(?P<p>p)"),
)
_FEW: Final = {"few": (2, 6), "couple": (2, 3)}
_SOME: Final = 4
_HEADS: Final = frozenset("JjUyWwMmSsHQhKDZYp")
_SHORTLY: Final = frozenset(["shortly", "just", "right", "kurz", "pouco", "logo", "juste", "poco"])


class Expression(NamedTuple):
    """What some words of a question say about when."""

    periods: tuple[Period, ...]  # the most likely first
    wording: str  # day, range, vague, before, after
    span: tuple[int, int]
    dated: bool = False  # with its year, so whatever today is
    yearly: bool = False  # without one: other years are possible


@cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS)


def expressions(tokens: DateTokens, today: dt.date) -> list[Expression]:
    """All of them; none shares a word with another."""
    if _HEADS.isdisjoint(tokens.kinds):  # most questions: no pattern need be made for them
        return []
    taken = bytearray(len(tokens.all))
    reading = _Reading(tokens, today)
    found: list[Expression] = []
    for name, pattern in _compiled():
        at = 0
        while match := pattern.search(tokens.kinds, at):
            start, end = match.span()
            meaning = None if any(taken[start:end]) else reading.read(name, match)
            if meaning is None:
                at = start + 1
                continue
            at = end
            taken[start:end] = b"\1" * (end - start)
            span = tokens.all[start].start, tokens.all[end - 1].end
            periods = tuple(p for p in meaning.periods if p and p.days > 0)
            found.append(Expression(periods, meaning.wording, span, meaning.dated, meaning.yearly))
    return found


class _Reading:
    """One question, read on one day."""

    def __init__(self, tokens: DateTokens, today: dt.date) -> None:
        self._all = tokens.all
        self._tokens = tokens
        self._today = today
        self._tomorrow = days_later(today, 1)

    def read(self, name: str, match: re.Match[str]) -> Meaning | None:
        """None where the words only look like it."""
        meaning: Meaning | None = getattr(self, f"_{name}")(match)
        if meaning is None or not any(p and p.days > 0 for p in meaning.periods):
            return None
        return meaning

    # --- patterns ----------------------------------------------------------------------

    def _between(self, match: re.Match[str]) -> Meaning | None:
        if not self._fits_before(match.start(), match.start("p")):
            return None
        year = self._year(self._all[slice(*match.span("p2"))])
        first = self._point_in(match.span("p"), year)
        second = self._point_in(match.span("p2"), None)
        if first is None or second is None:
            return None
        start = next((p.start for p in first.periods if p), None)
        ends = [p.end for p in second.periods if p and start and p.end > start]
        if start is None or not ends:
            return None
        return Meaning([Period(start, ends[0])], "range", second.dated, second.yearly)

    def _ago(self, match: re.Match[str]) -> Meaning | None:
        count, unit = match.span("c"), match.start("u")
        if match["u2"]:
            count, unit = match.span("c2"), match.start("u2")
            if not self._agree(match.start("c2") - 1, unit):
                return None
        return self._away(self._count(count), self._all[unit].value, match)

    def _away(self, count: tuple[int, int], unit: str, match: re.Match[str]) -> Meaning | None:
        low, high = count
        if unit == "hour":
            return Meaning([day_period(days_later(self._today, -(high // 24)))], "day")
        if unit == "half" or unit == "weekends":
            return None
        if low != high:
            start = units_since(unit, self._today, high)
            return Meaning([Period(start, units_since(unit, self._today, low - 0.5))], "vague")
        if unit == "year" and match.start() and self._all[match.start() - 1].value == "half":
            unit, high = "month", 6
        exact = "G" in match[0]
        wording = "day" if unit == "day" or exact else "vague"
        return Meaning([units_away(unit, self._today, -high, exact=exact)], wording)

    def _offset(self, match: re.Match[str]) -> Meaning | None:
        point = self._point_in(match.span("p"), None)
        unit = self._all[match.start("u")]
        if point is None or not point.periods or not point.periods[0]:
            return None
        after = match["b"] == "r"
        anchor = point.anchor or point.periods[0].start
        if after:
            anchor = days_later(point.anchor, 1) if point.anchor else point.periods[0].end
        if unit.kind == "W":
            step = (int(unit.value) - anchor.weekday()) % 7
            day = days_later(anchor, step if after else step - 7)
            return Meaning([day_period(day)], "day", point.dated, point.yearly)
        if match["c"] and unit.value in (*LENGTHS, "year"):
            low, high = self._count(match.span("c"))
            sign = 1 if after else -1
            day = point.anchor or point.periods[0].start
            away = units_away(unit.value, day, sign * (low + high) / 2)
            return Meaning([away], "vague", point.dated, point.yearly)
        if unit.value not in LENGTHS:
            return None
        length = LENGTHS[unit.value]
        near = (
            (anchor, days_later(anchor, length)) if after else (days_later(anchor, -length), anchor)
        )
        return Meaning([Period(*near)], "range", point.dated, point.yearly)

    def _bound(self, match: re.Match[str]) -> Meaning | None:
        if not self._fits_before(match.start("b"), match.start("p")):
            return None
        point = self._point_in(match.span("p"), None)
        if point is None or not point.periods or not point.periods[0]:
            return None
        period, side = point.periods[0], match["b"]
        near = match.start() and self._all[match.start() - 1].text in _SHORTLY
        if side in "qVt":
            end = period.end if side == "t" else point.anchor or period.start
            start = days_later(end, -14 if near else -365)
            if point.dated and not near:
                start = dt.date.min
            return Meaning([Period(start, end)], "before", point.dated)
        start = point.anchor or period.start
        if side == "r":
            start = days_later(point.anchor, 1) if point.anchor else period.end
        end = days_later(start, 14) if near else max(self._tomorrow, days_later(start, 1))
        if side == "r" and start > self._today:
            end = days_later(start, 365)
        return Meaning([Period(start, end)], "after", point.dated)

    def _trailing(self, match: re.Match[str]) -> Meaning | None:
        name = "u2" if match["u2"] else "u"
        unit, counted = self._all[match.start(name)], match["c"] or match["c2"]
        ahead = match["l"] == "X"
        following = self._kind(match.end())
        if unit.value in ("weekends", "weekend", "half") or following in "oc":
            return None
        some = unit.text in PLURALS and not counted  # the last weeks
        if not counted and not some:
            english = "d" in match[0] and self._all[match.start("l") - 1].text == "the"
            if ahead or unit.value == "day" or (match["l"] == "L" and not english):
                return None
        count = (
            self._count(match.span("c2" if match["c2"] else "c"))[1]
            if counted
            else _SOME
            if some
            else 1
        )
        if unit.value == "hour":
            count, value = (count + 23) // 24, "day"
        else:
            value = unit.value
        if ahead:
            return Meaning([Period(self._today, units_since(value, self._today, -count))])
        return Meaning([Period(units_since(value, self._today, count), self._tomorrow)])

    def _since_units(self, match: re.Match[str]) -> Meaning | None:
        unit = self._all[match.start("u")].value
        count = self._count(match.span("c"))[1]
        return Meaning([Period(units_since(unit, self._today, count), self._tomorrow)], "after")

    def _ahead(self, match: re.Match[str]) -> Meaning | None:
        unit = self._all[match.start("u")].value
        if not self._tokens.future or unit in ("hour", "half", "weekends"):
            return None
        if not self._agree(match.start(), match.start("u")):
            return None
        count = sum(self._count(match.span("c"))) / 2
        return Meaning([units_away(unit, self._today, count)], "vague")

    def _point(self, match: re.Match[str]) -> Meaning | None:
        start, end = match.span("p")
        if not self._is_licensed(match, start, end):
            return None
        return self._point_in((start, end), None)

    def _weekend(self, match: re.Match[str]) -> Meaning | None:
        unit = self._all[match.start("u")]
        if unit.value != "weekend" or not self._agree(match.start(), match.start("u")):
            return None
        if "e" in unit.languages and "d" not in match[0]:
            return None
        begun = self._today.weekday() >= 5 or self._tokens.future
        return Meaning([unit_period("weekend", self._today, 0 if begun else -1)])

    def _vague(self, match: re.Match[str]) -> Meaning | None:
        days = int(self._all[match.start()].value)
        return Meaning([Period(days_later(self._today, -days), self._tomorrow, 0.5)], "vague")

    def _daypart(self, match: re.Match[str]) -> Meaning | None:
        """`morgen` and `mañana` alone are tomorrow; with an article they are mornings."""
        token = self._all[match.start()]
        if token.value != "1" or self._kind(match.start() - 1) in "JWTLdIO":
            return None
        return Meaning([day_period(self._tomorrow)], "day")

    # --- points ------------------------------------------------------------------------

    def _point_in(self, span: tuple[int, int], year: int | None) -> Meaning | None:
        return Point(self._tokens, self._today, year).meaning(*span)

    def _is_licensed(self, match: re.Match[str], start: int, end: int) -> bool:
        """Whether what stands around a word makes it one of time."""
        inside = self._tokens.kinds[start:end]
        head = next((i for i in range(start, end) if self._all[i].kind not in "Bdoc,"), start)
        if match["i"] and not self._agree(match.end("i") - 1, head):
            return False
        if self._kind(match.start() - 1) == "E" or not self._is_part(start, head):
            return False
        follows = self._kind(end)
        if inside == "Tm" and follows == "_" and not self._is_capital(head + 1):
            return False  # this may help
        if re.search(
            "[LTXlxyY]|[NR]'?[oc]?d?[Mm]|[Mm]d?[NR]|[ZJM]|RN?[Uy]", inside.replace("yY", "y")
        ):
            bare = inside in ("Y", "yY")
            return not (bare and not match["i"] and inside == "Y")
        return self._is_licensed_alone(match, inside, follows)

    def _is_licensed_alone(self, match: re.Match[str], inside: str, follows: str) -> bool:
        led, article = bool(match["i"]), bool(match["d"])
        token = self._all[match.end("p") - 1]
        if "B" in inside:
            return self._agree(match.start("p"), match.end("p") - 1)
        if inside == "Y":
            return led
        if inside == "m":
            return led and not article
        if inside in ("s", "S"):
            if token.text == "fall" and article and follows in "oc":
                return False
            return led or follows == "e"
        if inside in ("H", "Q"):
            return led or follows == "e"
        if inside == "D":
            return led or article or len(token.value) == 4 or self._kind(match.start() - 1) == "y"
        if inside in ("W", "Wp"):
            listed = self._kind(match.start() - 1) in ",n"
            ending = follows in ".," and not listed
            first = match.start() == 0 and follows != "n"
            return led or inside == "Wp" or ending or first
        return inside in ("K", "UN") and follows not in "oc"

    def _is_part(self, start: int, head: int) -> bool:
        """`end today` is none; `earlier` and `later` are said of this week, or today."""
        part = self._all[start]
        if part.kind != "B":
            return True
        relative = part.value in ("earlier", "later")
        return self._all[head].kind in "TJ" if relative else self._all[head].kind != "J"

    def _is_capital(self, at: int) -> bool:
        return self._tokens.text[self._all[at].start].isupper()

    def _fits_before(self, before: int, point: int) -> bool:
        """Whether "before", "since" … and what comes after it can be of one language."""
        head = next(
            (i for i in range(point, len(self._all)) if self._all[i].kind not in "Bdoc,"), point
        )
        fallen = self._all[head].text == "fall" and self._kind(head - 1) == "d"
        return not fallen and self._agree(before, head)

    # --- small things --------------------------------------------------------------------

    def _kind(self, at: int) -> str:
        return self._all[at].kind if 0 <= at < len(self._all) else "."

    def _agree(self, one: int, other: int) -> bool:
        first, second = self._all[one].languages, self._all[other].languages
        return not first or not second or not set(first).isdisjoint(second)

    def _count(self, span: tuple[int, int]) -> tuple[int, int]:
        token = self._all[span[1] - 1]
        return _FEW.get(token.value) or (int(token.value), int(token.value))

    def _year(self, tokens: Sequence[DateToken]) -> int | None:
        return next((int(t.value) for t in tokens if t.kind == "Y"), None)
