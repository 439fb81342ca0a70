"""How answers look on a terminal, line by line."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.surfaces.cli import graph_drawings, screen

NOW = dt.datetime(2026, 3, 10, 15, 30).astimezone()


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOW - dt.timedelta(seconds=20), "just now"),
        (NOW - dt.timedelta(seconds=61), "1 minute ago"),
        (NOW - dt.timedelta(minutes=59), "59 minutes ago"),
        (NOW - dt.timedelta(hours=2), "today 13:30"),
        (NOW - dt.timedelta(hours=20), "yesterday 19:30"),
        (NOW - dt.timedelta(days=5), "5 Mar 15:30"),
        (NOW.replace(year=2024), "10 Mar 2024"),
        (NOW + dt.timedelta(hours=1), "today 16:30"),
        (dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))), "0001-01-01"),
    ],
)
def test_times_are_friendly(moment: dt.datetime, words: str) -> None:
    assert screen.friendly_moment(moment, NOW) == words


def test_no_character_of_a_note_steers_the_terminal() -> None:
    assert (
        screen.safe_for_screen("a\x1b[31mb\x9b2J\x07\r\nc\td") == "a\ufffd[31mb\ufffd2J\ufffd\nc\td"
    )
    assert screen.one_screen_line("a\n  b\t c ") == "a b c"


def test_lines_are_broken_at_blanks_and_lists_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "- Refresh tokens rotate every 24 hours; the old one stays valid.\n\n```\n" + "x" * 60
    assert screen.wrapped_paragraphs(text).split("\n") == [
        "- Refresh tokens rotate every 24 hours;",
        "  the old one stays valid.",
        "",
        "```",
        "x" * 60,
    ]
    assert screen.wrapped_paragraphs("記憶" * 25).split("\n") == [
        "記憶" * 10,
        "記憶" * 10,
        "記憶" * 5,
    ]


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_wrapping_loses_nothing_but_blanks(text: str) -> None:
    wrapped = screen.wrapped_paragraphs(text)
    assert "".join(wrapped.split()) == "".join(text.split())


@given(st.text(max_size=60), st.integers(2, 40))
def test_a_cell_is_as_wide_as_its_column(text: str, wide: int) -> None:
    assert (
        screen.screen_columns(screen._fit_to_screen_column(screen.one_screen_line(text), wide))
        == wide
    )


def test_drawings_survive_any_name() -> None:
    edges = [('A "b" \\', "uses\n", "C & D")]
    assert (
        graph_drawings.dot_drawing(edges).splitlines()[2]
        == '  "A \\"b\\" \\\\" -> "C & D" [label="uses"];'
    )
    assert graph_drawings.mermaid_drawing(edges).splitlines() == [
        "graph LR",
        '  n1["A &quot;b&quot; \\"]',
        '  n2["C &amp; D"]',
        '  n1 -->|"uses"| n2',
    ]
