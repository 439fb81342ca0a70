"""The day that a note is about."""

from __future__ import annotations

import pytest

from vaultmem.notes.note import parse
from vaultmem.notes.note_date import day_in_name, note_day


@pytest.mark.parametrize(
    ("path", "raw", "day"),
    [
        ("Daily/2026-10-28.md", b"Rain.\n", "2026-10-28"),
        ("Journal/20261028.md", b"Rain.\n", "2026-10-28"),
        ("Meetings/2026-10-19 Monthly.md", b"---\ndate: 2026-10-20\n---\n", "2026-10-19"),
        ("Rule.md", b"---\ndate: 2026-06-09\ncreated: 2026-07-01\n---\n", "2026-06-09"),
        ("Rule.md", b"---\ncreated: 2026-07-01T23:50:00\n---\n", "2026-07-01"),
        ("Rule.md", b"---\nDate: 09.06.2026\n---\n", "2026-06-09"),
        ("Log.md", b"# 2026-10-28 Wednesday\n\nRain.\n", "2026-10-28"),
        ("Log.md", b"# Log\n\n## 2026-10-28\n\nRain.\n", None),
        ("Release 2026.10.28.1.md", b"Fixes.\n", None),
        ("Rates 2026.md", b"560 a day.\n", None),
        ("2026-13-45.md", b"Rain.\n", None),
        ("Plain.md", b"Written in 2026-10-28.\n", None),
    ],
)
def test_the_day_of_a_note(path: str, raw: bytes, day: str | None) -> None:
    found = note_day(parse(raw, path))
    assert (found and found.isoformat()) == day


def test_a_heading_dates_what_stands_below_it() -> None:
    found = day_in_name("2026-10-28, evening")
    assert found is not None and found.isoformat() == "2026-10-28"
    assert day_in_name("Evening") is None
