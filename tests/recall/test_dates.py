"""Time in questions: what becomes a range, what only looks like it, and how well days fit."""

from __future__ import annotations

import datetime as dt
import itertools
import time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultmem.recall.date_words import future_words, lexicon, past_words
from vaultmem.recall.dates import TimeRange, time_range, weight_of_time, without_time
from vaultmem.recall.periods import easter

NOW = dt.datetime(2026, 10, 30, 12, 0)  # a Friday


def found(question: str, now: dt.datetime = NOW) -> TimeRange:
    times = time_range(question, now)
    assert times is not None, question
    return times


# One day, or the first day and the first behind.
MEANT = """
what happened yesterday? | 2026-10-29
the day before yesterday | 2026-10-28
what is on today? | 2026-10-30
what did I write tonight? | 2026-10-30
what is due tomorrow? | 2026-10-31
what did he say last night? | 2026-10-29
notes from this morning | 2026-10-30
yesterday evening | 2026-10-29
last week | 2026-10-19 2026-10-26
this week | 2026-10-26 2026-11-02
what is planned next week? | 2026-11-02 2026-11-09
this month | 2026-10-01 2026-11-01
last month | 2026-09-01 2026-10-01
next month | 2026-11-01 2026-12-01
last quarter | 2026-07-01 2026-10-01
last year | 2025-01-01 2026-01-01
this year | 2026-01-01 2027-01-01
next year | 2027-01-01 2028-01-01
three days ago | 2026-10-27
3 days ago | 2026-10-27
a day ago | 2026-10-29
what was I up to exactly two weeks ago? | 2026-10-16
two weeks ago | 2026-10-13 2026-10-20
a few days ago | 2026-10-24 2026-10-28
two hours ago | 2026-10-30
what did I do last Tuesday? | 2026-10-27
last Friday | 2026-10-23
what was going on this Tuesday? | 2026-10-27
what did we decide on Monday? | 2026-10-26
what happened Tuesday evening? | 2026-10-27
what will happen on Monday? | 2026-11-02
next Tuesday | 2026-11-03
in March | 2026-03-01 2026-04-01
what did we do in may | 2026-05-01 2026-06-01
what is planned in December? | 2026-12-01 2027-01-01
what did I do in December? | 2025-12-01 2026-01-01
last August | 2026-08-01 2026-09-01
the January meeting | 2026-01-01 2026-02-01
March last year | 2025-03-01 2025-04-01
last year in March | 2025-03-01 2025-04-01
in autumn | 2026-09-01 2026-12-01
in the fall | 2026-09-01 2026-12-01
in the fall of 2023 | 2023-09-01 2023-12-01
last autumn, what was going on with dad? | 2025-09-01 2025-12-01
last summer | 2026-06-01 2026-09-01
in the summer of last year | 2025-06-01 2025-09-01
next spring | 2027-03-01 2027-06-01
the spring appointment with the landlord | 2026-03-01 2026-06-01
winter 2024 | 2024-12-01 2025-03-01
in 2024 | 2024-01-01 2025-01-01
March 2024 | 2024-03-01 2024-04-01
Where were we in September, 2023? | 2023-09-01 2023-10-01
2024-03-05 | 2024-03-05
2024/3/5 | 2024-03-05
on 10.01.2024? | 2024-01-10
2024-03 | 2024-03-01 2024-04-01
5 March | 2026-03-05
5th of March 2024 | 2024-03-05
March 5 | 2026-03-05
May 5th, 2024 | 2024-05-05
on 23 January, 2022? | 2022-01-23
the first of May 2025 | 2025-05-01
on Aug 15th | 2026-08-15
Friday, 5 June 2026 | 2026-06-05
before Easter | 2025-04-05 2026-04-05
what did I do the week before Easter? | 2026-03-29 2026-04-05
the day after Christmas | 2025-12-26
two weeks before August 11, 2023 | 2023-07-25 2023-08-01
the Sunday before October 25, 2022 | 2022-10-23
shortly before 7 Jan 2024 | 2023-12-24 2024-01-07
since Christmas | 2025-12-25 2026-10-31
after New Year | 2026-01-02 2026-10-31
since last week | 2026-10-19 2026-10-31
since 2024 | 2024-01-01 2026-10-31
before 2024 | 0001-01-01 2024-01-01
until May | 2025-06-01 2026-06-01
between May and July | 2026-05-01 2026-08-01
between August 11 and August 15 2023 | 2023-08-11 2023-08-16
from March to May 2024 | 2024-03-01 2024-06-01
in the last ten days | 2026-10-20 2026-10-31
over the past week | 2026-10-23 2026-10-31
the last few days | 2026-10-24 2026-10-31
in the next two weeks | 2026-10-30 2026-11-13
what is due in two weeks? | 2026-11-10 2026-11-17
workshops on July 16-18 | 2026-07-16
I did on May 3-4, 2024 | 2024-05-03
in the last weeks | 2026-10-02 2026-10-31
in den letzten Wochen | 2026-10-02 2026-10-31
what is planned in the coming weeks? | 2026-10-30 2026-11-27
anything new on your end today? | 2026-10-30
earlier today | 2026-10-30
what have you been up to today? | 2026-10-30
1990年代 | 1990-01-01 2000-01-01
recently | 2026-09-30 2026-10-31
the other day | 2026-10-16 2026-10-31
earlier this month | 2026-10-01 2026-10-31
mid-February | 2026-02-10 2026-02-19
at the beginning of March | 2026-03-01 2026-03-11
late March 2024 | 2024-03-22 2024-04-01
the first days of this year | 2026-01-01 2026-01-11
the first week of May | 2026-05-01 2026-05-08
the last week of March | 2026-03-25 2026-04-01
the second half of 2025 | 2025-07-02 2026-01-01
Q3 2025 | 2025-07-01 2025-10-01
in Q1 | 2026-01-01 2026-04-01
H1 2025 | 2025-01-01 2025-07-01
the 90s | 1990-01-01 2000-01-01
from the 1950s | 1950-01-01 1960-01-01
at the weekend | 2026-10-24 2026-10-26
last weekend | 2026-10-24 2026-10-26
this weekend | 2026-10-31 2026-11-02
2026-W12 | 2026-03-16 2026-03-23
in week 12 | 2026-03-16 2026-03-23
KW 12 | 2026-03-16 2026-03-23
2025-Q3 | 2025-07-01 2025-10-01
how did I spend last Christmas? | 2025-12-23 2025-12-28
on Good Friday | 2026-04-03
New Year's Eve last year | 2025-12-31
at Thanksgiving 2024 | 2024-11-28
was war gestern los? | 2026-10-29
vorgestern | 2026-10-28
was steht morgen an? | 2026-10-31
letzte Woche | 2026-10-19 2026-10-26
nächste Woche | 2026-11-02 2026-11-09
am letzten Dienstag | 2026-10-27
am Montag | 2026-10-26
vor drei Tagen | 2026-10-27
vor zwei Wochen | 2026-10-13 2026-10-20
in den letzten zehn Tagen | 2026-10-20 2026-10-31
im März | 2026-03-01 2026-04-01
im Mai 2024 | 2024-05-01 2024-06-01
am 5. März 2024 | 2024-03-05
Anfang März | 2026-03-01 2026-03-11
im Herbst | 2026-09-01 2026-12-01
im letzten Sommer | 2026-06-01 2026-09-01
letztes Jahr | 2025-01-01 2026-01-01
vor Ostern | 2025-04-05 2026-04-05
seit Weihnachten | 2025-12-25 2026-10-31
seit drei Wochen | 2026-10-09 2026-10-31
zwischen Mai und Juli | 2026-05-01 2026-08-01
von Mai bis Juli 2024 | 2024-05-01 2024-08-01
o que fiz ontem? | 2026-10-29
a semana passada | 2026-10-19 2026-10-26
há três dias | 2026-10-27
há duas semanas | 2026-10-13 2026-10-20
dois dias atrás | 2026-10-28
em março do ano passado | 2025-03-01 2025-04-01
no verão passado | 2026-06-01 2026-09-01
no outono | 2026-09-01 2026-12-01
a 5 de março de 2024 | 2024-03-05
antes da Páscoa | 2025-04-05 2026-04-05
o mês passado | 2026-09-01 2026-10-01
qu'est-ce que j'ai fait hier ? | 2026-10-29
la semaine dernière | 2026-10-19 2026-10-26
il y a deux jours | 2026-10-28
en mars | 2026-03-01 2026-04-01
l'été dernier | 2026-06-01 2026-09-01
le 5 mars 2024 | 2024-03-05
l'année dernière | 2025-01-01 2026-01-01
¿qué hice ayer? | 2026-10-29
la semana pasada | 2026-10-19 2026-10-26
hace tres días | 2026-10-27
en marzo | 2026-03-01 2026-04-01
el lunes | 2026-10-26
en el verano de 2024 | 2024-06-01 2024-09-01
el año pasado | 2025-01-01 2026-01-01
我昨天做了什么？ | 2026-10-29
前天 | 2026-10-28
上周我们讨论了什么 | 2026-10-19 2026-10-26
上周三 | 2026-10-21
上个月 | 2026-09-01 2026-10-01
去年 | 2025-01-01 2026-01-01
去年夏天 | 2025-06-01 2025-09-01
三天前 | 2026-10-27
两周前 | 2026-10-13 2026-10-20
最近十天 | 2026-10-20 2026-10-31
2024年3月5日 | 2024-03-05
2024年3月 | 2024-03-01 2024-04-01
二〇二四年 | 2024-01-01 2025-01-01
三月 | 2026-03-01 2026-04-01
十二月五日 | 2025-12-05
圣诞节以来 | 2025-12-25 2026-10-31
2024年以前 | 0001-01-01 2024-01-01
90年代 | 1990-01-01 2000-01-01
"""

NO_TIME = """
I may be wrong about the port
what may a carrier charge?
5 may fail at once
they march on
this may increase the damping
my roommate Julio
every Monday, Wednesday, and Friday at seven
Monday to Friday from nine
march 5 miles with a pack
an august body of scholars
all the times dad fell
dad's fall on the stairs
the fall of the empire
what happened after the fall?
a second opinion
may second the motion
the second no
how many seconds does it wait?
he sat in the sun
mon ami
spring boot version
which spring broke in the lock?
no spring in the mattress
winter coat
summer tyres
April said it was fine
June and her brother
the last version
the last day of school
undo the last change
the last time
the next release
next steps
previous file
before deploy
after the review
since the migration
until it works
between the two servers
from A to B
version 2024.1
release 2024-03-05-rc1
port 2024
invoice 4500-2024
2024 files
error 2025 in the log
in 5 minutes
in 10 seconds
wait 3 days
every Monday
on Mondays
Black Friday deals
on weekends
a weekend getaway
per week
twice a year
restic prunes sundays
is it open 24 hours a day?
90s timeout
10:30
192.168.1.10
1.2.2024.7
what is 17 % of 2,340?
q3 of the survey
h1 and h2 headings
week 3 of the course
years ago
long ago
these days
who helps dad in the mornings?
which days does the bookkeeper reply?
the other file
the past
this is a test
an hour
a day
hier ist der Schlüssel
was ist hier passiert
am Morgen
vor dem Haus
nach dem Essen
bis zum Ende
por la mañana
I am summer's child
Mars is a planet
mayo and ketchup
the natal chart
三个月大的孩子
"""


@pytest.mark.parametrize("line", MEANT.strip().splitlines())
def test_what_is_meant(line: str) -> None:
    question, _, meant = line.rpartition(" | ")
    start, *end = map(dt.date.fromisoformat, meant.split())
    times = found(question)
    assert (times.start, times.end) == (start, end[0] if end else start + dt.timedelta(days=1))


@pytest.mark.parametrize("question", NO_TIME.strip().splitlines())
def test_what_only_looks_like_time(question: str) -> None:
    assert time_range(question, NOW) is None


@pytest.mark.parametrize(
    ("question", "wording"),
    [
        ("yesterday", "day"),
        ("on 5 March 2024", "day"),
        ("last week", "range"),
        ("in 2024", "range"),
        ("last summer", "vague"),
        ("recently", "vague"),
        ("two weeks ago", "vague"),
        ("before Easter", "before"),
        ("until 2024", "before"),
        ("since Christmas", "after"),
        ("after 5 March", "after"),
    ],
)
def test_how_strict_the_words_are(question: str, wording: str) -> None:
    assert found(question).wording == wording


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("what happened yesterday?", "what happened ?"),
        ("in March, who fell?", ", who fell?"),
        ("last week and the week before Easter", " and "),
        ("我昨天做了什么", "我做了什么"),
    ],
)
def test_the_words_can_be_left_out(question: str, rest: str) -> None:
    assert without_time(question, found(question).spans) == rest


# --- readings ---------------------------------------------------------------------------------


def test_a_date_that_is_read_in_two_ways_is_both() -> None:
    times = found("3/5/2024")
    assert times.fit_of_day(dt.date(2024, 5, 3)) == times.fit_of_day(dt.date(2024, 3, 5)) == 1
    assert times.fit_of_day(dt.date(2024, 4, 4)) < 0.1
    assert found("13/5/2024").periods == found("2024-05-13").periods


def test_a_year_that_is_named_decides_whatever_today_is() -> None:
    times = found("what did she finish last Friday on 23 January, 2022?")
    assert [period.start for period in times.periods] == [dt.date(2022, 1, 23)]
    assert len(times.spans) == 2


def test_two_times_are_both_meant() -> None:
    times = found("what did I do yesterday and on 3 May?")
    assert times.fit_of_day(dt.date(2026, 10, 29)) == times.fit_of_day(dt.date(2026, 5, 3)) == 1


def test_a_month_without_a_year_may_be_another_years() -> None:
    times = found("where was I riding in August?")
    fits = [times.fit_of_day(dt.date(year, 8, 16)) for year in (2026, 2025, 2019)]
    assert fits[0] == 1
    assert 0.2 < fits[1] == fits[2] < 0.6
    assert times.fit_of_day(dt.date(2025, 2, 16)) < 0.01
    assert found("last August").fit_of_day(dt.date(2025, 8, 16)) < 0.01


def test_a_month_that_comes_is_possible_where_the_tense_is_open() -> None:
    times = found("flights for the December visit")
    assert times.fit_of_day(dt.date(2025, 12, 5)) == 1
    assert times.fit_of_day(dt.date(2026, 12, 5)) == 0.5


@pytest.mark.parametrize(
    ("year", "day"), [(2024, "03-31"), (2025, "04-20"), (2026, "04-05"), (2038, "04-25")]
)
def test_easter(year: int, day: str) -> None:
    assert easter(year).isoformat() == f"{year}-{day}"


@pytest.mark.parametrize(
    ("now", "question", "start"),
    [
        ("2026-01-01", "yesterday", "2025-12-31"),
        ("2026-01-01", "last month", "2025-12-01"),
        ("2024-02-29", "last year", "2023-01-01"),
        ("2026-03-10", "last March", "2025-03-01"),
        ("2026-03-10", "in March", "2026-03-01"),
        ("2026-01-15", "last winter", "2024-12-01"),
        ("2026-01-15", "this winter", "2025-12-01"),
        ("2026-02-01", "before Easter", "2024-04-20"),
        ("2026-11-01", "at the weekend", "2026-10-31"),
        ("2027-01-02", "last week", "2026-12-21"),
        ("2026-11-02", "on Monday", "2026-11-02"),
    ],
)
def test_at_the_edges_of_the_calendar(now: str, question: str, start: str) -> None:
    assert found(question, dt.datetime.fromisoformat(now)).start.isoformat() == start


def test_february_29_is_the_last_one_that_there_was() -> None:
    assert found("what happened on 29 February?").start == dt.date(2024, 2, 29)


# --- fit --------------------------------------------------------------------------------------


def test_the_fit_falls_off_smoothly_outside() -> None:
    times = found("last month")
    fits = [times.fit_of_day(dt.date(2026, 9, 30) + dt.timedelta(days=n)) for n in range(40)]
    assert fits[0] == 1
    assert fits == sorted(fits, reverse=True)
    assert max(a - b for a, b in itertools.pairwise(fits)) < 0.1
    assert fits[-1] < 0.01


def test_a_longer_range_tolerates_more() -> None:
    early = dt.date(2026, 8, 29)
    assert found("last month").fit_of_day(early) > 0.9
    assert found("on 1 September 2026").fit_of_day(early) < 0.01


def test_what_is_written_down_a_day_later_fits_better_than_what_came_before() -> None:
    times = found("on 7 January 2024")
    assert times.fit_of_day(dt.date(2024, 1, 8)) > 0.8 > times.fit_of_day(dt.date(2024, 1, 6))


def test_a_day_is_the_asker_s_own() -> None:
    """Where the clock was put back that night, the day has 25 hours."""
    lisbon = ZoneInfo("Europe/Lisbon")
    times = found("yesterday", dt.datetime(2026, 10, 26, 0, 30, tzinfo=lisbon))
    midnight = dt.datetime(2026, 10, 25, tzinfo=lisbon).timestamp()
    inside = [times.fit(midnight + hours * 3600 + 1) for hours in range(-1, 26)]
    assert [fit == 1 for fit in inside] == [False, *[True] * 25, False]


def test_a_moment_that_is_none_fits_nothing() -> None:
    assert found("yesterday").fit(1e30) == found("yesterday").fit(float("nan")) == 0


def test_time_weighs_most_where_hardly_anything_else_is_asked() -> None:
    alone, beside = "what happened yesterday?", "what did the doctor say about the dose yesterday?"
    assert weight_of_time(alone, found(alone)) > weight_of_time(beside, found(beside)) > 0


# --- anything -----------------------------------------------------------------------------------

WORDS = sorted({" ".join(entry) for entry in lexicon()} | future_words() | past_words())
ODD = ["5", "31", "2024", "5th", "99", "Q3", "h1", "kw12", "90s", ",", ".", "?", "-", "三天前", "去年",
       "3月", "2024-02-30", "31/31/2024", "十", "0", "'s"]  # fmt: skip
QUESTIONS = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(WORDS + ODD), max_size=12).map(" ".join)
)


@settings(max_examples=400, deadline=None)
@given(QUESTIONS, st.datetimes())
def test_whatever_is_asked_becomes_a_range_or_nothing(question: str, now: dt.datetime) -> None:
    times = time_range(question, now)
    if times is not None:
        assert all(period.start < period.end for period in times.periods)
        assert all(0 <= start < end <= len(question) for start, end in times.spans)
        assert 0 <= times.fit_of_day(now.date()) <= 1
        assert times.fit_of_day(times.start) > 0


@pytest.mark.parametrize(
    "part",
    ["last ", "5 ", "the first week of ", "between May and ", "2024-", "vor ", "1.1.", "三", "年月",
     "before the day before ", "a" * 50 + " ", "B", "early of the "],
)  # fmt: skip
def test_hostile_questions_take_no_longer_than_long_ones(part: str) -> None:
    def seconds(length: int) -> float:
        question = (part * length)[:length]
        taken = []
        for _ in range(3):
            started = time.process_time()
            time_range(question, NOW)
            taken.append(time.process_time() - started)
        return min(taken)

    time_range(part, NOW)
    assert seconds(10_000) < 0.5
    assert seconds(1_000_000) < 0.5  # what is longer than a question may be is not read
