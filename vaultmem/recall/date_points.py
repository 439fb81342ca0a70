"""A point in time that a question names, by what it is made of: a day, a month, a season, a
holiday, with a year or without one."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from vaultmem.recall.date_tokens import DateToken, DateTokens
from vaultmem.recall.date_words import PLURALS
from vaultmem.recall.periods import (
    Period,
    date_period,
    day_period,
    days_later,
    holiday_itself,
    holiday_period,
    iso_week,
    month_period,
    part_of,
    season_period,
    unit_period,
    year_period,
)

_STEPS: Final = {"L": -1, "T": 0, "X": 1, "l": -1, "x": 1}
_OTHER: Final = 0.5  # a reading that is possible, beside the likely one
_ORDINAL_OF: Final = r"(?P<nth>[RL])(?P<n>N?)(?P<u>[Uy])[ocd]{1,2}"
_IN_YEAR: Final = r"[LTX]y|y[lx]"


class Meaning(NamedTuple):
    periods: Sequence[Period | None]
    wording: str = "range"
    dated: bool = False
    yearly: bool = False
    anchor: dt.date | None = None  # what "before" and "after" are counted from


class Point:
    def __init__(self, tokens: DateTokens, today: dt.date, year: int | None) -> None:
        self._tokens = tokens
        self._today = today
        self._year = year  # said elsewhere: between May and July 2024

    def meaning(self, start: int, end: int) -> Meaning | None:
        inside = self._tokens.kinds[start:end]
        if inside[0] == "B":
            return self._part(start, end)
        if match := re.match(_ORDINAL_OF, inside):
            return self._ordinal(match, start, end)
        return self._simple(self._tokens.all[start:end], inside)

    def _part(self, start: int, end: int) -> Meaning | None:
        part = self._tokens.all[start].value
        first = next(i for i in range(start + 1, end) if self._tokens.kinds[i] not in "ocd")
        whole = self.meaning(first, end)
        if whole is None:
            return None
        parts = [
            p and part_of(p, part, self._today)._replace(weight=p.weight) for p in whole.periods
        ]
        return whole._replace(periods=parts, wording="vague", anchor=None)

    def _ordinal(self, match: re.Match[str], start: int, end: int) -> Meaning | None:
        """The first week of May, the last days of this year, the second half of 2025."""
        whole = self.meaning(start + match.end(), end)
        nth, unit = self._tokens.all[start], self._tokens.all[start + match.start("u")]
        if whole is None or not whole.periods or not whole.periods[0]:
            return None
        period = whole.periods[0]
        place = -1 if nth.kind == "L" else int(nth.value) - 1
        if match["n"] or unit.text in ("days", "tage", "tagen", "dias", "jours", "días"):
            length: float = 10  # the first days
        elif unit.value == "half":
            length = period.days / 2
        else:
            length = {"day": 1, "week": 7, "month": 30.44, "quarter": 91.3}.get(unit.value, 0)
        if not length or length >= period.days:
            return None
        if place < 0:
            found = Period(days_later(period.end, -length), period.end)
        else:
            begin = days_later(period.start, place * length)
            found = Period(begin, min(days_later(period.start, (place + 1) * length), period.end))
        return whole._replace(periods=[found], wording="range", anchor=None)

    def _simple(self, tokens: Sequence[DateToken], inside: str) -> Meaning | None:
        of_year = re.search(_IN_YEAR, inside)
        year, dated = self._year, self._year is not None
        for token in tokens:
            if token.kind == "Y":
                year, dated = int(token.value), True
        if of_year and year is None:
            year = self._today.year + next(_STEPS[k] for k in of_year[0] if k in _STEPS)
            if tokens[of_year.start() + of_year[0].index("y")].value == "decade":
                year = None
        rest = inside.replace(of_year[0], "", 1) if of_year else inside
        step = next((_STEPS[kind] for kind in rest if kind in _STEPS), None)
        by_kind = {token.kind: token for token in tokens}
        for kinds, read in self._READERS:
            if head := next((by_kind[kind] for kind in kinds if kind in by_kind), None):
                found: Meaning | None = read(self, head, by_kind, year, step)
                return found and found._replace(dated=found.dated or dated)
        return None

    # --- one for each kind of head ---------------------------------------------------------

    def _numeric(self, head: DateToken, _: object, __: object, ___: object) -> Meaning:
        wording = "day" if head.periods[0].days == 1 else "range"
        return Meaning(head.periods, wording, dated=True)

    def _month(
        self, head: DateToken, others: dict[str, DateToken], year: int | None, step: int | None
    ) -> Meaning | None:
        month = int(head.value)
        number = others.get("N") or others.get("R")
        if number is None:
            return self._of_years(lambda y: month_period(y, month), year, step, "range")
        day = int(number.value)
        if not 1 <= day <= 31 or not self._is_date(head, number, others):
            return None
        return self._of_years(lambda y: date_period(y, month, day), year, step, "day")

    def _is_date(self, month: DateToken, number: DateToken, others: dict[str, DateToken]) -> bool:
        """`5 may fail`, `march 5 miles` and `may second that` are none."""
        linked = "o" in others or "c" in others or "Y" in others or "I" in others
        if number.kind == "R" and number.start < month.start:
            return linked
        written = self._tokens.text[month.start].isupper()
        ordinal = number.text[-1].isalpha() and number.text[0].isdigit()
        if month.kind == "M" or linked or written or ordinal:
            return True
        if number.kind == "R":
            return False
        end = max(month.end, number.end)
        following = next((t for t in self._tokens.all if t.start >= end), None)
        return following is None or following.kind != "_"

    def _season(
        self, head: DateToken, _: object, year: int | None, step: int | None
    ) -> Meaning | None:
        season = int(head.value)
        if season == 1 and year is not None:  # the winter of 2025 begins or ends in it
            begins, ends = season_period(year + 1, 1), season_period(year, 1)
            if self._today < begins.start:
                begins, ends = ends, begins
            return Meaning([begins, ends._replace(weight=_OTHER)], "vague")
        found = self._of_years(lambda y: season_period(y, season), year, step, "vague")
        return found._replace(anchor=None)

    def _holiday(
        self, head: DateToken, _: object, year: int | None, step: int | None
    ) -> Meaning | None:
        found = self._of_years(lambda y: holiday_period(head.value, y), year, step, "vague")
        first = next((p for p in found.periods if p), None)
        if first is None:
            return None
        middle = days_later(first.start, first.days // 2)
        return found._replace(anchor=holiday_itself(head.value, middle.year))

    def _quarter(
        self, head: DateToken, _: object, year: int | None, step: int | None
    ) -> Meaning | None:
        months = 3 if head.kind == "Q" else 6
        first = (int(head.value) - 1) * months + 1
        if year is None and head.kind == "h":
            return None
        return self._of_years(lambda y: month_period(y, first, months), year, step, "range")

    def _week_number(
        self, head: DateToken, others: dict[str, DateToken], year: int | None, step: int | None
    ) -> Meaning | None:
        number = int(head.value)
        return self._of_years(lambda y: iso_week(y, number), year, step, "range")

    def _unit(
        self, head: DateToken, others: dict[str, DateToken], year: int | None, step: int | None
    ) -> Meaning | None:
        if "N" in others and step is None:
            counted = head.value == "week" and not head.text.endswith(("s", "n"))
            return self._week_number(others["N"], others, year, step) if counted else None
        if step is None or head.value in ("hour", "half", "day") or head.text in PLURALS:
            return None
        return Meaning([unit_period(head.value, self._today, step)])

    def _weekday(self, head: DateToken, _: object, __: object, step: int | None) -> Meaning | None:
        if head.kind == "w" and step is None:
            return None
        ahead = (int(head.value) - self._today.weekday()) % 7
        coming, week = day_period(days_later(self._today, ahead or 7)), 7
        past = day_period(days_later(self._today, ahead - 7))
        if step == 0:
            return Meaning(
                [day_period(days_later(self._today, int(head.value) - self._today.weekday()))],
                "day",
            )
        if step == 1:
            later = day_period(days_later(coming.start, week))._replace(weight=_OTHER)
            return Meaning([coming, later], "day")
        if step == -1:
            earlier = day_period(days_later(past.start, -week))._replace(weight=_OTHER)
            return Meaning([past, earlier], "day")
        if not ahead:
            past = day_period(self._today)
        return Meaning(self._by_tense(past, coming), "day")

    def _relative_day(self, head: DateToken, _: object, __: object, ___: object) -> Meaning:
        return Meaning([day_period(days_later(self._today, int(head.value)))], "day")

    def _part_of_day(
        self, head: DateToken, _: object, __: object, step: int | None
    ) -> Meaning | None:
        if step == 0:
            return Meaning([day_period(self._today)], "day")
        night = head.text in ("night", "nacht", "noite", "nuit", "noche", "evening", "abend")
        return Meaning([day_period(days_later(self._today, -1))], "day") if night else None

    def _decade(self, head: DateToken, _: object, __: object, ___: object) -> Meaning:
        decade = int(head.value)
        if decade < 100:
            decade += 2000 if decade <= 20 else 1900
        return Meaning([year_period(decade, 10)], dated=True)

    def _only_year(
        self, head: DateToken, _: object, year: int | None, step: int | None
    ) -> Meaning | None:
        if year is None:
            return (
                Meaning([unit_period(head.value, self._today, step)]) if step is not None else None
            )
        return Meaning([year_period(year)])

    _READERS: tuple[tuple[str, Callable[..., Meaning | None]], ...] = (
        ("Z", _numeric),
        ("Mm", _month),
        ("Ss", _season),
        ("H", _holiday),
        ("Qh", _quarter),
        ("K", _week_number),
        ("Ww", _weekday),
        ("J", _relative_day),
        ("D", _decade),
        ("U", _unit),
        ("p", _part_of_day),
        ("yY", _only_year),
    )

    # --- which year ------------------------------------------------------------------------

    def _of_years(
        self,
        make: Callable[[int], Period | None],
        year: int | None,
        step: int | None,
        wording: str,
    ) -> Meaning:
        """In the year that is named, else in the one that is meant most likely."""
        if year is not None:
            return Meaning([make(year)], wording)
        near = range(max(self._today.year - 4, 1), min(self._today.year + 5, 9999))
        known = [period for y in near if (period := make(y))]
        begun = [period for period in known if period.start <= self._today]
        coming = [period for period in known if period.start > self._today]
        if step == -1:
            begun = [period for period in begun if period.end <= self._today]
        past = begun[-1] if begun else None
        future = coming[0] if coming else None
        if step == 1:
            return Meaning([future], wording)
        if step == -1:
            return Meaning([past], wording)
        if step == 0:
            now = [p for p in known if p.start <= self._today < p.end]
            this_year = [p for p in known if p.start.year == self._today.year]
            return Meaning((now or this_year)[:1], wording)
        return Meaning(self._by_tense(past, future), wording, yearly=True)

    def _by_tense(self, past: Period | None, future: Period | None) -> list[Period | None]:
        if self._tokens.future:
            return [future, past and past._replace(weight=_OTHER)]
        if self._tokens.past or future is None:
            return [past]
        return [past, future._replace(weight=_OTHER)]
