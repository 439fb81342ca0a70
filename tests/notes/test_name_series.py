"""Names of notes that follow each other."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.notes.replacement import name_series


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Rates 2025", "Rates 2026"),
        ("Medication 2025-09", "Medication 2026-08"),
        ("Rules (2025)", "rules 2026-01-02"),
        ("Alerting v1", "Alerting v2"),
        ("Alerting v2.9", "Alerting v2.10"),
        ("Plan version 1", "Plan v 2"),
        ("Training plan spring", "Training plan autumn"),
        ("Plan spring 2026", "Plan April 2027"),
        ("Rota from March", "Rota from September"),
        ("Stundenplan ab März 2026", "Stundenplan ab Oktober 2026"),
    ],
)
def test_names_that_follow_each_other(earlier: str, later: str) -> None:
    first, second = name_series(earlier), name_series(later)
    assert first is not None and second is not None
    assert (first.name, first.kind) == (second.name, second.kind)
    assert first.place < second.place


@pytest.mark.parametrize(
    ("bare", "later"),
    [
        ("Bara brith", "Bara brith v2"),
        ("On-call rota", "On-call rota from September"),
        ("Iron", "Iron, autumn"),
        ("Budget", "Budget after June"),
        ("Vertrag", "Vertrag (neu)"),
        ("Reading room", "Reading room since September 2026"),
    ],
)
def test_names_that_follow_the_bare_name(bare: str, later: str) -> None:
    found = name_series(later)
    assert name_series(bare) is None
    assert found is not None and found.name == bare.casefold() and found.follows_bare_name


@pytest.mark.parametrize("title", ["Alerting v1", "Guide v1.0", "Rates 2026", "Plan April 2027"])
def test_names_that_say_nothing_of_the_bare_name(title: str) -> None:
    found = name_series(title)
    assert found is not None and not found.follows_bare_name


@pytest.mark.parametrize(
    "title",
    [
        "2026-10-28",
        "2026-10-19 Monthly",
        "Rates",
        "2026",
        "v2",
        "Area 51",
        "autumn",
        "Renew",
        "Afternoon",
        "2026-03-01 Notes from March",
        "Rota Aprıl",
        "Rota AprİL",
        "x" * 300 + " 2026",
    ],
)
def test_names_that_stand_alone(title: str) -> None:
    assert name_series(title) is None


@given(st.text(max_size=300))
def test_whatever_stands_there_is_read(text: str) -> None:
    name_series(text)


@pytest.mark.parametrize("part", ["v1.", "from ", "( ", "a partir de ", "spring "])
def test_hostile_names_take_no_time(part: str) -> None:
    started = time.process_time()
    name_series(part * 10_000)
    assert time.process_time() - started < 0.5
