"""Dates in the formats of moment.js: the table is what moment 2.30.1 itself prints, in English."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes.daily.moment_format import LONGEST_FORMAT, moment_text

INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))

# Format, milliseconds since 1970, and the text at a clock five and a half hours ahead of UTC.
PRINTED: list[tuple[str, int, str]] = [
    ("YYYY-MM-DD", 1767225599000, "2026-01-01"),
    ("YYYY-MM-DD", 1798761599000, "2027-01-01"),
    ("YYYY-MM-DD", 1709164800000, "2024-02-29"),
    ("YYYY/MM/YYYY-MM-DD", 1767225599000, "2026/01/2026-01-01"),
    ("YYYY/MM/YYYY-MM-DD", 1798761599000, "2027/01/2027-01-01"),
    ("YYYY/MM/YYYY-MM-DD", 1709164800000, "2024/02/2024-02-29"),
    ("YYYY/MM-MMMM/YYYY-MM-DD dddd", 1767225599000, "2026/01-January/2026-01-01 Thursday"),
    ("YYYY/MM-MMMM/YYYY-MM-DD dddd", 1798761599000, "2027/01-January/2027-01-01 Friday"),
    ("YYYY/MM-MMMM/YYYY-MM-DD dddd", 1709164800000, "2024/02-February/2024-02-29 Thursday"),
    ("gggg-[W]ww", 951782400000, "2000-W10"),
    ("gggg-[W]ww", 1609459200000, "2021-W01"),
    ("gggg-[W]ww", 1709164800000, "2024-W09"),
    ("gggg-[W]ww", 1735689600000, "2025-W01"),
    ("gggg-[W]ww", 1763510400123, "2025-W47"),
    ("gggg-[W]ww", 1767225599000, "2026-W01"),
    ("gggg-[W]ww", 1798761599000, "2027-W01"),
    ("GGGG-[W]WW-E", 951782400000, "2000-W09-2"),
    ("GGGG-[W]WW-E", 1609459200000, "2020-W53-5"),
    ("GGGG-[W]WW-E", 1709164800000, "2024-W09-4"),
    ("GGGG-[W]WW-E", 1735689600000, "2025-W01-3"),
    ("GGGG-[W]WW-E", 1763510400123, "2025-W47-3"),
    ("GGGG-[W]WW-E", 1767225599000, "2026-W01-4"),
    ("GGGG-[W]WW-E", 1798761599000, "2026-W53-5"),
    ("dddd, MMMM Do YYYY", 1767225599000, "Thursday, January 1st 2026"),
    ("dddd, MMMM Do YYYY", 1798761599000, "Friday, January 1st 2027"),
    ("dddd, MMMM Do YYYY", 1709164800000, "Thursday, February 29th 2024"),
    ("D.M.YY", 1767225599000, "1.1.26"),
    ("D.M.YY", 1798761599000, "1.1.27"),
    ("D.M.YY", 1709164800000, "29.2.24"),
    ("DDDo [day of] YYYY", 951782400000, "60th day of 2000"),
    ("DDDo [day of] YYYY", 1609459200000, "1st day of 2021"),
    ("DDDo [day of] YYYY", 1709164800000, "60th day of 2024"),
    ("DDDo [day of] YYYY", 1735689600000, "1st day of 2025"),
    ("DDDo [day of] YYYY", 1763510400123, "323rd day of 2025"),
    ("DDDo [day of] YYYY", 1767225599000, "1st day of 2026"),
    ("DDDo [day of] YYYY", 1798761599000, "1st day of 2027"),
    ("[Daily/]YYYY[/Q]Q", 1767225599000, "Daily/2026/Q1"),
    ("[Daily/]YYYY[/Q]Q", 1798761599000, "Daily/2027/Q1"),
    ("[Daily/]YYYY[/Q]Q", 1709164800000, "Daily/2024/Q1"),
    ("Qo wo Wo do e E d dd ddd", 951782400000, "1st 10th 9th 2nd 2 2 2 Tu Tue"),
    ("Qo wo Wo do e E d dd ddd", 1609459200000, "1st 1st 53rd 5th 5 5 5 Fr Fri"),
    ("Qo wo Wo do e E d dd ddd", 1709164800000, "1st 9th 9th 4th 4 4 4 Th Thu"),
    ("Qo wo Wo do e E d dd ddd", 1735689600000, "1st 1st 1st 3rd 3 3 3 We Wed"),
    ("Qo wo Wo do e E d dd ddd", 1763510400123, "4th 47th 47th 3rd 3 3 3 We Wed"),
    ("Qo wo Wo do e E d dd ddd", 1767225599000, "1st 1st 1st 4th 4 4 4 Th Thu"),
    ("Qo wo Wo do e E d dd ddd", 1798761599000, "1st 1st 53rd 5th 5 5 5 Fr Fri"),
    ("L LL LLL LLLL l ll lll llll LT LTS", 1767225599000, "01/01/2026 January 1, 2026 January 1, 2026 5:29 AM Thursday, January 1, 2026 5:29 AM 1/1/2026 Jan 1, 2026 Jan 1, 2026 5:29 AM Thu, Jan 1, 2026 5:29 AM 5:29 AM 5:29:59 AM"),
    ("L LL LLL LLLL l ll lll llll LT LTS", 1798761599000, "01/01/2027 January 1, 2027 January 1, 2027 5:29 AM Friday, January 1, 2027 5:29 AM 1/1/2027 Jan 1, 2027 Jan 1, 2027 5:29 AM Fri, Jan 1, 2027 5:29 AM 5:29 AM 5:29:59 AM"),
    ("L LL LLL LLLL l ll lll llll LT LTS", 1709164800000, "02/29/2024 February 29, 2024 February 29, 2024 5:30 AM Thursday, February 29, 2024 5:30 AM 2/29/2024 Feb 29, 2024 Feb 29, 2024 5:30 AM Thu, Feb 29, 2024 5:30 AM 5:30 AM 5:30:00 AM"),
    ("HH:mm:ss.SSS Z ZZ", 1767225599000, "05:29:59.000 +05:30 +0530"),
    ("HH:mm:ss.SSS Z ZZ", 1798761599000, "05:29:59.000 +05:30 +0530"),
    ("HH:mm:ss.SSS Z ZZ", 1709164800000, "05:30:00.000 +05:30 +0530"),
    ("h:mm a hh A k kk", 1767225599000, "5:29 am 05 AM 5 05"),
    ("h:mm a hh A k kk", 1798761599000, "5:29 am 05 AM 5 05"),
    ("h:mm a hh A k kk", 1709164800000, "5:30 am 05 AM 5 05"),
    ("Hmm hmmss", 1767225599000, "529 52959"),
    ("Hmm hmmss", 1798761599000, "529 52959"),
    ("Hmm hmmss", 1709164800000, "530 53000"),
    ("X x", 1767225599000, "1767225599 1767225599000"),
    ("X x", 1798761599000, "1798761599 1798761599000"),
    ("X x", 1709164800000, "1709164800 1709164800000"),
    ("\\D\\a\\y D", 1767225599000, "Day 1"),
    ("\\D\\a\\y D", 1798761599000, "Day 1"),
    ("\\D\\a\\y D", 1709164800000, "Day 29"),
    ("[a] b ] c", 1767225599000, "a] b  c"),
    ("[a] b ] c", 1798761599000, "a] b  c"),
    ("[a] b ] c", 1709164800000, "a] b  c"),
    ("YYYYYY YYYYY Y y yo NNNN", 1767225599000, "+002026 02026 2026 2026 2026th Anno Domini"),
    ("YYYYYY YYYYY Y y yo NNNN", 1798761599000, "+002027 02027 2027 2027 2027th Anno Domini"),
    ("YYYYYY YYYYY Y y yo NNNN", 1709164800000, "+002024 02024 2024 2024 2024th Anno Domini"),
    ("[unclosed YYYY", 1767225599000, "[unc1/1/2026o5944 2026"),
    ("[unclosed YYYY", 1798761599000, "[unc1/1/2027o5955 2027"),
    ("[unclosed YYYY", 1709164800000, "[unc2/29/2024o044 2024"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "millis", "text"), PRINTED)
def test_a_format_gives_what_moment_gives(form: str, millis: int, text: str) -> None:
    when = dt.datetime.fromtimestamp(millis // 1000, INDIA) + dt.timedelta(
        milliseconds=millis % 1000
    )
    assert moment_text(when, form) == text


@given(st.datetimes(), st.text(max_size=60) | st.text("YMDdWwgGEQHhmsSLlT[]\\-/ ", max_size=60))
def test_no_format_and_no_day_is_too_much(when: dt.datetime, form: str) -> None:
    assert isinstance(moment_text(when.replace(tzinfo=dt.UTC), form), str)


@given(
    st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1)),
    st.text(st.characters(exclude_characters="[]")),
)
def test_what_stands_in_brackets_is_kept(day: dt.date, text: str) -> None:
    when = dt.datetime.combine(day, dt.time(), dt.UTC)
    assert moment_text(when, f"YYYY[{text[:100]}]DD") == f"{day:%Y}{text[:100]}{day:%d}"


def test_a_format_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 500 characters"):
        moment_text(dt.datetime.now(dt.UTC), "Y" * (LONGEST_FORMAT + 1))
