"""When a question asks about: its words of time as a range of local days, and how well a dated
thing fits it.

The range is for preferring, never for hiding: people misremember, notes are written days later,
and some words only look like time.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from vaultmem.base.words import PLAIN_WORD, WORDS_ASKING_NOTHING, topic_words
from vaultmem.recall.periods import Period

_TOLERANCE: Final = 0.4  # of a period's length, outside of it
_LEAST, _LEAST_AFTER, _MOST = 1.0, 2.5, 60.0  # days of it; what happened is written down later
_BESIDE_OTHERS, _ALONE = 0.5, 1.0
_AROUND: Final = 3  # days
_READ: Final = 10_000  # characters of a question
_WORDS_OF_EVENTS: Final = frozenset(
    {"happen", "happened", "spend", "spent", "mind", "night", "day"}
)
# How words of time begin, in the languages that are read: a question without any says nothing
# about time, and nothing has to be loaded to know it.
_BEGINNINGS: Final = """
    advent after ago amanh anno ano ans ant apr aug autumn aut avant avril ayer before bevor bis
    between cette christmas day dec dem dern desd dez dia dic dien dim dom donner easter einig
    en end ende entre enero est este fall feb fev fim fin following fort fr fri früh gest halb half
    herbst heut hier hiver hora hour hoy hoje inv inzwisch jan jahr jed jeu jour juil juin jul jun kal kürz kw
    last late lautre letz lun mar mai may mer mes mid mie mit mois mon month morg morn nach natal
    navid nativ neu new next night nine noch noel noite nov now nächst oct okt ont ontem ostern other
    out outr over pas past pent pend pfing pre prev prim prin prochain pr prox q1 q2 q3 q4 quart recent rec sab
    sam samst sat season sec seg seit sem sept set sep sex since silvest sil sommer son spr spring
    stund sum summer sun tag tarde ter thu thanks this tod today tomor ton tri trim tue two ult um
    until van ver vi vor voriger wed week weih weekend wee win wo woch wäh year yest zwei zwisch
"""
_OF_TIME: Final = (*_BEGINNINGS.split(), *"0123456789")
_ANOTHER_YEAR: Final = 0.4  # "in August", and it was another year's


class TimeRange(NamedTuple):
    """The days that a question asks about, half-open, the likeliest reading first."""

    periods: tuple[Period, ...]
    wording: str  # "day", "range", "vague", "before", "after": how strict the words are
    spans: tuple[tuple[int, int], ...]  # the words, as places in the question
    yearly: bool = False  # no year was named: another year's days are possible
    zone: dt.tzinfo | None = None  # None: this machine's

    @property
    def start(self) -> dt.date:
        return self.periods[0].start

    @property
    def end(self) -> dt.date:
        return self.periods[0].end

    @property
    def around(self) -> tuple[int, int]:
        """The first and the last day (ordinals) that may fit more than a little."""
        start = min(period.start for period in self.periods).toordinal()
        return start - _AROUND, max(period.end for period in self.periods).toordinal() + _AROUND

    def fit(self, moment: float) -> float:
        """0 to 1: how well a moment (seconds since the epoch) fits."""
        try:
            return self.fit_of_day(dt.datetime.fromtimestamp(moment, self.zone).date())
        except (ValueError, OverflowError, OSError):  # no such year
            return 0.0

    def fit_of_day(self, day: dt.date) -> float:
        """1 inside, less and less outside; a reading that is less likely fits less."""
        best = max(self._fit(period, day) for period in self.periods)
        if self.yearly and best < _ANOTHER_YEAR:
            best = max(best, _ANOTHER_YEAR * self._fit_of_another_year(day))
        return best

    def _fit(self, period: Period, day: dt.date) -> float:
        before, after = (period.start - day).days, (day - period.end).days + 1
        outside = max(before, after, 0)
        if not outside:
            return period.weight
        length = period.days * (2 if self.wording == "vague" else 1)
        least = _LEAST_AFTER if after > 0 else _LEAST
        tolerance = min(max(_TOLERANCE * length, least), _MOST)
        return period.weight * math.exp(-((outside / tolerance) ** 2))

    def _fit_of_another_year(self, day: dt.date) -> float:
        """As if the period came every 365 and a quarter days."""
        period = self.periods[0]
        centre = period.start.toordinal() + (period.days - 1) / 2
        years = round((day.toordinal() - centre) / 365.25)
        return self._fit(period, _shifted(day, -years * 365.25))


def _shifted(day: dt.date, days: float) -> dt.date:
    return dt.date.fromordinal(min(max(day.toordinal() + round(days), 1), dt.date.max.toordinal()))


def time_range(question: str, now: dt.datetime) -> TimeRange | None:
    """When the question asks about, seen from `now` (local time, naive or with its zone); None
    where it does not say."""
    words = PLAIN_WORD.findall(question[:_READ].casefold())
    if question.isascii() and not any(word.startswith(_OF_TIME) for word in words):
        return None
    # Imported here: most questions ask about no time.
    from vaultmem.recall.date_grammar import expressions
    from vaultmem.recall.date_tokens import date_tokens

    today = now.date()
    found = expressions(date_tokens(question), today)
    if not question.isascii():
        from vaultmem.recall.chinese_dates import chinese_expressions

        found += chinese_expressions(question, today)
    if not found:
        return None
    # A year that was named holds whatever today is; "last Friday" beside it is seen from there.
    meant = [each for each in found if each.dated] or found
    meant.sort(key=lambda each: each.periods[0].days)
    periods = tuple(period for each in meant for period in each.periods)
    spans = tuple(sorted(each.span for each in found))
    yearly = any(each.yearly for each in meant)
    return TimeRange(periods, meant[0].wording, spans, yearly, now.tzinfo)


def weight_of_time(question: str, times: TimeRange) -> float:
    """How much the best fit may add to a place among scores from 0 to 1. Measured: with half of
    the best score most is gained, next to nothing lost; more only where little else is asked."""
    rest = without_time(question, times.spans)
    telling = set(topic_words(rest)) - WORDS_ASKING_NOTHING - _WORDS_OF_EVENTS
    return _ALONE if len(telling) <= 1 else _BESIDE_OTHERS


def without_time(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """The question without its words of time, for what must match by words."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(question[at:start])
        at = max(at, end)
    return "".join([*kept, question[at:]])
